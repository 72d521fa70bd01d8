// Result types: what every op asks of its operands, and the errors when it does not get it.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "op/apply.h"
#include "op/infer.h"
#include "op/infer_structured.h"

namespace ingot {

std::string type_text(const TensorType& type) {
  return std::string(dtype_name(type.dtype)) + shape_text(type.shape);
}

namespace infer {

void Context::fail(std::string_view reason) const {
  std::vector<std::string> parts;
  for (const TensorType& type : operands) parts.push_back(type_text(type));
  const bool product = info.category == Category::contraction;
  const std::string types = join(parts, product ? " × " : ", ");
  fail_input({}, fmt::format("{}: {}{}{}", info.name, types, types.empty() ? "" : ": ", reason));
}

Sym Context::equal_sizes(const Sym& a, const Sym& b, std::string_view what) const {
  if (a == b) return a;
  const bool differ = (a - b).constant().has_value();
  if (differ || !equalities) {
    fail(fmt::format("{} {} and {} differ", what, a.text(), b.text()));
  }
  equalities->push_back({a, b});
  return b.constant() ? b : a;
}

Shape Context::broadcast(const Shape& a, const Shape& b) const {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); i++) {
    Sym& size = result[offset + i];
    if (size.is(1)) {
      size = shorter[i];
    } else if (!shorter[i].is(1)) {
      // Told in the order of the operands.
      const bool swapped = &longer == &b;
      size = equal_sizes(swapped ? shorter[i] : size, swapped ? size : shorter[i], "sizes");
    }
  }
  return result;
}

size_t Context::dim(std::string_view name, int64_t rank) const {
  const int64_t given = integer_attr(info, attrs, name);
  if (given < -rank || given >= rank) {
    fail(fmt::format("{}={} names no dimension of {}", name, given, rank));
  }
  return static_cast<size_t>(given < 0 ? given + rank : given);
}

}  // namespace infer

using infer::Context;

namespace {

std::string accepted_text(DTypeSet set) {
  std::string text;
  for (const DType dtype : all_dtypes) {
    if (accepts(set, dtype)) text += fmt::format(" {}", dtype_name(dtype));
  }
  return text;
}

void check_count(const Context& c) {
  const int count = static_cast<int>(c.operands.size());
  const int most = c.info.max_operands;
  if (count >= c.info.min_operands && (most < 0 || count <= most)) return;
  const std::string wanted = most == c.info.min_operands ? fmt::format("{}", most)
                             : most < 0 ? fmt::format("at least {}", c.info.min_operands)
                                        : fmt::format("{} or {}", c.info.min_operands, most);
  c.fail(fmt::format("takes {} operand{}, got {}", wanted, wanted == "1" ? "" : "s", count));
}

void check_attrs(const Context& c) {
  for (const auto& attribute : c.attrs) {
    const std::string& name = attribute.first;
    const bool known = std::any_of(c.info.attrs.begin(), c.info.attrs.end(),
                                   [&](const AttrInfo& attr) { return attr.name == name; });
    if (known) continue;
    std::vector<std::string> names;
    for (const AttrInfo& attr : c.info.attrs) names.emplace_back(attr.name);
    c.fail(fmt::format("has no attribute '{}'{}", name,
                       names.empty() ? "" : "; it has " + join(names, ", ")));
  }
  for (const AttrInfo& attr : c.info.attrs) {
    switch (attr.type) {  // the access checks presence and type
      case AttrType::boolean:
        flag_attr(c.info, c.attrs, attr.name);
        break;
      case AttrType::integer:
        integer_attr(c.info, c.attrs, attr.name);
        break;
      case AttrType::real:
        real_attr(c.info, c.attrs, attr.name);
        break;
      case AttrType::text:
        text_attr(c.info, c.attrs, attr.name);
        break;
      case AttrType::dtype:
        dtype_attr(c.info, c.attrs, attr.name);
        break;
      case AttrType::sizes:
        sizes_attr(c.info, c.attrs, attr.name);
        break;
    }
  }
}

// select's mask, or attention's, which may also be added to the scores.
bool takes_mask(const OpInfo& info, size_t operand) {
  return info.op == Op::attention ? operand == 3 : info.rule == DTypeRule::second && operand == 0;
}

void check_dtypes(const Context& c) {
  std::optional<DType> common;
  for (size_t i = 0; i < c.operands.size(); i++) {
    const DType dtype = c.operands[i].dtype;
    const bool mask = takes_mask(c.info, i);
    if (has_own_dtype(c.info, i, dtype)) {
      if (!accepts(mask ? DTypeSet::boolean : DTypeSet::integer, dtype)) {
        c.fail(mask ? "the mask must be bool; compare first, as in ne(mask, 0)"
                    : "the ids must be integers; cast first: cast(ids, dtype=i64)");
      }
      continue;
    }
    if (mask && dtype != c.operands[0].dtype) {
      c.fail(fmt::format("the mask must be bool, true where seen, or {}, added to the scores",
                         dtype_name(c.operands[0].dtype)));
    }
    if (!accepts(c.info.operands, dtype)) {
      c.fail(fmt::format("does not take {}, only{}; cast first, as in cast(x, dtype={})",
                         dtype_name(dtype), accepted_text(c.info.operands),
                         accepts(c.info.operands, DType::f32)   ? "f32"
                         : accepts(c.info.operands, DType::i32) ? "i32"
                                                                : "bool"));
    }
    if (common && *common != dtype) {
      c.fail(fmt::format("dtypes {0} and {1} differ; cast one of them, as in cast(x, dtype={0})",
                         dtype_name(*common), dtype_name(dtype)));
    }
    common = dtype;
  }
}

// Numbers that an op on integers would have to round or wrap. Bounds (clip's) may lie beyond the
// dtype's range; elements (pad's) may not.
void check_whole_attrs(const Context& c) {
  if (c.operands.empty() || is_float(c.operands[0].dtype)) return;
  const DType dtype = c.operands[0].dtype;
  for (const AttrInfo& attr : c.info.attrs) {
    if (attr.type != AttrType::real) continue;
    const double value = real_attr(c.info, c.attrs, attr.name);
    const bool element = c.info.category == Category::movement;
    const auto held = static_cast<double>(convert(dtype, DType::f64, {value, 0}).integer);
    if (element ? value == held : value == std::trunc(value)) continue;
    c.fail(fmt::format("{}={} is no {}", attr.name, value,
                       element ? fmt::format("{} value", dtype_name(dtype)) : "whole number"));
  }
}

DType result_dtype(const Context& c) {
  switch (c.info.rule) {
    case DTypeRule::same:
      return c.operands.empty() ? DType::f32 : c.operands[0].dtype;
    case DTypeRule::boolean:
      return DType::boolean;
    case DTypeRule::second:
      return c.operands[1].dtype;
    case DTypeRule::index:
      return DType::i64;
    case DTypeRule::attribute:
      break;
  }
  const DType dtype = dtype_attr(c.info, c.attrs, "dtype");
  if (c.info.op == Op::cast && !(is_float(dtype) && byte_size(dtype) == 1) &&
      !flag_attr(c.info, c.attrs, "saturate")) {
    c.fail(fmt::format("saturate=false is for f8e4m3 and f8e5m2 only, not {}", dtype_name(dtype)));
  }
  if (c.info.max_operands == 0 && !accepts(c.info.operands, dtype)) {
    c.fail(fmt::format("makes no {}, only{}", dtype_name(dtype), accepted_text(c.info.operands)));
  }
  return dtype;
}

Shape elementwise_shape(const Context& c) {
  Shape shape = c.operands[0].shape;
  for (const TensorType& operand : c.operands.subspan(1)) {
    shape = c.broadcast(shape, operand.shape);
  }
  return shape;
}

void check_shape(const Context& c, const Shape& shape) {
  __int128 elements = 1;
  for (const Sym& size : shape) {
    const int64_t constant = size.constant().value_or(1);
    if (constant < 0) {
      c.fail(fmt::format("the result's shape {} has a negative size", shape_text(shape)));
    }
    // Sizes beside a zero have to multiply within 64 bits too: strides are made from them.
    elements *= std::max<int64_t>(constant, 1);
    if (elements > INT64_MAX / 8) {
      c.fail(fmt::format("the result's shape {} has too many elements", shape_text(shape)));
    }
  }
}

}  // namespace

TensorType infer_type(Op op, std::span<const TensorType> operands, const Attrs& attrs,
                      std::vector<SizeEquality>* equalities) {
  const Context c{op_info(op), operands, attrs, equalities};
  try {
    check_count(c);
    check_attrs(c);
    check_dtypes(c);
    check_whole_attrs(c);
    Shape shape = c.info.category == Category::elementwise ? elementwise_shape(c)
                                                           : infer::structured_shape(c);
    check_shape(c, shape);
    return {result_dtype(c), std::move(shape)};
  } catch (const Error& error) {
    // Faults found below (an attribute, an overflow of sizes) know the op, not the operands.
    const std::string head = fmt::format("{}: ", c.info.name);
    if (error.kind() != ErrorKind::input || operands.empty()) throw;
    if (error.message().starts_with(head + type_text(operands[0]))) throw;
    const std::string& message = error.message();
    c.fail(message.starts_with(head) ? message.substr(head.size()) : message);
  }
}

bool has_own_dtype(const OpInfo& info, size_t operand, DType dtype) {
  const bool added = info.op == Op::attention && dtype != DType::boolean;
  if (takes_mask(info, operand)) return !added;
  return (info.flags & OpFlag::ids) != 0 && operand == 1;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, std::vector<SizeEquality>* equalities) {
  const TensorType types[] = {{DType::f32, a}, {DType::f32, b}};
  const Attrs attrs;
  const Context c{op_info(Op::broadcast), types, attrs, equalities};
  return c.broadcast(a, b);
}

}  // namespace ingot
