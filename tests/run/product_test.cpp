#include "run/product.h"

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/tensor.h"
#include "run/product_run.h"

namespace ingot {
namespace {

// The dtype of a product's result.
DType result_dtype(DType dtype) { return compute_dtype(dtype); }

Tensor random_operand(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  return random_tensor(dtype, std::move(shape), seed, 1.0, dtype == DType::u8 ? 0 : -100, 100);
}

void product(const std::string& routine, const std::vector<long>& sizes, const void* lhs,
             const void* rhs, void* dst, ProductRun* run = nullptr) {
  KernelCall call{};
  call.runtime = run;
  run_product(&call, routine.c_str(), sizes.data(), lhs, rhs, dst);
}

// Integers exactly, floats within a bound for sums of `terms` products of normal values.
void expect_close(const Tensor& got, int64_t index, double real, int64_t integer, int64_t terms) {
  if (!is_float(got.dtype())) {
    const int64_t wrapped = got.dtype() == DType::i32 ? static_cast<int32_t>(integer) : integer;
    EXPECT_EQ(got.get_i64(index), wrapped) << index;
    return;
  }
  const double unit = got.dtype() == DType::f64 ? 1e-15 : 1e-6;
  EXPECT_NEAR(got.get_f64(index), real, unit * 4 * static_cast<double>(terms)) << index;
}

void check_matmul(DType dtype, int64_t m, int64_t n, int64_t k, bool ta, bool tb,
                  ProductRun* run = nullptr) {
  SCOPED_TRACE(fmt::format("{} {}x{}x{} {} {}", dtype_name(dtype), m, n, k, ta, tb));
  const int64_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 2, ldc = n + 1;
  const Tensor a = random_operand(dtype, {ta ? k : m, lda}, 1);
  const Tensor b = random_operand(dtype, {tb ? n : k, ldb}, 2);
  Tensor c(result_dtype(dtype), {m, ldc});
  for (int64_t i = 0; i < c.size(); ++i) c.set_f64(i, 77);
  if (run != nullptr) run->constants->add_constant(b.data(), b.bytes());
  for (int repeat = 0; repeat < 2; ++repeat) {
    product(fmt::format("matmul.{}", dtype_name(dtype)), {m, n, k, lda, ldb, ldc, ta, tb}, a.data(),
            b.data(), c.data(), run);
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double real = 0;
      uint64_t integer = 0;
      for (int64_t p = 0; p < k; ++p) {
        const int64_t left = ta ? p * lda + i : i * lda + p;
        const int64_t right = tb ? j * ldb + p : p * ldb + j;
        real += a.get_f64(left) * b.get_f64(right);
        if (!is_float(dtype)) {
          integer +=
              static_cast<uint64_t>(a.get_i64(left)) * static_cast<uint64_t>(b.get_i64(right));
        }
      }
      expect_close(c, i * ldc + j, real, static_cast<int64_t>(integer), k + 1);
    }
    EXPECT_EQ(c.get_f64(i * ldc + n), 77) << "the gap of row " << i;
  }
}

constexpr DType product_dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64,
                                    DType::i32, DType::i64,  DType::u8};

TEST(Product, MatmulOfEveryDtypeAndOrientation) {
  for (const DType dtype : product_dtypes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        check_matmul(dtype, 5, 7, 70, ta, tb);
        check_matmul(dtype, 1, 3, 2, ta, tb);
        check_matmul(dtype, 4, 3, 0, ta, tb);
      }
    }
  }
  check_matmul(DType::f32, 0, 3, 2, false, false);
  check_matmul(DType::f32, 2, 0, 2, false, false);
  check_matmul(DType::f32, 67, 129, 300, false, false);
}

TEST(Product, MatmulKeepsConstantsRearranged) {
  for (const DType dtype : product_dtypes) {
    for (const bool tb : {false, true}) {
      PackedConstants constants;
      ProductRun run;
      run.constants = &constants;
      check_matmul(dtype, 5, 7, 33, false, tb, &run);
    }
  }
}

TEST(Product, IntegersWrap) {
  const int32_t a[] = {INT32_MAX, 2}, b[] = {3, INT32_MIN};
  int32_t c = 0;
  product("matmul.i32", {1, 1, 2, 2, 1, 1, 0, 0}, a, b, &c);
  EXPECT_EQ(c, static_cast<int32_t>(3U * 0x7fffffffU + 2U * 0x80000000U));
}

TEST(Product, WidensSpecialHalves) {
  // f16: subnormal, -0, infinity, NaN; times one.
  const uint16_t a[] = {0x0001, 0x8000, 0xfc00, 0x7e00, 0x03ff, 0x7bff}, one[] = {0x3c00};
  float c[6];
  product("matmul.f16", {6, 1, 1, 1, 1, 1, 0, 0}, a, one, c);
  EXPECT_EQ(c[0], 0x1p-24F);
  EXPECT_EQ(c[1], 0.0F);
  EXPECT_EQ(c[2], -INFINITY);
  EXPECT_TRUE(std::isnan(c[3]));
  EXPECT_EQ(c[4], 1023 * 0x1p-24F);
  EXPECT_EQ(c[5], 65504.0F);
}

struct Conv {
  std::vector<long> input, kernel, stride, dilation, low, high;
  long channels = 4, outputs = 6, groups = 1;

  std::vector<long> out() const {
    std::vector<long> sizes;
    for (size_t d = 0; d < input.size(); ++d) {
      const long room = input[d] + low[d] + high[d] - dilation[d] * (kernel[d] - 1) - 1;
      sizes.push_back(room < 0 ? 0 : room / stride[d] + 1);
    }
    return sizes;
  }
};

long volume(const std::vector<long>& sizes) {
  long count = 1;
  for (const long size : sizes) count *= size;
  return count;
}

// Strides of [channels, spatial…] or [spatial…, channels].
std::vector<long> layout(long channels, const std::vector<long>& spatial, bool channel_last) {
  std::vector<long> strides(spatial.size() + 1);
  long stride = channel_last ? channels : 1;
  for (size_t d = spatial.size(); d-- > 0;) {
    strides[d + 1] = stride;
    stride *= spatial[d];
  }
  strides[0] = channel_last ? 1 : stride;
  return strides;
}

// Runs a convolution; operands given in the canonical layout are laid out as asked.
Tensor run_conv(DType dtype, const Conv& conv, const Tensor& image, const Tensor& weights,
                bool lhs_last, bool dst_last, ProductRun* run = nullptr) {
  const std::vector<long> in = layout(conv.channels, conv.input, lhs_last);
  const std::vector<long> out = layout(conv.outputs, conv.out(), dst_last);
  Tensor lhs(dtype, {image.size()});
  const long pixels = volume(conv.input), positions = volume(conv.out());
  for (long c = 0; c < conv.channels; ++c) {
    for (long p = 0; p < pixels; ++p) {
      std::memcpy(
          lhs.data() + (lhs_last ? p * conv.channels + c : c * pixels + p) * byte_size(dtype),
          image.data() + (c * pixels + p) * byte_size(dtype),
          static_cast<size_t>(byte_size(dtype)));
    }
  }
  std::vector<long> sizes = {conv.channels, conv.groups, conv.outputs,
                             static_cast<long>(conv.input.size())};
  for (const auto* values : {&conv.input, &conv.kernel, &conv.stride, &conv.dilation, &conv.low,
                             &conv.high, &in, &out}) {
    sizes.insert(sizes.end(), values->begin(), values->end());
  }
  Tensor dst(result_dtype(dtype), {conv.outputs * positions});
  product(fmt::format("conv.{}", dtype_name(dtype)), sizes, lhs.data(), weights.data(), dst.data(),
          run);
  if (!dst_last) return dst;
  Tensor canonical(dst.dtype(), {dst.size()});
  const auto size = static_cast<size_t>(byte_size(dst.dtype()));
  for (long o = 0; o < conv.outputs; ++o) {
    for (long p = 0; p < positions; ++p) {
      std::memcpy(canonical.data() + static_cast<size_t>(o * positions + p) * size,
                  dst.data() + static_cast<size_t>(p * conv.outputs + o) * size, size);
    }
  }
  return canonical;
}

void naive_conv(const Conv& conv, const Tensor& image, const Tensor& weights, const Tensor& got) {
  const std::vector<long> out = conv.out();
  const long positions = volume(out), taps = volume(conv.kernel), pixels = volume(conv.input);
  const long in_group = conv.channels / conv.groups, out_group = conv.outputs / conv.groups;
  for (long o = 0; o < conv.outputs; ++o) {
    for (long p = 0; p < positions; ++p) {
      double real = 0;
      int64_t integer = 0;
      for (long tap = 0; tap < taps; ++tap) {
        long at = 0, scale = 1, p_rest = p, tap_rest = tap;
        bool inside = true;
        for (size_t d = conv.input.size(); d-- > 0;) {
          const long x = p_rest % out[d] * conv.stride[d] +
                         tap_rest % conv.kernel[d] * conv.dilation[d] - conv.low[d];
          inside = inside && x >= 0 && x < conv.input[d];
          at += x * scale;
          scale *= conv.input[d];
          p_rest /= out[d];
          tap_rest /= conv.kernel[d];
        }
        for (long c = 0; inside && c < in_group; ++c) {
          const long left = (o / out_group * in_group + c) * pixels + at;
          const long right = (o * in_group + c) * taps + tap;
          real += image.get_f64(left) * weights.get_f64(right);
          if (!is_float(image.dtype())) integer += image.get_i64(left) * weights.get_i64(right);
        }
      }
      expect_close(got, o * positions + p, real, integer, in_group * taps + 1);
    }
  }
}

void check_conv(DType dtype, const Conv& conv) {
  const Tensor image = random_operand(dtype, {conv.channels, volume(conv.input)}, 3);
  const Tensor weights =
      random_operand(dtype, {conv.outputs, conv.channels / conv.groups, volume(conv.kernel)}, 4);
  const Tensor first = run_conv(dtype, conv, image, weights, false, false);
  naive_conv(conv, image, weights, first);
  PackedConstants constants;
  constants.add_constant(weights.data(), weights.bytes());
  ProductRun run;
  run.constants = &constants;
  for (const bool lhs_last : {false, true}) {
    for (const bool dst_last : {false, true}) {
      for (ProductRun* with : {static_cast<ProductRun*>(nullptr), &run}) {
        const Tensor other = run_conv(dtype, conv, image, weights, lhs_last, dst_last, with);
        EXPECT_EQ(std::memcmp(first.data(), other.data(), static_cast<size_t>(first.bytes())), 0)
            << "other bits with channel-last input " << lhs_last << " result " << dst_last;
      }
    }
  }
}

TEST(Product, ConvInOneDimension) {
  for (const DType dtype : product_dtypes) {
    check_conv(dtype, {{20}, {5}, {1}, {1}, {0}, {0}});
    check_conv(dtype, {{20}, {1}, {1}, {1}, {0}, {0}});
  }
  check_conv(DType::f32, {{20}, {1}, {2}, {1}, {0}, {0}});
  check_conv(DType::f32, {{21}, {3}, {2}, {1}, {1}, {2}});
  check_conv(DType::f32, {{21}, {3}, {1}, {4}, {3}, {1}});
  check_conv(DType::f32, {{3}, {5}, {1}, {1}, {0}, {0}});  // no position at all
}

TEST(Product, ConvInTwoAndThreeDimensions) {
  check_conv(DType::f32, {{9, 11}, {3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
  check_conv(DType::f32, {{9, 11}, {3, 3}, {2, 3}, {2, 1}, {2, 1}, {1, 2}});
  check_conv(DType::bf16, {{9, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
  check_conv(DType::f32, {{6, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}});
  check_conv(DType::f32, {{4, 5, 6}, {2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1}, {0, 1, 1}});
}

TEST(Product, ConvInGroups) {
  check_conv(DType::f32, {{20}, {3}, {1}, {1}, {1}, {1}, 4, 6, 2});
  check_conv(DType::f32, {{20}, {1}, {1}, {1}, {0}, {0}, 6, 6, 3});
  check_conv(DType::i32, {{8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 4, 8, 4});
}

TEST(Product, ConvOfManyPositionsGoesBlockByBlock) {
  check_conv(DType::f32, {{400}, {128}, {1}, {1}, {0}, {0}, 96, 3, 1});
}

TEST(Product, BitsDoNotDependOnTheThreadThatCalls) {
  const Tensor a = random_operand(DType::f32, {64, 512}, 5);
  const Tensor b = random_operand(DType::f32, {512, 192}, 6);
  std::vector<Tensor> results;
  for (int i = 0; i < 3; ++i) results.emplace_back(DType::f32, std::vector<int64_t>{64, 192});
  const auto multiply = [&](size_t i) {
    product("matmul.f32", {64, 192, 512, 512, 192, 192, 0, 0}, a.data(), b.data(),
            results[i].data());
  };
  multiply(0);
  std::thread one([&] { multiply(1); }), two([&] { multiply(2); });
  one.join();
  two.join();
  for (const Tensor& result : results) {
    EXPECT_EQ(std::memcmp(results[0].data(), result.data(), static_cast<size_t>(result.bytes())),
              0);
  }
}

TEST(Product, AnUnknownRoutineIsAnErrorThatNoKernelHasToUnwind) {
  float value = 0;
  EXPECT_THROW(product("divide.f32", {}, &value, &value, &value), Error);
  ProductRun run;
  product("matmul.f8", {}, &value, &value, &value, &run);
  ASSERT_NE(run.failure, nullptr);
  EXPECT_THROW(std::rethrow_exception(run.failure), Error);
}

// Printed, not asserted: the machine may be busy.
TEST(Product, SpeedOfMagikasConvolution) {
  const Conv conv{{512}, {5}, {1}, {1}, {0}, {0}, 256, 512, 1};
  const Tensor image = random_operand(DType::f32, {256 * 512}, 7);
  const Tensor weights = random_operand(DType::f32, {512 * 256 * 5}, 8);
  std::vector<float> dst(512 * 508);
  for (const bool last : {true, false}) {
    PackedConstants constants;
    constants.add_constant(weights.data(), weights.bytes());
    ProductRun run;
    run.constants = &constants;
    std::vector<long> sizes = {256, 1, 512, 1, 512, 5, 1, 1, 0, 0};
    for (const long stride : layout(256, {512}, last)) sizes.push_back(stride);
    for (const long stride : layout(512, {508}, last)) sizes.push_back(stride);
    double best = 1e9;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      product("conv.f32", sizes, image.data(), weights.data(), dst.data(), &run);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("channel-%s: %.2f ms, %.0f GFLOP/s\n", last ? "last" : "first", best * 1e3,
                2.0 * 512 * 508 * 1280 / best / 1e9);
  }
}

}  // namespace
}  // namespace ingot
