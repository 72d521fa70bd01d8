// Sums of e^(x - max(x)) that do not wait for the maximum of the whole row.
#pragma once

#include "plan/domain.h"

namespace ingot {

// The sums of a group whose terms are e^(x - t), with t the row's maximum of x (or 0 where that is
// infinite), each with that maximum. Rows of several chunks only: a chunk takes its own maximum,
// and the chunks' sums are scaled to the largest one.
std::map<NodeId, OnlineSum> online_sums(const Graph& graph, const Analysis& analysis, bool gpu);

// The analysis with these sums in the pass of their maxima.
Analysis with_online(const Graph& graph, Analysis analysis,
                     const std::map<NodeId, OnlineSum>& online);

}  // namespace ingot
