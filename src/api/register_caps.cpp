// Compiled::register_caps_json: what a bound on registers does to each kernel.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/cuda_resources.h"
#include "api/environment.h"
#include "api/state.h"
#include "base/cuda_threads.h"
#include "base/text.h"
#include "plan/plan_words.h"
#include "report/number_text.h"

namespace ingot {
namespace {

using Json = ReportJson;

constexpr int fewest = 16,
              most = cuda::most_registers;  // registers that a compiler takes as a bound

void require_caps(const std::vector<int>& caps) {
  for (const int cap : caps) {
    if (cap >= fewest && cap <= most) continue;
    throw Error(ErrorKind::input,
                fmt::format("a cap of {} registers: {} to {} a thread", cap, fewest, most));
  }
  if (caps.empty()) throw Error(ErrorKind::input, "no register caps are given");
}

Json candidate_json(const KernelResources& found, int cap) {
  const CudaKernelResources& all = found.functions;
  return {{"cap", cap > 0 ? Json(cap) : Json(nullptr)},
          {"registers", all.registers},
          {"spill_store_bytes", all.spill_store_bytes},
          {"spill_load_bytes", all.spill_load_bytes},
          {"stack_bytes", all.stack_bytes},
          {"instructions", all.instructions},
          {"blocks_per_sm", found.occupancy.blocks},
          {"occupancy", found.occupancy.occupancy},
          {"occupancy_limit", found.occupancy.limit},
          {"measured_us", nullptr}};
}

// A block that needs more registers than there are does not start.
bool all_start(const std::map<std::string, KernelResources>& kernels) {
  return std::ranges::all_of(kernels,
                             [](const auto& kernel) { return kernel.second.occupancy.blocks > 0; });
}

// Something to show, or an error that says why there is nothing.
void require_some(const CudaResources& found, const std::map<std::string, std::string>& obstacles) {
  if (!found.kernels.empty()) return;
  if (!found.problem.empty()) throw Error(ErrorKind::input, found.problem);
  std::vector<std::string> notes;
  for (const auto& [name, obstacle] : obstacles) notes.push_back(name + ": " + obstacle);
  if (notes.empty()) throw Error(ErrorKind::input, "the program has no kernels to tune");
  throw Error(ErrorKind::unsupported, "none of the kernels has a form for a GPU yet", {}, notes);
}

}  // namespace

std::string Compiled::register_caps_json(const std::vector<int>& caps) const {
  require_caps(caps);
  if (!state().device.gpu) {
    throw Error(ErrorKind::input, "register caps are for the kernels of a GPU", {},
                {"device cuda, or a device model: " + join(device_names(), ", ")});
  }
  const Pipeline& pipeline = state().lowered();
  const Bindings sizes = state().report_sizes();
  const std::vector<KernelToCompile> chosen = chosen_kernels(pipeline, sizes);
  std::vector<int> tried = {0};
  tried.insert(tried.end(), caps.begin(), caps.end());
  std::vector<CudaResources> found;
  for (const int cap : tried) {
    CudaOptions options;
    options.cache_dir = state().options.cache_dir;
    options.max_registers = cap;
    found.push_back(cuda_resources(chosen, state().device, sizes, options));
  }
  const std::map<std::string, std::string> obstacles = obstacles_of(pipeline);
  require_some(found[0], obstacles);
  Json groups = Json::array();
  for (size_t g = 0; g < chosen.size(); ++g) {
    const std::string& name = chosen[g].source->name;
    if (const auto why = obstacles.find(name); why != obstacles.end()) {
      groups.push_back({{"group", pipeline.plan.groups[g].name},
                        {"kernel", name},
                        {"obstacle", why->second},
                        {"candidates", Json::array()}});
      continue;
    }
    Json candidates = Json::array();
    for (size_t c = 0; c < tried.size(); ++c) {
      candidates.push_back(candidate_json(found[c].kernels.at(name), tried[c]));
    }
    groups.push_back({{"group", pipeline.plan.groups[g].name},
                      {"kernel", name},
                      {"obstacle", nullptr},
                      {"threads_per_block", found[0].kernels.at(name).threads_per_block},
                      {"candidates", candidates},
                      {"position", g}});
  }
  const bool runs = state().target.cuda && obstacles.empty();
  for (size_t c = 0; c < tried.size() && runs; ++c) {
    if (!all_start(found[c].kernels)) continue;
    const std::vector<double> us = state().times_with_cap(tried[c]);
    for (Json& group : groups) {
      group["candidates"][c]["measured_us"] = us.at(group["position"].get<size_t>());
    }
  }
  for (Json& group : groups) group.erase("position");
  return Json{{"graph", state().graph.name},
              {"device", state().device.name},
              {"numerics", numerics_text(state().planning.numerics)},
              {"dims", state().options.sizes},
              {"environment", environment_of(state().options)},
              {"groups", groups}}
      .dump(2);
}

std::string Compiled::register_caps_text(const std::string& json) {
  const Json report = Json::parse(json, nullptr, false);
  if (!report.is_object() || !report.contains("groups")) {
    throw Error(ErrorKind::input, "register_caps_text: this is no report of register_caps_json");
  }
  std::string out =
      fmt::format("{} on {}, numerics {}\n", report["graph"].get<std::string>(),
                  report["device"].get<std::string>(), report["numerics"].get<std::string>());
  for (const Json& group : report["groups"]) {
    if (!group["obstacle"].is_null()) {
      out += fmt::format("\n{} (kernel {}) does not run on a GPU: {}\n",
                         group["group"].get<std::string>(), group["kernel"].get<std::string>(),
                         group["obstacle"].get<std::string>());
      continue;
    }
    out +=
        fmt::format("\n{} (kernel {}), {} threads a block\n", group["group"].get<std::string>(),
                    group["kernel"].get<std::string>(), group["threads_per_block"].get<int64_t>());
    out += "  cap      registers  spilled  stack  blocks  occupancy  limited by       time\n";
    for (const Json& candidate : group["candidates"]) {
      const int64_t blocks = candidate["blocks_per_sm"];
      out += fmt::format(
          "  {:<7}  {:>9}  {:>7}  {:>5}  {:>6}  {:>7.0f} %  {:<10} {:>10}\n",
          candidate["cap"].is_null() ? "none" : fmt::to_string(candidate["cap"].get<int>()),
          candidate["registers"].get<int64_t>(), candidate["spill_store_bytes"].get<int64_t>(),
          candidate["stack_bytes"].get<int64_t>(), blocks,
          100 * candidate["occupancy"].get<double>(),
          candidate["occupancy_limit"].get<std::string>(),
          blocks == 0                          ? "no start"
          : candidate["measured_us"].is_null() ? "-"
                                               : time_text(candidate["measured_us"].get<double>()));
    }
  }
  return out;
}

}  // namespace ingot
