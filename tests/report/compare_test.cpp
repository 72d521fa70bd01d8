// Comparison of tensors, numbers for a person, the copy rate, cases that check makes.
#include "report/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "report/check_cases.h"
#include "report/number_text.h"
#include "report/report.h"

namespace ingot {
namespace {

Tensor floats(std::initializer_list<double> values) {
  Tensor tensor(DType::f32, {static_cast<int64_t>(values.size())});
  int64_t i = 0;
  for (const double value : values) {
    tensor.set_f64(i++, value);
  }
  return tensor;
}

constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Compare, ZerosOfBothSignsDiffer) {
  const Comparison result = compare(floats({0.0, 1}), floats({-0.0, 1}));
  EXPECT_FALSE(result.identical);
  EXPECT_EQ(result.mismatches, 1);
  EXPECT_EQ(result.first_mismatch, 0);
  EXPECT_EQ(result.max_abs_error, 0);
}

TEST(Compare, AnyNanEqualsAnyNan) {
  Tensor a = floats({1, 2}), b = floats({1, 2});
  const uint32_t quiet = 0x7fc00000, payload = 0xffc01234;
  std::memcpy(a.data() + 4, &quiet, 4);
  std::memcpy(b.data() + 4, &payload, 4);
  EXPECT_TRUE(compare(a, b).identical);
}

TEST(Compare, NanAgainstANumberIsAnInfiniteError) {
  const Comparison result = compare(floats({1}), floats({std::nan("")}));
  EXPECT_EQ(result.max_abs_error, inf);
  EXPECT_EQ(result.max_rel_error, inf);
}

TEST(Compare, ErrorsAreTheLargest) {
  const Comparison result = compare(floats({1, 100, 0}), floats({1.5, 101, 0.25}));
  EXPECT_EQ(result.mismatches, 3);
  EXPECT_EQ(result.max_abs_error, 1);
  EXPECT_EQ(result.max_rel_error, 0.5);
}

TEST(Compare, BoundsLetSmallDifferencesPass) {
  const Tensor expected = floats({1, 100, inf, std::nan("")});
  EXPECT_EQ(first_beyond(expected, floats({1.01, 101, inf, std::nan("")}), 0.02, 0), std::nullopt);
  EXPECT_EQ(first_beyond(expected, floats({1.01, 110, inf, std::nan("")}), 0.02, 0), 1);
  EXPECT_EQ(first_beyond(expected, floats({1, 100, 5, std::nan("")}), 0.02, 10), 2);
  EXPECT_EQ(first_beyond(expected, floats({1, 100, inf, 0}), 0.02, 10), 3);
}

TEST(Compare, TextsNameElementAndBits) {
  EXPECT_EQ(index_text({2, 3, 4}, 17), "[1, 1, 1]");
  EXPECT_EQ(index_text({}, 0), "[]");
  EXPECT_EQ(element_text(floats({1}), 0), "1 (0x3f800000)");
}

TEST(NumberText, BytesAndTimes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1234), "1,234 B");
  EXPECT_EQ(bytes_text(1073758208), "1,073,758,208 B (1.07 GB)");
  EXPECT_EQ(bytes_text(-536870912), "-536,870,912 B (-536.87 MB)");
  EXPECT_EQ(time_text(0.25), "0.25 us");
  EXPECT_EQ(time_text(1234), "1.23 ms");
  EXPECT_EQ(time_text(2.5e6), "2.50 s");
  EXPECT_EQ(time_text(999.9), "1000 us");
}

TEST(CopyRate, IsPlausibleAndTakesAnySize) {
  for (const int64_t bytes : {int64_t{1}, int64_t{4096}, int64_t{8} << 20}) {
    for (const int threads : {1, 2}) {
      const double rate = measure_copy_gbs(bytes, threads);
      EXPECT_GT(rate, 0.01) << bytes << " bytes, " << threads << " threads";
      EXPECT_LT(rate, 10000) << bytes << " bytes, " << threads << " threads";
    }
  }
}

TEST(CheckCases, HoldSpecialValuesAndTails) {
  const Graph graph = parse_graph(
      "graph g(x: f32[B, 30], m: bool[B, 30], t: f32[9], ids: i32[B]) {\n"
      "  y = select(m, x, 0.0)\n  r = gather(t, ids, dim=0)\n  return y, r\n}\n",
      "g");
  std::vector<Tensor> given;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    given.push_back(random_input(graph, i, {{"B", 4}}, 0, 1));
  }
  const std::vector<CheckCase> cases = check_cases(graph, given);
  ASSERT_EQ(cases.size(), 8u);
  EXPECT_FALSE(cases[0].special);
  const Tensor& x = cases[1].inputs[0];
  int nans = 0, infinities = 0, negative_zeros = 0, subnormals = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    const double value = x.get_f64(i);
    nans += std::isnan(value);
    infinities += std::isinf(value);
    negative_zeros += value == 0 && std::signbit(value);
    subnormals += value != 0 && std::abs(value) < 0x1p-126;
  }
  EXPECT_GT(nans, 0);
  EXPECT_GT(infinities, 0);
  EXPECT_GT(negative_zeros, 0);
  EXPECT_GT(subnormals, 0);
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(cases[1].inputs[1].get_i64(i), 0) << "the mask hides the first row";
  }
  for (const CheckCase& one : cases) {
    for (int64_t i = 0; i < one.inputs[3].size(); ++i) {
      EXPECT_LT(one.inputs[3].get_i64(i), 9);
      EXPECT_GE(one.inputs[3].get_i64(i), 0);
    }
  }
  EXPECT_EQ(cases[2].inputs[0].shape()[0], 0);
}

}  // namespace
}  // namespace ingot
