// What the compiler makes of an emitted kernel: packed instructions, no calls, no stack traffic.
#include <array>
#include <cstdio>

#include <gtest/gtest.h>

#include "support/compiled_kernel.h"

namespace ingot {
namespace {

// The instructions of one function, a line each; empty without objdump.
std::vector<std::string> disassembly(const std::string& path, const std::string& symbol) {
  std::string command = "objdump -d --no-show-raw-insn '" + path + "' 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  std::vector<std::string> lines;
  bool inside = false;
  for (std::array<char, 512> buffer; fgets(buffer.data(), buffer.size(), pipe) != nullptr;) {
    std::string text(buffer.data());
    if (text.find("<" + symbol + ">:") != std::string::npos) {
      inside = true;
    } else if (text == "\n") {
      inside = false;
    } else if (inside) {
      lines.push_back(text);
    }
  }
  pclose(pipe);
  return lines;
}

int count(const std::vector<std::string>& lines, const std::string& first,
          const std::string& second = "") {
  int found = 0;
  for (const std::string& text : lines) {
    size_t at = text.find(first);
    if (at != std::string::npos && text.find(second, at) != std::string::npos) found++;
  }
  return found;
}

TEST(ObjectCode, BiasGeluIsPacked) {
  testing::Compiled compiled = testing::compile_kernels({R"(
    kernel bias_gelu(x: f32[8192*B] in, b: f32[8192] in, y: f32[8192*B] out) sizes(B) {
      phase p in parallel(B) grain 1 {
        for j in vector(8192) {
          x0: f32 = load x[8192*p + j]
          b0: f32 = load b[j]
          t: f32 = add(x0, b0)
          y0: f32 = gelu(t)
          stream y[8192*p + j] = y0
        }
      }
    })"});
  std::vector<std::string> lines = disassembly(compiled.library.path, "bias_gelu_p0");
  if (lines.empty()) GTEST_SKIP() << "no objdump";
  std::string all;
  for (const std::string& text : lines) all += text;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    GTEST_SKIP() << "a CPU without AVX2";
  }
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  std::string registers = wide ? "zmm" : "ymm";
  int vectors = testing::vector_bytes / (wide ? 64 : 32);
  EXPECT_GE(count(lines, "vaddps", registers), vectors) << all;
  EXPECT_GE(count(lines, "vfm", "ps"), 8 * vectors) << all;
  EXPECT_GE(count(lines, "vmovntps", registers), vectors) << all;
  EXPECT_EQ(count(lines, "call"), 0) << all;
  EXPECT_EQ(count(lines, "vaddss"), 0) << all;
  EXPECT_LE(count(lines, "(%rsp"), wide ? 8 : 100) << all;
}

}  // namespace
}  // namespace ingot
