// The cut against all subsets; and programs in which it finds what no value alone shows.
#include "plan/save_or_recompute.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/planned.h"
#include "support/random.h"

namespace ingot {
namespace {

using testing::expect_sums;
using testing::Planned;
using testing::planned;

double least_of_all_subsets(const SaveProblem& problem) {
  double least = SaveProblem::never;
  const size_t count = problem.values.size();
  for (uint32_t subset = 0; subset < (1u << count); ++subset) {
    std::vector<bool> again(count);
    for (size_t v = 0; v < count; ++v) again[v] = (subset >> v & 1u) != 0;
    least = std::min(least, cost_of(problem, again).cost);
  }
  return least;
}

// Costs are small whole numbers, so both sums are exact.
SaveProblem random_problem(testing::Random& random) {
  SaveProblem problem;
  const int count = 1 + static_cast<int>(random.below(11));
  for (int v = 0; v < count; ++v) {
    SaveProblem::Value& value = problem.values.emplace_back();
    const auto some = [&] { return static_cast<double>(random.below(12)); };
    value.save = random.below(2) == 0 ? 0 : some();
    value.read = some();
    if (random.below(4) != 0) value.again = some();
    for (int o = 0; o < v; ++o) {
      if (random.below(3) == 0) value.operands.push_back(o);
    }
  }
  for (int v = 0; v < count; ++v) {
    SaveProblem::Value& value = problem.values[static_cast<size_t>(v)];
    value.stays = random.below(4) == 0;
    for (int u = v + 1; u < count; ++u) {
      if (random.below(4) == 0) value.users.push_back(u);
    }
  }
  for (int64_t k = random.below(5); k > 0; --k) {
    SaveProblem::Upkeep& upkeep = problem.upkeep.emplace_back();
    upkeep.cost = static_cast<double>(random.below(20));
    for (int v = 0; v < count; ++v) {
      if (random.below(3) == 0) upkeep.values.push_back(v);
    }
  }
  return problem;
}

TEST(SaveOrRecompute, ACutCostsAsMuchAsTheBestOfAllSubsets) {
  testing::Random random(11);
  int computed = 0, by_saving = 0;
  for (int i = 0; i < 3000; ++i) {
    const SaveProblem problem = random_problem(random);
    const SaveSolution solution = cheapest(problem);
    ASSERT_DOUBLE_EQ(solution.cost, least_of_all_subsets(problem)) << "problem " << i;
    ASSERT_DOUBLE_EQ(solution.cost, cost_of(problem, solution.again).cost) << "problem " << i;
    computed += static_cast<int>(std::ranges::count(solution.again, true));
    const std::vector<bool> none(problem.values.size());
    by_saving += cost_of(problem, none).cost > solution.cost ? 1 : 0;
  }
  EXPECT_GT(computed, 1000);
  EXPECT_GT(by_saving, 300);
}

TEST(SaveOrRecompute, ThereIsNoCutWhereAValueCanNeitherBeSavedNorComputedAgain) {
  SaveProblem problem;
  problem.values.emplace_back().save = SaveProblem::never;
  EXPECT_EQ(cheapest(problem).cost, SaveProblem::never);
}

constexpr const char* two_of_one = R"(graph g(x0: f32[B, 64, 256], x1: f32[B, 64, 256],
                                            x2: f32[B, 64, 256], x3: f32[B, 64, 256]) {
      t0 = add(x0, x1) t1 = add(t0, x2) t2 = add(t1, x3) t = cast(t2, dtype=bf16)
      w = cast(t, dtype=f32) a = abs(w) b = neg(w) r = sum(a, dims=[2]) q = max(b, dims=[2])
      c = sum(a, dims=[0]) k = max(b, dims=[0]) return r, q, c, k })";

const SaveOrRecompute& row_of(const Planned& p, std::string_view value) {
  for (const SaveOrRecompute& row : p.plan.values) {
    if (p.graph[row.value].name == value) return row;
  }
  throw std::runtime_error("no row");
}

// `a` saved moves 67 MB, from the inputs 134 MB: nothing to gain, and so for `b`. Both can be made
// from `t`, 17 MB written once and read once.
TEST(SaveOrRecompute, ANarrowerValueOnTheWayIsSavedInThePlaceOfTwo) {
  const Bindings sizes{{"B", 512}};
  const int64_t size = int64_t{512} * 64 * 256 * 4;
  for (const char* device : {"cpu", "h200"}) {
    const Planned p = planned(two_of_one, FusionMode::automatic, device, sizes);
    ASSERT_EQ(p.plan.groups.size(), 2u) << print(p.graph, p.plan);
    const int64_t results = 2 * (512 * 64 * 4) + 2 * (64 * 256 * 4);
    EXPECT_EQ(p.fused(sizes), 4 * size + 2 * size / 2 + results);
    for (const char* value : {"a", "b"}) {
      EXPECT_TRUE(row_of(p, value).recomputed) << row_of(p, value).why;
      EXPECT_EQ(row_of(p, value).bytes_if_saved.evaluate(sizes), 2 * size);
    }
    EXPECT_FALSE(row_of(p, "t").recomputed);
    EXPECT_EQ(row_of(p, "t").bytes_if_saved.evaluate(sizes), size);
    EXPECT_EQ(p.edge("a", "c").reason, Reason::recomputed);
    expect_sums(p);
  }
}

// The same with `t` as wide as both: for one of them alone saving `t` moves as much as saving it,
// so a choice value by value stops there. Both together save half.
TEST(SaveOrRecompute, TwoValuesAreComputedAgainFromOneThoughNeitherAloneWouldBe) {
  const Bindings sizes{{"B", 512}};
  const int64_t size = int64_t{512} * 64 * 256 * 4;
  std::string text = two_of_one;
  text.replace(text.find("t = cast(t2, dtype=bf16)"), 24, "");
  text.replace(text.find("w = cast(t, dtype=f32)"), 22, "w = relu(t2)");
  const Planned both = planned(text, FusionMode::automatic, "h200", sizes);
  EXPECT_EQ(both.fused(sizes), 6 * size + 2 * (512 * 64 * 4) + 2 * (64 * 256 * 4))
      << print(both.graph, both.plan);
  EXPECT_TRUE(row_of(both, "a").recomputed && row_of(both, "b").recomputed);
  text.replace(text.find("k = max(b, dims=[0])"), 20, "");
  text.replace(text.find(", k }"), 5, " }");
  const Planned one = planned(text, FusionMode::automatic, "h200", sizes);
  EXPECT_FALSE(row_of(one, "a").recomputed) << row_of(one, "a").why;
}

// A gather reads an element of a row: computing it again takes no more than that.
TEST(SaveOrRecompute, WhatAGatherPicksIsCountedNotTheWholeValue) {
  const Planned p = planned(R"(graph g(x: bf16[B, 128256], t: i64[B]) {
      y = cast(x, dtype=f32) l = logsumexp(y, dims=[1], keepdims=true) i = reshape(t, shape=[B, 1])
      a = gather_elements(y, i, dim=1) z = sub(l, a) return z })",
                            FusionMode::automatic, "h200", {{"B", 4096}});
  EXPECT_TRUE(row_of(p, "y").recomputed) << row_of(p, "y").why;
  EXPECT_EQ(row_of(p, "y").bytes_if_recomputed->evaluate({{"B", 4096}}), 4096 * 2);
  EXPECT_LT(p.fused({{"B", 4096}}), int64_t{4096} * 128256 * 2 + 200000);
}

// A reduction on the way stays in the kernel that does it: its result, a value a row, is saved for
// what is computed again from it.
TEST(SaveOrRecompute, WhatFollowsAReductionIsComputedAgainFromItsResult) {
  const Planned p = planned(R"(graph g(x: f32[B, 64, 256]) {
      s = mean(x, dims=[2], keepdims=true) d = sub(x, s) q = mul(d, d) v = mean(q, dims=[2])
      e = neg(d) c = sum(e, dims=[0]) return v, c })",
                            FusionMode::automatic, "h200", {{"B", 4096}});
  ASSERT_EQ(p.plan.groups.size(), 2u);
  EXPECT_EQ(p.plan.groups[1].recomputed, std::vector<NodeId>{p.node("d")})
      << print(p.graph, p.plan);
  EXPECT_FALSE(row_of(p, "s").recomputed);
  EXPECT_EQ(p.edge("e", "c").reason, Reason::into_reduction);
  expect_sums(p);
}

// The reader's own domain does not hold what makes the value: saved, and the row says why.
TEST(SaveOrRecompute, WhatTheWalkRefusesIsSavedAndSaysSo) {
  const Planned p = planned(R"(graph g(x: f32[B, 64], w: f32[64, 64]) {
      a = exp(x) m = matmul(a, w) r = sum(a, dims=[0]) return m, r })",
                            FusionMode::automatic, "cpu", {{"B", 65536}});
  EXPECT_FALSE(row_of(p, "a").recomputed);
  EXPECT_EQ(row_of(p, "a").why, "the product 'm' reads it from memory");
  EXPECT_FALSE(row_of(p, "a").us_if_recomputed.has_value());
}

TEST(SaveOrRecompute, ARowHasBothChoices) {
  const Planned p = planned(R"(graph g(x: f32[B, 2, 32]) {
      t = exp(x) r = sum(t, dims=[2]) c = sum(t, dims=[0]) return r, c })",
                            FusionMode::all, "cpu", {{"B", 4096}});
  const SaveOrRecompute& row = row_of(p, "t");
  EXPECT_TRUE(row.recomputed);
  EXPECT_EQ(row.consumers, std::vector<NodeId>{p.node("c")});
  EXPECT_EQ(row.bytes_if_saved.text(), "512*B");
  EXPECT_EQ(row.bytes_if_recomputed->text(), "256*B");
  EXPECT_EQ(row.flops_if_recomputed->text(), "896*B");
  EXPECT_GT(row.us_if_saved, 0);
  EXPECT_GT(*row.us_if_recomputed, 0);
}

}  // namespace
}  // namespace ingot
