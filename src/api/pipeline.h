// The stages in a row: graph → plan → loops → sources → binaries → executable.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/units.h"
#include "emit/kernel_source.h"
#include "jit/nvrtc.h"
#include "plan/plan.h"
#include "report/report.h"
#include "run/device_executable.h"

namespace ingot {

// What the compiler was asked for so far: kernels are compiled when a run first needs them.
struct CompiledUnits {
  std::mutex mutex;  // of all
  int64_t units = 0, from_cache = 0, kernels = 0, functions = 0;
  double compile_ms = 0;        // of all units, wall clock
  std::set<std::string> built;  // paths of those that were not in the cache, the first time

  // Before a run asks for them, to see what the compiler says of them.
  template <class Binary>
  void note_built(const std::vector<Binary>& binaries,
                  std::chrono::steady_clock::time_point start) {
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(mutex);
    compile_ms += elapsed.count();
    for (const Binary& binary : binaries) {
      if (!binary.from_cache) built.insert(binary.path);
    }
  }

  // `Binary`: Library or CudaBinary.
  template <class Binary>
  void add(size_t asked, const UnitList& list, const std::vector<Binary>& binaries,
           std::chrono::steady_clock::time_point start) {
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(mutex);
    units += static_cast<int64_t>(list.units.size());
    kernels += static_cast<int64_t>(asked);
    functions += static_cast<int64_t>(list.unit_of.size());
    compile_ms += elapsed.count();
    for (const Binary& binary : binaries) {
      from_cache += binary.from_cache && !built.contains(binary.path) ? 1 : 0;
    }
  }
};

struct Pipeline {
  std::shared_ptr<void> products;  // of start_products; none without products
  Plan plan;
  LoweredGroups loops;
  std::vector<std::vector<KernelSource>> sources;  // like `loops`; without text where none is known
  std::shared_ptr<const Runnable> executable;      // null where nothing runs
  std::shared_ptr<const DeviceExecutable> device_executable;  // the same; null on the CPU
  std::shared_ptr<CompiledUnits> compiled = std::make_shared<CompiledUnits>();
};

struct PipelineOptions {
  std::string plan_file;
  std::map<std::string, std::string> kernel_files;  // kernel name → path of its source
  std::string cache_dir;
  int threads = 1;
  bool plan_only = false;  // loops and sources only where edited kernels are to be checked
  std::optional<CudaDevice> cuda = {};  // where a GPU's kernels run
};

// `graph` is the graph after run_graph_passes. For a GPU that is not here: plan, loops and sources
// only.
Pipeline build_pipeline(const Graph& graph, const DeviceModel& device, const PlanOptions& planning,
                        const PipelineOptions& options);

// Loops and sources for a pipeline that has a plan only; for a GPU the plan may change with them
// (fit_registers.h), but not a user's.
void lower_pipeline(const Graph& graph, const DeviceModel& device, const PlanOptions& planning,
                    const PipelineOptions& options, Pipeline* pipeline);
// The two steps of it.
void lower_groups(const Graph& graph, Pipeline* pipeline);
void emit_sources(const DeviceModel& device, Pipeline* pipeline);

// A pipeline's kernels compiled for at most so many registers a thread (`options.max_registers`).
std::unique_ptr<const DeviceExecutable> with_register_cap(const Graph& graph,
                                                          const Pipeline& pipeline,
                                                          const CudaDevice& device,
                                                          const CudaOptions& options);

// Of the kernels that have no text for a GPU, by name: why.
std::map<std::string, std::string> obstacles_of(const Pipeline& pipeline);

// The kernel's text with all that it needs: a translation unit of its own.
std::string standalone_text(const KernelSource& kernel);

}  // namespace ingot
