// What the compiler for a GPU says of kernels; no driver is asked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/pipeline.h"
#include "jit/nvrtc.h"
#include "plan/device_model.h"
#include "report/resources.h"

namespace ingot {

struct KernelToCompile {
  const loop::Kernel* loops;
  const KernelSource* source;
};

// Those that the sizes choose, a group each.
std::vector<KernelToCompile> chosen_kernels(const Pipeline& pipeline, const Bindings& sizes);

struct CudaResources {
  std::map<std::string, KernelResources> kernels;  // by name; those without text are left out
  std::string problem;  // why there are none: no NVRTC, or one that the device is too new for
};
// `compiled` notes what was built, and the time.
CudaResources cuda_resources(const std::vector<KernelToCompile>& kernels, const DeviceModel& device,
                             const Bindings& sizes, const CudaOptions& options,
                             CompiledUnits* compiled = nullptr);
// The objects `resources` of them.
std::map<std::string, ReportJson> resources_json(const CudaResources& resources);

}  // namespace ingot
