// print and parse: each gives back what the other made.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "graph/graph.h"

namespace ingot {
namespace {

Graph parse(std::string_view text) { return parse_graph(text, "<text>"); }

std::string body(const std::string& statements) {
  return fmt::format(
      "graph g(x: f32[B, 8], y: f32[B, 8], m: bool[B, 8], i: i64[B], u: u8[4], h: bf16[8]) "
      "{{\n{}}}\n",
      statements);
}

// Text that print gives for it, unchanged.
void expect_canonical(const std::string& statements) {
  const std::string text = body(statements);
  const Graph graph = parse(text);
  verify(graph, "parse");
  EXPECT_EQ(print(graph), text);
}

TEST(Text, PrintGivesTheCanonicalForm) {
  expect_canonical("  a = add(x, y)\n  return a\n");
  expect_canonical("  a = add(x, 0.5)\n  b = sub(1, a)\n  return b, a\n");
  expect_canonical("  a = sum(x, dims=[-1], keepdims=true)\n  return a\n");
  expect_canonical("  a = select(m, x, -inf)\n  return a\n");
  expect_canonical("  a = cast(x, dtype=bf16)\n  b = add(a, h)\n  return b\n");
  expect_canonical("  a = reshape(x, shape=[2*B, 4])\n  return a\n");
  expect_canonical("  a = transpose(x, perm=[1, 0])\n  b = concat(a, a, dim=1)\n  return b\n");
  expect_canonical("  a = clip(x, max=6, min=0)\n  return a\n");
  expect_canonical("  a = gather(x, i, dim=0, out_of_range=\"zero\")\n  return a\n");
  expect_canonical("  a = constant(f32[2, 4], [0, 1, 2, 3, 4, 5, 6, 7])\n  return a\n");
  expect_canonical(
      "  a = constant(i64, [-9223372036854775808, 9223372036854775807])\n  return a\n");
  expect_canonical("  a = constant(bool, [true, false])\n  return a\n");
  expect_canonical("  a = constant(f32, [nan, -0, inf, 1e-45])\n  return a\n");
  expect_canonical("  a = constant(f64, 0.1)\n  return a\n");
  expect_canonical("  a = constant(f32, [])\n  return a\n");
  expect_canonical("  return x, x_1=x, logits=y\n");
  expect_canonical("  a = iota(dim=0, dtype=i64, shape=[B])\n  return a\n");
  expect_canonical("  a = matmul(x, y, transpose_b=true)\n  return a\n");
}

TEST(Text, OddNamesAreQuoted) {
  expect_canonical("  `a b/c:0` = add(x, y)\n  `true` = neg(`a b/c:0`)\n  return `true`\n");
  expect_canonical("  `inf` = add(x, y)\n  `return` = neg(`inf`)\n  return `return`, `1`=`inf`\n");
}

TEST(Text, NumbersTakeTheOtherOperandsType) {
  const Graph graph =
      parse(body("a = add(h, 0.1) b = add(u, 255) c = and(m, true) "
                 "d = select(m, 1, x) e = add(x, 0.1) f = add(i, 7) return a"));
  std::vector<DType> dtypes;
  for (const Node& node : graph.nodes) {
    if (node.op == Op::constant) dtypes.push_back(node.type.dtype);
  }
  EXPECT_EQ(dtypes, (std::vector<DType>{DType::bf16, DType::u8, DType::boolean, DType::f32,
                                        DType::f32, DType::i64}));
}

TEST(Text, EqualNumbersAreOneNodeButNotZeroAndNegativeZero) {
  const Graph graph =
      parse(body("a = add(x, 0) b = mul(x, 0) c = add(x, -0) d = add(h, 0) return a"));
  int literals = 0;
  for (const Node& node : graph.nodes) literals += node.op == Op::constant;
  EXPECT_EQ(literals, 3);
}

TEST(Text, GeluTakesItsFormAsAnAttribute) {
  const Graph graph = parse(
      body("a = gelu(x, approximate=\"tanh\") b = gelu(x, approximate=\"none\") return a, b"));
  EXPECT_EQ(op_name(graph[graph.outputs[0]].op), "gelu_tanh");
  EXPECT_EQ(op_name(graph[graph.outputs[1]].op), "gelu");
}

TEST(Text, SplitBecomesSlices) {
  const Graph graph = parse(body("a, b = split(x, dim=-1, sizes=[3, 5]) c = neg(b) return a, c"));
  verify(graph, "split");
  const Node& first = graph[graph.outputs[0]];
  EXPECT_EQ(first.op, Op::slice);
  EXPECT_EQ(first.name, "a");
  EXPECT_EQ(shape_text(first.type.shape), "[B, 3]");
  EXPECT_EQ(shape_text(graph[graph.outputs[1]].type.shape), "[B, 5]");
  EXPECT_EQ(print(parse(print(graph))), print(graph));
}

TEST(Text, LargeConstantsKeepTheirBits) {
  GraphBuilder builder("g");
  Tensor value(DType::f32, {5, 31});
  for (int64_t i = 0; i < value.size(); ++i) value.set_f64(i, 1.0 / static_cast<double>(i - 7));
  const uint32_t odd_nan = 0xffc12345;
  std::memcpy(value.data(), &odd_nan, sizeof odd_nan);
  builder.output(builder.constant(value, "w"));
  Tensor small(DType::f32, {});
  std::memcpy(small.data(), &odd_nan, sizeof odd_nan);
  builder.output(builder.constant(small, "n"));
  const Graph graph = parse(print(builder.take()));
  const Tensor& back = *graph[graph.outputs[0]].data;
  ASSERT_EQ(back.shape(), value.shape());
  EXPECT_EQ(std::memcmp(back.data(), value.data(), static_cast<size_t>(value.bytes())), 0);
  EXPECT_EQ(std::memcmp(graph[graph.outputs[1]].data->data(), &odd_nan, sizeof odd_nan), 0);
}

TEST(Text, EveryLengthOfBase64ReadsBack) {
  for (int64_t n = 65; n < 70; ++n) {
    GraphBuilder builder("g");
    Tensor value(DType::u8, {n});
    for (int64_t i = 0; i < n; ++i) value.set_i64(i, 251 * i + 3);
    builder.output(builder.constant(value, "w"));
    const Graph graph = parse(print(builder.take()));
    EXPECT_EQ(
        std::memcmp(graph[graph.outputs[0]].data->data(), value.data(), static_cast<size_t>(n)), 0);
  }
}

TEST(Text, ConstantsComeFromFilesBesideTheText) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "ingot_text";
  std::filesystem::create_directories(folder);
  Tensor value(DType::f32, {2, 3});
  value.set_f64(5, 7);
  write_npy((folder / "w.npy").string(), value);
  const Graph graph = parse_graph("graph g() { w = constant(file=\"w.npy\") return w }",
                                  (folder / "g.ingot").string());
  EXPECT_EQ(shape_text(graph[0].type.shape), "[2, 3]");
  EXPECT_EQ(graph[0].data->get_f64(5), 7);
}

TEST(Text, EveryExampleReadsAndPrintsBack) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(INGOT_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() != ".ingot") continue;
    ++count;
    const Graph graph = parse_graph(read_file(entry.path().string()), entry.path().string());
    verify(graph, "parse");
    EXPECT_EQ(graph.name, entry.path().stem().string());
    EXPECT_EQ(print(parse(print(graph))), print(graph)) << entry.path();
  }
  EXPECT_GE(count, 12);
}

// Anything but a graph is an Error{input}: every prefix, and every single byte changed.
TEST(Text, DamagedTextIsAnErrorNeverACrash) {
  const std::string text = body(
      "a, b = split(x, dim=1, sizes=[4, 4]) c = constant(f32[2], base64=\"AACAPwAAAEA=\")\n"
      "d = gelu(a, approximate=\"tanh\") e = pad(d, low=[0, B/2], high=[0, 1], value=-1e3)\n"
      "return e, z=`d`\n");
  parse(text);
  const auto try_parse = [](const std::string& damaged) {
    try {
      verify(parse(damaged), "damaged");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what() << "\n" << damaged;
    }
  };
  for (size_t n = 0; n + 2 < text.size(); ++n) {
    EXPECT_THROW(parse(text.substr(0, n)), Error) << n;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char byte : {'\0', '(', ']', '9', 'B', '"', '`', '-', '#', '\xff'}) {
      std::string damaged = text;
      damaged[i] = byte;
      try_parse(damaged);
    }
  }
}

TEST(Text, DeepOrLargeExpressionsAreErrorsNotHangs) {
  const auto with_size = [](const std::string& size) {
    return "graph g(x: f32[B]) { y = reshape(x, shape=[" + size + "]) return y }";
  };
  EXPECT_THROW(parse(with_size(std::string(100000, '(') + "B")), Error);
  EXPECT_THROW(parse(with_size(std::string(100000, '-') + "B")), Error);
  std::string product = "(B + 1)";
  for (int i = 0; i < 2000; ++i) product += "*(B + 1)";
  EXPECT_THROW(parse(with_size(product)), Error);
  EXPECT_THROW(parse("graph g(x: f32[99999999999999999999]) { return x }"), Error);
  EXPECT_THROW(parse("graph g(x: f32[9223372036854775807*4]) { return x }"), Error);
}

TEST(Text, FilesBeyondTheLimitAreRefused) {
  const std::string text((size_t{64} << 20) + 1, ' ');
  EXPECT_THROW(parse(text), Error);
}

}  // namespace
}  // namespace ingot
