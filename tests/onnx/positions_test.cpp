// ONNX ops of positions, windows and quantization in the form of their version, by value.
#include <gtest/gtest.h>

#include <cmath>

#include "onnx/one_node.h"

namespace ingot::testing {
namespace {

TEST(OnnxPositions, ArgMaxAndArgMin) {
  const Tensor x = floats({2, 3}, {1, 5, 5, 7, 0, 0});
  const Tensor y = run(12, "ArgMax", x, {Attr("axis", -1)})[0];
  EXPECT_EQ(y.shape(), (Ints{2, 1}));
  EXPECT_EQ(y.dtype(), DType::i64);
  EXPECT_EQ(values_of(y), (Values{1, 0}));
  EXPECT_EQ(values(12, "ArgMax", x, {Attr("axis", 1), Attr("select_last_index", 1)}),
            (Values{2, 0}));
  EXPECT_EQ(values(7, "ArgMin", x, {Attr("keepdims", 0)}), (Values{0, 1, 1}));
}

TEST(OnnxPositions, CumSum) {
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(values(14, "CumSum", x, {}, {ints({}, {0})}), (Values{1, 3, 6}));
  EXPECT_EQ(values(11, "CumSum", x, {Attr("exclusive", 1), Attr("reverse", 1)}, {ints({}, {-1})}),
            (Values{5, 3, 0}));
}

TEST(OnnxPositions, TopKAsAttributeAndInput) {
  const Tensor x = floats({4}, {3, 9, 1, 9});
  const auto old = run(9, "TopK", x, {Attr("k", 2)}, {}, 2);
  EXPECT_EQ(values_of(old[0]), (Values{9, 9}));
  EXPECT_EQ(values_of(old[1]), (Values{1, 3}));
  const auto least = run(11, "TopK", x, {Attr("largest", 0)}, {ints({1}, {3})}, 2);
  EXPECT_EQ(values_of(least[0]), (Values{1, 3, 9}));
  EXPECT_EQ(values_of(least[1]), (Values{2, 0, 1}));
}

TEST(OnnxPositions, HardmaxFlattensBeforeOpset13) {
  const Tensor x = floats({1, 2, 2}, {1, 4, 4, 0});
  EXPECT_EQ(values(11, "Hardmax", x, {}), (Values{0, 1, 0, 0}));
  EXPECT_EQ(values(13, "Hardmax", x, {}), (Values{0, 1, 1, 0}));
}

TEST(OnnxPositions, GatherForms) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values(13, "GatherElements", x, {Attr("axis", 1)}, {ints({2, 1}, {-1, 0})}),
            (Values{2, 3}));
  EXPECT_EQ(values(12, "GatherND", x, {}, {ints({2, 2}, {0, 1, -1, 0})}), (Values{2, 3}));
  EXPECT_EQ(values(12, "GatherND", x, {}, {ints({1, 1}, {1})}), (Values{3, 4}));
  EXPECT_THROW(values(12, "GatherND", x, {}, {ints({1, 2}, {0, 2})}), Error);
}

TEST(OnnxPositions, ScatterForms) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      values(10, "Scatter", x, {Attr("axis", 1)}, {ints({2, 1}, {1, 0}), floats({2, 1}, {8, 9})}),
      (Values{1, 8, 9, 4}));
  EXPECT_EQ(values(16, "ScatterElements", x, {Attr("reduction", "add")},
                   {ints({2, 2}, {0, 0, 0, -1}), floats({2, 2}, {1, 1, 1, 1})}),
            (Values{3, 3, 3, 5}));
  EXPECT_EQ(values(18, "ScatterND", x, {Attr("reduction", "max")},
                   {ints({2, 1}, {1, 1}), floats({2, 2}, {9, 0, 0, 8})}),
            (Values{1, 2, 9, 8}));
  EXPECT_EQ(values(11, "ScatterND", x, {}, {ints({1, 2}, {0, -1}), floats({1}, {7})}),
            (Values{1, 7, 3, 4}));
}

TEST(OnnxWindows, MaxPoolAndAveragePool) {
  const Tensor x = floats({1, 1, 4}, {1, 2, 3, 5});
  const Attr kernel("kernel_shape", Ints{3}), stride("strides", Ints{2});
  EXPECT_EQ(values(12, "MaxPool", x, {kernel}), (Values{3, 5}));
  EXPECT_EQ(values(12, "MaxPool", x, {kernel, stride, Attr("ceil_mode", 1)}), (Values{3, 5}));
  EXPECT_EQ(values(12, "MaxPool", x, {kernel, Attr("auto_pad", "SAME_UPPER")}),
            (Values{2, 3, 5, 5}));
  EXPECT_EQ(values(11, "AveragePool", x, {kernel, Attr("pads", Ints{1, 1})}),
            (Values{1.5, 2, 10.0f / 3, 4}));
  EXPECT_EQ(values(11, "AveragePool", x,
                   {kernel, Attr("pads", Ints{1, 1}), Attr("count_include_pad", 1)}),
            (Values{1, 2, 10.0f / 3, 8.0f / 3}));
  expect_near(values(11, "LpPool", x, {kernel}), {std::sqrt(14.0), std::sqrt(38.0)});
}

TEST(OnnxWindows, Normalizations) {
  const Tensor x = floats({1, 3, 1}, {1, 2, 2});
  // (1 + 1/3 · sum) ^ 0.5 with size 3
  const Attr size("size", 3), alpha("alpha", 1.0), beta("beta", 0.5);
  expect_near(values(13, "LRN", x, {size, alpha, beta}),
              {1 / std::sqrt(1 + 5.0 / 3), 2 / std::sqrt(4.0), 2 / std::sqrt(1 + 8.0 / 3)});
  expect_near(values(7, "LpNormalization", x, {Attr("axis", 1)}), {1.0 / 3, 2.0 / 3, 2.0 / 3});
  expect_near(values(13, "MeanVarianceNormalization", floats({1, 1, 1, 2}, {1, 3}), {}), {-1, 1});
}

TEST(OnnxPositions, PadModes) {
  const Tensor x = floats({3}, {1, 2, 3});
  const Tensor pads = ints({2}, {2, 1});
  EXPECT_EQ(values(11, "Pad", x, {Attr("mode", "reflect")}, {pads}), (Values{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(values(11, "Pad", x, {Attr("mode", "edge")}, {pads}), (Values{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(values(19, "Pad", x, {Attr("mode", "wrap")}, {pads}), (Values{2, 3, 1, 2, 3, 1}));
}

TEST(OnnxPositions, Quantization) {
  const Tensor x = floats({1, 4}, {-1, 0.5, 3, 1000});
  const Tensor scale = floats({}, {0.5});
  const Tensor q = run(13, "QuantizeLinear", x, {}, {scale, tensor(DType::i8, {}, {-3})})[0];
  EXPECT_EQ(q.dtype(), DType::i8);
  EXPECT_EQ(values_of(q), (Values{-5, -2, 3, 127}));
  EXPECT_EQ(values(13, "DequantizeLinear", q, {}, {scale, tensor(DType::i8, {}, {-3})}),
            (Values{-1, 0.5, 3, 65}));
  const Tensor f8 = run(19, "QuantizeLinear", x, {}, {scale, tensor(DType::f8e4m3, {}, {0})})[0];
  EXPECT_EQ(f8.dtype(), DType::f8e4m3);
  EXPECT_EQ(values_of(f8), (Values{-2, 1, 6, 448}));
}

TEST(OnnxPositions, CastToEightBitFloats) {
  const Tensor x = floats({2}, {1000, 17});
  const Tensor saturated = run(19, "Cast", x, {Attr("to", 17)})[0];
  EXPECT_EQ(values_of(saturated), (Values{448, 16}));
  const Tensor open = run(19, "Cast", x, {Attr("to", 17), Attr("saturate", 0)})[0];
  EXPECT_TRUE(std::isnan(open.get_f64(0)));
}

TEST(OnnxPositions, EyeLikeShrinkAndRandom) {
  const Tensor x = floats({2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(values(9, "EyeLike", x, {Attr("k", 1)}), (Values{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(values(9, "Shrink", floats({3}, {-2, 0.25, 2}), {Attr("bias", 0.5)}),
            (Values{-1.5, 0, 1.5}));
  const Values a = values(15, "RandomUniformLike", x, {Attr("seed", 3.0)});
  EXPECT_EQ(a, values(15, "RandomUniformLike", x, {Attr("seed", 3.0)}));
  EXPECT_NE(a, values(15, "RandomUniformLike", x, {Attr("seed", 4.0)}));
  for (const double value : a) EXPECT_TRUE(value >= 0 && value < 1);
  EXPECT_EQ(values(15, "Bernoulli", floats({2}, {0, 1}), {}), (Values{0, 1}));
}

}  // namespace
}  // namespace ingot::testing
