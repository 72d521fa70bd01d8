#include "loop/loop.h"

#include <limits>

namespace ingot::loop {

Literal accumulator_identity(Op op, DType dtype) {
  double identity = op_info(op).identity;
  if (is_float(dtype)) return {.real = identity, .integer = 0};
  if (identity - identity == 0) return {.real = 0, .integer = static_cast<int64_t>(identity)};
  using wide = std::numeric_limits<int64_t>;
  using narrow = std::numeric_limits<int32_t>;
  if (dtype == DType::i64) return {.real = 0, .integer = identity < 0 ? wide::min() : wide::max()};
  return {.real = 0, .integer = identity < 0 ? narrow::min() : narrow::max()};
}

}  // namespace ingot::loop
