// The stages in a row: graph → plan → loops → sources → binaries → executable.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "emit/kernel_source.h"
#include "plan/plan.h"
#include "report/report.h"

namespace ingot {

// What the compiler was asked for so far: kernels are compiled when a run first needs them.
struct CompiledUnits {
  std::mutex mutex;  // of all
  int64_t units = 0, from_cache = 0, kernels = 0, functions = 0;
  double compile_ms = 0;  // of all units, wall clock
};

struct Pipeline {
  std::shared_ptr<void> products;  // of start_products; none without products
  Plan plan;
  LoweredGroups loops;
  std::vector<std::vector<KernelSource>> sources;  // like `loops`; empty but for the CPU
  std::shared_ptr<const Executable> executable;    // null where nothing runs
  std::shared_ptr<CompiledUnits> compiled = std::make_shared<CompiledUnits>();
};

struct PipelineOptions {
  std::string plan_file;
  std::map<std::string, std::string> kernel_files;  // kernel name → path of its source
  std::string cache_dir;
  int threads = 1;
  bool plan_only = false;  // loops and sources only where edited kernels are to be checked
};

// `graph` is the graph after run_graph_passes. On a device that is not the CPU: plan and loops
// only.
Pipeline build_pipeline(const Graph& graph, const DeviceModel& device, const PlanOptions& planning,
                        const PipelineOptions& options);

// Loops and sources for a pipeline that has a plan only.
Pipeline lower_pipeline(const Graph& graph, const DeviceModel& device, const Pipeline& planned);

// The kernel's text with all that it needs: a translation unit of its own.
std::string standalone_text(const KernelSource& kernel);

}  // namespace ingot
