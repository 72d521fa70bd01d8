#include "run/strided_copy.h"

#include <numeric>

#include <gtest/gtest.h>

namespace ingot {
namespace {

template <class T>
TensorView view_of(std::vector<T>& data, DType dtype, std::vector<int64_t> shape,
                   std::vector<int64_t> strides, int64_t offset = 0) {
  return {data.data() + offset, dtype, std::move(shape), std::move(strides)};
}

std::vector<int32_t> iota(int64_t count) {
  std::vector<int32_t> data(static_cast<size_t>(count));
  std::iota(data.begin(), data.end(), 0);
  return data;
}

std::vector<int32_t> packed(const TensorView& view, int64_t count, ThreadPool* pool = nullptr) {
  std::vector<int32_t> plain(static_cast<size_t>(count), -1);
  copy_strided(view, reinterpret_cast<std::byte*>(plain.data()), CopyDirection::pack, pool);
  return plain;
}

TEST(StridedCopy, KnowsWhichViewsAKernelMayUseDirectly) {
  std::vector<int32_t> data = iota(24);
  EXPECT_TRUE(is_plain(view_of(data, DType::i32, {4, 6}, {})));
  EXPECT_TRUE(is_plain(view_of(data, DType::i32, {4, 6}, {6, 1})));
  EXPECT_TRUE(is_plain(view_of(data, DType::i32, {4, 1, 6}, {6, 99, 1})));
  EXPECT_TRUE(is_plain(view_of(data, DType::i32, {0, 6}, {1, 5})));
  EXPECT_FALSE(is_plain(view_of(data, DType::i32, {6, 4}, {1, 6})));
  EXPECT_FALSE(is_plain(view_of(data, DType::i32, {4, 6}, {0, 1})));
  EXPECT_FALSE(is_plain(view_of(data, DType::i32, {4}, {2})));
  TensorView odd = view_of(data, DType::i32, {2}, {});
  odd.data = static_cast<std::byte*>(odd.data) + 1;
  EXPECT_FALSE(is_plain(odd));
}

TEST(StridedCopy, PacksTransposedReversedBroadcastAndScalarViews) {
  std::vector<int32_t> data = iota(6);
  EXPECT_EQ(packed(view_of(data, DType::i32, {3, 2}, {1, 3}), 6),
            (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(packed(view_of(data, DType::i32, {2, 3}, {-3, -1}, 5), 6),
            (std::vector<int32_t>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(packed(view_of(data, DType::i32, {2, 3}, {0, 1}), 6),
            (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(packed(view_of(data, DType::i32, {}, {}, 4), 1), (std::vector<int32_t>{4}));
  EXPECT_EQ(packed(view_of(data, DType::i32, {2, 0}, {7, 7}), 1), (std::vector<int32_t>{-1}));
}

TEST(StridedCopy, UnpacksWhatItPacksForEveryElementSizeAndLeavesTheGaps) {
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
    const auto size = static_cast<size_t>(byte_size(dtype));
    std::vector<uint8_t> memory(size * 5 * 7 * 2);
    std::iota(memory.begin(), memory.end(), uint8_t{1});
    std::vector<uint8_t> other(memory.size(), 0), plain(size * 3 * 5);
    // Every second column of the first three rows, transposed.
    const TensorView from{memory.data(), dtype, {5, 3}, {2, 14}};
    const TensorView to{other.data(), dtype, {5, 3}, {2, 14}};
    copy_strided(from, reinterpret_cast<std::byte*>(plain.data()), CopyDirection::pack, nullptr);
    copy_strided(to, reinterpret_cast<std::byte*>(plain.data()), CopyDirection::unpack, nullptr);
    for (size_t byte = 0; byte < memory.size(); ++byte) {
      const size_t element = byte / size, row = element / 14, column = element % 14;
      const bool covered = row < 3 && column < 10 && column % 2 == 0;
      EXPECT_EQ(other[byte], covered ? memory[byte] : 0) << dtype_name(dtype) << " byte " << byte;
    }
  }
}

TEST(StridedCopy, SplitsLargeCopiesOverThreads) {
  ThreadPool pool(3);
  std::vector<int32_t> data = iota(513 * 711);
  const TensorView transposed = view_of(data, DType::i32, {711, 513}, {1, 711});
  const std::vector<int32_t> alone = packed(transposed, 513 * 711);
  EXPECT_EQ(packed(transposed, 513 * 711, &pool), alone);
  EXPECT_EQ(alone[1], 711);
  EXPECT_EQ(alone[513], 1);
}

TEST(StridedCopy, FindsOverlapAlsoWithNegativeStrides) {
  std::vector<int32_t> data = iota(20);
  const auto range = [&](std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset) {
    return byte_range(view_of(data, DType::i32, std::move(shape), std::move(strides), offset));
  };
  EXPECT_FALSE(overlap(range({10}, {}, 0), range({10}, {}, 10)));
  EXPECT_TRUE(overlap(range({10}, {}, 0), range({10}, {}, 9)));
  EXPECT_TRUE(overlap(range({5}, {-1}, 14), range({1}, {}, 10)));
  EXPECT_FALSE(overlap(range({5}, {-1}, 14), range({10}, {}, 0)));
  EXPECT_FALSE(overlap(range({0}, {}, 5), range({10}, {}, 0)));
}

}  // namespace
}  // namespace ingot
