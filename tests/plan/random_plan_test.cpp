// Random programs: the accounts balance, decisions agree with the groups, plans read back.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/passes/passes.h"
#include "plan/fuse.h"
#include "plan/source_ops.h"
#include "plan/units.h"
#include "support/random_graphs.h"

namespace ingot {
namespace {

Sym fused_bytes(const Plan& plan) {
  Sym total(0);
  for (const Group& group : plan.groups) total = total + group_bytes(group);
  return total;
}

Sym saved_bytes(const Plan& plan) {
  Sym total(0);
  for (const Decision& d : plan.decisions) total = total + d.bytes_saved;
  return total;
}

bool has(const std::vector<NodeId>& sorted, NodeId id) {
  return std::binary_search(sorted.begin(), sorted.end(), id);
}

// Is the producer's value computed in the group that owns the consumer?
bool together(const Graph& graph, const Plan& plan, const Decision& decision) {
  for (const Group& group : plan.groups) {
    if (!has(group.nodes, decision.consumer) || has(group.recomputed, decision.consumer)) continue;
    NodeId value = decision.producer;
    while (has(group.nodes, value) && is_view(graph, value) && !has(group.outputs, value)) {
      value = graph[value].operands[0];
    }
    return has(group.nodes, value);
  }
  return false;
}

TEST(RandomPlan, AccountsAndDecisionsAgreeWithTheGroups) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Graph graph = run_graph_passes(testing::random_graph(seed, {.products = seed % 3 == 0}));
    const UnitGraph units = make_units(graph);
    const SourceOps ops = source_ops(graph, units, separate(graph, units), device_model("cpu"), {});
    for (FusionMode mode : {FusionMode::off, FusionMode::automatic, FusionMode::all}) {
      PlanOptions options;
      options.fusion = mode;
      Plan plan = make_plan(graph, device_model("cpu"), options);
      std::string text = print(graph, plan);
      std::string where = fmt::format("seed {}\n{}{}", seed, print(graph), text);
      Sym apart = plan.separate_bytes;
      ASSERT_EQ((apart - fused_bytes(plan)).text(), saved_bytes(plan).text()) << where;
      for (const Decision& d : plan.decisions) {
        // Those of an op that is several units stand for all edges of its parts.
        const auto of = [&](NodeId id) { return units.unit_of[static_cast<size_t>(id)]; };
        ASSERT_FALSE(ops.inner[static_cast<size_t>(d.consumer)] && of(d.consumer) >= 0 &&
                     d.kind != DecisionKind::formula && d.kind != DecisionKind::resources)
            << d.detail << "\n"
            << where;
        if (of(d.producer) >= 0 && ops.is_split(of(d.producer))) continue;
        if (of(d.consumer) >= 0 && ops.is_split(of(d.consumer))) continue;
        bool edge = d.kind == DecisionKind::producer_consumer || d.kind == DecisionKind::epilogue ||
                    d.kind == DecisionKind::prologue;
        if (!edge || d.reason == Reason::view) continue;
        ASSERT_EQ(d.fused, together(graph, plan, d))
            << graph[d.producer].name << " -> " << graph[d.consumer].name << "\n"
            << where;
      }
      Plan again = parse_plan(graph, text, "printed", device_model("cpu"), options);
      ASSERT_EQ(fused_bytes(again).text(), fused_bytes(plan).text()) << where;
      ASSERT_EQ((apart - fused_bytes(again)).text(), saved_bytes(again).text()) << where;
    }
  }
}

// The second try of partition(): no group grows without a walk over all of it.
TEST(RandomPlan, GroupsThatWalkEachStepHaveADomain) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Graph graph = run_graph_passes(testing::random_graph(seed));
    const UnitGraph units = make_units(graph);
    const DeviceModel device = device_model("cpu");
    PlanOptions options;
    options.fusion = FusionMode::all;
    Partition walked = Fusion(graph, units, device, options, false).run();
    std::vector<Group> groups = build_groups(graph, units, walked.parts, device, options);
    const SourceOps ops = source_ops(graph, units, walked.separate, device, options);
    Plan plan;
    plan.decisions = account(graph, units, std::move(walked.edges), groups, ops);
    plan.groups = std::move(groups);
    ASSERT_EQ((ops.separate.total - fused_bytes(plan)).text(), saved_bytes(plan).text())
        << "seed " << seed << "\n"
        << print(graph);
  }
}

}  // namespace
}  // namespace ingot
