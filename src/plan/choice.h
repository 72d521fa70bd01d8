// Choices by nodes, applied to a plan: groups cut or joined, schedules changed or put first.
#pragma once

#include "plan/partition.h"

namespace ingot {

// The last one of these nodes, or null.
const Choice* choice_of(const std::vector<Choice>& choices, const std::vector<NodeId>& nodes);
// A group's nodes, as a Part has them.
std::vector<NodeId> part_nodes(const UnitGraph& units, const Group& group);

// Groups cut or joined as the choices say, each at most once; the edges between them say why.
// Error{input} where a part has no common iteration space or depends on itself through another.
void apply_parts(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
                 const PlanOptions& options, Partition* partition, std::vector<Group>* groups);

// Other forms of a schedule that run at the same sizes, by names of their own: on a GPU with fewer
// values alive in a thread (plan/relief.h) or a bound on its registers, on a CPU with rows read
// again instead of kept, more or fewer of them side by side, tiles in another order.
std::vector<Schedule> alternatives(const Graph& graph, const Group& group, const Schedule& schedule,
                                   const DeviceModel& device);

// Steps for all schedules of a group, then the one that goes first: for sizes of the class that
// `sizes` are of, others take the planner's.
void apply_schedules(const Graph& graph, const Choice& choice, const DeviceModel& device,
                     const Bindings& sizes, Group* group);

// What choices say about groups whose ops stay together, as decisions.
std::vector<Decision> choice_decisions(const UnitGraph& units, const std::vector<Choice>& choices,
                                       const std::vector<Group>& groups);

// Sizes that a measurement holds for: those with the same floor of the logarithm to base 2.
int size_class(int64_t size);  // -1 of 0

}  // namespace ingot
