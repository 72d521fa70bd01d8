// Compiled: run, reports and texts of a compiled program.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/cuda_resources.h"
#include "api/device_rates.h"
#include "api/environment.h"
#include "api/state.h"
#include "base/float_environment.h"
#include "base/text.h"
#include "emit/emit.h"
#include "report/bench_compare.h"
#include "report/resources.h"

namespace ingot {
namespace {

using Json = ReportJson;

BenchSettings bench_settings(const Options& options, const DeviceModel& device,
                             const BenchOptions& bench) {
  BenchSettings settings;
  settings.repeats = bench.repeats;
  settings.threads = options.threads;
  settings.device = &device;
  settings.progress = bench.progress;
  settings.transfers = bench.transfers;
  settings.counters = bench.counters;
  settings.replay = bench.replay;
  return settings;
}

// Kernel by kernel the same text, so the same program.
bool same_sources(const Pipeline& a, const Pipeline& b) {
  const auto same_text = [](const KernelSource& x, const KernelSource& y) {
    return x.text == y.text;
  };
  return std::ranges::equal(
      a.sources, b.sources,
      [&](const std::vector<KernelSource>& x, const std::vector<KernelSource>& y) {
        return std::ranges::equal(x, y, same_text);
      });
}

std::vector<Tensor> random_inputs(const Graph& graph, const Bindings& sizes) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    inputs.push_back(random_input(graph, i, sizes, 0, 1.0));
  }
  return inputs;
}

}  // namespace

// The program beside itself: times of its groups.
std::vector<double> Compiled::State::times_with_cap(int registers) const {
  CudaOptions cuda;
  cuda.cache_dir = options.cache_dir;
  cuda.max_registers = registers;
  const auto capped = with_register_cap(graph, lowered(), *target.cuda, cuda);
  const std::vector<Tensor> inputs = random_inputs(graph, report_sizes());
  return measure_device_times(*capped, *capped, inputs,
                              bench_settings(options, device, {0, {}, false}))
      .group_us;
}

Compiled::Compiled() = default;
Compiled::Compiled(Compiled&&) noexcept = default;
Compiled& Compiled::operator=(Compiled&&) noexcept = default;
Compiled::~Compiled() = default;

Compiled::State& Compiled::state() const {
  if (!state_) {
    throw Error(ErrorKind::input, "a compiled program that was moved from cannot be used");
  }
  return *state_;
}

Compiled Program::compile(const Options& options) const {
  const DefaultFloatEnvironment defaults;
  Compiled compiled;
  compiled.state_ = std::make_unique<Compiled::State>(state().finished(), options);
  return compiled;
}

void Compiled::run(const std::vector<TensorView>& inputs,
                   const std::vector<TensorView>& outputs) const {
  const DefaultFloatEnvironment defaults;
  state().executable().run(inputs, outputs);
}

std::vector<Tensor> Compiled::run(const std::vector<Tensor>& inputs) const {
  const DefaultFloatEnvironment defaults;
  return run_allocating(state().executable(), inputs);
}

std::vector<std::vector<int64_t>> Compiled::output_shapes(const std::vector<Tensor>& inputs) const {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) {
    shapes.push_back(input.shape());
  }
  const Graph& graph = state().graph;
  const Bindings sizes = bind_sizes(graph, shapes);
  std::vector<std::vector<int64_t>> result;
  for (const NodeId id : graph.outputs) {
    result.push_back(ingot::evaluate(graph[id].type.shape, sizes));
  }
  return result;
}

std::map<std::string, std::string> Compiled::edited_not_run(
    const std::vector<Tensor>& inputs) const {
  const DefaultFloatEnvironment defaults;
  return state().edited_not_run(inputs);
}

std::map<std::string, std::string> Compiled::edited_not_run() const {
  return state().edited_not_run(state().report_sizes());
}

std::vector<std::string> Compiled::obstacles() const {
  std::vector<std::string> obstacles;
  if (!state().device.gpu) return obstacles;
  for (const auto& [name, obstacle] : obstacles_of(state().lowered())) {
    obstacles.push_back(fmt::format("{}: {}", name, obstacle));
  }
  return obstacles;
}

std::string Compiled::explain_json(bool measure) const {
  const DefaultFloatEnvironment defaults;
  const Bindings sizes = state().report_sizes();
  // Only the resources of a GPU's kernels are estimated from the loops.
  const Pipeline& fused = state().device.gpu ? state().lowered() : *state().main;
  const Plan separate = state().separate_plan();
  CudaResources found;
  if (state().device.gpu) {
    found = cuda_resources(chosen_kernels(fused, sizes), state().device, sizes,
                           {.cache_dir = state().options.cache_dir});
  }
  const std::map<std::string, Json> compiled = resources_json(found);
  const DeviceModel model = state().model_with_rates();
  ExplainInput input{state().graph, fused.plan,    separate, fused.loops,
                     compiled,      found.problem, model,    sizes};
  input.edited_not_run = state().edited_not_run(sizes);
  if (measure) {
    const Runnable& executable = state().executable();
    const std::shared_ptr<const Pipeline> off = state().with_fusion(FusionMode::off);
    const std::vector<Tensor> inputs = random_inputs(state().graph, sizes);
    input.edited_not_run = state().edited_not_run(inputs);
    const BenchSettings settings = bench_settings(state().options, state().device, {0, {}, false});
    input.measured = off->device_executable != nullptr
                         ? measure_device_times(*off->device_executable,
                                                *state().main->device_executable, inputs, settings)
                         : measure_times(*off->executable, executable, inputs, settings);
  }
  Json report = ingot::explain_json(input, environment_of(state().options));
  report["tuning"] = state().tuning_json();
  return report.dump(2);
}

std::string Compiled::explain(bool measure) const { return explain_text(explain_json(measure)); }

std::string Compiled::explain_text(const std::string& json) {
  const Json report = Json::parse(json, nullptr, false);
  if (!report.is_object() || !report.contains("decisions")) {
    throw Error(ErrorKind::input, "explain_text: this is no report of explain_json");
  }
  return ingot::explain_text(report);
}

std::string Compiled::bench_json(const std::vector<Tensor>& inputs,
                                 const BenchOptions& options) const {
  const DefaultFloatEnvironment defaults;
  const Runnable& fused = state().executable();
  const std::shared_ptr<const Pipeline> separate = state().with_fusion(FusionMode::off);
  BenchSettings settings = bench_settings(state().options, state().device, options);
  settings.source = &state().source;
  settings.same_kernels =
      state().options.kernel_files.empty() && same_sources(*separate, *state().main);
  const Json environment = environment_of(state().options);
  const std::map<std::string, std::string> idle = state().edited_not_run(inputs);
  Json result =
      separate->device_executable != nullptr
          ? device_bench_json(*separate->device_executable, *state().main->device_executable,
                              inputs, settings, environment)
          : ingot::bench_json(*separate->executable, fused, inputs, settings, environment);
  result["program"] = program_digest(state().source);
  result["edited_not_run"] = idle;
  CheckSettings contract;
  contract.numerics = state().planning.numerics;
  contract.most_reference_flops = 5e7;  // a few seconds
  const std::vector<CheckProgram> programs = {{"separate", separate->executable.get()},
                                              {"fused", &fused}};
  std::optional<bool> kept = true;
  if (!result["identical"].get<bool>()) {
    kept = within_contract(state().source, programs, inputs, contract);
  }
  result["within_contract"] = kept ? Json(*kept) : Json(nullptr);
  return result.dump(2);
}

CheckResult Compiled::check(const std::vector<Tensor>& inputs, const CheckOptions& options) const {
  const DefaultFloatEnvironment defaults;
  for (const std::optional<double>& bound : {options.rtol, options.atol}) {
    if (bound && !(*bound >= 0)) {  // NaN would let everything pass
      throw Error(ErrorKind::input, fmt::format("a bound of {}: at least 0", *bound));
    }
  }
  const std::map<std::string, std::string> idle = state().edited_not_run(inputs);
  std::vector<CheckProgram> programs;
  std::vector<std::shared_ptr<const Pipeline>> alive;
  const auto add = [&](std::string name, std::shared_ptr<const Pipeline> pipeline) {
    programs.push_back({std::move(name), pipeline->executable.get()});
    alive.push_back(std::move(pipeline));
  };
  state().executable();
  add("off", state().with_fusion(FusionMode::off));
  add("auto", state().with_fusion(FusionMode::automatic));
  add("all", state().with_fusion(FusionMode::all));
  if (state().edited()) {
    add("edited", state().main);
  }
  CheckSettings settings;
  settings.numerics = state().planning.numerics;
  settings.device = state().device.name;
  settings.rtol = options.rtol;
  settings.atol = options.atol;
  settings.progress = options.progress;
  Json result =
      check_json(state().source, programs, inputs, settings, environment_of(state().options));
  result["edited_not_run"] = idle;
  std::string text = check_text(result);
  text += edited_not_run_text(result);
  return {result["passed"].get<bool>(), std::move(text), result.dump(2)};
}

std::string Compiled::compile_text() const {
  CompiledUnits& compiled = *state().main->compiled;
  const std::lock_guard lock(compiled.mutex);
  const bool equal = compiled.functions < compiled.kernels;  // some of them up to names
  return fmt::format("{}{} in {}, {} from the cache, {:.1f} ms",
                     counted(compiled.kernels, "kernel"),
                     equal ? fmt::format(" ({} different)", compiled.functions) : "",
                     counted(compiled.units, "unit"), compiled.from_cache, compiled.compile_ms);
}

std::string Compiled::plan_text() const {
  const Pipeline& pipeline = state().device.gpu ? state().lowered() : *state().main;
  return ingot::print(state().graph, pipeline.plan);
}

std::string Compiled::lower_text() const {
  std::string text;
  for (const std::vector<loop::Kernel>& kernels : state().lowered().loops) {
    for (const loop::Kernel& kernel : kernels) {
      text += (text.empty() ? "" : "\n") + loop::print(kernel);
    }
  }
  return text;
}

std::vector<Compiled::Source> Compiled::sources() const {
  const Pipeline& pipeline = state().lowered();
  const Bindings sizes = state().report_sizes();
  CudaResources found_resources;
  if (state().device.gpu) {
    std::vector<KernelToCompile> all;
    for (size_t g = 0; g < pipeline.sources.size(); ++g) {
      for (size_t v = 0; v < pipeline.sources[g].size(); ++v) {
        all.push_back({&pipeline.loops[g][v], &pipeline.sources[g][v]});
      }
    }
    found_resources =
        cuda_resources(all, state().device, sizes, {.cache_dir = state().options.cache_dir});
  }
  const std::map<std::string, Json> compiled = resources_json(found_resources);
  std::vector<Source> sources;
  for (size_t g = 0; g < pipeline.loops.size(); ++g) {
    for (size_t v = 0; v < pipeline.loops[g].size(); ++v) {
      const loop::Kernel& kernel = pipeline.loops[g][v];
      const bool known = std::any_of(sources.begin(), sources.end(), [&](const Source& source) {
        return source.name == kernel.name;
      });
      if (known) {
        continue;
      }
      const auto found = compiled.find(kernel.name);
      const std::string obstacle = cuda_obstacle(kernel);
      Json resources = found != compiled.end()
                           ? found->second
                           : resources_json(kernel, state().device, sizes,
                                            obstacle.empty() ? found_resources.problem : obstacle);
      Source source{kernel.name, "", "", "", "", pipeline.plan.groups[g].id};
      if (const KernelSource& text = pipeline.sources[g][v]; !text.text.empty()) {
        resources["scratch_bytes"] = text.scratch_bytes.text();
        source.language = is_cuda(text) ? "cuda" : "c++";
        source.text = standalone_text(text);
        source.kernel = text.text;
      }
      source.resources_json = resources.dump(2);
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

}  // namespace ingot
