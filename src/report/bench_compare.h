// `bench --compare`: a report of bench held against an earlier one.
#pragma once

#include "report/report.h"

namespace ingot {

// Of the ops, types and attributes, whatever the names and the values of weights: two programs with
// one digest do the same work.
std::string program_digest(const Graph& source);

// The object "comparison" of `bench --json`, of two reports of bench or of its sweeps (or an array
// of reports). A time is slower or faster where its median differs by more than the noise: what
// half of the samples lie between, or the half width of the median's 95 % interval where that is
// wider, of both runs together, and at least 3 %. Error{input} where they do not measure the same:
// lists what differs.
ReportJson bench_comparison(const ReportJson& report, const ReportJson& base);
std::string comparison_text(const ReportJson& comparison);

}  // namespace ingot
