// Hardware counters of a GPU's kernels, as NVIDIA's profiler `ncu` reads them of a process.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ingot {

struct KernelCounters {
  std::string kernel;
  double read_bytes = 0, written_bytes = 0;  // at device memory
  double local_bytes = 0;                    // of local memory (spills), both ways
  double occupancy = 0;                      // achieved: active warps, as a share of the most
  // Why warps waited, the most first: cycles of waiting for each instruction that was issued.
  std::vector<std::pair<std::string, double>> stalls;
};

// Of what `ncu --csv --print-units base` prints: a line for each metric of each launch, among
// others. Launches in order; nothing where there is no such line.
std::vector<KernelCounters> parse_ncu_csv(const std::string& text);

struct NcuRun {
  std::vector<KernelCounters> kernels;
  std::string problem;  // why there is nothing: no ncu, counters refused, the command failed
};
// Runs the command under `ncu` of PATH.
NcuRun run_under_ncu(const std::vector<std::string>& command);

}  // namespace ingot
