// Ops whose elements follow one another: cumsum along a dimension, scatter in the order of updates.
#include "graph/evaluate_node.h"
#include "op/apply.h"

namespace ingot {
namespace {

size_t dim_of(const Node& node, size_t rank) {
  const int64_t dim = integer_attr(op_info(node.op), node.attrs, "dim");
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

// A shape as [pre, along dim, post].
struct Line {
  int64_t pre = 1, length = 1, post = 1;
};

Line line_of(const std::vector<int64_t>& shape, size_t dim) {
  Line line{1, shape[dim], 1};
  for (size_t d = 0; d < dim; ++d) line.pre *= shape[d];
  for (size_t d = dim + 1; d < shape.size(); ++d) line.post *= shape[d];
  return line;
}

template <class T>
void cumsum(const NodeInputs& inputs, Tensor& result) {
  const OpInfo& info = op_info(Op::cumsum);
  const bool exclusive = flag_attr(info, inputs.node.attrs, "exclusive");
  const bool reverse = flag_attr(info, inputs.node.attrs, "reverse");
  const Line line = line_of(result.shape(), dim_of(inputs.node, result.shape().size()));
  const Widened<T> operand(*inputs.operands[0]);
  const Formula<T> add = formula<T>(Op::sum);
  for (int64_t row = 0; row < line.pre * line.post; ++row) {
    const int64_t start = row / line.post * line.length * line.post + row % line.post;
    T sum{};
    for (int64_t i = 0; i < line.length; ++i) {
      const int64_t at = start + (reverse ? line.length - 1 - i : i) * line.post;
      const T before = sum;
      sum = add(sum, operand.data()[at], T{}, T{}, T{}, T{});
      store_rounded(result, at, exclusive ? &before : &sum, 1);
    }
  }
}

Op combine_of(const Node& node) {
  const std::string mode = text_attr(op_info(node.op), node.attrs, "mode");
  return mode == "add"   ? Op::add
         : mode == "mul" ? Op::mul
         : mode == "min" ? Op::minimum
                         : Op::maximum;
}

Scalar scalar_at(const Tensor& tensor, int64_t i) {
  return is_float(tensor.dtype()) ? Scalar{tensor.get_f64(i), 0} : Scalar{0, tensor.get_i64(i)};
}

void update(const NodeInputs& inputs, int64_t from, int64_t to, Tensor& result) {
  const Tensor& updates = *inputs.operands[2];
  const DType dtype = result.dtype();
  if (text_attr(op_info(inputs.node.op), inputs.node.attrs, "mode") == "set") {
    const auto size = static_cast<size_t>(byte_size(dtype));
    std::memcpy(result.data() + static_cast<size_t>(to) * size,
                updates.data() + static_cast<size_t>(from) * size, size);
    return;
  }
  const Scalar value = apply(combine_of(inputs.node), dtype, dtype, scalar_at(result, to),
                             scalar_at(updates, from), {}, {});
  is_float(dtype) ? result.set_f64(to, value.real) : result.set_i64(to, value.integer);
}

}  // namespace

void evaluate_scan(const NodeInputs& inputs, Tensor& result) {
  with_compute_type(result.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>) cumsum<T>(inputs, result);
  });
}

void evaluate_scatter(const NodeInputs& inputs, Tensor& result) {
  const Tensor& into = *inputs.operands[0];
  const Tensor& ids = *inputs.operands[1];
  const bool elements = inputs.node.op == Op::scatter_elements;
  if (into.bytes() > 0) std::memcpy(result.data(), into.data(), static_cast<size_t>(into.bytes()));
  const size_t dim = dim_of(inputs.node, into.shape().size());
  const Line line = line_of(into.shape(), dim);
  if (line.length == 0) return;
  const int64_t count = elements ? ids.shape()[dim] : ids.size();
  for (int64_t pre = 0; pre < line.pre; ++pre) {
    for (int64_t u = 0; u < count; ++u) {
      for (int64_t post = 0; post < line.post; ++post) {
        const int64_t from = (pre * count + u) * line.post + post;
        const int64_t id = ids.get_i64(elements ? from : u);
        if (id < 0 || id >= line.length) {
          fail_input(inputs.node.location, fmt::format("{}: index {} out of range [0, {})",
                                                       op_name(inputs.node.op), id, line.length));
        }
        update(inputs, from, (pre * line.length + id) * line.post + post, result);
      }
    }
  }
}

}  // namespace ingot
