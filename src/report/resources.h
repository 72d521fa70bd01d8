// What a kernel would take of a GPU, estimated from its loops while there is no compiler for it.
#pragma once

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

ReportJson no_resources();  // of a kernel on the CPU: all null

// The object `resources`; what only a GPU has is null on the CPU.
ReportJson resources_json(const loop::Kernel& kernel, const DeviceModel& device,
                          const Bindings& sizes);

}  // namespace ingot
