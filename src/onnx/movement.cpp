// Ops that move elements: reshape and its kin, transpose, slice, split, concat, pad, tile.
#include <algorithm>
#include <numeric>

#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

std::vector<Sym> as_sizes(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

// --- reshape and its kin

void reshape(NodeContext& n) {
  NodeId x = n.input(0);
  std::vector<Sym> wanted = n.sizes_input(1, "a shape");
  bool keep_zero = n.int_attr("allowzero", 0) != 0;
  Sym known = 1;
  std::optional<size_t> inferred;
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d].is(0) && !keep_zero) {
      if (d >= n.shape(x).size()) n.invalid(fmt::format("0 in the shape at {}: no such size", d));
      wanted[d] = n.shape(x)[d];
    }
    if (wanted[d].is(-1)) {
      if (inferred) n.invalid("-1 stands twice in the shape");
      inferred = d;
    } else {
      known = known * wanted[d];
    }
  }
  if (inferred) {
    Sym count = element_count(n.shape(x));
    std::optional<Sym> rest = known.is(0) ? std::nullopt : exact_div(count, known);
    if (!rest) {
      n.invalid(
          fmt::format("{} elements cannot be divided among {}", count.text(), shape_text(wanted)));
    }
    wanted[*inferred] = *rest;
  }
  n.result(Op::reshape, {x}, {{"shape", wanted}});
}

// Axes as an attribute (before opset 13) or an input.
std::optional<std::vector<int64_t>> axes_of(NodeContext& n, size_t input) {
  if (auto axes = n.ints_attr("axes")) return axes;
  if (!n.has_input(input)) return std::nullopt;
  return n.integers_input(input, "axes");
}

void squeeze(NodeContext& n) {
  NodeId x = n.input(0);
  std::vector<bool> dropped(n.shape(x).size(), false);
  if (auto given = axes_of(n, 1)) {
    for (int axis : n.axes(*given, n.rank(x))) {
      auto d = static_cast<size_t>(axis);
      if (!n.shape(x)[d].constant()) n.unsupported("a named dimension that would have to be 1");
      if (!n.shape(x)[d].is(1)) {
        n.invalid(fmt::format("dimension {} of {} is not 1", axis, shape_text(n.shape(x))));
      }
      dropped[d] = true;
    }
  } else {
    for (size_t d = 0; d < dropped.size(); ++d) dropped[d] = n.shape(x)[d].is(1);
  }
  Shape shape;
  for (size_t d = 0; d < dropped.size(); ++d) {
    if (!dropped[d]) shape.push_back(n.shape(x)[d]);
  }
  n.result(Op::reshape, {x}, {{"shape", shape}});
}

void unsqueeze(NodeContext& n) {
  NodeId x = n.input(0);
  auto given = axes_of(n, 1);
  if (!given) n.invalid("axes are missing");
  int rank = n.rank(x) + static_cast<int>(given->size());
  std::vector<int> axes = n.axes(*given, rank);
  Shape shape = n.shape(x);
  for (int axis : axes) shape.insert(shape.begin() + axis, Sym(1));
  n.result(Op::reshape, {x}, {{"shape", shape}});
}

void flatten(NodeContext& n) {
  NodeId x = n.input(0);
  const Shape& shape = n.shape(x);
  int64_t axis = n.int_attr("axis", 1);
  if (axis != n.rank(x)) axis = n.axis(axis, n.rank(x));
  Shape head(shape.begin(), shape.begin() + axis), tail(shape.begin() + axis, shape.end());
  n.result(Op::reshape, {x}, {{"shape", Shape{element_count(head), element_count(tail)}}});
}

// An element moves: [b, c, h, w] in the order that `perm` gives, between two reshapes.
void between_reshapes(NodeContext& n, NodeId x, const Shape& split, const std::vector<Sym>& perm,
                      const Shape& joined) {
  NodeId parts = n.add("parts", Op::reshape, {x}, {{"shape", split}});
  NodeId moved = n.add("moved", Op::transpose, {parts}, {{"perm", perm}});
  n.result(Op::reshape, {moved}, {{"shape", joined}});
}

int64_t block_size(NodeContext& n, NodeId x) {
  int64_t block = n.int_attr("blocksize", 0);
  if (block < 1 || block > (1 << 20)) n.invalid(fmt::format("blocksize {}", block));
  if (n.rank(x) != 4) n.invalid(fmt::format("needs 4 dimensions, not {}", n.rank(x)));
  return block;
}

Sym exact_quotient(NodeContext& n, const Sym& a, int64_t b) {
  std::optional<Sym> quotient = exact_div(a, Sym(b));
  if (!quotient) n.invalid(fmt::format("size {} is no multiple of {}", a.text(), b));
  return *quotient;
}

void depth_to_space(NodeContext& n) {
  NodeId x = n.input(0);
  int64_t b = block_size(n, x);
  bool column_row = n.text_attr("mode", "DCR") == "CRD";
  Shape s = n.shape(x);
  Sym depth = exact_quotient(n, s[1], b * b);
  Shape joined{s[0], depth, s[2] * Sym(b), s[3] * Sym(b)};
  if (column_row) {
    return between_reshapes(n, x, {s[0], depth, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}, joined);
  }
  between_reshapes(n, x, {s[0], b, b, depth, s[2], s[3]}, {0, 3, 4, 1, 5, 2}, joined);
}

void space_to_depth(NodeContext& n) {
  NodeId x = n.input(0);
  int64_t b = block_size(n, x);
  Shape s = n.shape(x);
  Sym height = exact_quotient(n, s[2], b), width = exact_quotient(n, s[3], b);
  between_reshapes(n, x, {s[0], s[1], height, b, width, b}, {0, 3, 5, 1, 2, 4},
                   {s[0], s[1] * Sym(b * b), height, width});
}

void transpose(NodeContext& n) {
  NodeId x = n.input(0);
  std::vector<int64_t> perm(n.shape(x).size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (auto given = n.ints_attr("perm")) perm = *given;
  if (perm.size() != n.shape(x).size() || n.axes(perm, n.rank(x)).size() != perm.size()) {
    n.invalid(fmt::format("perm has {} entries for {} dimensions", perm.size(), n.rank(x)));
  }
  n.result(Op::transpose, {x}, {{"perm", as_sizes(perm)}});
}

void expand(NodeContext& n) {
  NodeId x = n.input(0);
  Shape shape = n.sizes_input(1, "a shape");
  const Shape& from = n.shape(x);
  if (shape.size() < from.size()) shape.insert(shape.begin(), from.size() - shape.size(), Sym(1));
  for (size_t d = 0; d < from.size(); ++d) {
    Sym& size = shape[shape.size() - from.size() + d];
    if (size.is(1)) size = from[d];  // here 1 means: as it is
  }
  n.result(Op::broadcast, {x}, {{"shape", shape}});
}

void tile(NodeContext& n) {
  NodeId x = n.input(0);
  std::vector<Sym> repeats = n.sizes_input(1, "repeats");
  const Shape shape = n.shape(x);
  if (repeats.size() != shape.size()) {
    n.invalid(fmt::format("{} repeats for {} dimensions", repeats.size(), shape.size()));
  }
  Shape split, full, joined;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d].constant() && *repeats[d].constant() < 0) n.invalid("negative repeats");
    if (!repeats[d].is(1)) {
      split.emplace_back(1);
      full.push_back(repeats[d]);
    }
    split.push_back(shape[d]);
    full.push_back(shape[d]);
    joined.push_back(repeats[d] * shape[d]);
  }
  NodeId parts = n.reshape("parts", x, split);
  NodeId repeated = n.add("repeated", Op::broadcast, {parts}, {{"shape", full}});
  n.result(Op::reshape, {repeated}, {{"shape", joined}});
}

// --- slices

struct Cut {
  Sym start, end;
  int64_t step;
};

// From here on a position in a named size means its end: exporters write 2^31-1, 2^63-1, or (from
// TensorFlow) 10^9 for an open end.
constexpr int64_t open_end = 1'000'000'000;

// ONNX's clamping of a position in a dimension of a size that may be a name.
Sym clamped(const Sym& position, const Sym& size) {
  Sym at = position;
  if (std::optional<int64_t> value = at.constant(); value && *value < 0) {
    if (size.constant()) return std::max<int64_t>(0, *value + *size.constant());
    if (*value <= -open_end) return 0;
    return size - min(Sym(-*value), size);
  }
  if (std::optional<int64_t> value = at.constant(); value && *value >= open_end) {
    return size.constant() ? std::min(*value, *size.constant()) : size;
  }
  if (provably_nonnegative(size - at, {})) return at;
  if (provably_nonnegative(at - size, {})) return size;
  return min(at, size);
}

// Counting down, ONNX clamps a start to [0, size - 1] where NumPy's may be before the first
// element. Ends are clamped alike; -1 as a clamped end would mean the last element, so slice clamps
// them.
Cut backward_cut(NodeContext& n, const Sym& start, const Sym& end, int64_t step, const Sym& size) {
  auto open = [](const Sym& position) {
    int64_t at = position.constant().value_or(0);
    if (at >= open_end) return Sym(INT32_MAX);
    return at <= -open_end ? Sym(-INT32_MAX) : position;
  };
  const int64_t from = start.constant().value_or(0), to = end.constant().value_or(0);
  if (from >= -1 || (size.constant() && from >= -*size.constant())) {
    return {open(start), open(end), step};
  }
  if (!size.constant() && from > -open_end && from <= to && to < -1) {
    n.unsupported(fmt::format("a slice from {} down to {} of the size {}, empty or one element",
                              from, to, size.text()));
  }
  if (!size.constant() && from <= to && to == -1) return {0, 0, step};  // of any size nothing
  return {clamped(start, size), open(end), step};
}

void emit_slice(NodeContext& n, NodeId x, const std::vector<Cut>& cuts, size_t output = 0) {
  std::vector<Sym> starts, ends, steps;
  for (const Cut& cut : cuts) {
    starts.push_back(cut.start);
    ends.push_back(cut.end);
    steps.emplace_back(cut.step);
  }
  n.result(Op::slice, {x}, {{"starts", starts}, {"ends", ends}, {"steps", steps}}, output);
}

std::vector<Cut> whole(const Shape& shape) {
  std::vector<Cut> cuts;
  for (const Sym& size : shape) cuts.push_back({0, size, 1});
  return cuts;
}

void slice(NodeContext& n) {
  NodeId x = n.input(0);
  bool by_attribute = n.opset() < 10;
  auto list = [&](size_t i, std::string_view name) -> std::optional<std::vector<Sym>> {
    if (by_attribute) {
      auto values = n.ints_attr(name);
      return values ? std::optional(as_sizes(*values)) : std::nullopt;
    }
    return n.has_input(i) ? std::optional(n.sizes_input(i, name)) : std::nullopt;
  };
  auto starts = list(1, "starts"), ends = list(2, "ends"), axes = list(3, "axes");
  auto steps = by_attribute ? std::nullopt : list(4, "steps");
  if (!starts || !ends) n.invalid("starts or ends are missing");
  std::vector<Cut> cuts = whole(n.shape(x));
  std::set<int> seen;
  for (size_t i = 0; i < starts->size(); ++i) {
    if (ends->size() != starts->size() || (axes && axes->size() != starts->size()) ||
        (steps && steps->size() != starts->size())) {
      n.invalid("starts, ends, axes and steps differ in length");
    }
    Sym given_axis = axes ? (*axes)[i] : Sym(static_cast<int64_t>(i));
    Sym given_step = steps ? (*steps)[i] : Sym(1);
    if (!given_axis.constant() || !given_step.constant()) n.unsupported("a named axis or step");
    int axis = n.axis(*given_axis.constant(), n.rank(x));
    if (!seen.insert(axis).second) n.invalid(fmt::format("axis {} stands twice", axis));
    int64_t step = *given_step.constant();
    if (step == 0) n.invalid("a step of 0");
    Cut& cut = cuts[static_cast<size_t>(axis)];
    const Sym size = cut.end;
    if (step < 0) {
      cut = backward_cut(n, (*starts)[i], (*ends)[i], step, size);
      continue;
    }
    Sym start = clamped((*starts)[i], size), end = clamped((*ends)[i], size);
    if (start.constant() && end.constant()) {
      end = std::max(*start.constant(), *end.constant());
    } else if (!(end == size) && !provably_nonnegative(end - start, {})) {
      start = min(start, end);
    }
    cut = {start, end, step};
  }
  emit_slice(n, x, cuts);
}

// Sizes of the pieces: an attribute, an input (opset 13), num_outputs (opset 18), or equal ones.
std::vector<Sym> split_sizes(NodeContext& n, const Sym& size) {
  if (auto given = n.ints_attr("split")) return as_sizes(*given);
  if (n.has_input(1)) return n.sizes_input(1, "split");
  auto outputs = static_cast<int64_t>(n.node().outputs.size());
  int64_t count = n.int_attr("num_outputs", outputs);
  if (count < 1 || count != outputs) {
    n.invalid(fmt::format("num_outputs is {}, but there are {}", count, outputs));
  }
  if (auto part = exact_div(size, Sym(count))) {
    return std::vector<Sym>(static_cast<size_t>(count), *part);
  }
  if (!size.constant()) {
    n.unsupported(fmt::format("size {} in {} equal parts", size.text(), count));
  }
  if (n.opset() < 18) n.invalid(fmt::format("size {} in {} equal parts", size.text(), count));
  int64_t part = (*size.constant() + count - 1) / count;
  std::vector<Sym> sizes(static_cast<size_t>(count - 1), Sym(part));
  sizes.emplace_back(*size.constant() - part * (count - 1));
  return sizes;
}

void split(NodeContext& n) {
  NodeId x = n.input(0);
  const Shape shape = n.shape(x);
  auto axis = static_cast<size_t>(n.axis(n.int_attr("axis", 0), n.rank(x)));
  std::vector<Sym> sizes = split_sizes(n, shape[axis]);
  if (sizes.size() != n.node().outputs.size()) {
    n.invalid(fmt::format("{} sizes for {} outputs", sizes.size(), n.node().outputs.size()));
  }
  Sym start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].constant() && *sizes[i].constant() < 0) n.invalid("a negative size");
    std::vector<Cut> cuts = whole(shape);
    cuts[axis] = {start, start + sizes[i], 1};
    start = start + sizes[i];
    if (n.wants_output(i)) emit_slice(n, x, cuts, i);
  }
  if (!(start == shape[axis])) {
    n.invalid(fmt::format("the sizes sum to {}, not {}", start.text(), shape[axis].text()));
  }
}

// --- others

void concat(NodeContext& n) {
  std::vector<NodeId> parts = n.inputs();
  if (parts.empty()) n.invalid("no inputs");
  int64_t dim = n.axis(n.int_attr("axis", 1), n.rank(parts[0]));
  n.result(Op::concat, parts, {{"dim", dim}});
}

// A negative pad takes elements away: a slice. What is left to pad is 0 there. Where nothing of a
// dimension is left, all of the result is padding.
NodeId cut_negative_pads(NodeContext& n, NodeId x, std::vector<Sym>& low, std::vector<Sym>& high) {
  std::vector<Sym> starts(low.size(), Sym(0)), ends = n.shape(x), steps(low.size(), Sym(1));
  bool cuts = false;
  for (size_t d = 0; d < low.size(); ++d) {
    const bool cuts_low = low[d].constant().value_or(0) < 0;
    const bool cuts_high = high[d].constant().value_or(0) < 0;
    if (!cuts_low && !cuts_high) continue;
    cuts = true;
    const Sym size = ends[d], total = size + low[d] + high[d];
    if (cuts_low) starts[d] = Sym(0) - low[d];
    if (cuts_high) ends[d] = size + high[d];
    const bool something_left = provably_nonnegative(ends[d] - starts[d], {});
    if (!something_left && !(size.constant() && total.constant())) {
      n.unsupported(fmt::format("pads {} and {} of the named size {}", low[d].text(),
                                high[d].text(), size.text()));
    }
    if (!something_left && *total.constant() < 0) {
      n.invalid(fmt::format("pads {} and {} leave less than nothing of the size {}", low[d].text(),
                            high[d].text(), size.text()));
    }
    if (cuts_low) low[d] = 0;
    if (cuts_high) high[d] = 0;
    if (something_left) continue;
    starts[d] = ends[d] = 0;
    low[d] = total;
    high[d] = 0;
  }
  if (!cuts) return x;
  return n.add("cut", Op::slice, {x}, {{"starts", starts}, {"ends", ends}, {"steps", steps}});
}

void pad(NodeContext& n) {
  NodeId x = n.input(0);
  std::string mode = n.text_attr("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    n.unsupported(fmt::format("mode {}", mode));
  }
  std::vector<Sym> pads;
  double value = n.float_attr("value", 0);
  NodeId computed = -1;  // the value, at run time
  if (auto given = n.ints_attr("pads")) {
    pads = as_sizes(*given);
  } else {
    pads = n.sizes_input(1, "pads");
    if (n.has_input(2)) {
      std::optional<double> given_value = n.number_input(2);
      if (!given_value) computed = n.reshape("value", n.input(2), {});
      value = given_value.value_or(0);
    }
  }
  size_t rank = n.shape(x).size();
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (n.has_input(3)) {  // opset 18
    std::vector<int64_t> given = n.integers_input(3, "axes");
    axes.clear();
    for (int64_t axis : given) axes.push_back(n.axis(axis, static_cast<int>(rank)));
  }
  if (pads.size() != 2 * axes.size()) {
    n.invalid(fmt::format("{} pads for {} axes", pads.size(), axes.size()));
  }
  std::vector<Sym> low(rank, Sym(0)), high(rank, Sym(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    low[static_cast<size_t>(axes[i])] = pads[i];
    high[static_cast<size_t>(axes[i])] = pads[i + axes.size()];
  }
  x = cut_negative_pads(n, x, low, high);
  const Attrs attrs{{"low", low}, {"high", high}, {"value", value}, {"mode", mode}};
  if (computed < 0 || mode != "constant") {
    n.result(Op::pad, {x}, attrs);
    return;
  }
  NodeId all = n.add("all", Op::broadcast, {n.literal(DType::boolean, 1)}, {{"shape", n.shape(x)}});
  NodeId inside = n.add("inside", Op::pad, {all}, {{"low", low}, {"high", high}});
  n.result(Op::select, {inside, n.add("padded", Op::pad, {x}, attrs), computed});
}

void identity(NodeContext& n) { n.set(0, n.input(0)); }

}  // namespace

HandlerTable movement_handlers() {
  return {{"Reshape", reshape},
          {"Squeeze", squeeze},
          {"Unsqueeze", unsqueeze},
          {"Flatten", flatten},
          {"DepthToSpace", depth_to_space},
          {"SpaceToDepth", space_to_depth},
          {"Transpose", transpose},
          {"Expand", expand},
          {"Tile", tile},
          {"Slice", slice},
          {"Split", split},
          {"Concat", concat},
          {"Pad", pad},
          {"Identity", identity}};
}

}  // namespace ingot::onnx_model
