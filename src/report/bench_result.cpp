#include "report/bench_result.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/plan_words.h"
#include "report/number_text.h"

namespace ingot {
namespace {

using Json = ReportJson;

Json spread(const std::vector<double>& values) {
  if (values.empty()) {
    return {{"min", nullptr}, {"median", nullptr}, {"max", nullptr}};
  }
  return {{"min", *std::min_element(values.begin(), values.end())},
          {"median", median(values)},
          {"max", *std::max_element(values.begin(), values.end())}};
}

Json variant_json(const char* name, const Samples& samples, int64_t bytes, double copy_gbs,
                  size_t launches) {
  const double us = median(samples.kernel_us);
  const double gbs = us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0;
  return {{"variant", name},
          {"kernel_us", spread(samples.kernel_us)},
          {"end_to_end_us", spread(samples.end_to_end_us)},
          {"host_us", spread(samples.host_us)},
          {"bytes", bytes},
          {"gbs", gbs},
          {"percent_of_copy", copy_gbs > 0 ? Json(100 * gbs / copy_gbs) : Json(nullptr)},
          {"launches", launches},
          {"counters", nullptr}};
}

// A program on the CPU of which the clock, read around each kernel, measures little but itself.
bool is_too_short(bool gpu, double separate_us, double fused_us) {
  constexpr double shortest_us = 1;
  return !gpu && std::max(separate_us, fused_us) < shortest_us;
}

// What limits the fused program: what the slowest group is bound by.
std::string limiting_resource(const Plan& plan, const Samples& samples, const DeviceModel& device,
                              const Bindings& sizes, double share_of_copy) {
  size_t slowest = 0;
  for (size_t g = 1; g < plan.groups.size(); ++g) {
    if (median(samples.group_us[g]) > median(samples.group_us[slowest])) {
      slowest = g;
    }
  }
  if (plan.groups.empty()) {
    return "nothing to compute";
  }
  const std::string bound = estimate(plan.groups[slowest], device, sizes).bound;
  const std::string& name = plan.groups[slowest].name;
  if (bound == "memory") {
    return fmt::format("limited by memory: {:.0f} % of the copy rate, most time in {}",
                       share_of_copy, name);
  }
  if (bound == "launch") {
    return fmt::format("starting {} takes most of the time",
                       counted(std::ssize(plan.groups), "kernel"));
  }
  return fmt::format("limited by arithmetic in {}: {:.0f} % of the copy rate", name, share_of_copy);
}

std::string verdict_text(double speedup, const std::string& limit) {
  constexpr double noise = 0.03;  // two runs of one program differ by about as much
  if (speedup > 1 + noise) {
    return fmt::format("fused is {:.2f} times as fast as separate; {}", speedup, limit);
  }
  if (speedup < 1 - noise) {
    return fmt::format("fused takes {:.2f} times as long as separate; {}", 1 / speedup, limit);
  }
  return fmt::format("fused and separate take the same time within {:.0f} %; {}", 100 * noise,
                     limit);
}

void add_line(std::string& out, const Json& result) {
  const auto time = [&](const char* key, const char* which) {
    return time_text(result[key][which].get<double>());
  };
  out += fmt::format("  {:<9} {:>10} {:>10} {:>10}  {:>10}  {:>8} {:>9.1f} {:>8}\n",
                     result["variant"].get<std::string>(), time("kernel_us", "median"),
                     time("kernel_us", "min"), time("kernel_us", "max"),
                     time("end_to_end_us", "median"), result["launches"].get<int64_t>(),
                     result["gbs"].get<double>(),
                     result["percent_of_copy"].is_null()
                         ? "-"
                         : fmt::format("{:.0f} %", result["percent_of_copy"].get<double>()));
}

// Whether other work on the machine shows: half of the repeats took far longer than the best one,
// or a copy took far longer than the program that moves the same bytes, from a cache at best.
bool is_disturbed(const Json& result) {
  constexpr double usual = 1.5, cache = 5;
  const auto us = [&](size_t i) {
    return result["results"][i]["kernel_us"]["median"].get<double>();
  };
  if (is_too_short(result["device"] != "cpu", us(0), us(1))) return false;
  for (const Json& variant : result["results"]) {
    const Json& times = variant["kernel_us"];
    if (times["median"].get<double>() > usual * times["min"].get<double>()) {
      return true;
    }
  }
  const Json& share = result["results"].back()["percent_of_copy"];
  return !share.is_null() && share.get<double>() > 100 * cache;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Bindings sizes_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) {
    shapes.push_back(input.shape());
  }
  return bind_sizes(graph, shapes);
}

int64_t fused_bytes(const Plan& plan, const Bindings& sizes) {
  int64_t bytes = 0;
  for (const Group& group : plan.groups) {
    bytes += group_bytes(group).evaluate(sizes);
  }
  return bytes;
}

MeasuredTimes measured_times(const Samples& separate, const Samples& fused, double copy_gbs) {
  MeasuredTimes times{median(separate.kernel_us), median(fused.kernel_us), {}, copy_gbs};
  for (const std::vector<double>& group : fused.group_us) times.group_us.push_back(median(group));
  return times;
}

ReportJson bench_result(const Runnable& separate, const Runnable& fused,
                        const std::vector<Tensor>& inputs, const BenchRun& run,
                        const BenchSettings& settings, const ReportJson& environment) {
  const DeviceModel& device = *settings.device;
  const Plan& plan = fused.plan();
  const Bindings sizes = sizes_of(fused.graph(), inputs);
  const Json results = {
      variant_json("separate", run.separate, plan.separate_bytes.evaluate(sizes), run.copy_gbs,
                   separate.plan().groups.size()),
      variant_json("fused", run.fused, run.copy_bytes, run.copy_gbs, plan.groups.size())};
  const auto ratio = [&](const std::vector<double>& separate_us,
                         const std::vector<double>& fused_us) {
    return settings.same_kernels ? 1 : median(separate_us) / median(fused_us);
  };
  const double kernel = ratio(run.separate.kernel_us, run.fused.kernel_us);
  const double end_to_end = ratio(run.separate.end_to_end_us, run.fused.end_to_end_us);
  const bool too_short =
      is_too_short(device.gpu, median(run.separate.kernel_us), median(run.fused.kernel_us));
  const double share =
      results[1]["percent_of_copy"].is_null() ? 0 : results[1]["percent_of_copy"].get<double>();
  const std::string limit = limiting_resource(plan, run.fused, device, sizes, share);
  const std::string verdict =
      settings.same_kernels ? fmt::format("fused and separate are the same {}; {}",
                                          plan.groups.size() == 1 ? "kernel" : "kernels", limit)
      : too_short ? "too short to compare: the kernels take little more than reading the clock"
                  : verdict_text(kernel, limit);
  Json dims = Json::object();
  for (const std::string& name : size_names(fused.graph())) dims[name] = sizes.at(name);
  return {{"graph", fused.graph().name},
          {"device", device.name},
          {"numerics", numerics_text(plan.numerics)},
          {"dims", dims},
          {"environment", environment},
          {"repeats", run.repeats},
          {"caches", run.buffer_sets > 1 ? "cold" : "warm"},
          {"buffer_sets", run.buffer_sets},
          {"ceilings", {{"copy_gbs", run.copy_gbs}, {"copy_bytes", run.copy_bytes}}},
          {"results", results},
          {"speedup", {{"kernel", kernel}, {"end_to_end", end_to_end}}},
          {"identical", run.difference.identical},
          {"max_abs_error", run.difference.max_abs_error},
          {"max_rel_error", run.difference.max_rel_error},
          {"same_kernels", settings.same_kernels},
          {"verdict", verdict}};
}

std::string bench_text(const Json& result) {
  const int sets = result["buffer_sets"].get<int>();
  std::string out =
      fmt::format("{} on {}, {}, {} repeats in turns, {} caches\n",
                  result["graph"].get<std::string>(), result["device"].get<std::string>(),
                  sets > 1 ? fmt::format("{} sets of buffers", sets)
                           : fmt::format("{} threads", result["environment"]["threads"].get<int>()),
                  result["repeats"].get<int>(), result["caches"].get<std::string>());
  out += fmt::format("  {:<9} {:>10} {:>10} {:>10}  {:>10}  {:>8} {:>9} {:>8}\n", "", "kernels",
                     "min", "max", "end to end", "launches", "GB/s", "of copy");
  for (const Json& variant : result["results"]) {
    add_line(out, variant);
  }
  for (const Json& variant : result["results"]) {
    if (variant["host_us"]["median"].is_null()) continue;
    out += fmt::format("a call of {} costs the host {}\n", variant["variant"].get<std::string>(),
                       time_text(variant["host_us"]["median"].get<double>()));
  }
  out += fmt::format("copy of the same bytes: {:.1f} GB/s\n",
                     result["ceilings"]["copy_gbs"].get<double>());
  const auto error = [&](const char* key) {  // JSON has no infinity
    return result[key].is_null() ? std::numeric_limits<double>::infinity()
                                 : result[key].get<double>();
  };
  out += result["identical"].get<bool>()
             ? "results: equal bit for bit\n"
             : fmt::format("results: largest difference {:.3g}, relative {:.3g}\n",
                           error("max_abs_error"), error("max_rel_error"));
  if (result["within_contract"].is_null()) {
    out += fmt::format("too large to hold against numerics {} here: `ingot check` does it\n",
                       result["numerics"].get<std::string>());
  } else if (!result["within_contract"].get<bool>()) {
    out += fmt::format(
        "the results differ by more than numerics {} allows: `ingot check` shows where\n",
        result["numerics"].get<std::string>());
  }
  out += result["verdict"].get<std::string>() + "\n" + edited_not_run_text(result);
  if (is_disturbed(result)) {
    out +=
        "note: other work seems to disturb the times; repeat on an idle machine, or compare min\n";
  }
  return out;
}

}  // namespace ingot
