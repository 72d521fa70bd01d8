// Lines too long to show whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

inline constexpr size_t longest_shown_line = 200;  // bytes

struct ClippedLine {
  std::string text;   // of whole characters; "..." where something is left out
  size_t column = 1;  // of the same character, counted as before: in bytes from 1
};
// What stands around a column of a line.
ClippedLine clipped_line(std::string_view line, size_t column);

}  // namespace ingot
