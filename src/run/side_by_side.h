// Kernels that do not need each other and leave most of a GPU idle, beside each other on several
// streams of one graph.
#pragma once

#include "plan/plan.h"

namespace ingot {

inline constexpr int most_streams = 4;

struct Lane {
  int stream = 0;             // 0: the call's own
  std::vector<size_t> after;  // groups of other streams that it waits for
  friend bool operator==(const Lane&, const Lane&) = default;
};

// Of each group, in the plan's order. `small[g]`: group g leaves room for others; the rest stays on
// stream 0. A stream runs its groups in order, begins behind the call's start and ends before the
// call does. Holds where each value and workspace has memory of its own.
std::vector<Lane> side_by_side(const Plan& plan, const std::vector<bool>& small);

int streams_of(const std::vector<Lane>& lanes);  // 1 where all are on stream 0

}  // namespace ingot
