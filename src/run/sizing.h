// Everything about a program that depends on the sizes of its inputs, as plain numbers: made once
// for a set of input shapes, so that a call evaluates no expression.
#pragma once

#include <cstdint>
#include <vector>

#include "run/kernel_set.h"

namespace ingot {

struct VariantSizing {
  bool permitted = false;  // its guards hold; the rest is filled only then
  std::vector<long> sizes;
  std::vector<int64_t> workspace_offset;  // of each parameter in the arena; -1: no workspace
  std::vector<int64_t> extents;           // of the phases
};

struct Sizing {
  std::vector<std::vector<int64_t>> output_shapes;
  std::vector<int64_t> input_bytes, output_bytes;
  std::vector<int64_t> node_offset;  // of intermediates in the arena; -1: lives elsewhere
  int64_t arena_bytes = 0;           // intermediates and workspaces
  int64_t scratch_bytes = 0;         // of one thread
  std::vector<std::vector<VariantSizing>> groups;
};

// Whether all guards hold; not, where one has a name that is not bound.
bool guards_hold(const Schedule& schedule, const Bindings& bindings);

// Error{input} for shapes that do not fit the program.
Sizing make_sizing(const Graph& graph, const Plan& plan, const KernelSet& kernels,
                   const std::vector<std::vector<int64_t>>& input_shapes);

}  // namespace ingot
