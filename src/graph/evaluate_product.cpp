// Products by loops whose innermost runs over the result's last dimension, so that they vectorise;
// each element still adds its terms in ascending order of k, a rounded product at a time.
#include <algorithm>

#include "graph/evaluate_node.h"

namespace ingot {
namespace {

// Wraps like the integers of the op table; floats round at each step.
template <class T>
void add_scaled(T* to, const T* from, T factor, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    for (int64_t j = 0; j < count; ++j) {
      to[j] = static_cast<T>(static_cast<Unsigned>(to[j]) +
                             static_cast<Unsigned>(from[j]) * static_cast<Unsigned>(factor));
    }
  } else {
    for (int64_t j = 0; j < count; ++j) {
      const T product = from[j] * factor;
      to[j] = to[j] + product;
    }
  }
}

// [rows, columns] from its transpose.
template <class T>
void transpose_matrix(const T* from, int64_t rows, int64_t columns, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = from[j * rows + i];
  }
}

struct MatrixSizes {
  int64_t m, n, k;
};

template <class T>
void multiply(const T* a, const T* b, const MatrixSizes& sizes, bool transpose_a, bool transpose_b,
              T* to) {
  std::unique_ptr<T[]> a_copy, b_copy;
  if (transpose_a) {
    a_copy = std::make_unique<T[]>(static_cast<size_t>(sizes.m * sizes.k));
    transpose_matrix(a, sizes.m, sizes.k, a_copy.get());
    a = a_copy.get();
  }
  if (transpose_b) {
    b_copy = std::make_unique<T[]>(static_cast<size_t>(sizes.k * sizes.n));
    transpose_matrix(b, sizes.k, sizes.n, b_copy.get());
    b = b_copy.get();
  }
  std::fill(to, to + sizes.m * sizes.n, T{});
  for (int64_t i = 0; i < sizes.m; ++i) {
    for (int64_t k = 0; k < sizes.k; ++k) {
      add_scaled(to + i * sizes.n, b + k * sizes.n, a[i * sizes.k + k], sizes.n);
    }
  }
}

// A matrix operand: [batch…, rows, columns]; a vector has one row (left) or column (right).
struct Matrix {
  std::vector<int64_t> batch;
  int64_t rows, columns;
};

Matrix matrix_of(const std::vector<int64_t>& shape, bool is_transposed, bool is_left) {
  if (shape.size() == 1) return is_left ? Matrix{{}, 1, shape[0]} : Matrix{{}, shape[0], 1};
  Matrix matrix{{shape.begin(), shape.end() - 2}, shape[shape.size() - 2], shape.back()};
  if (is_transposed) std::swap(matrix.rows, matrix.columns);
  return matrix;
}

template <class T>
void matmul(const NodeInputs& inputs, Tensor& result) {
  const OpInfo& info = op_info(Op::matmul);
  const Attrs& attrs = inputs.node.attrs;
  const auto& a_shape = inputs.operands[0]->shape();
  const auto& b_shape = inputs.operands[1]->shape();
  const bool transpose_a = flag_attr(info, attrs, "transpose_a") && a_shape.size() > 1;
  const bool transpose_b = flag_attr(info, attrs, "transpose_b") && b_shape.size() > 1;
  const Widened<T> a(*inputs.operands[0]), b(*inputs.operands[1]);
  const Matrix left = matrix_of(a_shape, transpose_a, true);
  const Matrix right = matrix_of(b_shape, transpose_b, false);
  const MatrixSizes sizes{left.rows, right.columns, left.columns};
  std::vector<int64_t> batch = result.shape();
  batch.resize(std::max(left.batch.size(), right.batch.size()));
  const std::array<std::vector<int64_t>, 2> strides = {broadcast_strides(left.batch, batch),
                                                       broadcast_strides(right.batch, batch)};
  const auto block = std::make_unique<T[]>(static_cast<size_t>(sizes.m * sizes.n));
  int64_t start = 0;
  for_each_index(batch, 0, strides, [&](const std::array<int64_t, 2>& offset) {
    multiply(a.data() + offset[0] * sizes.m * sizes.k, b.data() + offset[1] * sizes.k * sizes.n,
             sizes, transpose_a, transpose_b, block.get());
    store_rounded(result, start, block.get(), sizes.m * sizes.n);
    start += sizes.m * sizes.n;
  });
}

// One spatial dimension of a convolution.
struct Window {
  int64_t input, low, padded, output, kernel, stride, dilation;
};

std::vector<int64_t> sizes_or(const NodeInputs& inputs, std::string_view name, size_t count,
                              int64_t otherwise) {
  auto values = evaluate(sizes_attr(op_info(Op::conv), inputs.node.attrs, name), inputs.sizes);
  return values.empty() ? std::vector<int64_t>(count, otherwise) : values;
}

std::vector<Window> windows_of(const NodeInputs& inputs, const std::vector<int64_t>& result) {
  const auto& x = inputs.operands[0]->shape();
  const auto& w = inputs.operands[1]->shape();
  const size_t rank = x.size() - 2;
  const auto strides = sizes_or(inputs, "strides", rank, 1);
  const auto dilations = sizes_or(inputs, "dilations", rank, 1);
  const auto pads = sizes_or(inputs, "pads", 2 * rank, 0);
  std::vector<Window> windows;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t padded = x[d + 2] + pads[d] + pads[rank + d];
    windows.push_back(
        {x[d + 2], pads[d], padded, result[d + 2], w[d + 2], strides[d], dilations[d]});
  }
  return windows;
}

// The elements of one step in dimension d of an image, before and after padding, and of the result.
struct Steps {
  int64_t input = 1, padded = 1, output = 1;
};
Steps steps_of(const std::vector<Window>& windows, size_t d) {
  Steps steps;
  for (size_t e = d + 1; e < windows.size(); ++e) {
    steps.input *= windows[e].input;
    steps.padded *= windows[e].padded;
    steps.output *= windows[e].output;
  }
  return steps;
}

template <class T>
void copy_inside(const std::vector<Window>& windows, size_t d, const T* from, T* to) {
  const Window& window = windows[d];
  const Steps step = steps_of(windows, d);
  to += window.low * step.padded;
  if (d + 1 == windows.size()) {
    std::copy_n(from, window.input, to);
    return;
  }
  for (int64_t i = 0; i < window.input; ++i) {
    copy_inside(windows, d + 1, from + i * step.input, to + i * step.padded);
  }
}

// x with its padding: zeros that are multiplied like other elements, so that a NaN among the
// weights is a NaN there too.
template <class T>
std::unique_ptr<T[]> padded_images(const std::vector<Window>& windows, const T* x, int64_t images) {
  const int64_t plane = windows[0].input * steps_of(windows, 0).input;
  const int64_t padded = windows[0].padded * steps_of(windows, 0).padded;
  auto result = std::make_unique<T[]>(static_cast<size_t>(images * padded));
  for (int64_t i = 0; i < images; ++i) {
    copy_inside(windows, 0, x + i * plane, result.get() + i * padded);
  }
  return result;
}

// Adds one tap of one channel: to[…] += from[… · stride + t · dilation] · factor.
template <class T>
void add_tap(const std::vector<Window>& windows, const std::vector<int64_t>& tap, size_t d,
             const T* from, T* to, T factor) {
  const Window& window = windows[d];
  const Steps step = steps_of(windows, d);
  from += tap[d] * window.dilation * step.padded;
  if (d + 1 == windows.size() && window.stride == 1) {
    add_scaled(to, from, factor, window.output);
    return;
  }
  for (int64_t i = 0; i < window.output; ++i) {
    const T* line = from + i * window.stride * step.padded;
    if (d + 1 == windows.size()) {
      add_scaled(to + i, line, factor, 1);
    } else {
      add_tap(windows, tap, d + 1, line, to + i * step.output, factor);
    }
  }
}

template <class T>
void convolve(const NodeInputs& inputs, Tensor& result) {
  const Widened<T> x(*inputs.operands[0]), w(*inputs.operands[1]);
  const auto& x_shape = inputs.operands[0]->shape();
  const auto& w_shape = inputs.operands[1]->shape();
  const std::vector<Window> windows = windows_of(inputs, result.shape());
  const int64_t groups = integer_attr(op_info(Op::conv), inputs.node.attrs, "groups");
  const int64_t outputs = w_shape[0], channels = w_shape[1];
  std::vector<int64_t> taps_shape;
  const int64_t x_plane = windows[0].padded * steps_of(windows, 0).padded;
  const int64_t y_plane = windows[0].output * steps_of(windows, 0).output;
  int64_t taps = 1;
  for (const Window& window : windows) {
    taps *= window.kernel;
    taps_shape.push_back(window.kernel);
  }
  const auto images = padded_images(windows, x.data(), x_shape[0] * x_shape[1]);
  std::unique_ptr<Widened<T>> bias;
  if (inputs.operands.size() > 2) bias = std::make_unique<Widened<T>>(*inputs.operands[2]);
  const auto plane = std::make_unique<T[]>(static_cast<size_t>(y_plane));
  for (int64_t n = 0; n < x_shape[0]; ++n) {
    for (int64_t o = 0; o < outputs; ++o) {
      std::fill(plane.get(), plane.get() + y_plane, T{});
      const int64_t first_channel = o / (outputs / groups) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const T* image = images.get() + (n * x_shape[1] + first_channel + c) * x_plane;
        const T* weights = w.data() + (o * channels + c) * taps;
        std::vector<int64_t> tap(windows.size(), 0);
        for (int64_t t = 0; t < taps; ++t) {
          add_tap(windows, tap, 0, image, plane.get(), weights[t]);
          for (size_t d = tap.size(); d-- > 0 && ++tap[d] == taps_shape[d];) tap[d] = 0;
        }
      }
      if (bias) {
        const T one = 1;
        for (int64_t i = 0; i < y_plane; ++i) add_scaled(&plane[i], &one, bias->data()[o], 1);
      }
      store_rounded(result, (n * outputs + o) * y_plane, plane.get(), y_plane);
    }
  }
}

}  // namespace

void evaluate_contraction(const NodeInputs& inputs, Tensor& result) {
  with_compute_type(inputs.operands[0]->dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, bool>) {
      fail_internal("evaluate", "a product of bool");
    } else if (inputs.node.op == Op::matmul) {
      matmul<T>(inputs, result);
    } else {
      convolve<T>(inputs, result);
    }
  });
}

}  // namespace ingot
