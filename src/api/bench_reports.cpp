// What is made of the reports of bench: their text, and the comparison of two.

#include <ingot/ingot.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/bench_compare.h"
#include "report/bench_sweep.h"
#include "report/report.h"

namespace ingot {
namespace {

using Json = ReportJson;

Json report_of(const std::string& json, const char* function) {
  Json report = Json::parse(json, nullptr, false);
  const bool one = report.is_object() && report.contains("results");
  const bool sweep = report.is_object() && report.contains("sweep");
  if (!one && !sweep) {
    throw Error(ErrorKind::input, fmt::format("{}: this is no report of bench_json", function));
  }
  return report;
}

}  // namespace

std::string Compiled::bench_text(const std::string& json) {
  const Json report = report_of(json, "bench_text");
  return report.contains("sweep") ? sweep_text(report) : ingot::bench_text(report);
}

std::string Compiled::bench_sweep_json(const std::vector<std::string>& reports) {
  std::vector<Json> parsed;
  for (const std::string& json : reports) {
    parsed.push_back(report_of(json, "bench_sweep_json"));
    if (parsed.back()["program"] == parsed.front()["program"]) continue;
    throw Error(ErrorKind::input, "bench_sweep_json: reports of several programs");
  }
  if (parsed.empty()) throw Error(ErrorKind::input, "bench_sweep_json: no reports");
  return sweep_report(std::move(parsed)).dump(2);
}

std::string Compiled::bench_compared_json(const std::string& json, const std::string& base) {
  Json report = report_of(json, "bench_compared_json");
  const Json before = Json::parse(base, nullptr, false);
  if (before.is_discarded()) throw Error(ErrorKind::input, "the base is no JSON");
  report["comparison"] = bench_comparison(report, before);
  return report.dump(2);
}

}  // namespace ingot
