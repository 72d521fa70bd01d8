// Which kernels of a program may run beside each other, and on which stream each is put.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/passes/passes.h"
#include "run/side_by_side.h"

namespace ingot {
namespace {

struct Laid {
  Graph graph;
  Plan plan;
  std::vector<Lane> lanes;

  // "a: 0, b: 1 after a"
  std::string text() const {
    std::string out;
    for (size_t g = 0; g < lanes.size(); ++g) {
      out += fmt::format("{}{}: {}", g == 0 ? "" : ", ", name(g), lanes[g].stream);
      for (const size_t before : lanes[g].after) out += " after " + name(before);
    }
    return out;
  }
  std::string name(size_t group) const { return graph[plan.groups[group].outputs[0]].name; }
};

Laid laid(std::string_view text, const std::vector<std::string>& large = {}) {
  Laid result;
  result.graph = run_graph_passes(parse_graph(text, "test"));
  PlanOptions options;
  options.fusion = FusionMode::off;
  result.plan = make_plan(result.graph, device_model("cpu"), options);
  std::vector<bool> small;
  for (size_t g = 0; g < result.plan.groups.size(); ++g) {
    small.push_back(std::ranges::find(large, result.name(g)) == large.end());
  }
  result.lanes = side_by_side(result.plan, small);
  return result;
}

TEST(SideBySide, AChainIsOneStream) {
  const Laid l = laid("graph g(x: f32[B]) { a = exp(x) b = neg(a) c = exp(b) return c }");
  EXPECT_EQ(l.text(), "a: 0, b: 0, c: 0");
  EXPECT_EQ(streams_of(l.lanes), 1);
}

TEST(SideBySide, BranchesHaveStreamsAndTheJoinWaitsForThem) {
  const Laid l = laid(R"(graph g(x: f32[B], y: f32[B]) {
      a = exp(x) b = exp(y) c = neg(a) d = neg(b) e = add(c, d) return e })");
  EXPECT_EQ(l.text(), "a: 0, b: 1, c: 0, d: 1, e: 1 after c");
  EXPECT_EQ(streams_of(l.lanes), 2);
}

TEST(SideBySide, WhatHasBeenWaitedForIsNotWaitedForAgain) {
  const Laid l = laid(R"(graph g(x: f32[B], y: f32[B]) {
      a = exp(x) b = exp(y) c = add(a, b) d = neg(a) e = mul(c, a) f = mul(d, b) return e, f })");
  // e stands behind c, and that behind a.
  EXPECT_EQ(l.text(), "a: 0, b: 1, c: 1 after a, e: 1, d: 0, f: 0 after b");
}

TEST(SideBySide, WhatFillsTheDeviceStaysOnTheCallsStream) {
  const Laid l = laid(R"(graph g(x: f32[B], y: f32[B], z: f32[B]) {
      a = exp(x) b = exp(y) c = exp(z) return a, b, c })",
                      {"a", "b"});
  EXPECT_EQ(l.text(), "a: 0, b: 0, c: 1");
}

TEST(SideBySide, ThereAreAtMostSoManyStreams) {
  std::string text, results;
  for (int i = 0; i < 3 * most_streams; ++i) {
    text += fmt::format(" v{} = leaky_relu(x, alpha={})", i, i + 2);
    results += fmt::format("{}v{}", i == 0 ? "" : ", ", i);
  }
  const Laid l = laid("graph g(x: f32[B]) {" + text + " return " + results + " }");
  ASSERT_EQ(l.lanes.size(), 3U * most_streams);
  EXPECT_EQ(streams_of(l.lanes), most_streams);
}

}  // namespace
}  // namespace ingot
