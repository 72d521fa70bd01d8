// Hardware counters of a CPU, of all threads of this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot {

struct CpuCounts {
  double cycles = 0, instructions = 0;
  double cache_misses = 0;  // of the last level
};

class PerfCounters {
 public:
  // Of the threads that there are now; in user mode.
  PerfCounters();
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  // Why nothing is counted; empty where something is.
  const std::string& problem() const { return problem_; }
  void start();
  CpuCounts stop();  // since start()

 private:
  std::vector<int> groups_;  // file descriptors: of each thread, the one that leads its events
  std::vector<int> others_;
  std::string problem_;
};

}  // namespace ingot
