// A product whose left operand is 1 at one place of a row and 0 elsewhere picks a row of the table:
//   matmul(cast(eq(ids, 0 1 2 … n−1)), table)   =   gather(table, ids), or zeros if no place
//   matches.
// The sum has one term that is not ±0, so its bits are the picked row's, with +0 for −0; only an
// infinite or NaN table would spoil it (0·inf).
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

struct Match {
  NodeId ids;      // 1 in the last dimension, or no dimension
  Shape compared;  // shape of the comparison, [… n]
};

const Sym& last(const Shape& shape) { return shape.back(); }

// Through casts and through reshapes that leave the last dimension alone, to a comparison.
NodeId comparison(const GraphBuilder& builder, NodeId id) {
  while (true) {
    const Node& node = builder[id];
    if (node.op == Op::eq) return id;
    bool keeps_rows = node.op == Op::reshape && !builder[node.operands[0]].type.shape.empty() &&
                      last(builder[node.operands[0]].type.shape) == last(node.type.shape);
    bool keeps_zero_and_one = node.op == Op::cast;
    if (node.op == Op::select && literal_value(builder[node.operands[1]]) == 1.0 &&
        literal_value(builder[node.operands[2]]) == 0.0 &&
        builder[node.operands[0]].type.shape == node.type.shape) {
      keeps_zero_and_one = true;
    }
    if (!keeps_rows && !keeps_zero_and_one) return -1;
    id = node.operands[0];
  }
}

// 0, 1, 2, … n−1 along the last dimension and the same in all others.
bool is_counting(const GraphBuilder& builder, NodeId id, int64_t n) {
  while (builder[id].op == Op::broadcast || builder[id].op == Op::reshape) {
    if (builder[id].type.shape.empty() || !last(builder[id].type.shape).is(n)) return false;
    id = builder[id].operands[0];
  }
  const Node& node = builder[id];
  if (node.type.shape.empty() || !last(node.type.shape).is(n)) return false;
  for (size_t d = 0; d + 1 < node.type.shape.size(); ++d) {
    if (!node.type.shape[d].is(1)) return false;
  }
  if (node.op == Op::iota) {
    int64_t dim = integer_attr(op_info(Op::iota), node.attrs, "dim");
    auto rank = static_cast<int64_t>(node.type.shape.size());
    bool wraps = is_integer(node.type.dtype) && byte_size(node.type.dtype) < 8 &&
                 n - 1 > integer_limits(node.type.dtype).highest;
    return (dim < 0 ? dim + rank : dim) == rank - 1 && !wraps;
  }
  if (node.op != Op::constant) return false;
  for (int64_t k = 0; k < n; ++k) {
    if (node.data->get_i64(k) != k) return false;
  }
  return true;
}

// The value behind broadcasts along the last dimension; -1 if the last dimension matters.
NodeId constant_in_last(const GraphBuilder& builder, NodeId id) {
  while (builder[id].op == Op::broadcast) {
    const Shape& inner = builder[builder[id].operands[0]].type.shape;
    if (!inner.empty() && !last(inner).is(1) && !last(builder[id].type.shape).is(1)) return -1;
    id = builder[id].operands[0];
  }
  const Shape& shape = builder[id].type.shape;
  return shape.empty() || last(shape).is(1) ? id : -1;
}

std::optional<Match> match_one_hot(const GraphBuilder& builder, NodeId lhs, int64_t n) {
  NodeId eq = comparison(builder, lhs);
  if (eq < 0 || builder[eq].type.shape.empty() || !last(builder[eq].type.shape).is(n)) return {};
  for (int side = 0; side < 2; ++side) {
    NodeId ids = builder[eq].operands[static_cast<size_t>(side)];
    NodeId counting = builder[eq].operands[static_cast<size_t>(1 - side)];
    if (!is_integer(builder[ids].type.dtype) || !is_counting(builder, counting, n)) continue;
    ids = constant_in_last(builder, ids);
    if (ids >= 0) return Match{ids, builder[eq].type.shape};
  }
  return {};
}

// A finite table [n, m] without negative zeros; nullptr if it is not finite.
std::shared_ptr<const Tensor> picked_table(const Node& table) {
  bool has_negative_zero = false;
  if (is_float(table.type.dtype)) {
    for (int64_t i = 0; i < table.data->size(); ++i) {
      double value = table.data->get_f64(i);
      if (!std::isfinite(value)) return nullptr;
      has_negative_zero |= value == 0 && std::signbit(value);
    }
  }
  if (!has_negative_zero) return table.data;
  auto fixed =
      std::make_shared<Tensor>(Tensor::uninitialized(table.data->dtype(), table.data->shape()));
  for (int64_t i = 0; i < fixed->size(); ++i) fixed->set_f64(i, table.data->get_f64(i) + 0.0);
  return fixed;
}

// ids in the shape that the gather needs; views are undone before new ones are made.
NodeId shaped_ids(GraphBuilder& builder, const Node& node, const Match& match, Shape wanted) {
  NodeId ids = match.ids;
  Shape full = match.compared;
  full.back() = 1;
  if (element_count(builder[ids].type.shape) == element_count(full)) {
    while (builder[ids].op == Op::reshape && builder[ids].type.shape != wanted) {
      ids = builder[ids].operands[0];
    }
  } else {
    ids = builder.add(Op::broadcast, {ids}, {{"shape", full}}, node.name + ".broadcast",
                      node.location, node.source);
  }
  if (builder[ids].type.shape == wanted) return ids;
  return builder.add(Op::reshape, {ids}, {{"shape", std::move(wanted)}}, node.name + ".ids",
                     node.location, node.source);
}

void record(GraphBuilder& builder, const std::string& name, const std::vector<NodeId>& operands,
            bool done) {
  const std::string product =
      fmt::format("'{}' has one 1 in a row at most", builder[operands[0]].name);
  const std::string& table = builder[operands[1]].name;
  builder.graph().rewrites.push_back(
      {name, done,
       done ? fmt::format("{}: the product picks rows of '{}', as a gather does with equal bits",
                          product, table)
            : fmt::format("{}, but '{}' is no finite constant: 0 times an infinity is NaN, so the "
                          "product stays",
                          product, table)});
}

NodeId rewrite(GraphBuilder& builder, const Node& node, const std::vector<NodeId>& operands) {
  const OpInfo& info = op_info(Op::matmul);
  const Node table = builder[operands[1]];  // a copy: the builder grows
  const Shape lhs_shape = builder[operands[0]].type.shape;
  bool is_plain = !flag_attr(info, node.attrs, "transpose_a") &&
                  !flag_attr(info, node.attrs, "transpose_b") && table.type.shape.size() == 2 &&
                  lhs_shape.size() >= 2;
  std::optional<int64_t> rows_of_table = is_plain ? table.type.shape[0].constant() : std::nullopt;
  if (!rows_of_table) return -1;
  std::optional<Match> match = match_one_hot(builder, operands[0], *rows_of_table);
  if (!match) return -1;
  std::shared_ptr<const Tensor> data = table.op == Op::constant ? picked_table(table) : nullptr;
  record(builder, node.name, operands, data != nullptr);
  if (!data) return -1;
  NodeId rows = operands[1];
  if (data != table.data) {
    rows = builder.constant(*data, table.name + ".positive_zeros", table.location);
  }
  NodeId ids = shaped_ids(builder, node, *match, Shape(lhs_shape.begin(), lhs_shape.end() - 1));
  return builder.add(Op::gather, {rows, ids},
                     {{"dim", int64_t{0}}, {"out_of_range", std::string("zero")}}, node.name,
                     node.location, node.source);
}

}  // namespace

bool has_products(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == Op::matmul; });
}

Graph one_hot_to_gather(const Graph& graph) {
  return without_dead_nodes(
      rebuild(graph, [](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
        NodeId gather = node.op == Op::matmul ? rewrite(builder, node, operands) : -1;
        return gather >= 0 ? gather : builder.copy(node, std::move(operands));
      }));
}

}  // namespace ingot
