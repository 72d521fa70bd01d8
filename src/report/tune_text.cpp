// tune_text: the object of Compiled::tune_json for a person.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/number_text.h"
#include "report/report.h"

namespace ingot {
namespace {

using Json = ReportJson;

std::string median_text(const Json& interval) {
  if (interval["median"].is_null()) return "-";
  const double us = interval["median"];
  if (interval["low"].is_null()) return time_text(us);
  const double half =
      std::max(interval["high"].get<double>() - us, us - interval["low"].get<double>());
  return fmt::format("{} ±{:.1f} %", time_text(us), us > 0 ? 100 * half / us : 0);
}

}  // namespace

std::string tune_text(const Json& report) {
  std::string out = fmt::format(
      "{} on {}, numerics {}: {:.1f} s of {:g} s\n", report["graph"].get<std::string>(),
      report["environment"]["device"].get<std::string>(), report["numerics"].get<std::string>(),
      report["seconds"].get<double>(), report["budget_seconds"].get<double>());
  for (const Json& group : report["groups"]) {
    out += fmt::format("\ngroup {}\n", group["group"].get<std::string>());
    for (const Json& form : group["forms"]) {
      const Json& predicted = form["predicted_us"];
      out += fmt::format(
          "  {:<9}  {:<36} {:>18}  predicted {:>9}  {} samples, {}",
          form["state"].get<std::string>(), form["form"].get<std::string>(),
          median_text(form["us"]), predicted.is_null() ? "-" : time_text(predicted.get<double>()),
          form["us"]["samples"].get<size_t>(), counted(form["kernels"].get<int64_t>(), "kernel"));
      if (!form["problem"].is_null()) out += ": " + form["problem"].get<std::string>();
      out += "\n";
    }
    if (const Json& model = group["best_by_model"]; !model.is_null()) {
      out +=
          fmt::format("  the model alone would take '{}': {:.1f} % more than the fastest\n",
                      model["form"].get<std::string>(), 100 * model["over_fastest"].get<double>());
    }
  }
  const Json& program = report["program"];
  out += fmt::format("\nprogram: separate {}, as planned {}, tuned {}\n",
                     median_text(program["separate_us"]), median_text(program["planned_us"]),
                     median_text(program["tuned_us"]));
  if (!report["verdict"].is_null()) out += report["verdict"].get<std::string>() + "\n";
  const int64_t entries = report["entries"];
  out += entries == 0
             ? fmt::format("nothing to keep in {}\n", report["database"].get<std::string>())
             : fmt::format("{} in {}; fusion auto follows them from now on\n",
                           entries == 1 ? "1 entry" : fmt::format("{} entries", entries),
                           report["database"].get<std::string>());
  return out;
}

}  // namespace ingot
