#include "plan/save_or_recompute.h"

#include <algorithm>
#include <cmath>

#include "plan/min_cut.h"

namespace ingot {
namespace {

constexpr double parts_of_unit = 1 << 20;  // costs are whole numbers in the network

int64_t capacity(double cost) {
  const double scaled = std::nearbyint(cost * parts_of_unit);
  return scaled < static_cast<double>(FlowNetwork::infinite) ? static_cast<int64_t>(scaled)
                                                             : FlowNetwork::infinite;
}

std::vector<bool> gone_values(const SaveProblem& problem, const std::vector<bool>& again) {
  std::vector<bool> gone = again;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t v = 0; v < gone.size(); ++v) {
      const SaveProblem::Value& value = problem.values[v];
      const bool leaves = !value.stays && std::ranges::all_of(value.users, [&](int user) {
        return static_cast<bool>(gone[static_cast<size_t>(user)]);
      });
      if (!gone[v] || leaves) continue;
      gone[v] = false;
      changed = true;
    }
  }
  return gone;
}

}  // namespace

SaveSolution cost_of(const SaveProblem& problem, std::vector<bool> again) {
  SaveSolution solution;
  solution.again = std::move(again);
  solution.read.assign(problem.values.size(), false);
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const SaveProblem::Value& value = problem.values[v];
    if (!solution.again[v]) {
      solution.cost += value.save;
      continue;
    }
    solution.cost += value.again;
    for (const int operand : value.operands) {
      const auto o = static_cast<size_t>(operand);
      if (solution.again[o] || solution.read[o]) continue;
      solution.read[o] = true;
      solution.cost += problem.values[o].read;
    }
  }
  solution.gone = gone_values(problem, solution.again);
  for (const SaveProblem::Upkeep& upkeep : problem.upkeep) {
    const bool all = std::ranges::all_of(upkeep.values, [&](int v) {
      return static_cast<bool>(solution.gone[static_cast<size_t>(v)]);
    });
    if (!all) solution.cost += upkeep.cost;
  }
  return solution;
}

// On the source's side: of a value's first node, that it is computed again; of its second, that
// something computed again needs it; of its third, that it is gone from its kernel; of an upkeep's
// node, that it is not paid. Each edge is the cost of having its first end there without its
// second.
SaveSolution cheapest(const SaveProblem& problem) {
  const int values = static_cast<int>(problem.values.size());
  const int source = 3 * values + static_cast<int>(problem.upkeep.size()), sink = source + 1;
  FlowNetwork network(sink + 1);
  for (int v = 0; v < values; ++v) {
    const SaveProblem::Value& value = problem.values[static_cast<size_t>(v)];
    if (value.save > 0) network.add_edge(source, v, capacity(value.save));
    if (value.read > 0) network.add_edge(values + v, v, capacity(value.read));
    if (value.again > 0) network.add_edge(v, sink, capacity(value.again));
    for (const int operand : value.operands) {
      network.add_edge(v, values + operand, FlowNetwork::infinite);
    }
    network.add_edge(2 * values + v, v, FlowNetwork::infinite);
    if (value.stays) network.add_edge(2 * values + v, sink, FlowNetwork::infinite);
    for (const int user : value.users) {
      network.add_edge(2 * values + v, 2 * values + user, FlowNetwork::infinite);
    }
  }
  for (size_t k = 0; k < problem.upkeep.size(); ++k) {
    const SaveProblem::Upkeep& upkeep = problem.upkeep[k];
    const int node = 3 * values + static_cast<int>(k);
    network.add_edge(source, node, capacity(upkeep.cost));
    for (const int v : upkeep.values) {
      network.add_edge(node, 2 * values + v, FlowNetwork::infinite);
    }
  }
  if (network.cut(source, sink) >= FlowNetwork::infinite) {
    return {SaveProblem::never, {}, {}, {}};
  }
  const std::vector<bool>& side = network.source_side();
  return cost_of(problem, {side.begin(), side.begin() + values});
}

}  // namespace ingot
