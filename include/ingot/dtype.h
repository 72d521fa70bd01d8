// Element types and their storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot {

// bool is stored as one byte, 0 or 1. f16 and bf16 are stored as 16 bits, f8e4m3 (largest 448, no
// infinity) and f8e5m2 as 8.
enum class DType : uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f8e4m3,
  f8e5m2,
  f16,
  bf16,
  f32,
  f64
};

inline constexpr DType all_dtypes[] = {DType::boolean, DType::i8,     DType::i16,    DType::i32,
                                       DType::i64,     DType::u8,     DType::u16,    DType::u32,
                                       DType::u64,     DType::f8e4m3, DType::f8e5m2, DType::f16,
                                       DType::bf16,    DType::f32,    DType::f64};

std::string_view dtype_name(DType dtype);  // "bool", "i32", …
std::optional<DType> parse_dtype(std::string_view name);
int64_t byte_size(DType dtype);  // of one element
bool is_float(DType dtype);      // f8e4m3 f8e5m2 f16 bf16 f32 f64
bool is_integer(DType dtype);    // i8 … i64, u8 … u64
bool is_unsigned(DType dtype);   // u8 … u64

}  // namespace ingot
