// What a measurement of separate against fused gave, and the object that `bench --json` makes of
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare.h"
#include "report/ncu.h"
#include "report/perf_counters.h"
#include "report/report.h"

namespace ingot {

struct Samples {
  std::vector<double> kernel_us, end_to_end_us;
  // GPU only: kernels launched one by one instead of in a graph; a call that does not wait, for the
  // host; a call from tensors of the host to new ones.
  std::vector<double> launched_us, host_us, with_transfer_us;
  std::vector<std::vector<double>> group_us;  // of each group
};

// What the hardware counted, where it was asked for.
struct HardwareCounts {
  double calls = 0;                     // of a CPU's counts
  CpuCounts cpu;                        // of all of them
  std::vector<KernelCounters> kernels;  // of one call on a GPU
};

// A way to run the program.
struct Variant {
  std::string name;  // "separate", "fused", "separate_streams", "library"
  Samples samples;
  int64_t bytes = 0;  // at device memory, by the shapes
  size_t launches = 0;
  std::string kernels = {};  // of a library, in words
  std::optional<HardwareCounts> counts = {};
  std::optional<Comparison> difference = {};  // of a library's outputs from those of fused
};
struct LeftOut {
  std::string variant, why;
};

struct BenchRun {
  std::vector<Variant> variants;  // separate and fused first
  std::vector<LeftOut> left_out;
  std::string counters_problem;  // why the hardware counted nothing, where it was asked to
  int repeats = 0;
  int buffer_sets = 1;  // taken in turns, so that no cache holds them
  double copy_gbs = 0;
  int64_t copy_bytes = 0;
  Comparison difference;  // of the outputs
};

double median(std::vector<double> values);
Bindings sizes_of(const Graph& graph, const std::vector<Tensor>& inputs);
int64_t fused_bytes(const Plan& plan, const Bindings& sizes);
MeasuredTimes measured_times(const Samples& separate, const Samples& fused, double copy_gbs);

ReportJson bench_result(const Runnable& fused, const std::vector<Tensor>& inputs,
                        const BenchRun& run, const BenchSettings& settings,
                        const ReportJson& environment);

}  // namespace ingot
