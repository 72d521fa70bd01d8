// The schedule of rows and columns of one input, and what it shares with the others.
#pragma once

#include "plan/partition.h"

namespace ingot {

// The place in memory of a node's element; a size-1 dimension is always at 0.
Sym flat_place(const Graph& graph, NodeId id, std::vector<Sym> index);
// Whether a value is read at some elements of a row only, as by pad, concat and gather: its row in
// the order of the group's may begin before the buffer, so it cannot be loaded as a whole.
bool reads_parts(const Graph& graph, const std::vector<NodeId>& nodes);

// Bands of rows at a time, each row near its processor, with the sums of the columns so far. Where
// there are fewer bands than half of the cores, or three warps for two multiprocessors, `plain` is
// left: rows first, then columns, which reads twice. On a GPU rows go in twos, but where only one
// at a time leaves room for all bands at once.
std::vector<Schedule> row_bands(const Graph& graph, const Schedule& plain, const Analysis& analysis,
                                const GroupCost& cost, const DeviceModel& device);

}  // namespace ingot
