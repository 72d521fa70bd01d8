// What a program's sizes decide, on any device.
#include <algorithm>

#include "run/run.h"
#include "run/sizing.h"

namespace ingot {

std::vector<KernelPlace> Runnable::chosen(const Bindings& sizes) const {
  std::vector<KernelPlace> places;
  for (const Group& group : plan().groups) {
    const std::vector<Schedule>& schedules = group.schedules;
    const auto first = std::find_if(schedules.begin(), schedules.end(),
                                    [&](const Schedule& each) { return guards_hold(each, sizes); });
    places.push_back({places.size(), static_cast<size_t>(first - schedules.begin())});
  }
  return places;
}

std::vector<std::vector<int64_t>> Runnable::output_shapes(
    const std::vector<std::vector<int64_t>>& input_shapes) const {
  const Bindings bindings = bind_sizes(graph(), input_shapes);
  std::vector<std::vector<int64_t>> shapes;
  for (const NodeId output : graph().outputs) {
    shapes.push_back(evaluate(graph()[output].type.shape, bindings));
  }
  return shapes;
}

}  // namespace ingot
