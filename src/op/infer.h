// The type of an op's result from those of its operands, and what else follows from shapes alone.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "op/op.h"

namespace ingot {

// What inference knows of an operand or result.
struct TensorType {
  DType dtype;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Two named sizes that must be equal for the program to make sense (B and C in add([B], [C])).
struct SizeEquality {
  Sym left, right;
};

// Result type of an op. Errors begin with the op and its shapes:
// "matmul: f32[4, 3] × f32[2, 5]: inner sizes 3 and 2 differ". Named sizes that have to agree are
// appended to `equalities`; where it is null, a mismatch of names is an error.
TensorType infer_type(Op op, std::span<const TensorType> operands, const Attrs& attrs,
                      std::vector<SizeEquality>* equalities);

// Whether this operand stands apart from the others' dtype: masks, ids.
bool has_own_dtype(const OpInfo& info, size_t operand, DType dtype);

// A slice along one dimension with NumPy's clamping done: elements start, start + step, …
struct SliceRange {
  Sym start, step, size;
};
std::vector<SliceRange> slice_ranges(const Shape& operand, const Attrs& attrs);

// One spatial dimension of max_pool or avg_pool. `beyond`: elements past the padding that the last
// window of ceil_mode reaches.
struct PoolDim {
  Sym size;
  int64_t kernel, stride, dilation, low, high;
  Sym outputs;
  int64_t beyond;
};
std::vector<PoolDim> pool_dims(const Shape& x, const OpInfo& info, const Attrs& attrs);

std::string type_text(const TensorType& type);  // "f32[B, 8192]"

// NumPy broadcasting of two shapes.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::vector<SizeEquality>* equalities);

}  // namespace ingot
