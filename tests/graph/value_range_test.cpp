// Ranges of values: what the op table tells, and that no value leaves its range.
#include "graph/value_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/evaluate.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

ValueRange range_of(const Graph& graph, const std::string& name) {
  const std::vector<ValueRange> ranges = value_ranges(graph);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (graph.nodes[i].name == name) return ranges[i];
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(ValueRange, FollowsFromTheOpTable) {
  const Graph graph = parse_graph(R"(graph g(x: f32[8], y: f32[8], m: bool[8]) {
      t = tanh(x) s = sigmoid(x) e = exp(x) p = mul(t, s) q = add(p, 3) r = sub(q, t) n = neg(q)
      c = clip(x, min=-2, max=5) d = mul(c, c) z = relu(c) w = select(m, t, q) v = reshape(q, shape=[2, 4])
      i = sub(x, y) h = div(t, q) k = minimum(e, 7) return r, n, d, z, w, v, i, h, k })",
                                  "ranges");
  struct Expected {
    const char* name;
    double low, high;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const Expected all[] = {{"t", -1, 1},     {"s", 0, 1},      {"e", 0, inf}, {"p", -1, 1},
                          {"q", 2, 4},      {"r", 1, 5},      {"n", -4, -2}, {"c", -2, 5},
                          {"d", -10, 25},   {"z", 0, 5},      {"w", -1, 4},  {"v", 2, 4},
                          {"i", -inf, inf}, {"h", -inf, inf}, {"k", 0, 7}};
  for (const Expected& each : all) {
    const ValueRange range = range_of(graph, each.name);
    if (std::isinf(each.low) || std::isinf(each.high)) {
      EXPECT_EQ(range.bounded(), false) << each.name;
      continue;
    }
    EXPECT_LE(range.low, each.low) << each.name;
    EXPECT_GE(range.high, each.high) << each.name;
    EXPECT_NEAR(range.low, each.low, 1e-4) << each.name;
    EXPECT_NEAR(range.high, each.high, 1e-4) << each.name;
  }
}

TEST(ValueRange, HoldsEveryValue) {
  for (const char* dtype : {"f32", "bf16", "f16"}) {
    const Graph graph =
        parse_graph(fmt::format(R"(graph g(x: {}[2000]) {{ t = tanh(x) s = sigmoid(x) p = mul(t, s)
            a = mul(p, 1.01) b = add(a, 0.1) e = exp(b) f = erf(e) u = softplus(f) r = sqrt(u)
            return t, s, p, a, b, e, f, u, r }})",
                                dtype),
                    "values");
    const std::vector<ValueRange> ranges = value_ranges(graph);
    const std::vector<Tensor> values =
        evaluate(graph, random_inputs(graph, {}, 5), Precision::per_op);
    for (size_t o = 0; o < values.size(); ++o) {
      const ValueRange& range = ranges[static_cast<size_t>(graph.outputs[o])];
      EXPECT_TRUE(range.bounded()) << graph.output_names[o];
      for (int64_t i = 0; i < values[o].size(); ++i) {
        ASSERT_GE(values[o].get_f64(i), range.low) << dtype << " " << graph.output_names[o];
        ASSERT_LE(values[o].get_f64(i), range.high) << dtype << " " << graph.output_names[o];
      }
    }
  }
}

TEST(ValueRange, NaNAndInfinityTellNothing) {
  const Graph graph = parse_graph(
      "graph g(x: f32[8]) { t = tanh(x) a = mul(t, inf) b = add(t, nan) return a, b }", "unknown");
  EXPECT_FALSE(range_of(graph, "a").bounded());
  EXPECT_FALSE(range_of(graph, "b").bounded());
}

}  // namespace
}  // namespace ingot::testing
