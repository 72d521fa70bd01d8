// Movement ops as copies: for each dimension a table of operand offsets, so that every map is one
// addition an element.
#include <algorithm>

#include "graph/evaluate_node.h"
#include "op/apply.h"

namespace ingot {
namespace {

// Operand offset of each index along each result dimension, in elements; -1: outside, keep the
// fill.
using OffsetTables = std::vector<std::vector<int64_t>>;

template <class Element>
void copy_row(const Element* from, int64_t base, const std::vector<int64_t>& offsets, Element* to) {
  for (size_t j = 0; j < offsets.size(); ++j) {
    if (offsets[j] >= 0) to[j] = from[base + offsets[j]];
  }
}

template <class Element>
void copy_elements(const Tensor& operand, const OffsetTables& tables, Tensor& result) {
  const auto* from = operand.as<Element>();
  auto* to = result.as<Element>();
  for (const auto& table : tables) {
    if (table.empty()) return;
  }
  const size_t outer = tables.size() - 1;
  std::vector<size_t> index(outer, 0);
  while (true) {
    int64_t base = 0;
    bool is_inside = true;
    for (size_t d = 0; d < outer; ++d) {
      const int64_t offset = tables[d][index[d]];
      is_inside &= offset >= 0;
      base += offset;
    }
    if (is_inside) copy_row(from, base, tables[outer], to);
    to += tables[outer].size();
    size_t d = outer;
    while (d-- > 0 && ++index[d] == tables[d].size()) index[d] = 0;
    if (d == static_cast<size_t>(-1)) return;
  }
}

void copy_mapped(const Tensor& operand, OffsetTables tables, Tensor& result) {
  if (tables.empty()) tables.push_back({0});
  switch (byte_size(result.dtype())) {
    case 1:
      return copy_elements<uint8_t>(operand, tables, result);
    case 2:
      return copy_elements<uint16_t>(operand, tables, result);
    case 4:
      return copy_elements<uint32_t>(operand, tables, result);
    default:
      return copy_elements<uint64_t>(operand, tables, result);
  }
}

// start + step·i elements along a dimension of the given stride.
std::vector<int64_t> progression(int64_t count, int64_t start, int64_t step, int64_t stride) {
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    offsets[static_cast<size_t>(i)] = (start + step * i) * stride;
  }
  return offsets;
}

void transpose(const NodeInputs& inputs, Tensor& result) {
  const Tensor& operand = *inputs.operands[0];
  const auto strides = strides_of(operand.shape());
  const auto perm = evaluate(sizes_attr(op_info(Op::transpose), inputs.node.attrs, "perm"), {});
  OffsetTables tables;
  for (size_t d = 0; d < result.shape().size(); ++d) {
    tables.push_back(progression(result.shape()[d], 0, 1, strides[static_cast<size_t>(perm[d])]));
  }
  copy_mapped(operand, std::move(tables), result);
}

void broadcast(const NodeInputs& inputs, Tensor& result) {
  const Tensor& operand = *inputs.operands[0];
  const auto strides = broadcast_strides(operand.shape(), result.shape());
  OffsetTables tables;
  for (size_t d = 0; d < result.shape().size(); ++d) {
    tables.push_back(progression(result.shape()[d], 0, 1, strides[d]));
  }
  copy_mapped(operand, std::move(tables), result);
}

void slice(const NodeInputs& inputs, Tensor& result) {
  const Tensor& operand = *inputs.operands[0];
  const OpInfo& info = op_info(Op::slice);
  Attrs attrs = inputs.node.attrs;
  for (const char* name : {"starts", "ends", "steps"}) {
    Shape values;
    for (int64_t value : evaluate(sizes_attr(info, attrs, name), inputs.sizes)) {
      values.emplace_back(value);
    }
    attrs[name] = std::move(values);
  }
  const Shape shape(operand.shape().begin(), operand.shape().end());
  const std::vector<SliceRange> ranges = slice_ranges(shape, attrs);
  const auto strides = strides_of(operand.shape());
  OffsetTables tables;
  for (size_t d = 0; d < result.shape().size(); ++d) {
    tables.push_back(progression(result.shape()[d], *ranges[d].start.constant(),
                                 *ranges[d].step.constant(), strides[d]));
  }
  copy_mapped(operand, std::move(tables), result);
}

// The operand's position under result position i - low where its ends are repeated.
int64_t repeated(const std::string& mode, int64_t i, int64_t size) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, size - 1);
  const int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * (size - 1), 1);
  const int64_t at = (i % period + period) % period;
  return mode == "wrap" ? at : std::min(at, 2 * (size - 1) - at);
}

void pad(const NodeInputs& inputs, Tensor& result) {
  const Tensor& operand = *inputs.operands[0];
  const OpInfo& info = op_info(Op::pad);
  const std::string mode = text_attr(info, inputs.node.attrs, "mode");
  const double value = real_attr(info, inputs.node.attrs, "value");
  for (int64_t i = 0; i < result.size(); ++i) {
    is_float(result.dtype())
        ? result.set_f64(i, value)
        : result.set_i64(i, convert(DType::i64, DType::f64, {.real = value}).integer);
  }
  const auto low = evaluate(sizes_attr(info, inputs.node.attrs, "low"), inputs.sizes);
  const auto strides = strides_of(operand.shape());
  OffsetTables tables;
  for (size_t d = 0; d < result.shape().size(); ++d) {
    std::vector<int64_t> offsets(static_cast<size_t>(result.shape()[d]), -1);
    const int64_t size = operand.shape()[d];
    for (int64_t to = 0; to < result.shape()[d]; ++to) {
      int64_t i = to - low[d];
      const bool inside = i >= 0 && i < size;
      if (!inside && (mode == "constant" || size == 0)) continue;
      if (!inside) i = repeated(mode, i, size);
      offsets[static_cast<size_t>(to)] = i * strides[d];
    }
    tables.push_back(std::move(offsets));
  }
  copy_mapped(operand, std::move(tables), result);
}

// [lead..., K..., O...]: both indices of a windowed dimension step through it.
void window(const NodeInputs& inputs, Tensor& result) {
  const Tensor& operand = *inputs.operands[0];
  const OpInfo& info = op_info(Op::window);
  const auto list = [&](const char* name) {
    return evaluate(sizes_attr(info, inputs.node.attrs, name), {});
  };
  const auto kernel = list("sizes"), steps = list("strides"), dilations = list("dilations");
  const size_t rank = kernel.size(), lead = operand.shape().size() - rank;
  const auto strides = strides_of(operand.shape());
  OffsetTables tables;
  for (size_t d = 0; d < lead; ++d) {
    tables.push_back(progression(operand.shape()[d], 0, 1, strides[d]));
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t step = dilations.empty() ? 1 : dilations[d];
    tables.push_back(progression(kernel[d], 0, step, strides[lead + d]));
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t step = steps.empty() ? 1 : steps[d];
    tables.push_back(progression(result.shape()[lead + rank + d], 0, step, strides[lead + d]));
  }
  copy_mapped(operand, std::move(tables), result);
}

int64_t count_of(const std::vector<int64_t>& shape, size_t begin, size_t end) {
  int64_t count = 1;
  for (size_t d = begin; d < end; ++d) count *= shape[d];
  return count;
}

size_t dim_of(const Node& node, size_t rank) {
  const int64_t dim = integer_attr(op_info(node.op), node.attrs, "dim");
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

void concat(const NodeInputs& inputs, Tensor& result) {
  const auto& shape = result.shape();
  const size_t dim = dim_of(inputs.node, shape.size());
  const int64_t outer = count_of(shape, 0, dim);
  const int64_t inner = count_of(shape, dim + 1, shape.size()) * byte_size(result.dtype());
  const int64_t row = shape[dim] * inner;
  int64_t start = 0;
  for (const Tensor* operand : inputs.operands) {
    const int64_t block = operand->shape()[dim] * inner;
    for (int64_t i = 0; block > 0 && i < outer; ++i) {
      std::memcpy(result.data() + i * row + start, operand->data() + i * block,
                  static_cast<size_t>(block));
    }
    start += block;
  }
}

// Rows whose id is out of range stay zero, or are the caller's error.
void gather(const NodeInputs& inputs, Tensor& result) {
  const Tensor& table = *inputs.operands[0];
  const Tensor& ids = *inputs.operands[1];
  const OpInfo& info = op_info(Op::gather);
  const bool is_error = text_attr(info, inputs.node.attrs, "out_of_range") == "error";
  const size_t dim = dim_of(inputs.node, table.shape().size());
  const int64_t outer = count_of(table.shape(), 0, dim);
  const int64_t rows = table.shape()[dim];
  const int64_t inner =
      count_of(table.shape(), dim + 1, table.shape().size()) * byte_size(table.dtype());
  if (inner == 0) return;  // no element wants an id
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < ids.size(); ++i) {
      const int64_t id = ids.get_i64(i);
      if (id < 0 || id >= rows) {
        if (!is_error) continue;
        fail_input(inputs.node.location,
                   fmt::format("gather: index {} out of range [0, {})", id, rows));
      }
      std::memcpy(result.data() + (o * ids.size() + i) * inner,
                  table.data() + (o * rows + id) * inner, static_cast<size_t>(inner));
    }
  }
}

// An element for each id: its own position but along dim.
void gather_elements(const NodeInputs& inputs, Tensor& result) {
  const Tensor& table = *inputs.operands[0];
  const Tensor& ids = *inputs.operands[1];
  const OpInfo& info = op_info(Op::gather_elements);
  const bool is_error = text_attr(info, inputs.node.attrs, "out_of_range") == "error";
  const size_t dim = dim_of(inputs.node, table.shape().size());
  std::array<std::vector<int64_t>, 1> strides = {strides_of(table.shape())};
  const int64_t along = strides[0][dim], rows = table.shape()[dim];
  strides[0][dim] = 0;
  const auto size = static_cast<size_t>(byte_size(table.dtype()));
  int64_t i = 0;
  for_each_index(ids.shape(), 0, strides, [&](const std::array<int64_t, 1>& at) {
    const int64_t id = ids.get_i64(i), place = i++;
    if (id >= 0 && id < rows) {
      std::memcpy(result.data() + static_cast<size_t>(place) * size,
                  table.data() + static_cast<size_t>(at[0] + id * along) * size, size);
    } else if (is_error) {
      fail_input(inputs.node.location,
                 fmt::format("gather_elements: index {} out of range [0, {})", id, rows));
    }
  });
}

}  // namespace

void evaluate_movement(const NodeInputs& inputs, Tensor& result) {
  switch (inputs.node.op) {
    case Op::reshape:
      if (result.size() != inputs.operands[0]->size()) {
        fail_input(inputs.node.location,
                   fmt::format("reshape: {} elements do not make [{}]", inputs.operands[0]->size(),
                               fmt::join(result.shape(), ", ")));
      }
      if (result.size() > 0) {
        std::memcpy(result.data(), inputs.operands[0]->data(), static_cast<size_t>(result.bytes()));
      }
      return;
    case Op::transpose:
      return transpose(inputs, result);
    case Op::broadcast:
      return broadcast(inputs, result);
    case Op::slice:
      return slice(inputs, result);
    case Op::pad:
      return pad(inputs, result);
    case Op::window:
      return window(inputs, result);
    case Op::gather_elements:
      return gather_elements(inputs, result);
    case Op::concat:
      return concat(inputs, result);
    case Op::gather:
      return gather(inputs, result);
    default:
      fail_internal("evaluate", fmt::format("no movement {}", op_name(inputs.node.op)));
  }
}

}  // namespace ingot
