#include "report/bench_result.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/plan_words.h"
#include "report/race.h"

namespace ingot {
namespace {

using Json = ReportJson;

// "low" and "high": what the median lies between with a confidence of 95 %. "quartiles": what half
// of the samples lie between.
Json spread(const std::vector<double>& values) {
  Json times = {{"min", nullptr}, {"median", nullptr}, {"max", nullptr},
                {"low", nullptr}, {"high", nullptr},   {"quartiles", {nullptr, nullptr}}};
  if (values.empty()) return times;
  const MedianInterval interval = median_interval(values);
  times["min"] = *std::min_element(values.begin(), values.end());
  times["median"] = interval.median;
  times["max"] = *std::max_element(values.begin(), values.end());
  if (std::isfinite(interval.high)) {
    times["low"] = interval.low;
    times["high"] = interval.high;
  }
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const size_t quarter = sorted.size() / 4;
  times["quartiles"] = {sorted[quarter], sorted[sorted.size() - 1 - quarter]};
  return times;
}

Json counters_json(const HardwareCounts& counts) {
  constexpr double line_bytes = 64;
  if (counts.calls > 0) {  // on a CPU
    const double misses = counts.cpu.cache_misses / counts.calls;
    return {{"calls", counts.calls},
            {"cycles", counts.cpu.cycles / counts.calls},
            {"instructions", counts.cpu.instructions / counts.calls},
            {"cache_misses", misses},
            {"bytes_by_cache_misses", line_bytes * misses}};
  }
  Json kernels = Json::array();
  double read = 0, written = 0, local = 0;
  for (const KernelCounters& kernel : counts.kernels) {
    read += kernel.read_bytes;
    written += kernel.written_bytes;
    local += kernel.local_bytes;
    Json stalls = Json::array();
    for (const auto& [reason, cycles] : kernel.stalls) {
      stalls.push_back({{"reason", reason}, {"cycles_an_instruction", cycles}});
    }
    kernels.push_back({{"kernel", kernel.kernel},
                       {"bytes_read", kernel.read_bytes},
                       {"bytes_written", kernel.written_bytes},
                       {"local_bytes", kernel.local_bytes},
                       {"occupancy", kernel.occupancy},
                       {"stalls", stalls}});
  }
  return {{"bytes_read", read},
          {"bytes_written", written},
          {"local_bytes", local},
          {"kernels", kernels}};
}

Json variant_json(const Variant& variant, double copy_gbs) {
  const Samples& samples = variant.samples;
  const double us = median(samples.kernel_us);
  const double gbs = us > 0 ? static_cast<double>(variant.bytes) / us / 1e3 : 0;
  Json json = {{"variant", variant.name},
               {"kernel_us", spread(samples.kernel_us)},
               {"launched_us", spread(samples.launched_us)},
               {"end_to_end_us", spread(samples.end_to_end_us)},
               {"end_to_end_with_transfer_us", spread(samples.with_transfer_us)},
               {"host_us", spread(samples.host_us)},
               {"bytes", variant.bytes},
               {"gbs", gbs},
               {"percent_of_copy", copy_gbs > 0 ? Json(100 * gbs / copy_gbs) : Json(nullptr)},
               {"launches", variant.launches},
               {"counters", variant.counts ? counters_json(*variant.counts) : Json(nullptr)}};
  if (!variant.kernels.empty()) json["kernels"] = variant.kernels;
  if (variant.difference) {
    json["max_abs_error"] = variant.difference->max_abs_error;
    json["max_rel_error"] = variant.difference->max_rel_error;
  }
  return json;
}

// A program on the CPU of which the clock, read around each kernel, measures little but itself.
bool is_too_short(bool gpu, double separate_us, double fused_us) {
  constexpr double shortest_us = 1;
  return !gpu && std::max(separate_us, fused_us) < shortest_us;
}

// What limits the fused program: what the slowest group is bound by.
struct Limit {
  std::string resource;  // "memory", "compute" or "launch"; empty where nothing is computed
  std::string group;
};

Limit limit_of(const Plan& plan, const Samples& samples, const DeviceModel& device,
               const Bindings& sizes) {
  if (plan.groups.empty()) return {};
  size_t slowest = 0;
  for (size_t g = 1; g < plan.groups.size(); ++g) {
    if (median(samples.group_us[g]) > median(samples.group_us[slowest])) slowest = g;
  }
  return {estimate(plan.groups[slowest], device, sizes).bound, plan.groups[slowest].name};
}

std::string limit_text(const Limit& limit, size_t kernels, double share_of_copy) {
  if (limit.resource.empty()) return "nothing to compute";
  if (limit.resource == "memory") {
    return fmt::format("limited by memory: {:.0f} % of the copy rate, most time in {}",
                       share_of_copy, limit.group);
  }
  if (limit.resource == "launch") {
    return fmt::format("starting {} takes most of the time",
                       counted(static_cast<int64_t>(kernels), "kernel"));
  }
  return fmt::format("limited by arithmetic in {}: {:.0f} % of the copy rate", limit.group,
                     share_of_copy);
}

// A way to run the program beside the separate kernels, in words, with how much faster fused is.
struct Rival {
  const char* words;
  std::optional<double> speedup;  // none where the way was left out
};

std::string faster_text(double speedup, const std::string& than) {
  constexpr double noise = 0.03;  // two runs of one program differ by about as much
  if (speedup > 1 + noise) return fmt::format("{:.2f} times as fast as {}", speedup, than);
  if (speedup < 1 - noise)
    return fmt::format("takes {:.2f} times as long as {}", 1 / speedup, than);
  return fmt::format("takes the time of {} within {:.0f} %", than, 100 * noise);
}

std::string over_rivals(const std::vector<Rival>& rivals) {
  std::string text;
  for (const Rival& rival : rivals) {
    if (rival.speedup) text += ", " + faster_text(*rival.speedup, rival.words);
  }
  return text;
}

// "fused is 1.50 times as fast as separate, takes 1.20 times as long as separate on several
// streams; limited by …".
std::string verdict_text(double speedup, const std::vector<Rival>& rivals,
                         const std::string& limit) {
  const std::string text = faster_text(speedup, "separate");
  return fmt::format("fused {}{}{}; {}", text.starts_with("takes") ? "" : "is ", text,
                     over_rivals(rivals), limit);
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

ReportJson bench_result(const Runnable& fused, const std::vector<Tensor>& inputs,
                        const BenchRun& run, const BenchSettings& settings,
                        const ReportJson& environment) {
  const DeviceModel& device = *settings.device;
  const Plan& plan = fused.plan();
  const Bindings sizes = sizes_of(fused.graph(), inputs);
  const Samples &separate = run.variants[0].samples, &together = run.variants[1].samples;
  Json results = Json::array(), left_out = Json::array();
  for (const Variant& variant : run.variants) {
    results.push_back(variant_json(variant, run.copy_gbs));
  }
  for (const LeftOut& each : run.left_out) {
    left_out.push_back({{"variant", each.variant}, {"why", each.why}});
  }
  const auto ratio = [&](const std::vector<double>& separate_us,
                         const std::vector<double>& fused_us) {
    return settings.same_kernels ? 1 : median(separate_us) / median(fused_us);
  };
  const double kernel = ratio(separate.kernel_us, together.kernel_us);
  const auto over = [&](const char* name) -> std::optional<double> {
    const auto found = std::ranges::find(run.variants, name, &Variant::name);
    if (found == run.variants.end()) return std::nullopt;
    return median(found->samples.kernel_us) / median(together.kernel_us);
  };
  const std::vector<Rival> rivals = {{"separate on several streams", over("separate_streams")},
                                     {"the library's kernels", over("library")}};
  const auto rival = [&](size_t i) {
    return rivals[i].speedup ? Json(*rivals[i].speedup) : Json();
  };
  const bool too_short =
      is_too_short(device.gpu, median(separate.kernel_us), median(together.kernel_us));
  const Json& share = results[1]["percent_of_copy"];
  const Limit limit = limit_of(plan, together, device, sizes);
  const std::string limited =
      limit_text(limit, plan.groups.size(), share.is_null() ? 0 : share.get<double>());
  const std::string verdict =
      settings.same_kernels ? fmt::format("fused and separate are the same {}{}; {}",
                                          plan.groups.size() == 1 ? "kernel" : "kernels",
                                          over_rivals(rivals), limited)
      : too_short ? "too short to compare: the kernels take little more than reading the clock"
                  : verdict_text(kernel, rivals, limited);
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
          {"left_out", left_out},
          {"counters_problem",
           run.counters_problem.empty() ? Json(nullptr) : Json(run.counters_problem)},
          {"speedup",
           {{"kernel", kernel},
            {"end_to_end", ratio(separate.end_to_end_us, together.end_to_end_us)},
            {"over_separate_streams", rival(0)},
            {"over_library", rival(1)}}},
          {"limit", {{"resource", limit.resource}, {"group", limit.group}}},
          {"too_short", too_short},
          {"identical", run.difference.identical},
          {"max_abs_error", run.difference.max_abs_error},
          {"max_rel_error", run.difference.max_rel_error},
          {"same_kernels", settings.same_kernels},
          {"verdict", verdict}};
}

}  // namespace ingot
