// Positions compared with a number of each row, as a one-hot label is: kernels compare lanes.
#include <gtest/gtest.h>

#include <limits>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();

TEST(CountedPositions, CompareLikeNumbersWhereverTheOtherOneLies) {
  const int64_t labels[] = {lowest, -5,  -1,  0,   1,   62,  63,          64,     65,
                            127,    128, 149, 150, 151, 300, highest - 3, highest};
  const char* texts[] = {
      R"(graph counted(x: f32[M, 150], label: i64[M, 1]) {
        at = iota(shape=[M, 150], dim=1, dtype=i64)
        a = eq(at, label) b = ne(label, at) c = lt(at, label) d = lt(label, at)
        e = le(at, label) f = le(label, at) g = gt(at, label) h = ge(label, at)
        z = select(a, x, 0.5) s = sum(z, dims=[1])
        return a, b, c, d, e, f, g, h, z, s })",
      R"(graph part(x: f32[M, 90], label: i64[M, 1]) {
        all = iota(shape=[M, 150], dim=1, dtype=i64)
        at = slice(all, starts=[0, 60], ends=[M, 150])
        a = eq(label, at) b = lt(at, label) c = eq(at, 70) k = cast(a, dtype=i64) n = add(k, at)
        z = select(a, x, 0.5) t = select(b, at, label)
        return a, b, c, n, z, t })"};
  std::vector<PlannedProgram> planned;
  for (const char* text : texts) {
    const Graph graph = run_graph_passes(parse_graph(text, "counted"));
    for (const FusionMode mode : {FusionMode::off, FusionMode::all}) {
      PlanOptions options;
      options.fusion = mode;
      planned.push_back({graph, make_plan(graph, device_model("cpu"), options)});
    }
  }
  for (const CompiledProgram& compiled : compile_programs(planned, "")) {
    std::vector<Tensor> inputs = random_inputs(compiled.graph, {{"M", std::ssize(labels)}}, 1);
    for (int64_t row = 0; row < std::ssize(labels); ++row) {
      inputs[1].set_i64(row, labels[row]);
    }
    const std::vector<Tensor> expected = evaluate(compiled.graph, inputs, Precision::per_op);
    const std::vector<Tensor> got = run(compiled.executable(1), inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(first_difference(got[i], expected[i]), "")
          << compiled.graph.name << ", " << compiled.graph.output_names[i];
    }
  }
}

}  // namespace
}  // namespace ingot::testing
