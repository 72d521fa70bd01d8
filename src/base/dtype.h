// Element types inside the compiler: the public DType and the type it is computed in.
#pragma once

#include <ingot/dtype.h>

namespace ingot {

// The type in which a value of `dtype` is computed inside a kernel: f32 for narrower floats, i32
// for narrower integers, i64 for u32, else itself. Rounding (or wrapping) back to `dtype` is a
// separate, explicit step.
DType compute_dtype(DType dtype);

// Storage bits of the 16-bit types. One rounding, to nearest even; NaN becomes quiet and keeps its
// sign and the upper bits of its payload.
uint16_t f16_bits(double value);
uint16_t bf16_bits(double value);
float f16_value(uint16_t bits);
float bf16_value(uint16_t bits);
// The same for the 8-bit types. What rounds beyond the largest value becomes an infinity (f8e5m2)
// or that value (f8e4m3, which has none); NaN becomes the type's quiet NaN with its sign.
uint8_t f8e4m3_bits(double value);
uint8_t f8e5m2_bits(double value);
float f8e4m3_value(uint8_t bits);
float f8e5m2_value(uint8_t bits);

// The lowest and highest value of an integer dtype; the highest u64 as its bits.
struct IntegerLimits {
  int64_t lowest, highest;
};
IntegerLimits integer_limits(DType dtype);
// The low bits of a number as a value of an integer dtype, or ≠ 0 for bool.
int64_t wrap_integer(DType dtype, int64_t value);

}  // namespace ingot
