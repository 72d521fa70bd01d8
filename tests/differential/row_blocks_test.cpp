// Rows side by side: the schedule alone, also where its guards would not choose it, against the
// evaluator, bit for bit.
#include <gtest/gtest.h>

#include <cstring>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

constexpr int64_t lengths[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 33, 4113, 16401};

std::string typed(std::string text, DType dtype) {
  const std::string by = std::string(dtype_name(dtype)) + "[";
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos; at += by.size()) {
    text.replace(at, 2, by);
  }
  return text;
}

// A row vector, a number for each row, a vector for each block of rows, and what is the same for
// all elements.
std::vector<Graph> programs_of(DType dtype) {
  std::vector<std::string> texts;
  if (dtype == DType::boolean) {
    texts = {
        R"(graph rows(x: T[M, N], w: T[N], c: T[M, 1]) {
               a = xor(x, w) b = and(a, c) d = not(w) e = or(b, d) return e, b })",
        "graph followed(x: T[M, N], w: T[N], v: T[N]) { a = xor(x, w) y = and(a, v) return y }"};
  } else {
    texts = {R"(graph rows(x: T[M, N], w: T[N], c: T[M, 1], r: T[M, N], o: T[1]) {
               a = add(x, w) m = mul(a, c) z = maximum(m, r) v = abs(w) y = sub(z, v)
               q = add(y, o) return q, m })",
             R"(graph blocks(x: T[2, M, N], w: T[N], e: T[M, N], d: T[2, 1, N]) {
               a = add(x, e) b = mul(a, w) y = add(b, d) return y })",
             "graph followed(x: T[M, N], w: T[N], v: T[N]) { a = sub(x, w) y = maximum(a, v) "
             "return y }"};
  }
  std::vector<Graph> graphs;
  for (const std::string& text : texts) graphs.push_back(parse_graph(typed(text, dtype), "test"));
  return graphs;
}

PlannedProgram planned_as(const Graph& source, const std::string& schedule) {
  PlannedProgram program{run_graph_passes(source), {}};
  PlanOptions options;
  options.fusion = FusionMode::all;  // one group, whatever it costs
  program.plan = make_plan(program.graph, device_model("cpu"), options);
  EXPECT_EQ(program.plan.groups.size(), 1u);
  for (Group& group : program.plan.groups) {
    std::erase_if(group.schedules, [&](const Schedule& s) { return s.name != schedule; });
    EXPECT_EQ(group.schedules.size(), 1u) << schedule;
    for (Schedule& kept : group.schedules) kept.guards.clear();
  }
  return program;
}

// The tensors one element behind the start of their memory.
std::vector<Tensor> run_unaligned(const Executable& executable, const std::vector<Tensor>& inputs,
                                  const std::vector<Tensor>& expected) {
  std::vector<Tensor> memory, results;
  std::vector<TensorView> in, out;
  auto place = [&](const Tensor& like) {
    const int64_t width = byte_size(like.dtype());
    memory.emplace_back(DType::u8, std::vector<int64_t>{like.bytes() + width});
    TensorView view;
    view.dtype = like.dtype();
    view.shape = like.shape();
    view.data = memory.back().data() + width;
    return view;
  };
  for (const Tensor& input : inputs) {
    in.push_back(place(input));
    std::memcpy(in.back().data, input.data(), static_cast<size_t>(input.bytes()));
  }
  for (const Tensor& output : expected) out.push_back(place(output));
  executable.run(in, out);
  for (size_t i = 0; i < expected.size(); ++i) {
    results.emplace_back(out[i].dtype, out[i].shape);
    std::memcpy(results.back().data(), out[i].data, static_cast<size_t>(results.back().bytes()));
  }
  return results;
}

void expect_equal(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                  const std::string& where) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(first_difference(got[i], expected[i]), "") << where << ", output " << i;
  }
}

class RowBlocks : public ::testing::TestWithParam<DType> {};

TEST_P(RowBlocks, GiveTheEvaluatorsBits) {
  std::vector<PlannedProgram> planned;
  const std::vector<Graph> sources = programs_of(GetParam());
  for (const Graph& source : sources) {
    planned.push_back(planned_as(source, "row blocks"));
    planned.push_back(planned_as(source, "row blocks, streaming"));
    if (source.name == "followed") planned.back().plan.groups[0].schedules[0].row_blocks = 8;
  }
  const std::vector<CompiledProgram> compiled = compile_programs(planned, "");
  for (size_t i = 0; i < planned.size(); ++i) {
    const Graph& source = sources[i / 2];
    for (int64_t rows = 0; rows <= 9; ++rows) {
      for (int64_t length : lengths) {
        if (length > 1000 && rows != 6) continue;  // two blocks of columns, the last with a rest
        const std::vector<Tensor> inputs =
            random_inputs(source, {{"M", rows}, {"N", length}}, 7, true);
        const std::vector<Tensor> expected = evaluate(source, inputs, Precision::per_op);
        const std::string where =
            fmt::format("{} {} of {} by {}", source.name, dtype_name(GetParam()), rows, length);
        for (int threads : {1, 2}) {
          const Executable executable = compiled[i].executable(threads);
          expect_equal(run(executable, inputs), expected, where);
          expect_equal(run_unaligned(executable, inputs, expected), expected,
                       where + ", unaligned");
        }
        if (length <= 33 && rows % 4 == 1) {
          const PlannedProgram& plan = planned[i];
          expect_equal(
              interpret_plan(plan.graph, plan.plan, lower_plan(plan.graph, plan.plan), inputs),
              expected, where + ", interpreted");
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RowBlocks,
                         ::testing::Values(DType::boolean, DType::i8, DType::i16, DType::i32,
                                           DType::i64, DType::u8, DType::u16, DType::u32,
                                           DType::u64, DType::f16, DType::bf16, DType::f32,
                                           DType::f64),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

// Sizes known when the kernel is written: whole rows, rows with columns left over, long rows cut
// into blocks; four rows, and four that follow them.
TEST(RowBlocks, OfStaticSizes) {
  std::vector<Graph> sources;
  std::vector<PlannedProgram> planned;
  for (auto [rows, length] : {std::pair{32, 8192}, {35, 8197}, {37, 20489}, {36, 32768}}) {
    sources.push_back(parse_graph(
        fmt::format("graph g(x: f32[{0}, {1}], w: f32[{1}], c: f32[{0}, 1]) {{ a = add(x, w) "
                    "m = mul(a, c) y = gelu(m) return y }}",
                    rows, length),
        "test"));
    planned.push_back(planned_as(sources.back(), "row blocks"));
    sources.push_back(parse_graph(
        fmt::format("graph followed(x: f32[{0}, {1}], w: f32[{1}]) {{ y = add(x, w) return y }}",
                    rows, length),
        "test"));
    planned.push_back(planned_as(sources.back(), "row blocks"));
    planned.back().plan.groups[0].schedules[0].row_blocks = 8;
  }
  const std::vector<CompiledProgram> compiled = compile_programs(planned, "");
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::vector<Tensor> inputs = random_inputs(sources[i], {}, 11);
    const std::vector<Tensor> expected = evaluate(sources[i], inputs, Precision::per_op);
    for (int threads : {1, 2}) {
      expect_equal(run(compiled[i].executable(threads), inputs), expected, print(sources[i]));
    }
  }
}

}  // namespace
}  // namespace ingot::testing
