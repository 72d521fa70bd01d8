// Fusion must not take more memory at once than the ops one by one do.
#pragma once

#include "plan/partition.h"

namespace ingot {

// Undoes groups whose intermediates wait for each other, until the program's peak is at most that
// of its separate kernels at the options' sizes (a size not listed counts as 1024); the edges say
// so. With FusionMode::automatic only, and without PlanOptions::allow_memory.
void keep_peak(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
               const PlanOptions& options, Partition* partition, std::vector<Group>* groups);

}  // namespace ingot
