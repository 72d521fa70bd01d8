// The device library's text: every src/device/*.inc, kept inside the binary by the build.
#pragma once

#include <string_view>

namespace ingot::device {

// The text of one file by its name under src/device, such as "cuda_reduce.inc"; empty where there
// is no such file. The text lives as long as the program.
std::string_view embedded(std::string_view file_name);

}  // namespace ingot::device
