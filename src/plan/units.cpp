#include "plan/units.h"

#include <algorithm>
#include <queue>

#include "base/error.h"

namespace ingot {
namespace {

// One unit a source; `split` sources are taken node by node.
std::vector<FusionUnit> collect(const Graph& graph, const UnitGraph& result, bool node_by_node,
                                const std::set<int32_t>& split) {
  std::vector<FusionUnit> units;
  std::map<int32_t, size_t> by_source;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    const Node& node = graph[id];
    if (node.op == Op::input || node.op == Op::constant || is_free(graph, result, id)) continue;
    bool view = is_view(graph, id), stored = result.stored[static_cast<size_t>(id)];
    bool alone = stored || node_by_node || node.source < 0 || split.count(node.source) > 0;
    if (!alone) {
      auto [found, added] = by_source.emplace(node.source, units.size());
      if (!added) {
        units[found->second].nodes.push_back(id);
        units[found->second].result = id;
        continue;
      }
    }
    units.push_back({{id}, id, view, {}, {}});
  }
  return units;
}

void link(const Graph& graph, UnitGraph* result) {
  result->unit_of.assign(graph.nodes.size(), -1);
  result->readers.assign(graph.nodes.size(), {});
  for (size_t u = 0; u < result->units.size(); ++u) {
    for (NodeId id : result->units[u].nodes) {
      result->unit_of[static_cast<size_t>(id)] = static_cast<int>(u);
    }
  }
  for (size_t u = 0; u < result->units.size(); ++u) {
    FusionUnit& unit = result->units[u];
    unit.reads.clear();
    unit.values.clear();
    for (NodeId id : unit.nodes) {
      for (NodeId operand : graph[id].operands) {
        NodeId value = root(graph, *result, operand);
        bool own = result->unit_of[static_cast<size_t>(value)] == static_cast<int>(u);
        if (own || is_free(graph, *result, value) ||
            (is_literal(graph, value) && !reads_memory(graph, id)))
          continue;
        if (std::find(unit.reads.begin(), unit.reads.end(), value) != unit.reads.end()) continue;
        unit.reads.push_back(value);
        result->readers[static_cast<size_t>(value)].push_back(static_cast<int>(u));
      }
    }
  }
  for (FusionUnit& unit : result->units) {
    for (NodeId id : unit.nodes) {
      bool wanted = result->graph_output[static_cast<size_t>(id)] ||
                    !result->readers[static_cast<size_t>(id)].empty();
      if (wanted) unit.values.push_back(id);
    }
  }
}

// Units in an order in which each one's operands come first, smallest nodes first; false on a
// cycle.
bool order(const Graph& graph, UnitGraph* result) {
  std::vector<int> waiting(result->units.size(), 0);
  std::vector<std::vector<int>> after(result->units.size());
  for (size_t u = 0; u < result->units.size(); ++u) {
    for (NodeId value : result->units[u].reads) {
      int from = result->unit_of[static_cast<size_t>(value)];
      if (from < 0) continue;
      after[static_cast<size_t>(from)].push_back(static_cast<int>(u));
      ++waiting[u];
    }
  }
  using Entry = std::pair<NodeId, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t u = 0; u < waiting.size(); ++u) {
    if (waiting[u] == 0) ready.emplace(result->units[u].result, static_cast<int>(u));
  }
  std::vector<FusionUnit> sorted;
  while (!ready.empty()) {
    auto u = static_cast<size_t>(ready.top().second);
    ready.pop();
    sorted.push_back(std::move(result->units[u]));
    for (int next : after[u]) {
      if (--waiting[static_cast<size_t>(next)] == 0) {
        ready.emplace(result->units[static_cast<size_t>(next)].result, next);
      }
    }
  }
  if (sorted.size() < waiting.size()) return false;
  result->units = std::move(sorted);
  link(graph, result);
  return true;
}

bool runs_alone(const Graph& graph, const UnitGraph& units, const FusionUnit& unit) {
  Analysis analysis;
  return static_cast<bool>(
      analyze(graph, with_views(graph, units, unit.nodes), unit.values, &analysis));
}

}  // namespace

bool is_free(const Graph& graph, const UnitGraph& units, NodeId node) {
  if (units.stored[static_cast<size_t>(node)]) return false;
  Op op = graph[node].op;
  bool creation = op_info(op).category == Category::creation;
  return is_view(graph, node) || (creation && op != Op::input && op != Op::constant);
}

NodeId root(const Graph& graph, const UnitGraph& units, NodeId node) {
  while (is_view(graph, node) && is_free(graph, units, node)) {
    node = graph[node].operands[0];
  }
  return node;
}

std::vector<NodeId> with_views(const Graph& graph, const UnitGraph& units,
                               const std::vector<NodeId>& nodes) {
  std::vector<NodeId> all = nodes;
  for (NodeId id : nodes) {
    for (NodeId operand : graph[id].operands) {
      while (is_free(graph, units, operand)) {
        all.push_back(operand);
        if (!is_view(graph, operand)) break;
        operand = graph[operand].operands[0];
      }
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

namespace {

// Graph outputs, and what products read, need a buffer even where they are only index maps.
void mark_stored(const Graph& graph, UnitGraph* result) {
  auto store = [&](NodeId id) {
    if (is_free(graph, *result, id)) result->stored[static_cast<size_t>(id)] = true;
  };
  for (NodeId id : graph.outputs) {
    result->graph_output[static_cast<size_t>(id)] = true;
    store(id);
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    if (!reads_memory(graph, id)) continue;
    for (size_t k = 0; k < graph[id].operands.size(); ++k) {
      NodeId operand = graph[id].operands[k];
      bool in_place = is_contraction(graph, id) && reads_in_place(graph, id, static_cast<int>(k));
      store(in_place ? root(graph, *result, operand) : operand);
    }
  }
}

}  // namespace

UnitGraph make_units(const Graph& graph, bool node_by_node) {
  UnitGraph result;
  result.stored.assign(graph.nodes.size(), false);
  result.graph_output.assign(graph.nodes.size(), false);
  mark_stored(graph, &result);
  std::set<int32_t> split;
  for (int attempt = 0;; ++attempt) {
    INGOT_CHECK(attempt < 3, "the ops of '{}' depend on each other in a circle", graph.name);
    result.units = collect(graph, result, node_by_node, split);
    link(graph, &result);
    bool ordered = order(graph, &result);
    size_t before = split.size();
    for (const FusionUnit& unit : result.units) {
      if (unit.nodes.size() == 1) continue;
      if (!ordered || !runs_alone(graph, result, unit)) split.insert(graph[unit.result].source);
    }
    if (ordered && split.size() == before) return result;
  }
}

}  // namespace ingot
