// A program's text, planned.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "plan/plan.h"

namespace ingot::testing {

inline constexpr const char* bias_gelu =
    "graph g(x: bf16[B, 8192], b: bf16[8192]) { t = add(x, b) y = gelu(t) return y }";

struct Planned {
  Graph graph;
  Plan plan;

  NodeId node(std::string_view name) const {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].name == name) return static_cast<NodeId>(i);
    }
    throw std::runtime_error("no node " + std::string(name));
  }
  const Decision& edge(std::string_view producer, std::string_view consumer) const {
    for (const Decision& d : plan.decisions) {
      if (d.producer == node(producer) && d.consumer == node(consumer)) return d;
    }
    throw std::runtime_error("no decision");
  }
  int64_t fused(const Bindings& sizes) const {
    Sym total(0);
    for (const Group& group : plan.groups) total = total + group_bytes(group);
    return total.evaluate(sizes);
  }
};

inline Planned planned(std::string_view text, FusionMode mode = FusionMode::automatic,
                       const char* device = "cpu", Bindings sizes = {}) {
  Planned result;
  result.graph = run_graph_passes(parse_graph(text, "test"));
  PlanOptions options;
  options.fusion = mode;
  options.sizes = std::move(sizes);
  result.plan = make_plan(result.graph, device_model(device), options);
  return result;
}

using Names = std::vector<std::string>;

// The names of the first group's schedules.
inline Names schedules_of(std::string_view text) {
  Names names;
  const Planned p = planned(text);
  for (const Schedule& schedule : p.plan.groups[0].schedules) names.push_back(schedule.name);
  return names;
}

// The shares of the decisions are the difference between both programs.
inline void expect_sums(const Graph& graph, const Plan& plan) {
  Sym fused(0), saved(0);
  for (const Group& group : plan.groups) fused = fused + group_bytes(group);
  for (const Decision& d : plan.decisions) saved = saved + d.bytes_saved;
  EXPECT_EQ((plan.separate_bytes - fused).text(), saved.text()) << print(graph, plan);
}
inline void expect_sums(const Planned& p) { expect_sums(p.graph, p.plan); }

}  // namespace ingot::testing
