// What a tuner times: groups of a plan, each with other forms that it could have.
#pragma once

#include <set>
#include <string_view>

#include "api/tuned_choices.h"

namespace ingot {

inline constexpr std::string_view op_by_op = "op by op";

struct TuningForm {
  std::string what;  // for a person: "as planned", "cut behind 't'", "schedule rows, few"
  std::string text;  // as an entry has it: "planned", "parts:0-1|2"
  Choice choice;     // for make_plan; of the first form of a site nothing but its nodes
  size_t kernels = 1;
};

struct TuningSite {
  std::vector<NodeId> nodes;  // as a Part has them; of two groups where the question is whether
                              // they are better one
  std::vector<NodeId> outputs;
  std::string name;               // of the group, or of both
  std::vector<TuningForm> forms;  // the first: as planned
  bool joins = false;
};

// Groups that `seen` has not yet, with at least one other form: op by op; cut in two where the
// model finds it least bad; other schedules for the sizes; two groups in one where the planner saw
// no gain. Adds to `seen`.
std::vector<TuningSite> tuning_sites(const Graph& graph, const DeviceModel& device,
                                     const PlanOptions& planning, const Plan& plan,
                                     std::set<std::vector<NodeId>>* seen);

}  // namespace ingot
