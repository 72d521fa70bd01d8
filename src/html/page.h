// Pages that need nothing but themselves: one HTML file with styles, scripts and a JSON object that
// the scripts draw. No network, no files beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot::html {

enum class Page : uint8_t { lab, report };

// `json`: one JSON object; what the page draws. `title`: plain text.
std::string page(Page kind, std::string_view title, std::string_view json);

}  // namespace ingot::html
