#include "report/number_text.h"

#include <cmath>

#include <fmt/format.h>

namespace ingot {

std::string short_bytes_text(int64_t bytes) {
  const double size = std::abs(static_cast<double>(bytes));
  const double sign = bytes < 0 ? -1 : 1;
  if (size >= 1e9) {
    return fmt::format("{:.2f} GB", sign * size / 1e9);
  }
  if (size >= 1e6) {
    return fmt::format("{:.2f} MB", sign * size / 1e6);
  }
  if (size >= 1e4) {
    return fmt::format("{:.1f} kB", sign * size / 1e3);
  }
  return fmt::format("{} B", bytes);
}

std::string bytes_text(int64_t bytes) {
  std::string digits = std::to_string(bytes);
  const size_t first = digits[0] == '-' ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return std::abs(static_cast<double>(bytes)) < 1e4
             ? digits + " B"
             : fmt::format("{} B ({})", digits, short_bytes_text(bytes));
}

std::string time_text(double us) {
  const double value = us >= 1e6 ? us / 1e6 : us >= 1e3 ? us / 1e3 : us;
  const char* const unit = us >= 1e6 ? "s" : us >= 1e3 ? "ms" : "us";
  return fmt::format("{:.{}f} {}", value, value >= 100 ? 0 : value >= 10 ? 1 : 2, unit);
}

}  // namespace ingot
