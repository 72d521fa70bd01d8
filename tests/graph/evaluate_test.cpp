// The evaluator: every category on small tensors, broadcasting, empty tensors, both precisions.
#include "graph/evaluate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "support/values.h"

namespace ingot {
namespace {

using testing::evaluate_text;
using testing::tensor;
using testing::values_of;
using Values = std::vector<double>;

Tensor counting(DType dtype, std::vector<int64_t> shape) {
  Tensor value(dtype, std::move(shape));
  for (int64_t i = 0; i < value.size(); ++i) value.set_f64(i, static_cast<double>(i));
  return value;
}

std::string error_of(const std::string& inputs, const std::string& statements,
                     const std::vector<Tensor>& values) {
  try {
    evaluate_text(inputs, statements, values);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.message();
  }
  return "no error";
}

TEST(Evaluate, ElementwiseBroadcasts) {
  const Tensor x = counting(DType::f32, {2, 3});
  const Tensor row = tensor(DType::f32, {3}, {10, 20, 30});
  const Tensor column = tensor(DType::f32, {2, 1}, {100, 200});
  EXPECT_EQ(values_of(evaluate_text("x: f32[B, 3], r: f32[3], c: f32[B, 1]",
                                    "t = add(x, r) y = sub(t, c) return y", {x, row, column})),
            (Values{-90, -79, -68, -187, -176, -165}));
  EXPECT_EQ(
      values_of(evaluate_text("r: f32[3], c: f32[B, 1]", "y = mul(c, r) return y", {row, column})),
      (Values{1000, 2000, 3000, 2000, 4000, 6000}));
}

TEST(Evaluate, ScalarsAndEmptyTensors) {
  EXPECT_EQ(
      values_of(evaluate_text("x: f32[]", "y = mul(x, 3) return y", {tensor(DType::f32, {}, {2})})),
      (Values{6}));
  const Tensor empty(DType::f32, {0, 3});
  const Tensor result =
      evaluate_text("x: f32[B, 3]", "t = exp(x) y = transpose(t, perm=[1, 0]) return y", {empty});
  EXPECT_EQ(result.shape(), (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(values_of(evaluate_text("x: f32[B, 3]", "y = sum(x, dims=[0]) return y", {empty})),
            (Values{0, 0, 0}));
  EXPECT_EQ(evaluate_text("x: f32[B, 3]", "y = softmax(x, dim=-1) return y", {empty}).size(), 0);
  EXPECT_EQ(values_of(evaluate_text("x: f32[4, K], w: f32[K, 2]", "y = matmul(x, w) return y",
                                    {Tensor(DType::f32, {4, 0}), Tensor(DType::f32, {0, 2})})),
            Values(8, 0.0));
}

TEST(Evaluate, SelectAndComparisons) {
  const Tensor x = tensor(DType::f32, {4}, {-1, 2, NAN, 4});
  const Tensor result =
      evaluate_text("x: f32[4]", "m = gt(x, 1) y = select(m, x, -7) return y", {x});
  EXPECT_EQ(values_of(result), (Values{-7, 2, -7, 4}));
  EXPECT_EQ(values_of(evaluate_text("x: f32[4]", "m = isnan(x) y = not(m) return y", {x})),
            (Values{1, 1, 0, 1}));
}

TEST(Evaluate, Movement) {
  const Tensor x = counting(DType::f32, {2, 3});
  const auto run = [&](const std::string& call) {
    return values_of(evaluate_text("x: f32[2, 3]", "y = " + call + " return y", {x}));
  };
  EXPECT_EQ(run("reshape(x, shape=[3, 2])"), (Values{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(run("transpose(x, perm=[1, 0])"), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(run("broadcast(x, shape=[2, 2, 3])"), (Values{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(run("slice(x, starts=[0, 0], ends=[2, 3], steps=[1, 2])"), (Values{0, 2, 3, 5}));
  EXPECT_EQ(run("slice(x, starts=[1, 1], ends=[2, 3])"), (Values{4, 5}));
  EXPECT_EQ(run("concat(x, x, dim=1)"), (Values{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(run("concat(x, x, dim=-2)"), (Values{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(run("pad(x, low=[1, 0], high=[0, 1], value=9)"),
            (Values{9, 9, 9, 9, 0, 1, 2, 9, 3, 4, 5, 9}));
}

TEST(Evaluate, ThreeDimensionalTranspose) {
  const Tensor x = counting(DType::i32, {2, 3, 2});
  EXPECT_EQ(
      values_of(evaluate_text("x: i32[2, 3, 2]", "y = transpose(x, perm=[2, 0, 1]) return y", {x})),
      (Values{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
}

TEST(Evaluate, GatherAlongEveryDimension) {
  const Tensor table = counting(DType::f32, {2, 3});
  const Tensor ids = tensor(DType::i64, {2}, {1, 0});
  const std::string inputs = "t: f32[2, 3], i: i64[N]";
  EXPECT_EQ(values_of(evaluate_text(inputs, "y = gather(t, i, dim=0) return y", {table, ids})),
            (Values{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(values_of(evaluate_text(inputs, "y = gather(t, i, dim=1) return y", {table, ids})),
            (Values{1, 0, 4, 3}));
}

TEST(Evaluate, IotaCountsAlongItsDimension) {
  EXPECT_EQ(
      values_of(evaluate_text("x: f32[B]", "y = iota(shape=[2, B], dim=1, dtype=f32) return y",
                              {Tensor(DType::f32, {3})})),
      (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(
      values_of(evaluate_text("x: f32[B]", "y = iota(shape=[2, B], dim=0, dtype=i32) return y",
                              {Tensor(DType::f32, {3})})),
      (Values{0, 0, 0, 1, 1, 1}));
}

TEST(Evaluate, ReductionsOverAnyDimensions) {
  const Tensor x = counting(DType::f32, {2, 3, 2});
  const auto run = [&](const std::string& call) {
    return values_of(evaluate_text("x: f32[2, 3, 2]", "y = " + call + " return y", {x}));
  };
  EXPECT_EQ(run("sum(x, dims=[2])"), (Values{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(run("sum(x, dims=[1])"), (Values{6, 9, 24, 27}));
  EXPECT_EQ(run("sum(x, dims=[0, 2])"), (Values{14, 22, 30}));
  EXPECT_EQ(run("max(x, dims=[0, 1])"), (Values{10, 11}));
  EXPECT_EQ(run("min(x, dims=[1, 2], keepdims=true)"), (Values{0, 6}));
  EXPECT_EQ(run("sum(x)"), (Values{66}));
  EXPECT_EQ(run("mean(x, dims=[-1])"), (Values{0.5, 2.5, 4.5, 6.5, 8.5, 10.5}));
}

TEST(Evaluate, AnyAndAll) {
  const Tensor m = tensor(DType::boolean, {3, 2}, {0, 0, 1, 0, 1, 1});
  EXPECT_EQ(values_of(evaluate_text("m: bool[3, 2]", "y = any(m, dims=[1]) return y", {m})),
            (Values{0, 1, 1}));
  EXPECT_EQ(values_of(evaluate_text("m: bool[3, 2]", "y = all(m, dims=[1]) return y", {m})),
            (Values{0, 0, 1}));
}

TEST(Evaluate, MatmulTransposedAndBatched) {
  const Tensor a = counting(DType::f32, {2, 3});
  const Tensor b = counting(DType::f32, {3, 2});
  const Values expected{10, 13, 28, 40};
  EXPECT_EQ(
      values_of(evaluate_text("a: f32[2, 3], b: f32[3, 2]", "y = matmul(a, b) return y", {a, b})),
      expected);
  EXPECT_EQ(values_of(evaluate_text("a: f32[2, 3], b: f32[3, 2]",
                                    "u = transpose(a, perm=[1, 0]) v = transpose(b, perm=[1, 0]) "
                                    "y = matmul(u, v, transpose_a=true, transpose_b=true) return y",
                                    {a, b})),
            expected);
  const Tensor batched =
      evaluate_text("a: f32[2, 3], b: f32[3, 2]",
                    "u = broadcast(b, shape=[4, 3, 2]) y = matmul(a, u) return y", {a, b});
  EXPECT_EQ(batched.shape(), (std::vector<int64_t>{4, 2, 2}));
  EXPECT_EQ(batched.get_f64(15), 40);
}

// Against the definition, written as it stands in textbooks.
TEST(Evaluate, ConvolutionWithStridePadDilationAndGroups) {
  const Tensor x = random_tensor(DType::f64, {2, 4, 7, 6}, 1, 1, 0, 0);
  const Tensor w = random_tensor(DType::f64, {6, 2, 3, 2}, 2, 1, 0, 0);
  const Tensor b = random_tensor(DType::f64, {6}, 3, 1, 0, 0);
  const Tensor y = evaluate_text(
      "x: f64[2, 4, 7, 6], w: f64[6, 2, 3, 2], b: f64[6]",
      "y = conv(x, w, b, strides=[2, 1], pads=[1, 2, 0, 1], dilations=[1, 2], groups=2) return y",
      {x, w, b});
  ASSERT_EQ(y.shape(), (std::vector<int64_t>{2, 6, 3, 7}));
  int64_t at = 0;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t o = 0; o < 6; ++o) {
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 7; ++j, ++at) {
          double sum = b.get_f64(o);
          for (int64_t c = 0; c < 2; ++c) {
            for (int64_t s = 0; s < 3; ++s) {
              for (int64_t t = 0; t < 2; ++t) {
                const int64_t row = 2 * i + s - 1, column = j + 2 * t - 2;
                if (row < 0 || row >= 7 || column < 0 || column >= 6) continue;
                const int64_t channel = o / 3 * 2 + c;
                sum += x.get_f64(((n * 4 + channel) * 7 + row) * 6 + column) *
                       w.get_f64(((o * 2 + c) * 3 + s) * 2 + t);
              }
            }
          }
          EXPECT_NEAR(y.get_f64(at), sum, 1e-12);
        }
      }
    }
  }
}

TEST(Evaluate, WideComputesEverythingInF64) {
  const Tensor x = tensor(DType::bf16, {1}, {1.0078125});
  const Tensor result = evaluate_text("x: bf16[1]", "t = mul(x, x) y = cast(t, dtype=f16) return y",
                                      {x}, Precision::wide);
  EXPECT_EQ(result.dtype(), DType::f64);
  EXPECT_EQ(result.get_f64(0), 1.0078125 * 1.0078125);
  // Integers and bool stay what they are.
  const Tensor n =
      evaluate_text("x: bf16[1]", "y = cast(x, dtype=i32) return y", {x}, Precision::wide);
  EXPECT_EQ(n.dtype(), DType::i32);
}

// The two precisions agree on every example within what rounding explains.
TEST(Evaluate, EveryExampleAgreesWithFloat64) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(INGOT_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() != ".ingot") continue;
    const Graph graph = parse_graph(read_file(entry.path().string()), entry.path().string());
    Bindings sizes;
    for (const std::string& name : size_names(graph)) sizes[name] = 3;
    std::vector<Tensor> inputs;
    bool is_half = false;
    for (const NodeId id : graph.inputs) {
      const TensorType& type = graph[id].type;
      is_half |= byte_size(type.dtype) == 2;
      inputs.push_back(
          random_tensor(type.dtype, evaluate(type.shape, sizes), inputs.size() + 1, 1, 0, 2));
    }
    const std::vector<Tensor> rounded = evaluate(graph, inputs, Precision::per_op);
    const std::vector<Tensor> wide = evaluate(graph, inputs, Precision::wide);
    const double tolerance = is_half ? 0.02 : 1e-3;
    for (size_t k = 0; k < wide.size(); ++k) {
      ASSERT_EQ(rounded[k].shape(), wide[k].shape());
      for (int64_t i = 0; i < wide[k].size(); ++i) {
        const double expected = wide[k].get_f64(i);
        if (std::isnan(expected) && std::isnan(rounded[k].get_f64(i))) continue;  // a masked row
        ASSERT_NEAR(rounded[k].get_f64(i), expected, tolerance * (1 + std::abs(expected)))
            << entry.path();
      }
    }
  }
}

TEST(Evaluate, InputsAreChecked) {
  const Tensor x(DType::f32, {4, 9});
  EXPECT_EQ(error_of("x: f32[B, 8]", "return x", {x}), "x: expected [B, 8], got [4, 9]");
  EXPECT_EQ(error_of("x: f64[B, 9]", "return x", {x}), "x: expected f64, got f32");
  EXPECT_EQ(error_of("x: f32[B, 9]", "return x", {}), "g: expected 1 inputs, got 0");
}

TEST(Evaluate, AConvolutionOfMagikasSizeTakesSeconds) {
  const auto start = std::chrono::steady_clock::now();
  const Tensor y =
      evaluate_text("x: f32[1, 256, 512], w: f32[512, 256, 5]", "y = conv(x, w) return y",
                    {random_tensor(DType::f32, {1, 256, 512}, 1, 1, 0, 0),
                     random_tensor(DType::f32, {512, 256, 5}, 2, 1, 0, 0)});
  EXPECT_EQ(y.shape(), (std::vector<int64_t>{1, 512, 508}));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // 0.3 G multiply-adds; the margin is for sanitizers and busy machines.
  EXPECT_LT(took.count(), 30.0);
}

}  // namespace
}  // namespace ingot
