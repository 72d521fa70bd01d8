// Kernels compiled for AVX2 and for AVX-512 give the same bits: programs run with a compiler that
// takes another machine for this one.
#include <gtest/gtest.h>
#include <ingot/ingot.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/interpret_plan.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr const char* programs[] = {
    R"(graph functions(x: T[M, 133], b: T[133]) {
      t = add(x, b) g = gelu(t) h = tanh(g) e = exp(h) f = erf(x) l = log1p(e)
      s = silu(f) r = rsqrt(e) y = add(s, l) z = pow(e, r) w = mish(x)
      return y, z, w, h })",
    R"(graph rows(x: T[M, 4233], g: T[4233], b: T[4233]) {
      p = softmax(x, dim=-1) n = layer_norm(x, g, b, dims=[-1]) m = max(x, dims=[1])
      a = argmin(x, dims=[1]) return p, n, m, a })",
    R"(graph columns(x: T[M, 71], z: T[M, 71]) {
      c = cumsum(x, dim=1) e = exp(x) s = sum(e, dims=[0]) t = sum(z) return c, s, t })",
    R"(graph turned(x: T[77, M], z: T[M, 77]) {
      t = transpose(x, perm=[1, 0]) y = mul(t, z) w = sqrt(y) return w })",
    R"(graph casts(x: T[M, 99]) {
      i = cast(x, dtype=i32) u = cast(x, dtype=u8) h = cast(x, dtype=f16) b = cast(x, dtype=bf16)
      d = cast(x, dtype=f64) k = cast(x, dtype=i64) q = cast(x, dtype=f8e4m3) f = floor(x)
      return i, u, h, b, d, k, q, f })",
};

std::string typed(std::string text, const std::string& dtype) {
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos;) {
    text.replace(at, 1, dtype);
  }
  return text;
}

// Runs g++, and notes the calls that had another machine put in.
fs::path compiler_for(const std::string& level, const fs::path& folder) {
  const fs::path path = folder / ("g++_" + level);
  std::ofstream(path) << "#!/bin/sh\nn=$#\nwhile [ $n -gt 0 ]; do\n  a=$1\n  shift\n"
                      << "  [ \"$a\" = -march=native ] && a=-march=" << level
                      << " && echo x >> \"$0.calls\"\n"
                      << "  set -- \"$@\" \"$a\"\n  n=$((n - 1))\ndone\nexec g++ \"$@\"\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::vector<Tensor> run_with(const fs::path& compiler, const std::string& text, int64_t rows) {
  setenv("CXX", compiler.c_str(), 1);
  Options options;
  options.sizes = {{"M", rows}};
  options.cache_dir = compiler.string() + "_cache";
  const Program program = Program::parse(text);
  std::vector<Tensor> inputs;
  for (const Port& port : program.inputs()) {
    inputs.push_back(program.sample(port.name, "random:5:3", options.sizes));
  }
  // Values that take the rare ways: in the first row only, as sums of a row with a NaN say nothing.
  constexpr double special[] = {
      0,   -0.0,  __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 1e-40, -3e-39,    3e38,
      -90, 1e-20, 65519.9,         -65520.1,         2147483648.0,      -1e10, 0.49999997};
  for (int64_t i = 0; i < static_cast<int64_t>(std::size(special)); ++i) {
    inputs[0].set_f64(i, special[i]);
  }
  std::vector<Tensor> outputs = program.compile(options).run(inputs);
  unsetenv("CXX");
  return outputs;
}

TEST(InstructionSets, Avx2AndAvx512GiveTheSameBits) {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx2) GTEST_SKIP() << "this machine has no AVX2";
  if (std::system("command -v g++ > /dev/null") != 0) GTEST_SKIP() << "there is no g++";
  const fs::path folder = fs::current_path() / "instruction_sets_test";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  std::vector<std::string> levels = {"x86-64-v3"};
  if (wide) levels.emplace_back("x86-64-v4");
  levels.emplace_back("native");
  std::vector<fs::path> compilers;
  for (const std::string& level : levels) compilers.push_back(compiler_for(level, folder));
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* program : programs) {
      const std::string text = typed(program, dtype);
      const std::vector<Tensor> expected = run_with(compilers[0], text, 70);
      for (size_t c = 1; c < compilers.size(); ++c) {
        const std::vector<Tensor> got = run_with(compilers[c], text, 70);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(testing::first_difference(got[i], expected[i]), "")
              << levels[c] << " and " << levels[0] << ", output " << i << " of\n"
              << text;
        }
      }
    }
  }
  for (const fs::path& compiler : compilers) {
    EXPECT_TRUE(fs::exists(compiler.string() + ".calls")) << compiler;
  }
}

}  // namespace
}  // namespace ingot
