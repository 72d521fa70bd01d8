// explain, bench and check: read-only views over all stages. Each is a JSON object and a text made
// from it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "loop/loop.h"
#include "plan/plan.h"
#include "run/device_executable.h"
#include "run/run.h"

namespace ingot {

using ReportJson = nlohmann::ordered_json;  // keys stay in the order they were put in
using ReportProgress = std::function<void(double done, const std::string& what)>;

// Lowered kernels of a plan: one for each schedule of each group.
using LoweredGroups = std::vector<std::vector<loop::Kernel>>;

struct MeasuredTimes {
  double separate_us, fused_us;
  std::vector<double> group_us;  // in the order of Plan::groups
  double copy_gbs;               // of a copy that moves the fused program's bytes
};

struct ExplainInput {
  const Graph& graph;  // after the passes
  const Plan& plan;
  const Plan& separate;          // the plan with fusion off
  const LoweredGroups& kernels;  // of a GPU; else not looked at
  // By kernel, what its compiler says; the others' resources are estimated.
  const std::map<std::string, ReportJson>& compiled;
  const std::string& compiler_problem;  // why it says nothing
  const DeviceModel& device;
  Bindings sizes;  // of every named dimension
  std::optional<MeasuredTimes> measured = {};
  std::map<std::string, std::string> edited_not_run = {};  // each with what ran instead
};

// The object of `explain --json`, and the same for a person.
ReportJson explain_json(const ExplainInput& input, const ReportJson& environment);
std::string explain_text(const ReportJson& explained);
// A line for each edited kernel of a report that another variant ran instead of.
std::string edited_not_run_text(const ReportJson& report);

// Ceiling of a run: the best copy loop (non-temporal with prefetch, plain where the bytes fit a
// cache) moving `bytes` read + written, on `threads` pinned threads, GB/s.
double measure_copy_gbs(int64_t bytes, int threads);

struct BenchSettings {
  int repeats = 0;  // 0: about two seconds' worth, at least 7
  int threads = 1;
  const DeviceModel* device = nullptr;
  const Graph* source = nullptr;  // as the user wrote it: of which a library's kernels are made
  // Read the hardware's counters, too. On a GPU of a process that `replay` names: it runs the
  // program once, separate ("off") or as planned ("").
  bool counters = false;
  std::function<std::vector<std::string>(const std::string& fusion)> replay;
  bool transfers = true;      // on a GPU: time calls from the host's tensors, too
  bool same_kernels = false;  // separate and fused are one program: their times differ by noise
  ReportProgress progress;
};
// Separate against fused, interleaved, medians; the object of `bench --json`, and its text.
ReportJson bench_json(const Runnable& separate, const Runnable& fused,
                      const std::vector<Tensor>& inputs, const BenchSettings& settings,
                      const ReportJson& environment);
std::string bench_text(const ReportJson& result);
// The times alone.
MeasuredTimes measure_times(const Runnable& separate, const Runnable& fused,
                            const std::vector<Tensor>& inputs, const BenchSettings& settings);

// The same on a GPU, on data that lies there: a call is one launch of a graph. Separate kernels
// that need not wait for each other also run on several streams ("separate_streams").
ReportJson device_bench_json(const DeviceExecutable& separate, const DeviceExecutable& fused,
                             const std::vector<Tensor>& inputs, const BenchSettings& settings,
                             const ReportJson& environment);
MeasuredTimes measure_device_times(const DeviceExecutable& separate, const DeviceExecutable& fused,
                                   const std::vector<Tensor>& inputs,
                                   const BenchSettings& settings);

// A program that is timed in turns with others on the same data.
class Trial {
 public:
  struct Times {
    double us;                     // of the program
    std::vector<double> group_us;  // of its groups
  };
  virtual ~Trial() = default;
  virtual Times run() = 0;
  virtual std::vector<Tensor> results() = 0;  // of one more run; until another trial's
};
// The program and the inputs outlive it. It writes to `outputs`, which trials may share.
std::unique_ptr<Trial> host_trial(const Runnable& program, const std::vector<Tensor>& inputs,
                                  const std::vector<Tensor>& outputs);
// Makes trials of one program's variants, which share the device's buffers.
class DeviceTrials {
 public:
  DeviceTrials(const DeviceExecutable& first, const std::vector<Tensor>& inputs);
  ~DeviceTrials();
  // Groups in a row with the same number in `parts` are timed together: their time stands at the
  // last of them, that of the others is 0. Empty: each by itself.
  std::unique_ptr<Trial> add(const DeviceExecutable& program,
                             const std::vector<int>& parts = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string tune_text(const ReportJson& report);  // of what Compiled::tune_json gives

struct CheckProgram {
  std::string name;  // "off", "auto", "all", "edited"
  const Runnable* executable;
};
struct CheckSettings {
  Numerics numerics = Numerics::exact;
  std::string device = "cpu";
  std::optional<double> rtol, atol;  // instead of the contract's bounds
  // Above this the naive evaluators take minutes: they are left out, and the report says so.
  double most_reference_flops = 4e9;
  ReportProgress progress;
};
// `programs` compared with each other and with both evaluators of `source`, the graph as the user
// wrote it; the first of them is the one that the others have to equal in `exact`.
ReportJson check_json(const Graph& source, const std::vector<CheckProgram>& programs,
                      const std::vector<Tensor>& inputs, const CheckSettings& settings,
                      const ReportJson& environment);
std::string check_text(const ReportJson& result);
// Whether programs whose results differ keep the contract on these inputs alone; nullopt where the
// evaluators, which have to say so in `wide` and `fast`, would take longer than a few seconds.
std::optional<bool> within_contract(const Graph& source, const std::vector<CheckProgram>& programs,
                                    const std::vector<Tensor>& inputs,
                                    const CheckSettings& settings);

// Values that an integer input takes in random data: [low, high).
struct IntegerRange {
  int64_t low, high;
  bool of_table;  // indices of a gather: they have to stay in range
};
IntegerRange input_range(const Graph& graph, NodeId input, const Bindings& sizes);
// Random data for one input: floats normal times `scale`, bool half true.
Tensor random_input(const Graph& graph, size_t input, const Bindings& sizes, uint64_t seed,
                    double scale);
// Allocates the outputs and runs.
std::vector<Tensor> run_allocating(const Runnable& executable, const std::vector<Tensor>& inputs,
                                   std::vector<GroupTiming>* timings = nullptr);

}  // namespace ingot
