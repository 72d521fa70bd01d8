// Sentences of docs/semantics.md that speak of calls and reports.
#include <gtest/gtest.h>
#include <ingot/ingot.h>

#include <limits>

#include <nlohmann/json.hpp>

namespace ingot {
namespace {

#if defined(__x86_64__)
TEST(ApiContract, NoCallChangesTheCallersFloatingPointModes) {
  constexpr unsigned control = 0xffc0;  // all but the flags that arithmetic raises
  const Program program = Program::parse(
      "graph g(x: f32[N]) {\n  a = exp(x)\n  b = mul(a, 0.1875)\n  y = sum(b)\n  return b, y\n}\n");
  const Tensor x = program.sample("x", "random", {{"N", 20}});
  const unsigned saved = __builtin_ia32_stmxcsr();
  for (const unsigned mode : {saved & ~0x8040U, saved | 0x8040U, (saved & ~0x6000U) | 0x4000U}) {
    __builtin_ia32_ldmxcsr(mode);
    const Compiled compiled = program.compile();
    const unsigned after_compile = __builtin_ia32_stmxcsr();
    compiled.run({x});
    const unsigned after_run = __builtin_ia32_stmxcsr();
    const bool passed = compiled.check({x}).passed;
    const unsigned after_check = __builtin_ia32_stmxcsr();
    compiled.explain(true);
    const unsigned after_explain = __builtin_ia32_stmxcsr();
    program.evaluate({x});
    const unsigned after_evaluate = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(saved);
    EXPECT_TRUE(passed);
    for (const unsigned after :
         {after_compile, after_run, after_check, after_explain, after_evaluate}) {
      EXPECT_EQ(after & control, mode & control);
    }
  }
  volatile double small = 1e-310;
  EXPECT_EQ(small * 1.0, 1e-310);
}
#endif

TEST(ApiContract, ResultsNeverShareMemoryWithInputs) {
  const Program program = Program::parse(
      "graph g(x: f32[4]) {\n  z = add(x, -0.0)\n  w = reshape(x, shape=[2, 2])\n"
      "  c = constant(f32[4], [0, 1, 2, 3])\n  return x, z, w, c, z\n}\n");
  Tensor x(DType::f32, {4});
  for (int64_t i = 0; i < 4; ++i) x.set_f64(i, static_cast<double>(i));
  const Compiled compiled = program.compile();
  for (int round = 0; round < 2; ++round) {  // neither with the program's constants
    for (std::vector<Tensor> results : {compiled.run({x}), program.evaluate({x})}) {
      for (Tensor& result : results) {  // nor with each other
        for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(result.get_f64(i), static_cast<double>(i));
        for (int64_t i = 0; i < 4; ++i) result.set_f64(i, -7);
      }
    }
  }
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(x.get_f64(i), static_cast<double>(i));
}

TEST(ApiContract, TheSameOpsWithFewerOutputsAreAnotherProgram) {
  const std::string ops =
      "graph g(x: f32[N]) {\n  l = log(x)\n  a = abs(l)\n  b = abs(a)\n  return ";
  const Tensor zeros(DType::f32, {5});
  const std::vector<Tensor> both = Program::parse(ops + "a, b\n}\n").compile().run({zeros});
  const std::vector<Tensor> one = Program::parse(ops + "b\n}\n").compile().run({zeros});
  ASSERT_EQ(both.size(), 2u);
  ASSERT_EQ(one.size(), 1u);
  for (const Tensor& result : {both[0], both[1], one[0]}) {
    for (int64_t i = 0; i < 5; ++i)
      EXPECT_EQ(result.get_f64(i), std::numeric_limits<double>::infinity());
  }
}

TEST(ApiContract, AConstantIsACopy) {
  Tensor data(DType::f32, {1});
  Program program("g");
  const Value x = program.input("x", DType::f32, {1});
  program.output(program.op("add", {x, program.constant(data)}));
  data.set_f64(0, 5);
  EXPECT_EQ(program.evaluate({Tensor(DType::f32, {1})})[0].get_f64(0), 0);
}

TEST(ApiContract, AnOutputInAnInputsMemoryChangesNoOtherResult) {
  const Program program = Program::parse(
      "graph g(a: f32[2], b: f32[2]) {\n  p = relu(a)\n  q = add(a, b)\n  return p, q\n}\n");
  for (const char* fusion : {"off", "auto", "all"}) {
    Options options;
    options.fusion = fusion;
    const Compiled compiled = program.compile(options);
    for (const int64_t shift : {0, 1}) {
      float memory[3] = {-1, 2, 9}, b[2] = {1, 1}, q[2] = {0, 0};
      const TensorView in{memory, DType::f32, {2}, {}}, out{memory + shift, DType::f32, {2}, {}};
      compiled.run({in, {b, DType::f32, {2}, {}}}, {out, {q, DType::f32, {2}, {}}});
      EXPECT_EQ(memory[shift], 0) << fusion;
      EXPECT_EQ(memory[shift + 1], 2) << fusion;
      EXPECT_EQ(q[0], 0) << fusion;
      EXPECT_EQ(q[1], 3) << fusion;
    }
  }
}

TEST(ApiContract, GroupsWithALibraryProductAreReportedAsNotBatchInvariant) {
  const Program program = Program::parse(
      "graph g(x: f32[B, 8], w: f32[8, 4]) {\n  m = matmul(x, w)\n  y = relu(m)\n"
      "  s = sum(x, dims=[1])\n  return y, s\n}\n");
  Options options;
  options.plan_only = true;
  const auto report = nlohmann::json::parse(program.compile(options).explain_json());
  int products = 0;
  for (const auto& group : report["groups"]) {
    const bool product = group["kind"] == "contraction";
    EXPECT_EQ(group["batch_invariant"], !product) << group;
    products += product ? 1 : 0;
  }
  EXPECT_EQ(products, 1);
}

// x = x * x again and again: each value is used twice and written once.
TEST(ApiContract, AChainsKernelGrowsWithItsLength) {
  const auto kernel_size = [](int length) {
    std::string text = "graph g(x0: f32[N]) {\n";
    for (int i = 1; i <= length; ++i) {
      text += "  x" + std::to_string(i) + " = mul(x" + std::to_string(i - 1) + ", x" +
              std::to_string(i - 1) + ")\n";
    }
    text += "  return x" + std::to_string(length) + "\n}\n";
    size_t size = 0;  // of all variants
    for (const Compiled::Source& source : Program::parse(text).compile().sources()) {
      size += source.kernel.size();
    }
    return size;
  };
  EXPECT_LT(kernel_size(40), 3 * kernel_size(20));
}

}  // namespace
}  // namespace ingot
