#include "api/cuda_resources.h"

#include <nlohmann/json.hpp>

#include "api/units.h"
#include "base/error.h"
#include "emit/emit.h"

namespace ingot {

std::vector<KernelToCompile> chosen_kernels(const Pipeline& pipeline, const Bindings& sizes) {
  std::vector<KernelToCompile> chosen;
  for (size_t g = 0; g < pipeline.sources.size(); ++g) {
    const size_t variant = chosen_variant(pipeline.plan.groups[g], sizes);
    chosen.push_back({&pipeline.loops[g][variant], &pipeline.sources[g][variant]});
  }
  return chosen;
}

CudaResources cuda_resources(const std::vector<KernelToCompile>& kernels, const DeviceModel& device,
                             const Bindings& sizes, const CudaOptions& options,
                             CompiledUnits* compiled) {
  std::vector<const KernelSource*> written;
  for (const KernelToCompile& kernel : kernels) {
    if (!kernel.source->text.empty()) written.push_back(kernel.source);
  }
  const UnitList list =
      make_units(written, {}, written.size(),
                 options.max_registers > 0 ? cuda_unit_without_bounds : cuda_unit);
  const auto start = std::chrono::steady_clock::now();
  std::vector<CudaBinary> binaries;
  if (written.empty()) return {};
  try {
    binaries = compile_cuda(list.units, device.architecture, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return {{}, in_one_line(error)};
  }
  if (compiled != nullptr) compiled->note_built(binaries, start);
  CudaResources resources;
  for (const KernelToCompile& kernel : kernels) {
    if (kernel.source->text.empty()) continue;
    const KernelSource& function = *list.function_of.at(kernel.source->name);
    std::vector<CudaKernelResources> functions;
    for (const PhaseSource& phase : function.phases) {
      functions.push_back(
          resources_of(binaries[list.unit_of.at(function.name)].resources, phase.symbol));
    }
    resources.kernels[kernel.source->name] =
        compiled_resources(*kernel.loops, *kernel.source, functions, device, sizes);
  }
  return resources;
}

std::map<std::string, ReportJson> resources_json(const CudaResources& resources) {
  std::map<std::string, ReportJson> result;
  for (const auto& [name, kernel] : resources.kernels) {
    result[name] = compiled_resources_json(kernel);
  }
  return result;
}

}  // namespace ingot
