// docs/semantics.md, Attention.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/interpret_plan.h"
#include "support/values.h"

namespace ingot::testing {
namespace {

using Values = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();

Tensor ones(std::vector<int64_t> shape, double value = 1) {
  Tensor result(DType::f32, std::move(shape));
  for (int64_t i = 0; i < result.size(); ++i) result.set_f64(i, value);
  return result;
}

// Of one query with q = 1: the scores are the keys plus the mask, the values are 1, 10, 100…
Values attend(const Tensor& keys, const Tensor& mask, const std::string& attrs = "") {
  const int64_t count = keys.size();
  Tensor k(DType::f32, {count, 1}), v(DType::f32, {count, 1});
  for (int64_t j = 0; j < count; ++j) {
    k.set_f64(j, keys.get_f64(j));
    v.set_f64(j, std::pow(10, j));
  }
  return values_of(evaluate_text(
      fmt::format("q: f32[1, 1], k: f32[S, 1], v: f32[S, 1], m: {}[S]", dtype_name(mask.dtype())),
      "y = attention(q, k, v, m" + attrs + ") return y", {ones({1, 1}), k, v, mask}));
}

Tensor seen(std::initializer_list<double> values) {
  return tensor(DType::boolean, {static_cast<int64_t>(values.size())}, values);
}
Tensor row(std::initializer_list<double> values) {
  return tensor(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

TEST(Semantics, AnAttentionWeighsValuesByASoftmax) {
  EXPECT_EQ(attend(row({0, 0}), seen({1, 1})), Values{5.5});
  EXPECT_NEAR(attend(row({0, 0}), row({std::log(3.0), 0}))[0], (3 * 1 + 10) / 4.0, 1e-6);
  EXPECT_EQ(attend(row({7, 9, 7}), seen({1, 0, 1})), Values{50.5});
  EXPECT_NEAR(attend(row({std::log(3.0), 0}), seen({1, 1}), ", scale=2")[0], (9 + 10) / 10.0, 1e-6);
}

TEST(Semantics, AnAttentionIsScaledByTheRootOfItsDepth) {
  // 16 products of 1/4 over the root of 16 against 0: e against 1.
  const Tensor q = ones({1, 16}), v = tensor(DType::f32, {2, 1}, {1, 0});
  Tensor k = ones({2, 16}, 0.25);
  for (int64_t d = 0; d < 16; ++d) k.set_f64(16 + d, 0);
  for (const char* types :
       {"q: f32[1, 16], k: f32[2, 16], v: f32[2, 1]", "q: f32[L, D], k: f32[S, D], v: f32[S, 1]"}) {
    EXPECT_NEAR(evaluate_text(types, "y = attention(q, k, v) return y", {q, k, v}).get_f64(0),
                std::exp(1.0) / (std::exp(1.0) + 1), 1e-6);
  }
  // Scores of no depth are 0 and not 0 times infinity.
  const Tensor nothing(DType::f32, {1, 0}), no_keys(DType::f32, {2, 0});
  for (const char* types :
       {"q: f32[1, 0], k: f32[2, 0], v: f32[2, 1]", "q: f32[L, D], k: f32[S, D], v: f32[S, 1]"}) {
    EXPECT_EQ(
        values_of(evaluate_text(types, "y = attention(q, k, v) return y", {nothing, no_keys, v})),
        Values{0.5});
  }
}

TEST(Semantics, AQueryThatSeesNoKeyGivesZero) {
  EXPECT_EQ(attend(row({1, 2}), seen({0, 0})), Values{0});
  EXPECT_EQ(attend(row({NAN, inf}), seen({0, 0})), Values{0});
  EXPECT_EQ(attend(row({1, 2}), row({-inf, -inf})), Values{0});
  EXPECT_EQ(attend(row({-inf, -inf}), seen({1, 1})), Values{0});
  EXPECT_EQ(attend(row({-inf, 1}), seen({1, 0})), Values{0});
  EXPECT_EQ(attend(Tensor(DType::f32, {0}), Tensor(DType::boolean, {0})), Values{0});
  // Whatever the values are.
  const Tensor y =
      evaluate_text("q: f32[2, 1], k: f32[1, 1], v: f32[1, 2], m: bool[2, 1]",
                    "y = attention(q, k, v, m) return y",
                    {ones({2, 1}), ones({1, 1}), tensor(DType::f32, {1, 2}, {NAN, inf}),
                     tensor(DType::boolean, {2, 1}, {0, 1})});
  EXPECT_EQ(y.get_f64(0), 0);
  EXPECT_EQ(y.get_f64(1), 0);
  EXPECT_FALSE(std::signbit(y.get_f64(0)));
  EXPECT_TRUE(std::isnan(y.get_f64(2)));
  EXPECT_EQ(y.get_f64(3), inf);
}

TEST(Semantics, ANaNOrInfiniteScoreMakesItsQueryNaN) {
  const Tensor k = tensor(DType::f32, {2, 2}, {1, 0, 0, 1});
  const Tensor v = tensor(DType::f32, {2, 1}, {1, 3});
  for (const double score : {std::nan(""), inf}) {
    const Tensor q = tensor(DType::f32, {2, 2}, {score, 1, 0, 0});
    const Tensor alone = tensor(DType::f32, {1, 1}, {score});
    const Values y = values_of(evaluate_text("q: f32[2, 2], k: f32[2, 2], v: f32[2, 1]",
                                             "y = attention(q, k, v) return y", {q, k, v}));
    EXPECT_TRUE(std::isnan(y[0])) << score;
    EXPECT_EQ(y[1], 2) << score;  // of the other query nothing changes
    EXPECT_TRUE(std::isnan(attend(row({score}), seen({1}))[0])) << score;
    EXPECT_TRUE(std::isnan(attend(row({score, 0}), seen({1, 1}))[0])) << score;
    EXPECT_EQ(attend(row({score, 0}), seen({0, 1})), Values{10}) << score;  // a hidden one's score
  }
  EXPECT_TRUE(std::isnan(attend(row({0, 0}), row({inf, 0}))[0]));
  EXPECT_TRUE(std::isnan(attend(row({inf, 0}), row({-inf, 0}))[0]));  // added, infinities cancel
}

TEST(Semantics, AHiddenKeysValueIsMultipliedByZero) {
  const Tensor q = ones({1, 1}), k = ones({2, 1}), m = seen({1, 0});
  const auto with = [&](double hidden) {
    return evaluate_text("q: f32[1, 1], k: f32[2, 1], v: f32[2, 1], m: bool[2]",
                         "y = attention(q, k, v, m) return y",
                         {q, k, tensor(DType::f32, {2, 1}, {5, hidden}), m})
        .get_f64(0);
  };
  EXPECT_EQ(with(7), 5);
  EXPECT_TRUE(std::isnan(with(NAN)));
  EXPECT_TRUE(std::isnan(with(inf)));
}

TEST(Semantics, CausalHidesTheKeysBehindTheQuery) {
  const Tensor q = ones({3, 1}), k = ones({2, 1}), v = tensor(DType::f32, {2, 1}, {1, 3});
  EXPECT_EQ(values_of(evaluate_text("q: f32[3, 1], k: f32[2, 1], v: f32[2, 1]",
                                    "y = attention(q, k, v, causal=true) return y", {q, k, v})),
            (Values{1, 2, 2}));
  const Tensor m = tensor(DType::boolean, {3, 2}, {0, 1, 1, 1, 0, 1});
  EXPECT_EQ(
      values_of(evaluate_text("q: f32[3, 1], k: f32[2, 1], v: f32[2, 1], m: bool[3, 2]",
                              "y = attention(q, k, v, m, causal=true) return y", {q, k, v, m})),
      (Values{0, 2, 3}));
}

TEST(Semantics, AnAttentionOfHalvesRoundsOnce) {
  const std::string types = "q: bf16[4, 8], k: bf16[5, 8], v: bf16[5, 3], m: bf16[4, 5]";
  const std::vector<Tensor> x =
      random_inputs(parse_graph("graph g(" + types + ") { return q }", "data"), {}, 7);
  const Tensor once = evaluate_text(types, "y = attention(q, k, v, m) return y", x);
  const Tensor wide = evaluate_text(types,
                                    "a = cast(q, dtype=f32) b = cast(k, dtype=f32) c = cast(v, "
                                    "dtype=f32) d = cast(m, dtype=f32) z = attention(a, b, c, d) "
                                    "y = cast(z, dtype=bf16) return y",
                                    x);
  EXPECT_TRUE(same_bits(once, wide));
}

}  // namespace
}  // namespace ingot::testing
