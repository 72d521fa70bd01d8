// Texts made from the op table. docs/ops.md and include/ingot/ops.h are kept in the repository; a
// test compares them with what these functions give.
#pragma once

#include <string>

namespace ingot {

std::string ops_text();      // for a terminal
std::string ops_markdown();  // docs/ops.md
std::string ops_header();    // include/ingot/ops.h

}  // namespace ingot
