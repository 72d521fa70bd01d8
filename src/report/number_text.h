// Bytes and times as a person reads them.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

std::string bytes_text(int64_t bytes);        // "1,073,758,208 B (1.07 GB)"
std::string time_text(double us);             // "12.3 ms"
std::string short_bytes_text(int64_t bytes);  // "1.07 GB"

}  // namespace ingot
