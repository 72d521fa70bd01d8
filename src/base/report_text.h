// Texts of run-time errors, which kernels carry: "gather ids: index {} out of range [0, 257)".
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

// A report with the number it names in place of {}.
inline std::string report_text(const std::string& report, int64_t number) {
  const size_t place = report.find("{}");
  if (place == std::string::npos) return report;
  return report.substr(0, place) + std::to_string(number) + report.substr(place + 2);
}

}  // namespace ingot
