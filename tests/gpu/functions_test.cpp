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
#include "support/approximations.h"
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

// {the largest part of its bound that an error takes, its bits of x, the largest relative error
// beyond the absolute one}
KernelText measuring_kernel(const Approximation& each) {
  const std::string text =
      fmt::format(R"(
extern "C" __global__ void measure_{0}(unsigned long long* worst) {{
  double most = 0, relative = 0;
  unsigned at = 0;
  for (unsigned long i = blockIdx.x * 256 + threadIdx.x; i < 1ul << 32; i += 4096 * 256) {{
    const float x = __int_as_float((int)(unsigned)i);
    const float got = first_lane({0}(splat_f32(x)));
    const double want = first_lane({1}(splat_f64((double)x)));
    double distance = ::fabs((double)got - want);
    if ((float)want == got || (want != want && got != got)) distance = 0;
    if ({4}) continue;
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
                  each.function, each.reference, each.relative, each.absolute,
                  each.reach == 0 ? "false" : fmt::format("::fabsf(x) > {:a}", each.reach));
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

// The functions of a form, by their ops.
std::map<Op, std::string> functions_of(Form form) {
  std::map<Op, std::string> functions;
  for (const OpInfo& info : all_ops()) {
    const std::string_view text = info.cuda[static_cast<size_t>(form)];
    if (!text.empty()) functions[info.op] = text.substr(0, text.find('('));
  }
  return functions;
}

// {how many operands have other bits than the op's own formula gives, one of them}
KernelText comparing_kernel(Op op, const std::string& function, Form form) {
  const bool prepared = device::has_function(function + "_setup");
  const std::string formula(op_name(op));
  return {"compare_" + function,
          {function, function + "_setup", formula + ".f32"},
          fmt::format(R"(
extern "C" __global__ void compare_{0}(unsigned* others) {{
  {1}
  for (unsigned long i = blockIdx.x * 256 + threadIdx.x; i < 1ul << 32; i += 4096 * 256) {{
    const float x = __int_as_float((int)(unsigned)i);
    const float got = first_lane({0}(splat_f32(x))), want = first_lane({2}(splat_f32(x)));
    if (__float_as_int(got) == __float_as_int(want) || (got != got && want != want)) continue;
    if ({3}) continue;
    atomicAdd(others, 1);
    others[1] = (unsigned)i;
  }}
}}
)",
                      function, prepared ? function + "_setup();" : "", formula,
                      form == Form::below ? "x > 0" : "false")};
}

TEST(GpuFunctionKernels, Compile) {
  if (const std::string why = no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  std::vector<Unit> units;
  const auto add = [&](const KernelText& text) { units.push_back({text.name, text.unit}); };
  for (const Approximation& each : approximations) add(measuring_kernel(each));
  for (const auto& [op, function] : functions_of(Form::nearest)) add(bfloat_kernel(function));
  for (const Form form : {Form::same, Form::below}) {
    for (const auto& [op, function] : functions_of(form)) {
      add(comparing_kernel(op, function, form));
    }
  }
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

TEST_F(GpuFunctions, SameOnesHaveTheBitsOfTheirFormulaForEveryOperand) {
  for (const Form form : {Form::same, Form::below}) {
    for (const auto& [op, function] : functions_of(form)) {
      const auto others = Kernel(comparing_kernel(op, function, form)).run<uint32_t>(2);
      EXPECT_EQ(others[0], 0U) << function << "(" << std::bit_cast<float>(others[1]) << ")";
    }
  }
}

// What `exact` takes for bf16: tests/device/cuda_functions_test.cpp proves it from NVIDIA's bounds,
// here it is seen.
TEST_F(GpuFunctions, NearestOnesHaveTheBitsOfTheirFormulaForEveryBfloat) {
  for (const auto& [op, function] : functions_of(Form::nearest)) {
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
