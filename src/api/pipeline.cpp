#include "api/pipeline.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/text.h"
#include "emit/emit.h"
#include "jit/cache.h"
#include "jit/host_cpu.h"
#include "jit/jit.h"
#include "lower/lower.h"
#include "run/product.h"

namespace ingot {
namespace {

// Sources of the user's by the name of the kernel that they replace.
using EditedKernels = std::map<std::string, Unit>;

// What goes to the compiler: units, and in which of them each kernel stands.
struct UnitList {
  std::vector<Unit> units;
  std::map<std::string, size_t> unit_of;  // by the kernel's name
  // The kernel whose function serves this one, by name: kernels equal up to names are one function.
  std::map<std::string, const KernelSource*> function_of;
};

// "rows, streaming" → "rows_streaming"
std::string as_suffix(const std::string& schedule) {
  std::string suffix;
  for (const char c : schedule) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter || (!suffix.empty() && suffix.back() != '_')) {
      suffix += letter ? c : '_';
    }
  }
  return suffix;
}

// A kernel carries its group's name, and its schedule's where there are several.
std::string kernel_name(const loop::Kernel& kernel, const Group& group, const Schedule& schedule,
                        std::set<std::string>& taken) {
  const std::string stem =
      group.schedules.size() == 1 ? kernel.name : kernel.name + "_" + as_suffix(schedule.name);
  std::string name = stem;
  for (int number = 2; !taken.insert(name).second; ++number) {
    name = fmt::format("{}_{}", stem, number);
  }
  return name;
}

void lower_groups(const Graph& graph, Pipeline& pipeline) {
  std::set<std::string> taken;
  for (const Group& group : pipeline.plan.groups) {
    std::vector<loop::Kernel>& kernels = pipeline.loops.emplace_back();
    for (const Schedule& schedule : group.schedules) {
      kernels.push_back(lower(graph, pipeline.plan, group, schedule));
      kernels.back().name = kernel_name(kernels.back(), group, schedule, taken);
      loop::verify(kernels.back(), "lower");
    }
  }
}

std::map<std::string, KernelPlace> emit_kernels(Pipeline& pipeline, const DeviceModel& device) {
  std::map<std::string, KernelPlace> places;
  for (size_t g = 0; g < pipeline.loops.size(); ++g) {
    std::vector<KernelSource>& sources = pipeline.sources.emplace_back();
    for (size_t v = 0; v < pipeline.loops[g].size(); ++v) {
      const loop::Kernel& kernel = pipeline.loops[g][v];
      if (!device.gpu) {
        sources.push_back(emit_cpp(kernel));
      } else if (fits_cuda(kernel)) {
        sources.push_back(emit_cuda(kernel));
      } else {
        sources.emplace_back().name = kernel.name;
      }
      const bool added = places.try_emplace(sources[v].name, KernelPlace{g, v}).second;
      INGOT_CHECK(added, "two kernels are named {}", sources[v].name);
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

// Spreads the kernels over `count` units of about equal length of text; the longest first, each to
// the unit that has least, so the split depends on nothing but the kernels. An edited one is a unit
// of its own.
UnitList make_units(std::vector<const KernelSource*> kernels, const EditedKernels& edited,
                    size_t count) {
  UnitList list;
  std::map<std::string_view, const KernelSource*> known;  // by key
  std::erase_if(kernels, [&](const KernelSource* kernel) {
    if (const auto found = edited.find(kernel->name); found != edited.end()) {
      list.function_of[kernel->name] = kernel;
      list.unit_of[kernel->name] = list.units.size();
      list.units.push_back(found->second);
      return true;
    }
    const auto [first, is_new] = known.emplace(kernel->key, kernel);
    list.function_of[kernel->name] = first->second;
    return !is_new;
  });
  std::stable_sort(
      kernels.begin(), kernels.end(),
      [](const KernelSource* a, const KernelSource* b) { return a->text.size() > b->text.size(); });
  count = std::min(count, kernels.size());
  std::vector<std::vector<const KernelSource*>> parts(count);
  std::vector<size_t> length(count, 0);
  const size_t first = list.units.size();
  for (const KernelSource* kernel : kernels) {
    const size_t part =
        static_cast<size_t>(std::min_element(length.begin(), length.end()) - length.begin());
    parts[part].push_back(kernel);
    length[part] += kernel->text.size();
    list.unit_of[kernel->name] = first + part;
  }
  for (const auto& part : parts) {
    const std::string name =
        part.size() == 1 ? part[0]->name : fmt::format("{}_and_{}", part[0]->name, part.size() - 1);
    list.units.push_back({name, translation_unit(part)});
  }
  return list;
}

// Compiles or finds in the cache what a run needs.
struct KernelCompiler {
  JitOptions jit;
  EditedKernels edited;
  std::shared_ptr<CompiledUnits> compiled;

  std::vector<LoadedKernel> operator()(const std::vector<const KernelSource*>& kernels) const {
    // As many units as cores, not as threads: the number of threads must not change what is cached.
    const UnitList list = make_units(kernels, edited, static_cast<size_t>(available_cores()));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Library> libraries = compile(list.units, jit);
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(compiled->mutex);
    compiled->units += static_cast<int64_t>(list.units.size());
    compiled->kernels += static_cast<int64_t>(kernels.size());
    compiled->functions += static_cast<int64_t>(list.unit_of.size());
    compiled->compile_ms += elapsed.count();
    compiled->from_cache += std::count_if(libraries.begin(), libraries.end(),
                                          [](const Library& each) { return each.from_cache; });
    std::vector<LoadedKernel> loaded;
    for (const KernelSource* kernel : kernels) {
      const KernelSource& function = *list.function_of.at(kernel->name);
      loaded.push_back(loaded_kernel(function, libraries[list.unit_of.at(function.name)]));
    }
    return loaded;
  }
};

// What the sizes that are known need is compiled now, and every edited kernel, whose faults the
// user wants to see; the rest when a run first needs it.
void compile_kernels(const Graph& graph, Pipeline& pipeline, const DeviceModel& device,
                     const Bindings& sizes, const PipelineOptions& options) {
  const std::map<std::string, KernelPlace> places = emit_kernels(pipeline, device);
  require_known_kernels(options.kernel_files, places);
  if (options.plan_only) {
    return;
  }
  KernelCompiler compiler;
  compiler.jit.cache_dir = options.cache_dir;
  compiler.jit.cache_dir = cache_directory(compiler.jit);  // of now, whatever the folder later
  compiler.compiled = pipeline.compiled;
  for (const auto& [name, file] : options.kernel_files) {
    compiler.edited[name] = {name + "_edited", read_file(file), file};
  }
  pipeline.executable = std::make_shared<const Executable>(graph, pipeline.plan, pipeline.sources,
                                                           compiler, options.threads);
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
  lower_groups(graph, pipeline);
  if (!device.gpu) {
    compile_kernels(graph, pipeline, device, planning.sizes, options);
  } else if (!options.kernel_files.empty()) {
    throw Error(ErrorKind::input,
                fmt::format("device {} is a model here: no kernel of it is compiled,"
                            " so none can be replaced",
                            device.name));
  }
  return pipeline;
}

Pipeline lower_pipeline(const Graph& graph, const DeviceModel& device, const Pipeline& planned) {
  Pipeline pipeline;
  pipeline.plan = planned.plan;
  lower_groups(graph, pipeline);
  emit_kernels(pipeline, device);
  return pipeline;
}

std::string standalone_text(const KernelSource& kernel) {
  const KernelSource* const list[] = {&kernel};
  return is_cuda(kernel) ? cuda_unit(list) : translation_unit(list);
}

}  // namespace ingot
