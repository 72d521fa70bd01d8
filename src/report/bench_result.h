// What a measurement of separate against fused gave, and the object that `bench --json` makes of
// it.
#pragma once

#include <string>
#include <vector>

#include "report/compare.h"
#include "report/report.h"

namespace ingot {

struct Samples {
  std::vector<double> kernel_us, end_to_end_us;
  std::vector<double> host_us;                // of a call that does not wait; GPU only
  std::vector<std::vector<double>> group_us;  // of each group
};

struct BenchRun {
  Samples separate, fused;
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

ReportJson bench_result(const Runnable& separate, const Runnable& fused,
                        const std::vector<Tensor>& inputs, const BenchRun& run,
                        const BenchSettings& settings, const ReportJson& environment);

}  // namespace ingot
