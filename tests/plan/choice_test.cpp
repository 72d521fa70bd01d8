// Choices applied to a plan: parts, joins, schedules; and the peak of memory.
#include "plan/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "plan/group_key.h"
#include "support/planned.h"

namespace ingot::testing {
namespace {

constexpr const char* chain =
    "graph g(x: f32[B, 64], y: f32[64]) { t = add(x, y) u = exp(t) v = neg(u) return v }";

Choice measured(std::vector<NodeId> nodes, std::vector<Part> parts) {
  Choice choice;
  choice.nodes = std::move(nodes);
  choice.parts = std::move(parts);
  choice.reason = Reason::measured;
  choice.found = "as it was timed";
  return choice;
}

Plan plan_with(const Planned& program, std::vector<Choice> choices,
               const Bindings& sizes = {{"B", 100}}) {
  PlanOptions options;
  options.choices = std::move(choices);
  options.sizes = sizes;
  return make_plan(program.graph, device_model("cpu"), options);
}

TEST(Choice, AGroupIsCutAsItSaysAndTheEdgesSayWhy) {
  const Planned program = planned(chain);
  const UnitGraph units = make_units(program.graph);
  const std::vector<NodeId> nodes = part_nodes(units, program.plan.groups.at(0));
  const Plan plan = plan_with(program, {measured(nodes, *parse_parts(units, nodes, "0-1|2"))});
  ASSERT_EQ(plan.groups.size(), 2U);
  for (const Decision& decision : plan.decisions) {
    const bool parted = decision.producer == program.node("u");
    EXPECT_EQ(decision.fused, !parted);
    if (!parted) continue;
    EXPECT_EQ(decision.reason, Reason::measured);
    EXPECT_EQ(decision.detail, "as it was timed");
  }
  expect_sums(program.graph, plan);
}

TEST(Choice, GroupsOfOthersAreLeftAlone) {
  const Planned program = planned(chain);
  const UnitGraph units = make_units(program.graph);
  std::vector<NodeId> some = part_nodes(units, program.plan.groups.at(0));
  some.pop_back();
  EXPECT_EQ(plan_with(program, {measured(some, *parse_parts(units, some, "0|1"))}).groups.size(),
            1U);
}

TEST(Choice, PartsOfPartsAndThenOneAgain) {
  const Planned program = planned(chain);
  const UnitGraph units = make_units(program.graph);
  const std::vector<NodeId> nodes = part_nodes(units, program.plan.groups.at(0));
  std::vector<Choice> choices = {measured(nodes, *parse_parts(units, nodes, "0-1|2"))};
  const std::vector<NodeId> head = choices[0].parts[0].nodes;
  choices.push_back(measured(head, *parse_parts(units, head, "0|1")));
  EXPECT_EQ(plan_with(program, choices).groups.size(), 3U);
  std::vector<NodeId> tail;
  std::ranges::set_union(choices[1].parts[1].nodes, choices[0].parts[1].nodes,
                         std::back_inserter(tail));
  choices.push_back(measured(tail, {{tail, {}}}));
  const Plan plan = plan_with(program, choices);
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(part_nodes(units, plan.groups[1]), tail);
}

TEST(Choice, APartThatNeedsItselfThroughAnotherIsAnInputError) {
  const Planned program = planned(chain);
  const UnitGraph units = make_units(program.graph);
  const std::vector<NodeId> nodes = part_nodes(units, program.plan.groups.at(0));
  try {
    plan_with(program, {measured(nodes, *parse_parts(units, nodes, "0,2|1"))});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
  }
}

TEST(Choice, AScheduleGoesFirstForSizesOfItsClass) {
  const Planned program = planned(chain);
  const UnitGraph units = make_units(program.graph);
  Choice choice = measured(part_nodes(units, program.plan.groups.at(0)), {});
  choice.schedule = "rows_streaming";
  const Plan plan = plan_with(program, {choice});
  const std::vector<Schedule>& schedules = plan.groups.at(0).schedules;
  EXPECT_EQ(schedules.at(0).word(), "rows_streaming");
  ASSERT_EQ(schedules.at(0).guards.size(), 2U);
  EXPECT_EQ(schedules.at(0).guards[0].text(), "B >= 64");
  EXPECT_EQ(schedules.at(0).guards[1].text(), "B <= 127");
  EXPECT_EQ(schedules.size(), program.plan.groups.at(0).schedules.size() + 1);
  EXPECT_TRUE(schedules.back().guards.empty());
  const Decision& last = plan.decisions.back();
  EXPECT_EQ(last.kind, DecisionKind::measurement);
  EXPECT_EQ(last.reason, Reason::measured);
}

TEST(Choice, AlternativesHaveNamesOfTheirOwnAndReadBack) {
  for (const char* device : {"cpu", "h200"}) {
    const Planned program = planned(
        "graph g(x: f32[B, 2048]) { e = exp(x) s = sum(e, dims=[1], keepdims=true) y = div(e, s) "
        "return y }",
        FusionMode::automatic, device);
    const Group& group = program.plan.groups.at(0);
    const DeviceModel& model = device_model(device);
    const std::vector<Schedule> list =
        alternatives(program.graph, group, group.schedules.back(), model);
    EXPECT_FALSE(list.empty());
    std::set<std::string> words;
    for (const Schedule& schedule : list) {
      EXPECT_TRUE(words.insert(schedule.word()).second) << schedule.name;
      Plan plan = program.plan;
      plan.groups[0].schedules = {schedule};
      const Plan read = parse_plan(program.graph, print(program.graph, plan), "p", model, {});
      EXPECT_EQ(read.groups.at(0).schedules.at(0).name, schedule.name);
    }
  }
}

// Two running sums, read backwards by two ops that share an operand: op by op one waits at a time,
// together both do.
constexpr const char* two_waiting =
    R"(graph g(x: f32[1000, 512], y: f32[1000, 512], z: f32[1000, 512]) {
  a = cumsum(x, dim=0)
  c = slice(a, starts=[999, 0], ends=[-1001, 512], steps=[-1, 1])
  s = add(c, z)
  b = cumsum(y, dim=0)
  d = slice(b, starts=[999, 0], ends=[-1001, 512], steps=[-1, 1])
  t = mul(d, z)
  return s, t })";

TEST(PeakMemory, AGroupForWhichTwoIntermediatesWaitIsUndoneUnlessThatIsAllowed) {
  const Planned program = planned(two_waiting);
  constexpr int64_t one = 1000 * 512 * 4;
  auto plan_of = [&](FusionMode mode, bool allowed) {
    PlanOptions options;
    options.fusion = mode;
    options.allow_memory = allowed;
    return make_plan(program.graph, device_model("cpu"), options);
  };
  auto arena = [&](const Plan& plan) { return plan_buffers(program.graph, plan, {}).arena_bytes; };
  EXPECT_EQ(arena(plan_of(FusionMode::off, false)), one);
  EXPECT_EQ(arena(plan_of(FusionMode::automatic, true)), 2 * one);
  EXPECT_EQ(arena(plan_of(FusionMode::all, false)), 2 * one);
  const Plan kept = plan_of(FusionMode::automatic, false);
  EXPECT_EQ(arena(kept), one);
  int undone = 0;
  for (const Decision& decision : kept.decisions) {
    if (decision.reason != Reason::memory) continue;
    ++undone;
    EXPECT_FALSE(decision.fused);
    EXPECT_EQ(decision.kind, DecisionKind::sibling);
    EXPECT_EQ(decision.detail,
              "together 3.9 MiB of intermediates at once, 2.0 MiB op by op; --allow-memory permits "
              "it");
  }
  EXPECT_EQ(undone, 1);
  expect_sums(program.graph, kept);
}

}  // namespace
}  // namespace ingot::testing
