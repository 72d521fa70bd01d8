// First oracle: evaluates a graph node by node with naive loops.
#pragma once

#include "graph/graph.h"

namespace ingot {

enum class Precision {
  per_op,  // every op rounds once to its dtype, reductions in the canonical order: `exact`'s bits
  wide,    // everything floating in f64, nothing rounded: the accuracy oracle
};

// Inputs in signature order, shapes checked. Results in output order; floats are f64 tensors with
// Precision::wide. Products accumulate in f32 (f64 for f64) in row-major order of k.
// Error{input}: "gather: index 7 out of range [0, 5)".
std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs,
                             Precision precision);

}  // namespace ingot
