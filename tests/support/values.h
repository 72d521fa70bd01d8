// Small tensors and programs for tests.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "graph/evaluate.h"
#include "graph/graph.h"

namespace ingot::testing {

inline Tensor tensor(DType dtype, std::vector<int64_t> shape,
                     std::initializer_list<double> values) {
  Tensor result(dtype, std::move(shape));
  int64_t i = 0;
  for (const double value : values) {
    if (is_float(dtype)) {
      result.set_f64(i++, value);
    } else {
      result.set_i64(i++, static_cast<int64_t>(value));
    }
  }
  return result;
}

inline std::vector<double> values_of(const Tensor& value) {
  std::vector<double> values;
  for (int64_t i = 0; i < value.size(); ++i) values.push_back(value.get_f64(i));
  return values;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

// The first output of "graph g(INPUTS) { STATEMENTS }".
inline Tensor evaluate_text(const std::string& inputs, const std::string& statements,
                            const std::vector<Tensor>& values,
                            Precision precision = Precision::per_op) {
  const std::string text = "graph g(" + inputs + ") { " + statements + " }";
  return evaluate(parse_graph(text, "<text>"), values, precision)[0];
}

}  // namespace ingot::testing
