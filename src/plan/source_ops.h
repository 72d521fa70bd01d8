// Ops of the program as they are counted: one kernel each, which reads the operands and writes the
// result, also where the planner works with the parts of one (plan/units.h). An op that cannot be
// one kernel (around products, topk of several results) is counted as those that it takes with
// fusion off.
#pragma once

#include "plan/partition.h"

namespace ingot {

struct SourceOps {
  std::vector<int> whole;   // unit → the unit by whose result people know its op, or kernel of it
  std::vector<bool> inner;  // node → whether it is part of an op that is several units
  SeparateBytes separate;   // of each unit what its op moves alone; nothing moves between parts
  int64_t kernels = 0;      // that the ops take one by one
  // An op that no node is left of: what it moves, and what others read more of two equal values.
  // In `separate.total`, too.
  struct Gone {
    int32_t source;
    Sym bytes;
  };
  std::vector<Gone> gone;
  bool is_split(int unit) const { return parts[static_cast<size_t>(unit)] > 1; }
  std::vector<int> parts;  // unit → the number of units of its op, or kernel of it
};

// `alone`: what every unit moves alone.
SourceOps source_ops(const Graph& graph, const UnitGraph& units, const SeparateBytes& alone,
                     const DeviceModel& device, const PlanOptions& options);

}  // namespace ingot
