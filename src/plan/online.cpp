#include "plan/online.h"

#include <algorithm>

#include "graph/reduction_order.h"

namespace ingot {
namespace {

constexpr int64_t most_gpu_chunks = 1024;  // whose sums a block keeps in shared memory

NodeId without_views(const Graph& graph, NodeId id) {
  while (is_view(graph, id)) id = graph[id].operands[0];
  return id;
}

bool is_zero(const Graph& graph, NodeId id) {
  const std::optional<double> value = literal_value(graph[id]);
  return value && *value == 0;
}

// The maximum behind e^(x - t).
std::optional<OnlineSum> maximum_of(const Graph& graph, NodeId exponential) {
  if (graph[exponential].op != Op::exp) return std::nullopt;
  const Node& difference = graph[graph[exponential].operands[0]];
  if (difference.op != Op::sub) return std::nullopt;
  NodeId shift = without_views(graph, difference.operands[1]);
  const bool infinite = graph[shift].op != Op::select;
  if (const Node& choice = graph[shift]; choice.op == Op::select) {
    const Node& infinite = graph[choice.operands[0]];
    const bool finite_part = infinite.op == Op::isinf &&
                             infinite.operands[0] == choice.operands[2] &&
                             is_zero(graph, choice.operands[1]);
    if (!finite_part) return std::nullopt;
    shift = without_views(graph, choice.operands[2]);
  }
  const Node& maximum = graph[shift];
  const bool same = maximum.op == Op::max && maximum.operands[0] == difference.operands[0];
  if (!same) return std::nullopt;
  return OnlineSum{shift, infinite, false};
}

}  // namespace

std::map<NodeId, OnlineSum> online_sums(const Graph& graph, const Analysis& analysis, bool gpu) {
  const std::vector<DomainVar>& vars = analysis.domain.vars;
  const auto reduced = std::ranges::count_if(vars, [](const DomainVar& v) { return v.reduced; });
  if (reduced != 1 || !analysis.domain.trailing_reduced) return {};
  const std::optional<int64_t> length = vars.back().extent.constant();
  if (length ? *length <= trailing_chunk : gpu) return {};
  if (gpu && *length > most_gpu_chunks * trailing_chunk) return {};
  std::map<NodeId, OnlineSum> online;
  for (NodeId id : analysis.nodes) {
    const Node& sum = graph[id];
    if (sum.op != Op::sum || compute_dtype(sum.type.dtype) != DType::f32) continue;
    std::optional<OnlineSum> found = maximum_of(graph, sum.operands[0]);
    if (!found || compute_dtype(graph[found->maximum].type.dtype) != DType::f32) continue;
    const auto terms = analysis.evaluations.find(sum.operands[0]);
    if (!std::ranges::binary_search(analysis.nodes, found->maximum) ||
        terms == analysis.evaluations.end()) {
      continue;
    }
    found->bare = std::ranges::all_of(terms->second, [&](const Evaluation& e) {
      return !e.stored && e.consumers == std::vector<NodeId>{id};
    });
    online.emplace(id, *found);
  }
  return online;
}

Analysis with_online(const Graph& graph, Analysis analysis,
                     const std::map<NodeId, OnlineSum>& online) {
  analysis.level.clear();
  analysis.levels = 0;
  for (NodeId id : analysis.nodes) {
    int level = 0;
    for (NodeId operand : graph[id].operands) {
      auto found = analysis.level.find(operand);
      if (found != analysis.level.end()) level = std::max(level, found->second);
    }
    auto sum = online.find(id);
    if (sum == online.end() && is_reduction(graph, id)) ++level;
    if (sum != online.end()) level = analysis.level.at(sum->second.maximum);
    analysis.level[id] = level;
    analysis.levels = std::max(analysis.levels, level);
  }
  return analysis;
}

}  // namespace ingot
