// Element types and their storage.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot {

// bool is stored as one byte, 0 or 1. f16 and bf16 are stored as 16 bits.
enum class DType : uint8_t { boolean, i32, i64, u8, f16, bf16, f32, f64 };

inline constexpr DType all_dtypes[] = {DType::boolean, DType::i32,  DType::i64, DType::u8,
                                       DType::f16,     DType::bf16, DType::f32, DType::f64};

std::string_view dtype_name(DType dtype);  // "bool", "i32", …
std::optional<DType> parse_dtype(std::string_view name);
int64_t byte_size(DType dtype);  // of one element
bool is_float(DType dtype);      // f16 bf16 f32 f64
bool is_integer(DType dtype);    // i32 i64 u8

}  // namespace ingot
