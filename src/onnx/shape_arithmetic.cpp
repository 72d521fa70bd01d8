// Integer tensors that are known during the import: Shape, what is computed from it, and constants.
// Every case may give up (false); the op then becomes a node like any other.
#include <algorithm>
#include <limits>
#include <numeric>

#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

constexpr int64_t most_elements = 4096;

using Elements = std::vector<Sym>;
using Result = std::optional<Known>;

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || count > most_elements) return most_elements + 1;
    count *= std::min(size, most_elements + 1);
  }
  return count;
}

bool is_number(const Sym& a) { return a.constant().has_value(); }

bool at_least(const Sym& a, const Sym& b) { return provably_nonnegative(a - b, {}); }

// --- elementwise

std::optional<Sym> wrapped(const Sym& value, DType dtype) {
  if (!value.constant()) return value;  // a size: fits
  int64_t number = *value.constant();
  return Sym(wrap_integer(dtype, number));
}

std::optional<Sym> quotient(const Sym& a, const Sym& b) {
  if (is_number(a) && is_number(b)) {
    if (b.is(0) || (b.is(-1) && *a.constant() == std::numeric_limits<int64_t>::min())) return {};
    return Sym(*a.constant() / *b.constant());
  }
  if (auto exact = exact_div(a, b)) return exact;
  if (at_least(a, 0) && at_least(b, 1)) return floor_div(a, b);
  return std::nullopt;
}

std::optional<Sym> remainder(const Sym& a, const Sym& b) {
  if (is_number(a) && is_number(b)) {
    if (b.is(0) || b.is(-1)) return {};
    int64_t r = *a.constant() % *b.constant();
    return Sym(r != 0 && (r < 0) != (*b.constant() < 0) ? r + *b.constant() : r);
  }
  if (at_least(a, 0) && at_least(b, 1)) return mod(a, b);
  return std::nullopt;
}

std::optional<Sym> smaller(const Sym& a, const Sym& b) {
  if (at_least(b, a)) return a;
  if (at_least(a, b)) return b;
  return at_least(a, 0) && at_least(b, 0) ? std::optional(min(a, b)) : std::nullopt;
}

std::optional<Sym> larger(const Sym& a, const Sym& b) {
  std::optional<Sym> least = smaller(a, b);
  return least ? std::optional(a + b - *least) : std::nullopt;
}

std::optional<Sym> equal(const Sym& a, const Sym& b) {
  if (a == b) return Sym(1);
  bool differ = (a - b).constant() || at_least(a - b, 1) || at_least(b - a, 1);
  return differ ? std::optional(Sym(0)) : std::nullopt;
}

std::optional<Sym> less(const Sym& a, const Sym& b) {
  if (at_least(b, a + 1)) return Sym(1);
  if (at_least(a, b)) return Sym(0);
  return std::nullopt;
}

// Of bools, so 0 or 1.
std::optional<Sym> both(const Sym& a, const Sym& b) {
  return is_number(a) && is_number(b) ? std::optional(a * b) : std::nullopt;
}
std::optional<Sym> either(const Sym& a, const Sym& b) {
  return is_number(a) && is_number(b) ? std::optional(a + b - a * b) : std::nullopt;
}

std::optional<Sym> add(const Sym& a, const Sym& b) { return a + b; }
std::optional<Sym> subtract(const Sym& a, const Sym& b) { return a - b; }
std::optional<Sym> multiply(const Sym& a, const Sym& b) { return a * b; }

using Binary = std::optional<Sym> (*)(const Sym&, const Sym&);
struct BinaryOp {
  std::string_view op_type;
  Binary apply;
  bool gives_bool;
};
constexpr BinaryOp binary_ops[] = {
    {"Add", add, false},      {"Sub", subtract, false},  {"Mul", multiply, false},
    {"Div", quotient, false}, {"Mod", remainder, false}, {"Min", smaller, false},
    {"Max", larger, false},   {"Equal", equal, true},    {"Less", less, true},
    {"And", both, true},      {"Or", either, true},
};

// NumPy broadcasting of shapes that are known.
std::optional<std::vector<int64_t>> broadcast_shape(const std::vector<int64_t>& a,
                                                    const std::vector<int64_t>& b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()), 1);
  for (const std::vector<int64_t>* shape : {&a, &b}) {
    size_t offset = out.size() - shape->size();
    for (size_t d = 0; d < shape->size(); ++d) {
      int64_t& size = out[offset + d];
      if ((*shape)[d] == 1) continue;
      if (size != 1 && size != (*shape)[d]) return std::nullopt;
      size = (*shape)[d];
    }
  }
  if (count_of(out) > most_elements) return std::nullopt;
  return out;
}

Elements expand(const Known& from, const std::vector<int64_t>& shape) {
  int64_t count = count_of(shape);
  Elements out;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat, index = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      int64_t at = rest % shape[d];
      rest /= shape[d];
      size_t missing = shape.size() - from.shape.size();
      if (d < missing) continue;
      int64_t size = from.shape[d - missing];
      if (size != 1) index += at * stride;
      stride *= size;
    }
    out.push_back(from.values[static_cast<size_t>(index)]);
  }
  return out;
}

Result binary(const BinaryOp& op, const Known& a, const Known& b) {
  auto shape = broadcast_shape(a.shape, b.shape);
  if (!shape || a.dtype != b.dtype) return std::nullopt;
  Elements left = expand(a, *shape), right = expand(b, *shape);
  Known out{op.gives_bool ? DType::boolean : a.dtype, *shape, {}};
  for (size_t i = 0; i < left.size(); ++i) {
    std::optional<Sym> value = op.apply(left[i], right[i]);
    if (value) value = wrapped(*value, out.dtype);
    if (!value) return std::nullopt;
    out.values.push_back(*value);
  }
  return out;
}

using Unary = std::optional<Sym> (*)(const Sym&);
struct UnaryOp {
  std::string_view op_type;
  Unary apply;
};
std::optional<Sym> negative(const Sym& a) { return Sym(0) - a; }
std::optional<Sym> magnitude(const Sym& a) {
  if (at_least(a, 0)) return a;
  return at_least(Sym(0) - a, 0) ? negative(a) : std::nullopt;
}
std::optional<Sym> opposite(const Sym& a) {
  return is_number(a) ? std::optional(Sym(a.is(0))) : std::nullopt;
}
constexpr UnaryOp unary_ops[] = {{"Neg", negative}, {"Abs", magnitude}, {"Not", opposite}};

Result unary(const UnaryOp& op, const Known& a) {
  Known out{a.dtype, a.shape, {}};
  for (const Sym& element : a.values) {
    std::optional<Sym> value = op.apply(element);
    if (value) value = wrapped(*value, out.dtype);
    if (!value) return std::nullopt;
    out.values.push_back(*value);
  }
  return out;
}

Result where(const Known& mask, const Known& a, const Known& b) {
  auto shape = broadcast_shape(mask.shape, a.shape);
  if (shape) shape = broadcast_shape(*shape, b.shape);
  if (!shape || a.dtype != b.dtype) return std::nullopt;
  Elements masks = expand(mask, *shape), left = expand(a, *shape), right = expand(b, *shape);
  Known out{a.dtype, *shape, {}};
  for (size_t i = 0; i < masks.size(); ++i) {
    if (!is_number(masks[i])) return std::nullopt;
    out.values.push_back(masks[i].is(0) ? right[i] : left[i]);
  }
  return out;
}

Result cast(NodeContext& n, const Known& a) {
  std::optional<DType> dtype = dtype_of(n.int_attr("to", 0));
  if (!dtype || is_float(*dtype)) return std::nullopt;
  Known out{*dtype, a.shape, {}};
  for (const Sym& value : a.values) {
    if (!is_number(value) && *dtype != DType::i32 && *dtype != DType::i64) return std::nullopt;
    out.values.push_back(*wrapped(value, *dtype));
  }
  return out;
}

// --- movement of lists

Result gather(NodeContext& n, const Known& data, const Known& ids) {
  if (data.shape.size() != 1 || n.axis(n.int_attr("axis", 0), 1) != 0) return std::nullopt;
  Known out{data.dtype, ids.shape, {}};
  for (const Sym& id : ids.values) {
    if (!id.constant()) return std::nullopt;
    int64_t at = *id.constant() < 0 ? *id.constant() + data.shape[0] : *id.constant();
    if (at < 0 || at >= data.shape[0]) {
      n.invalid(fmt::format("index {} out of range [0, {})", *id.constant(), data.shape[0]));
    }
    out.values.push_back(data.values[static_cast<size_t>(at)]);
  }
  return out;
}

Result slice(NodeContext& n, const Known& data) {
  if (data.shape.size() != 1) return std::nullopt;
  auto one = [&](size_t i, std::string_view attr, int64_t fallback) -> int64_t {
    if (auto values = n.opset() < 10 ? n.ints_attr(attr) : std::nullopt) {
      return values->size() == 1 ? (*values)[0] : fallback;
    }
    if (!n.has_input(i)) return fallback;
    std::vector<int64_t> values = n.integers_input(i, attr);
    if (values.size() != 1) n.invalid(fmt::format("{} of a list has one element", attr));
    return values[0];
  };
  int64_t size = data.shape[0], step = one(4, "steps", 1);
  int64_t start = one(1, "starts", 0), end = one(2, "ends", size);
  (void)n.axis(one(3, "axes", 0), 1);
  if (step == 0) n.invalid("a step of 0");
  auto clamp = [&](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 ? at + size : at, low, high);
  };
  Known out{data.dtype, {0}, {}};
  if (size == 0) return out;
  start = clamp(start, 0, step > 0 ? size : size - 1);
  end = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
  step = std::clamp(step, -most_elements, most_elements);
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) {
    out.values.push_back(data.values[static_cast<size_t>(i)]);
  }
  out.shape[0] = static_cast<int64_t>(out.values.size());
  return out;
}

Result concat(NodeContext& n, const std::vector<Known>& parts) {
  if (parts[0].shape.size() != 1 || n.axis(n.int_attr("axis", 1), 1) != 0) return std::nullopt;
  Known out{parts[0].dtype, {0}, {}};
  for (const Known& part : parts) {
    if (part.shape.size() != 1 || part.dtype != out.dtype) return std::nullopt;
    out.values.insert(out.values.end(), part.values.begin(), part.values.end());
  }
  out.shape[0] = static_cast<int64_t>(out.values.size());
  return out.shape[0] <= most_elements ? Result(out) : std::nullopt;
}

// A scalar becomes a list and back; what else changes a shape is left to the usual way.
Result squeeze(const Known& data) {
  if (data.shape.size() > 1 || data.values.size() != 1) return std::nullopt;
  return Known{data.dtype, {}, data.values};
}

Result unsqueeze(const Known& data) {
  if (!data.shape.empty()) return std::nullopt;
  return Known{data.dtype, {1}, data.values};
}

Result reshape(const Known& data, const Known& shape) {
  if (shape.shape.size() != 1 || shape.values.size() > 1) return std::nullopt;
  auto count = static_cast<int64_t>(data.values.size());
  if (shape.values.empty()) return count == 1 ? Result({data.dtype, {}, data.values}) : Result();
  bool fits = shape.values[0].is(-1) || shape.values[0].is(count);
  return fits ? Result({data.dtype, {count}, data.values}) : Result();
}

// --- out of nothing

void shape_of(NodeContext& n) {
  const Shape& shape = n.shape(n.input(0));
  auto rank = static_cast<int64_t>(shape.size());
  auto position = [&](std::string_view name, int64_t fallback) {
    int64_t at = n.int_attr(name, fallback);
    return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
  };
  int64_t start = position("start", 0), end = std::max(start, position("end", rank));
  n.set(0, Known{DType::i64, {end - start}, Elements(shape.begin() + start, shape.begin() + end)});
}

void size_of(NodeContext& n) {
  n.set(0, Known{DType::i64, {}, {element_count(n.shape(n.input(0)))}});
}

Result product(NodeContext& n, const Known& data) {
  if (data.shape.size() != 1 || data.dtype != DType::i64) return std::nullopt;
  Sym value = 1;
  for (const Sym& element : data.values) value = value * element;
  bool keepdims = n.int_attr("keepdims", 1) != 0;
  n.ignore_attrs({"axes"});
  return Known{data.dtype, keepdims ? std::vector<int64_t>{1} : std::vector<int64_t>{}, {value}};
}

Result range(const Known& start, const Known& limit, const Known& delta) {
  if (start.values.size() != 1 || limit.values.size() != 1 || delta.values.size() != 1) return {};
  for (const Known* part : {&start, &limit, &delta}) {
    if (!is_number(part->values[0]) || part->dtype != start.dtype) return std::nullopt;
  }
  int64_t from = *start.values[0].constant(), to = *limit.values[0].constant();
  int64_t step = *delta.values[0].constant(), distance = 0;
  if (step == 0 || __builtin_sub_overflow(to, from, &distance)) return std::nullopt;
  int64_t count = std::max<int64_t>(0, distance / step + (distance % step != 0 ? 1 : 0));
  if ((distance > 0) != (step > 0)) count = 0;
  if (count > most_elements) return std::nullopt;
  Known out{start.dtype, {count}, {}};
  for (int64_t i = 0; i < count; ++i) out.values.emplace_back(from + i * step);
  return out;
}

Result constant_of_shape(NodeContext& n, const Known& shape) {
  const Attribute* attribute = n.attr("value");
  const auto* file = attribute ? std::get_if<FileTensor>(attribute) : nullptr;
  std::optional<Known> value = file && file->data ? known_of(*file->data) : std::nullopt;
  if (!value || value->values.size() != 1 || shape.values.size() > 1) return std::nullopt;
  for (const Sym& size : shape.values) {
    if (!size.constant() || *size.constant() < 0) return std::nullopt;
  }
  std::vector<int64_t> sizes;
  for (const Sym& size : shape.values) sizes.push_back(*size.constant());
  int64_t count = count_of(sizes);
  if (count > most_elements) return std::nullopt;
  return Known{value->dtype, sizes, Elements(static_cast<size_t>(count), value->values[0])};
}

Result fold(NodeContext& n, const std::vector<Known>& in) {
  const std::string& op = n.node().op_type;
  for (const BinaryOp& row : binary_ops) {
    if (op == row.op_type && in.size() == 2 && (op != "Mod" || n.int_attr("fmod", 0) == 0)) {
      return binary(row, in[0], in[1]);
    }
  }
  for (const UnaryOp& row : unary_ops) {
    if (op == row.op_type && in.size() == 1) return unary(row, in[0]);
  }
  if (op == "Where" && in.size() == 3) return where(in[0], in[1], in[2]);
  if (op == "Cast" && in.size() == 1) return cast(n, in[0]);
  if (op == "Gather" && in.size() == 2) return gather(n, in[0], in[1]);
  if (op == "Slice" && !in.empty()) return slice(n, in[0]);
  if (op == "Concat") return concat(n, in);
  if (op == "Range" && in.size() == 3) return range(in[0], in[1], in[2]);
  if (op == "ConstantOfShape" && in.size() == 1) return constant_of_shape(n, in[0]);
  if (op == "ReduceProd" && in.size() == 1) return product(n, in[0]);
  if (op == "Identity" && in.size() == 1) return in[0];
  Result out;
  if (op == "Squeeze" && !in.empty()) out = squeeze(in[0]);
  if (op == "Unsqueeze" && !in.empty()) out = unsqueeze(in[0]);
  if (op == "Reshape" && in.size() == 2) out = reshape(in[0], in[1]);
  if (out) n.ignore_attrs({"axes", "allowzero"});
  return out;
}

}  // namespace

std::optional<Known> known_of(const Tensor& tensor) {
  if (is_float(tensor.dtype()) || tensor.size() > most_elements) return std::nullopt;
  Known out{tensor.dtype(), tensor.shape(), {}};
  for (int64_t i = 0; i < tensor.size(); ++i) out.values.emplace_back(tensor.get_i64(i));
  return out;
}

Tensor tensor_of(const Known& known) {
  Tensor out(known.dtype, known.shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    out.set_i64(i, known.values[static_cast<size_t>(i)].constant().value());
  }
  return out;
}

bool fold_shape_arithmetic(NodeContext& n) {
  std::vector<Known> known;
  for (size_t i = 0; i < n.input_count(); ++i) {
    std::optional<Known> value = n.known(i);
    if (!value && n.has_input(i)) return false;
    if (value) known.push_back(std::move(*value));
  }
  Result result = known.empty() ? std::nullopt : fold(n, known);
  if (!result) return false;
  n.set(0, std::move(*result));
  return true;
}

HandlerTable size_handlers() { return {{"Shape", shape_of}, {"Size", size_of}}; }

}  // namespace ingot::onnx_model
