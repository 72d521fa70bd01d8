// Rows whose last pass runs inside the next row's last reduction: the streaming schedule alone,
// also where its guards would not choose it, against the evaluator, bit for bit.
#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "lower/lower.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

// Sixteen rows follow one another; chunks of a sum have 2048 elements.
constexpr int64_t row_counts[] = {0, 1, 2, 15, 16, 17, 33};
constexpr int64_t lengths[] = {0, 1, 63, 65, 2048, 4097};

// A composite; one written out, with a number for each row and a row vector; an output that is
// needed by a reduction and by another output; rows that are a middle part of their tensor.
constexpr const char* texts[] = {
    "graph softmax(x: T[M, N]) { y = softmax(x, dim=-1) return y }",
    R"(graph written(x: T[M, N], scale: T[M, 1], w: T[N]) {
         u = mul(x, scale) m = max(u, dims=[1], keepdims=true) d = sub(u, m) e = exp(d)
         s = sum(e, dims=[1], keepdims=true) p = div(e, s) q = mul(p, w) y = add(q, scale)
         return y, s })",
    R"(graph norm(x: T[M, N], r: T[M, N], gamma: T[N]) {
         h = add(x, r) k = mul(h, h) t = tanh(k) s = mean(t, dims=[1], keepdims=true)
         y = mul(t, s) z = mul(h, gamma) return y, h, z })",
    R"(graph part(x: T[3, M, N]) {
         c = slice(x, starts=[1, 0, 0], ends=[2, M, N], steps=[1, 1, 1]) y = softmax(c, dim=-1) e = mul(y, c)
         return e, y })",
};

std::string typed(std::string text, DType dtype) {
  const std::string by = std::string(dtype_name(dtype)) + "[";
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos; at += by.size()) {
    text.replace(at, 2, by);
  }
  return text;
}

PlannedProgram streaming_plan(const Graph& source) {
  PlannedProgram program{run_graph_passes(source), {}};
  PlanOptions options;
  options.fusion = FusionMode::all;
  program.plan = make_plan(program.graph, device_model("cpu"), options);
  EXPECT_EQ(program.plan.groups.size(), 1u);
  Group& group = program.plan.groups[0];
  std::erase_if(group.schedules, [](const Schedule& s) { return !s.streaming; });
  EXPECT_EQ(group.schedules.size(), 1u);
  for (Schedule& kept : group.schedules) kept.guards.clear();
  const std::string text = print(lower(program.graph, program.plan, group, group.schedules[0]));
  EXPECT_NE(text.find("_before: "), std::string::npos) << text;
  return program;
}

class OverlappedRows : public ::testing::TestWithParam<DType> {};

TEST_P(OverlappedRows, GiveTheEvaluatorsBits) {
  std::vector<Graph> sources;
  std::vector<PlannedProgram> planned;
  for (const char* text : texts) {
    sources.push_back(parse_graph(typed(text, GetParam()), "test"));
    planned.push_back(streaming_plan(sources.back()));
  }
  const std::vector<CompiledProgram> compiled = compile_programs(planned, "");
  for (size_t i = 0; i < planned.size(); ++i) {
    for (const int64_t rows : row_counts) {
      for (const int64_t length : lengths) {
        const std::vector<Tensor> inputs =
            random_inputs(sources[i], {{"M", rows}, {"N", length}}, 11);
        const std::vector<Tensor> expected = evaluate(sources[i], inputs, Precision::per_op);
        for (const int threads : {1, 2}) {
          const std::vector<Tensor> got = run(compiled[i].executable(threads), inputs);
          ASSERT_EQ(got.size(), expected.size());
          for (size_t k = 0; k < got.size(); ++k) {
            EXPECT_EQ(first_difference(got[k], expected[k]), "")
                << sources[i].name << " of " << rows << " by " << length << ", output " << k;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, OverlappedRows,
                         ::testing::Values(DType::f32, DType::bf16, DType::f64),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace ingot::testing
