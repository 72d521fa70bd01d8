#include "support/unneeded_ids.h"

#include "graph/evaluate.h"
#include "graph/passes/rebuild.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

// Ids out of range name one more row, which is filled with `value`.
Graph with_a_row_of(const Graph& graph, double value, const Bindings& sizes) {
  return rebuild(graph, [&](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
    const OpInfo& info = op_info(node.op);
    const bool gathers = node.op == Op::gather || node.op == Op::gather_elements;
    if (!gathers || text_attr(info, node.attrs, "out_of_range") != "error") {
      return builder.copy(node, std::move(operands));
    }
    const TensorType table = builder[operands[0]].type;
    const auto rank = static_cast<int64_t>(table.shape.size());
    const int64_t named = integer_attr(info, node.attrs, "dim"),
                  dim = named < 0 ? named + rank : named;
    const int64_t rows = table.shape[static_cast<size_t>(dim)].evaluate(sizes);
    Shape row = table.shape;
    row[static_cast<size_t>(dim)] = Sym(1);
    const NodeId filled =
        builder.add(Op::broadcast, {builder.literal(table.dtype, value)}, {{"shape", row}});
    const NodeId longer = builder.add(Op::concat, {operands[0], filled}, {{"dim", dim}});
    const NodeId ids = builder.add(Op::cast, {operands[1]}, {{"dtype", DType::i64}});
    auto number = [&](int64_t n) { return builder.literal_i64(DType::i64, n); };
    const NodeId inside = builder.add(Op::and_, {builder.add(Op::ge, {ids, number(0)}),
                                                 builder.add(Op::lt, {ids, number(rows)})});
    const NodeId known = builder.add(Op::select, {inside, ids, number(rows)});
    return builder.add(node.op, {longer, known}, node.attrs, node.name, node.location);
  });
}

}  // namespace

std::optional<std::vector<Tensor>> results_without_those_ids(const Graph& graph,
                                                             const std::vector<Tensor>& inputs,
                                                             const Bindings& sizes) {
  auto with = [&](double value) {
    return evaluate(with_a_row_of(graph, value, sizes), inputs, Precision::per_op);
  };
  std::vector<Tensor> results = with(0), others = with(1);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!first_difference(results[i], others[i]).empty()) return std::nullopt;
  }
  return results;
}

}  // namespace ingot::testing
