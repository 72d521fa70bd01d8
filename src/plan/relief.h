// Where a GPU's compiler finds that the values of a group do not fit a thread's registers: other
// schedules for it, and where to cut it.
#pragma once

#include "plan/partition.h"

namespace ingot {

// The schedule with ever fewer values alive in a thread, the first changed least. `elements`: that
// a thread of elementwise work takes at a time.
std::vector<Schedule> relieved(const Schedule& schedule, int64_t elements);

// The last one of these nodes, or null.
const Relief* relief_of(const std::vector<Relief>& reliefs, const std::vector<NodeId>& nodes);
// A group's nodes, as a Part has them.
std::vector<NodeId> part_nodes(const UnitGraph& units, const Group& group);

// A group in two: units after one another, such that few bytes go from one half to the other and
// few are read by both. Nothing where it is one unit, or no cut is legal.
struct Cut {
  Part first, second;
  Sym bytes;  // that a run moves more
};
std::optional<Cut> cut(const Graph& graph, const UnitGraph& units, const Group& group,
                       const DeviceModel& device);

// Cuts the groups that are to be; the edges between the halves say why.
void split(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
           const PlanOptions& options, Partition* partition, std::vector<Group>* groups);

}  // namespace ingot
