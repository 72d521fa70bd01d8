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

// The object `resources` as the device's compiler has it: `functions` are those of the phases.
ReportJson compiled_resources_json(const KernelSource& kernel,
                                   const std::vector<CudaKernelResources>& functions,
                                   const DeviceModel& device, const Bindings& sizes);

ReportJson no_resources();  // of a kernel on the CPU: all null

// The object `resources`; what only a GPU has is null on the CPU.
ReportJson resources_json(const loop::Kernel& kernel, const DeviceModel& device,
                          const Bindings& sizes);

}  // namespace ingot
