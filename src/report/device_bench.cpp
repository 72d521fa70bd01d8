// bench on a GPU: bursts of calls over several sets of buffers, captured as graphs and timed by
// events, in turns with a copy of the same bytes.

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

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

// One program on the shared buffers.
struct Side {
  const DeviceExecutable& program;
  DeviceCall call;
  std::optional<Burst> burst;
  Samples samples;
  size_t next_set = 0;

  Side(const DeviceExecutable& of, const std::vector<std::vector<int64_t>>& shapes, bool one_stream)
      : program(of), call(of.call(shapes, one_stream)) {
    samples.group_us.resize(of.plan().groups.size());
  }

  std::vector<Tensor> results(const BufferSets& sets) {
    call.launch(sets.inputs[0], sets.outputs[0]);
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

  void capture(const BufferSets& sets, int rounds) {
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
  void time_groups(const BufferSets& sets) {
    std::vector<CudaEvent> marks;
    for (size_t g = 0; g <= samples.group_us.size(); ++g) marks.emplace_back(program.device());
    const size_t set = turn(sets);
    call.launch(sets.inputs[set], sets.outputs[set], &marks);
    call.finish();
    for (size_t g = 0; g < samples.group_us.size(); ++g) {
      samples.group_us[g].push_back(marks[g + 1].ms_since(marks[g]) * 1e3);
    }
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

// Runs all three in turns; which of the two programs is first changes from turn to turn.
void run_in_turns(Side& separate, Side& fused, CopyBurst& copy, const BufferSets& sets,
                  const BenchSettings& settings, BenchRun& run) {
  const auto warm_up = Clock::now();
  do {
    separate.burst->us_a_call();
    fused.burst->us_a_call();
    copy.time_both();
  } while (us_since(warm_up) < warm_up_seconds * 1e6);
  copy.graph_us.clear();
  copy.stream_us.clear();
  const auto start = Clock::now();
  const int wanted = settings.repeats > 0 ? settings.repeats : most_repeats;
  while (run.repeats < wanted) {
    Side* order[] = {&separate, &fused};
    if (run.repeats % 2 == 1) std::swap(order[0], order[1]);
    for (Side* side : order) side->time_kernels();
    copy.time_both();
    for (Side* side : order) side->time_calls(sets);
    for (Side* side : order) side->time_groups(sets);
    ++run.repeats;
    const double seconds = us_since(start) / 1e6;
    if (settings.progress) {
      settings.progress(settings.repeats > 0 ? static_cast<double>(run.repeats) / settings.repeats
                                             : std::min(1.0, seconds / default_seconds),
                        "separate, fused and a copy in turns");
    }
    if (settings.repeats == 0 && run.repeats >= least_repeats && seconds > default_seconds) break;
  }
  run.copy_gbs = copy.gbs();
}

BenchRun measure(const DeviceExecutable& separate, const DeviceExecutable& fused,
                 const std::vector<Tensor>& inputs, const BenchSettings& settings) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  Side first(separate, shapes, true), second(fused, shapes, false);
  first.output_shapes = second.output_shapes = fused.output_shapes(shapes);
  const BufferSets sets(second.call, inputs);
  const int rounds = static_cast<int>((least_calls - 1) / sets.count() + 1);

  BenchRun run;
  run.buffer_sets = static_cast<int>(sets.count());
  const std::vector<Tensor> of_separate = first.results(sets), of_fused = second.results(sets);
  for (size_t i = 0; i < of_fused.size(); ++i) {
    run.difference = worse(run.difference, compare(of_separate[i], of_fused[i]));
  }
  first.capture(sets, rounds);
  second.capture(sets, rounds);
  run.copy_bytes = fused_bytes(fused.plan(), sizes_of(fused.graph(), inputs));
  CopyBurst copy(second.call.stream(), run.copy_bytes, static_cast<int64_t>(sets.count()), rounds);
  run_in_turns(first, second, copy, sets, settings, run);
  run.variants = {{"separate", std::move(first.samples),
                   fused.plan().separate_bytes.evaluate(sizes_of(fused.graph(), inputs)),
                   separate.plan().groups.size()},
                  {"fused", std::move(second.samples), run.copy_bytes, fused.plan().groups.size()}};
  return run;
}

class DeviceTrial : public Trial {
 public:
  DeviceTrial(const DeviceExecutable& program, const std::vector<std::vector<int64_t>>& shapes,
              const BufferSets& sets)
      : side_(program, shapes, false), sets_(sets) {
    side_.output_shapes = program.output_shapes(shapes);
    side_.call.launch(sets.inputs[0], sets.outputs[0]);  // loads its kernels
    side_.call.finish();
    side_.capture(sets, static_cast<int>((least_calls - 1) / sets.count() + 1));
  }
  // The groups by events between them, but for a single one, which has the program's time.
  Times run() override {
    Times times{side_.burst->us_a_call(), {}};
    if (side_.samples.group_us.size() == 1) {
      times.group_us = {times.us};
      return times;
    }
    side_.time_groups(sets_);
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

std::unique_ptr<Trial> DeviceTrials::add(const DeviceExecutable& program) const {
  return std::make_unique<DeviceTrial>(program, state_->shapes, state_->sets);
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
  const BenchRun run = measure(separate, fused, inputs, settings);
  return bench_result(fused, inputs, run, settings, environment);
}

}  // namespace ingot
