// bench: separate against fused in one process, interleaved, with the copy rate beside them.

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/compare.h"
#include "report/number_text.h"
#include "report/report.h"

namespace ingot {
namespace {

using Json = ReportJson;

constexpr int least_repeats = 7, most_repeats = 1000;
constexpr double default_seconds = 2;

struct Samples {
  std::vector<double> kernel_us, end_to_end_us;
  std::vector<std::vector<double>> group_us;  // of each group
};

// One program with its outputs allocated once, as a caller that cares for time would.
struct Runner {
  const Executable& executable;
  const std::vector<Tensor>& inputs;
  std::vector<Tensor> outputs;
  std::vector<TensorView> input_views, output_views;
  Samples samples;

  Runner(const Executable& program, const std::vector<Tensor>& data)
      : executable(program), inputs(data), outputs(run_allocating(program, data)) {
    for (const Tensor& input : inputs) {
      input_views.push_back(view(input));
    }
    for (Tensor& output : outputs) {
      output_views.push_back(view(output));
    }
    samples.group_us.resize(program.plan().groups.size());
  }

  void run_once() {
    std::vector<GroupTiming> timings;
    executable.run(input_views, output_views, &timings);
    double total = 0;
    for (size_t g = 0; g < timings.size(); ++g) {
      samples.group_us[g].push_back(timings[g].us);
      total += timings[g].us;
    }
    samples.kernel_us.push_back(total);
  }

  void run_end_to_end() {
    const auto start = std::chrono::steady_clock::now();
    run_allocating(executable, inputs);
    samples.end_to_end_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
            .count());
  }
};

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Json spread(const std::vector<double>& values) {
  if (values.empty()) {
    return {{"min", nullptr}, {"median", nullptr}, {"max", nullptr}};
  }
  return {{"min", *std::min_element(values.begin(), values.end())},
          {"median", median(values)},
          {"max", *std::max_element(values.begin(), values.end())}};
}

// Runs both in turns; which one is first changes from turn to turn.
int run_interleaved(Runner& separate, Runner& fused, const BenchSettings& settings,
                    bool with_end_to_end) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const int wanted = settings.repeats > 0 ? settings.repeats : most_repeats;
  int done = 0;
  while (done < wanted) {
    Runner* order[] = {&separate, &fused};
    if (done % 2 == 1) {
      std::swap(order[0], order[1]);
    }
    for (Runner* runner : order) {
      runner->run_once();
    }
    for (Runner* runner : order) {
      if (with_end_to_end) {
        runner->run_end_to_end();
      }
    }
    ++done;
    const double part = settings.repeats > 0
                            ? static_cast<double>(done) / settings.repeats
                            : std::min(1.0, std::max(seconds() / default_seconds,
                                                     static_cast<double>(done) / most_repeats));
    if (settings.progress) {
      settings.progress(part, "separate and fused in turns");
    }
    if (settings.repeats == 0 && done >= least_repeats && seconds() > default_seconds) {
      break;
    }
  }
  return done;
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

Json variant_json(const char* name, const Samples& samples, int64_t bytes, double copy_gbs,
                  size_t launches) {
  const double us = median(samples.kernel_us);
  const double gbs = us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0;
  return {{"variant", name},
          {"kernel_us", spread(samples.kernel_us)},
          {"end_to_end_us", spread(samples.end_to_end_us)},
          {"bytes", bytes},
          {"gbs", gbs},
          {"percent_of_copy", copy_gbs > 0 ? Json(100 * gbs / copy_gbs) : Json(nullptr)},
          {"launches", launches},
          {"counters", nullptr}};
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
    return fmt::format("limited by starting kernels: {} is too small for more", name);
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

MeasuredTimes measure_times(const Executable& separate, const Executable& fused,
                            const std::vector<Tensor>& inputs, const BenchSettings& settings) {
  const int64_t bytes = fused_bytes(fused.plan(), sizes_of(fused.graph(), inputs));
  const double copy_before = measure_copy_gbs(bytes, settings.threads);
  Runner first(separate, inputs), second(fused, inputs);
  run_interleaved(first, second, settings, false);
  MeasuredTimes times{median(first.samples.kernel_us), median(second.samples.kernel_us), {}, 0};
  for (const std::vector<double>& group : second.samples.group_us) {
    times.group_us.push_back(median(group));
  }
  times.copy_gbs = std::max(copy_before, measure_copy_gbs(bytes, settings.threads));
  return times;
}

ReportJson bench_json(const Executable& separate, const Executable& fused,
                      const std::vector<Tensor>& inputs, const BenchSettings& settings,
                      const ReportJson& environment) {
  const Bindings sizes = sizes_of(fused.graph(), inputs);
  const int64_t bytes = fused_bytes(fused.plan(), sizes);
  // Before and after: the better one is the ceiling.
  const double copy_before = measure_copy_gbs(bytes, settings.threads);
  Runner first(separate, inputs), second(fused, inputs);
  const int repeats = run_interleaved(first, second, settings, true);
  const double copy_gbs = std::max(copy_before, measure_copy_gbs(bytes, settings.threads));
  const Json results = {
      variant_json("separate", first.samples, fused.plan().separate_bytes.evaluate(sizes), copy_gbs,
                   separate.plan().groups.size()),
      variant_json("fused", second.samples, bytes, copy_gbs, fused.plan().groups.size())};

  Comparison worst;
  for (size_t i = 0; i < first.outputs.size(); ++i) {
    worst = worse(worst, compare(first.outputs[i], second.outputs[i]));
  }
  const double kernel = median(first.samples.kernel_us) / median(second.samples.kernel_us);
  const double end_to_end =
      median(first.samples.end_to_end_us) / median(second.samples.end_to_end_us);
  const double share =
      results[1]["percent_of_copy"].is_null() ? 0 : results[1]["percent_of_copy"].get<double>();
  Json dims = Json::object();
  for (const std::string& name : size_names(fused.graph())) {
    dims[name] = sizes.at(name);
  }
  return {{"graph", fused.graph().name},
          {"device", settings.device->name},
          {"numerics", numerics_text(fused.plan().numerics)},
          {"dims", dims},
          {"environment", environment},
          {"repeats", repeats},
          {"caches", "warm"},
          {"ceilings", {{"copy_gbs", copy_gbs}, {"copy_bytes", bytes}}},
          {"results", results},
          {"speedup", {{"kernel", kernel}, {"end_to_end", end_to_end}}},
          {"identical", worst.identical},
          {"max_abs_error", worst.max_abs_error},
          {"max_rel_error", worst.max_rel_error},
          {"verdict", verdict_text(kernel, limiting_resource(fused.plan(), second.samples,
                                                             *settings.device, sizes, share))}};
}

std::string bench_text(const Json& result) {
  std::string out =
      fmt::format("{} on {}, {} threads, {} repeats in turns, warm caches\n",
                  result["graph"].get<std::string>(), result["device"].get<std::string>(),
                  result["environment"]["threads"].get<int>(), result["repeats"].get<int>());
  out += fmt::format("  {:<9} {:>10} {:>10} {:>10}  {:>10}  {:>8} {:>9} {:>8}\n", "", "kernels",
                     "min", "max", "end to end", "launches", "GB/s", "of copy");
  for (const Json& variant : result["results"]) {
    add_line(out, variant);
  }
  out += fmt::format("copy of the same bytes: {:.1f} GB/s\n",
                     result["ceilings"]["copy_gbs"].get<double>());
  out += result["identical"].get<bool>()
             ? "results: equal bit for bit\n"
             : fmt::format("results: largest difference {:.3g}, relative {:.3g}\n",
                           result["max_abs_error"].get<double>(),
                           result["max_rel_error"].get<double>());
  out += result["verdict"].get<std::string>() + "\n";
  if (is_disturbed(result)) {
    out +=
        "note: other work seems to disturb the times; repeat on an idle machine, or compare min\n";
  }
  return out;
}

}  // namespace ingot
