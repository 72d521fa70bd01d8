// The planner's entry points, in the order of its steps: units → partition → groups → accounts.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "plan/choice.h"
#include "plan/narrow.h"
#include "plan/peak_memory.h"
#include "plan/source_ops.h"

namespace ingot {

namespace {

// As the groups are in the end: others may have joined, or been taken apart again.
std::vector<SaveOrRecompute> final_values(std::vector<SaveOrRecompute> values,
                                          const std::vector<Group>& groups) {
  std::set<NodeId> stored, again;
  for (const Group& group : groups) {
    stored.insert(group.outputs.begin(), group.outputs.end());
    again.insert(group.recomputed.begin(), group.recomputed.end());
  }
  std::erase_if(values, [&](const SaveOrRecompute& row) {
    return !stored.contains(row.value) && !(row.recomputed && again.contains(row.value));
  });
  for (SaveOrRecompute& row : values) {
    if (!row.recomputed || !stored.contains(row.value)) continue;
    row.recomputed = false;
    row.why = "the group that computed it again was divided anew";
  }
  return values;
}

}  // namespace

Plan make_plan(const Graph& graph, const DeviceModel& device, const PlanOptions& options) {
  Plan plan;
  plan.graph_name = graph.name;
  plan.device = device.name;
  plan.numerics = options.numerics;
  plan.fusion = options.fusion;
  UnitGraph units = make_units(graph);
  Partition parts = partition(graph, units, device, options);
  plan.groups = build_groups(graph, units, parts.parts, device, options);
  apply_parts(graph, units, device, options, &parts, &plan.groups);
  keep_peak(graph, units, device, options, &parts, &plan.groups);
  plan.values = final_values(std::move(parts.values), plan.groups);
  const SourceOps ops = source_ops(graph, units, parts.separate, device, options);
  plan.decisions = account(graph, units, std::move(parts.edges), plan.groups, ops);
  std::ranges::move(choice_decisions(units, options.choices, plan.groups),
                    std::back_inserter(plan.decisions));
  narrow(graph, device, &plan);
  plan.separate_bytes = ops.separate.total;
  plan.separate_kernels = ops.kernels;
  verify(graph, plan, "plan");
  return plan;
}

size_t chosen_variant(const Group& group, const Bindings& sizes) {
  for (size_t i = 0; i < group.schedules.size(); ++i) {
    if (guards_hold(group.schedules[i], sizes)) {
      return i;
    }
  }
  return group.schedules.empty() ? 0 : group.schedules.size() - 1;
}

Sym group_bytes(const Group& group) {
  return group.traffic.read + group.traffic.written + group.traffic.workspace;
}

namespace {

// One after the other: partials are combined by a phase of their own.
double phases_of(const Schedule& schedule, bool rows_then_columns) {
  if (rows_then_columns) return 3;
  return schedule.split_rows || schedule.column_bands || schedule.row_bands ? 2 : 1;
}

Estimate estimate_of(const Group& group, const DeviceModel& device, const Bindings& sizes,
                     double cached) {
  Work work = work_of(group, device, sizes);
  work.cached = std::max(work.cached, cached);
  const Schedule schedule =
      group.schedules.empty() ? Schedule{} : group.schedules[chosen_variant(group, sizes)];
  const bool rows_then_columns = !group.domain.columns.empty() && !schedule.row_bands;
  if (rows_then_columns) work.read *= 2;
  const WorkTime time = work_time(device, work);
  const double bytes = at_sizes(group_bytes(group), sizes);
  Estimate result;
  // A further phase starts while the one before ends.
  const double starts = (1 + phases_of(schedule, rows_then_columns)) / 2.0;
  result.us = time.us + starts * device.launch_us;
  result.bound = time.us < device.launch_us         ? "launch"
                 : time.compute_us > time.memory_us ? "compute"
                                                    : "memory";
  result.intensity = bytes > 0 ? at_sizes(group.flops, sizes) / bytes : 0;
  return result;
}

// What an earlier group of the program has just left in the cache: nothing else is known to be
// there.
double cached_bytes(const Group& group, const std::set<NodeId>& made, const DeviceModel& device,
                    const Bindings& sizes) {
  if (at_sizes(group_bytes(group), sizes) > device.cache_bytes / 2) return 0;
  double bytes = 0;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (made.contains(group.inputs[i])) bytes += at_sizes(group.input_bytes[i], sizes);
  }
  return bytes;
}

}  // namespace

Estimate estimate(const Group& group, const DeviceModel& device, const Bindings& sizes) {
  return estimate_of(group, device, sizes, 0);
}

Estimate estimate(const Plan& plan, const DeviceModel& device, const Bindings& sizes) {
  Estimate total{0, "memory", 0};
  double longest = 0, bytes = 0, flops = 0;
  std::set<NodeId> made;
  for (const Group& group : plan.groups) {
    Estimate one = estimate_of(group, device, sizes, cached_bytes(group, made, device, sizes));
    made.insert(group.outputs.begin(), group.outputs.end());
    total.us += one.us;
    bytes += at_sizes(group_bytes(group), sizes);
    flops += at_sizes(group.flops, sizes);
    if (one.us > longest) {
      longest = one.us;
      total.bound = one.bound;
    }
  }
  total.intensity = bytes > 0 ? flops / bytes : 0;
  return total;
}

}  // namespace ingot
