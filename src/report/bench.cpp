// bench: separate against fused in one process, interleaved, with the copy rate beside them.

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/bench_result.h"
#include "report/report.h"
#include "run/library_program.h"

namespace ingot {
namespace {

constexpr int least_repeats = 7, most_repeats = 1000;
constexpr double default_seconds = 2;

using Clock = std::chrono::steady_clock;
double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::vector<std::vector<int64_t>> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

constexpr const char* no_streams =
    "a CPU runs one kernel at a time, each on all threads: no overlap is lost";

// One program with its outputs allocated once, as a caller that cares for time would.
struct Runner {
  const Runnable& executable;
  const std::vector<Tensor>& inputs;
  std::vector<Tensor> outputs;
  std::vector<TensorView> input_views, output_views;
  Samples samples;

  Runner(const Runnable& program, const std::vector<Tensor>& data)
      : Runner(program, data, run_allocating(program, data)) {}
  Runner(const Runnable& program, const std::vector<Tensor>& data, std::vector<Tensor> results)
      : executable(program), inputs(data), outputs(std::move(results)) {
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
    const auto start = Clock::now();
    run_allocating(executable, inputs);
    samples.end_to_end_us.push_back(us_since(start));
  }
};

class HostTrial : public Trial {
 public:
  HostTrial(const Runnable& program, const std::vector<Tensor>& inputs,
            const std::vector<Tensor>& outputs)
      : runner_(program, inputs, outputs) {}
  Times run() override {
    runner_.run_once();
    Times times{runner_.samples.kernel_us.back(), {}};
    for (const std::vector<double>& group : runner_.samples.group_us) {
      times.group_us.push_back(group.back());
    }
    return times;
  }
  std::vector<Tensor> results() override {
    runner_.run_once();
    return runner_.outputs;
  }

 private:
  Runner runner_;
};

// The library's way. Its threads wait for work by spinning, as ours do, and would take our cores
// for a while after each of its calls: so it runs in two blocks, before and after our turns.
struct LibraryRunner {
  LibraryProgram& program;
  const std::vector<Tensor>& inputs;
  std::vector<Tensor> outputs;
  Samples samples;

  LibraryRunner(LibraryProgram& of, const std::vector<Tensor>& data)
      : program(of), inputs(data), outputs(of.new_outputs()) {}

  void block(int repeats) {
    constexpr std::chrono::milliseconds until_threads_sleep(50);
    std::this_thread::sleep_for(until_threads_sleep);
    program.run(inputs, outputs);  // wakes them
    const auto start = Clock::now();
    const int wanted = repeats > 0 ? (repeats + 1) / 2 : most_repeats / 2;
    for (int done = 0; done < wanted; ++done) {
      const bool enough = done >= least_repeats && us_since(start) > default_seconds * 1e6 / 4;
      if (repeats == 0 && enough) break;
      const auto call = Clock::now();
      program.run(inputs, outputs);
      samples.kernel_us.push_back(us_since(call));
      const auto whole = Clock::now();
      std::vector<Tensor> fresh = program.new_outputs();
      program.run(inputs, fresh);
      samples.end_to_end_us.push_back(us_since(whole));
    }
    std::this_thread::sleep_for(until_threads_sleep);
  }
};

// Runs both in turns; which one is first changes from turn to turn.
int run_interleaved(Runner& separate, Runner& fused, const BenchSettings& settings,
                    bool with_end_to_end) {
  const auto start = Clock::now();
  const auto seconds = [&] { return us_since(start) / 1e6; };
  const int wanted = settings.repeats > 0 ? settings.repeats : most_repeats;
  int done = 0;
  while (done < wanted) {
    Runner* order[] = {&separate, &fused};
    if (done % 2 == 1) std::swap(order[0], order[1]);
    for (Runner* runner : order) runner->run_once();
    if (with_end_to_end) {
      for (Runner* runner : order) runner->run_end_to_end();
    }
    ++done;
    if (settings.progress) {
      const double repeats = settings.repeats > 0 ? settings.repeats : most_repeats;
      const double part = static_cast<double>(done) / repeats;
      settings.progress(
          settings.repeats > 0 ? part : std::min(1.0, std::max(seconds() / default_seconds, part)),
          "separate and fused in turns");
    }
    if (settings.repeats == 0 && done >= least_repeats && seconds() > default_seconds) break;
  }
  return done;
}

void add_library(const LibraryRunner& library, const Runner& fused, BenchRun& run) {
  Comparison difference;
  for (size_t i = 0; i < library.outputs.size(); ++i) {
    difference = worse(difference, compare(fused.outputs[i], library.outputs[i]));
  }
  Variant variant{"library", library.samples, library.program.bytes(), library.program.primitives(),
                  library.program.text()};
  variant.difference = difference;
  run.variants.push_back(std::move(variant));
}

// Calls of separate and fused, one after the other, on the threads that ran them before.
void count_calls(const Runner& separate, const Runner& fused, BenchRun& run) {
  constexpr int least_calls = 5;
  constexpr double least_us = 1e5;
  const Runner* runners[] = {&separate, &fused};
  for (size_t i = 0; i < 2; ++i) {
    PerfCounters counters;
    run.counters_problem = counters.problem();
    if (!counters.problem().empty()) return;
    const Runner& runner = *runners[i];
    HardwareCounts counts;
    const auto start = Clock::now();
    counters.start();
    while (counts.calls < least_calls || us_since(start) < least_us) {
      runner.executable.run(runner.input_views, runner.output_views);
      ++counts.calls;
    }
    counts.cpu = counters.stop();
    run.variants[i].counts = counts;
  }
}

}  // namespace

std::unique_ptr<Trial> host_trial(const Runnable& program, const std::vector<Tensor>& inputs,
                                  const std::vector<Tensor>& outputs) {
  return std::make_unique<HostTrial>(program, inputs, outputs);
}

MeasuredTimes measure_times(const Runnable& separate, const Runnable& fused,
                            const std::vector<Tensor>& inputs, const BenchSettings& settings) {
  const int64_t bytes = fused_bytes(fused.plan(), sizes_of(fused.graph(), inputs));
  const double copy_before = measure_copy_gbs(bytes, settings.threads);
  Runner first(separate, inputs), second(fused, inputs);
  run_interleaved(first, second, settings, false);
  return measured_times(first.samples, second.samples,
                        std::max(copy_before, measure_copy_gbs(bytes, settings.threads)));
}

ReportJson bench_json(const Runnable& separate, const Runnable& fused,
                      const std::vector<Tensor>& inputs, const BenchSettings& settings,
                      const ReportJson& environment) {
  BenchRun run;
  const Bindings sizes = sizes_of(fused.graph(), inputs);
  run.copy_bytes = fused_bytes(fused.plan(), sizes);
  // Before and after: the better one is the ceiling.
  run.copy_gbs = measure_copy_gbs(run.copy_bytes, settings.threads);
  Runner first(separate, inputs), second(fused, inputs);
  std::string why;
  const std::unique_ptr<LibraryProgram> library_program =
      LibraryProgram::make(*settings.source, shapes_of(inputs), settings.threads, &why);
  std::optional<LibraryRunner> library;
  if (library_program) library.emplace(*library_program, inputs);
  if (library) library->block(settings.repeats);
  run.repeats = run_interleaved(first, second, settings, true);
  if (library) library->block(settings.repeats);
  run.copy_gbs = std::max(run.copy_gbs, measure_copy_gbs(run.copy_bytes, settings.threads));
  for (size_t i = 0; i < first.outputs.size(); ++i) {
    run.difference = worse(run.difference, compare(first.outputs[i], second.outputs[i]));
  }
  run.variants = {{"separate", std::move(first.samples),
                   fused.plan().separate_bytes.evaluate(sizes), separate.plan().groups.size()},
                  {"fused", std::move(second.samples), run.copy_bytes, fused.plan().groups.size()}};
  run.left_out = {{"separate_streams", no_streams}};
  if (library) {
    add_library(*library, second, run);
  } else {
    run.left_out.push_back({"library", why});
  }
  if (settings.counters) count_calls(first, second, run);
  return bench_result(fused, inputs, run, settings, environment);
}

}  // namespace ingot
