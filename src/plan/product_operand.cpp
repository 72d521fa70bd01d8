// Which operands a library product can read where they lie: views whose composed index map is a
// stride in each matrix (or image) dimension.
#include "base/error.h"
#include "plan/units.h"

namespace ingot {
namespace {

using Index = std::vector<Sym>;

// The flat index in the buffer under the views, at `index` of `node`.
Sym stored_index(const Graph& graph, NodeId node, Index index, const Ranges& ranges) {
  while (is_view(graph, node)) {
    index = operand_access(graph, node, 0, index, ranges).index;
    node = graph[node].operands[0];
  }
  return flat_index(graph[node].type.shape, index);
}

bool has_batch(const Shape& shape) {
  for (size_t d = 0; d + 2 < shape.size(); ++d) {
    if (!shape[d].is(1)) return true;
  }
  return false;
}

// One stride is 1 and the other carries from row to row, as the library's leading dimension.
bool matrix(const Sym& flat, const Sym& rows, const Sym& columns) {
  std::optional<Sym> row = flat.stride("@row"), column = flat.stride("@column");
  if (!row || !column) return false;
  auto positive = [](const Sym& stride) { return provably_nonnegative(stride - 1, {}); };
  if (column->is(1) || columns.is(1)) return rows.is(1) || positive(*row);
  return (row->is(1) || rows.is(1)) && positive(*column);
}

bool matmul_operand(const Graph& graph, const Node& node, int operand) {
  NodeId id = node.operands[static_cast<size_t>(operand)];
  const Shape& shape = graph[id].type.shape;
  if (shape.size() < 2) {
    Ranges ranges{{"@row", shape[0]}};
    std::optional<Sym> stride = stored_index(graph, id, {Sym::var("@row")}, ranges).stride("@row");
    return shape[0].is(1) || (stride && stride->is(1));
  }
  Sym rows = shape[shape.size() - 2], columns = shape.back();
  Ranges ranges{{"@row", rows}, {"@column", columns}};
  Index index(shape.size(), Sym(0));
  Sym row = Sym::var("@row");
  size_t batches = shape.size() - 2;
  const Shape& other = graph[node.operands[1]].type.shape;
  bool rows_run_on = operand == 0 && !has_batch(other) && other.size() >= 1 &&
                     !flag_attr(op_info(node.op), node.attrs, "transpose_a");
  if (rows_run_on) {  // the rows of all batches are one long matrix
    std::vector<size_t> dims;
    Sym all = rows;
    for (size_t d = 0; d < batches; ++d) all = all * shape[d];
    ranges["@row"] = all;
    for (size_t d = 0; d <= batches; ++d) dims.push_back(d);
    split_index(row, shape, dims, ranges, &index);
    rows = all;
  } else {
    for (size_t d = 0; d < batches; ++d) {
      std::string name = "@b" + std::to_string(d);
      ranges[name] = shape[d];
      index[d] = shape[d].is(1) ? Sym(0) : Sym::var(name);
    }
    index[batches] = row;
  }
  index[batches + 1] = Sym::var("@column");
  return matrix(stored_index(graph, id, index, ranges), rows, columns);
}

bool conv_operand(const Graph& graph, const Node& node, int operand) {
  NodeId id = node.operands[static_cast<size_t>(operand)];
  const Shape& shape = graph[id].type.shape;
  Ranges ranges;
  Index index;
  for (size_t d = 0; d < shape.size(); ++d) {
    std::string name = "@" + std::to_string(d);
    ranges[name] = shape[d];
    index.push_back(shape[d].is(1) ? Sym(0) : Sym::var(name));
  }
  Sym flat = stored_index(graph, id, index, ranges);
  if (operand > 0) {  // weights: row-major as they stand
    Sym offset = flat - flat_index(shape, index);
    return offset.constant().has_value();
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    std::optional<Sym> stride = flat.stride("@" + std::to_string(d));
    if (!stride || !provably_nonnegative(*stride, {})) return false;
  }
  return true;
}

}  // namespace

bool reads_in_place(const Graph& graph, NodeId contraction, int operand) {
  const Node& node = graph[contraction];
  return node.op == Op::matmul ? matmul_operand(graph, node, operand)
                               : conv_operand(graph, node, operand);
}

}  // namespace ingot
