// Programs planned for a GPU, emulated on the host, against the evaluator: bit for bit.
// emulated_programs_long_test.cpp has more of each.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "emit/emit.h"
#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "plan/choice.h"
#include "plan/relief.h"
#include "support/emulated_programs.h"
#include "support/emulated_trials.h"

namespace ingot::testing {
namespace {

TEST(EmulatedPrograms, EveryOpGivesTheEvaluatorsBits) {
  std::vector<Trial> trials;
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8, DType::u64, DType::f8e4m3}) {
    for (const uint64_t seed : {1, 2}) trials.push_back(every_op_trial(dtype, 37, seed));
  }
  expect_equal(trials);
}

class Edges : public ::testing::TestWithParam<EdgeTrials> {};

TEST_P(Edges, GiveTheEvaluatorsBits) { expect_equal(GetParam().trials); }

INSTANTIATE_TEST_SUITE_P(EmulatedPrograms, Edges, ::testing::ValuesIn(edge_trials()),
                         [](const auto& info) { return std::string(info.param.name); });

// A row of usual numbers, one with -inf in three blocks of a cluster, one of -inf alone, one with
// NaN at its end and one with inf.
Tensor special_rows(DType dtype, int64_t length) {
  Tensor x = random_tensor(dtype, {5, length}, 7, 1, -20, 20);
  for (const int64_t at : {int64_t{0}, length / 2 + 1, length - 1})
    x.set_f64(length + at, -INFINITY);
  for (int64_t i = 0; i < length; ++i) x.set_f64(2 * length + i, -INFINITY);
  x.set_f64(4 * length - 1, NAN);
  x.set_f64(4 * length + length / 3, INFINITY);
  return x;
}

// "" or where results that hardware approximations went into are further apart than these explain.
std::string first_far(const Tensor& got, const Tensor& expected) {
  const double relative = got.dtype() == DType::bf16 ? 1.0 / 128 : 1e-6;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double x = got.get_f64(i), y = expected.get_f64(i);
    const bool same =
        std::isnan(x) ? std::isnan(y) : std::fabs(x - y) <= relative * std::fabs(y) || x == y;
    if (!same) return fmt::format("element {} of {}: {} against {}", i, got.size(), x, y);
  }
  return "";
}

// Rows that a cluster of blocks keeps: all blocks full, and the last with few chunks. In `exact`
// against the evaluator, in `wide` against what the loops say.
class RowsOfSeveralBlocks : public ::testing::TestWithParam<Numerics> {};

TEST_P(RowsOfSeveralBlocks, HaveTheBitsOfOne) {
  const bool exact = GetParam() == Numerics::exact;
  std::vector<PlannedProgram> programs;
  for (const auto& [dtype, length] : {std::pair("bf16", 70001),
                                      {"bf16", 131072},
                                      {"bf16", 200000},
                                      {"f32", 50003},
                                      {"f32", 70000}}) {
    for (const char* text : {"graph g(x: T[B, N]) { y = softmax(x, dim=-1) return y }",
                             "graph g(x: T[B, N], w: T[N], b: T[N]) { y = layer_norm(x, w, b) "
                             "m = max(x, dims=[1]) return y, m }",
                             "graph g(x: T[B, N], w: T[N]) { y = rms_norm(x, w) return y }"}) {
      std::string typed = std::regex_replace(text, std::regex("\\bT\\b"), dtype);
      typed = std::regex_replace(typed, std::regex("\\bN\\b"), fmt::to_string(length));
      PlanOptions options;
      options.numerics = GetParam();
      const Graph graph = run_graph_passes(parse_graph(typed, "clusters"));
      programs.push_back({graph, make_plan(graph, device_model("h200"), options)});
      for (const char* older : {"a100", "rtx4090"}) {
        const Plan plan = make_plan(graph, device_model(older), options);
        EXPECT_EQ(lower_plan(graph, plan, false)[0].back().phases[0].blocks, 1) << typed;
      }
    }
  }
  for (const EmulatedProgram& program : emulate_programs(programs, "")) {
    const std::string loops = print(program.loops[0].back());
    EXPECT_GT(program.loops[0].back().phases[0].blocks, 1) << loops;
    std::vector<Tensor> inputs = random_inputs(program.graph, {{"B", 5}}, 3);
    inputs[0] = special_rows(inputs[0].dtype(), inputs[0].shape()[1]);
    const std::vector<Tensor> expected =
        exact ? evaluate(program.graph, inputs, Precision::per_op)
              : interpret_plan(program.graph, program.plan, program.loops, inputs);
    for (const EmulatedOrder order : {EmulatedOrder::forwards, EmulatedOrder::backwards}) {
      const std::vector<Tensor> got = run_emulated(program, inputs, order);
      for (size_t o = 0; o < got.size(); ++o) {
        const bool approximate = loops.find(" exp(") != std::string::npos && !exact;
        const std::string difference =
            (approximate ? first_far : first_difference)(got[o], expected[o]);
        EXPECT_EQ(difference, "") << "output " << o << loops;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EmulatedPrograms, RowsOfSeveralBlocks,
                         ::testing::Values(Numerics::exact, Numerics::wide), [](const auto& info) {
                           return info.param == Numerics::exact ? "exact" : "wide";
                         });

// Several rows of known length share a warp; the last warp has fewer.
TEST(EmulatedPrograms, ShortRowsOfKnownLength) {
  std::vector<Trial> trials;
  for (const std::string text : row_programs) {
    for (const std::string_view n : {"24", "128", "512"}) {
      std::string fixed;
      for (const char c : text) fixed += c == 'N' ? std::string(n) : std::string(1, c);
      trials.push_back(trial_of(fixed, {{{"B", 1}}, {{"B", 3}}, {{"B", 16}}, {{"B", 21}}}));
    }
  }
  expect_equal(trials);
}

// In bands, and rows first; rows of part of a warp, several warps and some of their last lanes.
TEST(EmulatedPrograms, RowsAndColumnsOfOneInput) {
  const std::string programs[] = {
      R"(graph f32(x: f32[B, N], y: f32[B, N], g: f32[N]) {
        m = mean(x, dims=[1], keepdims=true) h = sub(x, m) p = mul(h, y)
        k = mean(p, dims=[1], keepdims=true) d = sub(y, k) z = mul(d, g)
        a = sum(p, dims=[0]) b = sum(z, dims=[0]) w = mul(a, g) return z, w, b })",
      R"(graph bf16(x: bf16[B, N], r: bf16[B, 1]) {
        h = mul(x, r) s = sum(h, dims=[1], keepdims=true) d = sub(h, s) z = gelu(d)
        c = max(h, dims=[0]) return z, c })",
      R"(graph u8(x: u8[B, N], y: u8[B, N]) {
        s = sum(x, dims=[1]) c = sum(x, dims=[0]) t = ge(x, y) v = all(t, dims=[0]) return s, c, v })"};
  std::vector<Trial> trials;
  for (const std::string& text : programs) {
    for (const std::string_view n : {"128", "130", "1025", "2048", "4100"}) {
      std::string fixed;
      for (const char c : text) fixed += c == 'N' ? std::string(n) : std::string(1, c);
      trials.push_back(trial_of(fixed, {{{"B", 0}}, {{"B", 1}}, {{"B", 3}}}));
      if (n != "4100") trials.back().sizes.push_back({{"B", 67}});
      if (n == "128") trials.back().sizes.push_back({{"B", 1100}});
    }
  }
  expect_equal(trials);
}

TEST(EmulatedPrograms, WorksOfTheBench) { expect_equal(bench_trials()); }

// In `wide` the sums of a row have a warp's lanes, 16 bytes a thread: what the loops say, whole
// rows and in chunks, in the last of which some threads have nothing.
TEST(EmulatedPrograms, RowsInWideHaveTheInterpretersBits) {
  const std::string text = R"(graph g(x: T[B, N], b: T[N]) {
      z = add(x, b) f = cast(z, dtype=f32) q = mul(f, f) s = sum(q, dims=[1], keepdims=true)
      m = max(z, dims=[1]) c = sub(f, s) d = min(c, dims=[1]) p = mul(c, 0.5) t = sum(p, dims=[1])
      y = add(p, f) return s, m, d, t, y })";
  std::vector<PlannedProgram> programs;
  std::vector<int> lanes;
  for (const auto& [dtype, wide] : {std::pair("f32", 128), {"bf16", 256}, {"f16", 256}}) {
    for (const int length : {520, 1000, 2048, 4096, 5000, 70000, 70001}) {
      std::string typed = std::regex_replace(text, std::regex("\\bT\\b"), dtype);
      typed = std::regex_replace(typed, std::regex("\\bN\\b"), fmt::to_string(length));
      PlanOptions options;
      options.numerics = Numerics::wide;
      const Graph graph = run_graph_passes(parse_graph(typed, "wide"));
      programs.push_back({graph, make_plan(graph, device_model("h200"), options)});
      lanes.push_back(length % 2 == 0 ? wide : 64);
    }
  }
  const std::vector<EmulatedProgram> emulated = emulate_programs(programs, "");
  for (size_t i = 0; i < emulated.size(); ++i) {
    const std::string loops = print(emulated[i].loops[0].back());
    EXPECT_NE(loops.find(fmt::format("sum lanes {}\n", lanes[i])), std::string::npos) << loops;
    const std::vector<Tensor> inputs = random_inputs(emulated[i].graph, {{"B", 5}}, i);
    const std::vector<Tensor> expected =
        interpret_plan(emulated[i].graph, emulated[i].plan, emulated[i].loops, inputs, "warps");
    for (const EmulatedOrder order : {EmulatedOrder::forwards, EmulatedOrder::backwards}) {
      const std::vector<Tensor> got = run_emulated(emulated[i], inputs, order, "warps");
      for (size_t o = 0; o < got.size(); ++o) {
        EXPECT_EQ(first_difference(got[o], expected[o]), "") << i << ", output " << o << loops;
      }
    }
  }
}

// A whole tensor of named length: each chunk of all that run at once takes every so many-th piece
// of 2048 elements. A device of one multiprocessor has 32 chunks.
TEST(EmulatedPrograms, SplitTensorsInWideHaveTheInterpretersBits) {
  DeviceModel small = device_model("h200");
  small.multiprocessors = 1;
  std::vector<PlannedProgram> programs;
  for (const char* text :
       {"graph g(x: f32[B]) { q = mul(x, x) y = sum(q, dims=[0]) return y }",
        "graph g(x: bf16[B]) { f = cast(x, dtype=f32) y = sum(f, dims=[0]) m = max(f, dims=[0]) "
        "return y, m }"}) {
    PlanOptions options;
    options.numerics = Numerics::wide;
    const Graph graph = run_graph_passes(parse_graph(text, "split"));
    programs.push_back({graph, make_plan(graph, small, options)});
  }
  const std::vector<EmulatedProgram> emulated = emulate_programs(programs, "");
  for (const EmulatedProgram& program : emulated) {
    const std::string split = "warps, split";
    ASSERT_EQ(program.plan.groups[0].schedules[0].name, split);
    const std::string loops = print(program.loops[0][0]);
    EXPECT_NE(loops.find("for piece in serial"), std::string::npos) << loops;
    for (const int64_t length : {65536, 65537, 140000, 262148}) {
      const std::vector<Tensor> inputs = random_inputs(program.graph, {{"B", length}}, 1);
      const std::vector<Tensor> expected =
          interpret_plan(program.graph, program.plan, program.loops, inputs, split);
      const std::vector<Tensor> oracle = evaluate(program.graph, inputs, Precision::per_op);
      for (const EmulatedOrder order : {EmulatedOrder::forwards, EmulatedOrder::backwards}) {
        const std::vector<Tensor> got = run_emulated(program, inputs, order, split);
        for (size_t o = 0; o < got.size(); ++o) {
          EXPECT_EQ(first_difference(got[o], expected[o]), "") << length << loops;
          const float want = *reinterpret_cast<const float*>(oracle[o].data());
          EXPECT_NEAR(*reinterpret_cast<const float*>(got[o].data()), want,
                      1e-2 + 1e-5 * std::abs(want));
        }
      }
    }
  }
}

// What is left of a group where its kernel spilled: other schedules, and two halves.
TEST(EmulatedPrograms, RelievedGroups) {
  std::vector<PlannedProgram> programs;
  for (const char* text :
       {"graph g(x: bf16[B, 4100], y: bf16[4100]) { t = add(x, y) z = gelu(t) u = mul(z, x) return "
        "u }",
        "graph g(x: f32[B, 700]) { e = exp(x) s = sum(e, dims=[1], keepdims=true) y = div(e, s) "
        "return y }",
        R"(graph g(x: bf16[B, 300], b: f32[B, 1]) { t = cast(x, dtype=f32) u = add(t, b)
          s = sum(u, dims=[1]) v = sub(t, b) m = max(v, dims=[1]) c = sum(t, dims=[0])
          return s, m, c })"}) {
    const Graph graph = run_graph_passes(parse_graph(text, "relieved"));
    const DeviceModel& device = device_model("h200");
    const Plan plain = make_plan(graph, device, {});
    for (size_t steps = 0; steps <= 4; ++steps) {
      PlanOptions options;
      for (const Group& group : plain.groups) {
        const UnitGraph units = make_units(graph);
        Choice choice;
        choice.nodes = part_nodes(units, group);
        choice.steps = steps;
        if (steps == 0) {
          const std::optional<Cut> halves = cut(graph, units, group, device);
          ASSERT_TRUE(halves);
          choice.parts = {halves->first, halves->second};
        }
        options.choices.push_back(std::move(choice));
      }
      programs.push_back({graph, make_plan(graph, device, options)});
      EXPECT_EQ(programs.back().plan.groups.size() > plain.groups.size(), steps == 0);
    }
  }
  for (const EmulatedProgram& program : emulate_programs(programs, "")) {
    for (const int64_t rows : {0, 1, 5}) {
      const std::vector<Tensor> inputs = random_inputs(program.graph, {{"B", rows}}, 3);
      const std::vector<Tensor> expected = evaluate(program.graph, inputs, Precision::per_op);
      const std::vector<Tensor> got = run_emulated(program, inputs);
      for (size_t o = 0; o < got.size(); ++o) {
        EXPECT_EQ(first_difference(got[o], expected[o]), "") << print(program.graph, program.plan);
      }
    }
  }
}

// Long bands of rows, in order with two sums of columns and apart with one: whole chunks of a row
// and rows whose last chunk leaves threads without work; more bands than rows, bands of as many
// rows and of fewer.
TEST(EmulatedPrograms, LongBandsHaveTheInterpretersBits) {
  const std::string text = R"(graph g(x: T[B, N], y: T[B, N], b: T[N], r: f32[B, 1]) {
      f = cast(x, dtype=f32) h = mul(f, r) e = cast(y, dtype=f32) v = cast(b, dtype=f32)
      w = mul(e, v) p = mul(h, w)
      s = sum(p, dims=[1], keepdims=true) t = max(w, dims=[1], keepdims=true) d = sub(w, s)
      z = mul(d, t) c = sum(p, dims=[0]) m = min(z, dims=[0]) q = mul(c, 0.5) return z, q, m })";
  DeviceModel device = device_model("h200");
  device.multiprocessors = 1;
  std::vector<PlannedProgram> programs;
  for (const std::string_view dtype : {"f32", "bf16"}) {
    for (const int length : {520, 1024, 4104}) {
      std::string typed = std::regex_replace(text, std::regex("\\bT\\b"), std::string(dtype));
      typed = std::regex_replace(typed, std::regex("\\bN\\b"), fmt::to_string(length));
      PlanOptions options;
      options.numerics = Numerics::wide;
      const std::regex second(R"(m = min\(z, dims=\[0\]\)|, m )");
      for (const std::string& sums : {typed, std::regex_replace(typed, second, " ")}) {
        const Graph graph = run_graph_passes(parse_graph(sums, "wide"));
        programs.push_back({graph, make_plan(graph, device, options)});
      }
    }
  }
  const std::string columns = R"(graph g(x: bf16[B, 600]) {
      f = cast(x, dtype=f32) e = mul(f, f) d = add(e, 1.0) z = mul(d, f) s = sum(z, dims=[0])
      m = max(z, dims=[0]) return z, s, m })";
  PlanOptions options;
  options.numerics = Numerics::wide;
  const Graph graph = run_graph_passes(parse_graph(columns, "wide"));
  programs.push_back({graph, make_plan(graph, device, options)});
  const std::vector<EmulatedProgram> emulated = emulate_programs(programs, "");
  for (size_t i = 0; i < emulated.size(); ++i) {
    const bool last = i + 1 == emulated.size();
    const std::string name = last ? "column bands at once" : "long row bands";
    EXPECT_EQ(emulated[i].plan.groups[0].schedules[0].name, name) << i;
    for (const int64_t rows : {1, 3, 19, 64, 67}) {
      const std::vector<Tensor> inputs = random_inputs(emulated[i].graph, {{"B", rows}}, i);
      const std::vector<Tensor> expected =
          interpret_plan(emulated[i].graph, emulated[i].plan, emulated[i].loops, inputs, name);
      for (const EmulatedOrder order : {EmulatedOrder::forwards, EmulatedOrder::backwards}) {
        const std::vector<Tensor> got = run_emulated(emulated[i], inputs, order, name);
        for (size_t o = 0; o < got.size(); ++o) {
          EXPECT_EQ(first_difference(got[o], expected[o]), "") << i << ", output " << o;
        }
      }
    }
  }
}

TEST(EmulatedPrograms, Places) {
  std::vector<Trial> trials;
  for (const char* text : place_programs) {
    trials.push_back(
        trial_of(text, {{{"B", 7}}, {{"B", 1}}, {{"B", 0}}, {{"B", 64}}, {{"B", 33}}}));
  }
  expect_equal(trials);
}

TEST(EmulatedPrograms, RandomOnes) {
  std::vector<Trial> trials;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    trials.push_back(random_trial(seed, {.nodes = 12, .elements = 3000}));
  }
  expect_equal(trials);
}

// Of all threads one finds the wrong id.
TEST(EmulatedPrograms, AFailedCheckIsReportedWithItsNumber) {
  std::vector<PlannedProgram> programs;
  for (
      const char* text :
      {R"(graph g(t: f32[9, 40], ids: i32[B]) { y = gather(t, ids) return y })",
       R"(graph g(t: f32[9, 40], ids: i32[B]) { e = exp(t) f = gather(e, ids) y = sum(f, dims=[1]) return y })",
       R"(graph g(t: f32[9], ids: i32[B]) { e = gather(t, ids) y = pad(e, low=[3], high=[2]) return y })"}) {
    const Graph graph = run_graph_passes(parse_graph(text, "ids"));
    programs.push_back({graph, make_plan(graph, device_model("h200"), {})});
  }
  for (const EmulatedProgram& program : emulate_programs(programs, "")) {
    EXPECT_FALSE(program.kernels.empty());
    for (const int64_t wrong : {-1, 9, 1000000, 4}) {  // 4 is in range
      std::vector<Tensor> inputs = random_inputs(program.graph, {{"B", 70}}, 2);
      inputs[1].set_i64(66, wrong);
      std::string message;
      try {
        run_emulated(program, inputs);
      } catch (const Error& error) {
        message = error.message();
      }
      const std::string part = fmt::format("index {} out of range [0, 9)", wrong);
      EXPECT_EQ(message.empty(), wrong == 4) << message;
      EXPECT_EQ(message.find(part) == std::string::npos, wrong == 4) << message;
    }
  }
}

// Else the tests above would interpret it.
TEST(EmulatedPrograms, EveryKernelHasATextForCuda) {
  std::vector<Trial> trials;
  for (const char* text : row_programs) trials.push_back(trial_of(text, {}));
  for (const char* text : place_programs) trials.push_back(trial_of(text, {}));
  for (const DType dtype : all_dtypes) trials.push_back(every_op_trial(dtype, 37));
  for (const Trial& trial : trials) {
    const Graph graph = run_graph_passes(trial.source);
    const Plan plan = make_plan(graph, device_model("h200"), {});
    for (const auto& variants : lower_plan(graph, plan, false)) {
      for (const loop::Kernel& kernel : variants) {
        EXPECT_TRUE(fits_cuda(kernel)) << trial.source.name << "\n" << print(kernel);
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
