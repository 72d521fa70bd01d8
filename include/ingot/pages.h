// Reports as pages: one HTML file each, which needs no network and no other file; and the report of
// explain in forms that other programs read. Each takes a report as the function named with it gave
// it: Error{input} if it is no such report.
#pragma once

#include <ingot/compiled.h>

#include <string>
#include <vector>

namespace ingot {

// The lab: panels on fusion and its evidence. `explain_json` is a report of Compiled::explain_json
// for the panel "your kernels"; empty: an example's.
std::string lab_html(const std::string& explain_json = {});

// Compiled::explain_json; `sources` of Compiled::sources stand beside their kernels.
std::string explain_html(const std::string& explain_json,
                         const std::vector<Compiled::Source>& sources = {});
std::string bench_html(const std::string& bench_json);  // Compiled::bench_json, bench_sweep_json
std::string tune_html(const std::string& tune_json);    // Compiled::tune_json, register_caps_json

// Compiled::explain_json as a graph for Graphviz: a cluster for each kernel, bytes on the edges.
std::string explain_dot(const std::string& explain_json);
// Compiled::explain_json as Chrome's trace events: the kernels one after the other, by measured
// times where the report has them, else by predicted ones.
std::string explain_trace(const std::string& explain_json);

}  // namespace ingot
