// The op table as programs.
#pragma once

#include <string>

#include "base/dtype.h"

namespace ingot::testing {

// Every elementwise op, cast and reduction that takes the dtype, each of inputs a b c: dtype[B,
// columns] and m: bool[B, columns]. A new row of the table is in it by standing there.
std::string every_op_program(DType dtype, int64_t columns);

}  // namespace ingot::testing
