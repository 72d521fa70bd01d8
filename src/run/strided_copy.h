// Copies between a caller's strided memory and the row-major buffers that kernels work on.
#pragma once

#include "base/tensor.h"
#include "run/thread_pool.h"

namespace ingot {

// Row-major without gaps, and aligned to its element: a kernel may use it as it is.
bool is_plain(const TensorView& view);

// First byte and one past the last byte that the view may touch; equal for an empty one.
struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
};
ByteRange byte_range(const TensorView& view);
bool overlap(const ByteRange& a, const ByteRange& b);
// Those of the views that have bytes, by their first one.
struct PlacedRange : ByteRange {
  size_t view;
};
std::vector<PlacedRange> sorted_ranges(const std::vector<TensorView>& views);
// The bytes that the views touch, as ranges apart from each other, ascending.
std::vector<ByteRange> joined_ranges(const std::vector<TensorView>& views);
bool overlaps_any(const std::vector<ByteRange>& joined, const ByteRange& range);
// Exactly: some byte belongs to an element of both, or to two elements of one view.
bool share_elements(const TensorView& a, const TensorView& b);
bool repeats_elements(const TensorView& view);

enum class CopyDirection : uint8_t { pack, unpack };
// pack: plain ← view; unpack: view ← plain. Large ones on several threads; `pool` may be null.
void copy_strided(const TensorView& view, std::byte* plain, CopyDirection direction,
                  ThreadPool* pool);

}  // namespace ingot
