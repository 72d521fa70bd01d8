// Each pass on small programs, and that none changes a bit of a result.
#include "graph/passes/passes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "support/values.h"

namespace ingot {
namespace {

using testing::evaluate_text;
using testing::same_bits;
using testing::tensor;
using testing::values_of;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Graph parse(const std::string& inputs, const std::string& statements) {
  return parse_graph("graph g(" + inputs + ") { " + statements + " }", "<text>");
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> out;
  for (const Node& node : graph.nodes) {
    if (node.op != Op::input && node.op != Op::constant) out.emplace_back(op_name(node.op));
  }
  return out;
}

using Ops = std::vector<std::string>;

void expect_same_results(const Graph& before, const Graph& after,
                         const std::vector<Tensor>& inputs) {
  std::vector<Tensor> a = evaluate(before, inputs, Precision::per_op);
  std::vector<Tensor> b = evaluate(after, inputs, Precision::per_op);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << "output " << i;
}

// --- fold_constants

TEST(FoldConstants, EvaluatesWhatIsKnown) {
  Graph g = parse("x: f32[2]",
                  "c = constant(f32[2], [1, 2])\n d = mul(c, 3)\n e = sum(d, dims=[0])\n"
                  "y = add(x, e)\n return y");
  Graph folded = fold_constants(g);
  EXPECT_EQ(ops(folded), Ops{"add"});
  expect_same_results(g, folded, {tensor(DType::f32, {2}, {1, 2})});
}

TEST(FoldConstants, LeavesProductsBroadcastsAndRunTimeErrors) {
  EXPECT_EQ(ops(fold_constants(parse("x: f32[2]",
                                     "c = constant(f32[2, 2], [1, 2, 3, 4])\n d = matmul(c, c)\n"
                                     "y = add(x, d)\n return y"))),
            (Ops{"matmul", "add"}));
  EXPECT_EQ(ops(fold_constants(parse("x: f32[2]",
                                     "c = constant(f32, 1)\n d = broadcast(c, shape=[4, 2])\n"
                                     "y = mul(x, d)\n return y"))),
            (Ops{"broadcast", "mul"}));
  EXPECT_EQ(ops(fold_constants(parse("x: f32[2]",
                                     "c = constant(f32[2], [1, 2])\n i = constant(i32, 7)\n"
                                     "d = gather(c, i)\n y = mul(x, d)\n return y"))),
            (Ops{"gather", "mul"}));
}

TEST(FoldConstants, KeepsTheBitsOfRunTime) {
  Graph g = parse("x: f32[4]",
                  "c = constant(f32[4], [nan, inf, -0, 1e-42])\n d = mul(c, 0)\n e = exp(c)\n"
                  "f = cast(c, dtype=i32)\n return d, e, f");
  expect_same_results(g, fold_constants(g), {tensor(DType::f32, {4}, {0, 0, 0, 0})});
}

// The empty tensors of a program are known, and what is reduced of them.
TEST(FoldConstants, TakesStaticallyEmptyTensorsForConstants) {
  Graph g =
      parse("x: f32[0, 4], y: f32[2, 4]",
            "a = exp(x)\n b = sum(x, dims=[0])\n c = add(b, y)\n "
            "d = slice(y, starts=[0, 0], ends=[2, 0])\n e = prod(d, dims=[1])\n return a, c, e");
  Graph folded = fold_constants(g);
  EXPECT_EQ(ops(folded), Ops{"add"});
  expect_same_results(g, folded,
                      {Tensor(DType::f32, {0, 4}), random_tensor(DType::f32, {2, 4}, 1, 1, 0, 0)});
}

// --- mark_sources

TEST(MarkSources, CountsTheOpsOfTheProgram) {
  Graph g = mark_sources(parse("x: f32[B, 4]", "t = mul(x, 2)\n y = softmax(t)\n return y"));
  ASSERT_EQ(g.sources.size(), 2u);
  EXPECT_EQ(g.sources[0].name, "t");
  EXPECT_EQ(g.sources[0].operands[0], "x");
  EXPECT_EQ(g.sources[0].literal_operands, std::vector<int64_t>{1});
  EXPECT_EQ(g.sources[1].op, Op::softmax);
  for (const Node& node : decompose(g).nodes) {
    if (node.op == Op::input || node.op == Op::constant) continue;
    EXPECT_EQ(node.source, node.name == "t" ? 0 : 1) << node.name;
  }
}

// --- one_hot_to_gather

// ids [B, 3] against 0..3, a table [4, 2] with a negative zero.
Graph one_hot(const std::string& ids_dtype, const std::string& table, const std::string& views) {
  return parse("ids: " + ids_dtype + "[B, 3]", "k = constant(" + ids_dtype +
                                                   "[1, 1, 4], [0, 1, 2, 3])\n"
                                                   "t = constant(f32[4, 2], " +
                                                   table +
                                                   ")\n"
                                                   "column = reshape(ids, shape=[B, 3, 1])\n" +
                                                   views +
                                                   "hot = cast(e, dtype=f32)\n"
                                                   "y = matmul(hot, t)\n return y");
}

TEST(OneHotToGather, PicksRowsInEveryIntegerDtype) {
  for (const char* dtype : {"i32", "i64", "u8"}) {
    for (const char* views : {"e = eq(column, k)\n", "e = eq(k, column)\n",
                              "wide = broadcast(column, shape=[B, 3, 4])\n e = eq(wide, k)\n"}) {
      Graph g = one_hot(dtype, "[1, -2, 3, 4, -0, 6, 7, 8]", views);
      Graph gathered = one_hot_to_gather(g);
      EXPECT_EQ(ops(gathered), Ops{"gather"}) << dtype << " " << views;
      Tensor ids = tensor(*parse_dtype(dtype), {2, 3}, {0, 3, 2, 2, 9, 1});
      expect_same_results(g, gathered, {ids});
    }
  }
}

TEST(OneHotToGather, OutOfRangeAndNegativeIdsGiveZeros) {
  Graph g = one_hot("i32", "[1, 2, 3, 4, 5, 6, 7, 8]", "e = eq(column, k)\n");
  Tensor ids = tensor(DType::i32, {1, 3}, {-1, 4, 3});
  EXPECT_EQ(values_of(evaluate(one_hot_to_gather(g), {ids}, Precision::per_op)[0]),
            (std::vector<double>{0, 0, 0, 0, 7, 8}));
}

TEST(OneHotToGather, ThroughReshapesOfTheRows) {
  Graph g = parse("ids: i32[B]",
                  "k = iota(shape=[4], dim=0, dtype=i32)\n"
                  "t = constant(f32[4, 2], [1, 2, 3, 4, 5, 6, 7, 8])\n"
                  "column = reshape(ids, shape=[B, 1])\n e = eq(column, k)\n"
                  "hot = cast(e, dtype=f32)\n rows = reshape(hot, shape=[1, B, 4])\n"
                  "y = matmul(rows, t)\n return y");
  Graph gathered = one_hot_to_gather(g);
  EXPECT_EQ(ops(gathered), (Ops{"reshape", "gather"}));
  expect_same_results(g, gathered, {tensor(DType::i32, {3}, {3, 0, 5})});
}

TEST(OneHotToGather, LeavesWhatIsNotOneHot) {
  EXPECT_EQ(
      ops(one_hot_to_gather(one_hot("i32", "[1, 2, inf, 4, 5, 6, 7, 8]", "e = eq(column, k)\n"))),
      (Ops{"reshape", "eq", "cast", "matmul"}));
  EXPECT_EQ(
      ops(one_hot_to_gather(one_hot("i32", "[1, 2, 3, 4, 5, 6, 7, 8]", "e = ge(column, k)\n"))),
      (Ops{"reshape", "ge", "cast", "matmul"}));
  EXPECT_EQ(ops(one_hot_to_gather(one_hot("i32", "[1, 2, 3, 4, 5, 6, 7, 8]",
                                          "other = add(k, 1)\n e = eq(column, other)\n"))),
            (Ops{"reshape", "add", "eq", "cast", "matmul"}));
}

// --- decompose

TEST(Decompose, NamesComeFromTheSource) {
  Graph g = decompose(parse("x: f32[B, 4]", "y = softmax(x)\n return y"));
  std::vector<std::string> names;
  for (const Node& node : g.nodes) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "y.max", "y.shifted", "y.exp", "y.sum",
                                             "y.inverse", "y"}));
}

// What stands in parentheses, of x[B, 4], g[4], z[B, 4, 6] and i[4].
std::string call_of(const OpInfo& info) {
  switch (info.op) {
    case Op::topk:
    case Op::topk_indices:
      return "x, k=2";
    case Op::max_pool:
    case Op::avg_pool:
      return "z, kernel=[3], pads=[1, 1]";
    case Op::group_norm:
      return "z, g, g, groups=2";
    case Op::batch_norm:
      return "z, g, g, g, g";
    case Op::attention:
      return "x, x, x, causal=true";
    case Op::scatter_add:
      return "g, i, g";
    case Op::random:
      return "shape=[4]";
    default:
      return info.min_operands == 2 ? "x, g" : "x";
  }
}

TEST(Decompose, LeavesNoComposite) {
  for (const OpInfo& info : all_ops()) {
    if (info.category != Category::composite) continue;
    for (const char* dtype : {"f32", "f64", "bf16", "f16"}) {
      Graph g =
          decompose(parse(fmt::format("x: {0}[B, 4], g: {0}[4], z: {0}[B, 4, 6], i: i64[4]", dtype),
                          fmt::format("y = {}({})\n return y", info.name, call_of(info))));
      for (const Node& node : g.nodes) {
        EXPECT_NE(op_info(node.op).category, Category::composite) << info.name;
        bool is_inner = node.op == Op::add || node.op == Op::mul || node.op == Op::div;
        EXPECT_TRUE(!is_inner || !is_float(node.type.dtype) || node.type.dtype == DType::f32 ||
                    node.type.dtype == DType::f64);
      }
      EXPECT_EQ(g[g.outputs[0]].name, "y");
      const bool position = info.rule == DTypeRule::index, made = info.op == Op::random;
      EXPECT_EQ(dtype_name(g[g.outputs[0]].type.dtype), position ? "i64" : made ? "f32" : dtype);
    }
  }
}

TEST(Decompose, ABiasIsAddedToAConvolutionLikeAnythingElse) {
  Graph g = parse("x: f32[B, 2, 3], w: f32[4, 2, 1], b: f32[4]", "y = conv(x, w, b)\n return y");
  Graph done = decompose(g);
  EXPECT_EQ(ops(done), (Ops{"conv", "reshape", "add"}));
  expect_same_results(
      g, done,
      {random_tensor(DType::f32, {2, 2, 3}, 1, 1, 0, 1),
       random_tensor(DType::f32, {4, 2, 1}, 2, 1, 0, 1), tensor(DType::f32, {4}, {1, 2, 3, 4})});
}

TEST(Decompose, LogsumexpOfInfinities) {
  Tensor x = tensor(DType::f32, {5, 2}, {-inf, -inf, inf, -inf, inf, inf, 0, 0, nan, 1});
  std::vector<double> y =
      values_of(evaluate_text("x: f32[N, 2]", "y = logsumexp(x, dims=[1])\n return y", {x}));
  EXPECT_EQ(y[0], -inf);
  EXPECT_EQ(y[1], inf);
  EXPECT_EQ(y[2], inf);
  EXPECT_NEAR(y[3], std::log(2.0), 1e-6);
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST(Decompose, LayerNormOfEqualValuesIsBeta) {
  Tensor x = tensor(DType::f32, {1, 4}, {3, 3, 3, 3});
  Tensor beta = tensor(DType::f32, {4}, {0.1, -0.2, 0.3, 7});
  Tensor gamma = tensor(DType::f32, {4}, {1, 2, 3, 4});
  Tensor y = evaluate_text("x: f32[B, 4], g: f32[4], b: f32[4]",
                           "y = layer_norm(x, g, b)\n return y", {x, gamma, beta});
  EXPECT_EQ(values_of(y), values_of(beta));
}

TEST(Decompose, LayerNormOverAMiddleDimension) {
  Tensor x = tensor(DType::f64, {1, 2, 2}, {1, 10, 3, 30});
  Tensor gamma = tensor(DType::f64, {2}, {1, 2}), beta = tensor(DType::f64, {2}, {0.5, 0});
  Tensor y =
      evaluate_text("x: f64[B, 2, C], g: f64[2], b: f64[2]",
                    "y = layer_norm(x, g, b, dims=[1], epsilon=0)\n return y", {x, gamma, beta});
  std::vector<double> values = values_of(y);
  const double expected[] = {-0.5, -0.5, 2, 2};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], expected[i], 1e-12);
}

TEST(Decompose, MeansDivideByNamedSizes) {
  Tensor x = tensor(DType::f32, {2, 3}, {1, 2, 4, 4, 5, 7});
  EXPECT_EQ(values_of(evaluate_text("x: f32[A, B]", "y = mean(x, dims=[1])\n return y", {x})),
            (std::vector<double>{7.0f / 3.0f, 16.0f / 3.0f}));
  EXPECT_EQ(values_of(evaluate_text("x: f32[A, B]", "y = mean(x)\n return y", {x})),
            std::vector<double>{23.0f / 6.0f});
}

TEST(Decompose, SumsOfHalfPrecisionDoNotRoundInside) {
  // 256 + 1 is not a bf16; 256 + 64 · 1 is.
  Tensor x(DType::bf16, {65});
  for (int64_t i = 0; i < 65; ++i) x.set_f64(i, i == 0 ? 16 : 1);
  EXPECT_EQ(values_of(evaluate_text("x: bf16[65]", "y = sum_square(x)\n return y", {x})),
            std::vector<double>{320});
}

// --- simplify

Ops simplified(const std::string& inputs, const std::string& statements) {
  Graph g = parse(inputs, statements);
  Graph simple = simplify(g);
  verify(simple, "simplify");
  return ops(simple);
}

TEST(Simplify, RemovesWhatChangesNothing) {
  for (const char* op :
       {"reshape(x, shape=[B, 4])", "broadcast(x, shape=[B, 4])", "transpose(x, perm=[0, 1])",
        "slice(x, starts=[0, 0], ends=[B, 4])", "concat(x, dim=0)",
        "pad(x, low=[0, 0], high=[0, 0])", "cast(x, dtype=f32)", "mul(x, 1)", "mul(1, x)",
        "div(x, 1)", "add(x, -0)", "sub(x, 0)", "maximum(x, -inf)", "minimum(inf, x)"}) {
    EXPECT_EQ(simplified("x: f32[B, 4]", fmt::format("y = {}\n return y", op)), Ops{}) << op;
  }
}

TEST(Simplify, KeepsWhatChangesABit) {
  for (const char* op : {"add(x, 0)", "sub(x, -0)", "mul(x, 0)", "mul(x, -1)", "sub(x, x)",
                         "div(x, 3)", "maximum(x, inf)", "div(1, x)", "add(x, x)"}) {
    EXPECT_EQ(simplified("x: f32[B, 4]", fmt::format("y = {}\n return y", op)).size(), 1u) << op;
  }
  EXPECT_EQ(simplified("x: f32[4]", "a = cast(x, dtype=bf16)\n y = cast(a, dtype=f32)\n return y"),
            (Ops{"cast", "cast"}));
  EXPECT_EQ(simplified("x: f32[4]", "c = constant(f32[2, 1], [1, 1])\n y = mul(x, c)\n return y"),
            Ops{"mul"});
  EXPECT_EQ(simplified("x: f32[4]", "c = constant(f32[1, 1], [1])\n y = mul(x, c)\n return y"),
            Ops{"mul"})
      << "the result has another shape";
}

TEST(Simplify, Composes) {
  EXPECT_EQ(simplified("x: f32[B, 4]",
                       "a = reshape(x, shape=[4*B])\n y = reshape(a, shape=[B, 2, 2])\n return y"),
            Ops{"reshape"});
  EXPECT_EQ(simplified("x: f32[B, 4]",
                       "a = reshape(x, shape=[4*B])\n y = reshape(a, shape=[B, 4])\n return y"),
            Ops{});
  EXPECT_EQ(simplified("x: f32[4]", "a = neg(x)\n b = neg(a)\n c = neg(b)\n return c"), Ops{"neg"});
  EXPECT_EQ(simplified("x: bf16[4]", "a = cast(x, dtype=f32)\n y = cast(a, dtype=bf16)\n return y"),
            Ops{});
  Graph g = parse("x: f32[A, B, C]",
                  "a = transpose(x, perm=[1, 2, 0])\n y = transpose(a, perm=[1, 0, 2])\n return y");
  Graph simple = simplify(g);
  EXPECT_EQ(ops(simple), Ops{"transpose"});
  expect_same_results(g, simple, {random_tensor(DType::f32, {2, 3, 4}, 1, 1, 0, 1)});
}

TEST(Simplify, ElementwiseOpsBroadcastThemselves) {
  EXPECT_EQ(simplified("x: f32[B, 4], b: f32[4]",
                       "c = broadcast(b, shape=[B, 4])\n y = add(x, c)\n return y"),
            Ops{"add"});
  // Here nothing else has the full shape.
  EXPECT_EQ(simplified("x: f32[4], b: f32[4]",
                       "c = broadcast(b, shape=[3, 4])\n y = add(x, c)\n return y"),
            (Ops{"broadcast", "add"}));
  EXPECT_EQ(simplified("x: f32[B, 4]",
                       "z = constant(f32, 2)\n c = broadcast(z, shape=[B, 4])\n"
                       "y = mul(x, c)\n return y"),
            Ops{"mul"});
}

// --- merge_common

TEST(MergeCommon, EqualNodesBecomeOne) {
  Graph g = parse("x: f32[4]",
                  "a = mul(x, 2)\n b = mul(x, 2)\n c = add(a, b)\n d = add(b, a)\n e = mul(c, d)\n"
                  "return e");
  Graph merged = merge_common(g);
  EXPECT_EQ(ops(merged), (Ops{"mul", "add", "mul"}));
  expect_same_results(g, merged, {tensor(DType::f32, {4}, {1, 2, 3, nan})});
}

TEST(MergeCommon, OperandsOfCommutativeOpsMayStandInAnyOrder) {
  const Graph merged = merge_common(parse_graph(R"(graph g(x: f32[4], y: f32[4]) {
      a = mul(x, y) b = mul(y, x) c = sub(x, y) d = sub(y, x) return a, b, c, d })",
                                                "test"));
  EXPECT_EQ(merged.outputs[0], merged.outputs[1]);
  EXPECT_NE(merged.outputs[2], merged.outputs[3]);
}

TEST(MergeCommon, ConstantsAreEqualByBitsAndAttributesCount) {
  EXPECT_EQ(ops(merge_common(
                parse("x: f32[4]", "a = add(x, 0)\n b = add(x, -0)\n y = sub(a, b)\n return y"))),
            (Ops{"add", "add", "sub"}));
  EXPECT_EQ(ops(merge_common(parse("x: f32[4, 4]",
                                   "a = sum(x, dims=[0])\n b = sum(x, dims=[1])\n"
                                   "y = sub(a, b)\n return y"))),
            (Ops{"sum", "sum", "sub"}));
}

TEST(MergeCommon, TwoOutputsMayBecomeOneNode) {
  Graph merged = merge_common(parse("x: f32[4]", "a = exp(x)\n b = exp(x)\n return a, b"));
  EXPECT_EQ(merged.outputs[0], merged.outputs[1]);
  EXPECT_EQ(merged.output_names, (std::vector<std::string>{"a", "b"}));
}

// --- the list

TEST(PassList, RunsInOrderAndObservesChanges) {
  Graph g = parse("x: bf16[B, 8], w: bf16[8]",
                  "a = mul(x, 1)\n s = softmax(a)\n t = softmax(x)\n n = rms_norm(s, w)\n"
                  "y = add(n, t)\n return y");
  std::vector<std::string> seen;
  Graph done = run_graph_passes(
      g, [&](const GraphPass& pass, const Graph&) { seen.emplace_back(pass.name); });
  EXPECT_EQ(seen,
            (std::vector<std::string>{"mark_sources", "decompose", "simplify", "merge_common"}));
  Tensor x = random_tensor(DType::bf16, {3, 8}, 1, 1, 0, 1);
  Tensor w = random_tensor(DType::bf16, {8}, 2, 1, 0, 1);
  expect_same_results(g, done, {x, w});
}

TEST(PassList, DeadNodesVanishAndInputsStay) {
  Graph done =
      run_graph_passes(parse("x: f32[4], unused: f32[4]", "dead = exp(x)\n y = log(x)\n return y"));
  EXPECT_EQ(ops(done), Ops{"log"});
  EXPECT_EQ(done.inputs.size(), 2u);
}

// A second is far more than it takes; a quadratic pass would take minutes.
TEST(PassList, IsLinear) {
  GraphBuilder builder("chain");
  NodeId value = builder.input("x", DType::f32, {Sym::var("B"), 4});
  NodeId one = builder.literal(DType::f32, 1);
  for (int i = 0; i < 20000; ++i) {
    switch (i % 5) {
      case 0:
        value = builder.add(Op::neg, {value});
        break;
      case 1:
        value = builder.add(Op::add, {value, one});
        break;
      case 2:
        value = builder.add(Op::mul, {value, one});
        break;
      case 3:
        value = builder.add(Op::reshape, {value}, {{"shape", Shape{4, Sym::var("B")}}});
        break;
      default:
        value = builder.add(Op::reshape, {value}, {{"shape", Shape{Sym::var("B"), 4}}});
    }
  }
  builder.output(value);
  Graph graph = builder.take();
  auto start = std::chrono::steady_clock::now();
  Graph done = run_graph_passes(graph);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(ops(done).size(), 8000u);
  EXPECT_LT(seconds, 10);
}

}  // namespace
}  // namespace ingot
