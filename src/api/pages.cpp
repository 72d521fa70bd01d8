// Pages made of reports.

#include <ingot/ingot.h>

#include <nlohmann/json.hpp>

#include "html/page.h"
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

Json report_of(const std::string& json, const char* key, const char* function) {
  Json report = Json::parse(json, nullptr, false);
  if (!report.is_object() || !report.contains(key)) {
    throw Error(ErrorKind::input, fmt::format("{}: this is no report of its kind", function));
  }
  return report;
}

}  // namespace

std::string lab_html(const std::string& explain_json) {
  const bool example = explain_json.empty();
  const Json report =
      report_of(example ? example_report() : explain_json, "separate_groups", "lab_html");
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

}  // namespace ingot
