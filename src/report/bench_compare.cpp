#include "report/bench_compare.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "graph/graph_text.h"
#include "op/infer.h"
#include "report/number_text.h"

namespace ingot {
namespace {

using Json = ReportJson;

struct Quantity {
  const char* key;
  const char* name;
};
constexpr Quantity quantities[] = {{"kernel_us", "in kernels"}, {"end_to_end_us", "end to end"}};

constexpr double least_noise = 0.03;  // two runs of one program differ by about as much
constexpr double clock_us = 0.1;      // what reading the clock around a kernel may add

std::vector<Json> reports_in(const Json& report) {
  const Json& list = report.is_object() && report.contains("sweep") ? report["sweep"] : report;
  if (!list.is_array()) return {list};
  return {list.begin(), list.end()};
}

std::string dims_text(const Json& report) {
  std::vector<std::string> parts;
  for (const auto& [name, size] : report["dims"].items()) {
    parts.push_back(fmt::format("{} = {}", name, size.get<int64_t>()));
  }
  return join(parts, ", ");
}

// What a report says of the conditions it was measured under; empty where it says nothing.
std::string hardware(const Json& report) {
  const Json environment = report.value("environment", Json::object());
  const Json found = environment.value(report["device"] == "cpu" ? "cpu" : "device", Json());
  return found.is_string() ? found.get<std::string>() : "";
}

std::vector<std::string> differences(const Json& report, const Json& base) {
  std::vector<std::string> found;
  const auto differ = [&](const char* what, const std::string& now, const std::string& then) {
    if (now != then) found.push_back(fmt::format("{}: {} here, {} in the base", what, now, then));
  };
  for (const char* key : {"graph", "device", "numerics"}) {
    differ(key, report[key].get<std::string>(), base[key].get<std::string>());
  }
  if (report["device"] == base["device"]) {
    differ("machine", hardware(report), hardware(base));
    if (report["device"] == "cpu") {
      const auto threads = [](const Json& one) {
        return one.at("environment").at("threads").dump();
      };
      differ("threads", threads(report), threads(base));
    }
  }
  if (report["graph"] == base["graph"] && report["program"] != base["program"]) {
    found.push_back("program: other ops, types or attributes under the same name");
  }
  return found;
}

[[noreturn]] void fail_different(std::vector<std::string> found) {
  throw Error(ErrorKind::input, "the base was measured under other conditions", {},
              std::move(found));
}

// The base's report at the same sizes.
const Json& counterpart(const Json& report, const std::vector<Json>& bases) {
  const std::vector<std::string> others = differences(report, bases.front());
  if (!others.empty()) fail_different(others);
  std::vector<std::string> sizes;
  const nlohmann::json dims = report["dims"];  // whatever the order of names
  for (const Json& base : bases) {
    if (nlohmann::json(base["dims"]) == dims) return base;
    sizes.push_back(dims_text(base));
  }
  fail_different(
      {fmt::format("sizes: {} here, {} in the base", dims_text(report), join(sizes, "; "))});
}

// What a run's samples say of its median, as a share of it: the median's own interval shrinks with
// the number of samples, but what moves a whole run does not.
double spread_of(const Json& times) {
  const auto number = [&](const char* key) { return times.at(key).get<double>(); };
  const double median = number("median");
  const double half = std::max(number("high") - median, median - number("low"));
  const Json& quartiles = times.at("quartiles");
  return std::max(half, quartiles.at(1).get<double>() - quartiles.at(0).get<double>()) / median;
}

bool has_interval(const Json& times) {
  return times.value("low", Json()).is_number() && times.value("high", Json()).is_number();
}

void require_intervals(const Json& now, const Json& base, const std::string& which) {
  for (const Json* times : {&now, &base}) {
    if (has_interval(*times)) continue;
    throw Error(ErrorKind::input,
                fmt::format("{}: {} no interval of the median, which takes 6 repeats and a report "
                            "of this version",
                            which, times == &base ? "the base has" : "this run has"));
  }
}

void require_report(const Json& base) {
  for (const char* key : {"results", "verdict", "graph", "program", "device", "numerics", "dims",
                          "environment", "ceilings"}) {
    if (base.is_object() && base.contains(key)) continue;
    throw Error(ErrorKind::input,
                fmt::format("the base is no report of this version's `ingot bench --json`: it has "
                            "no '{}'",
                            key));
  }
}

Json row(const Json& report, const Json& base, const Json& variant, const Quantity& quantity,
         const Json& now, const Json& then) {
  const double us = now["median"].get<double>(), base_us = then["median"].get<double>();
  const double change = us / base_us - 1;
  const double spread = spread_of(now), base_spread = spread_of(then);
  const double noise = std::max({least_noise, spread + base_spread, clock_us / base_us});
  const bool moved = std::max(us / base_us, base_us / us) - 1 > noise;
  const char* const judgement = !moved ? "same" : us > base_us ? "slower" : "faster";
  return {{"variant", variant},
          {"dims", report["dims"]},
          {"time", quantity.key},
          {"us", us},
          {"base_us", base_us},
          {"change", change},
          {"noise", noise},
          {"spread", spread},
          {"base_spread", base_spread},
          {"copy_gbs", report["ceilings"]["copy_gbs"]},
          {"base_copy_gbs", base.at("ceilings").at("copy_gbs")},
          {"judgement", judgement}};
}

void add_rows(const Json& report, const Json& base, Json& rows) {
  for (const Json& now : report["results"]) {
    const Json& others = base.at("results");
    const auto same_variant = [&](const Json& one) { return one.at("variant") == now["variant"]; };
    const auto then = std::ranges::find_if(others, same_variant);
    if (then == others.end() || now["variant"] == "library") continue;  // none of ours
    for (const Quantity& quantity : quantities) {
      const Json &times = now[quantity.key], &before = then->at(quantity.key);
      const double least =
          std::min(times["median"].get<double>(), before.at("median").get<double>());
      if (least <= 0) continue;  // nothing to run
      require_intervals(times, before,
                        fmt::format("{} {}", now["variant"].get<std::string>(), quantity.name));
      rows.push_back(row(report, base, now["variant"], quantity, times, before));
    }
  }
}

std::string origin(const Json& report) {
  const auto text = [&](const char* key) {
    return report.at("environment").at(key).get<std::string>();
  };
  return fmt::format("ingot {} ({}), {}", text("version"), text("git"), text("date"));
}

// "fused, B = 64, in kernels".
std::string name_of(const Json& row) {
  const auto* const quantity =
      std::ranges::find_if(quantities, [&](const Quantity& one) { return row["time"] == one.key; });
  std::string text = row["variant"].get<std::string>() + ", ";
  if (!row["dims"].empty()) text += dims_text(row) + ", ";
  return text + quantity->name;
}

std::string changed_line(const Json& row) {
  const auto number = [&](const char* key) { return row[key].get<double>(); };
  return fmt::format(
      "  {}: {}: {} -> {} ({:+.1f} %; noise {:.1f} %: spread {:.1f} % here, {:.1f} % in the base; "
      "a copy {:.1f} -> {:.1f} GB/s)\n",
      row["judgement"].get<std::string>(), name_of(row), time_text(number("base_us")),
      time_text(number("us")), 100 * number("change"), 100 * number("noise"),
      100 * number("spread"), 100 * number("base_spread"), number("base_copy_gbs"),
      number("copy_gbs"));
}

}  // namespace

std::string program_digest(const Graph& source) {
  constexpr size_t digits = 16;
  std::string text;
  for (const Node& node : source.nodes) {
    text += fmt::format("{} {}", op_name(node.op), type_text(node.type));
    for (const NodeId operand : node.operands) text += fmt::format(" {}", operand);
    for (const auto& [name, value] : node.attrs) {
      text += fmt::format(" {}={}", name, attr_text(value));
    }
    text += '\n';
  }
  for (const NodeId id : source.outputs) text += fmt::format("return {}\n", id);
  return sha256_hex(text).substr(0, digits);
}

Json bench_comparison(const Json& report, const Json& base) {
  const std::vector<Json> bases = reports_in(base);
  if (bases.empty()) throw Error(ErrorKind::input, "the base holds no report");
  std::ranges::for_each(bases, require_report);
  Json rows = Json::array();
  try {
    for (const Json& one : reports_in(report)) add_rows(one, counterpart(one, bases), rows);
    const auto count = [&](const char* word) {
      return std::ranges::count_if(rows, [&](const Json& one) { return one["judgement"] == word; });
    };
    return {{"base", bases.front()["environment"]},
            {"base_of", origin(bases.front())},
            {"times", rows},
            {"slower", count("slower")},
            {"faster", count("faster")}};
  } catch (const Json::exception& error) {  // an edited file may hold anything
    throw Error(ErrorKind::input, fmt::format("the base is damaged: {}", error.what()));
  }
}

std::string comparison_text(const Json& comparison) {
  std::string text = fmt::format("compared with {}:\n", comparison["base_of"].get<std::string>());
  double least = 1, most = 0;
  size_t same = 0;
  for (const Json& row : comparison["times"]) {
    if (row["judgement"] != "same") {
      text += changed_line(row);
      continue;
    }
    ++same;
    least = std::min(least, row["noise"].get<double>());
    most = std::max(most, row["noise"].get<double>());
  }
  if (same > 0) {
    text += fmt::format("  {} of {} the same within noise ({:.1f} to {:.1f} %)\n", same,
                        counted(std::ssize(comparison["times"]), "time"), 100 * least, 100 * most);
  }
  const auto slower = comparison["slower"].get<int64_t>();
  const auto faster = comparison["faster"].get<int64_t>();
  text += slower > 0   ? fmt::format("a regression: {} slower\n", counted(slower, "time"))
          : faster > 0 ? fmt::format("no regression; {} faster\n", counted(faster, "time"))
                       : "no regression\n";
  return text;
}

}  // namespace ingot
