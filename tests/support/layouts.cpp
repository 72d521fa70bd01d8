#include "support/layouts.h"

#include <cstring>
#include <deque>
#include <stdexcept>

#include "support/random.h"

namespace ingot::testing {
namespace {

constexpr std::byte filling{0xA5};
constexpr int64_t margin = 256;  // bytes before and behind

struct Placed {
  std::vector<std::byte> memory;
  TensorView view;
};

size_t place_of(const TensorView& view, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
  return static_cast<size_t>(offset * byte_size(view.dtype));
}

// Calls visit(flat index, pointer) for every element, in row-major order.
template <class Visit>
void each_element(const TensorView& view, const Visit& visit) {
  int64_t count = 1;
  for (int64_t size : view.shape) count *= size;
  std::vector<int64_t> index(view.shape.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    visit(flat,
          static_cast<std::byte*>(view.data) + static_cast<std::ptrdiff_t>(place_of(view, index)));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.shape[d]) break;
      index[d] = 0;
    }
  }
}

// Memory for a tensor: gaps between elements or rows, dimensions in another order or backwards, an
// address that is no multiple of anything.
Placed place(DType dtype, const std::vector<int64_t>& shape, Random& random) {
  Placed placed;
  placed.view = {nullptr, dtype, shape, std::vector<int64_t>(shape.size(), 1)};
  const bool plain = random.chance(40), column_major = !plain && random.chance(25);
  int64_t stride = plain ? 1 : random.chance(30) ? 2 + random.below(2) : 1;
  int64_t lowest = 0, highest = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t d = column_major ? i : shape.size() - 1 - i;
    const int64_t own = !plain && random.chance(15) ? -stride : stride;
    placed.view.strides[d] = own;
    const int64_t reach = own * std::max<int64_t>(shape[d] - 1, 0);
    (reach < 0 ? lowest : highest) += reach;
    stride *= std::max<int64_t>(shape[d], 1);
    if (!plain && random.chance(20)) stride += 1 + random.below(5);
  }
  const int64_t width = byte_size(dtype);
  const int64_t shift = random.chance(25) ? 1 : random.chance(40) ? width * random.below(16) : 0;
  placed.memory.assign(static_cast<size_t>((highest - lowest + 1) * width + 2 * margin + 64),
                       filling);
  placed.view.data = placed.memory.data() + margin + shift - lowest * width;
  return placed;
}

void write(const TensorView& view, const Tensor& values) {
  const auto width = static_cast<size_t>(byte_size(view.dtype));
  each_element(view, [&](int64_t flat, std::byte* at) {
    std::memcpy(at, values.data() + flat * static_cast<int64_t>(width), width);
  });
}

// The elements; they become filling.
Tensor taken(const TensorView& view) {
  Tensor values(view.dtype, view.shape);
  const auto width = static_cast<size_t>(byte_size(view.dtype));
  each_element(view, [&](int64_t flat, std::byte* at) {
    std::memcpy(values.data() + flat * static_cast<int64_t>(width), at, width);
    std::memset(at, static_cast<int>(filling), width);
  });
  return values;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

}  // namespace

std::vector<Tensor> run_in_layouts(const Executable& executable, const std::vector<Tensor>& inputs,
                                   uint64_t seed) {
  Random random(seed);
  std::deque<Placed> memory;
  std::vector<TensorView> input_views, output_views;
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    shapes.push_back(inputs[i].shape());
    size_t same = 0;
    while (same < i && !equal(inputs[same], inputs[i])) ++same;
    if (same < i && random.chance(60)) {
      input_views.push_back(input_views[same]);
      continue;
    }
    memory.push_back(place(inputs[i].dtype(), inputs[i].shape(), random));
    input_views.push_back(memory.back().view);
    write(input_views.back(), inputs[i]);
  }
  const size_t first_output = memory.size();
  const std::vector<std::vector<int64_t>> output_shapes = executable.output_shapes(shapes);
  bool shared = false;  // two outputs on one input would be an error
  for (size_t i = 0; i < output_shapes.size(); ++i) {
    const DType dtype = executable.graph()[executable.graph().outputs[i]].type.dtype;
    const TensorView* on = nullptr;
    for (const TensorView& input : input_views) {
      if (input.dtype == dtype && input.shape == output_shapes[i]) on = &input;
    }
    if (on != nullptr && !shared && random.chance(50)) {
      output_views.push_back(*on);
      shared = true;
      continue;
    }
    memory.push_back(place(dtype, output_shapes[i], random));
    output_views.push_back(memory.back().view);
  }
  executable.run(input_views, output_views);
  std::vector<Tensor> outputs;
  for (const TensorView& view : output_views) outputs.push_back(taken(view));
  for (size_t m = first_output; m < memory.size(); ++m) {
    for (std::byte byte : memory[m].memory) {
      if (byte != filling) throw std::runtime_error("memory around an output was written to");
    }
  }
  return outputs;
}

}  // namespace ingot::testing
