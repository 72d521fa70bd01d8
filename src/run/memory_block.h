// Memory that a run reuses: one block that grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ingot {

inline constexpr int64_t buffer_alignment = 64;

inline int64_t aligned(int64_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

// 64-byte aligned; from 2 MB on in pages of 2 MB where the system has them (touching fresh 4 KB
// pages costs more than the kernel that writes them). Not touched here: the threads that write it
// do.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  ~MemoryBlock();
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  // At least `bytes`; contents are lost when it grows. Error{input} if there is no memory.
  std::byte* reserve(int64_t bytes, std::string_view what);
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace ingot
