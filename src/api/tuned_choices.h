// What a tuning database says about the groups of one program.
#pragma once

#include "graph/graph.h"
#include "plan/group_key.h"
#include "plan/tuning.h"

namespace ingot {

struct TuningTarget {
  std::string device, numerics;  // as entries call them
};
TuningKey tuning_key(const TuningTarget& target, const GroupKey& key);

// The nodes of two groups that a decision of the plan keeps apart where it saw no gain; else none.
std::vector<NodeId> joint_nodes(const UnitGraph& units, const Plan& plan, const Decision& decision);
// What the group's outputs are where these nodes are one group: those of the plan's groups among
// them, without what only they read.
std::vector<NodeId> joint_outputs(const UnitGraph& units, const Plan& plan,
                                  const std::vector<NodeId>& nodes);

// For make_plan, in the order in which they apply: groups as the planner has them first, then what
// they are cut into. What an entry says that these nodes do not allow is left out.
std::vector<Choice> tuned_choices(const Graph& graph, const DeviceModel& device,
                                  const PlanOptions& planning, const TuningDatabase& database,
                                  const TuningTarget& target);

}  // namespace ingot
