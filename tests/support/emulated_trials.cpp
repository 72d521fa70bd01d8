#include "support/emulated_trials.h"

#include <algorithm>
#include <filesystem>
#include <regex>

#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/graph.h"
#include "support/every_op.h"

namespace ingot::testing {

const std::vector<const char*> row_programs = {
    R"(graph softmax_f32(x: f32[B, N]) { y = softmax(x, dim=-1) return y })",
    R"(graph softmax_bf16(x: bf16[B, N], m: bool[B, N]) {
      t = select(m, x, -inf) y = softmax(t, dim=-1) return y })",
    R"(graph masked(x: f32[B, N]) {
      t = mul(x, 0) u = sub(t, inf) y = softmax(u, dim=-1) return y })",
    R"(graph layer_norm(x: bf16[B, N], a: bf16[N], b: bf16[N]) {
      y = layer_norm(x, a, b, dims=[-1]) return y })",
    R"(graph rms_norm(x: f32[B, N], r: f32[B, N], w: f32[N]) {
      h = add(x, r) y = rms_norm(h, w) return y, h })",
    R"(graph bias_gelu(x: bf16[B, N], b: bf16[N]) { t = add(x, b) y = gelu(t) return y })",
    R"(graph chain(x: f32[B, N], c: f32[B, 1]) { t = add(x, c) y = silu(t) z = mul(y, x) return z })",
    R"(graph sums(x: f16[B, N]) {
      s = sum(x, dims=[1]) m = max(x, dims=[0]) f = sum(x) return s, m, f })",
    R"(graph integers(x: i32[B, N], y: u8[B, N]) {
      m = max(x, dims=[1]) s = sum(y, dims=[1]) p = prod(x, dims=[0]) q = min(y) return m, s, p, q })",
    R"(graph votes(x: f32[B, N]) {
      n = isnan(x) a = any(n, dims=[1]) b = all(n, dims=[1]) c = any(n) return a, b, c })",
    R"(graph columns(x: bf16[B, N]) { s = sum(x, dims=[0]) y = mul(x, 2) return y, s })",
    R"(graph wide(x: f64[B, N], y: i64[N]) {
      t = cast(y, dtype=f64) u = add(x, t) s = sum(u, dims=[1], keepdims=true) z = sub(u, s)
      return z })",
    R"(graph positions(x: f32[B, N]) { a = argmax(x, dims=[1]) b = argmin(x, dims=[0]) return a, b })",
    R"(graph scans(x: f32[B, N]) { a = cumsum(x, dim=1) b = cumsum(x, dim=0) return a, b })",
};

const std::vector<const char*> place_programs = {
    R"(graph g(q: bf16[B, 5, 64], c: bf16[5, 32], s: bf16[5, 32]) {
      a, b = split(q, dim=-1, sizes=[32, 32]) d = mul(a, c) e = mul(b, s) l = sub(d, e)
      f = mul(b, c) g = mul(a, s) h = add(f, g) y = concat(l, h, dim=-1) return y })",
    R"(graph g(x: f32[B, 40], z: f32[B, 17], w: f32[97]) {
      c = concat(x, z, x, dim=-1) a = mul(c, w) p = pad(a, low=[0, 20], high=[0, 33], value=2)
      y = relu(p) return y, c })",
    R"(graph transposed(x: f32[B, 17], b: f32[B]) {
      t = transpose(x, perm=[1, 0]) y = add(t, b) return y })",
    R"(graph whole_tiles(x: bf16[B, 128, 64], b: bf16[128], m: f16[B, 128, 64]) {
      p = transpose(x, perm=[0, 2, 1]) t = add(p, b) q = transpose(m, perm=[0, 2, 1])
      c = cast(q, dtype=bf16) y = mul(t, c) return y })",
    R"(graph tiles_of_words(x: f32[70, B], y: i32[64, B], z: f32[B, 70]) {
      t = transpose(x, perm=[1, 0]) a = mul(t, z) u = transpose(y, perm=[1, 0]) b = neg(u)
      return a, b })",
    R"(graph tiles_of_all_sizes(x: f64[67, B], y: bf16[67, B], m: bool[67, B]) {
      t = transpose(x, perm=[1, 0]) u = transpose(y, perm=[1, 0]) c = cast(u, dtype=f64)
      s = add(t, c) k = transpose(m, perm=[1, 0]) z = select(k, s, 0) return z })",
    R"(graph tiles_of_bytes(x: u8[130, B], y: i8[2, 128, 128], z: f32[B]) {
      t = transpose(x, perm=[1, 0]) a = add(t, 3) u = transpose(y, perm=[0, 2, 1]) b = neg(u)
      w = neg(z) return a, b, w })",
    R"(graph tiles_inside(x: bf16[B, 3, 40, 5]) {
      t = transpose(x, perm=[0, 2, 3, 1]) y = exp(t) u = transpose(x, perm=[3, 1, 2, 0])
      return y, u })",
    R"(graph strided(x: bf16[B, 70]) {
      a = slice(x, starts=[0, 1], ends=[B, 70], steps=[1, 2]) y = neg(a)
      b = slice(x, starts=[0, 69], ends=[B, -71], steps=[1, -1]) z = exp(b) return y, z })",
    R"(graph off_by_one(x: f32[B, 65]) {
      a = slice(x, starts=[0, 1], ends=[B, 65]) y = mul(a, 2) s = sum(a, dims=[1]) return y, s })",
    R"(graph joined(x: f32[B, 20], y: f32[B, 5]) {
      c = concat(x, y, x, dim=1) z = exp(c) return z })",
    R"(graph padded(x: bf16[B, 5]) {
      p = pad(x, low=[1, 2], high=[0, 3], value=7) y = neg(p) return y })",
    R"(graph gathered(t: bf16[10, 24], ids: i32[B, 6]) {
      e = gather(t, ids) y = gelu(e) return y })",
    R"(graph edges(x: f32[7], ids: i32[B]) {
      p = pad(x, low=[1], high=[0], mode="edge") y = gather(p, ids) return y })",
    R"(graph backwards(x: f32[B]) {
      r = random(distribution="uniform", dtype=f32, seed=83, shape=[33])
      y = slice(r, starts=[32], ends=[-34], steps=[-1]) z = neg(x) return y, z })",
    R"(graph padded_row(x: f32[64, 7], y: f32[B]) {
      p = pad(x, low=[2, 0], high=[1, 0], value=7) a = argmax(p, dims=[0, 1]) b = neg(y)
      return a, b })",
    R"(graph joined_row(x: f32[B, 9], y: f32[B, 70]) {
      c = concat(x, y, dim=1) s = softmax(c, dim=-1) return s })",
    R"(graph zeros_outside(t: f32[10, 24], ids: i64[B]) {
      e = gather(t, ids, out_of_range="zero") s = sum(e, dims=[1]) return e, s })",
    R"(graph elements(t: f32[B, 9], ids: i32[B, 4]) {
      y = gather_elements(t, ids, dim=1) return y })",
    R"(graph outer(x: f32[B, 1], y: f32[1, 37]) { z = mul(x, y) return z })",
    R"(graph counted(x: f32[B, 8]) {
      i = iota(shape=[B, 8], dim=0, dtype=f32) j = iota(shape=[B, 8], dim=1, dtype=f32)
      y = add(x, i) z = mul(y, j) return z })",
    R"(graph reshaped(x: f32[B, 12, 10]) {
      r = reshape(x, shape=[B, 3, 40]) s = sum(r, dims=[1]) return s })",
    R"(graph middle(x: f32[B, 70, 9]) { y = softmax(x, dim=1) return y })",
    R"(graph long_row(x: f32[2, 20000], y: f32[B]) { a = softmax(x, dim=-1) b = neg(y) return a, b })",
    R"(graph tall(x: f32[700, 3], y: f32[B]) { s = sum(x, dims=[0]) b = neg(y) return s, b })",
    R"(graph largest(x: f32[B, 40]) { v, i = topk(x, k=3, dim=1) return v, i })",
    R"(graph scattered(t: f32[B, 8], ids: i32[5], u: f32[5, 8]) {
      y = scatter_add(t, ids, u) return y })",
};

Trial trial_of(const std::string& text, const std::vector<Bindings>& sizes, uint64_t seed) {
  return {seed, parse_graph(text, "trial"), sizes};
}

Trial every_op_trial(DType dtype, int64_t columns, uint64_t seed) {
  return trial_of(every_op_program(dtype, columns),
                  {{{"B", 5}}, {{"B", 0}}, {{"B", 1}}, {{"B", 40}}}, seed);
}

namespace {

std::vector<Trial> rows_of_every_length() {
  std::vector<Trial> trials;
  for (const char* text : row_programs) {
    trials.push_back(trial_of(text, {}));
    for (int64_t n = 0; n <= 70; ++n) trials.back().sizes.push_back({{"B", n % 5}, {"N", n}});
    for (int64_t power = 128; power <= 8192; power *= 2) {
      for (int64_t n = power - 1; n <= power + 1; ++n) {
        trials.back().sizes.push_back({{"B", 3}, {"N", n}});
      }
    }
    trials.back().sizes.push_back({{"B", 300}, {"N", 3}});
    trials.push_back(trial_of(text, {{{"B", 9}, {"N", 7}}, {{"B", 200}, {"N", 40}}}, 1));
  }
  return trials;
}

std::vector<Trial> row_programs_at(const std::vector<Bindings>& sizes, uint64_t seed) {
  std::vector<Trial> trials;
  for (const char* text : row_programs) trials.push_back(trial_of(text, sizes, seed));
  return trials;
}

std::vector<Trial> masked_rows() {
  const std::vector<Bindings> sizes = {{{"B", 5}, {"N", 1}},   {{"B", 7}, {"N", 33}},
                                       {{"B", 3}, {"N", 513}}, {{"B", 2}, {"N", 4100}},
                                       {{"B", 0}, {"N", 9}},   {{"B", 4}, {"N", 0}}};
  std::vector<Trial> trials;
  for (const char* text : {R"(graph all_or_none(x: f32[B, N], c: f32[B, 1]) {
        m = gt(c, 0) t = select(m, x, -inf) y = softmax(t, dim=-1) return y })",
                           R"(graph none(x: bf16[B, N], m: bool[B, N]) {
        n = not(m) a = and(m, n) t = select(a, x, -inf) y = softmax(t, dim=-1)
        l = log_softmax(t, dim=-1) return y, l })",
                           R"(graph spelled_out(x: f32[B, N], c: f32[B, 1]) {
        m = gt(c, 0) t = select(m, x, -inf) h = max(t, dims=[1], keepdims=true) d = sub(t, h)
        e = exp(d) s = sum(e, dims=[1], keepdims=true) y = div(e, s) return y })"}) {
    trials.push_back(trial_of(text, sizes));
    trials.push_back(trial_of(text, sizes, 1));
  }
  return trials;
}

}  // namespace

std::vector<EdgeTrials> edge_trials() {
  const std::vector<Bindings> few = {{{"B", 0}, {"N", 0}}, {{"B", 0}, {"N", 5}},
                                     {{"B", 1}, {"N", 0}}, {{"B", 1}, {"N", 1}},
                                     {{"B", 1}, {"N", 7}}, {{"B", 13}, {"N", 1}}};
  return {{"RowsOfEveryLength", rows_of_every_length()},
          {"NothingOrOneElement", row_programs_at(few, 2)},
          {"RowsOfOneElement", row_programs_at({{{"B", 301}, {"N", 1}}, {{"B", 64}, {"N", 1}}}, 2)},
          {"SpecialValues", row_programs_at({{{"B", 6}, {"N", 70}},
                                             {{"B", 5}, {"N", 1023}},
                                             {{"B", 3}, {"N", 2049}},
                                             {{"B", 2}, {"N", 8191}}},
                                            11)},
          {"MaskedRows", masked_rows()}};
}

std::vector<Trial> bench_trials() {
  std::vector<Trial> trials;
  const std::filesystem::path folder = std::filesystem::path(INGOT_SOURCE_DIR) / "bench" / "gpu";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".ingot") continue;
    const std::string name = entry.path().filename().string();
    std::string text = read_file(entry.path().string());
    if (name.starts_with("rope") || name.starts_with("transpose")) {
      for (const auto& [size, smaller] :
           {std::pair{"4096", "66"}, {"2048", "96"}, {" 32,", " 3,"}}) {
        text = std::regex_replace(text, std::regex(size), smaller);
      }
    }
    trials.push_back(trial_of(text, {{{"B", 1}}, {{"B", 3}}, {{"B", 0}}}));
    if (name.starts_with("sumsq")) trials.back().sizes = {{{"B", 0}}, {{"B", 70001}}};
  }
  std::sort(trials.begin(), trials.end(),
            [](const Trial& a, const Trial& b) { return print(a.source) < print(b.source); });
  return trials;
}

void expect_equal(const std::vector<Trial>& trials) {
  const std::vector<std::string> differences = emulated_differences(trials, "");
  for (size_t i = 0; i < trials.size(); ++i) {
    if (differences[i].empty()) continue;
    const auto again = [](const Trial& trial) { return emulated_differences({trial}, "")[0]; };
    ADD_FAILURE() << write_failure(trials[i], differences[i],
                                   fmt::format("emulated_{}", trials[i].source.name), again);
    break;
  }
}

}  // namespace ingot::testing
