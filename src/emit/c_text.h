// Pieces of C++ text: literals, subscripts, formulas, and how a dtype is spelled.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"

namespace ingot {

inline constexpr size_t line_width = 100;

// How a value stands in a register: sixteen lanes of f32, f64, i32, i64 or u64, or a mask as wide
// as them.
enum class Lanes : uint8_t { f32, f64, i32, i64, u64, m32, m64 };

Lanes lanes_of(DType dtype);                 // bool: m32
std::string_view vector_type(Lanes lanes);   // "F32"
std::string_view storage_type(DType dtype);  // "float", "unsigned short"
std::string_view memory_name(DType dtype);   // "bf16" of load_bf16
bool is_mask(Lanes lanes);
bool is_wide(Lanes lanes);                                            // 64 bits a lane
std::string as_lanes(const std::string& text, Lanes from, Lanes to);  // a mask as wide as `to`

// A scalar literal in the compute class: "0.5f", "5L", "__builtin_inff()"; a bool as "-1" or "0".
std::string literal_text(const loop::Literal& literal, DType dtype);
std::string real_text(double value, Lanes lanes);
std::string attr_text(double value, DType compute);  // saturated where integers are computed with
// Whether the expression is a multiple of n whatever its variables are.
bool multiple_of(const Sym& sym, int64_t n);
std::string splat_text(const std::string& scalar, Lanes lanes);
// The same literal as it lies in memory: bf16 and f16 as their bits.
std::string stored_text(const loop::Literal& literal, DType dtype);

// A subscript in C; `rename` gives the text of a variable, and of a quotient that has a name (else
// ""). Quotients stand in parentheses in products.
std::string subscript_text(const Sym& sym,
                           const std::function<std::string(const Sym::Atom&)>& rename);

// The formula with its operands a, b, c and attributes p, q, r replaced.
std::string formula_text(std::string_view formula, const std::vector<std::string>& operands,
                         const std::vector<std::string>& attrs);
// Operands of the formula that stand as a whole argument of a call: these must be vectors.
bool is_call_argument(std::string_view formula, char operand);
bool is_compound(std::string_view expression);  // needs parentheses beside an operator
std::vector<std::string> words_of(std::string_view text);

}  // namespace ingot
