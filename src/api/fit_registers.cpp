#include "api/fit_registers.h"

#include <algorithm>

#include <fmt/format.h>

#include "api/cuda_resources.h"
#include "graph/graph.h"
#include "plan/choice.h"
#include "plan/cost.h"
#include "plan/relief.h"

namespace ingot {
namespace {

constexpr int most_rounds = 16;
constexpr double spill_budget = 0.01;          // of the bytes a group moves: as good as none
constexpr int64_t nearly_all_registers = 240;  // of 255: more of them are no cure

std::string found_text(const KernelResources& found) {
  return fmt::format(
      "{} registers, {} + {} bytes spilled a thread, {} bytes of stack, occupancy {:.0f} %",
      found.functions.registers, found.functions.spill_store_bytes,
      found.functions.spill_load_bytes, found.functions.stack_bytes,
      100 * found.occupancy.occupancy);
}

// What was tried for one set of nodes.
struct Trial {
  std::vector<KernelResources> found;  // by steps; those not tried are empty
  std::vector<std::string> schedules;
  bool settled = false;

  void add(size_t steps, const KernelResources& resources, const std::string& schedule) {
    found.resize(std::max(found.size(), steps + 1));
    schedules.resize(found.size());
    found[steps] = resources;
    schedules[steps] = schedule;
  }
  // Fewest bytes spilled. Less than half of what the first one spills has to be left, since the
  // others have fewer warps, or shorter accesses.
  size_t best() const {
    size_t least = 0;
    int64_t bytes = found[0].spilled_bytes / 2;
    for (size_t i = 1; i < found.size(); ++i) {
      if (schedules[i].empty() || found[i].spilled_bytes >= bytes) continue;
      least = i;
      bytes = found[i].spilled_bytes;
    }
    return least;
  }
};

class Loop {
 public:
  Loop(const Graph& graph, const DeviceModel& device, PlanOptions planning,
       const std::string& cache_dir, Pipeline* pipeline)
      : graph_(graph),
        device_(device),
        planning_(std::move(planning)),
        pipeline_(*pipeline),
        units_(make_units(graph)),
        sizes_(planning_.sizes) {
    options_.cache_dir = cache_dir;
    for (const std::string& name : size_names(graph)) sizes_.try_emplace(name, unlisted_size);
  }

  void run() {
    for (int round = 0; round < most_rounds; ++round) {
      emit_sources(device_, &pipeline_);
      const auto resources = cuda_resources(chosen_kernels(pipeline_, sizes_), device_, sizes_,
                                            options_, pipeline_.compiled.get())
                                 .kernels;
      bool changed = false;
      for (size_t g = 0; g < pipeline_.plan.groups.size(); ++g) {
        const Group& group = pipeline_.plan.groups[g];
        const size_t variant = chosen_variant(group, sizes_);
        const auto found = resources.find(pipeline_.sources[g][variant].name);
        if (found != resources.end()) changed |= look_at(group, variant, found->second);
      }
      if (!changed) break;
      pipeline_.plan = make_plan(graph_, device_, planning_);
      pipeline_.loops.clear();
      lower_groups(graph_, &pipeline_);
    }
    for (Decision& step : steps_) pipeline_.plan.decisions.push_back(std::move(step));
  }

 private:
  // Whether the plan has to be made again.
  bool look_at(const Group& group, size_t variant, const KernelResources& found) {
    const std::vector<NodeId> nodes = part_nodes(units_, group);
    const auto known = trials_.find(nodes);
    if (!found.spills() && known == trials_.end()) return false;
    Trial& trial = trials_[nodes];
    if (trial.settled) return false;
    const Choice* choice = choice_of(planning_.choices, nodes);
    if (choice != nullptr && choice->reason == Reason::measured) return false;  // as it was timed
    const size_t now = choice != nullptr ? choice->steps : 0;
    trial.add(now, found, group.schedules[variant].name);
    if (!found.spills()) return settle(group, trial, now, Reason::fewer_live_values);
    const double moved = at_sizes(group_bytes(group), sizes_);
    if (static_cast<double>(found.spilled_bytes) < spill_budget * moved) {
      return settle(group, trial, now, Reason::spill_kept);
    }
    // The steps are those of the schedule before any.
    const size_t next = now == 0 && found.functions.registers >= nearly_all_registers ? 2 : now + 1;
    if (now == 0) steps_of_[nodes] = count_steps(group, variant);
    if (next <= steps_of_[nodes]) return change(nodes, next, {}, found);
    return cut_or_keep(group, nodes, trial, now);
  }

  size_t count_steps(const Group& group, size_t variant) const {
    return relieved(group.schedules[variant], elements_of_thread(graph_, group)).size();
  }

  bool change(const std::vector<NodeId>& nodes, size_t steps, std::vector<Part> parts,
              const KernelResources& found) {
    Choice choice;
    choice.nodes = nodes;
    choice.parts = std::move(parts);
    choice.steps = steps;
    choice.found = "together: " + found_text(found);
    planning_.choices.push_back(std::move(choice));
    return true;
  }

  bool settle(const Group& group, Trial& trial, size_t now, Reason reason) {
    trial.settled = true;
    std::string detail =
        fmt::format("schedule {}: {}", trial.schedules[now], found_text(trial.found[now]));
    if (now > 0) {
      detail = fmt::format("schedule {}: {}; {}", trial.schedules[0], found_text(trial.found[0]),
                           detail);
    }
    if (reason == Reason::spill_kept) {
      detail += fmt::format("; at most {} spilled, less than 1 % of what the group moves",
                            bytes_text(static_cast<double>(trial.found[now].spilled_bytes)));
    }
    record(group, true, reason, detail);
    return false;
  }

  // No schedule is enough.
  bool cut_or_keep(const Group& group, const std::vector<NodeId>& nodes, Trial& trial, size_t now) {
    trial.settled = true;
    const size_t best = trial.best();
    const KernelResources& least = trial.found[best];
    const std::string spilled = bytes_text(static_cast<double>(least.spilled_bytes));
    std::string detail = fmt::format("schedule {}: {}", trial.schedules[best], found_text(least));
    const bool may_cut = planning_.fusion == FusionMode::automatic;
    const std::optional<Cut> halves = may_cut ? cut(graph_, units_, group, device_) : std::nullopt;
    if (halves) {
      const double more = at_sizes(halves->bytes, sizes_);
      const bool pays = more < static_cast<double>(least.spilled_bytes);
      detail +=
          fmt::format("; at most {} spilled a run, a cut moves {} more", spilled, bytes_text(more));
      if (pays) {
        record(group, false, Reason::spills, detail);
        return change(nodes, 0, {halves->first, halves->second}, least);
      }
    } else {
      detail += may_cut ? "; it cannot be cut" : "; the fusion mode allows no cut";
    }
    record(group, true, Reason::spill_kept, detail);
    return best != now && change(nodes, best, {}, least);
  }

  void record(const Group& group, bool fused, Reason reason, std::string detail) {
    Decision step;
    step.fused = fused;
    step.reason = reason;
    step.detail = fmt::format("group {}, {}", group.name, detail);
    step.kind = DecisionKind::resources;
    step.producer = part_nodes(units_, group).front();
    step.consumer = group.outputs.back();
    steps_.push_back(std::move(step));
  }

  const Graph& graph_;
  const DeviceModel& device_;
  PlanOptions planning_;
  Pipeline& pipeline_;
  UnitGraph units_;
  Bindings sizes_;
  CudaOptions options_;
  std::map<std::vector<NodeId>, Trial> trials_;
  std::map<std::vector<NodeId>, size_t> steps_of_;
  std::vector<Decision> steps_;
};

}  // namespace

void fit_registers(const Graph& graph, const DeviceModel& device, PlanOptions planning,
                   const std::string& cache_dir, Pipeline* pipeline) {
  Loop(graph, device, std::move(planning), cache_dir, pipeline).run();
}

}  // namespace ingot
