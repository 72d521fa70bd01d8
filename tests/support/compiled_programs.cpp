#include "support/compiled_programs.h"

#include <algorithm>
#include <deque>
#include <map>

#include "emit/emit.h"

namespace ingot::testing {
namespace {

// The kernels of all programs.
struct Kernels {
  std::deque<KernelSource> sources;                  // different ones
  std::map<std::string, const KernelSource*> known;  // by key
  std::map<std::string, size_t> unit_of;             // by name

  // The kernel's source, with the symbols of the first that is equal up to names.
  KernelSource add(loop::Kernel kernel) {
    loop::verify(kernel, "lower");
    kernel.name = fmt::format("k{}_{}", sources.size(), kernel.name);
    kernel.comment.clear();
    KernelSource source = emit_cpp(kernel);
    const auto found = known.find(source.key);
    if (found == known.end()) {
      sources.push_back(source);
      known.emplace(source.key, &sources.back());
      return source;
    }
    source.name = found->second->name;
    for (size_t i = 0; i < source.phases.size(); ++i) {
      source.phases[i].symbol = found->second->phases[i].symbol;
    }
    return source;
  }

  std::vector<Unit> units(size_t count) {
    std::vector<const KernelSource*> sorted;
    for (const KernelSource& source : sources) sorted.push_back(&source);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->text.size() > b->text.size(); });
    std::vector<std::vector<const KernelSource*>> parts(std::min(count, sources.size()));
    for (size_t i = 0; i < sorted.size(); ++i) {
      parts[i % parts.size()].push_back(sorted[i]);
      unit_of[sorted[i]->name] = i % parts.size();
    }
    std::vector<Unit> units;
    for (const auto& part : parts) units.push_back({"programs", translation_unit(part)});
    return units;
  }
};

}  // namespace

std::vector<CompiledProgram> compile_programs(const std::vector<PlannedProgram>& programs,
                                              const std::string& cache_dir, size_t units) {
  Kernels kernels;
  std::vector<CompiledProgram> result;
  for (const PlannedProgram& program : programs) {
    CompiledProgram& compiled = result.emplace_back();
    compiled.graph = program.graph;
    compiled.plan = program.plan;
    for (const Group& group : program.plan.groups) {
      std::vector<KernelSource>& variants = compiled.sources.emplace_back();
      for (const Schedule& schedule : group.schedules) {
        loop::Kernel kernel = lower(program.graph, program.plan, group, schedule);
        variants.push_back(kernels.add(std::move(kernel)));
      }
    }
  }
  JitOptions options;
  options.cache_dir = cache_dir;
  const auto library_of = std::make_shared<std::map<std::string, Library>>();
  const std::vector<Library> libraries = compile(kernels.units(units), options);
  for (const auto& [name, unit] : kernels.unit_of) (*library_of)[name] = libraries[unit];
  const KernelLoader load = [library_of](const std::vector<const KernelSource*>& wanted) {
    std::vector<LoadedKernel> loaded;
    for (const KernelSource* source : wanted) {
      loaded.push_back(loaded_kernel(*source, library_of->at(source->name)));
    }
    return loaded;
  };
  for (CompiledProgram& program : result) program.load = load;
  return result;
}

Executable CompiledProgram::executable(int threads) const {
  std::vector<std::vector<KernelSource>> cut = sources;
  for (std::vector<KernelSource>& variants : cut) {
    for (KernelSource& source : variants) {
      for (PhaseSource& phase : source.phases) phase.grain = 1;
    }
  }
  return {graph, plan, std::move(cut), load, threads};
}

std::vector<Tensor> run(const Executable& executable, const std::vector<Tensor>& inputs) {
  std::vector<TensorView> input_views, output_views;
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) {
    input_views.push_back(view(input));
    shapes.push_back(input.shape());
  }
  std::vector<Tensor> outputs;
  const std::vector<std::vector<int64_t>> output_shapes = executable.output_shapes(shapes);
  for (size_t i = 0; i < output_shapes.size(); ++i) {
    const DType dtype = executable.graph()[executable.graph().outputs[i]].type.dtype;
    outputs.emplace_back(dtype, output_shapes[i]);
    output_views.push_back(view(outputs.back()));
  }
  executable.run(input_views, output_views);
  return outputs;
}

}  // namespace ingot::testing
