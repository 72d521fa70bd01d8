// Loop IR → C++ text.
#pragma once

#include <span>

#include "emit/kernel_source.h"
#include "loop/loop.h"

namespace ingot {

// C++ with vector extensions. A chunk of 64 elements is one vector: as many registers as it takes,
// advanced statement by statement.
KernelSource emit_cpp(const loop::Kernel& kernel);

// A translation unit: prelude sections, library functions, then the kernels' texts; equal kernels
// once.
std::string translation_unit(std::span<const KernelSource* const> kernels);

}  // namespace ingot
