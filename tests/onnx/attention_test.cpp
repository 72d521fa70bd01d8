// ONNX Attention, by value: its heads against those of the op table's attention.
#include <gtest/gtest.h>

#include "onnx/one_node.h"
#include "support/errors.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

// Random data of these shapes.
std::vector<Tensor> data(const std::string& inputs) {
  return random_inputs(parse_graph("graph g(" + inputs + ") { return q }", "data"), {}, 3);
}

// As [batch, sequence, heads · size].
Tensor joined(const Tensor& heads) {
  const Ints& s = heads.shape();
  return evaluate_text(
      fmt::format("x: f32[{}, {}, {}, {}]", s[0], s[1], s[2], s[3]),
      fmt::format("t = transpose(x, perm=[0, 2, 1, 3]) y = reshape(t, shape=[{}, {}, {}]) return y",
                  s[0], s[2], s[1] * s[3]),
      {heads});
}

TEST(OnnxAttention, HeadsAreBatches) {
  const std::string types =
      "q: f32[2, 3, 4, 8], k: f32[2, 3, 5, 8], v: f32[2, 3, 5, 6], m: bool[4, 5]";
  const std::vector<Tensor> x = data(types);
  const Tensor plain = evaluate_text(types, "y = attention(q, k, v) return y", x);
  EXPECT_TRUE(same_bits(run({23, "Attention", {}, {x[1], x[2]}}, x[0]), plain));
  const Tensor all =
      evaluate_text(types, "y = attention(q, k, v, m, causal=true, scale=0.5) return y", x);
  const std::vector<Attr> attrs{Attr("is_causal", 1), Attr("scale", 0.5)};
  EXPECT_TRUE(same_bits(run({23, "Attention", attrs, {x[1], x[2], x[3]}}, x[0]), all));
}

TEST(OnnxAttention, HeadsOfKeysMayBeShared) {
  const std::string types =
      "q: f32[2, 6, 4, 8], k: f32[2, 3, 5, 8], v: f32[2, 3, 5, 6], m: f32[2, 6, 4, 5], i: u8[6]";
  std::vector<Tensor> x = data(types);
  x[4] = tensor(DType::u8, {6}, {0, 0, 1, 1, 2, 2});
  auto repeated = [&](const std::string& mask) {
    return evaluate_text(
        types,
        "a = gather(k, i, dim=1) b = gather(v, i, dim=1) n = slice(m, starts=[0, 0, "
        "0, 0], ends=[2, 1, 4, 5], steps=[1, 1, 1, 1]) y = attention(q, a, b" +
            mask + ") return y",
        x);
  };
  EXPECT_TRUE(same_bits(run({23, "Attention", {}, {x[1], x[2]}}, x[0]), repeated("")));
  EXPECT_TRUE(same_bits(run({23, "Attention", {}, {x[1], x[2], x[3]}}, x[0]), repeated(", m")));
  const Tensor one = evaluate_text("m: f32[2, 6, 4, 5]",
                                   "n = slice(m, starts=[0, 0, 0, 0], ends=[2, 1, 4, 5], "
                                   "steps=[1, 1, 1, 1]) return n",
                                   {x[3]});
  EXPECT_TRUE(same_bits(run({23, "Attention", {}, {x[1], x[2], one}}, x[0]), repeated(", n")));
}

TEST(OnnxAttention, ThreeDimensionsAreSplitIntoHeads) {
  const std::string types = "q: f32[2, 6, 4, 8], k: f32[2, 3, 5, 8], v: f32[2, 3, 5, 6]";
  const std::vector<Tensor> x = data(types);
  const Tensor apart = run({23, "Attention", {}, {x[1], x[2]}}, x[0]);
  const std::vector<Attr> heads{Attr("q_num_heads", 6), Attr("kv_num_heads", 3)};
  const std::vector<Tensor> got =
      run_all({23, "Attention", heads, {joined(x[1]), joined(x[2])}, 3}, joined(x[0]));
  EXPECT_TRUE(same_bits(got[0], joined(apart)));
  EXPECT_TRUE(same_bits(got[1], x[1]));  // without past ones the present keys are the keys
  EXPECT_TRUE(same_bits(got[2], x[2]));
}

TEST(OnnxAttention, WhatItDoesNotDoIsNamed) {
  const std::vector<Tensor> x =
      data("q: f32[1, 2, 4, 8], k: f32[1, 2, 5, 8], v: f32[1, 2, 5, 6], m: i32[4, 5]");
  auto refused = [&](const std::vector<Attr>& attrs, std::vector<Tensor> more, size_t outputs,
                     const std::string& reason) {
    more.insert(more.begin(), {x[1], x[2]});
    const std::string message = message_of(
        [&] {
          run_all({23, "Attention", attrs, more, outputs}, x[0]);
        },
        ErrorKind::unsupported);
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  refused({Attr("softcap", 2.0)}, {}, 1, "Attention: softcap");
  refused({}, {left_out(), x[1], x[2]}, 1, "Attention: past keys and values");
  refused({}, {}, 4, "Attention: the output qk_matmul_output");
  refused({Attr("softmax_precision", 11)}, {}, 1, "Attention: softmax_precision DOUBLE");
  refused({Attr("scale", 0.0)}, {}, 1, "Attention: scale 0");
  refused({}, {x[3]}, 1, "Attention: a mask of i32 for f32");
  auto invalid = [&](const std::vector<Attr>& attrs, const Tensor& q, const Tensor& k,
                     const std::string& reason) {
    const std::string message = message_of([&] { run_all({23, "Attention", attrs, {k, k}}, q); });
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  };
  invalid({}, joined(x[0]), joined(x[1]), "3 dimensions need q_num_heads and kv_num_heads");
  invalid({Attr("q_num_heads", 3), Attr("kv_num_heads", 2)}, joined(x[0]), joined(x[1]),
          "q of size 16 in 3 heads");
  invalid({}, x[0], joined(x[1]), "Q, K and V have 4, 3 and 3 dimensions");
  invalid({Attr("q_num_heads", 4), Attr("kv_num_heads", 8)}, joined(x[0]), joined(x[1]),
          "4 query heads for 8 heads of keys");
}

TEST(OnnxAttention, CountsOfHeadsThatDifferAreNumbers) {
  auto imported = [](const char* kv_heads) {
    Model model(23);
    model.input("q", DType::f32, {2, "H", 4, 8}).input("k", DType::f32, {2, kv_heads, 5, 8});
    model.input("v", DType::f32, {2, kv_heads, 5, 6}).output("y");
    model.node("Attention", {"q", "k", "v"}, {"y"});
    return model.import();
  };
  const std::string message = message_of([&] { imported("G"); }, ErrorKind::unsupported);
  EXPECT_NE(message.find("H query heads for G heads of keys: both have to be numbers"),
            std::string::npos)
      << message;
  EXPECT_NO_THROW(imported("H"));
}

TEST(OnnxAttention, RmsNormalizationIsTheTablesOp) {
  const Tensor x = floats({1, 2, 2}, {3, 4, 0.5, -0.5}), gamma = floats({2}, {1, 2});
  const Tensor wanted = evaluate_text("x: f32[1, 2, 2], g: f32[2]",
                                      "y = rms_norm(x, g, epsilon=1e-5) return y", {x, gamma});
  EXPECT_TRUE(same_bits(run({23, "RMSNormalization", {}, {gamma}}, x), wanted));
  const Tensor rows = floats({2, 2}, {1, 2, 3, 4});
  const Tensor both =
      evaluate_text("x: f32[1, 2, 2], g: f32[2, 2]",
                    "y = rms_norm(x, g, dims=[1, 2], epsilon=0.5) return y", {x, rows});
  EXPECT_TRUE(same_bits(
      run({23, "RMSNormalization", {Attr("axis", 1), Attr("epsilon", 0.5)}, {rows}}, x), both));
}

}  // namespace
}  // namespace ingot::testing
