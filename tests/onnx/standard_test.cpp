// Where readings of the ONNX standard differ: what docs/onnx.md says that ingot takes, by value.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "onnx/one_node.h"

namespace ingot::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Elements from `start` down to `end` of a named dimension that has `size` of them, 0, 1, 2 …
Values backwards(int64_t start, int64_t end, int64_t size, int64_t step = -1) {
  Model model(13);
  model.input("x", DType::f32, {"N"}).output("y");
  model.initializer("starts", ints({start})).initializer("ends", ints({end}));
  model.initializer("axes", ints({0})).initializer("steps", ints({step}));
  model.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  Tensor x(DType::f32, {size});
  for (int64_t i = 0; i < size; ++i) x.set_f64(i, static_cast<double>(i));
  return values_of(evaluate(model.import(), {x}, Precision::per_op)[0]);
}

Values slice(const Tensor& x, int64_t start, int64_t end, int64_t step) {
  return values(13, "Slice", x, {}, {ints({start}), ints({end}), ints({0}), ints({step})});
}

TEST(OnnxStandard, ASliceThatCountsDownStartsAtTheFirstElementAtLeast) {
  const Tensor x = floats({6}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(slice(x, -7, -9, -1), (Values{0}));
  EXPECT_EQ(slice(x, -6, -9, -1), (Values{0}));
  EXPECT_EQ(slice(x, INT64_MIN, INT64_MIN, -1), (Values{0}));
  EXPECT_EQ(slice(x, -7, 0, -1), (Values{}));
  EXPECT_EQ(slice(x, 9, -3, -1), (Values{5, 4}));
  EXPECT_EQ(slice(x, -1, -9, std::numeric_limits<int64_t>::min()), (Values{5}));
  const Tensor rows = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  const std::vector<Tensor> cut{ints({-3}), ints({INT32_MIN}), ints({0}), ints({-1})};
  EXPECT_EQ(run(13, "Slice", rows, {}, cut)[0].shape(), (Ints{1, 3}));
  EXPECT_EQ(slice(floats({0}, {}), -3, INT32_MIN, -1), (Values{}));
}

TEST(OnnxStandard, ASliceOfANamedSizeThatCountsDownStartsAtTheFirstElementToo) {
  EXPECT_EQ(backwards(-3, INT32_MIN, 5), (Values{2, 1, 0}));
  EXPECT_EQ(backwards(-3, INT32_MIN, 2), (Values{0}));
  EXPECT_EQ(backwards(-3, -5, 2), (Values{0}));
  EXPECT_EQ(backwards(-3, -5, 4), (Values{1, 0}));
  EXPECT_EQ(backwards(-1, INT64_MIN, 3, -2), (Values{2, 0}));
  EXPECT_EQ(backwards(INT64_MIN, INT64_MIN, 3), (Values{0}));
  EXPECT_EQ(backwards(-3, -1, 2), (Values{}));
  try {
    backwards(-5, -3, 4);  // of 4 elements the first, of 5 nothing
    FAIL() << "its length is no expression";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(error.message().find("from -5 down to -3 of the size N"), std::string::npos);
  }
}

TEST(OnnxStandard, ShapeArithmeticSlicesAlike) {
  Model model(13);
  model.input("x", DType::f32, {2, 3}).output("y");
  model.initializer("starts", ints({-7})).initializer("ends", ints({-9}));
  model.initializer("axes", ints({0})).initializer("steps", ints({-1}));
  model.node("Shape", {"x"}, {"shape"});
  model.node("Slice", {"shape", "starts", "ends", "axes", "steps"}, {"rows"});
  model.node("ConstantOfShape", {"rows"}, {"y"});
  EXPECT_EQ(evaluate(model.import(), {Tensor(DType::f32, {2, 3})}, Precision::per_op)[0].shape(),
            (Ints{2}));
}

TEST(OnnxStandard, EarlyResizeTakesTheElementAboveWhereElementsAreLeftOut) {
  const Tensor x = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(values(10, "Resize", x, {}, {floats({4}, {1, 1, 0.6f, 0.6f})}), (Values{1, 3}));
  const Tensor row = floats({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(values(10, "Resize", row, {}, {floats({1}, {0.35f})}), (Values{0, 3, 6}));
  EXPECT_EQ(values(10, "Resize", row, {}, {floats({1}, {0.45f})}), (Values{0, 3, 5, 7}));
  EXPECT_EQ(values(10, "Resize", row, {}, {floats({1}, {1.3f})}),
            (Values{0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9}));
  EXPECT_EQ(run(13, "Resize", row, {}, {floats({0}, {}), floats({1}, {1.3f})})[0].shape(),
            (Ints{13}));  // a float's 10 * 1.3
  // 7 / 0.7 is 10 as a float.
  Tensor twenty(DType::f32, {20});
  for (int64_t i = 0; i < 20; ++i) twenty.set_f64(i, static_cast<double>(i));
  EXPECT_EQ(values(10, "Resize", twenty, {}, {floats({1}, {0.7f})})[7], 10);
  EXPECT_EQ(
      values(13, "Resize", twenty,
             {Attr("coordinate_transformation_mode", "asymmetric"), Attr("nearest_mode", "ceil")},
             {floats({0}, {}), floats({1}, {0.7f})})[7],
      10);
  EXPECT_THROW(run(9, "Upsample", row, {}, {floats({1}, {0.5})}), Error);
}

TEST(OnnxStandard, ScatterElementsOfFewerIndicesLeavesTheRest) {
  const Tensor x = floats({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  for (const int opset : {11, 13, 16, 18}) {
    EXPECT_EQ(values(opset, "ScatterElements", x, {}, {ints({1, 1}, {-2}), floats({1, 1}, {9})}),
              (Values{0, 1, 2, 9, 4, 5, 6, 7, 8}));
    EXPECT_EQ(values(opset, "ScatterElements", x, {Attr("axis", 1)},
                     {ints({2, 2}, {1, 0, 2, 2}), floats({2, 2}, {9, 8, 7, 6})}),
              (Values{8, 9, 2, 3, 4, 6, 6, 7, 8}));
  }
  EXPECT_EQ(
      values(18, "ScatterElements", x, {Attr("reduction", "add")},
             {ints({4, 2}, {0, 0, 0, 0, 2, 0, 0, 1}), floats({4, 2}, {1, 2, 1, 2, 1, 2, 1, 2})}),
      (Values{3, 7, 2, 3, 6, 5, 7, 7, 8}));
  const Tensor cube(DType::f32, {2, 2, 2});
  EXPECT_EQ(values(18, "ScatterElements", cube, {Attr("axis", 1)},
                   {ints({1, 1, 1}, {1}), floats({1, 1, 1}, {5})}),
            (Values{0, 0, 5, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values(18, "ScatterElements", cube, {}, {ints({1, 0, 1}, {}), floats({1, 0, 1}, {})}),
            (Values{0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THROW(
      run(18, "ScatterElements", x, {}, {ints({1, 4}, {0, 0, 0, 0}), floats({1, 4}, {1, 2, 3, 4})}),
      Error);
}

TEST(OnnxStandard, LpPoolTakesALastWindowThatIsNotWhole) {
  const Tensor x = floats({1, 1, 8}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Attr kernel("kernel_shape", Ints{3}), stride("strides", Ints{2}), ceil("ceil_mode", 1);
  expect_near(values(18, "LpPool", x, {kernel, stride, ceil}),
              {std::sqrt(5.0), std::sqrt(29.0), std::sqrt(77.0), std::sqrt(85.0)});
  expect_near(values(18, "LpPool", x,
                     {Attr("kernel_shape", Ints{2}), Attr("strides", Ints{3}),
                      Attr("pads", Ints{1, 1}), ceil, Attr("p", 1)}),
              {0, 5, 11});
  expect_near(
      values(18, "LpPool", x, {kernel, stride, ceil, Attr("p", 3), Attr("dilations", Ints{2})}),
      {std::cbrt(72.0), std::cbrt(288.0), std::cbrt(280.0)});
}

TEST(OnnxStandard, PadsThatCutEverythingLeavePadding) {
  const Tensor x = floats({3}, {1, 2, 3});
  const auto padded = [&](int64_t low, int64_t high) {
    return values(13, "Pad", x, {}, {ints({low, high}), floats({}, {9})});
  };
  EXPECT_EQ(padded(-4, 1), (Values{}));
  EXPECT_EQ(padded(-4, 3), (Values{9, 9}));
  EXPECT_EQ(padded(5, -4), (Values{9, 9, 9, 9}));
  EXPECT_EQ(padded(-1, 1), (Values{2, 3, 9}));
  EXPECT_EQ(padded(2, -2), (Values{9, 9, 1}));
  EXPECT_THROW(padded(-2, -2), Error);
  EXPECT_THROW(values(13, "Pad", x, {Attr("mode", "edge")}, {ints({-4, 6})}), Error);
}

TEST(OnnxStandard, PadsOfSameAreNeverNegative) {
  const Tensor x = floats({1, 1, 7}, {0, 1, 2, 3, 4, 5, 6});
  const Attr same("auto_pad", "SAME_UPPER");
  EXPECT_EQ(
      values(12, "MaxPool", x, {same, Attr("kernel_shape", Ints{2}), Attr("strides", Ints{4})}),
      (Values{1, 5}));
}

TEST(OnnxStandard, SameCountsADilatedWindowWhole) {
  const Tensor x = floats({1, 1, 7}, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(12, "MaxPool", x,
                   {Attr("auto_pad", "SAME_UPPER"), Attr("kernel_shape", Ints{3}),
                    Attr("dilations", Ints{2})}),
            (Values{2, 3, 4, 5, 6, 5, 6}));
}

TEST(OnnxStandard, AMissingBoundOfClipIsTheLargestFiniteNumber) {
  const double most = std::numeric_limits<float>::max();
  const Tensor x = floats({4}, {-infinity, infinity, NAN, 1});
  expect_near(values(13, "Clip", x, {}, {left_out(), floats({}, {2})}), {-most, 2, NAN, 1});
  expect_near(values(13, "Clip", x, {}, {floats({}, {0})}), {0, most, NAN, 1});
  expect_near(values(7, "Clip", x, {}), {-most, most, NAN, 1});
  expect_near(values(13, "Clip", x, {}, {floats({}, {-infinity}), floats({}, {infinity})}),
              {-infinity, infinity, NAN, 1});
  const Tensor half = tensor(DType::f16, {2}, {-infinity, infinity});
  EXPECT_EQ(values(13, "Clip", half, {}), (Values{-65504, 65504}));
}

TEST(OnnxStandard, HardmaxTakesTheFirstNaNForTheLargest) {
  EXPECT_EQ(values(13, "Hardmax", floats({4}, {1, NAN, 3, NAN}), {}), (Values{0, 1, 0, 0}));
}

TEST(OnnxStandard, ACastToAnIntegerSaturatesAndNaNIsZero) {
  const Tensor x = floats({5}, {NAN, infinity, -infinity, 300, -300});
  EXPECT_EQ(values(13, "Cast", x, {Attr("to", 3)}), (Values{0, 127, -128, 127, -128}));
  EXPECT_EQ(values(13, "Cast", x, {Attr("to", 2)}), (Values{0, 255, 0, 255, 0}));
}

TEST(OnnxStandard, RandomNumbersNeedARange) {
  const Tensor x = floats({2}, {0, 0});
  const auto uniform = [&](double low, double high) {
    return values(15, "RandomUniformLike", x, {Attr("low", low), Attr("high", high)});
  };
  EXPECT_THROW(uniform(2, 2), Error);
  EXPECT_THROW(uniform(3, 2), Error);
  EXPECT_THROW(values(15, "RandomNormalLike", x, {Attr("scale", -1.0)}), Error);
  EXPECT_EQ(values(15, "RandomNormalLike", x, {Attr("mean", 4.0), Attr("scale", 0.0)}),
            (Values{4, 4}));
}

TEST(OnnxStandard, HardSwishAndMishOfMinusInfinityAreZero) {
  const Tensor x = floats({3}, {-infinity, infinity, NAN});
  expect_near(values(14, "HardSwish", x, {}), {0, infinity, NAN});
  expect_near(values(18, "Mish", x, {}), {0, infinity, NAN});
}

}  // namespace
}  // namespace ingot::testing
