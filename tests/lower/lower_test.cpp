// Lowered kernels, interpreted, give the evaluator's bits: every fusion mode, every schedule.
#include "lower/lower.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/interpret_plan.h"

namespace ingot {
namespace {

struct Program {
  const char* name;
  const char* text;
  bool product = false;  // compared within rounding: the order of a product is the library's
};

const Program programs[] = {
    {"bias_gelu", R"(graph g(x: f32[B, 37], b: f32[37]) { t = add(x, b) y = gelu(t) return y })"},
    {"row_vector", R"(graph g(x: f32[B, B], b: f32[B]) { t = add(x, b) y = mul(t, b) return y })"},
    {"bf16", R"(graph g(x: bf16[B, 70], b: bf16[70]) { t = add(x, b) y = silu(t) return y, t })"},
    {"flat", R"(graph g(x: f32[B, 5, 7]) { y = mul(x, 0.5) z = exp(y) return z })"},
    {"narrow", R"(graph g(x: f32[B, 3], b: f32[3]) { y = add(x, b) return y })"},
    {"softmax", R"(graph g(x: f32[B, 130]) { y = softmax(x, dim=-1) return y })"},
    {"softmax_bf16", R"(graph g(x: bf16[B, 65]) { y = softmax(x, dim=-1) return y })"},
    {"softmax_middle", R"(graph g(x: f32[B, 70, 9]) { y = softmax(x, dim=1) return y })"},
    {"softmax_named", R"(graph g(x: f32[4, B]) { y = softmax(x, dim=-1) return y })"},
    {"long_row", R"(graph g(x: f32[2, 20000]) { y = softmax(x, dim=-1) return y })"},
    {"spelled", R"(graph g(x: f32[B, 100]) {
        m = max(x, dims=[1], keepdims=true) d = sub(x, m) e = exp(d)
        s = sum(e, dims=[1], keepdims=true) y = div(e, s) return y })"},
    {"layer_norm", R"(graph g(x: f32[B, 96], a: f32[96], b: f32[96]) {
        y = layer_norm(x, a, b, dims=[-1]) return y })"},
    {"norm_middle", R"(graph g(x: f32[B, 6, 10]) {
        s = sum(x, dims=[1], keepdims=true) m = div(s, 6) q = mul(x, x)
        t = sum(q, dims=[1], keepdims=true) u = div(t, 6) mm = mul(m, m) v = sub(u, mm)
        d = sub(x, m) w = add(v, 0.00001) r = sqrt(w) y = div(d, r) return y })"},
    {"add_rmsnorm", R"(graph g(x: f32[B, 64], r: f32[B, 64], w: f32[64]) {
        h = add(x, r) y = rms_norm(h, w) return y, h })"},
    {"full_sum", R"(graph g(x: f32[3, 30000]) { s = sum(x) return s })"},
    {"two_dims", R"(graph g(x: f32[5, B, 4, 33]) { s = sum(x, dims=[0, 2, 3]) return s })"},
    {"empty_slice", R"(graph g(x: f32[B, 1, 4]) {
        e = slice(x, starts=[2, 1, 0], ends=[1, 2, 0]) s = sum(e, dims=[0, 1, 2])
        c = slice(x, starts=[0, 0, 4], ends=[B, 1, 4]) r = sum(c, dims=[2]) return s, r })"},
    {"columns",
     R"(graph g(x: f32[200, B]) { s = sum(x, dims=[0]) m = max(x, dims=[0]) return s, m })"},
    {"transpose", R"(graph g(x: f32[B, 17], b: f32[B]) {
        t = transpose(x, perm=[1, 0]) y = add(t, b) return y })"},
    {"reshape", R"(graph g(x: f32[B, 12, 10]) {
        r = reshape(x, shape=[B, 3, 40]) s = sum(r, dims=[1]) return s })"},
    {"slice_concat", R"(graph g(x: f32[B, 20], y: f32[B, 5]) {
        a = slice(x, starts=[0, 3], ends=[B, 9]) c = concat(a, y, dim=1) z = exp(c) return z })"},
    {"pad",
     R"(graph g(x: f32[B, 5]) { p = pad(x, low=[1, 2], high=[0, 3], value=7) y = neg(p) return y })"},
    {"gather",
     R"(graph g(t: f32[10, 24], ids: i32[B, 6]) { e = gather(t, ids) y = gelu(e) return y })"},
    {"gather_of_an_edge", R"(graph g(x: f32[7], ids: i32[B]) {
        p = pad(x, low=[1], high=[0], mode="edge") y = gather(p, ids) return y })"},
    {"gather_sum",
     R"(graph g(t: f32[10, 24], ids: i64[B]) { u = add(t, 1) e = gather(u, ids) s = sum(e, dims=[1]) return s })"},
    {"two_consumers",
     R"(graph g(x: f32[B, 40]) { t = exp(x) a = add(t, 1) s = sum(t, dims=[1]) return a, s })"},
    {"integers",
     R"(graph g(x: i32[B, 40], y: i64[B, 40]) { a = mul(x, x) c = cast(a, dtype=i64) d = div(c, y) s = sum(d, dims=[0]) return s })"},
    {"u8", R"(graph g(x: u8[B, 40]) { a = mul(x, 7) s = sum(a, dims=[1]) return a, s })"},
    {"mask",
     R"(graph g(m: bool[B, 40], x: f32[B, 40]) { y = mul(x, 1.25) z = select(m, y, 0) n = not(m) return z, n })"},
    {"f64", R"(graph g(x: f64[B, 50]) { y = softmax(x, dim=-1) return y })"},
    {"f16",
     R"(graph g(x: f16[B, 50]) { y = tanh(x) z = mul(y, x) s = sum(z, dims=[1]) return s })"},
    {"iota",
     R"(graph g(x: f32[B, 8]) { i = iota(shape=[B, 8], dim=1, dtype=f32) y = add(x, i) return y })"},
    {"view_only", R"(graph g(x: f32[B, 8]) { t = transpose(x, perm=[1, 0]) return t })"},
    {"scalar", R"(graph g(x: f32[]) { y = exp(x) return y })"},
    {"matmul", R"(graph g(x: f32[B, 20], w: f32[20, 33], b: f32[33]) {
        m = matmul(x, w) t = add(m, b) y = gelu(t) return y })",
     true},
    {"batched", R"(graph g(x: f32[B, 3, 20], w: f32[B, 7, 20]) {
        m = matmul(x, w, transpose_b=true) y = relu(m) return y })",
     true},
    {"attention", R"(graph g(q: f32[B, 5, 8], k: f32[B, 6, 8], v: f32[B, 6, 8]) {
        s = matmul(q, k, transpose_b=true) t = mul(s, 0.35) p = softmax(t, dim=-1)
        o = matmul(p, v) return o })",
     true},
    {"conv_bias", R"(graph g(x: bf16[B, 4, 12], w: bf16[6, 2, 5], c: bf16[6]) {
        y = conv(x, w, c, groups=2, pads=[2, 2]) return y })",
     true},
    {"halves_rotated", R"(graph g(q: bf16[B, 5, 64], c: bf16[5, 32], s: bf16[5, 32]) {
        a, b = split(q, dim=-1, sizes=[32, 32]) d = mul(a, c) e = mul(b, s) l = sub(d, e)
        f = mul(b, c) g = mul(a, s) h = add(f, g) y = concat(l, h, dim=-1) return y })"},
    {"pieces_of_three_lengths", R"(graph g(x: f32[B, 40], z: f32[B, 17], w: f32[97]) {
        c = concat(x, z, x, dim=-1) a = mul(c, w) p = pad(a, low=[0, 20], high=[0, 33], value=2)
        y = relu(p) return y, c })"},
    {"concat_in_a_flipped_pad", R"(graph g(x: i32[3, B, 30], z: i32[3, B, 30]) {
        c = concat(x, z, dim=2) f = slice(c, starts=[0, 0, -1], ends=[3, 100, -100], steps=[1, 1, -1])
        p = pad(f, low=[1, 0, 16], high=[0, 0, 16]) y = neg(p) return y })"},
    {"iota_along_the_last", R"(graph g(x: f32[B, 5]) {
        i = iota(shape=[B, 5], dim=-1, dtype=f32) y = add(x, i) return y })"},
    {"empty_slice_beside_a_reduction", R"(graph g(x: f16[0, 31, 33], b: f32[B]) {
        c = cos(x) e = eq(c, x) n = not(e) r = any(n, dims=[2], keepdims=true)
        s = slice(c, ends=[0, -32, 31], starts=[0, 30, 0], steps=[1, -1, 3]) t = neg(b)
        return r, s, t })"},
    {"sizes_that_divide", R"(graph g(x: f32[B, B], ids: i32[3]) {
        c = concat(x, x, dim=0) r = reshape(c, shape=[2*B*B])
        y = gather(r, ids, out_of_range="zero") return y })"},
    {"view_of_an_inner_value", R"(graph g(x: f32[64, 5, 4], m: f32[]) {
        s = min(x, dims=[0, 2], keepdims=true) f = fma(s, s, x)
        r = reshape(f, shape=[2, 32, 5, 4]) e = eq(f, m) return e, r })"},
    {"column_sums", R"(graph g(x: f32[73, 70], y: f32[73, 70], m: f32[73, 1]) {
        d = sub(x, m) p = mul(d, y) a = sum(p, dims=[0]) b = max(y, dims=[0]) q = div(a, b)
        return a, q })"},
    {"column_sums_of_named_rows", R"(graph g(x: bf16[33, B]) {
        e = exp(x) s = sum(e, dims=[0]) return s })"},
    {"column_sums_of_short_rows", R"(graph g(x: u8[70, 3], y: bool[70, 3]) {
        s = max(x, dims=[0]) a = all(y, dims=[0]) return s, a })"},
    {"column_sums_of_images", R"(graph g(x: f32[2, 40, 5, B, 6]) {
        y = mul(x, 2.0) s = sum(y, dims=[1, 3]) return y, s })"},
    {"column_sums_of_named_sizes", R"(graph g(x: f32[B, 66], z: f32[40, B]) {
        s = sum(x, dims=[0]) p = prod(z, dims=[0]) return s, p })"},
    {"transposed_by_tiles", R"(graph g(x: f32[70, B], b: f32[70], z: f32[B, 70]) {
        t = transpose(x, perm=[1, 0]) u = add(t, b) y = mul(u, z) return y })"},
    {"transposed_along_outputs", R"(graph g(x: f32[70, B], b: f32[70]) {
        t = transpose(x, perm=[1, 0]) u = add(t, b) y = gelu(u) return y })"},
    {"transposed_images", R"(graph g(x: bf16[2, 17, B, 3], z: u8[19, B]) {
        t = transpose(x, perm=[0, 2, 3, 1]) y = relu(t) v = transpose(z, perm=[1, 0])
        return y, v })"},
    {"transposed_and_not", R"(graph g(x: f64[66, 66]) {
        t = transpose(x, perm=[1, 0]) y = sub(x, t) return y })"},
    {"rows_and_columns", R"(graph g(x: f32[B, 70], y: f32[B, 70], g: f32[70]) {
        m = mean(x, dims=[1], keepdims=true) c = sub(x, m) q = mul(c, c)
        v = mean(q, dims=[1], keepdims=true) r = rsqrt(v) h = mul(c, r) p = mul(h, y)
        k = mean(p, dims=[1], keepdims=true) d = sub(y, k) z = mul(d, g)
        a = sum(p, dims=[0]) b = sum(y, dims=[0], keepdims=true) u = max(z, dims=[0])
        w = mul(a, g) return z, w, b, u })"},
    {"rows_and_columns_bf16", R"(graph g(x: bf16[B, 3, 65]) {
        s = sum(x, dims=[2], keepdims=true) d = sub(x, s) c = sum(d, dims=[0, 1]) r = max(d, dims=[2])
        return c, r })"},
    {"rows_and_columns_of_long_rows", R"(graph g(x: f32[B, 2100]) {
        s = sum(x, dims=[1]) c = sum(x, dims=[0]) m = min(x, dims=[0]) return s, c, m })"},
    {"rows_and_columns_of_named_length", R"(graph g(x: u8[70, B], t: bool[70, B]) {
        s = sum(x, dims=[1]) c = prod(x, dims=[0]) a = all(t, dims=[0]) n = any(t, dims=[1])
        return s, c, a, n })"},
    {"conv", R"(graph g(x: f32[B, 4, 12], w: f32[6, 4, 5], c: f32[6, 1]) {
        y = conv(x, w) z = add(y, c) g = gelu(z) m = max(g, dims=[2]) return m })",
     true},
};

void compare(const Program& program, int64_t size) {
  Graph source = parse_graph(program.text, program.name);
  Bindings sizes{{"B", size}};
  std::vector<Tensor> inputs = testing::random_inputs(source, sizes, 7);
  std::vector<Tensor> expected = evaluate(source, inputs, Precision::per_op);
  Graph graph = run_graph_passes(source);
  for (FusionMode mode : {FusionMode::off, FusionMode::automatic, FusionMode::all}) {
    PlanOptions options;
    options.fusion = mode;
    for (const char* device : {"cpu", "h200"}) {
      if (program.product && device_model(device).gpu) continue;
      Plan plan = make_plan(graph, device_model(device), options);
      for (const char* schedule :
           {"", "rows, streaming", "row blocks", "split", "column bands", "row bands",
            "row bands, streaming", "transposed tiles", "transposed tiles, streaming"}) {
        std::vector<Tensor> got = testing::interpret_plan(
            graph, plan, testing::lower_plan(graph, plan), inputs, schedule);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) {
          std::string where =
              fmt::format("{} on {} B={} fusion {} output {}\n{}", program.name, device, size,
                          static_cast<int>(mode), i, print(graph, plan));
          if (!program.product) {
            EXPECT_EQ(testing::first_difference(got[i], expected[i]), "") << where;
            continue;
          }
          for (int64_t e = 0; e < got[i].size(); ++e) {
            ASSERT_NEAR(got[i].get_f64(e), expected[i].get_f64(e), 1e-4) << where;
          }
        }
      }
    }
  }
}

class Lowered : public ::testing::TestWithParam<Program> {};

TEST_P(Lowered, GivesTheEvaluatorsBits) {
  for (int64_t size : {1, 3, 64, 131}) compare(GetParam(), size);
}

TEST_P(Lowered, TakesEmptyDimensions) { compare(GetParam(), 0); }

INSTANTIATE_TEST_SUITE_P(Programs, Lowered, ::testing::ValuesIn(programs),
                         [](const auto& info) { return std::string(info.param.name); });

// Lines of the loops of all groups under their first schedules.
size_t lines_of(const std::string& text, FusionMode mode) {
  Graph graph = run_graph_passes(parse_graph(text, "<test>"));
  PlanOptions options;
  options.fusion = mode;
  Plan plan = make_plan(graph, device_model("cpu"), options);
  size_t lines = 0;
  for (const Group& group : plan.groups) {
    const std::string loops = print(lower(graph, plan, group, group.schedules[0]));
    lines += static_cast<size_t>(std::ranges::count(loops, '\n'));
  }
  return lines;
}

// The halves of `x + 1` change places so many times.
std::string swaps(int times) {
  std::string text = "graph g(x: f32[B, 4]) { a0 = add(x, 1)\n";
  for (int i = 0; i < times; ++i) {
    text += fmt::format(
        "p{0} = slice(a{0}, starts=[0, 0], ends=[B, 2]) q{0} = slice(a{0}, starts=[0, 2], "
        "ends=[B, 4]) a{1} = concat(q{0}, p{0}, dim=1)\n",
        i, i + 1);
  }
  return text + fmt::format("return a{} }}", times);
}

// Each half of each swap is wanted under guards of its own: code for all would double with each.
TEST(Lower, LoopsDoNotDoubleWithEachConcatOfSlices) {
  const std::string text = swaps(12);
  for (int64_t size : {0, 3}) compare({"swaps", text.c_str()}, size);
  for (FusionMode mode : {FusionMode::automatic, FusionMode::all}) {
    EXPECT_LT(lines_of(text, mode), 2000u);
    EXPECT_LT(lines_of(swaps(48), mode), 8000u);
  }
}

// Loops of nested gathers grow with the square of their number.
TEST(Lower, LoopsOfNestedGathersGrowWithTheirNumber) {
  auto nested = [](int times) {
    std::string text = "graph g(x: f32[6, 6], i: i32[6]) { a0 = add(x, 1)\n";
    for (int i = 0; i < times; ++i) {
      text += fmt::format("a{} = gather(a{}, i, dim={})\n", i + 1, i, i % 2);
    }
    return text + fmt::format("return a{} }}", times);
  };
  const std::string text = nested(20);
  compare({"nested", text.c_str()}, 1);
  for (FusionMode mode : {FusionMode::automatic, FusionMode::all}) {
    EXPECT_LT(lines_of(nested(80), mode), 5 * lines_of(text, mode));
    const Graph graph = run_graph_passes(parse_graph(text, "<test>"));
    PlanOptions options;
    options.fusion = mode;
    const Plan plan = make_plan(graph, device_model("cpu"), options);
    EXPECT_EQ(plan.groups.size(), 3u) << print(graph, plan);
    EXPECT_TRUE(std::ranges::any_of(plan.decisions, [](const Decision& d) {
      return d.reason == Reason::group_too_large;
    })) << print(graph, plan);
  }
}

// The text of the kernel of the only group under the schedule.
std::string lowered(const char* text, const std::string& schedule_name) {
  Graph graph = run_graph_passes(parse_graph(text, "<test>"));
  Plan plan = make_plan(graph, device_model("cpu"), {});
  EXPECT_EQ(plan.groups.size(), 1u);
  for (const Schedule& schedule : plan.groups[0].schedules) {
    if (schedule.name == schedule_name) return print(lower(graph, plan, plan.groups[0], schedule));
  }
  return "no schedule " + schedule_name;
}

void expect_hint(const char* text, const std::string& schedule, const std::string& hint) {
  const std::string streaming = lowered(text, schedule + ", streaming");
  EXPECT_NE(streaming.find(hint), std::string::npos) << streaming;
  const std::string cached = lowered(text, schedule);
  EXPECT_NE(cached.find(" = load "), std::string::npos) << cached;
  EXPECT_EQ(cached.find("prefetch"), std::string::npos) << cached;
}

TEST(Lower, OperandsBeyondTheCachesAreFetchedAhead) {
  const char* sums = "graph g(x: f32[B, 512]) { s = sum(x, dims=[0]) return s }";
  expect_hint(sums, "column bands", "prefetch L2 x[i1 + 512*k + 32768*p + 4096*sweep + 4096]");
  const char* rows = "graph g(x: f32[B, 512], b: f32[512]) { y = add(x, b) return y }";
  expect_hint(rows, "rows", "prefetch L1 x[512*i0 + i1 + 512]");
  EXPECT_EQ(lowered(rows, "rows, streaming").find("prefetch L1 b"), std::string::npos);
  const char* blocks =
      "graph g(x: bf16[B, 16384], b: bf16[16384]) { t = add(x, b) y = gelu(t) "
      "return y }";
  expect_hint(blocks, "row blocks", "prefetch L2 x[i1 + 16384*min(4*p + q, B - 1) + 1024]");
  expect_hint(blocks, "row blocks", "prefetch L1 x[i1 + 16384*min(4*p + q, B - 1) + 128]");
  const char* cheap =
      "graph g(x: f32[B, 16384], b: f32[16384], s: f32[16384]) { t = add(x, b) y = mul(t, s) "
      "return y }";
  expect_hint(cheap, "row blocks", "prefetch L2 x[j + 16384*min(8*p + q, B - 1) + 16*part + 512]");
  expect_hint(cheap, "row blocks",
              "prefetch L1 x[j0 - 16384*min(1, part / 16) + 16384*min(8*p + q0 + 4, B - 1) + "
              "16*part + 16192]");
  const char* softmax = "graph g(x: f32[B, 4096]) { y = softmax(x, dim=-1) return y }";
  expect_hint(softmax, "rows", "prefetch L2 x[2048*chunk2 + k2 + 4096*next + 65536*p + 8192]");
  const char* norm =
      "graph g(x: f32[B, 128], w: f32[128]) { y = layer_norm(x, w, dims=[-1]) return y }";
  expect_hint(norm, "rows", "prefetch L1 x[128*i0 + i1 + 512] share 2");
  expect_hint(norm, "rows", "prefetch L1 x[128*i0 + i1 + 576] share 2");
  const char* read_twice = R"(graph g(x: f32[B, 4096]) {
      m = max(x, dims=[1], keepdims=true) d = sub(x, m) e = exp(d) s = sum(e, dims=[1])
      return s })";
  expect_hint(read_twice, "rows", "prefetch L2 x[2048*chunk0 + 4096*i0 + k0 + 4096]");
  const char* turned = R"(graph g(x: f32[4096, 4096], z: f32[4096, 4096]) {
      t = transpose(x, perm=[1, 0]) y = add(t, z) return y })";
  expect_hint(turned, "transposed tiles", "prefetch L2 x[4096*i + j + 262144*p + 64*tile + 64]");
  expect_hint(turned, "transposed tiles",
              "prefetch L2 z[4096*i + j + 64*p + 262144*tile + 262144]");
}

// What both halves of a rotation need is loaded once, and neither has a condition.
TEST(Lower, PiecesOfOneLengthShareALoop) {
  const char* text = R"(graph g(q: f32[B, 128], c: f32[64], s: f32[64]) {
      a, b = split(q, dim=-1, sizes=[64, 64]) d = mul(a, c) e = mul(b, s) l = sub(d, e)
      f = mul(b, c) g = mul(a, s) h = add(f, g) y = concat(l, h, dim=-1) return y })";
  const std::string kernel = lowered(text, "rows in pieces");
  auto count = [&](const std::string& word) {
    size_t found = 0;
    for (size_t at = kernel.find(word); at != std::string::npos; at = kernel.find(word, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("vector(64)"), 1) << kernel;
  EXPECT_EQ(count(" = load "), 4) << kernel;
  EXPECT_EQ(count("store y["), 2) << kernel;
  EXPECT_EQ(count(" if "), 0) << kernel;
  EXPECT_EQ(count("select("), 0) << kernel;
}

std::string lowered_for(const char* text, const char* device, Numerics numerics) {
  const Graph graph = run_graph_passes(parse_graph(text, "g"));
  PlanOptions options;
  options.numerics = numerics;
  std::string all;
  for (const auto& variants :
       testing::lower_plan(graph, make_plan(graph, device_model(device), options), false)) {
    for (const loop::Kernel& kernel : variants) all += print(kernel);
  }
  return all;
}

TEST(Lower, ProductsAndSumsAreContractedOnAGpuInWideOnly) {
  const char* text = R"(graph g(x: bf16[B, 64], z: bf16[B, 64]) {
      m = mul(x, z) a = add(m, 0.5) n = mul(a, x) s = sub(z, n) t = sub(n, 0.25)
      y = div(s, 8.0) v = div(t, 7.0) return y, v })";
  const std::string wide = lowered_for(text, "h200", Numerics::wide);
  EXPECT_NE(wide.find("a: f32 = fma(x0, z0, 0.5)"), std::string::npos) << wide;
  EXPECT_NE(wide.find("s: f32 = fma(a0, x0, z0)"), std::string::npos) << wide;
  EXPECT_NE(wide.find("t: f32 = fma(a, x0, -0.25)"), std::string::npos) << wide;
  EXPECT_EQ(lowered_for(text, "h200", Numerics::exact).find("fma("), std::string::npos);
  const std::string cpu = lowered_for(text, "cpu", Numerics::wide);
  EXPECT_EQ(cpu.find("fma("), std::string::npos);
  const std::string root = lowered_for(
      "graph g(x: f32[B, 64]) { p = mul(x, x) a = sub(p, 0.25) y = sqrt(a) b = add(p, 1) return y, "
      "b }",
      "h200", Numerics::wide);
  EXPECT_NE(root.find("a: f32 = sub("), std::string::npos) << root;  // below 0 by a rounding
  EXPECT_NE(root.find("b0: f32 = fma("), std::string::npos) << root;
  const std::string scaled = lowered_for(
      "graph g(x: f32[B, 64], z: f32[B, 64]) { p = mul(x, x) q = mul(z, z) a = sub(p, q) "
      "b = mul(a, 0.5) y = sqrt(b) c = maximum(a, -1) w = pow(c, 0.5) return y, w }",
      "h200", Numerics::wide);
  EXPECT_EQ(scaled.find("fma("), std::string::npos) << scaled;
  // The largest one less itself is 0, and a fraction is not below it.
  const std::string same = lowered_for(
      "graph g(x: f32[B, 64]) { m = mul(x, 1e14) y = softmax(m) f = floor(m) r = sub(m, f) "
      "return y, r }",
      "h200", Numerics::wide);
  EXPECT_EQ(same.find("fma("), std::string::npos) << same;
  // x / 2^k has the bits of x · 2^-k everywhere.
  EXPECT_NE(cpu.find("= mul(s, 0.125"), std::string::npos) << cpu;
  EXPECT_NE(cpu.find("= div(t, 7"), std::string::npos) << cpu;
}

TEST(Lower, TilesWithArithmeticFollowTheOutputs) {
  const char* text = R"(graph g(x: f32[4096, 4096], z: f32[4096, 4096]) {
      t = transpose(x, perm=[1, 0]) y = gelu(t) return y })";
  expect_hint(text, "transposed tiles", "prefetch L2 x[4096*i + j + 64*p + 262144*tile + 262144]");
}

}  // namespace
}  // namespace ingot
