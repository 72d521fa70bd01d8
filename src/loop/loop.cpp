#include "loop/loop.h"

#include "loop/let_text.h"

namespace ingot::loop {

Literal accumulator_identity(Op op, DType dtype) {
  double identity = op_info(op).identity;
  if (is_float(dtype)) return {.real = identity, .integer = 0};
  if (identity - identity == 0) return {.real = 0, .integer = static_cast<int64_t>(identity)};
  IntegerLimits limits = integer_limits(dtype);
  return {.real = 0, .integer = identity < 0 ? limits.lowest : limits.highest};
}

std::vector<std::string_view> real_attr_names(Op op) {
  std::vector<std::string_view> names;
  for (const AttrInfo& attr : op_info(op).attrs) {
    if (attr.type == AttrType::real) names.push_back(attr.name);
  }
  return names;
}

DType implied_literal_dtype(const Let& let, size_t position) {
  if (let.op == Op::select && position == 0) return DType::boolean;
  for (size_t i = let.op == Op::select ? 1 : 0; i < let.operands.size(); i++) {
    if (std::holds_alternative<std::string>(let.operands[i])) return let.operand_dtypes[i];
  }
  return let.dtype;
}

}  // namespace ingot::loop
