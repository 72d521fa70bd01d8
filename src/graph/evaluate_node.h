// The parts of the evaluator: one function a category, all on concrete shapes. Values of a node
// with Precision::wide are f64 tensors wherever the node's dtype is floating, so that the same code
// computes in f64 and rounds nowhere.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/tensor.h"
#include "graph/graph.h"

namespace ingot {

struct NodeInputs {
  const Node& node;
  std::vector<const Tensor*> operands;
  const Bindings& sizes;
};

// `result` has its dtype and shape and is zero.
void evaluate_elementwise(const NodeInputs& inputs, Tensor& result);
void evaluate_movement(const NodeInputs& inputs, Tensor& result);
void evaluate_reduction(const NodeInputs& inputs, const Shape& operand_shape, Tensor& result);
void evaluate_scan(const NodeInputs& inputs, Tensor& result);
void evaluate_scatter(const NodeInputs& inputs, Tensor& result);
void evaluate_contraction(const NodeInputs& inputs, Tensor& result);

// Calls f with a value of the C++ type in which `dtype` is computed (dtype.h, compute_dtype).
template <class F>
void with_compute_type(DType dtype, F f) {
  switch (compute_dtype(dtype)) {
    case DType::boolean:
      return f(bool{});
    case DType::i32:
      return f(int32_t{});
    case DType::i64:
      return f(int64_t{});
    case DType::u64:
      return f(uint64_t{});
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    default:
      fail_internal("evaluate", "no type to compute in");
  }
}

// A tensor's elements in its compute type: its own data, or a widened copy.
template <class T>
class Widened {
 public:
  explicit Widened(const Tensor& tensor) : data_(tensor.as<T>()) {
    if (compute_dtype(tensor.dtype()) == tensor.dtype()) return;
    copy_ = std::make_unique<T[]>(static_cast<size_t>(tensor.size()));
    for (int64_t i = 0; i < tensor.size(); ++i) {
      copy_[static_cast<size_t>(i)] = is_float(tensor.dtype()) ? static_cast<T>(tensor.get_f64(i))
                                                               : static_cast<T>(tensor.get_i64(i));
    }
    data_ = copy_.get();
  }
  const T* data() const { return data_; }

 private:
  const T* data_;
  std::unique_ptr<T[]> copy_;
};

// Computed values, rounded (or wrapped) once to the tensor's dtype when stored.
template <class T>
void store_rounded(Tensor& tensor, int64_t start, const T* values, int64_t count) {
  if (compute_dtype(tensor.dtype()) == tensor.dtype()) {
    if (count == 0) return;
    std::memcpy(tensor.as<T>() + start, values, static_cast<size_t>(count) * sizeof(T));
  } else if (is_float(tensor.dtype())) {
    for (int64_t i = 0; i < count; ++i) {
      tensor.set_f64(start + i, static_cast<double>(values[i]));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      tensor.set_i64(start + i, static_cast<int64_t>(values[i]));
    }
  }
}

// Row-major strides of a tensor's shape in elements.
inline std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) strides[d] = stride;
  return strides;
}

// Strides with which an operand is read over `shape` by NumPy broadcasting: 0 where it has size 1.
inline std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& operand,
                                              const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 0);
  const std::vector<int64_t> own = strides_of(operand);
  const size_t lead = shape.size() - operand.size();
  for (size_t d = 0; d < operand.size(); ++d) strides[lead + d] = operand[d] == 1 ? 0 : own[d];
  return strides;
}

// Walks the indices of `shape` in row-major order, all but its last `inner` dimensions, and calls
// f(offsets) with the element offset of each operand.
template <size_t N, class F>
void for_each_index(const std::vector<int64_t>& shape, size_t inner,
                    const std::array<std::vector<int64_t>, N>& strides, F f) {
  for (const int64_t size : shape) {
    if (size == 0) return;
  }
  const size_t outer = shape.size() > inner ? shape.size() - inner : 0;
  std::vector<int64_t> index(outer, 0);
  std::array<int64_t, N> offsets{};
  while (true) {
    f(offsets);
    size_t d = outer;
    while (d-- > 0) {
      for (size_t k = 0; k < N; ++k) offsets[k] += strides[k][d];
      if (++index[d] < shape[d]) break;
      for (size_t k = 0; k < N; ++k) offsets[k] -= strides[k][d] * shape[d];
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

}  // namespace ingot
