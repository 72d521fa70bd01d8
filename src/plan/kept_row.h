// On a GPU: what of a row stays in registers between its passes.
#pragma once

#include <vector>

#include "plan/cost.h"
#include "plan/device_model.h"

namespace ingot {

// The blocks, at most `most` and more than one only as a cluster, whose threads have the registers
// for a row of so many elements of `bytes` besides `others`: a warp for each chunk. 0: they do not.
// Two clusters share their multiprocessors where they can: one loads while the other waits.
int blocks_for_row(int64_t elements, int64_t bytes, int64_t others, int most,
                   const DeviceModel& device);

// The values that all passes of a row come back to, and the blocks whose threads keep them. What is
// read alone where the registers for computed ones are missing.
struct KeptRow {
  std::vector<NodeId> values;
  int blocks = 1;
};
// Nothing of a group that does not go row by row, nor of rows of unknown length.
KeptRow kept_row(const Graph& graph, const std::vector<NodeId>& nodes, const Domain& domain,
                 const GroupCost& cost, const DeviceModel& device);

}  // namespace ingot
