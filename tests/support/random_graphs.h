// Random programs over the op table, and shrinking of a failing one.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace ingot::testing {

enum class GraphForm { usual, deep, wide };

struct RandomOptions {
  GraphForm form = GraphForm::usual;
  int nodes = 12;            // steps tried; what inference rejects is dropped
  int64_t elements = 60000;  // largest tensor at usual_sizes()
  // Products of small whole numbers: any order of summation gives the same bits.
  bool whole_products = false;
  bool products = false;  // products of anything: their bits are the library's
};

// Deterministic in `seed`. Dimensions may be named B and C, or expressions in them.
Graph random_graph(uint64_t seed, const RandomOptions& options = {});

// B = 7, C = 3.
const Bindings& usual_sizes();
// Other sizes for the names, chosen by `seed`: 0, 1, and around what vectors and chunks hold.
Bindings other_sizes(uint64_t seed);

// Smaller graphs while `fails` holds: fewer outputs, nodes replaced by inputs or by their operands.
Graph shrink(const Graph& graph, const std::function<bool(const Graph&)>& fails);

}  // namespace ingot::testing
