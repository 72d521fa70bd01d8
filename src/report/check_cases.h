// Inputs that `check` tries beside the given ones.
#pragma once

#include "graph/graph.h"

namespace ingot {

struct CheckCase {
  std::string name;  // "given inputs", "special values, B = 3"
  Bindings sizes;
  std::vector<Tensor> inputs;
  bool special;  // holds NaN, infinities, extremes
};

// The given inputs; NaN, infinities, zeros of both signs, subnormals and extremes among random
// values at the given sizes; the same with all named dimensions at 0, 1, 3, 17 and 65; random
// values at 17. Masks hide every third row as a whole.
std::vector<CheckCase> check_cases(const Graph& graph, const std::vector<Tensor>& given);

}  // namespace ingot
