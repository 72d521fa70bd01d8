// Reductions in the canonical order of reduction_order.h.
#include <algorithm>
#include <cmath>

#include "graph/evaluate_node.h"
#include "graph/reduction_order.h"
#include "op/apply.h"

namespace ingot {
namespace {

// Dimensions of the operand, adjacent reduced ones merged.
struct Dimension {
  int64_t size, stride;
  bool is_reduced;
};

// Sizes that are 1 for every binding are dropped; one that only happens to be 1 counts, as it does
// in a compiled kernel that serves all sizes.
std::vector<Dimension> reduction_space(const Shape& symbolic, const std::vector<int64_t>& shape,
                                       const std::vector<int>& dims) {
  const std::vector<int64_t> strides = strides_of(shape);
  std::vector<Dimension> space;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (symbolic[d].is(1)) continue;
    const bool is_reduced = std::ranges::find(dims, static_cast<int>(d)) != dims.end();
    if (is_reduced && !space.empty() && space.back().is_reduced) {
      space.back() = {space.back().size * shape[d], strides[d], true};
    } else {
      space.push_back({shape[d], strides[d], is_reduced});
    }
  }
  return space;
}

template <class T>
T identity_of(Op op, DType dtype) {
  const double identity = op_info(op).identity;
  if (!is_integer(dtype) || std::isfinite(identity)) return static_cast<T>(identity);
  const IntegerLimits limits = integer_limits(dtype);
  return static_cast<T>(identity < 0 ? limits.lowest : limits.highest);
}

template <class T>
struct Combine {
  T (*f)(T, T, T, T, T, T);
  T operator()(T a, T b) const { return f(a, b, T{}, T{}, T{}, T{}); }
};

template <class T>
Combine<T> combine_of(Op op) {
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto f = predicate<bool>(op)) return {f};
  }
  const auto f = formula<T>(op);
  INGOT_CHECK(f != nullptr, "{} has no combine formula", op_name(op));
  return {f};
}

template <class T>
using LaneValues = std::array<T, reduction_lanes>;

template <class T>
T halved(LaneValues<T> lanes, Combine<T> combine) {
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) lanes[l] = combine(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

// A trailing dimension: the chunks' partials into their lanes of `totals`.
template <class T>
void reduce_trailing(const T* data, int64_t size, LaneValues<T>& totals, T identity,
                     Combine<T> combine) {
  const int64_t chunk = trailing_chunk * (1 + size / longest_of_small_chunks);
  for (int64_t start = 0, number = 0; start < size; start += chunk, ++number) {
    LaneValues<T> lanes;
    lanes.fill(identity);
    for (int64_t i = 0; i < std::min(chunk, size - start); ++i) {
      T& lane = lanes[static_cast<size_t>(i % reduction_lanes)];
      lane = combine(lane, data[start + i]);
    }
    T& total = totals[static_cast<size_t>(number % reduction_lanes)];
    total = combine(total, halved(lanes, combine));
  }
}

// Another dimension, chunk by chunk and block by block, combined with `total`.
template <class T>
T reduce_other(const T* data, const Dimension& inner, T total, T identity, Combine<T> combine) {
  constexpr int64_t rows = column_chunk * block_chunks;
  for (int64_t first = 0; first < inner.size; first += rows) {
    T block = identity;
    const int64_t end = std::min(first + rows, inner.size);
    for (int64_t start = first; start < end; start += column_chunk) {
      T partial = identity;
      for (int64_t i = start; i < std::min(start + column_chunk, end); ++i) {
        partial = combine(partial, data[i * inner.stride]);
      }
      block = combine(block, partial);
    }
    total = combine(total, block);
  }
  return total;
}

template <class T>
void reduce(const NodeInputs& inputs, const std::vector<Dimension>& space, Tensor& result) {
  const Op op = inputs.node.op;
  const Widened<T> operand(*inputs.operands[0]);
  const T identity = identity_of<T>(op, result.dtype());
  const Combine<T> combine = combine_of<T>(op);
  std::vector<int64_t> kept_shape, outer_shape;
  std::array<std::vector<int64_t>, 1> kept_strides, outer_strides;
  // Without a reduced dimension (all of size 1) a single element is reduced, as a trailing one.
  Dimension inner{1, 1, true};
  bool is_trailing = true;
  size_t last_reduced = space.size();
  for (size_t d = 0; d < space.size(); ++d) {
    if (space[d].is_reduced) last_reduced = d;
  }
  for (size_t d = 0; d < space.size(); ++d) {
    if (d == last_reduced) {
      inner = space[d];
      is_trailing = d + 1 == space.size();
    } else if (space[d].is_reduced) {
      outer_shape.push_back(space[d].size);
      outer_strides[0].push_back(space[d].stride);
    } else {
      kept_shape.push_back(space[d].size);
      kept_strides[0].push_back(space[d].stride);
    }
  }
  int64_t index = 0;
  for_each_index(kept_shape, 0, kept_strides, [&](const std::array<int64_t, 1>& kept) {
    LaneValues<T> totals;
    totals.fill(identity);
    for_each_index(outer_shape, 0, outer_strides, [&](const std::array<int64_t, 1>& outer) {
      const T* data = operand.data() + kept[0] + outer[0];
      if (is_trailing) return reduce_trailing(data, inner.size, totals, identity, combine);
      totals[0] = reduce_other(data, inner, totals[0], identity, combine);
    });
    const T total = is_trailing ? halved(totals, combine) : totals[0];
    store_rounded(result, index++, &total, 1);
  });
}

}  // namespace

void evaluate_reduction(const NodeInputs& inputs, const Shape& operand_shape, Tensor& result) {
  const Node& node = inputs.node;
  const Tensor& operand = *inputs.operands[0];
  const std::vector<int> dims =
      dims_attr(op_info(node.op), node.attrs, "dims", static_cast<int>(operand.shape().size()));
  const auto space = reduction_space(operand_shape, operand.shape(), dims);
  with_compute_type(operand.dtype(), [&](auto type) {
    using T = decltype(type);
    reduce<T>(inputs, space, result);
  });
}

}  // namespace ingot
