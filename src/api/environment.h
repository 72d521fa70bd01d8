// What a report says about where it was made.
#pragma once

#include <ingot/ingot.h>

#include "report/report.h"

namespace ingot {

ReportJson environment_of(const Options& options);
std::string date_text();  // UTC, "2026-11-30T23:59:05Z"

}  // namespace ingot
