// Storage types of products and the types they are computed in; widening is exact.
#pragma once

#include <bit>
#include <cstdint>

namespace ingot {

struct Bf16Bits {
  uint16_t bits;
};
struct F16Bits {
  uint16_t bits;
};

inline float widen(float value) { return value; }
inline double widen(double value) { return value; }
inline int32_t widen(int32_t value) { return value; }
inline int64_t widen(int64_t value) { return value; }
inline int32_t widen(uint8_t value) { return value; }
inline int32_t widen(int8_t value) { return value; }
inline int32_t widen(int16_t value) { return value; }
inline int32_t widen(uint16_t value) { return value; }
inline int64_t widen(uint32_t value) { return value; }
inline float widen(Bf16Bits value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
inline float widen(F16Bits value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000) << 16;
  const uint32_t magnitude = value.bits & 0x7fff;
  // As the fraction and exponent of a float the value is 2^-112 of itself, also where it is
  // subnormal.
  const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const uint32_t special = 0x7f800000U | (magnitude & 0x3ff) << 13;
  return std::bit_cast<float>(sign |
                              (magnitude >= 0x7c00 ? special : std::bit_cast<uint32_t>(finite)));
}

// The compute type of a storage type.
template <class S>
using Widened = decltype(widen(S{}));

}  // namespace ingot
