// Elementwise ops: rows of the op table by their ONNX name, and those whose ONNX form differs.
#include <cmath>
#include <limits>

#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

AttrValue attr_value(NodeContext& n, const AttrInfo& info) {
  switch (info.type) {
    case AttrType::boolean:
      return n.int_attr(info.name, 0) != 0;
    case AttrType::integer:
      return n.int_attr(info.name, 0);
    case AttrType::real:
      return n.float_attr(info.name, 0);
    case AttrType::text:
      return n.text_attr(info.name, "");
    default:
      n.unsupported(fmt::format("attribute {}", info.name));
  }
}

// Each operand after the first is combined with what came before, as ONNX defines for any number.
void fold_operands(NodeContext& n, Op op, const std::vector<NodeId>& operands) {
  NodeId value = operands[0];
  for (size_t i = 1; i + 1 < operands.size(); ++i) {
    value = n.add(fmt::format("{}", i), op, {value, operands[i]});
  }
  n.result(op, {value, operands.back()});
}

void variadic(NodeContext& n, Op op) {
  std::vector<NodeId> operands = n.inputs();
  if (operands.empty()) n.invalid("no inputs");
  if (operands.size() == 1) return n.set(0, operands[0]);
  fold_operands(n, op, operands);
}

void sum(NodeContext& n) { variadic(n, Op::add); }
void maximum(NodeContext& n) { variadic(n, Op::maximum); }
void minimum(NodeContext& n) { variadic(n, Op::minimum); }

void mean(NodeContext& n) {
  std::vector<NodeId> operands = n.inputs();
  if (operands.empty()) n.invalid("no inputs");
  NodeId value = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    value = n.add(fmt::format("sum{}", i), Op::add, {value, operands[i]});
  }
  n.result(Op::div, {value, n.literal(n.dtype(value), static_cast<double>(operands.size()))});
}

// `saturate` is of 8-bit floats only.
Attrs cast_attrs(NodeContext& n, DType to) {
  bool saturate = n.int_attr("saturate", 1) != 0 || !is_float(to) || byte_size(to) > 1;
  return {{"dtype", to}, {"saturate", saturate}};
}

void cast(NodeContext& n) {
  int64_t to = n.int_attr("to", 0);
  std::optional<DType> dtype = dtype_of(to);
  if (!dtype) n.unsupported(fmt::format("to {}", type_name_of(to)));
  NodeId x = n.input(0);
  n.result(Op::cast, {x}, cast_attrs(n, *dtype));
}

void cast_like(NodeContext& n) {
  NodeId x = n.input(0), like = n.input(1);
  n.result(Op::cast, {x}, cast_attrs(n, n.dtype(like)));
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.FEp127;
    case DType::f32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// min(high, max(x, low)); the bounds are attributes before opset 11. One that is missing is the
// lowest or highest finite number: an infinity becomes finite.
void clip(NodeContext& n) {
  NodeId x = n.input(0);
  DType dtype = n.dtype(x);
  std::optional<double> low, high;
  if (is_float(dtype)) {
    high = largest_finite(dtype);
    low = -*high;
  }
  if (n.has_attr("min")) low = n.float_attr("min", 0);
  if (n.has_attr("max")) high = n.float_attr("max", 0);
  if (n.has_input(1)) low = n.number_input(1);
  if (n.has_input(2)) high = n.number_input(2);
  bool is_literal = (low || !n.has_input(1)) && (high || !n.has_input(2));
  if (is_literal && is_float(dtype)) {
    n.result(Op::clip, {x}, {{"min", *low}, {"max", *high}});
    return;
  }
  NodeId value = x;
  bool has_low = low || n.has_input(1), has_high = high || n.has_input(2);
  if (has_low) {
    NodeId bound = n.has_input(1) ? n.input(1) : n.literal(dtype, *low);
    if (!has_high) {
      n.result(Op::maximum, {value, bound});
      return;
    }
    value = n.add("low", Op::maximum, {value, bound});
  }
  if (!has_high) return n.set(0, value);
  n.result(Op::minimum, {value, n.has_input(2) ? n.input(2) : n.literal(dtype, *high)});
}

void gelu(NodeContext& n) {
  std::string approximate = n.text_attr("approximate", "none");
  const std::optional<Op> op = gelu_form(approximate);
  if (!op) n.unsupported(fmt::format("approximate={}", approximate));
  n.result(*op, {n.input(0)});
}

// A whole power by multiplications, exact in integers (which wrap).
void whole_power(NodeContext& n, NodeId base, int64_t exponent) {
  NodeId value = base;
  for (int64_t i = 2; i < exponent; ++i) {
    value = n.add(fmt::format("power{}", i), Op::mul, {value, base});
  }
  n.result(Op::mul, {value, base});
}

// The base may have another dtype than the exponent; the result has the base's.
void pow(NodeContext& n) {
  NodeId base = n.input(0), exponent = n.input(1);
  DType dtype = n.dtype(base);
  std::optional<double> power = literal_value(n.graph_node(exponent));
  if (power == 2.0 && n.rank(exponent) <= n.rank(base)) return whole_power(n, base, 2);
  if (!is_float(dtype) && !is_float(n.dtype(exponent))) {
    bool is_small = power && *power >= 2 && *power <= 64 && n.rank(exponent) <= n.rank(base);
    if (!is_small) n.unsupported("an integer to a power that is not a number from 2 to 64");
    return whole_power(n, base, static_cast<int64_t>(*power));
  }
  if (!is_float(dtype)) {
    NodeId wide = n.cast("base", base, n.dtype(exponent));
    NodeId value = n.add("power", Op::pow, {wide, exponent});
    n.result(Op::cast, {value}, {{"dtype", dtype}});
    return;
  }
  n.result(Op::pow, {base, n.cast("exponent", exponent, dtype)});
}

// fmod=0: the divisor's sign. fmod=1: the dividend's, as C's fmod.
void mod(NodeContext& n) {
  NodeId x = n.input(0), y = n.input(1);
  if (n.int_attr("fmod", 0) == 0) {
    n.result(Op::mod, {x, y});
    return;
  }
  if (!is_float(n.dtype(x))) {
    NodeId whole = n.add("whole", Op::mul, {n.add("quotient", Op::div, {x, y}), y});
    n.result(Op::sub, {x, whole});
    return;
  }
  NodeId rest = n.add("rest", Op::mod, {n.add("x", Op::abs, {x}), n.add("y", Op::abs, {y})});
  // 1/x < 0 also for −0.
  NodeId is_negative =
      n.add("negative", Op::lt, {n.add("inverse", Op::reciprocal, {x}), n.literal(n.dtype(x), 0)});
  n.result(Op::select, {is_negative, n.add("negated", Op::neg, {rest}), rest});
}

void where(NodeContext& n) { n.result(Op::select, {n.input(0), n.input(1), n.input(2)}); }

// x where it is not negative, else slope · x.
void prelu(NodeContext& n) {
  NodeId x = n.input(0);
  NodeId scaled = n.add("scaled", Op::mul, {x, n.input(1)});
  NodeId is_negative = n.add("negative", Op::lt, {x, n.literal(n.dtype(x), 0)});
  n.result(Op::select, {is_negative, scaled, x});
}

void thresholded_relu(NodeContext& n) {
  NodeId x = n.input(0);
  NodeId alpha = n.literal(n.dtype(x), n.float_attr("alpha", 1));
  n.result(Op::select, {n.add("above", Op::gt, {x, alpha}), x, n.literal(n.dtype(x), 0)});
}

// x + bias below -lambd, x - bias above it, 0 between.
void shrink(NodeContext& n) {
  NodeId x = n.input(0);
  DType dtype = n.dtype(x);
  double lambd = n.float_attr("lambd", 0.5), bias = n.float_attr("bias", 0);
  NodeId zero = n.literal(dtype, 0);
  NodeId high = n.add("high", Op::sub, {x, n.literal(dtype, bias)});
  NodeId low = n.add("low", Op::add, {x, n.literal(dtype, bias)});
  NodeId above = n.add("above", Op::gt, {x, n.literal(dtype, lambd)});
  NodeId below = n.add("below", Op::lt, {x, n.literal(dtype, -lambd)});
  NodeId outer = n.add("upper", Op::select, {above, high, zero});
  n.result(Op::select, {below, low, outer});
}

// A scale or zero point beside x: of one element, or one along `axis`.
NodeId quantization_parameter(NodeContext& n, NodeId x, NodeId parameter, int64_t axis,
                              std::string_view name) {
  if (n.rank(parameter) == 0) return parameter;
  if (n.rank(parameter) != 1) n.unsupported(fmt::format("{} by blocks", name));
  if (n.shape(parameter)[0].is(1)) return n.reshape(name, parameter, {});
  Shape shape(n.shape(x).size(), Sym(1));
  shape[static_cast<size_t>(n.axis(axis, n.rank(x)))] = n.shape(parameter)[0];
  return n.reshape(name, parameter, shape);
}

// saturate(round(x / scale) + zero_point), to 8 or 16 bits; to f8 only x / scale.
void quantize(NodeContext& n) {
  NodeId x = n.input(0);
  int64_t axis = n.int_attr("axis", 1);
  if (n.int_attr("block_size", 0) != 0) n.unsupported("blocks");
  DType to = n.has_input(2) ? n.dtype(n.input(2)) : DType::u8;
  if (int64_t given = n.int_attr("output_dtype", 0); given != 0 && !n.has_input(2)) {
    std::optional<DType> dtype = dtype_of(given);
    if (!dtype) n.unsupported(fmt::format("to {}", type_name_of(given)));
    to = *dtype;
  }
  NodeId real = is_float(n.dtype(x)) ? x : n.cast("real", x, DType::f32);
  const int64_t precision = n.int_attr("precision", 0);  // of the quotient
  if (precision != 0 && dtype_of(precision) != n.dtype(real)) {
    n.unsupported(fmt::format("precision {}", type_name_of(precision)));
  }
  NodeId scale = quantization_parameter(n, x, n.input(1), axis, "scale");
  NodeId divided = n.add("divided", Op::div, {real, n.cast("divisor", scale, n.dtype(real))});
  if (is_float(to)) {
    n.result(Op::cast, {divided}, cast_attrs(n, to));
    return;
  }
  n.ignore_attrs({"saturate"});
  NodeId rounded = n.cast("wide", n.add("rounded", Op::round, {divided}), DType::f32);
  if (n.has_input(2)) {
    NodeId zero = quantization_parameter(n, x, n.input(2), axis, "zero");
    rounded = n.add("shifted", Op::add, {rounded, n.cast("zero_point", zero, DType::f32)});
  }
  n.result(Op::cast, {rounded}, {{"dtype", to}});  // saturates
}

// (x - zero_point) * scale
void dequantize(NodeContext& n) {
  NodeId x = n.input(0);
  int64_t axis = n.int_attr("axis", 1);
  if (n.int_attr("block_size", 0) != 0) n.unsupported("blocks");
  NodeId scale = quantization_parameter(n, x, n.input(1), axis, "scale");
  DType dtype = n.dtype(scale);
  NodeId value = n.cast("wide", x, is_float(n.dtype(x)) ? DType::f32 : DType::i32);
  if (n.has_input(2)) {
    NodeId zero = quantization_parameter(n, x, n.input(2), axis, "zero");
    value = n.add("shifted", Op::sub, {value, n.cast("zero_point", zero, n.dtype(value))});
  }
  n.result(Op::mul, {n.cast("real", value, dtype), scale});
}

// To u8, by scale and zero point of the smallest and largest element and 0.
void dynamic_quantize(NodeContext& n) {
  NodeId x = n.input(0), zero = n.literal(DType::f32, 0), most = n.literal(DType::f32, 255);
  NodeId high = n.add("high", Op::maximum, {n.add("max", Op::max, {x}), zero});
  NodeId low = n.add("low", Op::minimum, {n.add("min", Op::min, {x}), zero});
  NodeId range = n.add("range", Op::sub, {high, low});
  NodeId flat = n.add("flat", Op::eq, {range, zero});
  NodeId scale = n.result(
      Op::div, {n.add("span", Op::select, {flat, n.literal(DType::f32, 1), range}), most}, {}, 1);
  NodeId start = n.add("start", Op::sub, {zero, n.add("steps", Op::div, {low, scale})});
  NodeId bounded =
      n.add("bounded", Op::minimum, {n.add("from_zero", Op::maximum, {start, zero}), most});
  NodeId point = n.add("point", Op::round, {bounded});
  n.result(Op::cast, {point}, {{"dtype", DType::u8}}, 2);
  NodeId rounded = n.add("rounded", Op::round, {n.add("divided", Op::div, {x, scale})});
  n.result(Op::cast, {n.add("shifted", Op::add, {rounded, point})}, {{"dtype", DType::u8}});
}

void is_inf(NodeContext& n) {
  NodeId x = n.input(0);
  bool negative = n.int_attr("detect_negative", 1) != 0;
  bool positive = n.int_attr("detect_positive", 1) != 0;
  if (negative && positive) {
    n.result(Op::isinf, {x});
  } else if (!negative && !positive) {
    n.result(Op::lt, {x, x});  // false
  } else {
    n.result(Op::eq, {x, n.literal(n.dtype(x), positive ? infinity : -infinity)});
  }
}

void bit_shift(NodeContext& n) {
  std::string direction = n.text_attr("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    n.invalid(fmt::format("direction is '{}', not LEFT or RIGHT", direction));
  }
  n.result(direction == "LEFT" ? Op::shift_left : Op::shift_right, {n.input(0), n.input(1)});
}

}  // namespace

const OpInfo* row_of(std::string_view op_type) {
  for (const OpInfo& info : all_ops()) {
    if (info.category != Category::elementwise) continue;  // structure: a handler's business
    std::string_view names = info.onnx;
    while (!names.empty()) {
      size_t end = std::min(names.find(' '), names.size());
      if (names.substr(0, end) == op_type) return &info;
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }
  return nullptr;
}

void import_row(NodeContext& n, const OpInfo& row) {
  auto count = static_cast<int>(n.input_count());
  if (count < row.min_operands || (row.max_operands >= 0 && count > row.max_operands)) {
    n.invalid(fmt::format("{} inputs instead of {}", count, row.min_operands));
  }
  Attrs attrs;
  for (const AttrInfo& info : row.attrs) {
    if (n.has_attr(info.name)) attrs.emplace(info.name, attr_value(n, info));
  }
  n.result(row.op, n.inputs(), std::move(attrs));
}

HandlerTable elementwise_handlers() {
  return {{"Sum", sum},
          {"Max", maximum},
          {"Min", minimum},
          {"Mean", mean},
          {"Cast", cast},
          {"CastLike", cast_like},
          {"Clip", clip},
          {"Gelu", gelu},
          {"Pow", pow},
          {"Mod", mod},
          {"Where", where},
          {"PRelu", prelu},
          {"ThresholdedRelu", thresholded_relu},
          {"IsInf", is_inf},
          {"BitShift", bit_shift},
          {"Shrink", shrink},
          {"QuantizeLinear", quantize},
          {"DequantizeLinear", dequantize},
          {"DynamicQuantizeLinear", dynamic_quantize}};
}

}  // namespace ingot::onnx_model
