// explain, bench and check: read-only views over all stages. JSON in the form of interface.md.
#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "plan/plan.h"
#include "run/run.h"

namespace ingot {

struct MeasuredTimes {
  double separate_us, fused_us;
  std::vector<GroupTiming> groups;
};

// The object of `explain --json`.
nlohmann::json explain_json(const Graph& graph, const Plan& plan, const DeviceModel& device,
                            const Bindings& sizes, const std::optional<MeasuredTimes>& measured,
                            const nlohmann::json& environment);
// The same for a person.
std::string explain_text(const nlohmann::json& explained);

// Ceiling of a run: the best copy loop (non-temporal with prefetch) moving `bytes` in total, GB/s.
double measure_copy_gbs(int64_t bytes, int threads);

// Separate against fused, interleaved, medians; the object of `bench --json`.
nlohmann::json bench_json(const Executable& separate, const Executable& fused,
                          const std::vector<Tensor>& inputs, int repeats, int threads,
                          const nlohmann::json& environment);
std::string bench_text(const nlohmann::json& result);

nlohmann::json environment_json(const std::string& device, int threads);

}  // namespace ingot
