// The text of `bench`.

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/bench_compare.h"
#include "report/number_text.h"
#include "report/report.h"

namespace ingot {
namespace {

using Json = ReportJson;

struct Column {
  const char *heading, *time, *which;
  const char* meaning;  // empty: explained with another
};
constexpr Column columns[] = {
    {"kernels", "kernel_us", "median", ""},
    {"min", "kernel_us", "min", ""},
    {"max", "kernel_us", "max", ""},
    {"one by one", "launched_us", "median",
     "kernels launched one by one on a stream, not as a graph"},
    {"end to end", "end_to_end_us", "median", ""},
    {"from host", "end_to_end_with_transfer_us", "median",
     "a call from tensors of the host to new ones there: allocation and copies included"},
    {"host", "host_us", "median", "what a call costs the host that does not wait for it"},
};
constexpr const char* cpu_meanings[][2] = {
    {"kernels", "time in kernels, all of a call: median, least and most"},
    {"end to end", "a whole call, with its outputs allocated"},
};
constexpr const char* gpu_meanings[][2] = {
    {"kernels", "time on the device of calls in a CUDA graph: median, least and most"},
    {"end to end", "one launch of the program's graph on data of the device, waited for"},
};

bool is_gpu(const Json& report) { return report["device"] != "cpu"; }

bool has(const Json& report, const Column& column) {
  const Json& first = report["results"][0];
  return first.contains(column.time) && !first[column.time]["median"].is_null();
}

std::string named(const Json& variant) {
  const auto name = variant["variant"].get<std::string>();
  return name == "separate_streams" ? "  on streams" : name;
}

std::string table(const Json& report) {
  std::string text = fmt::format("  {:<12}", "");
  for (const Column& column : columns) {
    if (has(report, column)) text += fmt::format(" {:>10}", column.heading);
  }
  text += fmt::format("  {:>8} {:>9} {:>8}\n", "launches", "GB/s", "of copy");
  for (const Json& variant : report["results"]) {
    text += fmt::format("  {:<12}", named(variant));
    for (const Column& column : columns) {
      if (!has(report, column)) continue;
      const Json& us = variant[column.time][column.which];
      text += fmt::format(" {:>10}", us.is_null() ? "-" : time_text(us.get<double>()));
    }
    const Json& share = variant["percent_of_copy"];
    text += fmt::format("  {:>8} {:>9.1f} {:>8}\n", variant["launches"].get<int64_t>(),
                        variant["gbs"].get<double>(),
                        share.is_null() ? "-" : fmt::format("{:.0f} %", share.get<double>()));
  }
  for (const auto& [heading, meaning] : is_gpu(report) ? gpu_meanings : cpu_meanings) {
    text += fmt::format("  {}: {}\n", heading, meaning);
  }
  for (const Column& column : columns) {
    if (column.meaning[0] == '\0' || !has(report, column)) continue;
    text += fmt::format("  {}: {}\n", column.heading, column.meaning);
  }
  return text;
}

// JSON has no infinity.
double number_of(const Json& report, const char* key) {
  return report[key].is_null() ? std::numeric_limits<double>::infinity()
                               : report[key].get<double>();
}

std::string kernel_counters(const Json& kernel) {
  constexpr size_t most = 3;  // reasons
  std::vector<std::string> waits;
  for (const Json& stall : kernel["stalls"]) {
    if (waits.size() == most) break;
    waits.push_back(fmt::format("{} {:.1f}", stall["reason"].get<std::string>(),
                                stall["cycles_an_instruction"].get<double>()));
  }
  return fmt::format("    {}: {:.0f} % of the warps active; cycles of waiting an instruction: {}\n",
                     kernel["kernel"].get<std::string>(), 100 * kernel["occupancy"].get<double>(),
                     join(waits, ", "));
}

// What the hardware counted, beside what the shapes say.
std::string counters_text(const Json& variant) {
  const Json& counters = variant["counters"];
  if (counters.is_null()) return "";
  const auto bytes = [](const Json& value) {
    return short_bytes_text(static_cast<int64_t>(value.get<double>()));
  };
  std::string text = fmt::format("counted in {}: ", variant["variant"].get<std::string>());
  if (counters.contains("cycles")) {
    const double cycles = counters["cycles"].get<double>();
    const double instructions = counters["instructions"].get<double>();
    return text +
           fmt::format(
               "{:.3g} cycles and {:.3g} instructions a call ({:.2f} a cycle), misses of the "
               "last cache {} (by the shapes {})\n",
               cycles, instructions, cycles > 0 ? instructions / cycles : 0,
               bytes(counters["bytes_by_cache_misses"]), bytes(variant["bytes"]));
  }
  text +=
      fmt::format("{} read and {} written at device memory (by the shapes {}), local memory {}\n",
                  bytes(counters["bytes_read"]), bytes(counters["bytes_written"]),
                  bytes(variant["bytes"]), bytes(counters["local_bytes"]));
  for (const Json& kernel : counters["kernels"]) text += kernel_counters(kernel);
  return text;
}

std::string results_text(const Json& report) {
  std::string text =
      report["identical"].get<bool>()
          ? "results: equal bit for bit\n"
          : fmt::format("results: largest difference {:.3g}, relative {:.3g}\n",
                        number_of(report, "max_abs_error"), number_of(report, "max_rel_error"));
  if (report["within_contract"].is_null()) {
    text += fmt::format("too large to hold against numerics {} here: `ingot check` does it\n",
                        report["numerics"].get<std::string>());
  } else if (!report["within_contract"].get<bool>()) {
    text += fmt::format(
        "the results differ by more than numerics {} allows: `ingot check` shows where\n",
        report["numerics"].get<std::string>());
  }
  return text;
}

// Whether other work on the machine shows: half of the repeats took far longer than the best one,
// or a copy took far longer than the program that moves the same bytes, from a cache at best.
bool is_disturbed(const Json& report) {
  constexpr double usual = 1.5, cache = 5;
  if (report["too_short"].get<bool>()) return false;
  for (const Json& variant : report["results"]) {
    const Json& times = variant["kernel_us"];
    if (times["median"].get<double>() > usual * times["min"].get<double>()) return true;
  }
  const Json& share = report["results"][1]["percent_of_copy"];
  return !share.is_null() && share.get<double>() > 100 * cache;
}

}  // namespace

std::string bench_text(const Json& report) {
  const int sets = report["buffer_sets"].get<int>();
  std::string text =
      fmt::format("{} on {}, {}, {} repeats in turns, {} caches\n",
                  report["graph"].get<std::string>(), report["device"].get<std::string>(),
                  sets > 1 ? fmt::format("{} sets of buffers", sets)
                           : counted(report["environment"]["threads"].get<int>(), "thread"),
                  report["repeats"].get<int>(), report["caches"].get<std::string>());
  text += table(report);
  for (const Json& variant : report["results"]) {
    if (!variant.contains("kernels")) continue;
    text +=
        fmt::format("{}: {}; largest difference from fused {:.3g}, relative {:.3g}\n",
                    variant["variant"].get<std::string>(), variant["kernels"].get<std::string>(),
                    number_of(variant, "max_abs_error"), number_of(variant, "max_rel_error"));
  }
  for (const Json& each : report["left_out"]) {
    text += fmt::format("no {}: {}\n", each["variant"].get<std::string>(),
                        each["why"].get<std::string>());
  }
  for (const Json& variant : report["results"]) text += counters_text(variant);
  if (!report["counters_problem"].is_null()) {
    text += fmt::format("no counters: {}\n", report["counters_problem"].get<std::string>());
  }
  text += fmt::format("copy of the same bytes: {:.1f} GB/s\n",
                      report["ceilings"]["copy_gbs"].get<double>());
  text += results_text(report);
  text += report["verdict"].get<std::string>() + "\n" + edited_not_run_text(report);
  if (report.contains("comparison")) text += comparison_text(report["comparison"]);
  if (is_disturbed(report)) {
    text +=
        "note: other work seems to disturb the times; repeat on an idle machine, or compare min\n";
  }
  return text;
}

}  // namespace ingot
