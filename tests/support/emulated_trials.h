// Programs for the tests of CUDA kernels.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "support/differential.h"

namespace ingot::testing {

// Usual values where the seed is even, else special ones among them.
Trial trial_of(const std::string& text, const std::vector<Bindings>& sizes, uint64_t seed = 2);
Trial every_op_trial(DType dtype, int64_t columns, uint64_t seed = 2);

// Of x: f32[B, N] and the like, for any B and N: rows, columns, both, norms, masks.
extern const std::vector<const char*> row_programs;
// Of any B: strides, offsets, repeated and shared elements, ids in and out of range.
extern const std::vector<const char*> place_programs;

// Shapes and values at the edges, for the emulation and for a device.
struct EdgeTrials {
  const char* name;
  std::vector<Trial> trials;
};
std::vector<EdgeTrials> edge_trials();
inline void PrintTo(const EdgeTrials& edge, std::ostream* out) { *out << edge.name; }

// The works of bench/gpu with few rows; two of them with smaller matrices.
std::vector<Trial> bench_trials();

// Every trial as the evaluator has it; a difference is shrunk and written.
void expect_equal(const std::vector<Trial>& trials);

}  // namespace ingot::testing
