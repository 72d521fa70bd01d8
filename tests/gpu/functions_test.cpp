// The approximations of a GPU against f64, over all operands of f32, on the device.
// docs/functions.md has the table. Needs a device; skipped visibly without one.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "device/library.h"
#include "device/scalar_conversions.h"
#include "jit/nvrtc.h"
#include "op/apply.h"

#include "op/op.h"
#include "run/cuda_kernel.h"
#include "support/cuda_here.h"

namespace ingot::testing {
namespace {

class GpuFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_cuda_device(); !why.empty()) GTEST_SKIP() << why;
  }
};

// A kernel in the device dialect with the functions that it calls.
struct KernelText {
  std::string name, unit;
  KernelText(std::string symbol, const std::set<std::string>& functions, const std::string& text)
      : name(std::move(symbol)),
        unit(fmt::format("namespace ingot {{\n{}\n{}\n{}\n}}\n",
                         device::cuda_prelude({"bf16", "f64"}, 2), device::library_text(functions),
                         text)) {}
};

class Kernel {
 public:
  explicit Kernel(const KernelText& text) : stream_(device_) {
    const std::string architecture = architecture_of(device_.info());
    const CudaBinary binary = compile_cuda(Unit{text.name, text.unit}, architecture, {});
    function_ = CudaModule(device_, binary.cubin, text.name).function(text.name);
  }

  // The kernel's numbers, which start at 0.
  template <class T>
  std::vector<T> run(size_t count) {
    const auto bytes = static_cast<int64_t>(count * sizeof(T));
    const CudaMemory memory(stream_, bytes);
    fill_bytes(stream_, memory.address(), 0, bytes);
    void* address = memory.address();
    void* arguments[] = {&address};
    function_.launch(stream_, {.grid = {4096, 1, 1}, .block = {256, 1, 1}}, arguments);
    std::vector<T> numbers(count);
    copy_to_host(stream_, numbers.data(), address, bytes);
    stream_.synchronize();
    return numbers;
  }

 private:
  CudaDevice device_;
  CudaStream stream_;
  CudaFunction function_;
};

struct Approximation {
  const char* function;
  const char* reference;
  double relative, absolute;  // the error is at most their sum
};

constexpr Approximation approximations[] = {
    {"exp_hardware", "exp", 0x1p-22, 1.2e-38},
    {"exp_approximate", "exp", 4e-6, 1.2e-38},
    {"sigmoid_approximate", "sigmoid", 4e-6, 1.2e-38},
    {"silu_approximate", "silu", 4e-6, 1.1e-36},
    {"gelu_tanh_approximate", "gelu_tanh", 1e-5, 2e-37},
    {"gelu_nearest", "gelu", 1.1e-3, 4.6e-41},
    {"tanh_approximate", "tanh", 1.2e-5, 0},
    {"tanh_short", "tanh", 0, 2.4e-7},
    {"tanh_wide", "tanh", 3.1e-7, 0},
    {"erf_wide", "erf", 2.4e-7, 0},
    {"erf_added", "erf", 0, 2.4e-7},
    {"rsqrt_hardware", "rsqrt", 1.3e-7, 0},
};

// {the largest part of its bound that an error takes, its bits of x, the largest relative error
// beyond the absolute one}
KernelText measuring_kernel(const Approximation& each) {
  const std::string text = fmt::format(R"(
extern "C" __global__ void measure_{0}(unsigned long long* worst) {{
  double most = 0, relative = 0;
  unsigned at = 0;
  for (unsigned long i = blockIdx.x * 256 + threadIdx.x; i < 1ul << 32; i += 4096 * 256) {{
    const float x = __int_as_float((int)(unsigned)i);
    const float got = first_lane({0}(splat_f32(x)));
    const double want = first_lane({1}(splat_f64((double)x)));
    double distance = ::fabs((double)got - want);
    if ((float)want == got || (want != want && got != got)) distance = 0;
    const double beyond = distance > {3:a} ? distance - {3:a} : 0;
    const double part = distance == 0 ? 0 : distance / ({2:a} * ::fabs(want) + {3:a});
    const double share = beyond == 0 ? 0 : beyond / ::fabs(want);
    if (!(part <= most)) most = part, at = (unsigned)i;
    if (!(share <= relative)) relative = share;
  }}
  const unsigned long long order = (unsigned long long)__double_as_longlong(most);
  atomicMax(worst, order >> 32 << 32 | at);
  atomicMax(worst + 1, (unsigned long long)__double_as_longlong(relative));
}}
)",
                                       each.function, each.reference, each.relative, each.absolute);
  return {fmt::format("measure_{}", each.function),
          {each.function, fmt::format("{}.f64", each.reference)},
          text};
}

KernelText bfloat_kernel(const std::string& function) {
  return {"all_bfloats",
          {function},
          fmt::format(R"(
extern "C" __global__ void all_bfloats(unsigned* results) {{
  const unsigned i = blockIdx.x * 256 + threadIdx.x;
  const F32 x = splat_f32(__int_as_float((int)(i << 16)));
  if (i < 0x10000) results[i] = narrow_bf16(first_lane({}(x)));
}}
)",
                      function)};
}

// The functions of the form nearest, by their ops.
std::map<Op, std::string> nearest_functions() {
  std::map<Op, std::string> functions;
  for (const OpInfo& info : all_ops()) {
    const std::string_view text = info.cuda[static_cast<size_t>(Form::nearest)];
    if (!text.empty()) functions[info.op] = text.substr(0, text.find('('));
  }
  return functions;
}

TEST(GpuFunctionKernels, Compile) {
  if (const std::string why = no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  std::vector<Unit> units;
  const auto add = [&](const KernelText& text) { units.push_back({text.name, text.unit}); };
  for (const Approximation& each : approximations) add(measuring_kernel(each));
  for (const auto& [op, function] : nearest_functions()) add(bfloat_kernel(function));
  for (const CudaBinary& binary : compile_cuda(units, "sm_90a", {})) {
    for (const auto& kernel : binary.resources.kernels) EXPECT_EQ(kernel.stack_bytes, 0);
  }
}

TEST_F(GpuFunctions, ApproximationsKeepTheirBoundsForEveryOperand) {
  for (const Approximation& each : approximations) {
    Kernel kernel(measuring_kernel(each));
    const std::vector<uint64_t> worst = kernel.run<uint64_t>(2);
    const double part = std::bit_cast<double>(worst[0] >> 32 << 32);
    const double relative = std::bit_cast<double>(worst[1]);
    const auto at = std::bit_cast<float>(static_cast<uint32_t>(worst[0]));
    fmt::print("{}: {:.3f} of its bound at {:a}; relative 2^{:.2f} ({:.3g}) beyond {}\n",
               each.function, part, at, std::log2(relative), relative, each.absolute);
    EXPECT_LE(part, 1) << each.function << "(" << at << ")";
  }
}

// What `exact` takes for bf16: tests/device/cuda_functions_test.cpp proves it from NVIDIA's bounds,
// here it is seen.
TEST_F(GpuFunctions, NearestOnesHaveTheBitsOfTheirFormulaForEveryBfloat) {
  for (const auto& [op, function] : nearest_functions()) {
    Kernel kernel(bfloat_kernel(function));
    const std::vector<uint32_t> results = kernel.run<uint32_t>(0x10000);
    for (uint32_t h = 0; h < 0x10000; h++) {
      const float x = scalar::bf16_to_f32(static_cast<uint16_t>(h));
      const float want = scalar::round_bf16(formula<float>(op)(x, 0, 0, 0, 0, 0));
      const float got = scalar::bf16_to_f32(static_cast<uint16_t>(results[h]));
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got)
                                   : std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want))
          << op_name(op) << "(" << x << ") = " << got << ", expected " << want;
    }
  }
}

}  // namespace
}  // namespace ingot::testing
