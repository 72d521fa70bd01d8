#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

SourceOp source_op(const Graph& graph, const Node& node) {
  SourceOp source{node.name, node.op, {}, {}, node.type};
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Node& operand = graph[node.operands[i]];
    source.operands.push_back(operand.name);
    if (literal_value(operand)) source.literal_operands.push_back(static_cast<int64_t>(i));
  }
  return source;
}

}  // namespace

Graph mark_sources(const Graph& graph) {
  Graph marked = without_dead_nodes(graph);
  marked.sources.clear();
  for (Node& node : marked.nodes) {
    if (node.op == Op::input || node.op == Op::constant) continue;
    node.source = static_cast<int32_t>(marked.sources.size());
    marked.sources.push_back(source_op(marked, node));
  }
  return marked;
}

}  // namespace ingot
