#include "run/strided_copy.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

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

// Against every pair of ranges, touching, nested and empty ones among them.
TEST(StridedCopy, JoinedRangesOverlapWhatAnyOfThemDoes) {
  std::vector<int32_t> data(60);
  std::mt19937 random(3);
  int overlapping = 0;
  for (int round = 0; round < 500; ++round) {
    const auto some_view = [&] {
      return view_of(data, DType::i32, {static_cast<int64_t>(random() % 6)}, {}, random() % 50);
    };
    std::vector<TensorView> views;
    for (int i = 0; i < 5; ++i) views.push_back(some_view());
    const ByteRange range = byte_range(some_view());
    const bool any = std::ranges::any_of(
        views, [&](const TensorView& view) { return overlap(byte_range(view), range); });
    EXPECT_EQ(overlaps_any(joined_ranges(views), range), any) << round;
    overlapping += any ? 1 : 0;
  }
  EXPECT_GT(overlapping, 100);
  EXPECT_LT(overlapping, 400);
}

// Against counting the bytes of small views of every shape.
TEST(StridedCopy, KnowsExactlyWhetherElementsShareMemory) {
  std::vector<int32_t> data(400);
  std::mt19937 random(5);
  const auto any = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const auto some_view = [&](DType dtype) {
    std::vector<int64_t> shape, strides;
    for (int d = any(0, 3); d > 0; --d) {
      shape.push_back(any(1, 4));
      strides.push_back(any(-9, 9));
    }
    TensorView result = view_of(data, dtype, shape, strides, 0);
    result.data = reinterpret_cast<std::byte*>(data.data()) + 800 + any(0, 40);
    return result;
  };
  const auto bytes_of = [&](const TensorView& view) {  // how often each is touched
    std::map<const std::byte*, int> touched;
    std::vector<int64_t> at(view.shape.size());
    for (bool more = true; more;) {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * view.strides[d];
      for (int64_t b = 0; b < byte_size(view.dtype); ++b) {
        ++touched[static_cast<const std::byte*>(view.data) + offset * byte_size(view.dtype) + b];
      }
      more = false;
      for (size_t d = 0; d < at.size() && !more; ++d) {
        more = ++at[d] < view.shape[d];
        if (!more) at[d] = 0;
      }
    }
    return touched;
  };
  int shared = 0, repeated = 0;
  for (int i = 0; i < 20000; ++i) {
    const TensorView a = some_view(DType::f32), b = some_view(DType::f16);
    const auto of_a = bytes_of(a), of_b = bytes_of(b);
    const bool twice = std::ranges::any_of(of_a, [](const auto& each) { return each.second > 1; });
    const bool common =
        std::ranges::any_of(of_a, [&](const auto& each) { return of_b.contains(each.first); });
    ASSERT_EQ(repeats_elements(a), twice) << i;
    ASSERT_EQ(share_elements(a, b), common) << i;
    shared += common ? 1 : 0;
    repeated += twice ? 1 : 0;
  }
  EXPECT_GT(std::min(shared, 20000 - shared), 1000);
  EXPECT_GT(std::min(repeated, 20000 - repeated), 1000);
}

}  // namespace
}  // namespace ingot
