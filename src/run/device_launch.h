// How a phase of a CUDA kernel is spread over a device: all that decides a launch.
#pragma once

#include <optional>
#include <string>

#include "emit/kernel_source.h"
#include "run/cuda_kernel.h"

namespace ingot {

// None where there is nothing to do. Where the device's multiprocessors would have less than two
// blocks each, blocks are smaller if the kernel permits it. Error{input}: more blocks than a launch
// can have.
std::optional<CudaLaunch> launch_of(const PhaseSource& phase, const Bindings& sizes,
                                    int multiprocessors);

}  // namespace ingot
