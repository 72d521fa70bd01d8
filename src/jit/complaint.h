// What a compiler says about a source, shown with the source lines around it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot {

struct Complaint {
  long line;         // 0: about no line of the source
  std::string text;  // from "error:" on
};

// The first complaints, each with its lines; without any, the beginning of the compiler's output.
std::string complaint_text(const std::vector<Complaint>& complaints, const std::string& source,
                           const std::string& output);

// The parts between separators; empty ones are left out.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace ingot
