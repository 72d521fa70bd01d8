// What KernelCall::runtime points to: the state of one call of a program that run_product may use.
#pragma once

#include <exception>
#include <mutex>

namespace ingot {

// Emitted kernels have no unwind tables: an error of a product is kept here, not thrown through
// them.
struct ProductRun {
  std::mutex mutex;
  std::exception_ptr failure;  // the first one
};

}  // namespace ingot
