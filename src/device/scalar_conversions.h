// Conversions and storage forms of the device library for one value on the host.
#pragma once

#include <cstdint>

#include "device/scalar_words.h"

namespace ingot::scalar {

// float to int saturates, NaN gives 0; int to int wraps.
inline I32 to_i32(F64 a) {
  if (a != a) return 0;
  if (a >= 2147483647.0) return 0x7fffffff;
  if (a <= -2147483648.0) return -0x7fffffff - 1;
  return static_cast<I32>(a);
}
inline I32 to_i32(F32 a) { return to_i32(static_cast<F64>(a)); }
inline I32 to_i32(I64 a) { return static_cast<I32>(a); }
inline I32 to_i32(I32 a) { return a; }
inline I64 to_i64(F64 a) {
  if (a != a) return 0;
  if (a >= 0x1p63) return 0x7fffffffffffffff;
  if (a <= -0x1p63) return -0x7fffffffffffffff - 1;
  return static_cast<I64>(a);
}
inline I64 to_i64(F32 a) { return to_i64(static_cast<F64>(a)); }
inline I64 to_i64(I32 a) { return a; }
inline U64 to_u64(F64 a) {
  if (a >= 0x1p64) return ~0ul;
  return a > 0 ? static_cast<U64>(a) : 0;
}
inline F32 to_f32(I32 a) { return static_cast<F32>(a); }
inline F32 to_f32(I64 a) { return static_cast<F32>(a); }
inline F32 to_f32(F64 a) { return static_cast<F32>(a); }
inline F64 to_f64(I32 a) { return a; }
inline F64 to_f64(I64 a) { return static_cast<F64>(a); }
inline F64 to_f64(F32 a) { return a; }

// Storage forms: nearest even, NaN stays a quiet NaN.
float bf16_to_f32(std::uint16_t h);
std::uint16_t f32_to_bf16(float a);
float f16_to_f32(std::uint16_t h);
std::uint16_t f32_to_f16(float a);
inline F32 round_bf16(F32 a) { return bf16_to_f32(f32_to_bf16(a)); }
inline F32 round_f16(F32 a) { return f16_to_f32(f32_to_f16(a)); }

}  // namespace ingot::scalar
