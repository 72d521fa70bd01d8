// Version, environment, devices and the kernel cache, for reports and the CLI.

#include "api/environment.h"

#include <ctime>

#include <nlohmann/json.hpp>

#include "api/device_rates.h"
#include "api/state.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/host_cpu.h"
#include "jit/jit.h"
#include "jit/nvrtc.h"
#include "report/program_json.h"
#include "run/cuda_driver.h"
#include "version.h"

namespace ingot {
namespace {

using Json = ReportJson;

constexpr int64_t ceiling_bytes = int64_t{256} << 20;  // read + written: beyond any cache here

// null where there is no compiler: a report needs none.
Json host_compiler_text(const Options& options) {
  try {
    JitOptions jit;
    jit.cache_dir = options.cache_dir;
    return compiler_version(jit);
  } catch (const Error&) {
    return nullptr;
  }
}

// The version of NVRTC and where it is, or why there is none.
struct FoundNvrtc {
  std::string version, path, problem;
};
FoundNvrtc found_nvrtc() {
  try {
    const NvrtcVersion nvrtc = find_nvrtc(cache_directory({}));
    return {nvrtc.text, nvrtc.path, ""};
  } catch (const Error& error) {
    return {"", "", in_one_line(error)};
  }
}

Json null_if_empty(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// `name` is what a device is called elsewhere, `cuda:0`.
Json cuda_device_json(const CudaDeviceInfo& device) {
  return {
      {"name", fmt::format("cuda:{}", device.index)}, {"description", device.name},
      {"architecture", architecture_of(device)},      {"multiprocessors", device.multiprocessors},
      {"memory_bytes", device.memory_bytes},          {"l2_bytes", device.l2_bytes},
      {"shared_bytes", device.shared_bytes},          {"registers", device.registers}};
}

// Measured now, or kept from before; nothing where neither is.
std::optional<DeviceRates> rates_of(const std::string& device, bool measure,
                                    const Progress& progress) {
  Options options;
  options.device = device;
  options.threads = thread_count(options);
  const DeviceModel model = choose_device(options).model;
  if (!measure) return known_rates(options, model);
  const DeviceRates rates = measure_rates(options, [&](double done, const std::string& what) {
    if (progress) progress(done, device + ": " + what);
  });
  keep_rates(options, model, rates);
  return rates;
}

Json rates_json(const std::optional<DeviceRates>& rates) {
  if (!rates) return nullptr;
  return {{"copy_gbs", rates->copy_gbs},
          {"read_gbs", rates->read_gbs},
          {"cache_gbs", rates->cache_gbs},
          {"launch_us", rates->launch_us},
          {"f32_gflops", rates->f32_gflops},
          {"sigmoid_gps", rates->sigmoid_gps},
          {"date", rates->date}};
}

// Beside the model's row.
std::string rates_text(const std::optional<DeviceRates>& rates, const DeviceModel& model) {
  if (!rates) return "";
  return fmt::format(
      "             measured {} (model {}): copy {:.0f} ({:.0f}) GB/s, read {:.0f} ({:.0f}) GB/s, "
      "cache {:.0f} ({:.0f}) GB/s,\n             start of a kernel {:.2f} ({:.2f}) us, "
      "multiply-adds {:.0f} ({:.0f}) GFLOP/s, sigmoid {:.1f} G/s\n",
      rates->date, model.name, rates->copy_gbs, model.copy_gbs, rates->read_gbs, model.read_gbs,
      rates->cache_gbs, model.cache_gbs, rates->launch_us, model.launch_us, rates->f32_gflops,
      model.f32_gflops, rates->sigmoid_gps);
}

std::string cuda_text(bool measure, const Progress& progress) {
  const CudaDriverStatus driver = cuda_driver_status();
  std::string text;
  for (const CudaDeviceInfo& device : driver.devices) {
    text += fmt::format("  {:<10} {}, {}, {} multiprocessors, {:.1f} GiB, driver for CUDA {}\n",
                        fmt::format("cuda:{}", device.index), device.name, architecture_of(device),
                        device.multiprocessors,
                        static_cast<double>(device.memory_bytes) / (1 << 30), driver.version);
    text += rates_text(rates_of(fmt::format("cuda:{}", device.index), measure, progress),
                       model_of(device));
  }
  if (driver.devices.empty()) text += fmt::format("  {:<10} {}\n", "cuda", driver.problem);
  const FoundNvrtc nvrtc = found_nvrtc();
  return text + (nvrtc.problem.empty()
                     ? fmt::format("  {:<10} {}, {}\n", "NVRTC", nvrtc.version, nvrtc.path)
                     : fmt::format("  {:<10} {}\n", "NVRTC", nvrtc.problem));
}

CacheSummary summary(const CacheStats& stats) {
  return {stats.directory, stats.entries, stats.bytes, stats.damaged};
}

JitOptions cache_options(const std::string& cache_dir) {
  JitOptions options;
  options.cache_dir = cache_dir;
  return options;
}

}  // namespace

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

std::string version_text() { return fmt::format("ingot {} ({})", version_string, git_hash); }

Json environment_of(const Options& options) {
  const bool here = options.device == "cpu";
  Json device = here ? cpu_description() : options.device, driver = nullptr;
  Json compilers = {{"c++", here ? host_compiler_text(options) : Json(nullptr)}};
  if (!here) {
    const CudaDriverStatus status = cuda_driver_status();
    driver = null_if_empty(status.version);
    compilers["nvrtc"] = null_if_empty(found_nvrtc().version);
    if (!status.devices.empty()) {
      Options running = options;
      running.plan_only = false;
      const ChosenDevice chosen = choose_device(running);
      if (chosen.cuda) device = chosen.cuda->info().name;
    }
  }
  return {{"version", version_string},
          {"git", git_hash},
          {"device", device},
          {"driver", driver},
          {"compilers", compilers},
          {"date", date_text()},
          {"threads", thread_count(options)},
          {"cpu", cpu_description()}};
}

std::string environment_json(const Options& options) { return environment_of(options).dump(2); }

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceModel& model : device_models()) names.push_back(model.name);
  return names;
}

std::string devices_json(bool measure, const Progress& progress) {
  Json found = {{"name", "cpu"},
                {"description", cpu_description()},
                {"cores", available_cores()},
                {"copy_gbs", nullptr},
                {"copy_gbs_one_thread", nullptr}};
  if (measure) {
    found["copy_gbs"] = measure_copy_gbs(ceiling_bytes, available_cores());
    found["copy_gbs_one_thread"] = measure_copy_gbs(ceiling_bytes, 1);
  }
  found["rates"] = rates_json(rates_of("cpu", measure, progress));
  Json models = Json::array();
  for (const DeviceModel& model : device_models()) {
    models.push_back(device_model_json(model));
  }
  const CudaDriverStatus driver = cuda_driver_status();
  Json all = Json::array({found});
  for (const CudaDeviceInfo& device : driver.devices) {
    all.push_back(cuda_device_json(device));
    const std::string name = fmt::format("cuda:{}", device.index);
    all.back()["rates"] = rates_json(rates_of(name, measure, progress));
  }
  const FoundNvrtc nvrtc = found_nvrtc();
  return Json{{"environment", environment_of({})},
              {"found", all},
              {"cuda",
               {{"driver", null_if_empty(driver.version)},
                {"problem", null_if_empty(driver.problem)},
                {"nvrtc", null_if_empty(nvrtc.version)},
                {"nvrtc_path", null_if_empty(nvrtc.path)},
                {"nvrtc_problem", null_if_empty(nvrtc.problem)}}},
              {"models", models}}
      .dump(2);
}

std::string devices_text(bool measure, const Progress& progress) {
  std::string text =
      fmt::format("found\n  cpu        {} cores, {}\n", available_cores(), cpu_description());
  if (measure) {
    text += fmt::format(
        "             copy of 256 MiB (read + written): {:.1f} GB/s on one thread, "
        "{:.1f} GB/s on {}\n",
        measure_copy_gbs(ceiling_bytes, 1), measure_copy_gbs(ceiling_bytes, available_cores()),
        available_cores());
  }
  text += rates_text(rates_of("cpu", measure, progress), device_model("cpu"));
  text += cuda_text(measure, progress);
  text += fmt::format("models ({} take each of them)\n", without_device);
  text += fmt::format("  {:<10} {:>5} {:>10} {:>12} {:>13} {:>9}  {}\n", "name", "units",
                      "copy GB/s", "f32 GFLOP/s", "product GFLOP", "launch us", "numbers from");
  for (const DeviceModel& model : device_models()) {
    text += fmt::format("  {:<10} {:>5} {:>10.0f} {:>12.0f} {:>13.0f} {:>9.1f}  {}\n", model.name,
                        model.multiprocessors, model.copy_gbs, model.f32_gflops,
                        model.product_gflops, model.launch_us, model.source);
  }
  return text;
}

CacheSummary cache_stats(const std::string& cache_dir) {
  return summary(cache_stats(cache_options(cache_dir)));
}
CacheSummary cache_verify(const std::string& cache_dir) {
  return summary(cache_verify(cache_options(cache_dir)));
}
CacheSummary cache_clear(const std::string& cache_dir) {
  return summary(cache_clear(cache_options(cache_dir)));
}

}  // namespace ingot
