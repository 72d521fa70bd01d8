// Sentences of docs/semantics.md that speak of compiled kernels, in every fusion mode: lengths,
// orders of outputs, products, many inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"
#include "support/values.h"

namespace ingot::testing {
namespace {

constexpr FusionMode modes[] = {FusionMode::off, FusionMode::automatic, FusionMode::all};
constexpr const char* mode_names[] = {"off", "auto", "all"};

// Each program in the three fusion modes, one after another.
std::vector<CompiledProgram> in_all_modes(const std::vector<std::string>& texts) {
  std::vector<PlannedProgram> planned;
  for (const std::string& text : texts) {
    const Graph graph = run_graph_passes(parse_graph(text, "contract"));
    for (FusionMode mode : modes) {
      PlanOptions options;
      options.fusion = mode;
      planned.push_back({graph, make_plan(graph, device_model("cpu"), options)});
    }
  }
  return compile_programs(planned, "");
}

std::string mode_of(size_t program) { return mode_names[program % std::size(modes)]; }

// ---- elementary functions

constexpr const char* functions[] = {"exp", "log", "tanh", "erf", "sigmoid", "gelu", "silu", "sin"};

std::string function_program(bool in_a_chain) {
  std::string text = "graph g(x: f32[N]) {", results;
  for (const std::string name : functions) {
    if (in_a_chain) {  // the argument is computed, the result used
      text += fmt::format(" a_{0} = mul(x, 1) b_{0} = neg(a_{0}) c_{0} = neg(b_{0})", name);
      text += fmt::format(" y_{0} = {0}(c_{0}) z_{0} = add(y_{0}, 1)", name);
      results += fmt::format("y_{0}, z_{0}, ", name);
    } else {
      text += fmt::format(" y_{0} = {0}(x)", name);
      results += fmt::format("y_{0}, ", name);
    }
  }
  return text + " return " + results.substr(0, results.size() - 2) + " }";
}

Tensor part_of(const Tensor& x, int64_t first, int64_t length) {
  Tensor part(DType::f32, {length});
  std::memcpy(part.data(), x.data() + 4 * first, static_cast<size_t>(part.bytes()));
  return part;
}

TEST(Contract, FunctionsHaveTheSameBitsAloneFusedAndAtEveryLength) {
  const int64_t n = 1 << 16;
  Tensor x(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i) x.set_f64(i, -20 + 40 * static_cast<double>(i) / (n - 1));
  const std::vector<Tensor> expected =
      evaluate(parse_graph(function_program(false), "alone"), {x}, Precision::per_op);
  const std::vector<CompiledProgram> compiled =
      in_all_modes({function_program(false), function_program(true)});
  for (size_t program = 0; program < compiled.size(); ++program) {
    const size_t step = program < std::size(modes) ? 1 : 2;  // outputs of a function
    const Executable executable = compiled[program].executable(2);
    for (int64_t length : {n, int64_t{1}, int64_t{7}, int64_t{8}, int64_t{9}, int64_t{33}}) {
      const int64_t first = length == n ? 0 : 12345;
      const std::vector<Tensor> got = run(executable, {part_of(x, first, length)});
      for (size_t f = 0; f < std::size(functions); ++f) {
        EXPECT_EQ(first_difference(got[f * step], part_of(expected[f], first, length)), "")
            << fmt::format("{}, length {}, fusion {}, {}", functions[f], length, mode_of(program),
                           step == 1 ? "alone" : "in a chain");
      }
    }
  }
}

// ---- NaN

TEST(Contract, NaNInAMaximumOrMinimumWinsAtEveryLengthPlaceAndNumber) {
  const std::vector<CompiledProgram> compiled =
      in_all_modes({"graph g(x: f32[N]) { h = max(x) l = min(x) return h, l }"});
  for (size_t program = 0; program < compiled.size(); ++program) {
    const Executable executable = compiled[program].executable(1);
    for (int64_t n = 2; n <= 70; ++n) {
      for (int64_t nans = 1; nans <= n; ++nans) {
        for (const bool front : {true, false}) {
          Tensor x(DType::f32, {n});
          for (int64_t i = 0; i < n; ++i) {
            const bool is_nan = front ? i < nans : i >= n - nans;
            x.set_f64(i, is_nan ? std::nan("") : 42);
          }
          for (const Tensor& result : run(executable, {x})) {
            ASSERT_TRUE(std::isnan(result.get_f64(0)))
                << fmt::format("{} of {} NaN at the {}, fusion {}", nans, n,
                               front ? "front" : "back", mode_of(program));
          }
        }
      }
    }
  }
}

// ---- outputs

TEST(Contract, OutputsInAnyOrderHaveTheSameValues) {
  std::vector<std::string> names = {"out", "p", "r"}, texts;
  const std::map<std::string, std::vector<double>> values = {
      {"p", {-1, 2, -3}}, {"r", {0, 2, 0}}, {"out", {-1, 4, -3}}};
  do {
    texts.push_back(
        fmt::format("graph g(x: f32[3]) {{ p = neg(x) r = relu(p) out = add(p, r) "
                    "return {}, {}, {} }}",
                    names[0], names[1], names[2]));
  } while (std::next_permutation(names.begin(), names.end()));
  EXPECT_EQ(texts.size(), 6u);
  for (const CompiledProgram& program : in_all_modes(texts)) {
    const std::vector<Tensor> got =
        run(program.executable(1), {tensor(DType::f32, {3}, {1, -2, 3})});
    for (size_t o = 0; o < got.size(); ++o) {
      const std::string& name = program.graph.output_names[o];
      EXPECT_EQ(values_of(got[o]), values.at(name)) << name << " in\n" << print(program.graph);
    }
  }
}

// ---- products

TEST(Contract, ProductsHaveTheSameBitsInEveryFusionModeOnAnyNumberOfThreads) {
  const std::vector<std::string> texts = {
      R"(graph g(x: f32[B, 300], w: f32[300, 70], b: f32[70]) {
        m = matmul(x, w) t = add(m, b) y = gelu(t) return y, m })",
      R"(graph g(x: bf16[B, 300], w: bf16[300, 70]) {
        m = matmul(x, w) y = relu(m) s = max(m, dims=[1]) return y, s })",
      R"(graph g(x: f32[B, 6, 50], w: f32[8, 6, 5], b: f32[8]) {
        m = conv(x, w, b, pads=[2, 2]) y = relu(m) return y })",
  };
  const std::vector<CompiledProgram> compiled = in_all_modes(texts);
  for (size_t p = 0; p < compiled.size(); p += std::size(modes)) {
    for (int64_t rows : {1, 7, 300}) {
      const std::vector<Tensor> inputs = random_inputs(compiled[p].graph, {{"B", rows}}, 4);
      const std::vector<Tensor> expected = run(compiled[p].executable(1), inputs);
      for (size_t mode = 0; mode < std::size(modes); ++mode) {
        for (int threads : {1, 2, 4}) {
          const std::vector<Tensor> got = run(compiled[p + mode].executable(threads), inputs);
          for (size_t o = 0; o < got.size(); ++o) {
            EXPECT_EQ(first_difference(got[o], expected[o]), "") << fmt::format(
                "{} rows, fusion {}, {} threads, output {}", rows, mode_names[mode], threads, o);
          }
        }
      }
    }
  }
}

TEST(Contract, AProductOverNothingIsZero) {
  for (const CompiledProgram& program :
       in_all_modes({"graph g(x: f32[3, K], w: f32[K, 2]) { m = matmul(x, w) y = add(m, 1) "
                     "return m, y }"})) {
    const std::vector<Tensor> got =
        run(program.executable(1), {{DType::f32, {3, 0}}, {DType::f32, {0, 2}}});
    EXPECT_EQ(values_of(got[0]), std::vector<double>(6, 0));
    EXPECT_EQ(values_of(got[1]), std::vector<double>(6, 1));
  }
}

// ---- sizes of programs

TEST(Contract, AnyNumberOfInputsMayBeSummed) {
  for (const int count : {33, 200, 1100}) {
    std::string inputs, body;
    std::vector<Tensor> values;
    for (int k = 1; k <= count; ++k) {
      const bool narrow = k % 3 == 0;
      inputs += fmt::format("{}x{}: {}[3, 5, 2, 2]", k == 1 ? "" : ", ", k, narrow ? "i32" : "f32");
      Tensor& value =
          values.emplace_back(narrow ? DType::i32 : DType::f32, std::vector<int64_t>{3, 5, 2, 2});
      for (int64_t i = 0; i < value.size(); ++i) value.set_i64(i, k);
      if (narrow) body += fmt::format(" f{0} = cast(x{0}, dtype=f32)", k);
      if (k == 1) continue;
      const std::string last = k == 2 ? "x1" : fmt::format("s{}", k - 1);
      body += fmt::format(" s{0} = add({1}, {2}{0})", k, last, narrow ? "f" : "x");
    }
    const std::string text = fmt::format("graph g({}) {{{} return s{} }}", inputs, body, count);
    const Graph graph = run_graph_passes(parse_graph(text, "sum"));
    PlanOptions options;  // one by one there are few different kernels, however many inputs
    options.fusion = count > 200 ? FusionMode::off : FusionMode::automatic;
    const std::vector<CompiledProgram> compiled =
        compile_programs({{graph, make_plan(graph, device_model("cpu"), options)}}, "");
    const Tensor got = run(compiled[0].executable(2), values)[0];
    EXPECT_EQ(values_of(got), std::vector<double>(60, count * (count + 1) / 2)) << count;
  }
}

TEST(Contract, SlicedReshapedAndTransposedRowsOfAnyLength) {
  const std::string text = R"(graph g(x: bf16[N, 2080]) {
      q = slice(x, starts=[0, 0], ends=[N, 2048], steps=[1, 1])
      h = reshape(q, shape=[N, 16, 128]) t = transpose(h, perm=[1, 0, 2]) a = mul(t, 2)
      m = max(a, dims=[2], keepdims=true) y = sub(a, m) k = slice(x, starts=[0, 2048],
      ends=[N, 2080], steps=[1, 1]) z = neg(k) return y, z })";
  const Graph source = parse_graph(text, "slices");
  const std::vector<Tensor> inputs = random_inputs(source, {{"N", 130}}, 6);
  const std::vector<Tensor> expected = evaluate(source, inputs, Precision::per_op);
  const std::vector<CompiledProgram> compiled = in_all_modes({text});
  for (size_t program = 0; program < compiled.size(); ++program) {
    const std::vector<Tensor> got = run(compiled[program].executable(2), inputs);
    for (size_t o = 0; o < got.size(); ++o) {
      EXPECT_EQ(first_difference(got[o], expected[o]), "")
          << "fusion " << mode_of(program) << ", output " << o;
    }
  }
}

}  // namespace
}  // namespace ingot::testing
