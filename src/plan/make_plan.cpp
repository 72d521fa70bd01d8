// The planner's entry points, in the order of its steps: units → partition → groups → accounts.
#include <algorithm>

#include "base/error.h"
#include "plan/choice.h"
#include "plan/narrow.h"
#include "plan/peak_memory.h"
#include "plan/source_ops.h"

namespace ingot {

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

Sym group_bytes(const Group& group) {
  return group.traffic.read + group.traffic.written + group.traffic.workspace;
}

// The larger of memory time and arithmetic time, plus the start of the kernel.
Estimate estimate(const Group& group, const DeviceModel& device, const Bindings& sizes) {
  double bytes = at_sizes(group_bytes(group), sizes);
  double flops = at_sizes(group.flops, sizes);
  double instructions = at_sizes(group.instructions, sizes);
  double product = at_sizes(group.product_flops, sizes);
  double memory_us = work_us(device, bytes, 0, 0);
  double us = work_us(device, bytes, instructions, product);
  Estimate result;
  result.us = us + device.launch_us;
  result.bound = us < device.launch_us ? "launch" : us > memory_us ? "compute" : "memory";
  result.intensity = bytes > 0 ? flops / bytes : 0;
  return result;
}

Estimate estimate(const Plan& plan, const DeviceModel& device, const Bindings& sizes) {
  Estimate total{0, "memory", 0};
  double longest = 0, bytes = 0, flops = 0;
  for (const Group& group : plan.groups) {
    Estimate one = estimate(group, device, sizes);
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
