#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

bool same_node(const Node& a, const Node& b) {
  return a.op == b.op && a.operands == b.operands && a.attrs == b.attrs && a.type == b.type &&
         a.name == b.name && a.source == b.source;
}

bool same(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size() || a.outputs != b.outputs) return false;
  if (a.sources.size() != b.sources.size() || a.rewrites.size() != b.rewrites.size()) return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    if (!same_node(a.nodes[i], b.nodes[i])) return false;
  }
  return true;
}

bool always(const Graph& /*graph*/) { return true; }

}  // namespace

const std::vector<GraphPass>& graph_passes() {
  static const std::vector<GraphPass> passes = {
      // First: what is known before run time is no op of the program.
      {"fold_constants", "evaluates nodes whose operands are constants", has_known_values,
       fold_constants},
      // Before sources are counted: the separate program runs the gather too, in every mode.
      {"one_hot_to_gather", "turns products with a one-hot operand into gathers", has_products,
       one_hot_to_gather},
      // The last moment at which the program still is the one that the user wrote.
      {"mark_sources", "records the ops that are counted", always, mark_sources},
      // Before simplify, so that one rule serves a composite and the same thing spelled out.
      {"decompose", "writes composite ops in primitives", has_composites, decompose},
      // Before merge_common: nodes that become equal by a rule then merge.
      {"simplify", "removes what changes no bit", always, simplify},
      // Last: also merges what the parts of two composites share, such as a row's maximum.
      {"merge_common", "computes equal values once", always, merge_common},
  };
  return passes;
}

Graph run_graph_passes(const Graph& graph,
                       const std::function<void(const GraphPass&, const Graph&)>& observe) {
  verify(graph, "the program");
  Graph current = without_dead_nodes(graph);
  for (const GraphPass& pass : graph_passes()) {
    if (!pass.applies(current)) continue;
    Graph next = pass.run(current);
    if (same(current, next)) continue;  // verified already
    current = std::move(next);
    verify(current, pass.name);
    if (observe) observe(pass, current);
  }
  return current;
}

}  // namespace ingot
