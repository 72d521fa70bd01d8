// Single ONNX ops in the form of their version, by value.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "onnx/one_node.h"

namespace ingot::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Tensor scalar(double value) { return tensor(DType::f32, {}, {value}); }

// 0, 1, 2, …
Tensor counting(const Ints& shape) {
  Tensor out(DType::f32, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.set_f64(i, static_cast<double>(i));
  return out;
}

void expect(const Tensor& got, const Ints& shape, const Values& values) {
  EXPECT_EQ(got.shape(), shape);
  expect_near(values_of(got), values);
}

ErrorKind error_kind(const OneNode& op, const Tensor& x) {
  try {
    run(op, x);
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << op.op << " is no error";
  return ErrorKind::internal;
}

// --- elementwise

TEST(OnnxOps, ClipAsAttributesAndInputs) {
  Tensor x = floats({4}, {-3, 0.5, 3, NAN});
  expect(run({6 + 1, "Clip", {Attr("min", -1.0), Attr("max", 1.0)}}, x), {4}, {-1, 0.5, 1, NAN});
  expect(run({7, "Clip", {Attr("max", 1.0)}}, x), {4}, {-3, 0.5, 1, NAN});
  expect(run({13, "Clip", {}, {scalar(-1), scalar(1)}}, x), {4}, {-1, 0.5, 1, NAN});
  expect(run({13, "Clip", {}, {left_out(), scalar(1)}}, x), {4}, {-3, 0.5, 1, NAN});
  // Min(max, Max(x, min)), also where min > max.
  expect(run({13, "Clip", {}, {scalar(1), scalar(-1)}}, x), {4}, {-1, -1, -1, NAN});
  Tensor n = tensor(DType::i64, {3}, {-5, 2, 9});
  expect(run({13, "Clip", {}, {tensor(DType::i64, {}, {0}), tensor(DType::i64, {}, {4})}}, n), {3},
         {0, 2, 4});
}

TEST(OnnxOps, AnyNumberOfOperands) {
  Tensor x = floats({2}, {1, 5}), a = floats({2}, {4, 4}), b = floats({1}, {3});
  expect(run({8, "Max", {}, {a, b}}, x), {2}, {4, 5});
  expect(run({8, "Min", {}, {a, b}}, x), {2}, {1, 3});
  expect(run({8, "Sum", {}, {a, b}}, x), {2}, {8, 12});
  expect(run({8, "Mean", {}, {a, b}}, x), {2}, {8.0 / 3, 4});
  expect(run({8, "Max"}, x), {2}, {1, 5});
}

TEST(OnnxOps, PowOfMixedDtypes) {
  Tensor x = floats({3}, {2, -3, 0.5});
  expect(run({13, "Pow", {}, {ints({2})}}, x), {3}, {4, 9, 0.25});
  expect(run({13, "Pow", {}, {tensor(DType::i32, {3}, {3, 3, -1})}}, x), {3}, {8, -27, 2});
  Tensor n = tensor(DType::i32, {2}, {3, -2});
  Tensor cubed = run({13, "Pow", {}, {ints({3})}}, n);
  EXPECT_EQ(cubed.dtype(), DType::i32);
  expect(cubed, {2}, {27, -8});
}

TEST(OnnxOps, ModHasTheDivisorsOrTheDividendsSign) {
  Tensor x = tensor(DType::i32, {4}, {-4, 7, 5, -8}), y = tensor(DType::i32, {4}, {3, -3, 8, 5});
  expect(run({13, "Mod", {}, {y}}, x), {4}, {2, -2, 5, 2});
  expect(run({13, "Mod", {Attr("fmod", 1)}, {y}}, x), {4}, {-1, 1, 5, -3});
  Tensor f = floats({3}, {-4.5, 7.5, -0.0});
  Tensor rest = run({13, "Mod", {Attr("fmod", 1)}, {floats({3}, {3, -3, 2})}}, f);
  expect(rest, {3}, {-1.5, 1.5, 0});
  EXPECT_TRUE(std::signbit(rest.get_f64(2)));
}

TEST(OnnxOps, Activations) {
  Tensor x = floats({3}, {-2, 0, 2});
  auto phi = [](double v) { return 0.5 * (1 + std::erf(v / std::sqrt(2.0))); };
  auto tanh_form = [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  expect(run({20, "Gelu"}, x), {3}, {-2 * phi(-2), 0, 2 * phi(2)});
  expect(run({20, "Gelu", {Attr("approximate", "tanh")}}, x), {3},
         {tanh_form(-2), 0, tanh_form(2)});
  expect(run({9, "LeakyRelu", {Attr("alpha", 0.1)}}, x), {3}, {-0.2, 0, 2});
  expect(run({9, "LeakyRelu"}, x), {3}, {-0.02, 0, 2});
  expect(run({9, "Elu", {Attr("alpha", 2.0)}}, x), {3}, {2 * std::expm1(-2.0), 0, 2});
  expect(run({9, "HardSigmoid"}, x), {3}, {0.1, 0.5, 0.9});
  expect(run({14, "HardSwish"}, x), {3}, {-2.0 / 6, 0, 2 * 5.0 / 6});
  expect(run({9, "PRelu", {}, {floats({1}, {0.5})}}, x), {3}, {-1, 0, 2});
  expect(run({10, "ThresholdedRelu", {Attr("alpha", 1.0)}}, x), {3}, {0, 0, 2});
}

TEST(OnnxOps, CastsAndTests) {
  Tensor x = floats({4}, {-1.7, 2.5, inf, NAN});
  Tensor to_int = run({9, "Cast", {Attr("to", 6)}}, floats({2}, {-1.7, 2.5}));
  EXPECT_EQ(to_int.dtype(), DType::i32);
  expect(to_int, {2}, {-1, 2});
  EXPECT_EQ(run({15, "CastLike", {}, {ints({1})}}, floats({1}, {3})).dtype(), DType::i64);
  expect(run({13, "IsNaN"}, x), {4}, {0, 0, 0, 1});
  Tensor infinities = floats({3}, {-inf, inf, 0});
  expect(run({10, "IsInf"}, infinities), {3}, {1, 1, 0});
  expect(run({10, "IsInf", {Attr("detect_negative", 0)}}, infinities), {3}, {0, 1, 0});
  expect(run({10, "IsInf", {Attr("detect_positive", 0)}}, infinities), {3}, {1, 0, 0});
}

TEST(OnnxOps, DropoutDoesNothing) {
  Tensor x = floats({2}, {1, 2});
  expect(run({7, "Dropout", {Attr("ratio", 0.9)}}, x), {2}, {1, 2});
  auto both = run_all({13, "Dropout", {}, {scalar(0.9)}, 2}, x);
  expect(both[0], {2}, {1, 2});
  expect(both[1], {2}, {1, 1});
}

// FB-114: the mask follows from the seed's value, kept values are scaled exactly.
TEST(OnnxOps, DropoutInTrainingFollowsFromTheSeedAlone) {
  Tensor x(DType::f32, {300, 5});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, 1);
  const Tensor training = tensor(DType::boolean, {}, {1});
  auto masks = [&](int seed, double ratio) {
    return run_all({13, "Dropout", {Attr("seed", seed)}, {scalar(ratio), training}, 2}, x);
  };
  const auto one = masks(7, 0.5), again = masks(7, 0.5), other = masks(8, 0.5), none = masks(7, 0);
  int kept = 0, differ = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(one[0].get_f64(i), one[1].get_i64(i) != 0 ? 2 : 0);
    EXPECT_EQ(one[0].get_f64(i), again[0].get_f64(i));
    EXPECT_EQ(none[0].get_f64(i), 1);
    EXPECT_EQ(none[1].get_i64(i), 1);
    kept += one[1].get_i64(i) != 0 ? 1 : 0;
    differ += one[1].get_i64(i) != other[1].get_i64(i) ? 1 : 0;
  }
  EXPECT_NEAR(kept, 750, 100);
  EXPECT_NEAR(differ, 750, 100);
  EXPECT_EQ(error_kind({13, "Dropout", {}, {scalar(1.5), training}}, x), ErrorKind::input);
}

// --- reductions

TEST(OnnxOps, ReduceWithAxesAsAttributeAndInput) {
  Tensor x = counting({2, 3});
  expect(run({11, "ReduceSum", {Attr("axes", Ints{1}), Attr("keepdims", 0)}}, x), {2}, {3, 12});
  expect(run({13, "ReduceSum", {}, {ints({-1})}}, x), {2, 1}, {3, 12});
  expect(run({13, "ReduceMean", {Attr("axes", Ints{0})}}, x), {1, 3}, {1.5, 2.5, 3.5});
  expect(run({18, "ReduceMean", {Attr("keepdims", 0)}, {ints({0})}}, x), {3}, {1.5, 2.5, 3.5});
  expect(run({18, "ReduceMax"}, x), {1, 1}, {5});
  expect(run({18, "ReduceMax", {Attr("noop_with_empty_axes", 1)}}, x), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect(run({18, "ReduceSum", {Attr("noop_with_empty_axes", 0)}, {ints({})}}, x), {1, 1}, {15});
  EXPECT_EQ(error_kind({13, "ReduceSum", {}, {ints({2})}}, x), ErrorKind::input);
  EXPECT_EQ(error_kind({13, "ReduceSum", {}, {ints({1, -1})}}, x), ErrorKind::input);
}

TEST(OnnxOps, EveryReduce) {
  Tensor x = floats({3}, {1, -2, 3});
  auto reduced = [&](const std::string& op) {
    return run({13, op, {Attr("keepdims", 0)}}, x).get_f64(0);
  };
  EXPECT_EQ(reduced("ReduceSum"), 2);
  EXPECT_EQ(reduced("ReduceProd"), -6);
  EXPECT_EQ(reduced("ReduceMin"), -2);
  EXPECT_EQ(reduced("ReduceL1"), 6);
  EXPECT_NEAR(reduced("ReduceL2"), std::sqrt(14), 1e-6);
  EXPECT_EQ(reduced("ReduceSumSquare"), 14);
  EXPECT_NEAR(reduced("ReduceLogSum"), std::log(2), 1e-6);
  EXPECT_NEAR(reduced("ReduceLogSumExp"), std::log(std::exp(1) + std::exp(-2) + std::exp(3)), 1e-5);
  Tensor bools = tensor(DType::boolean, {3}, {0, 1, 0});
  expect(run({20, "ReduceMax"}, bools), {1}, {1});
  expect(run({20, "ReduceMin"}, bools), {1}, {0});
  expect(run({13, "ReduceMean"}, tensor(DType::i32, {2}, {-3, 0})), {1}, {-1});
}

TEST(OnnxOps, SoftmaxBefore13FlattensFromTheAxis) {
  Tensor x = floats({1, 2, 2}, {0, 0, 0, 0});
  expect(run({11, "Softmax"}, x), {1, 2, 2}, {0.25, 0.25, 0.25, 0.25});
  expect(run({11, "Softmax", {Attr("axis", 2)}}, x), {1, 2, 2}, {0.5, 0.5, 0.5, 0.5});
  expect(run({13, "Softmax", {Attr("axis", 1)}}, floats({1, 2, 2}, {0, -inf, 0, 1})), {1, 2, 2},
         {0.5, 0, 0.5, 1});
  expect(run({13, "LogSoftmax"}, floats({2}, {0, 0})), {2}, {-std::log(2.0), -std::log(2.0)});
}

TEST(OnnxOps, Normalizations) {
  Tensor x = floats({1, 2, 2}, {1, 3, 10, 30});
  Tensor two = floats({2}, {2, 2}), one = floats({2}, {1, 1}), zero = floats({2}, {0, 0});
  auto outputs = run_all({17, "LayerNormalization", {Attr("epsilon", 0.0)}, {two, one}, 3}, x);
  expect(outputs[0], {1, 2, 2}, {-1, 3, -1, 3});
  expect(outputs[1], {1, 2, 1}, {2, 20});
  expect(outputs[2], {1, 2, 1}, {1, 0.1});
  expect(run({17, "LayerNormalization", {Attr("epsilon", 0.0)}, {two}}, x), {1, 2, 2},
         {-2, 2, -2, 2});
  expect(run({15,
              "BatchNormalization",
              {Attr("epsilon", 0.0)},
              {two, one, floats({2}, {1, 10}), floats({2}, {4, 100})}},
             x),
         {1, 2, 2}, {1, 3, 1, 5});
  expect(run({6 + 1, "InstanceNormalization", {Attr("epsilon", 0.0)}, {one, zero}}, x), {1, 2, 2},
         {-1, 1, -1, 1});
  expect(
      run({21, "GroupNormalization", {Attr("epsilon", 0.0), Attr("num_groups", 2)}, {two, one}}, x),
      {1, 2, 2}, {-1, 3, -1, 3});
}

TEST(OnnxOps, GlobalPoolsAreReductions) {
  Tensor x = counting({1, 2, 2, 2});
  expect(run({7, "GlobalMaxPool"}, x), {1, 2, 1, 1}, {3, 7});
  expect(run({7, "GlobalAveragePool"}, x), {1, 2, 1, 1}, {1.5, 5.5});
}

// --- movement

TEST(OnnxOps, SqueezeUnsqueezeFlattenTranspose) {
  Tensor x = counting({1, 2, 1, 3});
  Ints flat{1, 2, 1, 3};
  EXPECT_EQ(run({11, "Squeeze", {Attr("axes", Ints{0})}}, x).shape(), (Ints{2, 1, 3}));
  EXPECT_EQ(run({13, "Squeeze", {}, {ints({-2})}}, x).shape(), (Ints{1, 2, 3}));
  EXPECT_EQ(run({13, "Squeeze"}, x).shape(), (Ints{2, 3}));
  EXPECT_EQ(run({11, "Unsqueeze", {Attr("axes", Ints{0, 4})}}, counting({2, 1, 3})).shape(),
            (Ints{1, 2, 1, 3, 1}));
  EXPECT_EQ(run({13, "Unsqueeze", {}, {ints({-1})}}, counting({2})).shape(), (Ints{2, 1}));
  EXPECT_EQ(run({9, "Flatten"}, x).shape(), (Ints{1, 6}));
  EXPECT_EQ(run({9, "Flatten", {Attr("axis", 0)}}, x).shape(), (Ints{1, 6}));
  EXPECT_EQ(run({11, "Flatten", {Attr("axis", -1)}}, x).shape(), (Ints{2, 3}));
  expect(run({9, "Transpose"}, counting({2, 3})), {3, 2}, {0, 3, 1, 4, 2, 5});
  EXPECT_EQ(error_kind({13, "Squeeze", {}, {ints({1})}}, x), ErrorKind::input);
  EXPECT_EQ(error_kind({9, "Transpose", {Attr("perm", Ints{0, 0})}}, counting({2, 3})),
            ErrorKind::input);
}

TEST(OnnxOps, SliceAsAttributesAndInputs) {
  Tensor x = counting({3, 4});
  expect(
      run({9, "Slice", {Attr("starts", Ints{1}), Attr("ends", Ints{1000}), Attr("axes", Ints{1})}},
          x),
      {3, 3}, {1, 2, 3, 5, 6, 7, 9, 10, 11});
  expect(
      run({10, "Slice", {}, {ints({0, -3}), ints({INT64_MAX, -1}), ints({0, 1}), ints({2, 1})}}, x),
      {2, 2}, {1, 2, 9, 10});
  expect(run({13, "Slice", {}, {ints({2}), ints({1})}}, x), {0, 4}, {});
  expect(
      run({13, "Slice", {}, {ints({-1, 0}), ints({INT64_MIN, 1}), ints({0, 1}), ints({-2, 1})}}, x),
      {2, 1}, {8, 0});
  EXPECT_EQ(error_kind({13, "Slice", {}, {ints({0}), ints({1}), ints({0}), ints({0})}}, x),
            ErrorKind::input);
}

TEST(OnnxOps, SplitAsAttributeInputAndNumber) {
  Tensor x = counting({5});
  auto expect_parts = [&](const OneNode& op, const Ints& sizes) {
    auto parts = run_all(op, x);
    double next = 0;
    ASSERT_EQ(parts.size(), sizes.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSERT_EQ(parts[i].shape(), Ints{sizes[i]});
      for (int64_t k = 0; k < sizes[i]; ++k) EXPECT_EQ(parts[i].get_f64(k), next++);
    }
  };
  expect_parts({11, "Split", {Attr("split", Ints{2, 3})}, {}, 2}, {2, 3});
  expect_parts({13, "Split", {}, {ints({1, 4})}, 2}, {1, 4});
  expect_parts({18, "Split", {Attr("num_outputs", 2)}, {}, 2}, {3, 2});
  expect_parts({13, "Split", {}, {}, 5}, {1, 1, 1, 1, 1});
  EXPECT_EQ(error_kind({13, "Split", {}, {ints({1, 5})}, 2}, x), ErrorKind::input);
}

TEST(OnnxOps, PadAsAttributesAndInputs) {
  Tensor x = counting({2, 2});
  expect(run({9, "Pad", {Attr("pads", Ints{0, 1, 1, 0}), Attr("value", 9.0)}}, x), {3, 3},
         {9, 0, 1, 9, 2, 3, 9, 9, 9});
  expect(run({13, "Pad", {}, {ints({0, 0, 0, 1}), scalar(7)}}, x), {2, 3}, {0, 1, 7, 2, 3, 7});
  expect(run({18, "Pad", {}, {ints({1, 0}), left_out(), ints({-1})}}, x), {2, 3},
         {0, 0, 1, 0, 2, 3});
  expect(run({13, "Pad", {}, {ints({-1, 0, 0, 1})}}, x), {1, 3}, {2, 3, 0});
  EXPECT_EQ(error_kind({13, "Pad", {Attr("mode", "symmetric")}, {ints({0, 1, 0, 0})}}, x),
            ErrorKind::unsupported);
}

TEST(OnnxOps, GatherCountsNegativeIndicesFromTheEnd) {
  Tensor x = counting({3, 2});
  expect(run({11, "Gather", {}, {ints({-1, 0})}}, x), {2, 2}, {4, 5, 0, 1});
  expect(run({11, "Gather", {Attr("axis", 1)}, {tensor(DType::i64, {}, {-1})}}, x), {3}, {1, 3, 5});
  EXPECT_EQ(error_kind({11, "Gather", {}, {tensor(DType::i64, {}, {3})}}, x), ErrorKind::input);
  Graph g = Model(13)
                .input("ids", DType::i64, {"N"})
                .initializer("t", counting({3, 1}))
                .node("Gather", {"t", "ids"}, {"y"})
                .output("y")
                .import();
  expect(evaluate(g, {tensor(DType::i64, {3}, {-3, 2, -1})}, Precision::per_op)[0], {3, 1},
         {0, 2, 2});
  EXPECT_THROW(evaluate(g, {tensor(DType::i64, {1}, {-4})}, Precision::per_op), Error);
}

TEST(OnnxOps, ConcatTileExpandDepthToSpace) {
  Tensor x = counting({1, 2});
  expect(run({11, "Concat", {Attr("axis", -1)}, {floats({1, 1}, {7})}}, x), {1, 3}, {0, 1, 7});
  expect(run({13, "Tile", {}, {ints({2, 2})}}, x), {2, 4}, {0, 1, 0, 1, 0, 1, 0, 1});
  expect(run({13, "Expand", {}, {ints({3, 1})}}, x), {3, 2}, {0, 1, 0, 1, 0, 1});
  expect(run({13, "DepthToSpace", {Attr("blocksize", 2)}}, counting({1, 4, 1, 1})), {1, 1, 2, 2},
         {0, 1, 2, 3});
  expect(run({13, "SpaceToDepth", {Attr("blocksize", 2)}}, counting({1, 1, 2, 2})), {1, 4, 1, 1},
         {0, 1, 2, 3});
}

TEST(OnnxOps, OneHotRangeConstantsTrilu) {
  Tensor ids = tensor(DType::i64, {3}, {1, -1, 5});
  expect(run({11, "OneHot", {}, {tensor(DType::i64, {}, {3}), floats({2}, {-1, 2})}}, ids), {3, 3},
         {-1, 2, -1, -1, -1, 2, -1, -1, -1});
  Graph range = Model(13)
                    .input("x", DType::f32, {"N"})
                    .initializer("start", scalar(1))
                    .initializer("limit", scalar(2))
                    .initializer("delta", scalar(0.25))
                    .node("Range", {"start", "limit", "delta"}, {"y"})
                    .output("y")
                    .import();
  expect(evaluate(range, {counting({1})}, Precision::per_op)[0], {4}, {1, 1.25, 1.5, 1.75});
  Graph filled = Model(13)
                     .input("x", DType::f32, {"N"})
                     .node("Shape", {"x"}, {"s"})
                     .node("ConstantOfShape", {"s"}, {"y"}, {Attr("value", floats({1}, {3}))})
                     .output("y")
                     .import();
  expect(evaluate(filled, {counting({2})}, Precision::per_op)[0], {2}, {3, 3});
  expect(run({14, "Trilu", {Attr("upper", 0)}}, floats({2, 2}, {1, 2, 3, 4})), {2, 2},
         {1, 0, 3, 4});
}

TEST(OnnxOps, RangeOverANamedSize) {
  Graph g = Model(13)
                .input("x", DType::f32, {"N"})
                .initializer("zero", tensor(DType::i64, {}, {0}))
                .initializer("one", tensor(DType::i64, {}, {1}))
                .node("Shape", {"x"}, {"s"})
                .node("Squeeze", {"s"}, {"n"})
                .node("Range", {"zero", "n", "one"}, {"y"})
                .output("y")
                .import();
  expect(evaluate(g, {counting({4})}, Precision::per_op)[0], {4}, {0, 1, 2, 3});
}

// --- products

TEST(OnnxOps, MatMulOfVectors) {
  expect(run({13, "MatMul", {}, {floats({2}, {1, 2})}}, floats({2}, {3, 4})), {}, {11});
  expect(run({13, "MatMul", {}, {floats({2, 1}, {1, 2})}}, floats({2}, {3, 4})), {1}, {11});
  expect(run({13, "MatMul", {}, {floats({2}, {1, 2})}}, counting({2, 2})), {2}, {2, 8});
  expect(run({13, "MatMul", {}, {floats({2, 2}, {1, 0, 0, 1})}}, counting({2, 1, 2})), {2, 1, 2},
         {0, 1, 2, 3});
}

TEST(OnnxOps, GemmScalesTransposesAndAdds) {
  Tensor a = counting({2, 3}), b = floats({2, 1}, {1, 10}), c = floats({1}, {1});
  std::vector<Attr> attrs{Attr("transA", 1), Attr("alpha", 2.0), Attr("beta", 3.0)};
  expect(run({11, "Gemm", attrs, {b, c}}, a), {3, 1}, {63, 85, 107});
  expect(run({11, "Gemm", {Attr("transA", 1)}, {b}}, a), {3, 1}, {30, 41, 52});
  expect(run({11, "Gemm", {Attr("transA", 1), Attr("transB", 1)}, {floats({1, 2}, {1, 10}), c}}, a),
         {3, 1}, {31, 42, 53});
}

TEST(OnnxOps, ConvWithPadsGroupsAndAutoPad) {
  Tensor x = counting({1, 1, 4});
  Tensor w = floats({1, 1, 2}, {1, 10});
  expect(run({11, "Conv", {}, {w}}, x), {1, 1, 3}, {10, 21, 32});
  expect(run({11, "Conv", {Attr("pads", Ints{1, 0}), Attr("strides", Ints{2})}, {w}}, x), {1, 1, 2},
         {0, 21});
  expect(run({11, "Conv", {Attr("auto_pad", "SAME_UPPER")}, {w}}, x), {1, 1, 4}, {10, 21, 32, 3});
  expect(run({11, "Conv", {Attr("auto_pad", "SAME_LOWER")}, {w}}, x), {1, 1, 4}, {0, 10, 21, 32});
  expect(run({11, "Conv", {Attr("dilations", Ints{2})}, {w, floats({1}, {100})}}, x), {1, 1, 2},
         {120, 131});
  expect(run({11, "Conv", {Attr("group", 2)}, {floats({2, 1, 1}, {1, 10})}}, counting({1, 2, 2})),
         {1, 2, 2}, {0, 1, 20, 30});
  EXPECT_EQ(error_kind({11, "Conv", {Attr("kernel_shape", Ints{3})}, {w}}, x), ErrorKind::input);
  EXPECT_EQ(error_kind({11, "Conv", {Attr("strides", Ints{0})}, {w}}, x), ErrorKind::input);
}

}  // namespace
}  // namespace ingot::testing
