// Element types inside the compiler: the public DType and the type it is computed in.
#pragma once

#include <ingot/dtype.h>

namespace ingot {

// The type in which a value of `dtype` is computed inside a kernel: f32 for f16 and bf16, i32 for
// u8, else itself. Rounding (or wrapping) back to `dtype` is a separate, explicit step.
DType compute_dtype(DType dtype);

// Storage bits of the 16-bit types. One rounding, to nearest even; NaN becomes quiet and keeps its
// sign and the upper bits of its payload.
uint16_t f16_bits(double value);
uint16_t bf16_bits(double value);
float f16_value(uint16_t bits);
float bf16_value(uint16_t bits);

}  // namespace ingot
