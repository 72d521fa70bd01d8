// What KernelCall::runtime points to: the state of one call of a program that run_product may use.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "run/memory_block.h"

namespace ingot {

// Operands that never change, rearranged once as the product wants them. An executable's own.
class PackedConstants {
 public:
  // Operand, storage type, and the numbers that its arrangement depends on.
  struct Key {
    const void* operand;
    int form;
    std::array<int64_t, 6> numbers;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void add_constant(const std::byte* begin, int64_t bytes);
  bool is_constant(const void* address) const;
  // The packed operand; made by make(block) at the first call.
  template <class Make>
  const std::byte* packed(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<MemoryBlock>& block = blocks_[key];
    if (block == nullptr) {
      auto fresh = std::make_unique<MemoryBlock>();
      make(*fresh);
      block = std::move(fresh);
    }
    return block->data();
  }

 private:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
  };
  std::vector<Range> constants_;  // sorted
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<MemoryBlock>> blocks_;
};

struct ProductRun {
  PackedConstants* constants = nullptr;
  std::mutex mutex;
  // The first error. Emitted kernels have no unwind tables: it is kept here, not thrown through
  // them.
  std::exception_ptr failure;
};

}  // namespace ingot
