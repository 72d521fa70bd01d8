// Ops that make another size of the same picture: Resize, Upsample, CenterCropPad; and
// ReverseSequence. A resized dimension is a weighted sum of gathers with constant positions.
#include <algorithm>
#include <array>
#include <cmath>

#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

constexpr size_t most_taps = 64;  // elements that one result is made of, in one dimension

struct Resampling {
  std::string mode = "nearest", coordinates = "asymmetric", nearest = "floor";
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  bool early = false;  // before opset 11
};

// One dimension: `size` elements become `outputs`, at `scale`; start and end of the region of
// interest.
struct Resized {
  size_t dim;
  int64_t size, outputs;
  double scale, start = 0, end = 1;
};

// Where each element comes from is computed during the import.
int64_t checked_outputs(const NodeContext& n, double count) {
  constexpr double most = 0x1p24;
  if (!(count <= most)) {
    n.unsupported(fmt::format("{:.0f} elements along a dimension; at most {:.0f}", count, most));
  }
  return static_cast<int64_t>(count);
}

double source_position(const Resampling& how, const Resized& r, int64_t i, const NodeContext& n) {
  const auto x = static_cast<double>(i), size = static_cast<double>(r.size);
  const double length = r.scale * size;  // before it was rounded to a whole number
  if (how.coordinates == "half_pixel") return (x + 0.5) / r.scale - 0.5;
  // Scales are floats, and so is their quotient: 7 / 0.7 is 10.
  if (how.coordinates == "asymmetric") return static_cast<float>(x) / static_cast<float>(r.scale);
  if (how.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / r.scale;
  if (how.coordinates == "pytorch_half_pixel") {
    return length == 1 ? -0.5 : (x + 0.5) / r.scale - 0.5;
  }
  if (how.coordinates == "align_corners") return length == 1 ? 0 : x * (size - 1) / (length - 1);
  if (how.coordinates == "half_pixel_symmetric") {
    const double centred = size / 2 * (1 - static_cast<double>(r.outputs) / length);
    return centred + (x + 0.5) / r.scale - 0.5;
  }
  if (how.coordinates == "tf_crop_and_resize") {
    const double part = (r.end - r.start) * (size - 1);
    return r.start * (size - 1) + (length == 1 ? part / 2 : x * part / (length - 1));
  }
  n.unsupported(fmt::format("coordinate_transformation_mode {}", how.coordinates));
}

struct Tap {
  int64_t from;
  double weight;
};

double linear_weight(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Before opset 11 the standard does not say which element is the nearest; by its tests it is the
// one above where elements are left out, else the one below.
int64_t nearest_place(const Resampling& how, const Resized& r, double position,
                      const NodeContext& n) {
  const double below = std::floor(position), rest = position - below;
  bool up = false;
  if (how.early) {
    up = rest > 0 && r.scale < 1;
  } else if (how.nearest == "round_prefer_floor") {
    up = rest > 0.5;
  } else if (how.nearest == "round_prefer_ceil") {
    up = rest >= 0.5;
  } else if (how.nearest == "ceil") {
    up = rest > 0;
  } else if (how.nearest != "floor") {
    n.unsupported(fmt::format("nearest_mode {}", how.nearest));
  }
  return static_cast<int64_t>(below) + (up ? 1 : 0);
}

// What makes the element at a position; beyond the ends the last element stands.
std::vector<Tap> taps_at(const Resampling& how, const Resized& r, double position,
                         const NodeContext& n) {
  const auto inside = [&](int64_t at) { return std::clamp<int64_t>(at, 0, r.size - 1); };
  if (how.mode == "nearest") return {{inside(nearest_place(how, r, position, n)), 1}};
  // Antialiasing widens the kernel where elements are left out.
  const double narrow = how.antialias ? std::min(r.scale, 1.0) : 1;
  const double reach = (how.mode == "linear" ? 1 : 2) / narrow;
  if (2 * reach + 1 > static_cast<double>(most_taps)) {
    n.unsupported(fmt::format("antialias at scale {}", r.scale));
  }
  std::vector<Tap> taps;
  double sum = 0;
  const auto last = static_cast<int64_t>(std::ceil(position + reach));
  for (auto at = static_cast<int64_t>(std::floor(position - reach)); at <= last; ++at) {
    const double distance = (static_cast<double>(at) - position) * narrow;
    const double weight =
        how.mode == "linear" ? linear_weight(distance) : cubic_weight(distance, how.cubic);
    const bool outside = at < 0 || at >= r.size;
    if (weight == 0 || (how.exclude_outside && outside)) continue;
    taps.push_back({inside(at), weight});
    sum += weight;
  }
  if (how.antialias || how.exclude_outside) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  if (taps.empty()) taps.push_back({inside(std::llround(position)), 1});
  return taps;
}

NodeId resize_dimension(NodeContext& n, const Resampling& how, const Resized& r, NodeId x) {
  std::vector<std::vector<Tap>> taps;
  std::vector<bool> outside;
  size_t count = 1;
  bool same = r.outputs == r.size;
  for (int64_t i = 0; i < r.outputs; ++i) {
    const double position = source_position(how, r, i, n);
    taps.push_back(taps_at(how, r, position, n));
    outside.push_back(how.coordinates == "tf_crop_and_resize" &&
                      (position < 0 || position > static_cast<double>(r.size - 1)));
    count = std::max(count, taps.back().size());
    same = same && taps.back().size() == 1 && taps.back()[0].from == i && !outside.back();
  }
  if (same) return x;
  Shape aligned(n.shape(x).size() - r.dim, Sym(1));
  aligned[0] = r.outputs;
  const auto name = [&](std::string_view what, size_t k) {
    return fmt::format("{}_{}_{}", what, r.dim, k);
  };
  NodeId sum = -1;
  for (size_t k = 0; k < count; ++k) {
    Tensor from(DType::i64, {r.outputs}), weights(n.dtype(x), {r.outputs});
    for (size_t i = 0; i < taps.size(); ++i) {
      const Tap tap = k < taps[i].size() ? taps[i][k] : Tap{taps[i][0].from, 0};
      from.set_i64(static_cast<int64_t>(i), tap.from);
      weights.set_f64(static_cast<int64_t>(i), tap.weight);
    }
    NodeId part = n.add(name("taken", k), Op::gather, {x, n.constant(from, name("from", k))},
                        {{"dim", static_cast<int64_t>(r.dim)}});
    if (how.mode != "nearest") {
      NodeId factor =
          n.reshape(name("factor", k), n.constant(weights, name("weights", k)), aligned);
      part = n.add(name("weighted", k), Op::mul, {part, factor});
    }
    sum = sum < 0 ? part : n.add(name("sum", k), Op::add, {sum, part});
  }
  if (std::ranges::find(outside, true) == outside.end()) return sum;
  Tensor mask(DType::boolean, {r.outputs});
  for (size_t i = 0; i < outside.size(); ++i) mask.set_i64(static_cast<int64_t>(i), outside[i]);
  NodeId here = n.reshape(name("beyond", 0), n.constant(mask, name("mask", 0)), aligned);
  return n.add(name("filled", 0), Op::select,
               {here, n.literal(n.dtype(x), how.extrapolation), sum});
}

void resize_dimensions(NodeContext& n, const Resampling& how, const std::vector<Resized>& all) {
  NodeId x = n.input(0);
  const DType dtype = n.dtype(x);
  if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic") {
    n.unsupported(fmt::format("mode {}", how.mode));
  }
  NodeId y = x;
  if (how.mode != "nearest") {
    if (!is_float(dtype)) n.unsupported(fmt::format("mode {} of {}", how.mode, dtype_name(dtype)));
    if (byte_size(dtype) < 4) y = n.cast("wide", x, DType::f32);
  }
  for (const Resized& each : all) y = resize_dimension(n, how, each, y);
  if (n.dtype(y) != dtype) {
    n.result(Op::cast, {y}, {{"dtype", dtype}});
  } else {
    n.set(0, y);
  }
}

std::optional<std::vector<double>> numbers_input(NodeContext& n, size_t i, std::string_view what) {
  if (!n.has_input(i)) return std::nullopt;
  const std::shared_ptr<const Tensor> data = n.graph_node(n.input(i)).data;
  if (!data) n.unsupported(fmt::format("{} computed at run time", what));
  if (data->size() == 0) return std::nullopt;
  std::vector<double> values;
  for (int64_t k = 0; k < data->size(); ++k) values.push_back(data->get_f64(k));
  return values;
}

std::vector<Resized> by_scales(NodeContext& n, const std::vector<int>& axes,
                               const std::vector<double>& scales) {
  if (scales.size() != axes.size()) {
    n.invalid(fmt::format("{} scales for {} axes", scales.size(), axes.size()));
  }
  std::vector<Resized> all;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto dim = static_cast<size_t>(axes[i]);
    const std::optional<int64_t> size = n.shape(n.input(0))[dim].constant();
    if (!(scales[i] > 0)) n.invalid(fmt::format("scale {}", scales[i]));
    if (!size && scales[i] == 1) continue;
    if (!size) n.unsupported("a named dimension that is resized");
    // A float, as in shape inference: 10 times 1.3 is 13.
    const float length = std::floor(static_cast<float>(*size) * static_cast<float>(scales[i]));
    all.push_back({dim, *size, checked_outputs(n, length), scales[i]});
  }
  return all;
}

// Sizes beside an aspect ratio that is kept fit the smallest or largest scale.
std::vector<Resized> by_sizes(NodeContext& n, const std::vector<int>& axes,
                              const std::vector<Sym>& sizes, const std::string& policy) {
  if (sizes.size() != axes.size()) {
    n.invalid(fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  }
  std::vector<Resized> all;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto dim = static_cast<size_t>(axes[i]);
    const Sym own = n.shape(n.input(0))[dim];
    if (policy == "stretch" && sizes[i] == own && !own.constant()) continue;
    if (!sizes[i].constant() || !own.constant()) {
      n.unsupported("a named dimension that is resized");
    }
    if (*sizes[i].constant() < 0) n.invalid(fmt::format("size {}", sizes[i].text()));
    const int64_t to = *sizes[i].constant(), size = *own.constant();
    const double scale = static_cast<double>(to) / static_cast<double>(size);
    all.push_back({dim, size, checked_outputs(n, static_cast<double>(to)), scale});
  }
  if (policy == "stretch") return all;
  if (policy != "not_larger" && policy != "not_smaller") {
    n.unsupported(fmt::format("keep_aspect_ratio_policy {}", policy));
  }
  const auto [least, most] = std::ranges::minmax_element(all, {}, &Resized::scale);
  const double scale = all.empty() ? 1 : policy == "not_larger" ? least->scale : most->scale;
  for (Resized& each : all) {
    each.scale = scale;
    each.outputs = checked_outputs(n, std::floor(scale * static_cast<double>(each.size) + 0.5));
  }
  return all;
}

std::vector<int> all_axes(NodeContext& n) {
  std::vector<int> axes(n.shape(n.input(0)).size());
  for (size_t d = 0; d < axes.size(); ++d) axes[d] = static_cast<int>(d);
  return axes;
}

// Opset 11 on; before it linear has the positions x / scale.
Resampling resampling(NodeContext& n) {
  Resampling how;
  how.mode = n.text_attr("mode", "nearest");
  how.early = n.opset() < 11;
  if (how.early) return how;
  how.coordinates = n.text_attr("coordinate_transformation_mode", "half_pixel");
  how.nearest = n.text_attr("nearest_mode", "round_prefer_floor");
  how.cubic = n.float_attr("cubic_coeff_a", -0.75);
  how.extrapolation = n.float_attr("extrapolation_value", 0);
  how.exclude_outside = n.int_attr("exclude_outside", 0) != 0;
  how.antialias = n.int_attr("antialias", 0) != 0;
  return how;
}

void resize(NodeContext& n) {
  Resampling how = resampling(n);
  std::vector<int> axes = all_axes(n);
  if (auto given = n.ints_attr("axes")) {
    axes.clear();
    for (int64_t axis : *given) axes.push_back(n.axis(axis, n.rank(n.input(0))));
  }
  const bool early = n.opset() < 11;
  const std::string policy = n.text_attr("keep_aspect_ratio_policy", "stretch");
  std::vector<Resized> all;
  if (auto scales = numbers_input(n, early ? 1 : 2, "scales")) {
    all = by_scales(n, axes, *scales);
  } else if (!early && n.has_input(3)) {
    all = by_sizes(n, axes, n.sizes_input(3, "sizes"), policy);
  } else {
    n.invalid("neither scales nor sizes");
  }
  if (how.coordinates == "tf_crop_and_resize") {
    const auto roi = numbers_input(n, 1, "roi");
    if (!roi || roi->size() != 2 * axes.size()) n.invalid("roi needs a start and an end an axis");
    for (Resized& each : all) {
      const auto i =
          static_cast<size_t>(std::ranges::find(axes, static_cast<int>(each.dim)) - axes.begin());
      each.start = (*roi)[i];
      each.end = (*roi)[i + axes.size()];
    }
  }
  resize_dimensions(n, how, all);
}

void upsample(NodeContext& n) {
  const Resampling how = resampling(n);
  std::optional<std::vector<double>> scales;
  if (const Attribute* given = n.attr("scales")) {
    if (const auto* values = std::get_if<std::vector<double>>(given)) scales = *values;
  } else {
    scales = numbers_input(n, 1, "scales");
  }
  if (!scales) n.invalid("scales are missing");
  for (const double scale : *scales) {
    if (scale < 1) n.invalid(fmt::format("scale {}: Upsample takes scales from 1 on", scale));
  }
  resize_dimensions(n, how, by_scales(n, all_axes(n), *scales));
}

// The middle of a larger dimension, a smaller one in the middle of zeros.
void center_crop_pad(NodeContext& n) {
  NodeId x = n.input(0);
  std::vector<int> axes = all_axes(n);
  if (auto given = n.ints_attr("axes")) {
    axes.clear();
    for (int64_t axis : *given) axes.push_back(n.axis(axis, n.rank(x)));
  }
  const std::vector<Sym> wanted = n.sizes_input(1, "a shape");
  if (wanted.size() != axes.size()) {
    n.invalid(fmt::format("{} sizes for {} axes", wanted.size(), axes.size()));
  }
  const size_t rank = n.shape(x).size();
  std::vector<Sym> starts(rank, Sym(0)), ends = n.shape(x), steps(rank, Sym(1));
  std::vector<Sym> low(rank, Sym(0)), high(rank, Sym(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    const Sym own = n.shape(x)[d];
    if (wanted[i] == own) continue;
    if (!wanted[i].constant() || !own.constant()) {
      n.unsupported("a named dimension that is cut or padded");
    }
    const int64_t to = *wanted[i].constant(), size = *own.constant();
    if (to < 0) n.invalid(fmt::format("size {}", to));
    if (to < size) {
      starts[d] = (size - to) / 2;
      ends[d] = (size - to) / 2 + to;
    } else {
      low[d] = (to - size) / 2;
      high[d] = to - size - (to - size) / 2;
    }
  }
  NodeId cut = n.add("cut", Op::slice, {x}, {{"starts", starts}, {"ends", ends}, {"steps", steps}});
  n.result(Op::pad, {cut}, {{"low", low}, {"high", high}});
}

// Of each sequence the first elements, as many as its length, backwards.
void reverse_sequence(NodeContext& n) {
  NodeId x = n.input(0), lengths = n.input(1);
  if (n.rank(x) < 2) n.invalid("needs 2 dimensions");
  const int batch = n.axis(n.int_attr("batch_axis", 1), n.rank(x));
  const int time = n.axis(n.int_attr("time_axis", 0), n.rank(x));
  if (batch == time) n.invalid(fmt::format("batch_axis and time_axis are both {}", batch));
  const Shape shape = n.shape(x);
  const auto along = [&](int axis) {
    Shape aligned(shape.size(), Sym(1));
    aligned[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
    return aligned;
  };
  NodeId length = n.cast("lengths64", n.reshape("lengths", lengths, along(batch)), DType::i64);
  NodeId at = n.add("at", Op::iota, {},
                    {{"shape", along(time)}, {"dim", int64_t{time}}, {"dtype", DType::i64}});
  NodeId last = n.add("last", Op::sub, {length, n.literal(DType::i64, 1)});
  NodeId from =
      n.add("from", Op::select,
            {n.add("turned", Op::lt, {at, length}), n.add("back", Op::sub, {last, at}), at});
  NodeId places = n.add("places", Op::broadcast, {from}, {{"shape", shape}});
  n.result(Op::gather_elements, {x, places}, {{"dim", int64_t{time}}});
}

}  // namespace

HandlerTable resize_handlers() {
  return {{"Resize", resize},
          {"Upsample", upsample},
          {"CenterCropPad", center_crop_pad},
          {"ReverseSequence", reverse_sequence}};
}

}  // namespace ingot::onnx_model
