// `wide` and `fast` against the f64 oracle: at most twice the error of `exact`; casts stay.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

constexpr Numerics numerics[] = {Numerics::exact, Numerics::wide, Numerics::fast};
constexpr const char* numerics_names[] = {"exact", "wide", "fast"};
constexpr FusionMode modes[] = {FusionMode::off, FusionMode::automatic, FusionMode::all};
constexpr const char* mode_names[] = {"off", "auto", "all"};

// Numerics outside, fusion modes inside.
std::vector<CompiledProgram> compile_all(const Graph& source) {
  const Graph graph = run_graph_passes(source);
  std::vector<PlannedProgram> planned;
  for (Numerics each : numerics) {
    for (FusionMode mode : modes) {
      PlanOptions options;
      options.numerics = each;
      options.fusion = mode;
      planned.push_back({graph, make_plan(graph, device_model("cpu"), options)});
    }
  }
  return compile_programs(planned, "");
}

struct Deviation {
  double largest = 0, mean_square = 0;
};

Deviation deviation(const Tensor& got, const Tensor& oracle) {
  Deviation error;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double distance = std::abs(got.get_f64(i) - oracle.get_f64(i));
    EXPECT_TRUE(std::isfinite(distance)) << "element " << i;
    error.largest = std::max(error.largest, distance);
    error.mean_square += distance * distance / static_cast<double>(got.size());
  }
  return error;
}

struct Chain {
  const char* name;
  const char* text;
};

const Chain chains[] = {
    {"arithmetic", R"(graph g(x: bf16[B, 200], w: bf16[200], b: bf16[200]) {
      m = mul(x, w) a = add(m, b) s = mul(a, a) t = sub(s, x) y = mul(t, 0.7) return y })"},
    {"bias_gelu", R"(graph g(x: bf16[B, 200], b: bf16[200]) {
      t = add(x, b) g = gelu(t) y = add(g, x) return y })"},
    {"functions", R"(graph g(x: bf16[B, 200]) {
      t = tanh(x) e = exp(t) s = silu(e) u = sigmoid(s) y = mul(u, x) return y })"},
    {"softmax", R"(graph g(x: bf16[B, 200]) {
      m = max(x, dims=[1], keepdims=true) d = sub(x, m) e = exp(d)
      s = sum(e, dims=[1], keepdims=true) y = div(e, s) return y })"},
    {"norm", R"(graph g(x: bf16[B, 200], w: bf16[200]) {
      q = mul(x, x) m = mean(q, dims=[1], keepdims=true) a = add(m, 0.001) r = rsqrt(a)
      n = mul(x, r) y = mul(n, w) return y })"},
    {"columns", R"(graph g(x: bf16[300, B], w: bf16[B]) {
      q = mul(x, w) s = sum(q, dims=[0]) y = mul(s, w) return y })"},
};

class Modes : public ::testing::TestWithParam<Chain> {};

TEST_P(Modes, WideAndFastErrAtMostTwiceAsMuchAsExact) {
  const Graph source = parse_graph(GetParam().text, GetParam().name);
  const std::vector<CompiledProgram> compiled = compile_all(source);
  const std::vector<Tensor> inputs = random_inputs(source, {{"B", 50}}, 11);
  const Tensor oracle = evaluate(source, inputs, Precision::wide)[0];
  Deviation exact;
  for (size_t i = 0; i < compiled.size(); ++i) {
    const Deviation error = deviation(run(compiled[i].executable(2), inputs)[0], oracle);
    if (i == 0) exact = error;
    const std::string where = fmt::format("{}, fusion {}", numerics_names[i / std::size(modes)],
                                          mode_names[i % std::size(modes)]);
    EXPECT_LE(error.largest, 2 * exact.largest) << where;
    EXPECT_LE(error.mean_square, 4 * exact.mean_square) << where;
  }
  EXPECT_GT(exact.largest, 0) << "the chain rounds nowhere";
}

INSTANTIATE_TEST_SUITE_P(Chains, Modes, ::testing::ValuesIn(chains),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Casts, AreKeptInEveryMode) {
  const Graph source = parse_graph(R"(graph g(x: f32[B, 100], y: f32[B, 100]) {
      a = add(x, y) c = cast(a, dtype=bf16) d = cast(c, dtype=f32) e = sub(a, d)
      i = cast(e, dtype=i32) h = cast(a, dtype=f16) k = cast(h, dtype=f32) l = sub(k, d)
      return d, e, i, l })",
                                   "casts");
  const std::vector<Tensor> inputs = random_inputs(source, {{"B", 9}}, 2);
  const std::vector<Tensor> expected = evaluate(source, inputs, Precision::per_op);
  const std::vector<CompiledProgram> compiled = compile_all(source);
  for (size_t i = 0; i < compiled.size(); ++i) {
    const std::vector<Tensor> got = run(compiled[i].executable(1), inputs);
    for (size_t o = 0; o < got.size(); ++o) {
      EXPECT_EQ(first_difference(got[o], expected[o]), "")
          << numerics_names[i / std::size(modes)] << ", fusion " << mode_names[i % std::size(modes)]
          << ", output " << o;
    }
  }
}

TEST(Modes, WithoutHalvesWideEqualsExact) {
  const Graph source = parse_graph(R"(graph g(x: f32[B, 100], y: f64[B, 100], i: i32[B, 100]) {
      a = mul(x, 0.3) b = add(a, x) c = gelu(b) s = softmax(c) n = sum(c, dims=[0])
      d = mul(y, 0.3) e = add(d, y) f = exp(e) t = mean(f, dims=[1])
      p = mul(i, i) q = div(p, 7) r = sum(q, dims=[1]) return s, n, f, t, r })",
                                   "no_halves");
  const std::vector<Tensor> inputs = random_inputs(source, {{"B", 70}}, 8);
  const std::vector<Tensor> expected = evaluate(source, inputs, Precision::per_op);
  const std::vector<CompiledProgram> compiled = compile_all(source);
  for (size_t i = 0; i < 2 * std::size(modes); ++i) {
    const std::vector<Tensor> got = run(compiled[i].executable(2), inputs);
    for (size_t o = 0; o < got.size(); ++o) {
      EXPECT_EQ(first_difference(got[o], expected[o]), "")
          << numerics_names[i / std::size(modes)] << ", fusion " << mode_names[i % std::size(modes)]
          << ", output " << o;
    }
  }
}

// What runs in a kernel of its own has nothing to keep in f32, and arithmetic no shorter formula.
TEST(Modes, WideAndFastArithmeticEqualsExactWithoutFusion) {
  const Graph source = parse_graph(chains[0].text, chains[0].name);
  const std::vector<Tensor> inputs = random_inputs(source, {{"B", 50}}, 11);
  const std::vector<CompiledProgram> compiled = compile_all(source);
  const Tensor exact = run(compiled[0].executable(1), inputs)[0];
  for (size_t i = 0; i < compiled.size(); ++i) {
    const Tensor got = run(compiled[i].executable(1), inputs)[0];
    const bool fused_wide = i % std::size(modes) != 0 && i >= std::size(modes);
    EXPECT_EQ(first_difference(got, exact).empty(), !fused_wide) << i;
  }
}

TEST(Modes, FastIsWideWhereNoFormulaIsShorter) {
  for (const Chain& chain : chains) {
    const std::string_view name = chain.name;
    if (name != "arithmetic" && name != "norm" && name != "columns") continue;
    const Graph source = parse_graph(chain.text, chain.name);
    const std::vector<Tensor> inputs = random_inputs(source, {{"B", 50}}, 12);
    const std::vector<CompiledProgram> compiled = compile_all(source);
    const Tensor exact = run(compiled[0].executable(1), inputs)[0];
    for (int64_t i = 0; i < exact.size(); ++i) ASSERT_TRUE(std::isfinite(exact.get_f64(i))) << i;
    for (size_t mode = 0; mode < std::size(modes); ++mode) {
      const Tensor wide = run(compiled[std::size(modes) + mode].executable(1), inputs)[0];
      const Tensor fast = run(compiled[2 * std::size(modes) + mode].executable(1), inputs)[0];
      EXPECT_EQ(first_difference(fast, wide), "") << chain.name << ", fusion " << mode_names[mode];
    }
  }
}

TEST(Modes, ACollapsedChainIsNearTheOracle) {
  const Graph source = parse_graph(R"(graph g(x: f32[B, 1000]) {
      c = clip(x, min=-2, max=2) t = tanh(c) s = sigmoid(t) y = mul(t, s) a = mul(y, 1.01)
      b = add(a, 0.1) u = tanh(b) v = sigmoid(u) z = mul(u, v) return z })",
                                   "collapsed");
  const std::vector<Tensor> inputs = random_inputs(source, {{"B", 50}}, 14);
  const Tensor oracle = evaluate(source, inputs, Precision::wide)[0];
  const std::vector<CompiledProgram> compiled = compile_all(source);
  const size_t automatic = 1;
  const Tensor exact = run(compiled[automatic].executable(1), inputs)[0];
  const Tensor fast = run(compiled[2 * std::size(modes) + automatic].executable(2), inputs)[0];
  EXPECT_NE(first_difference(fast, exact), "") << "nothing was collapsed";
  EXPECT_LE(deviation(fast, oracle).largest, 0x1p-22);
}

}  // namespace
}  // namespace ingot::testing
