// A loop kernel run twice: by the interpreter, and as emitted C++ through the compiler.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "emit/emit.h"
#include "jit/jit.h"
#include "loop/loop.h"

namespace ingot::testing {

// One parameter: its elements, and a margin behind them that must stay as it is.
struct Memory {
  static constexpr int64_t margin = 64;
  int64_t elements;
  Tensor data;
};

inline constexpr int vector_bytes = 64 * 4;  // of a chunk of f32

// The kernel's parameters. A third of the elements is any bit pattern, a third a pattern worth
// trying (NaN, infinities, zeros, subnormals, extremes), the rest moderate numbers.
std::vector<Memory> make_memories(const loop::Kernel& kernel, const Bindings& sizes, uint64_t seed);

// Moderate numbers in place of all elements, or of all but one in `keep`: rows of what
// make_memories writes are NaN as a whole, and their sums say nothing.
void make_moderate(Tensor* tensor, uint64_t seed, uint64_t keep = 0);

// Kernels compiled as one unit.
struct Compiled {
  std::vector<loop::Kernel> kernels;
  std::vector<KernelSource> sources;
  Library library;
};
Compiled compile_kernels(const std::vector<std::string>& texts);

// Runs both on the same memory and compares all of it. `prepare` may set inputs first.
using Prepare = std::function<void(std::vector<Memory>&)>;
void expect_same(const Compiled& compiled, size_t number, const Bindings& sizes, uint64_t seed = 1,
                 const Prepare& prepare = {});

}  // namespace ingot::testing
