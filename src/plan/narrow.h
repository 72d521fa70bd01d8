// Shorter formulas for values that are known to lie in a range, in the modes that allow them.
#pragma once

#include "plan/plan.h"

namespace ingot {

// Fills Group::narrowings; each is a decision, put behind the others.
void narrow(const Graph& graph, const DeviceModel& device, Plan* plan);

// A polynomial in the place of a chain of elementwise ops that all follow from one value in
// [low, high]: coefficients, highest first. Empty where no short one is good enough: its error is
// at most collapse_error of the chain's largest magnitude, measured in f32.
constexpr double collapse_error = 0x1p-22;
constexpr int most_coefficients = 20;
struct Chain {
  NodeId base;                // the value that all follows from
  std::vector<NodeId> nodes;  // topological; the last one is the result
};
std::vector<double> collapse(const Graph& graph, const Chain& chain, double low, double high,
                             double* error);

}  // namespace ingot
