#include "base/dtype.h"

#include <bit>

namespace ingot {

namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int bytes;
  bool floating, integer;
  DType compute;
};

constexpr DTypeInfo dtypes[] = {
    {DType::boolean, "bool", 1, false, false, DType::boolean},
    {DType::i32, "i32", 4, false, true, DType::i32},
    {DType::i64, "i64", 8, false, true, DType::i64},
    {DType::u8, "u8", 1, false, true, DType::i32},
    {DType::f16, "f16", 2, true, false, DType::f32},
    {DType::bf16, "bf16", 2, true, false, DType::f32},
    {DType::f32, "f32", 4, true, false, DType::f32},
    {DType::f64, "f64", 8, true, false, DType::f64},
};

const DTypeInfo& info(DType dtype) { return dtypes[static_cast<size_t>(dtype)]; }

// f64 → f32 rounded to odd: a second rounding to 16 bits then gives what one rounding would.
float to_f32_odd(double value) {
  float nearest = static_cast<float>(value);
  if (value != value || static_cast<double>(nearest) == value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const bool away = (static_cast<double>(nearest) > value) == (value > 0);
  if (away) bits -= 1;  // truncated towards zero; ±inf becomes the largest finite value
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& each : dtypes) {
    if (each.name == name) return each.dtype;
  }
  return std::nullopt;
}

int64_t byte_size(DType dtype) { return info(dtype).bytes; }
bool is_float(DType dtype) { return info(dtype).floating; }
bool is_integer(DType dtype) { return info(dtype).integer; }
DType compute_dtype(DType dtype) { return info(dtype).compute; }

uint16_t f16_bits(double value) {
  const uint32_t all = std::bit_cast<uint32_t>(to_f32_odd(value));
  const uint32_t sign = (all >> 16) & 0x8000u;
  const uint32_t m = all & 0x7fffffffu;
  uint32_t result;
  if (m > 0x7f800000u) {
    result = ((m >> 13) & 0x3ffu) | 0x7e00u;
  } else if (m >= 0x47800000u) {  // 65536 and above, infinity
    result = 0x7c00u;
  } else if (m < 0x38800000u) {  // subnormal: adding 0.5 rounds to multiples of 2^-24
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(m) + 0.5f) - 0x3f000000u;
  } else {
    result = (m - 0x38000000u + 0xfffu + ((m >> 13) & 1u)) >> 13;
  }
  return static_cast<uint16_t>(result | sign);
}

uint16_t bf16_bits(double value) {
  const uint32_t all = std::bit_cast<uint32_t>(to_f32_odd(value));
  if ((all & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((all >> 16) | 0x40u);
  return static_cast<uint16_t>((all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
}

float f16_value(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t m = bits & 0x7fffu;
  uint32_t result;
  if (m >= 0x7c00u) {
    result = (m << 13) | 0x7f800000u;
  } else if (m < 0x400u) {
    result = std::bit_cast<uint32_t>(static_cast<float>(m) * 0x1p-24f);
  } else {
    result = (m << 13) + 0x38000000u;
  }
  return std::bit_cast<float>(result | sign);
}

float bf16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace ingot
