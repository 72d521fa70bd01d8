// Elementwise ops by the formulas of op/apply.h, the function pointer taken once a node.
#include "graph/evaluate_node.h"
#include "op/apply.h"

namespace ingot {
namespace {

constexpr size_t most_operands = 3;
using Strides = std::array<std::vector<int64_t>, most_operands>;

Strides operand_strides(const NodeInputs& inputs, const std::vector<int64_t>& shape) {
  Strides strides;
  strides.fill(std::vector<int64_t>(shape.size(), 0));
  for (size_t k = 0; k < inputs.operands.size(); ++k) {
    strides[k] = broadcast_strides(inputs.operands[k]->shape(), shape);
  }
  return strides;
}

// Real attributes in the row's order, in the type the formula computes in.
template <class T>
std::array<T, 3> parameters(const Node& node) {
  const OpInfo& info = op_info(node.op);
  std::array<T, 3> values{};
  size_t count = 0;
  for (const AttrInfo& attr : info.attrs) {
    if (attr.type != AttrType::real) continue;
    INGOT_CHECK(count < values.size(), "{} has more than three real attributes", info.name);
    const double value = real_attr(info, node.attrs, attr.name);
    if constexpr (std::is_floating_point_v<T>) {
      values[count++] = static_cast<T>(value);
    } else {
      // An infinite bound is the integer's own extreme.
      constexpr DType dtype = std::is_same_v<T, bool>      ? DType::boolean
                              : std::is_same_v<T, int32_t> ? DType::i32
                              : std::is_same_v<T, int64_t> ? DType::i64
                                                           : DType::u64;
      values[count++] = static_cast<T>(convert(dtype, DType::f64, {.real = value}).integer);
    }
  }
  return values;
}

// Rows of the result's last dimension: f(a, b, c) for each element, stored with one rounding.
template <class T, class R, class F>
void loop(const NodeInputs& inputs, Tensor& result, F f) {
  const std::vector<int64_t>& shape = result.shape();
  const Strides strides = operand_strides(inputs, shape);
  std::vector<Widened<T>> operands;
  for (const Tensor* operand : inputs.operands) operands.emplace_back(*operand);
  std::array<const T*, most_operands> data;
  for (size_t k = 0; k < most_operands; ++k) {
    data[k] = operands[std::min(k, operands.size() - 1)].data();  // unused ones are read, not used
  }
  const int64_t columns = shape.empty() ? 1 : shape.back();
  std::array<int64_t, most_operands> step{};
  for (size_t k = 0; k < most_operands; ++k) step[k] = shape.empty() ? 0 : strides[k].back();
  const auto row = std::make_unique<R[]>(static_cast<size_t>(columns));
  int64_t start = 0;
  for_each_index(shape, 1, strides, [&](const std::array<int64_t, most_operands>& offset) {
    for (int64_t j = 0; j < columns; ++j) {
      row[static_cast<size_t>(j)] =
          f(data[0][offset[0] + j * step[0]], data[1][offset[1] + j * step[1]],
            data[2][offset[2] + j * step[2]]);
    }
    store_rounded(result, start, row.get(), columns);
    start += columns;
  });
}

void evaluate_formula(const NodeInputs& inputs, Tensor& result) {
  const Op op = inputs.node.op;
  with_compute_type(inputs.operands[0]->dtype(), [&](auto type) {
    using T = decltype(type);
    const auto [p, q, r] = parameters<T>(inputs.node);
    // Structured bindings cannot be captured before C++20's relaxed rule reaches all compilers.
    const T p_value = p, q_value = q, r_value = r;
    if (result.dtype() == DType::boolean) {
      const Predicate<T> f = predicate<T>(op);
      INGOT_CHECK(f != nullptr, "{} has no predicate for {}", op_name(op),
                  dtype_name(inputs.operands[0]->dtype()));
      loop<T, bool>(inputs, result,
                    [=](T a, T b, T c) { return f(a, b, c, p_value, q_value, r_value); });
      return;
    }
    const Formula<T> f = formula<T>(op);
    INGOT_CHECK(f != nullptr, "{} has no formula for {}", op_name(op),
                dtype_name(inputs.operands[0]->dtype()));
    loop<T, T>(inputs, result,
               [=](T a, T b, T c) { return f(a, b, c, p_value, q_value, r_value); });
  });
}

void evaluate_cast(const Tensor& operand, Tensor& result) {
  const DType from = operand.dtype(), to = result.dtype();
  for (int64_t i = 0; i < operand.size(); ++i) {
    Scalar value;
    if (is_float(from)) {
      value.real = operand.get_f64(i);
    } else {
      value.integer = operand.get_i64(i);
    }
    value = convert(to, from, value);
    is_float(to) ? result.set_f64(i, value.real) : result.set_i64(i, value.integer);
  }
}

void evaluate_select(const NodeInputs& inputs, Tensor& result) {
  const Strides strides = operand_strides(inputs, result.shape());
  const auto* mask = inputs.operands[0]->as<bool>();
  const size_t size = static_cast<size_t>(byte_size(result.dtype()));
  std::byte* out = result.data();
  for_each_index(result.shape(), 0, strides, [&](const std::array<int64_t, most_operands>& offset) {
    const size_t k = mask[offset[0]] ? 1 : 2;
    std::memcpy(out, inputs.operands[k]->data() + static_cast<size_t>(offset[k]) * size, size);
    out += size;
  });
}

}  // namespace

void evaluate_elementwise(const NodeInputs& inputs, Tensor& result) {
  if (inputs.node.op == Op::cast) return evaluate_cast(*inputs.operands[0], result);
  if (inputs.node.op == Op::select) return evaluate_select(inputs, result);
  evaluate_formula(inputs, result);
}

}  // namespace ingot
