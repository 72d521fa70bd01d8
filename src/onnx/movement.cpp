// Ops that move elements: reshape and its kin, transpose, slice, split, concat, pad, gather, tile.
#include <algorithm>
#include <limits>
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

// Counting down, -1 as a clamped position would mean the last element: clamping is left to slice.
Cut backward_cut(const Sym& start, const Sym& end, int64_t step) {
  auto open = [](const Sym& position) {
    int64_t at = position.constant().value_or(0);
    if (at >= open_end) return Sym(INT32_MAX);
    return at <= -open_end ? Sym(-INT32_MAX) : position;
  };
  return {open(start), open(end), step};
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
    if (step == 0 || step == std::numeric_limits<int64_t>::min()) n.invalid("a step of 0");
    Cut& cut = cuts[static_cast<size_t>(axis)];
    const Sym size = cut.end;
    if (step < 0) {
      cut = backward_cut((*starts)[i], (*ends)[i], step);
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

// A negative pad takes elements away: a slice. What is left to pad is 0 there.
NodeId cut_negative_pads(NodeContext& n, NodeId x, std::vector<Sym>& low, std::vector<Sym>& high) {
  std::vector<Sym> starts(low.size(), Sym(0)), ends = n.shape(x), steps(low.size(), Sym(1));
  bool cuts = false;
  for (size_t d = 0; d < low.size(); ++d) {
    for (Sym* side : {&low[d], &high[d]}) {
      if (side->constant().value_or(0) >= 0) continue;
      (side == &low[d] ? starts[d] : ends[d]) = side == &low[d] ? Sym(0) - *side : ends[d] + *side;
      *side = 0;
      cuts = true;
    }
    bool is_backward = !provably_nonnegative(ends[d] - starts[d], {});
    if (cuts && is_backward) n.unsupported("negative pads of more than a dimension's size");
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

// ONNX counts negative indices from the end; gather does not.
NodeId positive_ids(NodeContext& n, NodeId ids, const Sym& size, const std::string& suffix = {}) {
  DType dtype = n.dtype(ids);
  if (is_unsigned(dtype)) return ids;
  if (const auto& data = n.graph_node(ids).data) {
    Tensor fixed(dtype, data->shape());
    bool has_negative = false;
    for (int64_t i = 0; i < fixed.size(); ++i) {
      int64_t id = data->get_i64(i);
      has_negative |= id < 0;
      if (id < 0 && !size.constant()) n.unsupported("a negative index into a named size");
      fixed.set_i64(i, id < 0 ? id + *size.constant() : id);
    }
    return has_negative ? n.constant(std::move(fixed), "ids" + suffix) : ids;
  }
  if (byte_size(dtype) < 4) {  // the size may not fit
    ids = n.cast("ids32" + suffix, ids, DType::i32);
    dtype = DType::i32;
  }
  NodeId count = n.size_value("size" + suffix, size, dtype);
  NodeId is_negative = n.add("negative" + suffix, Op::lt, {ids, n.literal(dtype, 0)});
  NodeId from_end = n.add("from_end" + suffix, Op::add, {ids, count});
  return n.add("ids" + suffix, Op::select, {is_negative, from_end, ids});
}

void gather(NodeContext& n) {
  NodeId table = n.input(0), ids = n.input(1);
  if (n.rank(table) == 0) n.invalid("a table without dimensions");
  int axis = n.axis(n.int_attr("axis", 0), n.rank(table));
  const Shape shape = n.shape(table);
  const Sym& size = shape[static_cast<size_t>(axis)];
  std::optional<double> index = literal_value(n.graph_node(ids));
  if (index && n.rank(ids) == 0) {  // one position: a slice is only a view
    auto at = static_cast<int64_t>(*index);
    Sym start = at < 0 ? size + Sym(at) : Sym(at);
    bool in_range = size.constant() ? at < *size.constant() && at >= -*size.constant() : at <= 0;
    if (size.constant() && !in_range) {
      n.invalid(fmt::format("index {} out of range [0, {})", at, size.text()));
    }
    if (in_range && (at >= -1 || size.constant())) {
      std::vector<Sym> starts(shape.size(), Sym(0)), ends = shape, steps(shape.size(), Sym(1));
      starts[static_cast<size_t>(axis)] = start;
      ends[static_cast<size_t>(axis)] = start + Sym(1);
      NodeId row =
          n.add("row", Op::slice, {table}, {{"starts", starts}, {"ends", ends}, {"steps", steps}});
      Shape kept = shape;
      kept.erase(kept.begin() + axis);
      n.result(Op::reshape, {row}, {{"shape", kept}});
      return;
    }
  }
  ids = positive_ids(n, ids, size);
  n.result(Op::gather, {table, ids}, {{"dim", int64_t{axis}}});
}

void gather_elements(NodeContext& n) {
  NodeId table = n.input(0);
  if (n.rank(table) == 0) n.invalid("a table without dimensions");
  int axis = n.axis(n.int_attr("axis", 0), n.rank(table));
  NodeId ids = positive_ids(n, n.input(1), n.shape(table)[static_cast<size_t>(axis)]);
  n.result(Op::gather_elements, {table, ids}, {{"dim", int64_t{axis}}});
}

// Row-major positions in the first k dimensions of `shape` from ids [..., k]; -1 for those out of
// range, which the reader reports.
NodeId flat_positions(NodeContext& n, NodeId ids, const Shape& shape) {
  Shape head(n.shape(ids).begin(), n.shape(ids).end() - 1);
  auto k = *n.shape(ids).back().constant();
  ids = n.cast("ids64", ids, DType::i64);
  NodeId flat = -1, valid = -1;
  for (int64_t i = 0; i < k; ++i) {
    const Sym size = shape[static_cast<size_t>(i)];
    std::vector<Sym> starts(head.size(), Sym(0)), ends = head, steps(head.size() + 1, Sym(1));
    starts.emplace_back(i);
    ends.emplace_back(i + 1);
    std::string suffix = std::to_string(i);
    NodeId part = n.add("part" + suffix, Op::slice, {ids},
                        {{"starts", starts}, {"ends", ends}, {"steps", steps}});
    part = positive_ids(n, n.reshape("row" + suffix, part, head), size, suffix);
    NodeId count = n.size_value("count" + suffix, size, DType::i64);
    NodeId inside = n.add("inside" + suffix, Op::and_,
                          {n.add("low" + suffix, Op::ge, {part, n.literal(DType::i64, 0)}),
                           n.add("high" + suffix, Op::lt, {part, count})});
    valid = valid < 0 ? inside : n.add("valid" + suffix, Op::and_, {valid, inside});
    if (flat >= 0) {
      part =
          n.add("flat" + suffix, Op::add, {n.add("scaled" + suffix, Op::mul, {flat, count}), part});
    }
    flat = part;
  }
  return n.add("place", Op::select, {valid, flat, n.literal(DType::i64, -1)});
}

// The number of index dimensions, at least one, in [..., k].
size_t index_depth(NodeContext& n, NodeId ids, size_t most) {
  if (n.rank(ids) == 0) n.invalid("indices without dimensions");
  std::optional<int64_t> k = n.shape(ids).back().constant();
  if (!k) n.unsupported("a named number of index dimensions");
  if (*k < 1 || *k > static_cast<int64_t>(most)) n.invalid(fmt::format("{} index dimensions", *k));
  return static_cast<size_t>(*k);
}

// The first k dimensions as one.
Shape joined_head(const Shape& shape, size_t k) {
  Shape head(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(k));
  Shape joined{element_count(head)};
  joined.insert(joined.end(), shape.begin() + static_cast<std::ptrdiff_t>(k), shape.end());
  return joined;
}

void gather_nd(NodeContext& n) {
  NodeId table = n.input(0), ids = n.input(1);
  if (n.int_attr("batch_dims", 0) != 0) n.unsupported("batch_dims");
  const Shape shape = n.shape(table);
  size_t k = index_depth(n, ids, shape.size());
  NodeId places = flat_positions(n, ids, shape);
  NodeId rows = n.reshape("rows", table, joined_head(shape, k));
  n.result(Op::gather, {rows, places}, {{"dim", int64_t{0}}});
}

std::string scatter_mode(NodeContext& n) {
  std::string reduction = n.text_attr("reduction", "none");
  if (reduction == "none") return "set";
  if (reduction == "add" || reduction == "mul" || reduction == "min" || reduction == "max") {
    return reduction;
  }
  n.unsupported(fmt::format("reduction {}", reduction));
}

void scatter_elements(NodeContext& n) {
  NodeId into = n.input(0);
  if (n.rank(into) == 0) n.invalid("data without dimensions");
  int axis = n.axis(n.int_attr("axis", 0), n.rank(into));
  const Shape shape = n.shape(into), own = n.shape(n.input(1));
  for (size_t d = 0; d < shape.size() && own.size() == shape.size(); ++d) {
    bool other = static_cast<int>(d) != axis && shape[d].constant() && own[d].constant();
    if (other && !(shape[d] == own[d])) n.unsupported("indices smaller than the data");
  }
  NodeId ids = positive_ids(n, n.input(1), shape[static_cast<size_t>(axis)]);
  n.result(Op::scatter_elements, {into, ids, n.input(2)},
           {{"dim", int64_t{axis}}, {"mode", scatter_mode(n)}});
}

void scatter_nd(NodeContext& n) {
  NodeId into = n.input(0), ids = n.input(1);
  const Shape shape = n.shape(into);
  size_t k = index_depth(n, ids, shape.size());
  NodeId places = flat_positions(n, ids, shape);
  NodeId rows = n.reshape("rows", into, joined_head(shape, k));
  NodeId done = n.add("updated", Op::scatter, {rows, places, n.input(2)},
                      {{"dim", int64_t{0}}, {"mode", scatter_mode(n)}});
  n.result(Op::reshape, {done}, {{"shape", shape}});
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
          {"Gather", gather},
          {"GatherElements", gather_elements},
          {"GatherND", gather_nd},
          {"Scatter", scatter_elements},
          {"ScatterElements", scatter_elements},
          {"ScatterND", scatter_nd},
          {"Identity", identity}};
}

}  // namespace ingot::onnx_model
