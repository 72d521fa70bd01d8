// Compiled::State: options made plain, the passes, and the program compiled in each fusion mode.

#include "api/state.h"

#include <algorithm>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "api/device_rates.h"
#include "api/tuned_choices.h"
#include "api/tuning_file.h"
#include "base/text.h"
#include "graph/passes/passes.h"
#include "plan/plan_words.h"
#include "run/thread_pool.h"

namespace ingot {
namespace {

template <class T>
T choose(std::string_view what, const std::string& given,
         const std::vector<std::pair<std::string_view, T>>& words) {
  std::vector<std::string> known;
  for (const auto& [word, value] : words) {
    if (word == given) {
      return value;
    }
    known.emplace_back(word);
  }
  throw Error(ErrorKind::input,
              fmt::format("{} '{}' is not known; it is one of {}", what, given, join(known, ", ")));
}

Numerics parse_numerics(const std::string& text) {
  return choose<Numerics>(
      "numerics", text,
      {{"exact", Numerics::exact}, {"wide", Numerics::wide}, {"fast", Numerics::fast}});
}

FusionMode parse_fusion(const std::string& text) {
  return choose<FusionMode>(
      "fusion", text,
      {{"auto", FusionMode::automatic}, {"off", FusionMode::off}, {"all", FusionMode::all}});
}

// Where all sizes are given, the tensors' sizes are looked at before anything is planned with them.
Bindings checked_sizes(const Graph& graph, const Sizes& given) {
  Sizes sizes;
  for (const auto& [name, value] : given) learn_dimension(graph, name, value, sizes);
  const Bindings bindings(sizes.begin(), sizes.end());
  const std::vector<std::string> names = size_names(graph);
  if (names.empty() || !std::ranges::all_of(names, [&](const std::string& name) {
        return bindings.contains(name);
      })) {
    return bindings;
  }
  std::vector<std::vector<int64_t>> shapes;
  for (const NodeId input : graph.inputs) {
    shapes.push_back(evaluate(graph[input].type.shape, bindings));
  }
  bind_sizes(graph, shapes);
  return bindings;
}

PlanOptions plan_options(const Graph& graph, const Options& given) {
  PlanOptions planning;
  planning.numerics = parse_numerics(given.numerics);
  planning.fusion = parse_fusion(given.fusion);
  planning.sizes = checked_sizes(graph, given.sizes);
  planning.threads = thread_count(given);
  planning.allow_memory = given.allow_memory;
  return planning;
}

}  // namespace

int thread_count(const Options& options) {
  if (options.threads < 0) {
    throw Error(ErrorKind::input, fmt::format("threads = {}: at least 1", options.threads));
  }
  return thread_count(options.threads);
}

Compiled::State::State(Graph program, const Options& given)
    : options(given),
      source(std::move(program)),
      planning(plan_options(source, given)),
      target(choose_device(given)),
      device(target.model) {
  options.threads = planning.threads;
  graph = run_graph_passes(source);
  if (options.plan_file.empty()) planning = planning_for(planning.fusion);
  main =
      std::make_shared<const Pipeline>(build_pipeline(graph, device, planning, pipeline_options()));
}

PipelineOptions Compiled::State::pipeline_options() const {
  return {options.plan_file, options.kernel_files, options.cache_dir,
          options.threads,   options.plan_only,    target.cuda};
}

std::shared_ptr<const Pipeline> Compiled::State::with_fusion(FusionMode mode) const {
  if (mode == planning.fusion && !edited()) {
    return main;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const Pipeline>& other = others_[mode];
  if (other == nullptr) {
    other = built(planning_for(mode));
  }
  return other;
}

PipelineOptions Compiled::State::unedited() const {
  PipelineOptions own = pipeline_options();
  own.plan_file.clear();
  own.kernel_files.clear();
  return own;
}

PlanOptions Compiled::State::untuned() const {
  PlanOptions own = planning;
  own.fusion = FusionMode::automatic;
  own.choices.clear();
  return own;
}

PlanOptions Compiled::State::planning_for(FusionMode mode) const {
  PlanOptions own = untuned();
  own.fusion = mode;
  if (mode != FusionMode::automatic) return own;
  const TuningTarget target{tuning_device(device, options.threads),
                            std::string(numerics_text(own.numerics))};
  own.choices = tuned_choices(graph, device, own, load_tuning(tuning_path(options)), target);
  return own;
}

DeviceModel Compiled::State::model_with_rates() const {
  const std::optional<DeviceRates> rates = known_rates(options, device);
  return rates ? with_rates(device, *rates) : device;
}

ReportJson Compiled::State::tuning_json() const {
  const bool follows = planning.fusion == FusionMode::automatic && options.plan_file.empty();
  const std::string path = follows ? tuning_path(options) : "";
  if (path.empty()) return nullptr;
  return {{"database", path}, {"groups", planning.choices.size()}};
}

std::shared_ptr<const Pipeline> Compiled::State::built(const PlanOptions& plan_options) const {
  return std::make_shared<const Pipeline>(build_pipeline(graph, device, plan_options, unedited()));
}

const Pipeline& Compiled::State::lowered() const {
  if (!main->loops.empty() || main->plan.groups.empty()) return *main;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (lowered_ == nullptr) {
    Pipeline pipeline;
    pipeline.plan = main->plan;
    lower_pipeline(graph, device, planning, pipeline_options(), &pipeline);
    lowered_ = std::make_shared<const Pipeline>(std::move(pipeline));
  }
  return *lowered_;
}

Plan Compiled::State::separate_plan() const {
  return make_plan(graph, device, planning_for(FusionMode::off));
}

const Runnable& Compiled::State::executable() const {
  if (options.plan_only) {
    throw Error(ErrorKind::input, "the program was compiled with plan_only: it cannot run");
  }
  if (main->executable == nullptr) {
    throw Error(ErrorKind::input,
                fmt::format("device {} is not here, so nothing runs on it", device.name), {},
                {target.absence, fmt::format("{} do without it", without_device)});
  }
  return *main->executable;
}

std::map<std::string, std::string> Compiled::State::edited_not_run(const Bindings& sizes) const {
  std::map<std::string, std::string> idle;
  if (options.kernel_files.empty()) return idle;
  const Pipeline& pipeline = lowered();
  for (size_t g = 0; g < pipeline.plan.groups.size(); ++g) {
    const std::vector<KernelSource>& variants = pipeline.sources[g];
    const size_t chosen = chosen_variant(pipeline.plan.groups[g], sizes);
    for (size_t v = 0; v < variants.size(); ++v) {
      const bool edited = options.kernel_files.contains(variants[v].name);
      if (edited && v != chosen) idle[variants[v].name] = variants[chosen].name;
    }
  }
  return idle;
}

std::map<std::string, std::string> Compiled::State::edited_not_run(
    const std::vector<Tensor>& inputs) const {
  if (options.kernel_files.empty()) return {};
  executable();
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  std::map<std::string, std::string> idle = edited_not_run(bind_sizes(graph, shapes));
  if (idle.size() < options.kernel_files.size()) return idle;
  std::vector<std::string> names, notes;
  for (const auto& [name, running] : idle) {
    names.push_back(name);
    notes.push_back(fmt::format("{} runs instead of {}", running, name));
  }
  notes.emplace_back("explain says which sizes take a variant; --kernel may name several");
  throw Error(ErrorKind::input,
              fmt::format("the edited kernel{} not run at these sizes: {}",
                          idle.size() == 1 ? " does" : "s do", join(names, ", ")),
              {}, notes);
}

Bindings Compiled::State::report_sizes() const {
  Bindings sizes = planning.sizes;
  for (const std::string& name : size_names(graph)) {
    sizes.try_emplace(name, 1);
  }
  return sizes;
}

}  // namespace ingot
