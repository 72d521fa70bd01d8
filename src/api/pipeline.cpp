#include "api/pipeline.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "api/edited_kernels.h"
#include "api/fit_registers.h"
#include "api/units.h"
#include "base/text.h"
#include "emit/emit.h"
#include "jit/cache.h"
#include "jit/host_cpu.h"
#include "jit/jit.h"
#include "jit/nvrtc.h"
#include "lower/lower.h"
#include "run/product.h"

namespace ingot {
namespace {

// A kernel carries its group's name, and its schedule's where there are several.
std::string kernel_name(const loop::Kernel& kernel, const Group& group, const Schedule& schedule,
                        std::set<std::string>& taken) {
  const std::string stem =
      group.schedules.size() == 1 ? kernel.name : kernel.name + "_" + schedule.word();
  std::string name = stem;
  for (int number = 2; !taken.insert(name).second; ++number) {
    name = fmt::format("{}_{}", stem, number);
  }
  return name;
}

std::map<std::string, KernelPlace> places_of(const Pipeline& pipeline) {
  std::map<std::string, KernelPlace> places;
  for (size_t g = 0; g < pipeline.sources.size(); ++g) {
    for (size_t v = 0; v < pipeline.sources[g].size(); ++v) {
      const std::string& name = pipeline.sources[g][v].name;
      const bool added = places.try_emplace(name, KernelPlace{g, v}).second;
      INGOT_CHECK(added, "two kernels are named {}", name);
    }
  }
  return places;
}

void require_known_kernels(const std::map<std::string, std::string>& files,
                           const std::map<std::string, KernelPlace>& places) {
  for (const auto& [name, file] : files) {
    if (places.count(name) != 0) {
      continue;
    }
    std::vector<std::string> known;
    for (const auto& entry : places) {
      known.push_back(entry.first);
    }
    throw Error(ErrorKind::input,
                fmt::format("no kernel is named '{}': '{}' replaces none", name, file), {},
                {"kernels of this program: " + join(known, ", ")});
  }
}

size_t count_of(std::string_view text, std::string_view words) {
  size_t count = 0;
  for (size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++count;
  return count;
}

// Compiles or finds in the cache what a run needs.
struct KernelCompiler {
  JitOptions jit;
  EditedKernels edited;
  std::shared_ptr<CompiledUnits> compiled;

  std::vector<LoadedKernel> operator()(const std::vector<const KernelSource*>& kernels) const {
    // As many units as cores, not as threads: the number of threads must not change what is cached.
    const UnitList list =
        make_units(kernels, edited, static_cast<size_t>(available_cores()), translation_unit);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Library> libraries = compile(list.units, jit);
    compiled->add(kernels.size(), list, libraries, start);
    std::vector<LoadedKernel> loaded;
    for (const KernelSource* kernel : kernels) {
      const KernelSource& function = *list.function_of.at(kernel->name);
      loaded.push_back(loaded_kernel(function, libraries[list.unit_of.at(function.name)]));
    }
    return loaded;
  }
};

// The same for a GPU: a unit for each kernel, all compiled at once.
struct DeviceKernelCompiler {
  CudaDevice device;
  CudaOptions cuda;
  EditedKernels edited;
  std::shared_ptr<CompiledUnits> compiled;
  std::map<std::string, std::string> obstacles;  // of kernels without text

  std::vector<DeviceKernel> operator()(const std::vector<const KernelSource*>& kernels) const {
    require_texts(kernels);
    const UnitList list = make_units(kernels, edited, kernels.size(),
                                     cuda.max_registers > 0 ? cuda_unit_without_bounds : cuda_unit);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<CudaBinary> binaries =
        compile_cuda(list.units, architecture_of(device.info()), cuda);
    compiled->add(kernels.size(), list, binaries, start);
    std::vector<CudaModule> modules;
    for (size_t unit = 0; unit < binaries.size(); ++unit) {
      modules.emplace_back(device, binaries[unit].cubin, list.units[unit].name);
    }
    std::vector<DeviceKernel> loaded;
    for (const KernelSource* kernel : kernels) {
      const KernelSource& function = *list.function_of.at(kernel->name);
      const CudaModule& module = modules[list.unit_of.at(function.name)];
      DeviceKernel& functions = loaded.emplace_back();
      for (const PhaseSource& phase : function.phases) {
        functions.phases.push_back(module.function(phase.symbol));
      }
      const std::string& text = list.units[list.unit_of.at(function.name)].source;
      functions.waits = count_of(text, "after_previous_kernel();") >= functions.phases.size();
    }
    return loaded;
  }

  void require_texts(const std::vector<const KernelSource*>& kernels) const {
    std::vector<std::string> notes;
    for (const KernelSource* kernel : kernels) {
      if (!kernel->text.empty()) continue;
      notes.push_back(fmt::format("{}: {}", kernel->name, obstacles.at(kernel->name)));
    }
    if (notes.empty()) return;
    const size_t count = notes.size();
    notes.emplace_back("device cpu runs the program");
    throw Error(ErrorKind::unsupported,
                fmt::format("{} of the kernels cannot run on a GPU yet", count), {}, notes);
  }
};

// What the sizes that are known need is compiled now, and every edited kernel, whose faults the
// user wants to see; the rest when a run first needs it.
void compile_kernels(const Graph& graph, Pipeline& pipeline, const DeviceModel& device,
                     const Bindings& sizes, const PipelineOptions& options) {
  const std::map<std::string, KernelPlace> places = places_of(pipeline);
  require_known_kernels(options.kernel_files, places);
  if (options.plan_only && !are_loops(options.kernel_files)) {
    throw Error(ErrorKind::input, "an edited kernel's source is for run, check and bench", {},
                {"elsewhere nothing is compiled, so the edit would change nothing",
                 "edited loops (`ingot lower` prints them) change explain, lower and emit, too"});
  }
  if (device.gpu && !options.cuda && !are_loops(options.kernel_files)) {
    throw Error(ErrorKind::input,
                fmt::format("device {} is a model here: no kernel of it is compiled,"
                            " so none can be replaced",
                            device.name));
  }
  if (options.plan_only || (device.gpu && !options.cuda)) return;
  JitOptions jit;
  jit.cache_dir = options.cache_dir;
  jit.cache_dir = cache_directory(jit);  // of now, whatever the folder later
  const EditedKernels sources = edited_sources(options.kernel_files);
  if (options.cuda) {
    CudaOptions cuda;
    cuda.cache_dir = jit.cache_dir;
    const DeviceKernelCompiler compiler{*options.cuda, cuda, sources, pipeline.compiled,
                                        obstacles_of(pipeline)};
    pipeline.device_executable = std::make_shared<const DeviceExecutable>(
        graph, pipeline.plan, pipeline.sources, compiler, *options.cuda);
    pipeline.executable = pipeline.device_executable;
  } else {
    const KernelCompiler compiler{jit, sources, pipeline.compiled};
    pipeline.executable = std::make_shared<const Executable>(graph, pipeline.plan, pipeline.sources,
                                                             compiler, options.threads);
  }
  std::vector<KernelPlace> edited;
  for (const auto& [name, file] : options.kernel_files) edited.push_back(places.at(name));
  pipeline.executable->prepare(sizes, edited);
}

}  // namespace

Pipeline build_pipeline(const Graph& graph, const DeviceModel& device, const PlanOptions& planning,
                        const PipelineOptions& options) {
  Pipeline pipeline;
  bool has_product = std::ranges::any_of(graph.nodes, [](const Node& node) {
    return op_info(node.op).category == Category::contraction;
  });
  if (has_product && !device.gpu && !options.plan_only) {
    pipeline.products = start_products();
  }
  pipeline.plan = options.plan_file.empty() ? make_plan(graph, device, planning)
                                            : parse_plan(graph, read_file(options.plan_file),
                                                         options.plan_file, device, planning);
  verify(graph, pipeline.plan, "plan");
  if (options.plan_only && options.kernel_files.empty()) return pipeline;
  lower_pipeline(graph, device, planning, options, &pipeline);
  compile_kernels(graph, pipeline, device, planning.sizes, options);
  return pipeline;
}

void lower_groups(const Graph& graph, Pipeline* pipeline) {
  std::set<std::string> taken;
  for (const Group& group : pipeline->plan.groups) {
    std::vector<loop::Kernel>& kernels = pipeline->loops.emplace_back();
    for (const Schedule& schedule : group.schedules) {
      kernels.push_back(lower(graph, pipeline->plan, group, schedule));
      kernels.back().name = kernel_name(kernels.back(), group, schedule, taken);
      loop::verify(kernels.back(), "lower");
    }
  }
}

void emit_sources(const DeviceModel& device, Pipeline* pipeline) {
  pipeline->sources.clear();
  for (const std::vector<loop::Kernel>& kernels : pipeline->loops) {
    std::vector<KernelSource>& sources = pipeline->sources.emplace_back();
    for (const loop::Kernel& kernel : kernels) {
      if (!device.gpu) {
        sources.push_back(emit_cpp(kernel));
      } else if (fits_cuda(kernel)) {
        sources.push_back(emit_cuda(kernel));
      } else {
        sources.emplace_back().name = kernel.name;
      }
    }
  }
}

void lower_pipeline(const Graph& graph, const DeviceModel& device, const PlanOptions& planning,
                    const PipelineOptions& options, Pipeline* pipeline) {
  lower_groups(graph, pipeline);
  const bool edited = replace_loops(options.kernel_files, &pipeline->loops);
  if (device.gpu && options.plan_file.empty() && !edited) {
    fit_registers(graph, device, planning, options.cache_dir, pipeline);
  } else {
    emit_sources(device, pipeline);
  }
}

std::unique_ptr<const DeviceExecutable> with_register_cap(const Graph& graph,
                                                          const Pipeline& pipeline,
                                                          const CudaDevice& device,
                                                          const CudaOptions& options) {
  const DeviceKernelCompiler compiler{
      device, options, {}, std::make_shared<CompiledUnits>(), obstacles_of(pipeline)};
  return std::make_unique<const DeviceExecutable>(graph, pipeline.plan, pipeline.sources, compiler,
                                                  device);
}

std::map<std::string, std::string> obstacles_of(const Pipeline& pipeline) {
  std::map<std::string, std::string> obstacles;
  for (const std::vector<loop::Kernel>& variants : pipeline.loops) {
    for (const loop::Kernel& kernel : variants) {
      const std::string obstacle = cuda_obstacle(kernel);
      if (!obstacle.empty()) obstacles[kernel.name] = obstacle;
    }
  }
  return obstacles;
}

std::string standalone_text(const KernelSource& kernel) {
  const KernelSource* const list[] = {&kernel};
  return is_cuda(kernel) ? cuda_unit(list) : translation_unit(list);
}

}  // namespace ingot
