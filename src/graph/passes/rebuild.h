// How a pass walks: live nodes in order into a new graph, so that dead nodes vanish.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace ingot {

// Gives the node of the new graph that stands for `node`; `operands` are already new ids.
using Visit =
    std::function<NodeId(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands)>;

// Visits what the outputs need, and every input. Sources, rewrites and output names are kept.
Graph rebuild(const Graph& graph, const Visit& visit);
// The graph without nodes that nothing needs; as it is where there are none.
Graph without_dead_nodes(Graph graph);

}  // namespace ingot
