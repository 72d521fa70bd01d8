// Where a GPU's compiler finds that the values of a group do not fit a thread's registers: other
// schedules for it, and where to cut it.
#pragma once

#include "plan/partition.h"

namespace ingot {

// The schedule with ever fewer values alive in a thread, the first changed least. `elements`: that
// a thread of elementwise work takes at a time.
std::vector<Schedule> relieved(const Schedule& schedule, int64_t elements);

// A group in two: units after one another, such that few bytes go from one half to the other and
// few are read by both. Nothing where it is one unit, or no cut is legal.
struct Cut {
  Part first, second;
  Sym bytes;  // that a run moves more
};
std::optional<Cut> cut(const Graph& graph, const UnitGraph& units, const Group& group,
                       const DeviceModel& device);

}  // namespace ingot
