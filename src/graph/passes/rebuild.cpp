#include "graph/passes/rebuild.h"

#include <algorithm>

namespace ingot {
namespace {

// That another value stands for the result of one of the user's ops.
void note_equal(const Node& node, const Node& stands_for_it, std::vector<SourceOp>* sources) {
  if (node.source < 0 || stands_for_it.name == node.name) return;
  SourceOp& source = (*sources)[static_cast<size_t>(node.source)];
  if (source.name == node.name) source.equal_to = stands_for_it.name;
}

}  // namespace

Graph rebuild(const Graph& graph, const Visit& visit) {
  std::vector<bool> live = live_nodes(graph);
  GraphBuilder builder(graph.name);
  builder.graph().nodes.reserve(graph.nodes.size());
  builder.graph().sources = graph.sources;
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
    note_equal(node, builder[mapped[i]], &builder.graph().sources);
  }
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
