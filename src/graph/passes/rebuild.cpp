#include "graph/passes/rebuild.h"

#include <algorithm>

namespace ingot {

Graph rebuild(const Graph& graph, const Visit& visit) {
  std::vector<bool> live = live_nodes(graph);
  GraphBuilder builder(graph.name);
  builder.graph().nodes.reserve(graph.nodes.size());
  std::vector<NodeId> mapped(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph.nodes[i];
    std::vector<NodeId> operands;
    operands.reserve(node.operands.size());
    for (NodeId operand : node.operands) {
      operands.push_back(mapped[static_cast<size_t>(operand)]);
    }
    mapped[i] = visit(builder, node, std::move(operands));
  }
  builder.graph().sources = graph.sources;
  builder.graph().merged_sizes.insert(graph.merged_sizes.begin(), graph.merged_sizes.end());
  std::vector<Rewrite>& rewrites = builder.graph().rewrites;  // those of this pass stand last
  rewrites.insert(rewrites.begin(), graph.rewrites.begin(), graph.rewrites.end());
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    builder.output(mapped[static_cast<size_t>(graph.outputs[i])], graph.output_names[i]);
  }
  return builder.take();
}

Graph without_dead_nodes(Graph graph) {
  std::vector<bool> live = live_nodes(graph);
  if (std::find(live.begin(), live.end(), false) == live.end()) return graph;
  return rebuild(graph, [](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
    return builder.copy(node, std::move(operands));
  });
}

}  // namespace ingot
