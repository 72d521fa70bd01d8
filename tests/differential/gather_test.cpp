// An index that is out of range is an error wherever the gather ends up, and only where it is
// wanted.
#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

struct Program {
  const char* name;
  const char* text;
};

const Program programs[] = {
    {"of_an_input", R"(graph g(t: f32[9, 40], ids: i32[B]) {
      y = gather(t, ids) return y })"},
    {"of_a_computed_table", R"(graph g(t: f32[9, 40], ids: i32[B]) {
      e = exp(t) y = gather(e, ids) return y })"},
    {"of_a_concat", R"(graph g(t: f32[4, 40], u: f32[5, 40], ids: i32[B]) {
      c = concat(t, u, dim=0) y = gather(c, ids) return y })"},
    {"of_indices", R"(graph g(x: f32[9], ids: i32[B]) {
      i = iota(shape=[9], dim=0, dtype=f32) y = gather(i, ids) z = sum(x) return y, z })"},
    {"in_a_concat", R"(graph g(t: f32[9, 40], x: f32[B, 3], ids: i32[B]) {
      e = gather(t, ids) y = concat(x, e, x, dim=1) return y })"},
    {"in_a_pad", R"(graph g(t: f32[9], ids: i32[B]) {
      e = gather(t, ids) y = pad(e, low=[3], high=[2]) return y })"},
    {"of_elements", R"(graph g(t: f32[9, 40], ids: i32[B]) {
      i = reshape(ids, shape=[B, 1]) j = pad(i, low=[0, 2], high=[0, 1])
      u = transpose(t, perm=[1, 0]) v = slice(u, starts=[0, 0], ends=[1, 9])
      w = broadcast(v, shape=[B, 9]) y = gather_elements(w, j, dim=1) return y })"},
    {"of_columns", R"(graph g(t: f32[40, 9], ids: i32[B]) {
      e = gather(t, ids, dim=1) y = concat(e, e, dim=0) return y })"},
};

// "" or the error's text.
template <class Run>
std::string error_of(Run run) {
  try {
    run();
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(GatherOutOfRange, IsAnErrorInEveryFusionModeAndOnlyThen) {
  constexpr FusionMode modes[] = {FusionMode::off, FusionMode::automatic, FusionMode::all};
  std::vector<PlannedProgram> planned;
  for (const Program& program : programs) {
    const Graph graph = run_graph_passes(parse_graph(program.text, program.name));
    for (FusionMode mode : modes) {
      PlanOptions options;
      options.fusion = mode;
      planned.push_back({graph, make_plan(graph, device_model("cpu"), options)});
    }
  }
  const std::vector<CompiledProgram> compiled = compile_programs(planned, "");
  for (size_t i = 0; i < compiled.size(); ++i) {
    const Graph& graph = compiled[i].graph;
    for (int64_t wrong : {-1, 9, 1000000, 4}) {  // 4 is in range
      std::vector<Tensor> inputs = random_inputs(graph, {{"B", 70}}, 1);
      for (Tensor& input : inputs) {
        if (input.dtype() == DType::i32) input.set_i64(66, wrong);
      }
      const std::string where =
          fmt::format("{}, fusion {}, id {}", programs[i / 3].name, i % 3, wrong);
      const bool fails = wrong != 4;
      const auto interpreted = [&] {
        interpret_plan(graph, compiled[i].plan, lower_plan(graph, compiled[i].plan), inputs);
      };
      EXPECT_EQ(!error_of(interpreted).empty(), fails) << where;
      const Executable executable = compiled[i].executable(2);
      const std::string error = error_of([&] { run(executable, inputs); });
      EXPECT_EQ(!error.empty(), fails) << where << ": " << error;
      if (fails) {
        const std::string part = fmt::format("index {} out of range [0, 9)", wrong);
        EXPECT_NE(error.find(part), std::string::npos) << where << ": " << error;
        EXPECT_NE(error_of(interpreted).find(part), std::string::npos) << where;
      }
    }
  }
}

// One id for all elements of a reduction is checked where the reduction has elements.
TEST(GatherOutOfRange, OfAReductionWithoutElementsIsNoError) {
  const char* texts[] = {
      R"(graph g(t: f32[B, 9], id: i32[]) {
        e = gather(t, id, dim=1) y = argmax(e, dims=[0]) return y })",
      R"(graph g(t: f32[9], x: f32[B, 40], id: i32[]) {
        e = gather(t, id) z = mul(x, e) y = sum(z) return y })",
      R"(graph g(t: f32[9], x: f32[6, B], id: i32[]) {
        u = exp(t) e = gather(u, id) z = add(x, e) y = sum(z, dims=[1]) return y })",
      R"(graph g(t: f32[B, 9], id: i32[]) {
        e = gather(t, id, dim=1) p = pad(e, low=[1], high=[0]) y = sum(p) return y })"};
  std::vector<PlannedProgram> planned;
  for (const char* text : texts) {
    const Graph graph = run_graph_passes(parse_graph(text, "g"));
    planned.push_back({graph, make_plan(graph, device_model("cpu"), {})});
  }
  for (const CompiledProgram& compiled : compile_programs(planned, "")) {
    const Graph& graph = compiled.graph;
    for (int64_t rows : {0, 1, 70}) {
      std::vector<Tensor> inputs = random_inputs(graph, {{"B", rows}}, 1);
      inputs.back().set_i64(0, 28);
      const auto interpreted = [&] {
        interpret_plan(graph, compiled.plan, lower_plan(graph, compiled.plan), inputs);
      };
      EXPECT_EQ(error_of(interpreted).empty(), rows == 0) << print(graph) << rows;
      const Executable executable = compiled.executable(2);
      EXPECT_EQ(error_of([&] { run(executable, inputs); }).empty(), rows == 0)
          << print(graph) << rows;
    }
  }
}

TEST(GatherOutOfRange, OfIdsThatNothingNeedsChangesNoValue) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(t: f32[9, 5], ids: i32[8]) {
      e = gather(t, ids) s = slice(e, starts=[0, 0], ends=[2, 5]) y = neg(s) return y })",
                                                   "unneeded"));
  std::vector<Tensor> inputs = random_inputs(graph, {}, 1);
  const Tensor expected = evaluate(graph, inputs, Precision::per_op)[0];
  inputs[1].set_i64(7, 9);
  std::vector<PlannedProgram> planned;
  for (FusionMode mode : {FusionMode::off, FusionMode::automatic}) {
    PlanOptions options;
    options.fusion = mode;
    planned.push_back({graph, make_plan(graph, device_model("cpu"), options)});
  }
  const std::vector<CompiledProgram> compiled = compile_programs(planned, "");
  EXPECT_THROW(run(compiled[0].executable(1), inputs), Error);
  EXPECT_EQ(first_difference(run(compiled[1].executable(1), inputs)[0], expected), "");
}

TEST(GatherOutOfRange, OfAnEmptyResultIsNoError) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(t: f32[0, 0], ids: i32[3]) {
      y = gather(t, ids) return y })",
                                                   "empty"));
  const std::vector<Tensor> inputs = random_inputs(graph, {}, 1);
  EXPECT_EQ(evaluate(graph, inputs, Precision::per_op)[0].size(), 0);
  const Plan plan = make_plan(graph, device_model("cpu"), {});
  EXPECT_EQ(run(compile_programs({{graph, plan}}, "")[0].executable(1), inputs)[0].size(), 0);
}

TEST(GatherOutOfRange, IsAnErrorForEveryIndexOfATableWithoutRows) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(t: f32[0, 5], ids: i32[3]) {
      e = gather(t, ids) y = neg(e) return y })",
                                                   "empty"));
  const Plan plan = make_plan(graph, device_model("cpu"), {});
  const std::vector<Tensor> inputs = random_inputs(graph, {}, 1);
  const auto interpreted = [&] { interpret_plan(graph, plan, lower_plan(graph, plan), inputs); };
  EXPECT_NE(error_of(interpreted).find("out of range [0, 0)"), std::string::npos);
  const Executable executable = compile_programs({{graph, plan}}, "")[0].executable(1);
  const std::string error = error_of([&] { run(executable, inputs); });
  EXPECT_NE(error.find("out of range [0, 0)"), std::string::npos) << error;
}

}  // namespace
}  // namespace ingot::testing
