// Reports as pages: one HTML file each, which needs no network and no other file.
#pragma once

#include <string>

namespace ingot {

// The lab: panels on fusion and its evidence. `explain_json` is a report of Compiled::explain_json
// for the panel "your kernels"; empty: an example's. Error{input} if it is no such report.
std::string lab_html(const std::string& explain_json = {});

}  // namespace ingot
