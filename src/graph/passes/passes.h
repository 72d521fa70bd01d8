// All graph passes: pure functions from Graph to Graph. Their order, with reasons, stands in
// pass_list.cpp; the runner drops dead nodes, skips a pass with nothing to do and verifies after
// each other one.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace ingot {

// Each has_… says whether its pass has anything to do (GraphPass::applies).

// Evaluates nodes whose operands are all constants or have no elements, where the bits are those of
// run time: integer and elementwise ops and movements; floating reductions in the canonical order;
// no products. Results above 16 MiB that are larger than their operands are left alone (a
// broadcast, say). Nodes without elements become constants, too.
bool has_known_values(const Graph& graph);
Graph fold_constants(const Graph& graph);

// Records Graph::sources and each node's `source`. After this line ops are counted; nodes that
// later passes make inherit the source of the node they replace.
Graph mark_sources(const Graph& graph);

// One-hot products become gathers: matmul(cast(eq(ids, iota)), table) with a finite constant table
// is gather(table, ids, out_of_range="zero") (negative zeros of the table become zeros, as the
// product would give). In every fusion mode, since it changes the counted work.
bool has_products(const Graph& graph);
Graph one_hot_to_gather(const Graph& graph);

// Composite ops → primitives in f32 (f64 for f64), one rounding at the end. After this line there
// are no composites. Every node keeps its source.
bool has_composites(const Graph& graph);
Graph decompose(const Graph& graph);

// Rewrites that keep every bit in `exact`: identity reshapes/transposes/broadcasts/casts, composed
// movements, double negation, x·1, x+(-0), broadcast of a literal into an elementwise operand.
// Not x+0 (changes -0), x*0, x-x.
Graph simplify(const Graph& graph);

// Equal op, operands, attributes → one node (constants by bits). Random nodes are never merged.
// Every pass rebuilds from the outputs, so dead nodes vanish.
Graph merge_common(const Graph& graph);

struct GraphPass {
  std::string_view name;
  std::string_view what;
  bool (*applies)(const Graph&);  // false: the pass would change nothing
  Graph (*run)(const Graph&);
};
const std::vector<GraphPass>& graph_passes();

// Runs the list in order, verifying after each. `observe` (may be empty) sees each graph that
// changed.
Graph run_graph_passes(const Graph& graph,
                       const std::function<void(const GraphPass&, const Graph&)>& observe = {});

}  // namespace ingot
