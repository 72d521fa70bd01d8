// Groups whose kernels spill: other schedules, cuts, and what the plan then says.
#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "plan/choice.h"
#include "plan/relief.h"
#include "support/planned.h"

namespace ingot::testing {
namespace {

// One value, many sums of it.
std::string sums(int count, const std::string& dtype, int length) {
  std::string text =
      fmt::format("graph sums(x: {}[B, {}]) {{ t = cast(x, dtype=f32)\n", dtype, length);
  std::string results;
  for (int i = 0; i < count; ++i) {
    text += fmt::format("d{0} = sub(t, {0}) s{0} = sum(d{0}, dims=[1])\n", i);
    results += fmt::format("{}s{}", i == 0 ? "" : ", ", i);
  }
  return text + fmt::format("return {} }}", results);
}

Plan plan_with(const Graph& graph, const std::vector<Choice>& choices) {
  PlanOptions options;
  options.choices = choices;
  return make_plan(graph, device_model("h200"), options);
}

Choice relief_for(const Graph& graph, const Plan& plan, size_t steps, bool split) {
  const UnitGraph units = make_units(graph);
  Choice choice;
  choice.nodes = part_nodes(units, plan.groups.at(0));
  choice.steps = steps;
  choice.found = "together: 300 registers";
  if (split) {
    const auto halves = cut(graph, units, plan.groups.at(0), device_model("h200"));
    choice.parts = {halves->first, halves->second};
  }
  return choice;
}

TEST(Relief, AScheduleIsChangedStepByStep) {
  const Graph graph = run_graph_passes(parse_graph(
      "graph g(x: bf16[B, 4096], y: bf16[4096]) { t = add(x, y) z = gelu(t) return z }", "t"));
  const Plan plain = plan_with(graph, {});
  std::vector<std::string> names;
  for (size_t steps = 1; steps <= 4; ++steps) {
    const Plan plan = plan_with(graph, {relief_for(graph, plain, steps, false)});
    const Schedule& schedule = plan.groups.at(0).schedules.back();
    names.push_back(schedule.name);
    EXPECT_TRUE(schedule.all_registers);
    EXPECT_EQ(schedule.thread_rows, steps == 1 ? 2 : 1);
    EXPECT_EQ(schedule.block_columns, steps < 3 ? 2048 : steps == 3 ? 1024 : 512);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"rows, all registers", "rows, one row a thread",
                                      "rows, 4 elements a thread", "rows, 2 elements a thread"}));
}

TEST(Relief, ACutStandsWhereFewestBytesGoFromOneHalfToTheOther) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(x: f32[B, 64], y: f32[B, 64]) {
    a = exp(x) b = sub(a, 1) c = mul(b, b) s = sum(c, dims=[1], keepdims=true)
    d = sub(s, y) e = exp(d) f = mul(e, e) return f })",
                                                   "t"));
  const Plan plain = plan_with(graph, {});
  ASSERT_EQ(plain.groups.size(), 1U);
  const Plan plan = plan_with(graph, {relief_for(graph, plain, 0, true)});
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(graph[plan.groups[0].outputs.at(0)].name, "s");
  int parted = 0;
  for (const Decision& decision : plan.decisions) {
    if (decision.fused) continue;
    ++parted;
    EXPECT_EQ(decision.reason, Reason::spills);
    EXPECT_EQ(decision.detail, "together: 300 registers");
    EXPECT_EQ(graph[decision.producer].name, "s");
  }
  EXPECT_EQ(parted, 1);
  expect_sums(graph, plan);
}

TEST(Relief, LittleWorkIsDoneInBothHalves) {
  const Graph graph = run_graph_passes(parse_graph(sums(8, "bf16", 4096), "t"));
  const Plan plain = plan_with(graph, {});
  ASSERT_EQ(plain.groups.size(), 1U);
  const Plan plan = plan_with(graph, {relief_for(graph, plain, 0, true)});
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].outputs.size() + plan.groups[1].outputs.size(), 8U);
  EXPECT_TRUE(plan.groups[0].recomputed.empty() != plan.groups[1].recomputed.empty());
  expect_sums(graph, plan);
}

TEST(Relief, OneOpCannotBeCut) {
  const Graph graph =
      run_graph_passes(parse_graph("graph g(x: f32[B, 64]) { y = softmax(x) return y }", "t"));
  const Plan plan = plan_with(graph, {});
  EXPECT_FALSE(cut(graph, make_units(graph), plan.groups.at(0), device_model("h200")));
}

TEST(Relief, AChangedPlanReadsBack) {
  const Graph graph = run_graph_passes(parse_graph(
      "graph g(x: bf16[B, 4096], y: bf16[4096]) { t = add(x, y) z = gelu(t) return z }", "t"));
  const Plan plain = plan_with(graph, {});
  const Plan plan = plan_with(graph, {relief_for(graph, plain, 3, false)});
  const Plan read = parse_plan(graph, print(graph, plan), "p", device_model("h200"), {});
  EXPECT_EQ(read.groups.at(0).schedules.back().thread_elements, 4);
}

}  // namespace
}  // namespace ingot::testing
