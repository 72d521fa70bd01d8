// Constants in the graph's text form: `f32, 0.5`, `f32, [1, 2]`, `f32[2, 1], [1, 2]`,
// `f32[257, 64], base64="…"` (row-major, little endian), `file="w.npy"`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "base/text.h"
#include "op/op.h"

namespace ingot {

// The text between the parentheses of constant(…); reads back to the same bits.
std::string constant_text(const Tensor& value);
// After "constant(" up to the closing parenthesis. `folder`: where file= is looked up.
Tensor parse_constant(Cursor& cursor, const std::string& folder);

// True at the end of a list, which it takes; else takes the comma before all but the first element.
bool accept_end(Cursor& cursor, std::string_view end, bool is_first);

// A dtype's name; Error with the known ones.
DType parse_dtype_word(Cursor& cursor);

// The text of a one-element tensor as an operand, "0.5", "true"; empty if it would not read back to
// the same bits (a NaN with a payload).
std::string literal_text(const Tensor& value);
// Sets element `index` from "0.5", "inf", "7", "true"; Error with a caret if dtype cannot hold it.
void parse_element(Cursor& cursor, Tensor& value, int64_t index);

// The dtype that a number takes as operand `position`: that of the first other operand that has one
// (`dtypes`: nullopt for numbers), bool as a mask, i64 as an index. nullopt: a number has none
// there.
std::optional<DType> number_operand_dtype(Op op, const std::vector<std::optional<DType>>& dtypes,
                                          size_t position);

}  // namespace ingot
