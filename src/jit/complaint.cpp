#include "jit/complaint.h"

#include <algorithm>

#include "base/clip.h"
#include "base/error.h"

namespace ingot {
namespace {

std::string numbered_lines(const std::string& source, long around) {
  std::string text;
  long number = 1;
  for (size_t begin = 0; begin < source.size(); ++number) {
    const size_t end = std::min(source.find('\n', begin), source.size());
    if (number >= around - 3 && number <= around + 3) {
      text +=
          fmt::format("\n{} {:5} | {}", number == around ? '>' : ' ', number,
                      clipped_line(std::string_view(source).substr(begin, end - begin), 1).text);
    }
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::string complaint_text(const std::vector<Complaint>& complaints, const std::string& source,
                           const std::string& output) {
  constexpr size_t shown = 3;
  std::string text;
  for (size_t i = 0; i < complaints.size() && i < shown; ++i) {
    text +=
        fmt::format("\nline {}: {}", complaints[i].line, clipped_line(complaints[i].text, 1).text);
    if (complaints[i].line > 0) text += numbered_lines(source, complaints[i].line);
  }
  if (complaints.size() > shown) {
    text += fmt::format("\nand {} more errors", complaints.size() - shown);
  }
  if (complaints.empty() && !output.empty()) text += "\n" + output.substr(0, 2000);
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace ingot
