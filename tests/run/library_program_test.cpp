// Programs of a library's kernels: the right values, and the reason where there is no such program.
#include "run/library_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/evaluate.h"

namespace ingot {
namespace {

std::string graph_text(const std::string& inputs, const std::string& lines,
                       const std::string& result = "y") {
  return "graph g(" + inputs + ") {\n  " + lines + "\n  return " + result + "\n}\n";
}

struct Made {
  std::unique_ptr<LibraryProgram> program;
  std::string why;
};

Made made(const std::string& text, const std::vector<std::vector<int64_t>>& shapes,
          int threads = 1) {
  Made result;
  result.program = LibraryProgram::make(parse_graph(text, "test"), shapes, threads, &result.why);
  return result;
}

// The library's kernels, having the right values.
std::string kernels(const std::string& inputs, const std::string& lines,
                    const std::vector<std::vector<int64_t>>& shapes, double bound = 2e-6,
                    const std::string& result = "y") {
  const Graph graph = parse_graph(graph_text(inputs, lines, result), "test");
  const Made one = made(graph_text(inputs, lines, result), shapes, 2);
  if (!one.program) return one.why;
  std::vector<Tensor> data;
  for (size_t i = 0; i < shapes.size(); ++i) {
    data.push_back(random_tensor(graph[graph.inputs[i]].type.dtype, shapes[i], i + 1, 1.0, 0, 1));
  }
  const std::vector<Tensor> expected = evaluate(graph, data, Precision::wide);
  std::vector<Tensor> outputs = one.program->new_outputs();
  for (int run = 0; run < 2; ++run) one.program->run(data, outputs);  // the second on used memory
  for (size_t o = 0; o < outputs.size(); ++o) {
    EXPECT_EQ(outputs[o].shape(), expected[o].shape());
    for (int64_t i = 0; i < outputs[o].size(); ++i) {
      const double right = expected[o].get_f64(i);
      EXPECT_NEAR(outputs[o].get_f64(i), right, bound * std::max(1.0, std::abs(right)))
          << lines << " at " << i;
    }
  }
  return one.program->text();
}

TEST(LibraryProgram, JoinsWhatTheLibraryJoins) {
  EXPECT_EQ(
      kernels("x: f32[B, 64], w: f32[64, 32], b: f32[32]",
              "m = matmul(x, w)\n  t = add(m, b)\n  y = gelu(t)", {{5, 64}, {64, 32}, {32}}, 1e-5),
      "matmul + bias + gelu");
  EXPECT_EQ(kernels("x: f32[64, B], w: f32[32, 64], b: f32[1, 32]",
                    "m = matmul(x, w, transpose_a=true, transpose_b=true)\n  t = add(b, m)\n"
                    "  y = relu(t)",
                    {{64, 5}, {32, 64}, {1, 32}}, 1e-5),
            "matmul + bias + relu");
  EXPECT_EQ(kernels("x: f32[4, B, 8], w: f32[8, 3]", "y = matmul(x, w)", {{4, 5, 8}, {8, 3}}, 1e-5),
            "matmul");
  EXPECT_EQ(kernels("x: f32[B, 7], b: f32[7]", "t = add(b, x)\n  u = tanh(t)\n  y = neg(u)",
                    {{5, 7}, {7}}),
            "add + tanh + neg");
}

TEST(LibraryProgram, KeepsApartWhatIsUsedTwice) {
  EXPECT_EQ(kernels("x: f32[B, 7]", "t = mul(x, 0.5)\n  u = exp(t)\n  y = add(u, t)", {{5, 7}}),
            "mul, exp, add");
  EXPECT_EQ(kernels("x: f32[B, 7]", "t = exp(x)\n  y = sigmoid(t)", {{5, 7}}, 2e-6, "y, t"),
            "exp, sigmoid");
  EXPECT_EQ(kernels("x: f32[B, 7]", "t = exp(x)\n  y = mul(t, t)", {{5, 7}}), "exp, mul");
}

TEST(LibraryProgram, HasSoftmaxAndLayerNorm) {
  EXPECT_EQ(kernels("x: f32[B, 33]", "y = softmax(x, dim=1)", {{6, 33}}), "softmax");
  EXPECT_EQ(kernels("x: f32[B, 33]", "y = log_softmax(x, dim=0)", {{6, 33}}, 1e-5), "log_softmax");
  EXPECT_EQ(kernels("x: f32[B, 33], g: f32[33], b: f32[33]", "y = layer_norm(x, g, b, dims=[-1])",
                    {{6, 33}, {33}, {33}}, 1e-5),
            "layer_norm");
  const std::string narrow =
      kernels("x: bf16[B, 64], b: bf16[64]", "t = add(x, b)\n  y = silu(t)", {{6, 64}, {64}}, 0.02);
  // bf16 takes AVX-512.
  EXPECT_TRUE(narrow == "add + silu" || narrow.starts_with("the library refuses")) << narrow;
}

TEST(LibraryProgram, SaysWhyThereIsNone) {
  const auto why = [](const std::string& inputs, const std::string& lines,
                      const std::vector<std::vector<int64_t>>& shapes) {
    return made(graph_text(inputs, lines), shapes).why;
  };
  EXPECT_EQ(why("x: f32[B, 7]", "y = sum(x, dims=[1])", {{5, 7}}),
            "no library kernel for this program: sum has none");
  EXPECT_EQ(why("x: f64[B, 7]", "y = exp(x)", {{5, 7}}), "no library kernel is used for f64");
  EXPECT_EQ(why("x: f32[B, 7], c: f32[B, 1]", "y = div(c, x)", {{5, 7}, {5, 1}}),
            "the library's div repeats its second operand only");
  EXPECT_EQ(why("r: f32[B, 1], c: f32[1, 7]", "y = add(r, c)", {{5, 1}, {1, 7}}),
            "the library's add repeats one operand only");
  EXPECT_EQ(why("x: f32[B, 7]", "y = exp(x)", {{0, 7}}), "there is nothing to compute");
  EXPECT_EQ(why("x: f32[B, 4, 7], g: f32[4, 7]", "y = layer_norm(x, g, dims=[1, 2])",
                {{5, 4, 7}, {4, 7}}),
            "the library's layer_norm is over the last dimension only");
  EXPECT_EQ(made("graph g(x: f32[B]) {\n  return x\n}\n", {{5}}).why,
            "no library kernel copies a value to an output");
}

TEST(LibraryProgram, CountsWhatItReadsAndWrites) {
  const Made one =
      made(graph_text("x: f32[B, 7], b: f32[7]", "t = add(x, b)\n  y = exp(t)"), {{5, 7}, {7}});
  ASSERT_TRUE(one.program) << one.why;
  EXPECT_EQ(one.program->primitives(), 1u);
  EXPECT_EQ(one.program->bytes(), 4 * (35 + 7 + 35));
}

}  // namespace
}  // namespace ingot
