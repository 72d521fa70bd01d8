#include "support/differential.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "device/library.h"
#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "plan/plan.h"
#include "support/compiled_programs.h"
#include "support/emulated_programs.h"
#include "support/interpret_plan.h"
#include "support/layouts.h"
#include "support/random.h"
#include "support/random_graphs.h"
#include "support/unneeded_ids.h"

namespace ingot::testing {
namespace {

constexpr FusionMode modes[] = {FusionMode::off, FusionMode::automatic, FusionMode::all};
constexpr const char* mode_names[] = {"off", "auto", "all"};
// Of one tensor; larger ones are another test's.
constexpr double most_elements = 300000, most_sampled = 10000;

// Results, or what was wrong with the inputs; both where an execution may see it or not.
struct Outcome {
  std::vector<Tensor> results;
  std::string error;
};

template <class Run>
Outcome outcome(Run run) {
  try {
    return {run(), ""};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    return {{}, error.message()};
  }
}

struct Case {
  std::string name;  // "B=7"
  Bindings sizes;
  std::vector<Tensor> inputs;
  Outcome expected;
};

bool fits(const Graph& graph, const Bindings& sizes, double most) {
  for (const Node& node : graph.nodes) {
    double elements = 1;
    for (const Sym& size : node.type.shape) {
      const int64_t value = size.evaluate(sizes);
      if (value < 0) return false;
      elements *= static_cast<double>(value);
    }
    if (elements > most) return false;
  }
  return true;
}

// Inputs of one type become one tensor.
void repeat_inputs(std::vector<Tensor>* inputs) {
  for (size_t i = 1; i < inputs->size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool same = (*inputs)[j].dtype() == (*inputs)[i].dtype() &&
                        (*inputs)[j].shape() == (*inputs)[i].shape();
      if (same) (*inputs)[i] = (*inputs)[j];
    }
  }
}

std::vector<Case> cases_of(const Trial& trial, double most = most_elements) {
  std::vector<Case> cases;
  for (const Bindings& sizes : trial.sizes) {
    if (!fits(trial.source, sizes, most)) continue;  // too large, or no sizes of this program
    Case& added = cases.emplace_back();
    for (const auto& [name, value] : sizes) added.name += fmt::format("{}={} ", name, value);
    added.sizes = sizes;
    added.inputs = random_inputs(trial.source, sizes, trial.seed, trial.seed % 2 == 1);
    if (trial.seed % 8 == 5) repeat_inputs(&added.inputs);
    added.expected =
        outcome([&] { return evaluate(trial.source, added.inputs, Precision::per_op); });
    if (!added.expected.error.starts_with("gather")) continue;
    auto results = results_without_those_ids(trial.source, added.inputs, sizes);
    if (results) added.expected.results = std::move(*results);
  }
  return cases;
}

// Outputs that only the fusion modes can be compared on.
std::set<size_t> library_outputs(const Trial& trial) {
  std::set<size_t> outputs;
  if (!trial.library_order) return outputs;
  const Graph graph = decompose(trial.source);  // an attention holds products
  std::vector<bool> depends(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    depends[i] = op_info(node.op).category == Category::contraction && is_float(node.type.dtype);
    for (NodeId o : node.operands) {
      if (depends[static_cast<size_t>(o)]) depends[i] = true;
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (depends[static_cast<size_t>(graph.outputs[i])]) outputs.insert(i);
  }
  return outputs;
}

std::string difference(const Outcome& got, const Outcome& expected,
                       const std::set<size_t>& except) {
  const bool may_pass = !expected.error.empty() && !expected.results.empty();
  if (got.error.empty() != expected.error.empty() && !(may_pass && got.error.empty())) {
    return fmt::format("error '{}' against '{}'", got.error, expected.error);
  }
  if (!got.error.empty()) return "";
  if (got.results.size() != expected.results.size()) return "numbers of outputs differ";
  for (size_t i = 0; i < got.results.size(); ++i) {
    if (except.count(i) > 0) continue;
    std::string text = first_difference(got.results[i], expected.results[i]);
    if (!text.empty()) return fmt::format("output {}: {}", i, text);
  }
  return "";
}

// Every group with its schedule number `number` (or its last) whatever the sizes. Behind one with
// streaming stores, which need aligned outputs, the last stays.
Plan with_schedule(Plan plan, size_t number) {
  for (Group& group : plan.groups) {
    Schedule chosen = group.schedules[std::min(number, group.schedules.size() - 1)];
    chosen.guards.clear();
    const Schedule last = group.schedules.back();
    group.schedules = {chosen};
    if (chosen.streaming) group.schedules.push_back(last);
  }
  return plan;
}

size_t most_schedules(const Plan& plan) {
  size_t most = 1;
  for (const Group& group : plan.groups) most = std::max(most, group.schedules.size());
  return most;
}

Plan plan_for(const Graph& graph, FusionMode mode, const DeviceModel& device = device_model("cpu"),
              Numerics numerics = Numerics::exact) {
  PlanOptions options;
  options.fusion = mode;
  options.numerics = numerics;
  Plan plan = make_plan(graph, device, options);
  verify(graph, plan, "plan");
  return plan;
}

// A plan of the program: as the planner makes it, or `edited`, as if somebody had written it.
Plan plan_of(const Graph& graph, FusionMode mode, bool edited) {
  Plan plan = plan_for(graph, mode);
  if (!edited) return plan;
  PlanOptions options;
  options.fusion = mode;
  plan = parse_plan(graph, print(graph, plan), "<plan>", device_model("cpu"), options);
  verify(graph, plan, "parsed plan");
  return plan;
}

std::string interpreted_with(const Graph& graph, const Plan& plan, size_t schedule, bool texts,
                             const std::vector<Case>& cases, const std::set<size_t>& except) {
  const Plan chosen = with_schedule(plan, schedule);
  const PlanKernels kernels = lower_plan(graph, chosen, texts);
  for (const Case& each : cases) {
    Outcome got = outcome([&] { return interpret_plan(graph, chosen, kernels, each.inputs); });
    std::string text = difference(got, each.expected, except);
    if (text.empty()) continue;
    return fmt::format("interpreted, fusion {}, schedule {}, {}: {}",
                       mode_names[static_cast<size_t>(plan.fusion)], schedule, each.name, text);
  }
  return "";
}

// Other numerics give other bits, but no invalid kernels.
void interpret_in(Numerics numerics, const Graph& graph, const std::vector<Case>& cases) {
  const Plan plan = plan_for(graph, FusionMode::all, device_model("cpu"), numerics);
  const PlanKernels kernels = lower_plan(graph, plan);
  for (const Case& each : cases) {
    outcome([&] { return interpret_plan(graph, plan, kernels, each.inputs); });
  }
}

void check_text(const Trial& trial) {
  const std::string text = print(trial.source);
  if (print(parse_graph(text, "<graph>")) == text) return;
  throw std::runtime_error("graph does not parse back:\n" + text);
}

std::string interpreted(const Trial& trial) {
  const std::vector<Case> cases = cases_of(trial);
  const std::set<size_t> except = library_outputs(trial);
  check_text(trial);
  const Graph graph = run_graph_passes(trial.source);
  for (FusionMode mode : modes) {
    const Plan plan = plan_of(graph, mode, trial.seed % 4 == 0);
    for (size_t number = 0; number < most_schedules(plan); ++number) {
      std::string text = interpreted_with(graph, plan, number, true, cases, except);
      if (!text.empty()) return text;
    }
  }
  for (Numerics numerics : {Numerics::wide, Numerics::fast}) interpret_in(numerics, graph, cases);
  return "";
}

// One fused plan with one of its schedules, and now and then something else.
std::string sampled(const Trial& trial) {
  Random random(trial.seed ^ 0x7A11);
  const std::vector<Case> cases = cases_of(trial, most_sampled);
  const std::set<size_t> except = library_outputs(trial);
  if (random.chance(25)) check_text(trial);
  const Graph graph = run_graph_passes(trial.source);
  const FusionMode mode = random.chance(50) ? FusionMode::automatic : FusionMode::all;
  const Plan plan = plan_of(graph, mode, random.chance(15));
  const auto number = static_cast<size_t>(random.below(static_cast<int64_t>(most_schedules(plan))));
  std::string text = interpreted_with(graph, plan, number, random.chance(15), cases, except);
  if (!text.empty()) return text;
  if (random.chance(15)) {
    const Plan apart = plan_of(graph, FusionMode::off, false);
    return interpreted_with(graph, apart, 0, false, cases, except);
  }
  if (random.chance(10)) {
    interpret_in(random.chance(50) ? Numerics::wide : Numerics::fast, graph, cases);
  }
  return "";
}

// Everything is larger than the caches, so outputs are stored past them and rows are read again.
DeviceModel small_caches() {
  DeviceModel device = device_model("cpu");
  device.cache_bytes = 1;
  device.row_bytes = 2048;
  return device;
}

// A trial's programs among those that were compiled together.
struct Planned {
  size_t trial;
  std::string name;
  bool exact = true;
};

std::string error_text(const std::exception& error) {
  return fmt::format("throws: {}", error.what());
}

std::string compiled_difference(const Trial& trial, const std::vector<Planned>& planned,
                                const std::vector<const CompiledProgram*>& programs) {
  const std::vector<Case> cases = cases_of(trial);
  const std::set<size_t> except = library_outputs(trial);
  for (const Case& each : cases) {
    std::optional<Outcome> first;
    for (size_t i = 0; i < programs.size(); ++i) {
      for (int threads : {1, 2}) {
        const Executable executable = programs[i]->executable(threads);
        const bool laid_out = (i + static_cast<size_t>(threads) + trial.seed) % 2 == 0;
        Outcome got = outcome([&] {
          return laid_out ? run_in_layouts(executable, each.inputs, trial.seed + i)
                          : run(executable, each.inputs);
        });
        if (!planned[i].exact) continue;
        std::string text = difference(got, each.expected, except);
        if (text.empty() && first) text = difference(got, *first, {});
        if (!text.empty()) {
          return fmt::format("compiled, {}, threads {}, {}: {}", planned[i].name, threads,
                             each.name, text);
        }
        if (!first) first = std::move(got);
      }
    }
  }
  return "";
}

// One fused plan with one of its schedules; now and then the separate one, or one for tiny caches.
void sample_plans(const Trial& trial, size_t number, std::vector<PlannedProgram>* programs,
                  std::vector<Planned>* planned) {
  Random random(trial.seed ^ 0x7A11);
  const Graph graph = run_graph_passes(trial.source);
  const FusionMode mode = random.chance(50) ? FusionMode::automatic : FusionMode::all;
  const char* mode_name = mode_names[static_cast<size_t>(mode)];
  const bool tiny = random.chance(25);
  const Plan plan = plan_for(graph, mode, tiny ? small_caches() : device_model("cpu"));
  const auto schedule =
      static_cast<size_t>(random.below(static_cast<int64_t>(most_schedules(plan))));
  programs->push_back({graph, with_schedule(plan, schedule)});
  planned->push_back({number, fmt::format("fusion {}, schedule {}{}", mode_name, schedule,
                                          tiny ? ", small caches" : "")});
  if (random.chance(20) || trial.library_order) {
    programs->push_back({graph, plan_for(graph, FusionMode::off)});
    planned->push_back({number, "fusion off"});
  }
  if (random.chance(10)) {
    const Numerics numerics = random.chance(50) ? Numerics::wide : Numerics::fast;
    programs->push_back({graph, plan_for(graph, FusionMode::all, device_model("cpu"), numerics)});
    planned->push_back({number, "fusion all, wide or fast", false});
  }
}

// The program's plans: three modes, and the other schedules.
void add_plans(const Trial& trial, size_t number, std::vector<PlannedProgram>* programs,
               std::vector<Planned>* planned) {
  const Graph graph = run_graph_passes(trial.source);
  for (size_t mode = 0; mode < std::size(modes); ++mode) {
    Plan plan = plan_for(graph, modes[mode]);
    programs->push_back({graph, plan});
    planned->push_back({number, fmt::format("fusion {}", mode_names[mode])});
    for (size_t schedule = 0; schedule + 1 < most_schedules(plan); ++schedule) {
      programs->push_back({graph, with_schedule(plan, schedule)});
      planned->push_back(
          {number, fmt::format("fusion {}, schedule {}", mode_names[mode], schedule)});
    }
  }
  // These kernels are others once more; compiling them takes time.
  if (trial.seed % 3 == 0) {
    programs->push_back({graph, plan_for(graph, FusionMode::automatic, small_caches())});
    planned->push_back({number, "fusion auto, small caches"});
  }
  if (trial.seed % 6 == 1) {
    programs->push_back({graph, plan_for(graph, FusionMode::all, device_model("cpu"),
                                         trial.seed % 4 == 1 ? Numerics::wide : Numerics::fast)});
    planned->push_back({number, "fusion all, wide or fast", false});
  }
}

void compile_and_compare(const std::vector<Trial>& trials, const std::string& cache_dir,
                         Depth depth, std::vector<std::string>* reasons) {
  std::vector<PlannedProgram> programs;
  std::vector<Planned> planned;
  for (size_t t = 0; t < trials.size(); ++t) {
    std::vector<PlannedProgram> own;
    std::vector<Planned> own_planned;
    try {
      (depth == Depth::all ? add_plans : sample_plans)(trials[t], t, &own, &own_planned);
    } catch (const std::exception& error) {
      (*reasons)[t] = error_text(error);
      continue;
    }
    programs.insert(programs.end(), own.begin(), own.end());
    planned.insert(planned.end(), own_planned.begin(), own_planned.end());
  }
  const std::vector<CompiledProgram> compiled = compile_programs(programs, cache_dir);
  for (size_t t = 0; t < trials.size(); ++t) {
    std::vector<Planned> names;
    std::vector<const CompiledProgram*> own;
    for (size_t i = 0; i < planned.size(); ++i) {
      if (planned[i].trial != t) continue;
      names.push_back(planned[i]);
      own.push_back(&compiled[i]);
    }
    if (own.empty()) continue;
    try {
      (*reasons)[t] = compiled_difference(trials[t], names, own);
    } catch (const std::exception& error) {
      (*reasons)[t] = error_text(error);
    }
  }
}

// Mostly fused, now and then separate or in other numerics.
Plan plan_for_gpu(const Trial& trial, const Graph& graph) {
  const FusionMode mode = trial.seed % 7 == 0   ? FusionMode::off
                          : trial.seed % 5 == 0 ? FusionMode::all
                                                : FusionMode::automatic;
  const Numerics numerics = trial.seed % 9 == 3   ? Numerics::wide
                            : trial.seed % 9 == 7 ? Numerics::fast
                                                  : Numerics::exact;
  return plan_for(graph, mode, device_model("h200"), numerics);
}

// Whether a kernel takes the approximations of a GPU, which no other execution has. In exact those
// that there are give the same bits.
bool approximates(const EmulatedProgram& program) {
  if (program.plan.numerics == Numerics::exact) return false;
  return std::ranges::any_of(program.kernels, [](const auto& kernel) {
    const KernelSource& source = kernel.second.source;
    const std::string text = source.text + device::library_text(source.functions);
    return text.find("_hardware(") != std::string::npos;
  });
}

// Against the evaluator; in other numerics against the interpreter of the same loops.
std::string emulated_difference(const Trial& trial, const EmulatedProgram& program) {
  const EmulatedOrder order =
      trial.seed % 2 == 0 ? EmulatedOrder::forwards : EmulatedOrder::backwards;
  for (const Case& each : cases_of(trial)) {
    const Outcome got = outcome([&] { return run_emulated(program, each.inputs, order); });
    Outcome expected = each.expected;
    if (program.plan.numerics != Numerics::exact) {
      expected = outcome(
          [&] { return interpret_plan(program.graph, program.plan, program.loops, each.inputs); });
    }
    if (approximates(program) && got.error.empty() == expected.error.empty()) continue;
    const std::string text = difference(got, expected, library_outputs(trial));
    if (!text.empty()) return fmt::format("emulated, {}: {}", each.name, text);
  }
  return "";
}

// Two failures are the same fault, as far as a text can tell. Smaller programs of products may lose
// what made every order of summation exact: then they differ by roundings.
std::string kind_of(const std::string& reason) {
  const size_t at = reason.find("throws: ");
  if (at != std::string::npos) return reason.substr(at, 30);
  double a = 0, b = 0;
  const size_t values = reason.rfind(": ");
  const bool numbers = values != std::string::npos &&
                       std::sscanf(reason.c_str() + values, ": %lf against %lf", &a, &b) == 2;
  const bool close = numbers && std::abs(a - b) <= 1e-3 * std::max(std::abs(a), std::abs(b));
  return close ? "differs a little" : "differs";
}

}  // namespace

Trial random_trial(uint64_t seed, const RandomOptions& options) {
  return {seed, random_graph(seed, options), {usual_sizes(), other_sizes(seed)}, options.products};
}

std::string interpreted_difference(const Trial& trial, Depth depth) {
  try {
    return depth == Depth::all ? interpreted(trial) : sampled(trial);
  } catch (const std::exception& error) {
    return "interpreted, " + error_text(error);
  }
}

std::vector<std::string> compiled_differences(const std::vector<Trial>& trials,
                                              const std::string& cache_dir, Depth depth) {
  std::vector<std::string> reasons(trials.size());
  try {
    compile_and_compare(trials, cache_dir, depth, &reasons);
  } catch (const std::exception& error) {  // one program spoils the unit: which?
    if (trials.size() == 1) return {error_text(error)};
    for (size_t t = 0; t < trials.size(); ++t) {
      reasons[t] = compiled_differences({trials[t]}, cache_dir, depth)[0];
    }
  }
  return reasons;
}

std::vector<std::string> emulated_differences(const std::vector<Trial>& trials,
                                              const std::string& cache_dir) {
  std::vector<std::string> reasons(trials.size());
  try {
    std::vector<PlannedProgram> programs;
    for (const Trial& trial : trials) {
      const Graph graph = run_graph_passes(trial.source);
      programs.push_back({graph, plan_for_gpu(trial, graph)});
    }
    const std::vector<EmulatedProgram> emulated = emulate_programs(programs, cache_dir);
    for (size_t t = 0; t < trials.size(); ++t) {
      try {
        reasons[t] = emulated_difference(trials[t], emulated[t]);
      } catch (const std::exception& error) {
        reasons[t] = error_text(error);
      }
    }
  } catch (const std::exception& error) {  // one program spoils the unit: which?
    if (trials.size() == 1) return {error_text(error)};
    for (size_t t = 0; t < trials.size(); ++t) {
      reasons[t] = emulated_differences({trials[t]}, cache_dir)[0];
    }
  }
  return reasons;
}

std::string write_failure(const Trial& trial, const std::string& reason, const std::string& name,
                          const Difference& difference) {
  Trial smallest = trial;
  std::string last = reason;
  smallest.source = shrink(trial.source, [&](const Graph& graph) {
    Trial candidate = trial;
    candidate.source = graph;
    std::string text = difference(candidate);
    if (text.empty() || kind_of(text) != kind_of(reason)) return false;
    last = text;
    return true;
  });
  const std::string folder = std::string(INGOT_BUILD_DIR) + "/tests/failures";
  std::filesystem::create_directories(folder);
  const std::string path = fmt::format("{}/{}.ingot", folder, name);
  std::string comment = "# ";
  for (char c : last) comment += c == '\n' ? std::string("\n# ") : std::string(1, c);
  const std::string text = fmt::format("{}\n# again: {}/tests/fuzz/graph_fuzz {} {}\n{}", comment,
                                       INGOT_BUILD_DIR, path, trial.seed, print(smallest.source));
  write_file(path, text);
  return fmt::format("{}\nwas: {}\n{}", path, reason, text);
}

}  // namespace ingot::testing
