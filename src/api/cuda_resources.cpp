#include "api/cuda_resources.h"

#include <nlohmann/json.hpp>

#include "api/units.h"
#include "base/error.h"
#include "emit/emit.h"
#include "jit/nvrtc.h"
#include "report/resources.h"

namespace ingot {

std::map<std::string, ReportJson> cuda_resources(const std::vector<const KernelSource*>& kernels,
                                                 const DeviceModel& device, const Bindings& sizes,
                                                 const std::string& cache_dir) {
  std::vector<const KernelSource*> written;
  for (const KernelSource* kernel : kernels) {
    if (!kernel->text.empty()) written.push_back(kernel);
  }
  const UnitList list = make_units(written, {}, written.size(), cuda_unit);
  std::vector<CudaBinary> binaries;
  try {
    CudaOptions options;
    options.cache_dir = cache_dir;
    binaries = compile_cuda(list.units, device.architecture, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return {};
  }
  std::map<std::string, ReportJson> resources;
  for (const KernelSource* kernel : written) {
    const KernelSource& function = *list.function_of.at(kernel->name);
    std::vector<CudaKernelResources> functions;
    for (const PhaseSource& phase : function.phases) {
      functions.push_back(
          resources_of(binaries[list.unit_of.at(function.name)].resources, phase.symbol));
    }
    resources[kernel->name] = compiled_resources_json(*kernel, functions, device, sizes);
  }
  return resources;
}

}  // namespace ingot
