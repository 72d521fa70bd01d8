#include "api/device_rates.h"

#include <filesystem>

#include <ingot/ingot.h>
#include <nlohmann/json.hpp>

#include "api/device.h"
#include "api/environment.h"
#include "api/tuning_file.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/jit.h"

namespace ingot {
namespace {

using Json = nlohmann::ordered_json;

constexpr int repeats = 7;
constexpr int links = 16;  // of a chain of kernels, or of operations

// A chain of one op; `separate`: a kernel each.
struct Chain {
  const char* op;
  bool separate;
  int64_t elements;
  int length;
};

// The median of a run's time in kernels, µs.
double time_of(const Options& options, const std::string& text, bool separate) {
  Options own = options;
  own.tuning_file = "none";
  const Program program = Program::parse(text, "<device rates>");
  std::vector<Tensor> inputs;
  for (const Port& port : program.inputs()) {
    inputs.push_back(program.sample(port.name, "random", {}));
  }
  const Json report = Json::parse(program.compile(own).bench_json(inputs, {repeats, {}, false}));
  return report["results"][separate ? 0 : 1]["kernel_us"]["median"].get<double>();
}

double time_of(const Options& options, const Chain& chain) {
  std::string text = fmt::format("graph rates(x: f32[{}]) {{\n", chain.elements), before = "x";
  for (int i = 0; i < chain.length; ++i) {
    const std::string operands =
        chain.op == std::string_view("fma") ? before + ", 0.5, 0.25" : before;
    text += fmt::format("  v{} = {}({})\n", i, chain.op, operands);
    before = fmt::format("v{}", i);
  }
  return time_of(options, text + fmt::format("  return {}\n}}\n", before), chain.separate);
}

std::string path_of(const Options& options) {
  JitOptions jit;
  jit.cache_dir = options.cache_dir;
  return cache_directory(jit) + "/devices.json";
}

Json read_all(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Json::object();
  Json all = Json::parse(read_file(path), nullptr, false);
  if (all.is_object()) return all;
  warn(fmt::format("{}: damaged; `ingot devices` measures again", path));
  return Json::object();
}

}  // namespace

DeviceRates measure_rates(const Options& options, const Progress& progress) {
  const bool gpu = options.device != "cpu";
  const int64_t beyond = (int64_t{1} << 20) * (gpu ? 128 : 32), near = gpu ? 2 << 20 : 256 << 10;
  const int64_t many = int64_t{1} << (gpu ? 24 : 18), few = 256;
  constexpr double width = sizeof(float);
  DeviceRates rates;
  auto say = [&](double done, const char* what) {
    if (progress) progress(done, what);
  };
  say(0, "copy rate");
  rates.copy_gbs =
      2 * width * static_cast<double>(beyond) / time_of(options, {"neg", false, beyond, 1}) / 1e3;
  say(0.2, "read rate");
  const std::string sum =
      fmt::format("graph rates(x: f32[{}, 4096]) {{ s = sum(x) return s }}", beyond / 4096);
  rates.read_gbs = width * static_cast<double>(beyond) / time_of(options, sum, false) / 1e3;
  say(0.4, "start of a kernel");
  rates.launch_us = time_of(options, {"fma", true, few, links}) / links;
  say(0.5, "rate of the cache");
  const double chain_us = time_of(options, {"fma", true, near, links}) / links - rates.launch_us;
  rates.cache_gbs = 2 * width * static_cast<double>(near) / std::max(chain_us, 1e-3) / 1e3;
  say(0.7, "multiply-adds");
  constexpr int operations = 8 * links;
  rates.f32_gflops = 2.0 * operations * static_cast<double>(many) /
                     time_of(options, {"fma", false, many, operations}) / 1e3;
  say(0.85, "special functions");
  rates.sigmoid_gps =
      static_cast<double>(links * many) / time_of(options, {"sigmoid", false, many, links}) / 1e3;
  rates.date = date_text().substr(0, std::string_view("2026-11-30").size());
  return rates;
}

std::optional<DeviceRates> known_rates(const Options& options, const DeviceModel& device) {
  const Json all = read_all(path_of(options));
  const auto found = all.find(tuning_device(device, options.threads));
  if (found == all.end()) return std::nullopt;
  try {
    DeviceRates rates;
    for (auto [name, value] : {std::pair{"copy_gbs", &rates.copy_gbs},
                               {"read_gbs", &rates.read_gbs},
                               {"cache_gbs", &rates.cache_gbs},
                               {"launch_us", &rates.launch_us},
                               {"f32_gflops", &rates.f32_gflops},
                               {"sigmoid_gps", &rates.sigmoid_gps}}) {
      *value = found->at(name).get<double>();
      if (!(*value > 0 && *value < 1e9)) return std::nullopt;
    }
    rates.date = found->at("date").get<std::string>();
    return rates;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void keep_rates(const Options& options, const DeviceModel& device, const DeviceRates& rates) {
  const std::string path = path_of(options);
  Json all = read_all(path);
  all[tuning_device(device, options.threads)] = {{"copy_gbs", rates.copy_gbs},
                                                 {"read_gbs", rates.read_gbs},
                                                 {"cache_gbs", rates.cache_gbs},
                                                 {"launch_us", rates.launch_us},
                                                 {"f32_gflops", rates.f32_gflops},
                                                 {"sigmoid_gps", rates.sigmoid_gps},
                                                 {"date", rates.date}};
  write_file(path, all.dump(2) + "\n");
}

DeviceModel with_rates(const DeviceModel& device, const DeviceRates& rates) {
  DeviceModel model = device;
  model.copy_gbs = rates.copy_gbs;
  model.read_gbs = rates.read_gbs;
  model.cache_gbs = rates.cache_gbs;
  model.launch_us = rates.launch_us;
  model.instructions_gps *= rates.f32_gflops / model.f32_gflops;
  model.f32_gflops = rates.f32_gflops;
  model.source = fmt::format("measured on {}; the rest: {}", rates.date, device.source);
  return model;
}

}  // namespace ingot
