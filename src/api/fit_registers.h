// The resource loop: a GPU's kernels are compiled, and where one spills its group gets another
// schedule, then two groups.
#pragma once

#include "api/pipeline.h"

namespace ingot {

// `pipeline` has a plan of ours and its loops. Plans again until no kernel that the sizes choose (a
// size not listed counts as 1024) spills, or nothing is left to try; every step is a decision of
// the plan. Without NVRTC nothing changes. Sources are emitted.
void fit_registers(const Graph& graph, const DeviceModel& device, PlanOptions planning,
                   const std::string& cache_dir, Pipeline* pipeline);

}  // namespace ingot
