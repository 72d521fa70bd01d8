// Ids out of range that no output depends on: a program may pass them by (docs/semantics.md).
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace ingot::testing {

// The results of a program in which ids of gathers are out of range; nullopt if a result depends on
// one of them.
std::optional<std::vector<Tensor>> results_without_those_ids(const Graph& graph,
                                                             const std::vector<Tensor>& inputs,
                                                             const Bindings& sizes);

}  // namespace ingot::testing
