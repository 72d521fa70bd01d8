// Runs on memory as callers may have it: strided, backwards, at odd addresses, shared.
#pragma once

#include <vector>

#include "run/run.h"

namespace ingot::testing {

// Inputs and outputs in layouts chosen by `seed`; equal inputs may be one buffer, an output may lie
// on an input. Throws std::runtime_error where a byte that is no element of an output changes.
std::vector<Tensor> run_in_layouts(const Executable& executable, const std::vector<Tensor>& inputs,
                                   uint64_t seed);

}  // namespace ingot::testing
