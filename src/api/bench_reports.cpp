// What is made of the reports of bench: their text, and the comparison of two.

#include <ingot/ingot.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/bench_compare.h"
#include "report/report.h"

namespace ingot {
namespace {

using Json = ReportJson;

Json report_of(const std::string& json, const char* function) {
  Json report = Json::parse(json, nullptr, false);
  if (!report.is_object() || !report.contains("results")) {
    throw Error(ErrorKind::input, fmt::format("{}: this is no report of bench_json", function));
  }
  return report;
}

}  // namespace

std::string Compiled::bench_text(const std::string& json) {
  return ingot::bench_text(report_of(json, "bench_text"));
}

std::string Compiled::bench_compared_json(const std::string& json, const std::string& base) {
  Json report = report_of(json, "bench_compared_json");
  const Json before = Json::parse(base, nullptr, false);
  if (before.is_discarded()) throw Error(ErrorKind::input, "the base is no JSON");
  report["comparison"] = bench_comparison(report, before);
  return report.dump(2);
}

}  // namespace ingot
