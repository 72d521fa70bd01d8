// CUDA kernels on the host: the emitted text, compiled by the host compiler behind a preamble
// (cuda_emulation.inc) that has what CUDA C++ has without a header. The threads of a block are
// fibers that take turns at barriers, shuffles and votes, one at a time; blocks run one after the
// other, those of a cooperative launch or of a cluster in turns. Bits are the device's, but for the
// payload of NaNs.
//
// Found and reported as Error{internal}: threads that wait for each other at different barriers or
// in different warp operations, a shuffle from a lane that takes no part, accesses off their
// alignment, and accesses beyond a GuardedMemory. Shared memory starts poisoned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emit/kernel_source.h"
#include "jit/jit.h"

namespace ingot::testing {

struct EmulatedDim {
  unsigned x = 1, y = 1, z = 1;
};

struct EmulatedLaunch {
  EmulatedDim grid = {}, block = {};
  int64_t shared_bytes = 0;  // dynamic
  bool cooperative = false;  // blocks may wait for each other
  unsigned cluster = 1;      // blocks that may do so, and write to each other's shared memory
};

// Another order in which threads and blocks run must not change a bit.
enum class EmulatedOrder { forwards, backwards };

// The unit of `cuda_unit`, or a text in its form, for `compile`; equal `lanes` only.
Unit emulated_unit(const std::string& name, std::span<const KernelSource* const> kernels);
Unit emulated_unit(const std::string& name, const std::string& cuda_text,
                   const std::vector<std::string>& symbols);

std::string cuda_primitives_text();  // all of them, as a kernel's text has them before it

// `arguments`: one pointer an argument.
void run_emulated(const Library& library, const std::string& symbol, const EmulatedLaunch& launch,
                  const std::vector<void*>& arguments,
                  EmulatedOrder order = EmulatedOrder::forwards);

// Memory whose last byte lies before a page that cannot be touched, as far as its alignment of 16
// allows; the bytes between hold a pattern.
class GuardedMemory {
 public:
  explicit GuardedMemory(int64_t bytes, uint8_t fill = 0xff);
  std::byte* data() const { return data_; }
  bool intact() const;  // the bytes around it

 private:
  std::shared_ptr<std::byte> pages_;
  std::byte* data_;
  int64_t bytes_, usable_;
};

}  // namespace ingot::testing
