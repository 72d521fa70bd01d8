// `bench --sweep`: reports of one program at several sizes, as one.
#pragma once

#include "report/report.h"

namespace ingot {

// {"graph", "device", "numerics", "environment", "swept": names of the sizes that change, "sweep":
// the reports, "verdict"}. Reports of one program; at least one.
ReportJson sweep_report(std::vector<ReportJson> reports);
std::string sweep_text(const ReportJson& sweep);

}  // namespace ingot
