// Formulas for values in a known range: which are chosen, and what a collapsed chain errs.
#include "plan/narrow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "graph/passes/passes.h"
#include "graph/value_range.h"

namespace ingot {
namespace {

const char* const chain = R"(graph chain(x: f32[B, 100]) {
  t1 = tanh(x) s1 = sigmoid(t1) y1 = mul(t1, s1)
  a2 = mul(y1, 1.01) b2 = add(a2, 0.1) t2 = tanh(b2) s2 = sigmoid(t2) y2 = mul(t2, s2)
  return y2 })";

Plan plan_of(const Graph& graph, const char* device, Numerics numerics,
             FusionMode fusion = FusionMode::automatic) {
  PlanOptions options;
  options.numerics = numerics;
  options.fusion = fusion;
  return make_plan(graph, device_model(device), options);
}

std::vector<std::string> formulas(const Graph& graph, const Plan& plan) {
  std::vector<std::string> names;
  for (const Decision& d : plan.decisions) {
    if (d.reason != Reason::value_range) continue;
    EXPECT_TRUE(d.fused);
    EXPECT_NE(d.detail.find(fmt::format("'{}' lies in [", graph[d.producer].name)),
              std::string::npos)
        << d.detail;
    names.push_back(graph[d.consumer].name);
  }
  return names;
}

TEST(Narrow, WideTakesFormulasForTheRangeOnAGpuOnly) {
  const Graph graph = run_graph_passes(parse_graph(chain, "chain"));
  const Plan wide = plan_of(graph, "h200", Numerics::wide);
  EXPECT_EQ(join(formulas(graph, wide), " "), "s2 t2 s1");
  EXPECT_TRUE(wide.groups[0].narrowings.begin()->second.polynomial.empty());
  EXPECT_TRUE(formulas(graph, plan_of(graph, "cpu", Numerics::wide)).empty());
  for (const char* device : {"cpu", "h200"}) {
    EXPECT_TRUE(formulas(graph, plan_of(graph, device, Numerics::exact)).empty());
  }
}

TEST(Narrow, FastCollapsesAChainOfOneValueInAKnownRange) {
  const Graph graph = run_graph_passes(parse_graph(chain, "chain"));
  for (const char* device : {"cpu", "h200"}) {
    const Plan plan = plan_of(graph, device, Numerics::fast);
    EXPECT_EQ(join(formulas(graph, plan), " "), "y2") << device;
    ASSERT_EQ(plan.groups[0].narrowings.size(), 1u);
    const Narrowing& narrowing = plan.groups[0].narrowings.begin()->second;
    EXPECT_EQ(graph[narrowing.operand].name, "t1");
    EXPECT_LE(narrowing.polynomial.size(), static_cast<size_t>(most_coefficients));
  }
}

// What is stored or used elsewhere is computed as it stands.
TEST(Narrow, ValuesThatAreNeededStay) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(x: f32[B, 100], z: f32[B, 100]) {
      t1 = tanh(x) s1 = sigmoid(t1) y1 = mul(t1, s1) t2 = tanh(y1) y2 = mul(t2, 0.5)
      w = add(y1, z) return y2, t2, w })",
                                                   "needed"));
  const std::vector<std::string> names = formulas(graph, plan_of(graph, "cpu", Numerics::fast));
  EXPECT_EQ(join(names, " "), "t2 y1");
}

TEST(Narrow, AnUnknownRangeOrAnotherDtypeIsLeftAlone) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(x: f32[B, 100], h: bf16[B, 100]) {
      a = sigmoid(x) b = mul(a, x) t = tanh(b) c = tanh(h) d = sigmoid(c) e = tanh(d)
      return t, e })",
                                                   "unknown"));
  EXPECT_TRUE(formulas(graph, plan_of(graph, "cpu", Numerics::fast)).empty());
}

TEST(Collapse, KeepsItsBoundInTheWholeRange) {
  const Graph graph = run_graph_passes(parse_graph(chain, "chain"));
  const Plan plan = plan_of(graph, "cpu", Numerics::fast);
  const auto& [result, narrowing] = *plan.groups[0].narrowings.begin();
  double worst = 0, largest = 0;
  for (double x = -1; x <= 1; x += 1e-5) {
    const float t = static_cast<float>(x);
    float got = 0;
    for (double c : narrowing.polynomial) got = std::fma(got, t, static_cast<float>(c));
    const double t1 = static_cast<double>(t), y1 = t1 / (1 + std::exp(-t1));
    const double t2 = std::tanh(y1 * 1.01 + 0.1), want = t2 / (1 + std::exp(-t2));
    worst = std::max(worst, std::fabs(static_cast<double>(got) - want));
    largest = std::max(largest, std::fabs(want));
  }
  EXPECT_LE(worst, 1.05 * collapse_error * largest);
}

}  // namespace
}  // namespace ingot
