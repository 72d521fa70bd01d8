// Building graphs: names, sizes that become one, bindings, verification.
#include "graph/graph.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "support/errors.h"

namespace ingot {
namespace {

using testing::message_of;

Shape shape_of(const Graph& graph, NodeId id) { return graph[id].type.shape; }

TEST(Builder, DerivedNamesComeFromTheOpAndNeverTakeAGivenName) {
  GraphBuilder builder("g");
  const NodeId x = builder.input("x", DType::f32, {4});
  builder.add(Op::add, {x, x});
  const NodeId second = builder.add(Op::add, {x, x});
  builder.add(Op::mul, {x, builder.literal(DType::f32, 2)});
  builder.add(Op::mul, {x, x}, {}, "add");
  builder.output(second);
  const Graph graph = builder.take();
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "add_1", "add_2", "literal", "mul", "add"}));
  EXPECT_EQ(graph.output_names[0], "add_2");
  verify(graph, "test");
}

TEST(Builder, EqualSizesBecomeTheFirstName) {
  GraphBuilder builder("g");
  const NodeId x = builder.input("x", DType::f32, {Sym::var("B"), Sym::var("N")});
  const NodeId y = builder.input("y", DType::f32, {Sym::var("C"), Sym::var("M")});
  const NodeId sum = builder.add(Op::add, {x, y});
  builder.output(sum);
  const Graph graph = builder.take();
  EXPECT_EQ(shape_of(graph, y), shape_of(graph, x));
  EXPECT_EQ(shape_text(shape_of(graph, sum)), "[B, N]");
  EXPECT_EQ(size_names(graph), (std::vector<std::string>{"B", "N"}));
  verify(graph, "test");
}

TEST(Builder, ANumberBeatsANameEverywhere) {
  GraphBuilder builder("g");
  const NodeId x = builder.input("x", DType::f32, {Sym::var("B"), Sym::var("N")});
  const NodeId early = builder.add(Op::neg, {x});
  const NodeId w = builder.input("w", DType::f32, {8});
  builder.output(builder.add(Op::add, {early, w}));
  // A later input with the replaced name has the number too.
  const NodeId late = builder.input("late", DType::f32, {Sym::var("N")});
  builder.output(late);
  const Graph graph = builder.take();
  EXPECT_EQ(shape_text(shape_of(graph, x)), "[B, 8]");
  EXPECT_EQ(shape_text(shape_of(graph, early)), "[B, 8]");
  EXPECT_EQ(shape_text(shape_of(graph, late)), "[8]");
  verify(graph, "test");
}

TEST(Builder, ANameBecomesAnExpressionAndChainsResolve) {
  GraphBuilder builder("g");
  const Sym b = Sym::var("B"), c = Sym::var("C"), d = Sym::var("D");
  builder.input("x", DType::f32, {b});
  const NodeId y = builder.input("y", DType::f32, {c});
  const NodeId z = builder.input("z", DType::f32, {d});
  builder.require_equal(d, c);
  builder.require_equal(c, b * Sym(2));
  const Graph graph = builder.take();
  EXPECT_EQ(shape_text(shape_of(graph, y)), "[2*B]");
  EXPECT_EQ(shape_text(shape_of(graph, z)), "[2*B]");
}

TEST(Builder, SizesThatCannotBeEqualAreAnError) {
  GraphBuilder builder("g");
  const Sym b = Sym::var("B"), c = Sym::var("C");
  builder.input("x", DType::f32, {b, c});
  EXPECT_EQ(message_of([&] { builder.require_equal(b, b + Sym(1)); }), "sizes B and B + 1 differ");
  EXPECT_EQ(message_of([&] { builder.require_equal(b * Sym(2), Sym(7)); }),
            "sizes 2*B and 7 have to be equal, but neither follows from the other");
  builder.require_equal(b * Sym(2), Sym(8));
  EXPECT_EQ(message_of([&] { builder.require_equal(b, Sym(5)); }), "sizes 4 and 5 differ");
}

TEST(Builder, SizesOfNoInputAreAnError) {
  GraphBuilder builder("g");
  const NodeId x = builder.input("x", DType::f32, {1});
  builder.output(builder.add(Op::broadcast, {x}, {{"shape", Shape{Sym::var("Q")}}}));
  EXPECT_EQ(message_of([&] { builder.take(); }),
            "broadcast: shape: size Q is not a size of any input");
}

TEST(Builder, ErrorsCarryTheLocation) {
  GraphBuilder builder("g");
  const NodeId x = builder.input("x", DType::f32, {4});
  const NodeId y = builder.input("y", DType::f32, {5});
  Location at;
  at.node = "/model/Add_3";
  const Error error = testing::error_of([&] { builder.add(Op::add, {x, y}, {}, {}, at); });
  EXPECT_EQ(error.location().node, "/model/Add_3");
}

TEST(Builder, OutputsMayRepeatAndAreNamedApart) {
  GraphBuilder builder("g");
  const NodeId x = builder.input("x", DType::f32, {4});
  builder.output(x);
  builder.output(x);
  builder.output(x, "y");
  EXPECT_EQ(builder.take().output_names, (std::vector<std::string>{"x", "x_1", "y"}));
}

TEST(Builder, HundredThousandNodesAreQuick) {
  const auto start = std::chrono::steady_clock::now();
  GraphBuilder builder("g");
  NodeId x = builder.input("x", DType::f32, {Sym::var("B"), 64});
  const NodeId y = builder.input("y", DType::f32, {Sym::var("C"), 64});
  for (int i = 0; i < 100000; ++i) x = builder.add(Op::add, {x, y});
  builder.output(x);
  const Graph graph = builder.take();
  EXPECT_EQ(graph.nodes.back().name, "add_99999");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // Quadratic would be minutes; the margin is for sanitizers and busy machines.
  EXPECT_LT(took.count(), 20.0);
}

TEST(Verify, FindsWhatIsWrong) {
  const char* text = "graph g(x: f32[B, 4]) { y = exp(x) z = neg(y) return z }";
  Graph graph = parse_graph(text, "<text>");
  verify(graph, "test");
  Graph forward = graph;
  forward[1].operands[0] = 2;
  EXPECT_EQ(message_of([&] { verify(forward, "pass"); }, ErrorKind::internal),
            "pass: node y: operand 2 is not before it");
  Graph typed = graph;
  typed[2].type.dtype = DType::f64;
  EXPECT_EQ(message_of([&] { verify(typed, "pass"); }, ErrorKind::internal),
            "pass: node z = neg: type f64[B, 4], inferred f32[B, 4]");
  Graph named = graph;
  named[2].name = "y";
  EXPECT_NE(message_of([&] { verify(named, "pass"); }, ErrorKind::internal).find("name 'y'"),
            std::string::npos);
}

TEST(Consumers, CountANodeOnceForEachUser) {
  const Graph graph =
      parse_graph("graph g(x: f32[4]) { y = mul(x, x) z = add(x, y) return z }", "<text>");
  EXPECT_EQ(consumers(graph), (std::vector<std::vector<NodeId>>{{1, 2}, {2}, {}}));
}

Bindings bind(const char* inputs, const std::vector<std::vector<int64_t>>& shapes) {
  std::string text = fmt::format("graph g({}) {{ return x }}", inputs);
  return bind_sizes(parse_graph(text, "<text>"), shapes);
}

TEST(BindSizes, NamesFollowFromTheInputs) {
  EXPECT_EQ(bind("x: f32[B, 8], y: f32[N, B]", {{3, 8}, {5, 3}}), (Bindings{{"B", 3}, {"N", 5}}));
  EXPECT_EQ(bind("x: f32[B, 8]", {{0, 8}}), (Bindings{{"B", 0}}));
}

TEST(BindSizes, ExpressionsAreSolvedAndChecked) {
  EXPECT_EQ(bind("x: f32[2*B + 1]", {{7}}), (Bindings{{"B", 3}}));
  EXPECT_EQ(bind("x: f32[B + C], y: f32[C]", {{7}, {3}}), (Bindings{{"B", 4}, {"C", 3}}));
  EXPECT_EQ(message_of([] {
              bind("x: f32[2*B], y: f32[B]", {{7}, {3}});
            }),
            "x: expected [2*B], got [7]: 2*B is 6 by the other sizes");
  EXPECT_EQ(message_of([] { bind("x: f32[2*B]", {{7}}); }),
            "x: expected [2*B], got [7]: B does not follow from the inputs' shapes");
}

TEST(BindSizes, ErrorsNameInputExpectedAndGiven) {
  EXPECT_EQ(message_of([] { bind("x: f32[B, 8]", {{4, 9}}); }), "x: expected [B, 8], got [4, 9]");
  EXPECT_EQ(message_of([] { bind("x: f32[B, 8]", {{4}}); }), "x: expected [B, 8], got [4]");
  EXPECT_EQ(message_of([] { bind("x: f32[B, 8]", {}); }), "g: expected 1 inputs, got 0");
  EXPECT_EQ(message_of([] {
              bind("x: f32[B], y: f32[B]", {{4}, {5}});
            }),
            "y: expected [B], got [5]: B is 4 by the other sizes");
}

TEST(BindSizes, AByteCountBeyond64BitsIsAnError) {
  const int64_t large = int64_t{1} << 40;
  EXPECT_EQ(message_of([&] {
              bind("x: f32[B, C]", {{large, large}});
            }),
            "x: f32[1099511627776, 1099511627776] takes more bytes than 64 bits can count");
}

}  // namespace
}  // namespace ingot
