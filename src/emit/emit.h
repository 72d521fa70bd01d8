// Loop IR → C++ text.
#pragma once

#include <span>

#include "emit/kernel_source.h"
#include "loop/loop.h"

namespace ingot {

// C++ with vector extensions. A chunk of 64 elements is one vector: as many registers as it takes,
// advanced statement by statement.
KernelSource emit_cpp(const loop::Kernel& kernel);

// CUDA C++ for one thread: a chunk is a few elements that lie side by side, the chunks of a vector
// loop are spread over a warp or a block. Same bits as emit_cpp.
KernelSource emit_cuda(const loop::Kernel& kernel);
// Not yet: library products, and rows kept in a buffer of each thread's own.
bool fits_cuda(const loop::Kernel& kernel);
// Why not, to stand behind "…, because"; "" if it fits.
std::string cuda_obstacle(const loop::Kernel& kernel);
// A source for NVRTC, which includes nothing; kernels with equal `lanes` only.
std::string cuda_unit(std::span<const KernelSource* const> kernels);

// The same for a compiler that is told a number of registers: it takes no notice where a kernel
// says how many threads its blocks have.
std::string cuda_unit_without_bounds(std::span<const KernelSource* const> kernels);

// A translation unit: prelude sections, library functions, then the kernels' texts; equal kernels
// once.
std::string translation_unit(std::span<const KernelSource* const> kernels);

}  // namespace ingot
