#include "run/memory_block.h"

#include <sys/mman.h>

#include <cstdlib>

#include "base/error.h"

namespace ingot {
namespace {

constexpr int64_t huge_page = int64_t{2} << 20;

}  // namespace

MemoryBlock::~MemoryBlock() { std::free(data_); }

std::byte* MemoryBlock::reserve(int64_t bytes, std::string_view what) {
  if (bytes <= capacity_) return data_;
  const int64_t unit = bytes >= huge_page ? huge_page : buffer_alignment;
  const int64_t rounded = bytes <= INT64_MAX - unit ? (bytes + unit - 1) / unit * unit : bytes;
  std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
  data_ = static_cast<std::byte*>(
      std::aligned_alloc(static_cast<size_t>(unit), static_cast<size_t>(rounded)));
  if (data_ == nullptr) {
    fail_input({}, fmt::format("out of memory: {} bytes for {}", bytes, what));
  }
  if (unit == huge_page) madvise(data_, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  capacity_ = rounded;
  return data_;
}

}  // namespace ingot
