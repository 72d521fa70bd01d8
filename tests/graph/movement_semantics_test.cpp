// docs/semantics.md, continued: movement, positions, random numbers, products.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph/evaluate.h"
#include "support/values.h"

namespace ingot {
namespace {

using testing::evaluate_text;
using testing::same_bits;
using testing::tensor;
using testing::values_of;
using Values = std::vector<double>;

// Movement

TEST(Semantics, GatherOutOfRangeIsAnErrorOrZero) {
  const Tensor table = tensor(DType::f32, {5, 1}, {1, 2, 3, 4, 5});
  const auto run = [&](double id, const std::string& attribute) {
    return evaluate_text("t: f32[5, 1], i: i64[1]",
                         "y = gather(t, i, dim=0" + attribute + ") return y",
                         {table, tensor(DType::i64, {1}, {id})})
        .get_f64(0);
  };
  EXPECT_EQ(run(4, ""), 5);
  EXPECT_EQ(run(7, ", out_of_range=\"zero\""), 0);
  EXPECT_EQ(run(-1, ", out_of_range=\"zero\""), 0);
  for (const double id : {7.0, -1.0}) {
    try {
      run(id, "");
      FAIL() << id;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_EQ(error.message(), fmt::format("gather: index {} out of range [0, 5)", id));
    }
  }
}

Values results(const std::string& inputs, const std::string& body,
               const std::vector<Tensor>& data) {
  return values_of(evaluate_text(inputs, body, data));
}

TEST(Semantics, EightBitFloatsAreOnlyStored) {
  for (const DType dtype : {DType::f8e4m3, DType::f8e5m2}) {
    Tensor all(dtype, {256});
    for (int i = 0; i < 256; ++i) all.data()[i] = static_cast<std::byte>(i);
    for (int i = 0; i < 256; ++i) {
      Tensor one(dtype, {});
      one.set_f64(0, all.get_f64(i));
      if (std::isnan(all.get_f64(i))) continue;
      EXPECT_EQ(one.data()[0], all.data()[i]) << i;
    }
    const std::string type(dtype_name(dtype));
    EXPECT_THROW(evaluate_text("x: " + type + "[256]", "y = exp(x) return y", {all}), Error);
    EXPECT_THROW(evaluate_text("x: " + type + "[256]", "y = sum(x) return y", {all}), Error);
    const Tensor moved =
        evaluate_text("x: " + type + "[256]", "y = reshape(x, shape=[16, 16]) return y", {all});
    EXPECT_EQ(std::memcmp(moved.data(), all.data(), 256), 0);
  }
}

TEST(Semantics, CastsToEightBitFloatsSaturateOrNot) {
  const Tensor x = tensor(DType::f32, {10},
                          {448, 464, 464.001, 1e9, -INFINITY, NAN, 61439, 61440, 17, 0x1.8p-10});
  const Values e4m3 =
      results("x: f32[10]", "c = cast(x, dtype=f8e4m3) y = cast(c, dtype=f32) return y", {x});
  EXPECT_EQ(Values(e4m3.begin(), e4m3.begin() + 5), (Values{448, 448, 448, 448, -448}));
  EXPECT_TRUE(std::isnan(e4m3[5]));
  EXPECT_EQ(Values(e4m3.begin() + 6, e4m3.end()), (Values{448, 448, 16, 0x1p-9}));
  const Values e5m2 =
      results("x: f32[10]", "c = cast(x, dtype=f8e5m2) y = cast(c, dtype=f32) return y", {x});
  EXPECT_EQ(Values(e5m2.begin(), e5m2.begin() + 5), (Values{448, 448, 448, 57344, -57344}));
  EXPECT_EQ(Values(e5m2.begin() + 6, e5m2.end()), (Values{57344, 57344, 16, 0x1.8p-10}));
  const Values open4 =
      results("x: f32[10]",
              "c = cast(x, dtype=f8e4m3, saturate=false) y = cast(c, dtype=f32) return y", {x});
  EXPECT_EQ(Values(open4.begin(), open4.begin() + 2), (Values{448, 448}));
  for (const size_t i : {2, 3, 4, 5, 6, 7}) EXPECT_TRUE(std::isnan(open4[i])) << i;
  const Values open5 =
      results("x: f32[10]",
              "c = cast(x, dtype=f8e5m2, saturate=false) y = cast(c, dtype=f32) return y", {x});
  EXPECT_EQ(open5[3], INFINITY);
  EXPECT_EQ(open5[4], -INFINITY);
  EXPECT_EQ(open5[6], 57344);
  EXPECT_EQ(open5[7], INFINITY);
}

TEST(Semantics, APositionIsTheFirstExtremeOne) {
  const Tensor x = tensor(DType::f32, {2, 4}, {1, 7, NAN, 7, 3, 0, 3, 0});
  EXPECT_EQ(results("x: f32[2, 4]", "y = argmax(x, dims=[1]) return y", {x}), (Values{2, 0}));
  EXPECT_EQ(results("x: f32[2, 4]", "y = argmin(x, dims=[1]) return y", {x}), (Values{2, 1}));
  EXPECT_EQ(
      results("x: f32[2, 4]", "y = argmin(x, dims=[1], select_last_index=true) return y", {x}),
      (Values{2, 3}));
  EXPECT_EQ(results("x: f32[2, 4]", "y = argmax(x) return y", {x}), (Values{2}));
  EXPECT_EQ(
      results("x: f32[B, 2]", "y = argmax(x, dims=[0]) return y", {Tensor(DType::f32, {0, 2})}),
      (Values{-1, -1}));
  EXPECT_THROW(evaluate_text("x: f32[0, 2]", "y = argmax(x, dims=[0]) return y",
                             {Tensor(DType::f32, {0, 2})}),
               Error);
}

TEST(Semantics, TopKPutsNaNFirstAndKeepsTheOrderOfEqualOnes) {
  const Tensor x = tensor(DType::f32, {6}, {2, NAN, 5, -0.0, 5, 0.0});
  EXPECT_EQ(results("x: f32[6]", "v, y = topk(x, k=6) return y", {x}), (Values{1, 2, 4, 0, 3, 5}));
  EXPECT_EQ(results("x: f32[6]", "v, y = topk(x, k=4, largest=false) return y", {x}),
            (Values{1, 3, 5, 0}));
  EXPECT_THROW(evaluate_text("x: f32[6]", "y = topk(x, k=7) return y", {x}), Error);
}

TEST(Semantics, ACumulativeSumRunsInOrder) {
  const Tensor x = tensor(DType::f32, {4}, {1e8f, 1, -1e8f, 1});
  EXPECT_EQ(results("x: f32[4]", "y = cumsum(x, dim=0) return y", {x}), (Values{1e8, 1e8, 0, 1}));
  EXPECT_EQ(
      results("x: f32[4]", "y = cumsum(x, dim=0, reverse=true, exclusive=true) return y", {x}),
      (Values{-1e8, -1e8, 1, 0}));
  const Tensor h = tensor(DType::f16, {3}, {2048, 1, 1});
  EXPECT_EQ(results("x: f16[3]", "y = cumsum(x, dim=0) return y", {h}), (Values{2048, 2048, 2050}));
}

TEST(Semantics, UpdatesAreMadeInOrder) {
  const Tensor into = tensor(DType::f16, {2}, {2048, 0});
  const Tensor ids = tensor(DType::i32, {3}, {0, 0, 1});
  const Tensor updates = tensor(DType::f16, {3}, {1, 1, 7});
  const std::string inputs = "x: f16[2], i: i32[3], u: f16[3]";
  EXPECT_EQ(results(inputs, "y = scatter_add(x, i, u) return y", {into, ids, updates}),
            (Values{2048, 7}));
  EXPECT_EQ(results(inputs, "y = scatter(x, i, u) return y", {into, ids, updates}), (Values{1, 7}));
  EXPECT_EQ(
      results(inputs, "y = scatter_elements(x, i, u, mode=\"max\") return y", {into, ids, updates}),
      (Values{2048, 7}));
  const Tensor outside = tensor(DType::i32, {3}, {0, 2, 1});
  EXPECT_THROW(results(inputs, "y = scatter(x, i, u) return y", {into, outside, updates}), Error);
}

TEST(Semantics, PaddingOfPoolsIsNeverChosenNorCounted) {
  const Tensor x = tensor(DType::f32, {1, 1, 3}, {-1, -2, -3});
  EXPECT_EQ(results("x: f32[1, 1, 3]", "y = max_pool(x, kernel=[2], pads=[1, 1]) return y", {x}),
            (Values{-1, -1, -2, -3}));
  EXPECT_EQ(results("x: f32[1, 1, 3]", "y = avg_pool(x, kernel=[2], pads=[1, 1]) return y", {x}),
            (Values{-1, -1.5, -2.5, -3}));
  EXPECT_EQ(
      results("x: f32[1, 1, 3]",
              "y = avg_pool(x, kernel=[2], pads=[1, 1], count_include_pad=true) return y", {x}),
      (Values{-0.5, -1.5, -2.5, -1.5}));
  EXPECT_EQ(results("x: f32[1, 1, 3]",
                    "y = avg_pool(x, kernel=[2], strides=[2], ceil_mode=true, "
                    "count_include_pad=true) return y",
                    {x}),
            (Values{-1.5, -3}));
}

TEST(Semantics, RandomNumbersFollowFromSeedAndPosition) {
  const Tensor counters = tensor(DType::u64, {2}, {0, 1});
  const Tensor bits = evaluate_text("i: u64[2]", "y = random_bits(i, 0) return y", {counters});
  EXPECT_EQ(static_cast<uint64_t>(bits.get_i64(0)), 0xe169c58d6627e8d5u);
  const Values row = results("x: f32[1]", "r = random(shape=[6], seed=3) y = add(x, r) return y",
                             {Tensor(DType::f32, {1})});
  const Values grid =
      results("x: f32[1]", "r = random(shape=[2, 3], seed=3) y = add(r, x) return y",
              {Tensor(DType::f32, {1})});
  EXPECT_EQ(row, grid);
  for (const double value : row) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 1);
  }
  const Values normal =
      results("x: f64[1]",
              "r = random(shape=[4000], seed=9, distribution=\"normal\", dtype=f64) "
              "y = add(r, x) return y",
              {Tensor(DType::f64, {1})});
  double sum = 0, squares = 0;
  for (const double value : normal) sum += value, squares += value * value;
  EXPECT_NEAR(sum / 4000, 0, 0.06);
  EXPECT_NEAR(squares / 4000, 1, 0.08);
}

TEST(Semantics, PadRepeatsTheOperand) {
  const Tensor x = tensor(DType::f32, {3}, {1, 2, 3});
  const auto padded = [&](const std::string& mode) {
    return results("x: f32[3]", "y = pad(x, low=[3], high=[1], mode=\"" + mode + "\") return y",
                   {x});
  };
  EXPECT_EQ(padded("edge"), (Values{1, 1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("reflect"), (Values{2, 3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(padded("wrap"), (Values{1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(results("x: f32[B]", "y = pad(x, low=[1], high=[0], value=4, mode=\"edge\") return y",
                    {Tensor(DType::f32, {0})}),
            (Values{4}));
  EXPECT_THROW(padded("symmetric"), Error);
}

TEST(Semantics, GatherElementsTakesOneElementAnId) {
  const Tensor x = tensor(DType::f32, {2, 2}, {1, 2, 3, 4});
  const std::string inputs = "x: f32[2, 2], i: i64[2, 1]";
  const Tensor ids = tensor(DType::i64, {2, 1}, {1, 0}), bad = tensor(DType::i64, {2, 1}, {2, 0});
  EXPECT_EQ(results(inputs, "y = gather_elements(x, i, dim=1) return y", {x, ids}), (Values{2, 3}));
  EXPECT_EQ(
      results(inputs, "y = gather_elements(x, i, dim=1, out_of_range=\"zero\") return y", {x, bad}),
      (Values{0, 3}));
  EXPECT_THROW(results(inputs, "y = gather_elements(x, i, dim=1) return y", {x, bad}), Error);
}

TEST(Semantics, ASliceOfANamedSizeIsAnErrorBelowItsBounds) {
  const std::string statements = "y = slice(x, starts=[8], ends=[-64]) return y";
  const Tensor x = random_tensor(DType::f32, {40}, 5, 1, 0, 0);
  EXPECT_EQ(evaluate_text("x: f32[40]", statements, {x}).shape(), (std::vector<int64_t>{0}));
  EXPECT_THROW(evaluate_text("x: f32[N]", statements, {x}), Error);
}

TEST(Semantics, WhatNoOutputNeedsRaisesNoError) {
  const Tensor x = random_tensor(DType::f32, {40}, 5, 1, 0, 0);
  const Tensor ids = tensor(DType::i64, {1}, {77});
  const std::string slice = "s = slice(x, starts=[8], ends=[-64]) ", sum = "y = add(x, x) return y";
  EXPECT_EQ(evaluate_text("x: f32[N]", slice + sum, {x}).shape(), (std::vector<int64_t>{40}));
  EXPECT_THROW(evaluate_text("x: f32[N]", slice + "return s", {x}), Error);
  const std::string gather = "g = gather(x, ids, dim=0) ", both = "x: f32[N], ids: i64[1]";
  EXPECT_EQ(evaluate_text(both, gather + sum, {x, ids}).shape(), (std::vector<int64_t>{40}));
  EXPECT_THROW(evaluate_text(both, gather + "return g", {x, ids}), Error);
}

TEST(Semantics, MovementKeepsBits) {
  Tensor x(DType::f32, {2, 2});
  const uint32_t bits[] = {0xffc12345, 0x80000000, 0x00000001, 0x7f800001};
  std::memcpy(x.data(), bits, sizeof bits);
  const Tensor y = evaluate_text("x: f32[2, 2]",
                                 "t = transpose(x, perm=[1, 0]) u = transpose(t, perm=[1, 0]) "
                                 "y = select(true, u, x) return y",
                                 {x});
  EXPECT_TRUE(same_bits(x, y));
}

// Products

TEST(Semantics, ProductsAccumulateInF32InOrderOfK) {
  const Tensor a = random_tensor(DType::bf16, {1, 300}, 1, 1, 0, 0);
  const Tensor b = random_tensor(DType::bf16, {300, 2}, 2, 1, 0, 0);
  const Tensor y =
      evaluate_text("a: bf16[1, K], b: bf16[K, 2]", "y = matmul(a, b) return y", {a, b});
  for (int64_t column = 0; column < 2; ++column) {
    float sum = 0;
    for (int64_t k = 0; k < 300; ++k) {
      const float product =
          static_cast<float>(a.get_f64(k)) * static_cast<float>(b.get_f64(2 * k + column));
      sum = sum + product;
    }
    EXPECT_EQ(values_of(y)[static_cast<size_t>(column)],
              values_of(evaluate_text("x: f32[1]", "y = cast(x, dtype=bf16) return y",
                                      {tensor(DType::f32, {1}, {sum})}))[0]);
  }
}

TEST(Semantics, IntegerProductsWrap) {
  const Tensor a = tensor(DType::i32, {1, 2}, {65536, 1});
  const Tensor b = tensor(DType::i32, {2, 1}, {65536, 5});
  EXPECT_EQ(
      evaluate_text("a: i32[1, 2], b: i32[2, 1]", "y = matmul(a, b) return y", {a, b}).get_i64(0),
      5);
}

TEST(Semantics, ConvPaddingIsZerosThatAreMultiplied) {
  const Tensor x = tensor(DType::f32, {1, 1, 3}, {1, 2, 3});
  const Tensor w = tensor(DType::f32, {1, 1, 2}, {NAN, 10});
  const Tensor y = evaluate_text("x: f32[1, 1, 3], w: f32[1, 1, 2]",
                                 "y = conv(x, w, pads=[1, 0]) return y", {x, w});
  ASSERT_EQ(y.size(), 3);
  EXPECT_TRUE(std::isnan(y.get_f64(0)));  // NaN · padding + 10 · 1
  const Tensor finite = tensor(DType::f32, {1, 1, 2}, {5, 10});
  EXPECT_EQ(values_of(evaluate_text("x: f32[1, 1, 3], w: f32[1, 1, 2]",
                                    "y = conv(x, w, pads=[1, 0]) return y", {x, finite})),
            (std::vector<double>{10, 25, 40}));
}

}  // namespace
}  // namespace ingot
