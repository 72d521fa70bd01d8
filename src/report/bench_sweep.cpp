#include "report/bench_sweep.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/bench_compare.h"
#include "report/number_text.h"

namespace ingot {
namespace {

using Json = ReportJson;

// How fused compares with separate at one size.
enum class Outcome : uint8_t { faster, equal, slower, same_kernels, too_short };

Outcome outcome_of(const Json& report) {
  constexpr double noise = 0.03;  // as in the verdict of one report
  if (report["same_kernels"].get<bool>()) return Outcome::same_kernels;
  if (report["too_short"].get<bool>()) return Outcome::too_short;
  const double speedup = report["speedup"]["kernel"].get<double>();
  const Json &separate = report["results"][0]["kernel_us"],
             &fused = report["results"][1]["kernel_us"];
  // Whether the intervals of the medians lie apart; few repeats have none.
  const auto below = [](const Json& one, const Json& other) {
    return one["high"].is_null() || other["low"].is_null() ||
           one["high"].get<double>() < other["low"].get<double>();
  };
  if (speedup > 1 + noise && below(fused, separate)) return Outcome::faster;
  if (speedup < 1 - noise && below(separate, fused)) return Outcome::slower;
  return Outcome::equal;
}

std::vector<std::string> changing_dims(const std::vector<Json>& reports) {
  std::vector<std::string> names;
  for (const auto& dim : reports.front()["dims"].items()) {
    const auto differs = [&](const Json& other) { return other["dims"][dim.key()] != dim.value(); };
    if (reports.size() == 1 || std::ranges::any_of(reports, differs)) names.push_back(dim.key());
  }
  return names;
}

std::string size_text(const Json& report, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    parts.push_back(fmt::format("{} = {}", name, report["dims"][name].get<int64_t>()));
  }
  return join(parts, ", ");
}

struct Point {
  const Json* report;
  Outcome outcome;
  double speedup;
};

// "1.20 times as fast as separate (B = 8)", or the least and the most of several.
std::string range_text(const std::vector<Point>& points, const std::vector<std::string>& names) {
  const auto [least, most] = std::ranges::minmax_element(points, {}, &Point::speedup);
  const std::string low =
      fmt::format("{:.2f} (at {})", least->speedup, size_text(*least->report, names));
  if (points.size() == 1) return low + " times as fast as separate";
  return fmt::format("{} to {:.2f} (at {}) times as fast as separate", low, most->speedup,
                     size_text(*most->report, names));
}

std::string sizes_with(Outcome outcome, const std::vector<Point>& points,
                       const std::vector<std::string>& names) {
  std::vector<std::string> sizes;
  for (const Point& point : points) {
    if (point.outcome == outcome) sizes.push_back(size_text(*point.report, names));
  }
  return join(sizes, "; ");
}

// What holds at the sizes where fusing does not pay.
std::string rest_text(const std::vector<Point>& points, const std::vector<std::string>& names) {
  constexpr std::pair<Outcome, const char*> kinds[] = {
      {Outcome::equal, "within noise at"},
      {Outcome::slower, "slower at"},
      {Outcome::same_kernels, "the same kernels at"},
      {Outcome::too_short, "too short to compare at"}};
  std::string text;
  for (const auto& [outcome, words] : kinds) {
    const std::string sizes = sizes_with(outcome, points, names);
    if (!sizes.empty()) text += fmt::format("; {} {}", words, sizes);
  }
  return text;
}

// From which size on fusing pays; over several sizes at once, at how many.
std::string verdict_of(const std::vector<Json>& reports, const std::vector<std::string>& names) {
  std::vector<Point> points;
  for (const Json& report : reports) {
    points.push_back({&report, outcome_of(report), report["speedup"]["kernel"].get<double>()});
  }
  std::vector<Point> faster;
  const auto pays = [](const Point& point) { return point.outcome == Outcome::faster; };
  std::ranges::copy_if(points, std::back_inserter(faster), pays);
  const std::string rest = rest_text(points, names);
  if (faster.empty()) return "fusing pays at no size measured" + rest;
  const std::string range = range_text(faster, names);
  if (faster.size() == points.size()) {
    return fmt::format("fusing pays at every size measured: {}", range);
  }
  if (names.size() == 1) {
    const auto size = [&](const Point& point) {
      return (*point.report)["dims"][names[0]].get<int64_t>();
    };
    std::ranges::sort(points, {}, size);
    const auto first = std::ranges::find_if(points, pays);
    if (std::all_of(first, points.end(), pays)) {
      return fmt::format("fusing pays from {} on: {}{}", size_text(*first->report, names), range,
                         rest);
    }
  }
  return fmt::format("fusing pays at {} of {} sizes: {}{}", faster.size(), points.size(), range,
                     rest);
}

// Of all reports: some ways may be left out at some sizes.
std::vector<std::string> variants_of(const Json& reports) {
  std::vector<std::string> variants;
  for (const Json& report : reports) {
    for (const Json& result : report["results"]) {
      const auto name = result["variant"].get<std::string>();
      if (std::ranges::find(variants, name) == variants.end()) variants.push_back(name);
    }
  }
  return variants;
}

std::string kernel_time(const Json& report, const std::string& variant) {
  for (const Json& result : report["results"]) {
    if (result["variant"] == variant) return time_text(result["kernel_us"]["median"].get<double>());
  }
  return "-";
}

std::string line(const Json& report, const std::vector<std::string>& names,
                 const std::vector<std::string>& variants) {
  std::string text = " ";
  for (const std::string& name : names) {
    text += fmt::format(" {:>10}", report["dims"][name].get<int64_t>());
  }
  for (const std::string& variant : variants) {
    text += fmt::format(" {:>16}", kernel_time(report, variant));
  }
  const Json& fused = report["results"][1];
  const Json& share = fused["percent_of_copy"];
  const std::string& resource = report["limit"]["resource"].get_ref<const std::string&>();
  return text + fmt::format(" {:>8} {:>8.1f} {:>8}  {}\n",
                            report["same_kernels"].get<bool>()
                                ? "same"
                                : fmt::format("{:.2f}", report["speedup"]["kernel"].get<double>()),
                            fused["gbs"].get<double>(),
                            share.is_null() ? "-" : fmt::format("{:.0f} %", share.get<double>()),
                            resource.empty() ? "-" : resource);
}

std::string results_text(const Json& sweep, const std::vector<std::string>& names) {
  std::vector<std::string> differ, beyond;
  for (const Json& report : sweep["sweep"]) {
    if (!report["identical"].get<bool>()) differ.push_back(size_text(report, names));
    if (report["within_contract"] == false) beyond.push_back(size_text(report, names));
  }
  if (differ.empty()) return "results: equal bit for bit at every size\n";
  std::string text = fmt::format("results: not equal bit for bit at {}\n", join(differ, "; "));
  if (!beyond.empty()) {
    text += fmt::format(
        "the results differ by more than numerics {} allows at {}: `ingot check` shows where\n",
        sweep["numerics"].get<std::string>(), join(beyond, "; "));
  }
  return text;
}

}  // namespace

Json sweep_report(std::vector<Json> reports) {
  const std::vector<std::string> names = changing_dims(reports);
  const Json& first = reports.front();
  Json sweep = {{"graph", first["graph"]},
                {"device", first["device"]},
                {"numerics", first["numerics"]},
                {"environment", first["environment"]},
                {"swept", names},
                {"verdict", verdict_of(reports, names)}};
  sweep["sweep"] = std::move(reports);
  return sweep;
}

std::string sweep_text(const Json& sweep) {
  const auto names = sweep["swept"].get<std::vector<std::string>>();
  const Json& reports = sweep["sweep"];
  std::string text =
      fmt::format("{} on {}, numerics {}, at {}, ways in turns\n ",
                  sweep["graph"].get<std::string>(), sweep["device"].get<std::string>(),
                  sweep["numerics"].get<std::string>(), counted(std::ssize(reports), "size"));
  for (const std::string& name : names) text += fmt::format(" {:>10}", name);
  const std::vector<std::string> variants = variants_of(reports);
  for (const std::string& variant : variants) text += fmt::format(" {:>16}", variant);
  text += fmt::format(" {:>8} {:>8} {:>8}  {}\n", "speedup", "GB/s", "of copy", "limited by");
  for (const Json& report : reports) text += line(report, names, variants);
  text += "  times: medians in kernels; speedup, rate and limit are those of fused\n";
  text += results_text(sweep, names);
  text += sweep["verdict"].get<std::string>() + "\n";
  if (sweep.contains("comparison")) text += comparison_text(sweep["comparison"]);
  return text;
}

}  // namespace ingot
