// Random programs over the op table, and shrinking of a failing one.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace ingot::testing {

struct RandomOptions {
  int nodes = 12;            // ops tried; those that inference rejects are dropped
  int64_t elements = 60000;  // largest tensor at B = 7
};

// Deterministic in `seed`. One dimension may be the name B. No products.
Graph random_graph(uint64_t seed, const RandomOptions& options = {});

// Smaller graphs while `fails` holds: fewer outputs, nodes replaced by inputs or by their operands.
Graph shrink(const Graph& graph, const std::function<bool(const Graph&)>& fails);

}  // namespace ingot::testing
