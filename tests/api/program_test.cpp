// Programs built, read, printed, evaluated; sizes and data for their inputs.
#include <gtest/gtest.h>
#include <ingot/ingot.h>
#include <ingot/ops.h>

#include <cmath>
#include <cstring>

#include "support/errors.h"

namespace ingot {
namespace {

using testing::rendered_error_of;

Program bias_gelu() {
  Program program("bias_gelu");
  const Value x = program.input("x", DType::bf16, {"B", 64});
  const Value b = program.input("b", DType::bf16, {64});
  const Value t = program.op("add", {x, b}, {}, "t");
  program.output(program.op("gelu", {t}, {}, "y"));
  return program;
}

TEST(Program, PrintsTextThatParsesBack) {
  const std::string text = bias_gelu().print();
  EXPECT_EQ(text, Program::parse(text).print());
  EXPECT_NE(text.find("graph bias_gelu(x: bf16[B, 64], b: bf16[64])"), std::string::npos) << text;
}

TEST(Program, DescribesItsPorts) {
  const Program program = bias_gelu();
  ASSERT_EQ(program.inputs().size(), 2u);
  EXPECT_EQ(program.inputs()[0].name, "x");
  EXPECT_EQ(program.inputs()[0].shape, (std::vector<std::string>{"B", "64"}));
  ASSERT_EQ(program.outputs().size(), 1u);
  EXPECT_EQ(program.outputs()[0].name, "y");
  EXPECT_EQ(program.outputs()[0].dtype, DType::bf16);
  EXPECT_EQ(program.size_names(), std::vector<std::string>{"B"});
}

TEST(Program, TypedFunctionsBuildTheSameGraph) {
  Program program("bias_gelu");
  const Value x = program.input("x", DType::bf16, {"B", 64});
  const Value b = program.input("b", DType::bf16, {64});
  const Value t = ops::add(program, x, b, "t");
  program.output(program.op("gelu", {t}, {}, "y"));
  EXPECT_EQ(program.print(), bias_gelu().print());
}

TEST(Program, CopiesAreIndependent) {
  Program original("p");
  const Value x = original.input("x", DType::f32, {4});
  Program copy = original;
  copy.output(copy.op("neg", {x}, {}, "n"));
  original.output(original.op("abs", {x}, {}, "a"));
  EXPECT_NE(copy.print(), original.print());
}

TEST(Program, NamesAnUnknownOpAndTheNearestOne) {
  Program program("p");
  const Value x = program.input("x", DType::f32, {4});
  const std::string text = rendered_error_of([&] { program.op("sofmax", {x}); });
  EXPECT_NE(text.find("no op is named 'sofmax'; did you mean 'softmax'?"), std::string::npos)
      << text;
}

TEST(Program, NamesAnUnknownAttributeAndTheKnownOnes) {
  Program program("p");
  const Value x = program.input("x", DType::f32, {4, 4});
  const std::string text = rendered_error_of([&] { program.op("sum", {x}, {{"axes", Dims{1}}}); });
  EXPECT_NE(text.find("sum: no attribute 'axes'; it has dims, keepdims"), std::string::npos)
      << text;
}

TEST(Program, GeluTakesItsFormByNameAsInText) {
  Program program("p");
  const Value x = program.input("x", DType::f32, {4});
  program.output(program.op("gelu", {x}, {{"approximate", "tanh"}}, "y"));
  EXPECT_EQ(program.print(), Program::parse("graph p(x: f32[4]) {\n  y = gelu(x, approximate="
                                            "\"tanh\")\n  return y\n}\n")
                                 .print());
}

TEST(Program, ShapesThatDoNotBroadcastAreNamed) {
  Program program("p");
  const Value a = program.input("a", DType::f32, {4});
  const Value b = program.input("b", DType::f32, {5});
  const std::string text = rendered_error_of([&] { program.op("add", {a, b}); });
  EXPECT_NE(text.find("add: f32[4]"), std::string::npos) << text;
}

TEST(Program, RejectsValuesOfNoProgram) {
  Program program("p");
  rendered_error_of([&] { program.op("neg", {Value{7}}); });
  rendered_error_of([&] { program.output(Value{}); });
}

TEST(Program, FileEndingDecidesHowToRead) {
  const std::string text = rendered_error_of([] { Program::load("model.txt"); });
  EXPECT_NE(text.find("ends in .ingot (text) or .onnx"), std::string::npos) << text;
}

TEST(Program, EvaluatesInBothPrecisions) {
  Program program("p");
  const Value x = program.input("x", DType::f32, {1});
  program.output(program.op("exp", {x}, {}, "y"));
  Tensor one(DType::f32, {1});
  one.set_f64(0, 1);
  EXPECT_EQ(program.evaluate({one})[0].dtype(), DType::f32);
  const Tensor wide = program.evaluate({one}, true)[0];
  EXPECT_EQ(wide.dtype(), DType::f64);
  EXPECT_EQ(wide.get_f64(0), std::exp(1.0));
}

TEST(Sizes, ComeFromShapes) {
  const Program program = bias_gelu();
  EXPECT_EQ(program.sizes_of({{"x", {7, 64}}}), (Sizes{{"B", 7}}));
  EXPECT_EQ(program.sizes_of({{"x", {-1, 64}}}), Sizes{});
  EXPECT_NE(rendered_error_of([&] {
              program.sizes_of({{"x", {7, 65}}});
            }).find("x[1]: expected 64, got 65"),
            std::string::npos);
  EXPECT_NE(rendered_error_of([&] {
              program.sizes_of({{"z", {7}}});
            }).find("this program has x, b"),
            std::string::npos);
  EXPECT_NE(rendered_error_of([&] {
              program.sizes_of({{"x", {7}}});
            }).find("expected 2 dimensions"),
            std::string::npos);
}

TEST(Sizes, SolveExpressions) {
  const Program program = Program::parse(
      "graph p(x: f32[2*B], y: f32[B]) {\n"
      "  s = sum(x, dims=[0])\n  z = add(y, s)\n  return z\n}\n");
  EXPECT_EQ(program.sizes_of({{"x", {14}}}), (Sizes{{"B", 7}}));
  EXPECT_NE(rendered_error_of([&] {
              program.sizes_of({{"x", {15}}});
            }).find("no B gives that"),
            std::string::npos);
}

TEST(Sample, RandomDataRepeatsAndDiffersByInput) {
  const Program program = bias_gelu();
  const Sizes sizes = {{"B", 2}};
  const Tensor first = program.sample("x", "random:5", sizes);
  const Tensor again = program.sample("x", "random:5", sizes);
  const Tensor other = program.sample("x", "random:6", sizes);
  EXPECT_EQ(first.shape(), (std::vector<int64_t>{2, 64}));
  EXPECT_EQ(std::memcmp(first.data(), again.data(), static_cast<size_t>(first.bytes())), 0);
  EXPECT_NE(std::memcmp(first.data(), other.data(), static_cast<size_t>(first.bytes())), 0);
  const Tensor bias = program.sample("b", "random:5", sizes);
  EXPECT_NE(std::memcmp(first.data(), bias.data(), static_cast<size_t>(bias.bytes())), 0);
}

TEST(Sample, FillsWithConstantsAndCounts) {
  const Program program = bias_gelu();
  EXPECT_EQ(program.sample("b", "zeros").get_f64(3), 0);
  EXPECT_EQ(program.sample("b", "ones").get_f64(3), 1);
  EXPECT_EQ(program.sample("b", "iota").get_f64(3), 3);
  EXPECT_NE(rendered_error_of([&] { program.sample("b", "twos"); }).find("'twos' is not known"),
            std::string::npos);
  rendered_error_of([&] { program.sample("b", "zeros:1"); });
  rendered_error_of([&] { program.sample("b", "random:x"); });
  for (const char* scale : {"nan", "inf", "-inf", "1e999", ""}) {
    rendered_error_of([&] { program.sample("b", std::string("random:1:") + scale); });
  }
}

TEST(Sample, IndicesStayInRangeOfTheirTable) {
  const Program program = Program::parse(
      "graph p(table: f32[3, 2], ids: i32[N]) {\n  wide = cast(ids, dtype=i64)\n"
      "  y = gather(table, wide, dim=0)\n  return y\n}\n");
  const Tensor ids = program.sample("ids", "random", {{"N", 1000}});
  int64_t low = 100, high = -100;
  for (int64_t i = 0; i < ids.size(); ++i) {
    low = std::min(low, ids.get_i64(i));
    high = std::max(high, ids.get_i64(i));
  }
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, 2);
}

TEST(Program, ATensorWithoutDataIsAnError) {
  Program program("none");
  EXPECT_NE(rendered_error_of([&] { program.constant(Tensor()); }).find("has no data"),
            std::string::npos);
  const Program add = bias_gelu();
  EXPECT_NE(rendered_error_of([&] {
              add.evaluate({Tensor(), Tensor()});
            }).find("has no data"),
            std::string::npos);
}

TEST(Program, ALiteralThatTheDtypeCannotHoldIsAnError) {
  Program program("literals");
  EXPECT_NE(rendered_error_of([&] { program.literal(DType::u8, 300); }).find("300 is no u8"),
            std::string::npos);
  rendered_error_of([&] { program.literal(DType::i32, 0.5); });
  rendered_error_of([&] { program.literal(DType::i32, 1e300); });
  program.literal(DType::u8, 255);
  program.literal(DType::bf16, 0.1);  // rounds
}

}  // namespace
}  // namespace ingot
