// The schedule of rows and columns of one input.
#pragma once

#include "plan/partition.h"

namespace ingot {

// Bands of rows at a time, each row near its processor, with the sums of the columns so far. Where
// there are fewer bands than half of the cores, or three warps for two multiprocessors, `plain` is
// left: rows first, then columns, which reads twice. On a GPU rows go in twos, but where only one
// at a time leaves room for all bands at once. `lanes` of a row's sums: more than those of the
// canonical order where the order of sums is free; then as many bands as run at once.
std::vector<Schedule> row_bands(const Graph& graph, const Schedule& plain, const Analysis& analysis,
                                const GroupCost& cost, const DeviceModel& device, int lanes);

}  // namespace ingot
