#include "base/clip.h"

#include <algorithm>

namespace ingot {
namespace {

constexpr std::string_view ellipsis = "...";  // three columns, as a caret below counts

// Whether a character of UTF-8 goes on here.
bool continues(std::string_view line, size_t at) {
  return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80;
}

}  // namespace

ClippedLine clipped_line(std::string_view line, size_t column) {
  if (line.size() <= longest_shown_line) return {std::string(line), column};
  const size_t place = std::min(std::max<size_t>(column, 1) - 1, line.size());
  size_t begin = place > longest_shown_line / 2 ? place - longest_shown_line / 2 : 0;
  begin = std::min(begin, line.size() - longest_shown_line);
  while (begin > 0 && continues(line, begin)) --begin;
  size_t end = std::min(begin + longest_shown_line, line.size());
  while (end > begin && continues(line, end)) --end;
  ClippedLine clipped{begin > 0 ? std::string(ellipsis) : "", column};
  clipped.column = place + 1 - begin + clipped.text.size();
  clipped.text += line.substr(begin, end - begin);
  if (end < line.size()) clipped.text += ellipsis;
  return clipped;
}

}  // namespace ingot
