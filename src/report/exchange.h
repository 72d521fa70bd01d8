// The report of explain in forms that other programs read.
#pragma once

#include <string>

#include "report/report.h"

namespace ingot {

// A graph for Graphviz: ops by kernel, edges with the bytes that were saved or go through memory.
std::string dot_text(const ReportJson& explained);

// Chrome's trace events (chrome://tracing, Perfetto): one track for the separate kernels, one for
// the fused ones, by predicted times, and one by measured times where the report has them.
ReportJson trace_json(const ReportJson& explained);

}  // namespace ingot
