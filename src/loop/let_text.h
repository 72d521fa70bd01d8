// What the text of a Let leaves unsaid, for its printer and its parser.
#pragma once

#include <string_view>
#include <vector>

#include "loop/statements.h"

namespace ingot::loop {

std::vector<std::string_view> real_attr_names(Op op);
// The dtype a literal operand has when none is written beside it: bool where select takes its mask,
// else that of the first other operand with a name, else the result's.
DType implied_literal_dtype(const Let& let, size_t position);

}  // namespace ingot::loop
