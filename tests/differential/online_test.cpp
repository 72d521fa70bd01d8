// Sums of e^(x - max(x)) in the pass of their maximum, in `wide` and `fast`: on a CPU and,
// emulated, on a GPU, against the f64 oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/emulated_programs.h"

namespace ingot::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

const std::vector<const char*> programs = {
    "graph g(x: T[8, N]) { f = cast(x, dtype=f32) y = logsumexp(f, dims=[-1]) return y }",
    "graph g(x: T[8, N]) { f = cast(x, dtype=f32) y = log_softmax(f, dim=-1) return y }",
    "graph g(x: T[8, N]) { y = softmax(x, dim=-1) return y }",
    // Another sum in the pass, and a sum of e^(x - max(x)) that is not of the same x.
    R"(graph g(x: T[8, N]) {
      f = cast(x, dtype=f32) m = max(f, dims=[1], keepdims=true) d = sub(f, m) e = exp(d)
      s = sum(e, dims=[1]) h = mul(f, 0.5) c = sub(h, m) k = exp(c) t = sum(k, dims=[1])
      n = min(f, dims=[1]) return s, t, n })"};

std::string text_of(std::string program, const char* dtype, int64_t columns) {
  for (auto [from, to] : {std::pair<char, std::string>{'T', dtype}, {'N', fmt::to_string(columns)}})
    program.replace(program.find(from), 1, to);
  return program;
}

// Rows with what a maximum may be: finite, -inf (also of some chunks), inf, NaN, and large ones.
Tensor rows(DType dtype, int64_t columns, uint64_t seed) {
  const Graph source = parse_graph(
      fmt::format("graph g(x: {}[8, {}]) {{ return x }}", dtype_name(dtype), columns), "rows");
  Tensor x = random_inputs(source, {}, seed)[0];
  auto set = [&](int64_t row, int64_t from, int64_t to, double value) {
    for (int64_t j = from; j < to; ++j) x.set_f64(row * columns + j, value);
  };
  set(1, 0, columns, -infinity);
  set(2, columns / 2, columns / 2 + 1, infinity);
  set(3, columns - 1, columns, std::nan(""));
  set(4, 0, 2048, -infinity);
  set(5, 2048, columns, -infinity);
  for (int64_t j = 0; j < columns; ++j) {
    x.set_f64(6 * columns + j, 1e30 * x.get_f64(j));
    x.set_f64(7 * columns + j, 300 + x.get_f64(j));
  }
  return x;
}

// An element's error is at most `relative` of the oracle and of the largest term behind it.
void expect_near(const Tensor& got, const Tensor& oracle, double relative,
                 const std::string& where) {
  int64_t finite = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double a = got.get_f64(i), b = oracle.get_f64(i);
    if (!std::isfinite(b)) {
      const bool same = std::isnan(b) ? std::isnan(a) : a == b;
      ASSERT_TRUE(same) << where << ", element " << i << ": " << a << " instead of " << b;
      continue;
    }
    ++finite;
    ASSERT_LE(std::abs(a - b), relative * std::max(1.0, std::abs(b)))
        << where << ", element " << i << ": " << a << " instead of " << b;
  }
  EXPECT_GT(finite, got.size() / 3) << where;
}

int online_sums_of(const Plan& plan) {
  int count = 0;
  for (const Group& group : plan.groups) count += static_cast<int>(group.online.size());
  return count;
}

class Online : public ::testing::TestWithParam<std::tuple<const char*, int64_t>> {};

TEST_P(Online, SumsAreThoseOfTheOracleWhateverTheMaximum) {
  const auto [dtype, columns] = GetParam();
  const Tensor x = rows(parse_dtype(dtype).value(), columns, 5);
  std::vector<PlannedProgram> cpu, gpu;
  std::vector<Tensor> oracles;
  for (const char* program : programs) {
    const Graph source = parse_graph(text_of(program, dtype, columns), "online");
    const Graph graph = run_graph_passes(source);
    for (const Numerics numerics : {Numerics::wide, Numerics::fast}) {
      PlanOptions options;
      options.numerics = numerics;
      cpu.push_back({graph, make_plan(graph, device_model("cpu"), options)});
      gpu.push_back({graph, make_plan(graph, device_model("h200"), options)});
      oracles.push_back(evaluate(source, {x}, Precision::wide)[0]);
    }
  }
  const std::vector<CompiledProgram> compiled = compile_programs(cpu, "");
  const std::vector<EmulatedProgram> emulated = emulate_programs(gpu, "");
  for (size_t i = 0; i < compiled.size(); ++i) {
    const double relative = i / 2 == 2 && std::string_view(dtype) == "bf16" ? 0x1p-8 : 4e-6;
    const std::string where = fmt::format("{} of {}, program {}", dtype, columns, i);
    expect_near(run(compiled[i].executable(2), {x})[0], oracles[i], relative, where + ", cpu");
    expect_near(run_emulated(emulated[i], {x})[0], oracles[i], relative, where + ", gpu");
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Online,
                         ::testing::Combine(::testing::Values("f32", "bf16"),
                                            ::testing::Values(2049, 4096, 7000, 70002)));

TEST(OnlineSums, AreTakenInLongRowsOfWideOnly) {
  auto count = [](const char* program, int64_t columns, const char* device, Numerics numerics) {
    const Graph graph = run_graph_passes(parse_graph(text_of(program, "bf16", columns), "online"));
    PlanOptions options;
    options.numerics = numerics;
    return online_sums_of(make_plan(graph, device_model(device), options));
  };
  for (const char* device : {"cpu", "h200"}) {
    EXPECT_EQ(count(programs[0], 5000, device, Numerics::wide), 1) << device;
    EXPECT_EQ(count(programs[0], 5000, device, Numerics::exact), 0) << device;
    EXPECT_EQ(count(programs[0], 2048, device, Numerics::wide), 0) << device;
    EXPECT_EQ(count(programs[3], 5000, device, Numerics::fast), 1) << device;
  }
  // On a CPU the exponentials of a softmax are kept for the last pass.
  EXPECT_EQ(count(programs[2], 5000, "cpu", Numerics::wide), 0);
  EXPECT_EQ(count(programs[2], 5000, "h200", Numerics::wide), 1);
}

}  // namespace
}  // namespace ingot::testing
