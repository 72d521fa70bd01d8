// What the compiler for a GPU says of kernels; no driver is asked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/kernel_source.h"
#include "plan/device_model.h"
#include "report/report.h"

namespace ingot {

// The objects `resources`, by the kernel's name. Kernels without text are left out; all of them
// where NVRTC is not found or does not know the device's architecture.
std::map<std::string, ReportJson> cuda_resources(const std::vector<const KernelSource*>& kernels,
                                                 const DeviceModel& device, const Bindings& sizes,
                                                 const std::string& cache_dir);

}  // namespace ingot
