#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

SourceOp source_op(const GraphBuilder& builder, const Node& node,
                   const std::vector<NodeId>& operands) {
  SourceOp source{node.name, node.op, {}, {}, node.type};
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node& operand = builder[operands[i]];
    source.operands.push_back(operand.name);
    if (literal_value(operand)) source.literal_operands.push_back(static_cast<int64_t>(i));
  }
  return source;
}

}  // namespace

Graph mark_sources(const Graph& graph) {
  std::vector<SourceOp> sources;
  Graph marked =
      rebuild(graph, [&](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
        if (node.op == Op::input || node.op == Op::constant) return builder.copy(node, operands);
        sources.push_back(source_op(builder, node, operands));
        NodeId id = builder.copy(node, std::move(operands));
        builder.graph()[id].source = static_cast<int32_t>(sources.size() - 1);
        return id;
      });
  marked.sources = std::move(sources);
  return marked;
}

}  // namespace ingot
