// The CPU that kernels are compiled for: this one.
#pragma once

#include <string>

namespace ingot {

// Everything that -march=native may look at, as hexadecimal words: part of the cache key.
const std::string& cpu_feature_words();
// Cores this process may run on.
int available_cores();

}  // namespace ingot
