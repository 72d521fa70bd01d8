// Every f32 function of one operand over all 2^32 operands, as generated kernels run it: compiled
// by the system's g++ for this machine. The reference is the f64 function of the library, which is
// another formula with an error of 2^-28 ulp of f32; elementary_mpfr_test.cpp holds it against
// MPFR, and the C library checks one operand in 61. vector_test.cpp shows that other machines and
// the evaluator give the same bits.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/functions.h"
#include "device/library.h"

namespace ingot::testing {
namespace {

constexpr uint64_t block = 1 << 14;  // operands at a time
using Kernel = void(const float* x, float* y, double* want, long n);

// The functions of functions.h in one module; entries have their names.
void* compiled_functions() {
  std::filesystem::path folder = std::filesystem::current_path() / "device_elementary_long_test";
  std::filesystem::create_directories(folder);
  std::set<std::string> names;
  std::string text;
  for (const UnaryFunction& f : unary_functions()) {
    std::string name = f.name;
    names.insert(name);
    text += "extern \"C\" void all_" + name +
            "(const float* x, float* y, double* want, long n) {\n"
            "  for (long i = 0; i < n; i += INGOT_LANES) {\n"
            "    store_f32(y + i, " +
            name + "(load_f32(x + i)));\n    store_f64(want + i, " + name +
            "(to_f64(load_f32(x + i))));\n  }\n}\n";
  }
  std::string stem = (folder / "functions").string();
  std::ofstream(stem + ".cpp") << device::vector_prelude({"f64"}, 64) << device::library_text(names)
                               << text;
  std::string command =
      "g++ -O1 -std=c++17 -w -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math "
      "-fPIC -shared -nostdlib -o " +
      stem + ".so " + stem + ".cpp";
  if (std::system(command.c_str()) != 0) return nullptr;
  return dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

struct Worst {
  double ulp = 0;
  float at = 0;
  void take(double error, float x) {
    if (!(error <= ulp)) ulp = error, at = x;
  }
};

// As error_in_ulp, for the common case.
double error_of(float got, double want) {
  double size = std::fabs(want);
  if (!(size < 0x1.fffffep+127) || !(std::fabs(got) <= std::numeric_limits<float>::max())) {
    return error_in_ulp(got, Wide(want));
  }
  int64_t exponent = std::max<int64_t>(std::bit_cast<int64_t>(size) >> 52, 1023 - 126);
  return std::fabs(got - want) * std::bit_cast<double>((2046 + 23 - exponent) << 52);
}

class EveryF32 : public ::testing::TestWithParam<UnaryFunction> {};

TEST_P(EveryF32, KeepsItsBound) {
  static void* const module = compiled_functions();
  ASSERT_NE(module, nullptr) << "g++ or dlopen failed";
  const UnaryFunction& f = GetParam();
  auto* kernel = reinterpret_cast<Kernel*>(dlsym(module, ("all_" + std::string(f.name)).c_str()));
  ASSERT_NE(kernel, nullptr);
  std::vector<UlpBound> bounds = bounds_of(f);
  std::vector<Worst> worst(bounds.size());
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  uint64_t disagree = 0;  // operands for which the two references are not the same number
  auto work = [&] {
    std::vector<Worst> mine(bounds.size());
    uint64_t wrong = 0;
    std::vector<float> x(block), y(block);
    std::vector<double> want(block);
    for (uint64_t b = next++; b < (uint64_t(1) << 32) / block; b = next++) {
      for (uint64_t i = 0; i < block; i++) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(b * block + i));
      }
      kernel(x.data(), y.data(), want.data(), block);
      for (uint64_t i = b % 61; i < block; i += 61) {
        wrong += !(error_of(static_cast<float>(want[i]), f.reference64(x[i])) < 0.5001);
      }
      for (uint64_t i = 0; i < block; i++) {
        auto band = static_cast<size_t>(&bound_at(bounds, x[i]) - bounds.data());
        mine[band].take(error_of(y[i], want[i]), x[i]);
      }
    }
    std::lock_guard lock(mutex);
    disagree += wrong;
    for (size_t i = 0; i < mine.size(); i++) worst[i].take(mine[i].ulp, mine[i].at);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(std::thread::hardware_concurrency(), 1u); t++) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(disagree, 0u) << f.name << ": the f64 function and the C library";
  for (size_t i = 0; i < worst.size(); i++) {
    std::printf("%-10s x >= %-8g %.3f ulp at %a\n", f.name, static_cast<double>(bounds[i].from),
                worst[i].ulp, static_cast<double>(worst[i].at));
    EXPECT_LE(worst[i].ulp, bounds[i].ulp) << f.name << "(" << worst[i].at << ")";
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, EveryF32, ::testing::ValuesIn(unary_functions()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ingot::testing
