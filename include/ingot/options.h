// How to compile a program.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ingot {

// Named dimensions' values.
using Sizes = std::map<std::string, int64_t>;

struct Options {
  std::string device = "cpu";      // or a device model's name: nothing runs then
  std::string numerics = "exact";  // exact | wide | fast
  std::string fusion = "auto";     // auto | off | all
  Sizes sizes;                     // for cost weighing and reports
  int threads = 0;                 // 0: INGOT_NUM_THREADS, else all cores
  std::string cache_dir = {};      // empty: INGOT_CACHE_DIR, else the user's cache
  std::string plan_file = {};      // an edited plan to use instead of ours
  std::map<std::string, std::string> kernel_files = {};  // kernel name → edited source or loops
  bool plan_only = false;  // for explain and the texts: compiles no kernel
  // The tuning database, which fusion "auto" follows; empty: INGOT_TUNING, else "tuning.txt" in the
  // kernel cache; "none": the plan depends on the program and these options alone.
  std::string tuning_file = {};
  bool allow_memory = false;  // "auto" may take more memory at once than separate kernels
};

}  // namespace ingot
