#include "support/emulated_programs.h"

#include <cstring>
#include <deque>

#include "base/error.h"
#include "base/report_text.h"
#include "emit/emit.h"
#include "run/device_launch.h"

namespace ingot::testing {
namespace {

// The kernels of all programs.
struct Kernels {
  std::deque<KernelSource> sources;                  // different ones
  std::map<std::string, const KernelSource*> known;  // by key
  std::map<std::string, size_t> unit_of;             // by name

  // The kernel's source, with the symbols of the first that is equal up to names.
  KernelSource add(const loop::Kernel& kernel) {
    KernelSource source = emit_cuda(kernel);
    const auto [found, is_new] = known.emplace(source.key, nullptr);
    if (is_new) {
      found->second = &sources.emplace_back(source);
      return source;
    }
    source.name = found->second->name;
    for (size_t i = 0; i < source.phases.size(); ++i) {
      source.phases[i].symbol = found->second->phases[i].symbol;
    }
    return source;
  }

  std::vector<Unit> units(size_t most) {
    std::map<int, std::vector<const KernelSource*>> by_lanes;
    for (const KernelSource& source : sources) by_lanes[source.lanes].push_back(&source);
    std::vector<Unit> units;
    for (const auto& [lanes, all] : by_lanes) {
      for (size_t first = 0; first < all.size(); first += most) {
        const std::vector<const KernelSource*> part(
            all.begin() + static_cast<ptrdiff_t>(first),
            all.begin() + static_cast<ptrdiff_t>(std::min(first + most, all.size())));
        for (const KernelSource* source : part) unit_of[source->name] = units.size();
        units.push_back(emulated_unit("emulated", part));
      }
    }
    return units;
  }
};

EmulatedLaunch emulated(const CudaLaunch& launch) {
  const auto size = [](const unsigned* sizes) { return EmulatedDim{sizes[0], sizes[1], sizes[2]}; };
  INGOT_CHECK(launch.cluster[1] * launch.cluster[2] == 1, "clusters of several rows");
  return {size(launch.grid), size(launch.block), launch.shared_bytes, launch.cooperative,
          launch.cluster[0]};
}

}  // namespace

std::vector<EmulatedProgram> emulate_programs(const std::vector<PlannedProgram>& programs,
                                              const std::string& cache_dir, size_t most) {
  Kernels kernels;
  std::vector<EmulatedProgram> result;
  size_t count = 0;
  for (const PlannedProgram& program : programs) {
    EmulatedProgram& emulated = result.emplace_back();
    emulated.graph = program.graph;
    emulated.plan = program.plan;
    emulated.loops = lower_plan(program.graph, program.plan, false);
    for (std::vector<loop::Kernel>& variants : emulated.loops) {
      for (loop::Kernel& kernel : variants) {
        kernel.name = fmt::format("k{}_{}", count++, kernel.name);
        kernel.comment.clear();
        if (fits_cuda(kernel)) emulated.kernels[kernel.name].source = kernels.add(kernel);
      }
    }
  }
  JitOptions options;
  options.cache_dir = cache_dir;
  const std::vector<Library> libraries = compile(kernels.units(most), options);
  for (EmulatedProgram& program : result) {
    for (auto& [name, kernel] : program.kernels) {
      kernel.library = libraries[kernels.unit_of.at(kernel.source.name)];
    }
  }
  return result;
}

std::vector<std::string> run_emulated(const EmulatedKernel& kernel,
                                      const std::vector<loop::BufferRef>& buffers,
                                      const Bindings& sizes, EmulatedOrder order) {
  const KernelSource& source = kernel.source;
  std::vector<GuardedMemory> memories;
  std::vector<void*> values, arguments;
  for (size_t i = 0; i < source.params.size(); ++i) {
    const auto bytes = source.params[i].bytes.evaluate(sizes);
    memories.emplace_back(bytes);
    values.push_back(memories.back().data());
    if (source.params[i].written || bytes == 0) continue;
    std::memcpy(memories.back().data(), buffers[i].data, static_cast<size_t>(bytes));
  }
  std::vector<long> numbers;
  for (const std::string& size : source.sizes) numbers.push_back(sizes.find(size)->second);
  KernelReport report{};
  KernelReport* reported = &report;
  for (void*& value : values) arguments.push_back(&value);
  for (long& number : numbers) arguments.push_back(&number);
  arguments.push_back(&reported);
  const int multiprocessors = device_model("h200").multiprocessors;
  for (const PhaseSource& phase : source.phases) {
    const std::optional<CudaLaunch> launch = launch_of(phase, sizes, multiprocessors);
    if (!launch) continue;
    run_emulated(kernel.library, phase.symbol, emulated(*launch), arguments, order);
  }
  for (size_t i = 0; i < memories.size(); ++i) {
    const ParamSource& param = source.params[i];
    const auto bytes = static_cast<size_t>(param.bytes.evaluate(sizes));
    INGOT_CHECK(memories[i].intact(), "{} writes around '{}'\n{}", source.name, param.name,
                source.text);
    INGOT_CHECK(
        param.written || bytes == 0 || std::memcmp(memories[i].data(), buffers[i].data, bytes) == 0,
        "{} writes to its input '{}'\n{}", source.name, param.name, source.text);
    if (param.written && bytes > 0) std::memcpy(buffers[i].data, memories[i].data(), bytes);
  }
  if (report.number == 0) return {};
  return {report_text(source.reports.at(static_cast<size_t>(report.number - 1)), report.value)};
}

std::vector<Tensor> run_emulated(const EmulatedProgram& program, const std::vector<Tensor>& inputs,
                                 EmulatedOrder order, const std::string& schedule_name) {
  const KernelRun run = [&](const loop::Kernel& kernel, const std::vector<loop::BufferRef>& buffers,
                            const Bindings& sizes) {
    const auto found = program.kernels.find(kernel.name);
    if (found == program.kernels.end()) return loop::interpret(kernel, buffers, sizes);
    return run_emulated(found->second, buffers, sizes, order);
  };
  return run_plan(program.graph, program.plan, program.loops, inputs, schedule_name, run);
}

}  // namespace ingot::testing
