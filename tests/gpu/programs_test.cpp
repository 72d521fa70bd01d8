// Programs on a GPU against the evaluators: every program of tests/cases and of the examples in
// every numerics and fusion mode, and random graphs. Needs a device; skipped visibly without one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include <ingot/ingot.h>

#include "base/text.h"
#include "support/cuda_here.h"
#include "support/random_graphs.h"

namespace ingot::testing {
namespace {

struct Job {
  std::string name, text, numerics;
  Sizes sizes;
};

struct Results {
  std::mutex mutex;
  int passed = 0;
  std::vector<std::string> failed, unsupported, beyond_on_both;
};

// Whether the CPU's kernels miss the bounds of `wide` or `fast` on the same inputs, too: special
// values can be ill-conditioned.
bool fails_on_cpu(const Program& program, Options options, const std::vector<Tensor>& inputs) {
  options.device = "cpu";
  return options.numerics != "exact" && !program.compile(options).check(inputs).passed;
}

void run_job(const Job& job, Results& results) {
  std::string problem;
  bool unsupported = false, on_both = false;
  try {
    const Program program = Program::parse(job.text, job.name);
    Options options;
    options.device = "cuda";
    options.numerics = job.numerics;
    for (const std::string& name : program.size_names()) {
      const auto known = job.sizes.find(name);
      options.sizes[name] = known == job.sizes.end() ? 7 : known->second;
    }
    const Compiled compiled = program.compile(options);
    std::vector<Tensor> inputs;
    for (const Port& port : program.inputs()) {
      inputs.push_back(program.sample(port.name, "random:3", options.sizes));
    }
    const CheckResult check = compiled.check(inputs);
    if (!check.passed) {
      problem = check.report_text;
      on_both = fails_on_cpu(program, options, inputs);
    }
  } catch (const Error& error) {
    unsupported = error.kind() == ErrorKind::unsupported;
    problem = error.rendered();
  }
  const std::lock_guard lock(results.mutex);
  if (problem.empty()) {
    ++results.passed;
  } else {
    (unsupported ? results.unsupported
     : on_both   ? results.beyond_on_both
                 : results.failed)
        .push_back(fmt::format("{}, {}: {}", job.name, job.numerics, problem));
  }
}

// On several threads: most of the time goes to compiling.
Results& run_all_jobs(const std::vector<Job>& jobs, Results& results) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency() / 2); ++t) {
    threads.emplace_back([&] {
      for (size_t job = next++; job < jobs.size(); job = next++) run_job(jobs[job], results);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : results.failed) ADD_FAILURE() << text;
  for (const std::string& text : results.unsupported) fmt::print("not on a GPU yet: {}\n", text);
  for (const std::string& text : results.beyond_on_both) fmt::print("as on the CPU: {}\n", text);
  fmt::print("{} passed, {} failed, {} beyond their bounds on GPU and CPU, {} not on a GPU yet\n",
             results.passed, results.failed.size(), results.beyond_on_both.size(),
             results.unsupported.size());
  return results;
}

class GpuPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_cuda_device(); !why.empty()) GTEST_SKIP() << why;
  }
};

std::vector<Job> jobs_of(const std::string& folder) {
  std::vector<Job> jobs;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("{}/{}", INGOT_SOURCE_DIR, folder))) {
    if (entry.path().extension() != ".ingot") continue;
    for (const char* numerics : {"exact", "wide", "fast"}) {
      jobs.push_back(
          {entry.path().filename().string(), read_file(entry.path().string()), numerics, {}});
    }
  }
  std::ranges::sort(jobs, {}, &Job::name);
  return jobs;
}

TEST_F(GpuPrograms, CasesAgreeWithTheEvaluators) {
  Results results;
  run_all_jobs(jobs_of("tests/cases"), results);
  EXPECT_GT(results.passed, 100);
}

TEST_F(GpuPrograms, ExamplesAgreeWithTheEvaluators) {
  Results results;
  run_all_jobs(jobs_of("examples"), results);
  EXPECT_GT(results.passed, 15);
}

TEST_F(GpuPrograms, RandomGraphsAgreeWithTheEvaluators) {
  std::vector<Job> jobs;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomOptions options;
    if (seed % 5 == 3) options.form = GraphForm::deep;
    if (seed % 5 == 4) options.form = GraphForm::wide;
    const Bindings& sizes = seed % 2 == 0 ? usual_sizes() : other_sizes(seed);
    jobs.push_back({fmt::format("random {}", seed),
                    print(random_graph(seed, options)),
                    "exact",
                    {sizes.begin(), sizes.end()}});
  }
  Results results;
  run_all_jobs(jobs, results);
  EXPECT_GT(results.passed, 50);
}

}  // namespace
}  // namespace ingot::testing
