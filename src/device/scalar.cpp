// The parts of the host vocabulary that are too long to inline.
#include "device/scalar.h"

namespace ingot::scalar {

F32 mantissa(F32 a) {
  if (a != a || a < 0.0f) return __builtin_nanf("");
  if (a == 0.0f) return copysign(1.0f, a);
  if (a == __builtin_inff()) return 1.0f;
  I32 b = bits(a < 0x1p-126f ? a * 0x1p24f : a) & 0x7fffff;
  return from_bits(b | ((b & 0x400000) != 0 ? 0x3f000000 : 0x3f800000));
}

F64 mantissa(F64 a) {
  if (a != a || a < 0.0) return __builtin_nan("");
  if (a == 0.0) return copysign(1.0, a);
  if (a == __builtin_inf()) return 1.0;
  I64 b = bits(a < 0x1p-1022 ? a * 0x1p54 : a) & 0xfffffffffffff;
  return from_bits(b | ((b & 0x8000000000000) != 0 ? 0x3fe0000000000000 : 0x3ff0000000000000));
}

F32 exponent(F32 a) {
  if (a != a || a < 0.0f) return __builtin_nanf("");
  if (a == __builtin_inff()) return a;
  if (a == 0.0f) return -__builtin_inff();
  bool tiny = a < 0x1p-126f;
  I32 b = (bits(tiny ? a * 0x1p24f : a) + 0x400000) >> 23;
  return static_cast<F32>(b - (tiny ? 151 : 127));
}

F64 exponent(F64 a) {
  if (a != a || a < 0.0) return __builtin_nan("");
  if (a == __builtin_inf()) return a;
  if (a == 0.0) return -__builtin_inf();
  bool tiny = a < 0x1p-1022;
  I64 b = (bits(tiny ? a * 0x1p54 : a) + 0x8000000000000) >> 52;
  return static_cast<F64>(b - (tiny ? 1077 : 1023));
}

float bf16_to_f32(std::uint16_t h) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
}

std::uint16_t f32_to_bf16(float a) {
  std::uint32_t u = std::bit_cast<std::uint32_t>(a);
  if (a != a) return static_cast<std::uint16_t>((u >> 16) | 0x40);
  return static_cast<std::uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

float f16_to_f32(std::uint16_t h) {
  std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000) << 16, m = h & 0x7fff;
  if (m < 0x400) {
    float tiny = static_cast<float>(m) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(tiny) | sign);
  }
  std::uint32_t r = (m << 13) + 0x38000000;
  if (m >= 0x7c00) r = (m << 13) | 0x7f800000 | (m > 0x7c00 ? 0x400000 : 0);
  return std::bit_cast<float>(r | sign);
}

std::uint16_t f32_to_f16(float a) {
  std::uint32_t u = std::bit_cast<std::uint32_t>(a), m = u & 0x7fffffff, r;
  if (m > 0x7f800000) {
    r = 0x7e00 | ((m >> 13) & 0x3ff);
  } else if (m >= 0x477ff000) {  // 65520 and above round to infinity
    r = 0x7c00;
  } else if (m < 0x38800000) {  // below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24
    r = std::bit_cast<std::uint32_t>(std::bit_cast<float>(m) + 0.5f) - 0x3f000000;
  } else {
    r = (m - 0x38000000 + 0xfff + ((m >> 13) & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(r | ((u >> 16) & 0x8000));
}

}  // namespace ingot::scalar
