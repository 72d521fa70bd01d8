// bench on a GPU: bursts of calls over several sets of buffers, captured as graphs and timed by
// events, in turns with a copy of the same bytes.

#include <algorithm>
#include <chrono>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/bench_result.h"
#include "report/report.h"

namespace ingot {
namespace {

constexpr int least_repeats = 7, most_repeats = 1000;
constexpr int least_calls = 4;  // of a burst
constexpr int most_sets = 512;
constexpr int64_t caches_passed = 4;     // the sets are this many times as large as the L2 cache
constexpr double default_seconds = 1;    // of repeats
constexpr double warm_up_seconds = 0.2;  // for the clocks
constexpr int host_calls = 32;           // timed together: fewer than a stream queues
// Calls with transfers may take a hundred times as long as the program.
constexpr int most_transfers = 7;
constexpr double transfer_seconds = 0.3;

constexpr const char* no_overlap =
    "no two of its kernels are independent of each other and small enough to run side by side";
constexpr const char* no_library = "no library of kernels is used on a GPU yet";

using Clock = std::chrono::steady_clock;
double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

using Addresses = std::vector<void*>;

// Inputs and outputs on the device, several times.
struct BufferSets {
  std::vector<CudaMemory> memory;
  std::vector<Addresses> inputs, outputs;  // of each set

  BufferSets(const DeviceCall& call, const std::vector<Tensor>& data) {
    int64_t bytes = 1;
    for (const int64_t each : call.input_bytes()) bytes += each;
    for (const int64_t each : call.output_bytes()) bytes += each;
    const CudaDevice& device = call.stream().device();
    const int64_t wanted = (caches_passed * device.info().l2_bytes - 1) / bytes + 1;
    const int64_t possible = std::max<int64_t>(1, device.free_bytes() / 3 / bytes);
    const int64_t count = std::min(std::clamp<int64_t>(wanted, least_calls, most_sets), possible);
    for (int64_t set = 0; set < count; ++set) {
      inputs.push_back(allocate(call.stream(), call.input_bytes()));
      outputs.push_back(allocate(call.stream(), call.output_bytes()));
      for (size_t i = 0; i < data.size(); ++i) {
        void* const to = inputs.back()[i];
        if (set == 0) {
          copy_to_device(call.stream(), to, data[i].data(), data[i].bytes());
        } else {
          copy_on_device(call.stream(), to, inputs[0][i], data[i].bytes());
        }
      }
    }
    call.stream().synchronize();
  }
  size_t count() const { return inputs.size(); }

 private:
  Addresses allocate(const CudaStream& stream, const std::vector<int64_t>& bytes) {
    Addresses addresses;
    for (const int64_t each : bytes) {
      memory.emplace_back(stream, each);
      addresses.push_back(memory.back().address());
    }
    return addresses;
  }
};

// A piece of work that is captured once and timed as a whole.
struct Burst {
  const CudaStream& stream;
  CudaGraph graph;
  CudaEvent start, end;
  double calls;

  Burst(const CudaStream& on, double count, const std::function<void()>& work)
      : stream(on), graph(on, work), start(on.device()), end(on.device()), calls(count) {}
  double us_a_call() const {
    stream.record(start);
    graph.launch(stream);
    stream.record(end);
    end.synchronize();
    return end.ms_since(start) * 1e3 / calls;
  }
};

// A program's groups one after the other in a captured graph, with events between them: launched
// one by one, small kernels would be timed as fast as the host launches them.
class GroupTimer {
 public:
  // Groups in a row with the same number in `parts` are timed together.
  GroupTimer(DeviceCall& call, const BufferSets& sets, const std::vector<int>& parts)
      : stream_(call.stream()) {
    marks_.emplace_back(CudaEvent(stream_.device()));
    for (size_t g = 0; g < parts.size(); ++g) {
      marks_.emplace_back();
      if (g + 1 == parts.size() || parts[g] != parts[g + 1]) {
        marks_.back().emplace(stream_.device());
      }
    }
    graph_.emplace(stream_, [&] { call.launch(sets.inputs[0], sets.outputs[0], &marks_); });
  }
  // Of each group; that of several stands at the last of them.
  std::vector<double> us() const {
    graph_->launch(stream_);
    stream_.synchronize();
    std::vector<double> times(marks_.size() - 1, 0);
    const CudaEvent* before = &*marks_[0];
    for (size_t g = 0; g < times.size(); ++g) {
      if (!marks_[g + 1]) continue;
      times[g] = marks_[g + 1]->ms_since(*before) * 1e3;
      before = &*marks_[g + 1];
    }
    return times;
  }

 private:
  const CudaStream& stream_;
  GroupMarks marks_;
  std::optional<CudaGraph> graph_;
};

std::vector<int> each_by_itself(size_t groups) {
  std::vector<int> parts(groups);
  std::iota(parts.begin(), parts.end(), 0);
  return parts;
}

// One program on the shared buffers.
struct Side {
  std::string name;
  const DeviceExecutable& program;
  DeviceCall call;
  std::optional<Burst> burst;
  std::optional<GroupTimer> groups;
  Samples samples;
  size_t next_set = 0;

  Side(std::string called, const DeviceExecutable& of,
       const std::vector<std::vector<int64_t>>& shapes, bool one_stream)
      : name(std::move(called)), program(of), call(of.call(shapes, one_stream)) {
    samples.group_us.resize(of.plan().groups.size());
  }

  // Of the graph, in which kernels may run side by side; kernel by kernel first, which loads them.
  std::vector<Tensor> results(const BufferSets& sets) {
    call.launch(sets.inputs[0], sets.outputs[0]);
    call.finish();
    call.launch_graph(sets.inputs[0], sets.outputs[0]);
    call.finish();
    std::vector<Tensor> tensors;
    const Graph& graph = program.graph();
    for (size_t i = 0; i < sets.outputs[0].size(); ++i) {
      tensors.push_back(
          Tensor::uninitialized(graph[graph.outputs[i]].type.dtype, output_shapes[i]));
      copy_to_host(call.stream(), tensors[i].data(), sets.outputs[0][i], tensors[i].bytes());
    }
    call.stream().synchronize();
    return tensors;
  }
  std::vector<std::vector<int64_t>> output_shapes;

  void capture(const BufferSets& sets, int rounds, const std::vector<int>& parts) {
    groups.emplace(call, sets, parts);
    burst.emplace(call.stream(), static_cast<double>(sets.count()) * rounds, [&] {
      for (int round = 0; round < rounds; ++round) {
        for (size_t set = 0; set < sets.count(); ++set) {
          call.launch(sets.inputs[set], sets.outputs[set]);
        }
      }
    });
  }
  size_t turn(const BufferSets& sets) { return next_set = (next_set + 1) % sets.count(); }

  void time_kernels() { samples.kernel_us.push_back(burst->us_a_call()); }
  // Calls of the burst again, but kernel by kernel; the host takes some us for each of those.
  void time_launched(const BufferSets& sets) {
    constexpr size_t most_launches = 4096;
    const CudaStream& stream = call.stream();
    const size_t enough = std::max<size_t>(least_calls, most_launches / (call.launches() + 1));
    const size_t calls = std::min(static_cast<size_t>(burst->calls), enough);
    stream.record(burst->start);
    for (size_t i = 0; i < calls; ++i) {
      call.launch(sets.inputs[i % sets.count()], sets.outputs[i % sets.count()]);
    }
    stream.record(burst->end);
    burst->end.synchronize();
    samples.launched_us.push_back(burst->end.ms_since(burst->start) * 1e3 /
                                  static_cast<double>(calls));
  }
  void time_with_transfer(const std::vector<Tensor>& inputs) {
    const auto start = Clock::now();
    run_allocating(program, inputs);
    samples.with_transfer_us.push_back(us_since(start));
  }
  void time_calls(const BufferSets& sets) {
    size_t set = turn(sets);
    call.launch_graph(sets.inputs[set], sets.outputs[set]);  // the first one captures
    call.finish();
    set = turn(sets);
    const auto start = Clock::now();
    call.launch_graph(sets.inputs[set], sets.outputs[set]);
    call.finish();
    samples.end_to_end_us.push_back(us_since(start));
    const auto many = Clock::now();
    for (int i = 0; i < host_calls; ++i) {
      set = turn(sets);
      call.launch_graph(sets.inputs[set], sets.outputs[set]);
    }
    samples.host_us.push_back(us_since(many) / host_calls);
    call.finish();
  }
  void time_groups() {
    const std::vector<double> us = groups->us();
    for (size_t g = 0; g < us.size(); ++g) samples.group_us[g].push_back(us[g]);
  }
};

// Half of the bytes read, half written. The driver may copy in other ways in a graph than on a
// stream: both are timed, and the faster one is the ceiling.
struct CopyBurst {
  const CudaStream& stream;
  int64_t half, sets, copies;
  CudaMemory from, to;
  Burst in_graph;
  std::vector<double> graph_us, stream_us;

  CopyBurst(const CudaStream& on, int64_t bytes, int64_t of_sets, int rounds)
      : stream(on),
        half(std::max<int64_t>(bytes / 2, 1)),
        sets(of_sets),
        copies(of_sets * rounds),
        from(on, half * sets),
        to(on, half * sets),
        in_graph(on, static_cast<double>(copies), [this] { enqueue(); }) {
    fill_bytes(on, from.address(), 1, from.bytes());
  }
  void enqueue() const {
    for (int64_t copy = 0; copy < copies; ++copy) {
      const int64_t offset = copy % sets * half;
      copy_on_device(stream, static_cast<std::byte*>(to.address()) + offset,
                     static_cast<std::byte*>(from.address()) + offset, half);
    }
  }
  void time_both() {
    graph_us.push_back(in_graph.us_a_call());
    stream.record(in_graph.start);
    enqueue();
    stream.record(in_graph.end);
    in_graph.end.synchronize();
    stream_us.push_back(in_graph.end.ms_since(in_graph.start) * 1e3 / static_cast<double>(copies));
  }
  double gbs() const {
    return static_cast<double>(2 * half) / std::min(median(graph_us), median(stream_us)) / 1e3;
  }
};

// The separate kernels a second time: those that do not need each other on several streams. They
// run so in a graph only, so what is not timed in one would be the same again.
bool only_in_graph(const Side& side) { return side.name == "separate_streams"; }

// All in turns; which of the programs is first changes from turn to turn.
class Turns {
 public:
  Turns(std::vector<Side*> sides, CopyBurst& copy, const BufferSets& sets,
        const std::vector<Tensor>& inputs, const BenchSettings& settings)
      : sides_(std::move(sides)), copy_(copy), sets_(sets), inputs_(inputs), settings_(settings) {}

  // How many there were.
  int run() {
    warm_up();
    const auto start = Clock::now();
    const int wanted = settings_.repeats > 0 ? settings_.repeats : most_repeats;
    int done = 0;
    while (done < wanted) {
      turn();
      ++done;
      const double seconds = us_since(start) / 1e6;
      if (settings_.progress) {
        settings_.progress(settings_.repeats > 0 ? static_cast<double>(done) / settings_.repeats
                                                 : std::min(1.0, seconds / default_seconds),
                           "separate, fused and a copy in turns");
      }
      if (settings_.repeats == 0 && done >= least_repeats && seconds > default_seconds) break;
    }
    return done;
  }

 private:
  void warm_up() {
    const auto start = Clock::now();
    do {
      for (Side* side : sides_) side->burst->us_a_call();
      copy_.time_both();
    } while (us_since(start) < warm_up_seconds * 1e6);
    copy_.graph_us.clear();
    copy_.stream_us.clear();
  }
  void turn() {
    for (Side* side : sides_) side->time_kernels();
    copy_.time_both();
    for (Side* side : sides_) side->time_calls(sets_);
    for (Side* side : sides_) {
      if (only_in_graph(*side)) continue;
      side->time_launched(sets_);
      side->time_groups();
    }
    if (settings_.transfers && transfers_ < most_transfers &&
        transfer_us_ < transfer_seconds * 1e6) {
      transfer();
    }
    std::rotate(sides_.begin(), sides_.begin() + 1, sides_.end());
  }
  // Such a call takes memory of its own beside the buffers; without it these times are left out.
  void transfer() {
    const auto start = Clock::now();
    try {
      for (Side* side : sides_) {
        if (!only_in_graph(*side)) side->time_with_transfer(inputs_);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      for (Side* side : sides_) side->samples.with_transfer_us.clear();
      transfers_ = most_transfers;
      return;
    }
    ++transfers_;
    transfer_us_ += us_since(start);
  }

  std::vector<Side*> sides_;
  CopyBurst& copy_;
  const BufferSets& sets_;
  const std::vector<Tensor>& inputs_;
  const BenchSettings& settings_;
  int transfers_ = 0;
  double transfer_us_ = 0;
};

// What the sides are measured with.
BenchRun measured(std::vector<Side>& sides, const std::vector<Tensor>& inputs,
                  const BenchSettings& settings) {
  Side& fused = sides[1];
  const BufferSets sets(fused.call, inputs);
  const int rounds = static_cast<int>((least_calls - 1) / sets.count() + 1);

  BenchRun run;
  run.buffer_sets = static_cast<int>(sets.count());
  const std::vector<Tensor> of_separate = sides[0].results(sets);
  for (size_t s = 1; s < sides.size(); ++s) {
    const std::vector<Tensor> results = sides[s].results(sets);
    for (size_t i = 0; i < results.size(); ++i) {
      run.difference = worse(run.difference, compare(of_separate[i], results[i]));
    }
  }
  std::vector<Side*> turning;
  for (Side& side : sides) {
    side.capture(sets, rounds, each_by_itself(side.program.plan().groups.size()));
    turning.push_back(&side);
  }
  const Plan& plan = fused.program.plan();
  const Bindings sizes = sizes_of(fused.program.graph(), inputs);
  run.copy_bytes = fused_bytes(plan, sizes);
  CopyBurst copy(fused.call.stream(), run.copy_bytes, static_cast<int64_t>(sets.count()), rounds);
  run.repeats = Turns(turning, copy, sets, inputs, settings).run();
  run.copy_gbs = copy.gbs();
  const int64_t separate_bytes = plan.separate_bytes.evaluate(sizes);
  for (Side& side : sides) {
    const bool is_fused = &side == &fused;
    run.variants.push_back({side.name, std::move(side.samples),
                            is_fused ? run.copy_bytes : separate_bytes,
                            side.program.plan().groups.size()});
  }
  return run;
}

// Empty, or why there is no such side.
std::string add_streams(std::vector<Side>& sides, const DeviceExecutable& separate,
                        const std::vector<std::vector<int64_t>>& shapes) {
  try {
    Side streams("separate_streams", separate, shapes, false);
    if (streams.call.streams() == 1) return no_overlap;
    sides.push_back(std::move(streams));
    return "";
  } catch (const Error& error) {  // no memory for a second set of intermediates
    if (error.kind() != ErrorKind::input) throw;
    return in_one_line(error);
  }
}

BenchRun measure(const DeviceExecutable& separate, const DeviceExecutable& fused,
                 const std::vector<Tensor>& inputs, const BenchSettings& settings) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  std::vector<Side> sides;
  sides.emplace_back("separate", separate, shapes, true);
  sides.emplace_back("fused", fused, shapes, false);
  const std::string alone = add_streams(sides, separate, shapes);
  for (Side& side : sides) side.output_shapes = fused.output_shapes(shapes);
  BenchRun run = measured(sides, inputs, settings);
  if (!alone.empty()) run.left_out.push_back({"separate_streams", alone});
  run.left_out.push_back({"library", no_library});
  return run;
}

// Separate and fused, each in a process of its own.
void count_kernels(BenchRun& run, const BenchSettings& settings) {
  if (!settings.replay) {
    run.counters_problem = "no command was given that runs the program under a profiler";
    return;
  }
  for (size_t i = 0; i < 2; ++i) {
    NcuRun counted = run_under_ncu(settings.replay(i == 0 ? "off" : ""));
    run.counters_problem = counted.problem;
    if (!counted.problem.empty()) return;
    run.variants[i].counts.emplace().kernels = std::move(counted.kernels);
  }
}

class DeviceTrial : public Trial {
 public:
  DeviceTrial(const DeviceExecutable& program, const std::vector<std::vector<int64_t>>& shapes,
              const BufferSets& sets, const std::vector<int>& parts)
      : side_("trial", program, shapes, false), sets_(sets) {
    side_.output_shapes = program.output_shapes(shapes);
    side_.call.launch(sets.inputs[0], sets.outputs[0]);  // loads its kernels
    side_.call.finish();
    side_.capture(sets, static_cast<int>((least_calls - 1) / sets.count() + 1),
                  parts.empty() ? each_by_itself(program.plan().groups.size()) : parts);
  }
  // The groups by events between them, but for a single one, which has the program's time.
  Times run() override {
    Times times{side_.burst->us_a_call(), {}};
    if (side_.samples.group_us.size() == 1) {
      times.group_us = {times.us};
      return times;
    }
    side_.time_groups();
    for (const std::vector<double>& group : side_.samples.group_us) {
      times.group_us.push_back(group.back());
    }
    return times;
  }
  std::vector<Tensor> results() override { return side_.results(sets_); }

 private:
  Side side_;
  const BufferSets& sets_;
};

}  // namespace

struct DeviceTrials::State {
  std::vector<std::vector<int64_t>> shapes;
  DeviceCall call;
  BufferSets sets;
  State(const DeviceExecutable& first, std::vector<std::vector<int64_t>> of_inputs,
        const std::vector<Tensor>& inputs)
      : shapes(std::move(of_inputs)), call(first.call(shapes)), sets(call, inputs) {}
};

DeviceTrials::DeviceTrials(const DeviceExecutable& first, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  state_ = std::make_unique<State>(first, std::move(shapes), inputs);
}
DeviceTrials::~DeviceTrials() = default;

std::unique_ptr<Trial> DeviceTrials::add(const DeviceExecutable& program,
                                         const std::vector<int>& parts) const {
  return std::make_unique<DeviceTrial>(program, state_->shapes, state_->sets, parts);
}

MeasuredTimes measure_device_times(const DeviceExecutable& separate, const DeviceExecutable& fused,
                                   const std::vector<Tensor>& inputs,
                                   const BenchSettings& settings) {
  const BenchRun run = measure(separate, fused, inputs, settings);
  return measured_times(run.variants[0].samples, run.variants[1].samples, run.copy_gbs);
}

ReportJson device_bench_json(const DeviceExecutable& separate, const DeviceExecutable& fused,
                             const std::vector<Tensor>& inputs, const BenchSettings& settings,
                             const ReportJson& environment) {
  BenchRun run = measure(separate, fused, inputs, settings);
  if (settings.counters) count_kernels(run, settings);
  return bench_result(fused, inputs, run, settings, environment);
}

}  // namespace ingot
