// SHA-256 (FIPS 180-4), for cache keys and checksums.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

// 64 hexadecimal digits.
std::string sha256_hex(std::string_view data);

}  // namespace ingot
