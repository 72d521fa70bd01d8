// One ONNX node, run.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "onnx/model_builder.h"
#include "support/values.h"

namespace ingot::testing {

using Values = std::vector<double>;
using Ints = std::vector<int64_t>;

struct OneNode {
  int opset;
  std::string op;
  std::vector<Attr> attrs = {};
  std::vector<Tensor> constants = {};
  size_t outputs = 1;
};

// A constant of this shape stands for an input that the node does without.
inline Tensor left_out() { return Tensor(DType::f32, {0, 0, 0}); }

// The node on input x; its further inputs are the constants.
inline std::vector<Tensor> run_all(const OneNode& node, const Tensor& x) {
  Model model(node.opset);
  std::vector<Dim> dims;
  for (int64_t size : x.shape()) dims.emplace_back(static_cast<int>(size));
  model.input("x", x.dtype(), dims);
  std::vector<std::string> inputs{"x"}, outputs;
  for (const Tensor& constant : node.constants) {
    inputs.push_back(fmt::format("c{}", inputs.size()));
    if (constant.shape() == left_out().shape()) {
      inputs.back().clear();
    } else {
      model.initializer(inputs.back(), constant);
    }
  }
  for (size_t i = 0; i < node.outputs; ++i) {
    outputs.push_back(fmt::format("y{}", i));
    model.output(outputs.back());
  }
  model.node(node.op, inputs, outputs, node.attrs);
  return evaluate(model.import(), {x}, Precision::per_op);
}

// The same, told at once.
inline std::vector<Tensor> run(int opset, const std::string& op, const Tensor& x,
                               const std::vector<Attr>& attrs,
                               const std::vector<Tensor>& constants = {}, size_t outputs = 1) {
  return run_all({opset, op, attrs, constants, outputs}, x);
}

// The first output.
inline Tensor run(const OneNode& node, const Tensor& x) { return run_all(node, x)[0]; }
inline Values values(int opset, const std::string& op, const Tensor& x,
                     const std::vector<Attr>& attrs, const std::vector<Tensor>& constants = {}) {
  return values_of(run(opset, op, x, attrs, constants)[0]);
}

inline Tensor ints(const Ints& values) {
  Tensor out(DType::i64, {static_cast<int64_t>(values.size())});
  for (int64_t i = 0; i < out.size(); ++i) out.set_i64(i, values[static_cast<size_t>(i)]);
  return out;
}
inline Tensor ints(const Ints& shape, std::initializer_list<double> data) {
  return tensor(DType::i64, shape, data);
}
inline Tensor floats(const Ints& shape, std::initializer_list<double> data) {
  return tensor(DType::f32, shape, data);
}

// Within 1e-5; NaN is near NaN only, an infinity near itself.
inline void expect_near(const Values& got, const Values& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else if (std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << i;
    } else {
      EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
    }
  }
}

}  // namespace ingot::testing
