// What a report says about where it was made.
#pragma once

#include <ingot/ingot.h>

#include "report/report.h"

namespace ingot {

ReportJson environment_of(const Options& options);

}  // namespace ingot
