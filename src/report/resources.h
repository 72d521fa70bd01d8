// What a kernel takes of a GPU: of its compiler, or estimated from its loops where there is none.
#pragma once

#include "emit/kernel_source.h"
#include "jit/cubin.h"
#include "loop/loop.h"
#include "plan/device_model.h"
#include "report/report.h"

namespace ingot {

struct ResourceEstimate {
  int threads_per_block;
  int registers;          // a thread
  int spilled_registers;  // beyond what a thread can have
  int64_t shared_bytes;   // a block
  Occupancy occupancy;
};

ResourceEstimate estimate_resources(const loop::Kernel& kernel, const DeviceModel& device,
                                    const Bindings& sizes);

// What the device's compiler says of a kernel: of several phases the largest need, spills and
// instructions added up.
struct KernelResources {
  CudaKernelResources functions;
  int64_t shared_bytes = 0, threads_per_block = 0;  // of a block
  int64_t spilled_bytes = 0;                        // stored and loaded again in a run, at most
  Occupancy occupancy = {};                         // the least
  bool spills() const {
    return functions.spill_store_bytes + functions.spill_load_bytes + functions.stack_bytes > 0;
  }
};

// `functions` are those of the phases.
KernelResources compiled_resources(const loop::Kernel& loops, const KernelSource& source,
                                   const std::vector<CudaKernelResources>& functions,
                                   const DeviceModel& device, const Bindings& sizes);
ReportJson compiled_resources_json(const KernelResources& resources);  // the object `resources`

ReportJson no_resources();  // of a kernel on the CPU: all null

// The object `resources`; what only a GPU has is null on the CPU. `why` no compiler says more.
ReportJson resources_json(const loop::Kernel& kernel, const DeviceModel& device,
                          const Bindings& sizes, const std::string& why);

}  // namespace ingot
