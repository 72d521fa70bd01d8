// Pages made of reports.

#include <ingot/ingot.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "html/page.h"
#include "report/exchange.h"
#include "report/program_json.h"

namespace ingot {
namespace {

using Json = ReportJson;

// What the lab explains where no program is given.
constexpr const char* example_text = R"(graph bias_gelu(x: bf16[B, 8192], b: bf16[8192]) {
  t = add(x, b)
  y = gelu(t)
  return y
})";

std::string example_report() {
  Options options;
  options.device = "h200";
  options.sizes = {{"B", 16384}};
  options.plan_only = true;
  return Program::parse(example_text).compile(options).explain_json();
}

// `keys`: what only reports of the kind have.
Json report_of(const std::string& json, const std::vector<const char*>& keys,
               const char* function) {
  Json report = Json::parse(json, nullptr, false);
  const auto lacks = [&](const char* key) { return !report.contains(key); };
  if (!report.is_object() || std::ranges::any_of(keys, lacks)) {
    throw Error(ErrorKind::input, fmt::format("{}: this is no report of its kind", function));
  }
  return report;
}

Json explained(const std::string& json, const char* function) {
  return report_of(json, {"groups", "decisions", "nodes", "separate_groups"}, function);
}

// `kind`: the name of a function in src/html/assets/report_*.js.
std::string report_page(const char* kind, const Json& report, const Json& sources) {
  const Json data = {{"kind", kind}, {"report", report}, {"sources", sources}};
  return html::page(html::Page::report, "ingot: " + report.at("graph").get<std::string>(),
                    data.dump());
}

}  // namespace

std::string lab_html(const std::string& explain_json) {
  const bool example = explain_json.empty();
  const Json report = explained(example ? example_report() : explain_json, "lab_html");
  Json devices = Json::array();
  for (const DeviceModel& model : device_models()) devices.push_back(device_model_json(model));
  const Json data = {{"version", version_text()},
                     {"devices", devices},
                     {"occupancy_rules",
                      {{"warp_threads", warp_threads},
                       {"register_partitions", register_partitions},
                       {"block_reserve_bytes", block_reserve_bytes}}},
                     {"explained", report},
                     {"example", example}};
  return html::page(html::Page::lab, "ingot lab", data.dump());
}

std::string explain_html(const std::string& explain_json,
                         const std::vector<Compiled::Source>& sources) {
  Json texts = Json::array();
  for (const Compiled::Source& source : sources) {
    texts.push_back({{"name", source.name}, {"group", source.group}, {"kernel", source.kernel}});
  }
  return report_page("explain", explained(explain_json, "explain_html"), texts);
}

std::string bench_html(const std::string& bench_json) {
  const Json report = report_of(bench_json, {"verdict"}, "bench_html");
  if (report.contains("sweep")) return report_page("sweep", report, Json::array());
  return report_page("bench", report_of(bench_json, {"results"}, "bench_html"), Json::array());
}

std::string tune_html(const std::string& tune_json) {
  const Json report = report_of(tune_json, {"groups"}, "tune_html");
  for (const Json& group : report.at("groups")) {
    if (!group.contains("candidates") && !group.contains("forms")) {
      throw Error(ErrorKind::input, "tune_html: this is no report of its kind");
    }
  }
  return report_page("tune", report, Json::array());
}

std::string explain_dot(const std::string& explain_json) {
  return dot_text(explained(explain_json, "explain_dot"));
}

std::string explain_trace(const std::string& explain_json) {
  return trace_json(explained(explain_json, "explain_trace")).dump(2) + "\n";
}

}  // namespace ingot
