// Programs on a GPU against the evaluators: every program of tests/cases and of the examples in
// every numerics and fusion mode, and random graphs. Needs a device; skipped visibly without one.
// A test each, so that processes can share them out (GTEST_TOTAL_SHARDS): most of the time goes to
// NVRTC, which compiles one kernel of a process at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include <ingot/ingot.h>

#include "base/text.h"
#include "graph/passes/passes.h"
#include "support/cuda_here.h"
#include "support/random_graphs.h"

namespace ingot::testing {
namespace {

struct Job {
  std::string name, text;
  std::vector<std::string> numerics;
  Sizes sizes;
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

// Whether the CPU's kernels miss the bounds of `wide` or `fast` on the same inputs, too: special
// values can be ill-conditioned.
bool fails_on_cpu(const Program& program, Options options, const std::vector<Tensor>& inputs) {
  options.device = "cpu";
  return options.numerics != "exact" && !program.compile(options).check(inputs).passed;
}

// Products are all that a GPU refuses (README, Limits), those that ops like attention are made of
// too.
bool has_products(const Job& job) {
  const Graph graph = run_graph_passes(parse_graph(job.text, job.name));
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return op_info(node.op).category == Category::contraction;
  });
}

void check_job(const Job& job, const std::string& numerics) {
  SCOPED_TRACE(numerics);
  const Program program = Program::parse(job.text, job.name);
  Options options;
  options.device = "cuda";
  options.numerics = numerics;
  for (const std::string& name : program.size_names()) {
    const auto known = job.sizes.find(name);
    options.sizes[name] = known == job.sizes.end() ? 7 : known->second;
  }
  try {
    const Compiled compiled = program.compile(options);
    std::vector<Tensor> inputs;
    for (const Port& port : program.inputs()) {
      inputs.push_back(program.sample(port.name, "random:3", options.sizes));
    }
    const CheckResult check = compiled.check(inputs);
    if (check.passed) return;
    if (fails_on_cpu(program, options, inputs)) {
      GTEST_SKIP() << "beyond its bounds on the CPU, too: " << check.report_text;
    }
    ADD_FAILURE() << check.report_text;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported && has_products(job)) {
      GTEST_SKIP() << "not on a GPU yet: " << error.message();
    }
    ADD_FAILURE() << error.rendered();
  }
}

class GpuPrograms : public OnCudaDevice, public ::testing::WithParamInterface<Job> {};

TEST_P(GpuPrograms, AgreesWithTheEvaluators) {
  for (const std::string& numerics : GetParam().numerics) check_job(GetParam(), numerics);
}

std::vector<Job> jobs_of(const std::string& folder) {
  std::vector<Job> jobs;
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("{}/{}", INGOT_SOURCE_DIR, folder))) {
    if (entry.path().extension() != ".ingot") continue;
    jobs.push_back({entry.path().stem().string(),
                    read_file(entry.path().string()),
                    {"exact", "wide", "fast"},
                    {}});
  }
  std::ranges::sort(jobs, {}, &Job::name);
  return jobs;
}

std::vector<Job> random_jobs() {
  std::vector<Job> jobs;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomOptions options;
    if (seed % 5 == 3) options.form = GraphForm::deep;
    if (seed % 5 == 4) options.form = GraphForm::wide;
    const Bindings& sizes = seed % 2 == 0 ? usual_sizes() : other_sizes(seed);
    jobs.push_back({fmt::format("seed_{}", seed),
                    print(random_graph(seed, options)),
                    {"exact"},
                    {sizes.begin(), sizes.end()}});
  }
  return jobs;
}

std::string name_of(const ::testing::TestParamInfo<Job>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Cases, GpuPrograms, ::testing::ValuesIn(jobs_of("tests/cases")), name_of);
INSTANTIATE_TEST_SUITE_P(Examples, GpuPrograms, ::testing::ValuesIn(jobs_of("examples")), name_of);
INSTANTIATE_TEST_SUITE_P(Random, GpuPrograms, ::testing::ValuesIn(random_jobs()), name_of);

}  // namespace
}  // namespace ingot::testing
