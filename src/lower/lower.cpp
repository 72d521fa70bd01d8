// lower: a dry run finds subscripts and which values several passes need; then the real kernel.
#include "lower/lower.h"

#include "lower/nest.h"

namespace ingot {

loop::Kernel lower(const Graph& graph, const Plan& plan, const Group& group,
                   const Schedule& schedule) {
  lowering::Nest dry(graph, plan, group, schedule, nullptr);
  dry.build();
  lowering::Findings findings = dry.take_findings();
  lowering::Nest nest(graph, plan, group, schedule, &findings);
  return nest.build();
}

}  // namespace ingot
