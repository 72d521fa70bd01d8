// The schedule of rows and columns of one input.
#pragma once

#include "plan/partition.h"

namespace ingot {

// Bands of rows at a time, each row near its processor, with the sums of the columns so far. Where
// there are fewer bands than half of the cores, or three warps for two multiprocessors, `plain` is
// left: rows first, then columns, which reads twice. On a GPU rows go in twos, but where only one
// at a time leaves room for all bands at once.
std::vector<Schedule> row_bands(const Graph& graph, const Schedule& plain, const Analysis& analysis,
                                const GroupCost& cost, const DeviceModel& device);

}  // namespace ingot
