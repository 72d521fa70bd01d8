// The pages' text: every file of src/html/assets, kept inside the binary by the build.
#pragma once

#include <string_view>

namespace ingot::html {

// The text of one file by its name, such as "page.css"; empty where there is no such file. The text
// lives as long as the program.
std::string_view embedded(std::string_view file_name);

}  // namespace ingot::html
