// ONNX ops that resize, reverse or pad, losses, training statistics and windows, by value.
#include <gtest/gtest.h>

#include <cmath>

#include "onnx/one_node.h"

namespace ingot::testing {
namespace {

TEST(OnnxResize, NearestAndLinear) {
  const Tensor x = floats({1, 1, 4}, {1, 2, 3, 4});
  const Tensor none = floats({0}, {}), twice = floats({3}, {1, 1, 2}),
               half = floats({3}, {1, 1, 0.5});
  EXPECT_EQ(values(13, "Resize", x, {}, {none, twice}), (Values{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(values(10, "Resize", x, {}, {twice}), (Values{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(values(9, "Upsample", x, {}, {twice}), (Values{1, 1, 2, 2, 3, 3, 4, 4}));
  const Attr linear("mode", "linear");
  expect_near(values(13, "Resize", x, {linear}, {none, twice}),
              {1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4});
  expect_near(values(13, "Resize", x, {linear}, {none, half}), {1.5, 3.5});
  expect_near(values(10, "Resize", x, {linear}, {twice}), {1, 1.5, 2, 2.5, 3, 3.5, 4, 4});
  const Attr corners("coordinate_transformation_mode", "align_corners");
  expect_near(values(13, "Resize", x, {linear, corners}, {none, none, ints({3}, {1, 1, 7})}),
              {1, 1.5, 2, 2.5, 3, 3.5, 4});
  // Weights 1 3 3 1 of 8 around 0.5 and 2.5; beyond the ends the last element stands.
  expect_near(values(18, "Resize", x, {linear, Attr("antialias", 1)}, {none, half}),
              {(1 * 1 + 3 * 1 + 3 * 2 + 1 * 3) / 8.0, (1 * 2 + 3 * 3 + 3 * 4 + 1 * 4) / 8.0});
}

TEST(OnnxResize, CropsOutsideAndRefusesNamedDimensions) {
  const Tensor x = floats({1, 1, 4}, {1, 2, 3, 4});
  const std::vector<Attr> crop{Attr("mode", "linear"), Attr("extrapolation_value", 9.0),
                               Attr("coordinate_transformation_mode", "tf_crop_and_resize")};
  expect_near(values(13, "Resize", x, crop,
                     {floats({6}, {0, 0, 0, 1, 1, 2}), floats({0}, {}), ints({3}, {1, 1, 3})}),
              {1, 4, 9});
  Model model(13);
  model.input("x", DType::f32, {1, "C", "W"}).output("y");
  model.initializer("none", floats({0}, {})).initializer("scales", floats({3}, {1, 1, 2}));
  model.node("Resize", {"x", "none", "scales"}, {"y"});
  try {
    model.import();
    FAIL() << "W is resized";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(error.message().find("a named dimension that is resized"), std::string::npos);
  }
}

TEST(OnnxResize, CenterCropPadAndReverseSequence) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(18, "CenterCropPad", x, {}, {ints({2}, {3, 2})}), (Values{1, 2, 4, 5, 0, 0}));
  EXPECT_EQ(values(10, "ReverseSequence", x, {Attr("batch_axis", 0), Attr("time_axis", 1)},
                   {ints({2}, {2, 3})}),
            (Values{2, 1, 3, 6, 5, 4}));
}

TEST(OnnxResize, PadTakesAValueComputedAtRunTime) {
  Model model(13);
  model.input("x", DType::f32, {2}).input("v", DType::f32, {}).output("y");
  model.initializer("pads", ints({2}, {1, 2})).node("Pad", {"x", "pads", "v"}, {"y"});
  const Tensor y = evaluate(model.import(), {floats({2}, {1, 2}), tensor(DType::f32, {}, {7})},
                            Precision::per_op)[0];
  EXPECT_EQ(values_of(y), (Values{7, 1, 2, 7, 7}));
}

TEST(OnnxLosses, WeighAndIgnore) {
  const Tensor x = floats({3, 2}, {-1, -2, -3, -4, -5, -6});
  const Tensor classes = ints({3}, {0, 1, 0}), weights = floats({2}, {1, 3});
  const std::string op = "NegativeLogLikelihoodLoss";
  const Attr none("reduction", "none"), sum("reduction", "sum"), ignore("ignore_index", 1);
  EXPECT_EQ(values(13, op, x, {none}, {classes}), (Values{1, 4, 5}));
  EXPECT_EQ(values(13, op, x, {none}, {classes, weights}), (Values{1, 12, 5}));
  EXPECT_EQ(values(13, op, x, {none, ignore}, {classes, weights}), (Values{1, 0, 5}));
  EXPECT_EQ(values(13, op, x, {sum}, {classes}), (Values{10}));
  expect_near(values(13, op, x, {}, {classes}), {10.0 / 3});
  expect_near(values(13, op, x, {}, {classes, weights}), {18.0 / 5});
  expect_near(values(13, op, x, {ignore}, {classes}), {3});
  const auto both = run(13, "SoftmaxCrossEntropyLoss", x, {none}, {classes}, 2);
  const double low = std::log(1 + std::exp(-1.0)), high = 1 + low;
  expect_near(values_of(both[0]), {low, high, low});
  expect_near(values_of(both[1]), {-low, -high, -low, -high, -low, -high});
}

TEST(OnnxTraining, BatchNormalizationUsesTheBatch) {
  const Tensor x = floats({2, 1, 2}, {1, 3, 5, 7}), one = floats({1}, {1}), zero = floats({1}, {0});
  const auto y = run(15, "BatchNormalization", x, {Attr("training_mode", 1), Attr("epsilon", 0.0)},
                     {one, zero, floats({1}, {10}), floats({1}, {20})}, 3);
  const double d = std::sqrt(5.0);
  expect_near(values_of(y[0]), {-3 / d, -1 / d, 1 / d, 3 / d});
  expect_near(values_of(y[1]), {9.4});   // 0.9 * 10 + 0.1 * 4
  expect_near(values_of(y[2]), {18.5});  // 0.9 * 20 + 0.1 * 5
}

TEST(OnnxTraining, DynamicQuantizationTakesZeroInto) {
  const auto y = run(11, "DynamicQuantizeLinear", floats({3}, {-51, 0, 204}), {}, {}, 3);
  EXPECT_EQ(values_of(y[0]), (Values{0, 51, 255}));
  EXPECT_EQ(values_of(y[1]), (Values{1}));
  EXPECT_EQ(values_of(y[2]), (Values{51}));
}

TEST(OnnxResize, LengthsBeyondWhatIsComputedAreRefused) {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  for (const int64_t size : {int64_t{1} << 25, int64_t{1} << 62, INT64_MAX}) {
    try {
      run(18, "Resize", x, {}, {left_out(), left_out(), ints({size})});
      ADD_FAILURE() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_NE(error.message().find("at most 16777216"), std::string::npos) << error.message();
    }
  }
  EXPECT_THROW(run(18, "Resize", x, {}, {left_out(), floats({1}, {1e30})}), Error);
}

TEST(OnnxWindows, HannHammingBlackman) {
  auto window = [](const std::string& op) {
    Model model(17);
    model.input("x", DType::f32, {4}).output("y");
    model.initializer("size", tensor(DType::i64, {}, {4})).node(op, {"size"}, {"w"});
    model.node("Add", {"x", "w"}, {"y"});
    return values_of(evaluate(model.import(), {floats({4}, {0, 0, 0, 0})}, Precision::per_op)[0]);
  };
  expect_near(window("HannWindow"), {0, 0.5, 1, 0.5});
  expect_near(window("HammingWindow"), {4.0 / 46, 25.0 / 46, 1, 25.0 / 46});
  expect_near(window("BlackmanWindow"), {0, 0.34, 1, 0.34});
}

TEST(OnnxNorms, AnyPAndRowsOfZeros) {
  const Tensor x = floats({1, 1, 2}, {1, -2}), zeros = floats({2, 2}, {3, 4, 0, 0});
  expect_near(values(11, "LpPool", x, {Attr("kernel_shape", Ints{2}), Attr("p", 3)}),
              {std::cbrt(9.0)});
  expect_near(values(7, "GlobalLpPool", x, {Attr("p", 3)}), {std::cbrt(9.0)});
  expect_near(values(13, "LpNormalization", zeros, {}), {0.6, 0.8, 0, 0});
}

}  // namespace
}  // namespace ingot::testing
