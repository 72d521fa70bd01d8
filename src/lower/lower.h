// Group + schedule → scheduled kernel.
#pragma once

#include "loop/loop.h"
#include "plan/plan.h"

namespace ingot {

// One kernel for the group under one of its schedules. Names in it are the user's; the rounding is
// that of `numerics`. Params are the group's inputs and outputs (Param::value = node id) and
// workspaces.
loop::Kernel lower(const Graph& graph, const Plan& plan, const Group& group,
                   const Schedule& schedule);

}  // namespace ingot
