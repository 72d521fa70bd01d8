// The program beside the plan, for the reports that draw it: the user's ops with what they read,
// and each op's kernel with fusion off.
#pragma once

#include "report/report.h"

namespace ingot {

// The user's ops that the group computes (a part of), each once.
std::vector<std::string> op_names(const Graph& graph, const Group& group);

// Inputs, weights and ops: [{"name", "op", "type", "bytes", "operands", "output", "groups"}], in
// topological order. "op" is "input" or "weight" where nothing is computed; "groups" are the ids of
// those that compute (a part of) the op.
ReportJson nodes_json(const ExplainInput& input);

// A kernel each: [{"name", "kind", "ops", "bytes", "flops", "predicted_us"}].
ReportJson separate_groups_json(const ExplainInput& input);

// A row of `ingot devices --json`.
ReportJson device_model_json(const DeviceModel& model);

}  // namespace ingot
