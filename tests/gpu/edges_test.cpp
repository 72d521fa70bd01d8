// The edges that tests/emit emulates, on a device: shapes of 0, 1 and odd sizes, rows of every
// length, masked rows, many blocks, special values. Needs a device; skipped visibly without one.
#include <gtest/gtest.h>

#include <ingot/ingot.h>

#include "emit/emit.h"
#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "run/device_launch.h"
#include "support/cuda_here.h"
#include "support/emulated_trials.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

class GpuEdges : public OnCudaDevice, public ::testing::WithParamInterface<EdgeTrials> {};

TEST_P(GpuEdges, GiveTheEvaluatorsBits) {
  for (const Trial& trial : GetParam().trials) {
    Options options;
    options.device = "cuda";
    const Compiled compiled = Program::parse(print(trial.source)).compile(options);
    for (const Bindings& sizes : trial.sizes) {
      const std::vector<Tensor> inputs =
          random_inputs(trial.source, sizes, trial.seed, trial.seed % 2 == 1);
      const std::vector<Tensor> expected = evaluate(trial.source, inputs, Precision::per_op);
      const std::vector<Tensor> got = compiled.run(inputs);
      for (size_t o = 0; o < got.size(); ++o) {
        EXPECT_EQ(first_difference(got[o], expected[o]), "")
            << trial.source.name << ", output " << o << ", " << inputs[0].shape().size()
            << " dimensions, " << inputs[0].size() << " elements";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuEdges, ::testing::ValuesIn(edge_trials()),
                         [](const auto& info) { return std::string(info.param.name); });

// More blocks than 16 bits count. The CPU's kernels have the evaluator's bits, and more speed.
class GpuManyBlocks : public OnCudaDevice {};

TEST_F(GpuManyBlocks, GiveTheBitsOfTheCpu) {
  const std::pair<const char*, int64_t> programs[] = {
      {"graph elements(x: u8[N]) { t = mul(x, 3) y = add(t, x) return y }", 300000001},
      {"graph rows(x: f32[N, 64]) { y = softmax(x, dim=-1) return y }", 2000001},
      {"graph columns(x: u8[3, N]) { s = sum(x, dims=[0]) return s }", 40000001}};
  for (const auto& [text, size] : programs) {
    const Graph graph = run_graph_passes(parse_graph(text, "blocks"));
    const Plan plan = make_plan(graph, device_model("h200"), {});
    const KernelSource source = emit_cuda(lower_plan(graph, plan, false)[0].back());
    EXPECT_GT(launch_of(source.phases[0], {{"N", size}}, 132)->grid[0], 65536U) << graph.name;
    const Program program = Program::parse(text);
    const Tensor x = program.sample("x", "random", {{"N", size}});
    Options options;
    options.device = "cuda";
    const Tensor got = program.compile(options).run({x})[0];
    EXPECT_EQ(first_difference(got, program.compile().run({x})[0]), "") << graph.name;
  }
}

}  // namespace
}  // namespace ingot::testing
