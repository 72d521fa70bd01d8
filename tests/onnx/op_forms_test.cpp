// A node has to be one of the file's opset.
#include <gtest/gtest.h>

#include "onnx/one_node.h"

namespace ingot::testing {
namespace {

Tensor x() { return floats({2}, {1, 2}); }

std::string message_of(const OneNode& op) {
  try {
    run(op, x());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.message();
    EXPECT_EQ(error.location().node, "y0");
    return error.message();
  }
  return "no error";
}

TEST(OnnxForms, OpsNewerThanTheFile) {
  EXPECT_EQ(message_of({19, "Gelu"}), "Gelu is of opset 20 and later, the file has opset 19");
  EXPECT_EQ(message_of({9, "Mod", {}, {x()}}),
            "Mod is of opset 10 and later, the file has opset 9");
  EXPECT_EQ(message_of({23, "Swish"}), "Swish is of opset 24 and later, the file has opset 23");
  run({20, "Gelu"}, x());
  run({10, "Mod", {}, {x()}}, x());
}

TEST(OnnxForms, OpsThatAreGone) {
  EXPECT_EQ(message_of({13, "Upsample", {}, {x()}}),
            "Upsample is of opsets 7 to 9, the file has opset 13");
  EXPECT_EQ(message_of({11, "Scatter", {}, {x(), x()}}),
            "Scatter is of opsets 9 to 10, the file has opset 11");
}

TEST(OnnxForms, AttributesOfOtherVersions) {
  EXPECT_EQ(message_of({11, "Clip", {Attr("min", 0.0)}}),
            "Clip of opset 11: it has no attribute min, which is of opsets 6 to 10");
  EXPECT_EQ(message_of({13, "ReduceSum", {Attr("axes", {0})}}),
            "ReduceSum of opset 13: it has no attribute axes, which is of opsets 1 to 12");
  EXPECT_EQ(message_of({11, "ArgMax", {Attr("select_last_index", 1)}}),
            "ArgMax of opset 11: it has no attribute select_last_index, which is of opset 12 and "
            "later");
  EXPECT_EQ(message_of({13, "Relu", {Attr("slope", 1.0)}}),
            "Relu of opset 13: it has no attribute slope");
  EXPECT_EQ(message_of({13, "Cast"}), "Cast of opset 13: it needs attribute to");
}

TEST(OnnxForms, InputsAndOutputsOfOtherVersions) {
  EXPECT_EQ(message_of({10, "Clip", {}, {floats({}, {0})}}),
            "Clip of opset 10: it has 2 inputs instead of 1");
  EXPECT_EQ(message_of({12, "ReduceSum", {}, {ints({0})}}),
            "ReduceSum of opset 12: it has 2 inputs instead of 1");
  EXPECT_EQ(message_of({13, "Add"}), "Add of opset 13: it has 1 inputs instead of 2");
  EXPECT_EQ(message_of({13, "Relu", {}, {}, 2}),
            "Relu of opset 13: it has 2 outputs, at most 1 are allowed");
}

TEST(OnnxForms, NamesLeftOutAtTheEndAreNoInputs) {
  run({13, "ReduceSum", {}, {left_out()}}, x());
  run({10, "Clip", {}, {left_out(), left_out()}}, x());
}

}  // namespace
}  // namespace ingot::testing
