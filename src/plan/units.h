// The planner's view of a graph. A unit is what runs as one kernel with FusionMode::off: a source
// op, or a view whose value has to stand in memory. Other views, and what costs nothing to make
// again (iota and sizes), belong to whoever reads them.
#pragma once

#include <set>
#include <vector>

#include "plan/domain.h"

namespace ingot {

struct FusionUnit {
  std::vector<NodeId> nodes;   // no views, but for a copy's one
  NodeId result = -1;          // the last node, by whose name people know the op
  bool copy = false;           // a stored view
  std::vector<NodeId> reads;   // buffers read when it runs alone: no literals, each once
  std::vector<NodeId> values;  // nodes that others read, or that the graph returns
};

struct UnitGraph {
  std::vector<FusionUnit> units;  // topological
  std::vector<int> unit_of;       // node → unit; -1: views, inputs, constants
  std::vector<bool> stored;       // views, iota and sizes that need a buffer
  std::vector<bool> graph_output;
  std::vector<std::vector<int>> readers;  // node → units that read it, ascending
};

// `node_by_node`: every node is a unit of its own (for edited plans, which may cut a composite).
UnitGraph make_units(const Graph& graph, bool node_by_node = false);

// A view, iota or size without a buffer of its own.
bool is_free(const Graph& graph, const UnitGraph& units, NodeId node);
// What stands in memory, or is computed, under the views `node` is seen through.
NodeId root(const Graph& graph, const UnitGraph& units, NodeId node);
// `nodes` with the views between them and what they read; ascending.
std::vector<NodeId> with_views(const Graph& graph, const UnitGraph& units,
                               const std::vector<NodeId>& nodes);

// May the product read this operand through its views, as a strided matrix or image in memory?
bool reads_in_place(const Graph& graph, NodeId contraction, int operand);

}  // namespace ingot
