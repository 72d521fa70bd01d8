// Ops that take or update elements by their positions: the gathers and scatters.
#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

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

// The part of x below `ends`, but along `dim` the elements from `start` on.
NodeId corner(NodeContext& n, const std::string& suffix, NodeId x, Shape ends, size_t dim,
              const Sym& start) {
  std::vector<Sym> starts(ends.size(), Sym(0)), steps(ends.size(), Sym(1));
  starts[dim] = start;
  return n.add(suffix, Op::slice, {x}, {{"starts", starts}, {"ends", ends}, {"steps", steps}});
}

// Indices may be fewer than the data along other dimensions than the axis: what lies below them is
// updated, and the rest of each dimension follows behind it.
void scatter_elements(NodeContext& n) {
  NodeId into = n.input(0);
  if (n.rank(into) == 0) n.invalid("data without dimensions");
  const auto axis = static_cast<size_t>(n.axis(n.int_attr("axis", 0), n.rank(into)));
  const Shape shape = n.shape(into), own = n.shape(n.input(1));
  std::vector<size_t> shorter;
  Shape reached = shape;
  for (size_t d = 0; d < shape.size() && own.size() == shape.size(); ++d) {
    if (d == axis || shape[d] == own[d] || !shape[d].constant() || !own[d].constant()) continue;
    if (*own[d].constant() > *shape[d].constant()) {
      n.invalid(
          fmt::format("indices {} reach beyond the data {}", shape_text(own), shape_text(shape)));
    }
    shorter.push_back(d);
    reached[d] = own[d];
  }
  NodeId ids = positive_ids(n, n.input(1), shape[axis]);
  const Attrs attrs{{"dim", static_cast<int64_t>(axis)}, {"mode", scatter_mode(n)}};
  if (shorter.empty()) {
    n.result(Op::scatter_elements, {into, ids, n.input(2)}, attrs);
    return;
  }
  NodeId part = corner(n, "below", into, reached, axis, 0);
  part = n.add("updated", Op::scatter_elements, {part, ids, n.input(2)}, attrs);
  for (const size_t d : shorter) {
    reached[d] = shape[d];
    NodeId rest = corner(n, fmt::format("rest{}", d), into, reached, d, own[d]);
    const Attrs along{{"dim", static_cast<int64_t>(d)}};
    const bool last = d == shorter.back();
    part = last ? n.result(Op::concat, {part, rest}, along)
                : n.add(fmt::format("joined{}", d), Op::concat, {part, rest}, along);
  }
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

}  // namespace

HandlerTable gather_scatter_handlers() {
  return {{"Gather", gather},
          {"GatherElements", gather_elements},
          {"GatherND", gather_nd},
          {"Scatter", scatter_elements},
          {"ScatterElements", scatter_elements},
          {"ScatterND", scatter_nd}};
}

}  // namespace ingot::onnx_model
