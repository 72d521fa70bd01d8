#include "loop/loop.h"

namespace ingot::loop {

Literal accumulator_identity(Op op, DType dtype) {
  double identity = op_info(op).identity;
  if (is_float(dtype)) return {.real = identity, .integer = 0};
  if (identity - identity == 0) return {.real = 0, .integer = static_cast<int64_t>(identity)};
  IntegerLimits limits = integer_limits(dtype);
  return {.real = 0, .integer = identity < 0 ? limits.lowest : limits.highest};
}

}  // namespace ingot::loop
