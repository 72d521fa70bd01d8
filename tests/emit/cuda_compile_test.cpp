// Emitted CUDA C++ through NVRTC for every generation: it compiles without spills. All that the
// tests of this folder emulate, for one.
#include <gtest/gtest.h>

#include "emit/emit.h"
#include "graph/passes/passes.h"
#include "jit/nvrtc.h"
#include "support/cuda_here.h"
#include "support/emulated_trials.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

// Kernels that are equal up to names once.
std::vector<KernelSource> kernels_of(const std::vector<Trial>& trials,
                                     const PlanOptions& options = {}, const char* device = "h200") {
  std::vector<KernelSource> sources;
  std::set<std::string> known;
  for (const Trial& trial : trials) {
    const Graph graph = run_graph_passes(trial.source);
    const Plan plan = make_plan(graph, device_model(device), options);
    for (const auto& variants : lower_plan(graph, plan, false)) {
      for (loop::Kernel kernel : variants) {
        kernel.name = fmt::format("k{}_{}_{}", sources.size(), trial.source.name, kernel.name);
        KernelSource source = emit_cuda(kernel);
        if (known.insert(source.key).second) sources.push_back(std::move(source));
      }
    }
  }
  return sources;
}

std::vector<Unit> units_of(const std::vector<KernelSource>& sources) {
  std::map<int, std::vector<const KernelSource*>> by_lanes;
  for (const KernelSource& source : sources) by_lanes[source.lanes].push_back(&source);
  std::vector<Unit> units;
  for (const auto& [lanes, all] : by_lanes) {
    units.push_back({fmt::format("kernels_of_{}_lanes", lanes), cuda_unit(all)});
  }
  return units;
}

class CudaCompile : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  }
};

void expect_compiled(const std::vector<KernelSource>& sources, const std::string& architecture) {
  size_t kernels = 0, phases = 0;
  for (const CudaBinary& binary : compile_cuda(units_of(sources), architecture, {})) {
    EXPECT_EQ(binary.resources.architecture, architecture);
    for (const CudaKernelResources& kernel : binary.resources.kernels) {
      ++kernels;
      EXPECT_EQ(kernel.spill_store_bytes + kernel.spill_load_bytes, 0) << kernel.name;
      EXPECT_GT(kernel.registers, 0) << kernel.name;
    }
  }
  for (const KernelSource& source : sources) phases += source.phases.size();
  EXPECT_EQ(kernels, phases);
}

TEST_P(CudaCompile, RowsWithoutSpills) {
  std::vector<Trial> trials;
  for (size_t i = 0; i < 6; ++i) trials.push_back(trial_of(row_programs[i], {}));
  expect_compiled(kernels_of(trials), GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, CudaCompile,
                         ::testing::Values("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"),
                         [](const auto& info) { return std::string(info.param); });

// Rows that have no room in one block's registers: a cluster's from sm_90 on.
class CudaCompileLongRows : public CudaCompile {};

TEST_P(CudaCompileLongRows, WithoutSpills) {
  std::vector<Trial> trials;
  for (const char* text : {"graph s16(x: bf16[B, 128256]) { y = softmax(x, dim=-1) return y }",
                           "graph s32(x: f32[B, 131072]) { y = softmax(x, dim=-1) return y }",
                           "graph l(x: f32[B, 131072], w: f32[131072], b: f32[131072]) { "
                           "y = layer_norm(x, w, b) return y }",
                           "graph r(x: bf16[B, 200000], w: bf16[200000]) { "
                           "y = rms_norm(x, w) return y }"}) {
    trials.push_back(trial_of(text, {}));
  }
  const DeviceModel& device = device_model(GetParam());
  for (const Numerics numerics : {Numerics::exact, Numerics::wide}) {
    PlanOptions options;
    options.numerics = numerics;
    const std::vector<KernelSource> sources = kernels_of(trials, options, GetParam());
    for (const KernelSource& source : sources) {
      EXPECT_EQ(source.phases[0].blocks > 1, device.largest_cluster() > 1) << source.text;
      EXPECT_EQ(source.sections.contains("cluster"), device.largest_cluster() > 1) << source.text;
    }
    expect_compiled(sources, device.architecture);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaCompileLongRows,
                         ::testing::Values("h200", "b200", "a100", "rtx4090"),
                         [](const auto& info) { return std::string(info.param); });

class CudaCompileAll : public CudaCompile {};

TEST_P(CudaCompileAll, RowsAndPlacesWithoutSpills) {
  std::vector<Trial> trials;
  for (const char* text : row_programs) trials.push_back(trial_of(text, {}));
  for (const char* text : place_programs) trials.push_back(trial_of(text, {}));
  expect_compiled(kernels_of(trials), GetParam());
}

TEST_P(CudaCompileAll, EveryOpOfADType) {
  const std::vector<Trial> trials{every_op_trial(DType::bf16, 37)};
  compile_cuda(units_of(kernels_of(trials)), GetParam(), {});
}

INSTANTIATE_TEST_SUITE_P(One, CudaCompileAll, ::testing::Values("sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ingot::testing
