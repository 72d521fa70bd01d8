#include "base/dtype.h"

#include <algorithm>
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
    {DType::i8, "i8", 1, false, true, DType::i32},
    {DType::i16, "i16", 2, false, true, DType::i32},
    {DType::i32, "i32", 4, false, true, DType::i32},
    {DType::i64, "i64", 8, false, true, DType::i64},
    {DType::u8, "u8", 1, false, true, DType::i32},
    {DType::u16, "u16", 2, false, true, DType::i32},
    {DType::u32, "u32", 4, false, true, DType::i64},
    {DType::u64, "u64", 8, false, true, DType::u64},
    {DType::f8e4m3, "f8e4m3", 1, true, false, DType::f32},
    {DType::f8e5m2, "f8e5m2", 1, true, false, DType::f32},
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
bool is_unsigned(DType dtype) { return dtype >= DType::u8 && dtype <= DType::u64; }
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

namespace {

// A format of 8 bits: sign, exponent with this bias, `mantissa` bits.
struct Float8 {
  int mantissa, bias;
  uint32_t most;  // the code of what is beyond the largest value
  uint8_t nan;
};
constexpr Float8 e4m3{3, 7, 0x7e, 0x7f}, e5m2{2, 15, 0x7c, 0x7e};

uint8_t f8_bits(const Float8& format, double value) {
  const float f = to_f32_odd(value);
  const uint32_t all = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint8_t>((all >> 24) & 0x80u);
  if (f != f) return sign | format.nan;
  const int dropped = 23 - format.mantissa;
  const float magnitude = std::bit_cast<float>(all & 0x7fffffffu);
  // The smallest normal value is 2^(1 − bias); below it values are multiples of 2^(1 − bias − m).
  const float normal = std::bit_cast<float>(static_cast<uint32_t>(128 - format.bias) << 23);
  if (magnitude < normal) {
    const float big =
        std::bit_cast<float>(static_cast<uint32_t>(128 - format.bias - format.mantissa + 23) << 23);
    const uint32_t multiples =
        std::bit_cast<uint32_t>(magnitude + big) - std::bit_cast<uint32_t>(big);
    return static_cast<uint8_t>(sign | multiples);
  }
  uint32_t m = all & 0x7fffffffu;
  m = (m + ((1u << (dropped - 1)) - 1) + ((m >> dropped) & 1u)) >> dropped;
  m -= static_cast<uint32_t>(127 - format.bias) << format.mantissa;
  return static_cast<uint8_t>(sign | std::min(m, format.most));
}

float f8_value(const Float8& format, uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
  const uint32_t m = bits & 0x7fu;
  const uint32_t scale = static_cast<uint32_t>(127 - format.bias) << 23;
  const int dropped = 23 - format.mantissa;
  uint32_t result = (m << dropped) + scale;
  if (m < (1u << format.mantissa)) {
    const float step =
        std::bit_cast<float>(static_cast<uint32_t>(128 - format.bias - format.mantissa) << 23);
    result = std::bit_cast<uint32_t>(static_cast<float>(m) * step);
  }
  return std::bit_cast<float>(result | sign);
}

}  // namespace

uint8_t f8e4m3_bits(double value) { return f8_bits(e4m3, value); }
uint8_t f8e5m2_bits(double value) { return f8_bits(e5m2, value); }

float f8e4m3_value(uint8_t bits) {
  if ((bits & 0x7f) != 0x7f) return f8_value(e4m3, bits);
  return std::bit_cast<float>(0x7fc00000u | static_cast<uint32_t>(bits & 0x80u) << 24);
}

// The upper half of an f16.
float f8e5m2_value(uint8_t bits) {
  if ((bits & 0x7f) < 0x7c) return f8_value(e5m2, bits);
  const uint32_t quiet = (bits & 0x7f) > 0x7c ? 0x400000u : 0;
  return std::bit_cast<float>(0x7f800000u | quiet | static_cast<uint32_t>(bits & 0x3u) << 21 |
                              static_cast<uint32_t>(bits & 0x80u) << 24);
}

IntegerLimits integer_limits(DType dtype) {
  const int bits = 8 * info(dtype).bytes;
  if (is_unsigned(dtype)) return {0, static_cast<int64_t>(~uint64_t{0} >> (64 - bits))};
  const int64_t highest = INT64_MAX >> (64 - bits);
  return {-highest - 1, highest};
}

int64_t wrap_integer(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::boolean:
      return value != 0;
    case DType::i8:
      return static_cast<int8_t>(value);
    case DType::i16:
      return static_cast<int16_t>(value);
    case DType::i32:
      return static_cast<int32_t>(value);
    case DType::u8:
      return static_cast<uint8_t>(value);
    case DType::u16:
      return static_cast<uint16_t>(value);
    case DType::u32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

}  // namespace ingot
