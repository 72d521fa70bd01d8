// The works of cpu_bench. In the texts T stands for the type, C for the number of columns.
#pragma once

#include <ingot/ingot.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct Work {
  std::string name, text;
  ingot::Sizes sizes;
};

struct Form {
  const char* name;
  const char* text;
  int64_t columns;
};

// Vectors stay in the caches.
inline constexpr Form forms[] = {
    {"chain4",
     "graph chain4(x: T[M, N], b: T[N], s: T[N], r: T[M, N]) {\n"
     "  t = add(x, b)\n  u = mul(t, s)\n  v = silu(u)\n  y = add(v, r)\n  return y\n}\n",
     16384},
    {"bias_gelu",
     "graph bias_gelu(x: T[M, N], b: T[N]) {\n"
     "  t = add(x, b)\n  y = gelu(t)\n  return y\n}\n",
     16384},
    {"softmax_4096", "graph softmax(x: T[M, C]) {\n  y = softmax(x, dim=-1)\n  return y\n}\n",
     4096},
    {"layer_norm_4096",
     "graph layer_norm(x: T[M, C], gamma: T[C], beta: T[C]) {\n"
     "  y = layer_norm(x, gamma, beta, dims=[-1])\n  return y\n}\n",
     4096},
    {"add_rmsnorm_4096",
     "graph add_rmsnorm(x: T[M, C], residual: T[M, C], gamma: T[C]) {\n"
     "  h = add(x, residual)\n  y = rms_norm(h, gamma, dims=[-1])\n  return y, h\n}\n",
     4096},
    {"add_mul_add_relu",
     "graph chain_relu(x: T[M, N]) {\n"
     "  t = add(x, 0.25)\n  u = mul(t, 1.5)\n  v = add(u, -0.125)\n  y = relu(v)\n  return y\n}\n",
     16384},
    {"add_mul_add_relu_vectors",
     "graph chain_relu(x: T[M, N], b: T[N], s: T[N], r: T[N]) {\n"
     "  t = add(x, b)\n  u = mul(t, s)\n  v = add(u, r)\n  y = relu(v)\n  return y\n}\n",
     16384},
    {"chain16",
     "graph chain16(x: T[M, N]) {\n"
     "  a = tanh(x)\n  b = mul(a, 1.25)\n  c = add(b, 0.125)\n  d = tanh(c)\n"
     "  e = mul(d, 0.75)\n  f = add(e, -0.25)\n  g = tanh(f)\n  h = mul(g, 1.5)\n"
     "  i = add(h, 0.0625)\n  j = tanh(i)\n  k = mul(j, 0.875)\n  l = add(k, 0.375)\n"
     "  m = tanh(l)\n  n = mul(m, 1.125)\n  o = add(n, -0.125)\n  y = tanh(o)\n  return y\n}\n",
     16384},
    {"softmax_backward",
     "graph softmax_backward(y: T[M, C], dy: T[M, C]) {\n"
     "  p = mul(y, dy)\n  s = sum(p, dims=[1], keepdims=true)\n  d = sub(dy, s)\n"
     "  dx = mul(y, d)\n  return dx\n}\n",
     4096},
    {"layer_norm_backward",
     "graph layer_norm_backward(x: T[M, C], dy: T[M, C], gamma: T[C]) {\n"
     "  m = mean(x, dims=[1], keepdims=true)\n  c = sub(x, m)\n  q = mul(c, c)\n"
     "  v = mean(q, dims=[1], keepdims=true)\n  e = add(v, 0.00001)\n  r = rsqrt(e)\n"
     "  h = mul(c, r)\n  g = mul(dy, gamma)\n  gm = mean(g, dims=[1], keepdims=true)\n"
     "  gh = mul(g, h)\n  hm = mean(gh, dims=[1], keepdims=true)\n  a = sub(g, gm)\n"
     "  b = mul(h, hm)\n  d = sub(a, b)\n  dx = mul(d, r)\n  return dx\n}\n",
     4096},
    {"rms_norm_backward",
     "graph rms_norm_backward(x: T[M, C], dy: T[M, C], gamma: T[C]) {\n"
     "  q = mul(x, x)\n  v = mean(q, dims=[1], keepdims=true)\n  e = add(v, 0.00001)\n"
     "  r = rsqrt(e)\n  h = mul(x, r)\n  g = mul(dy, gamma)\n  gh = mul(g, h)\n"
     "  hm = mean(gh, dims=[1], keepdims=true)\n  b = mul(h, hm)\n  d = sub(g, b)\n"
     "  dx = mul(d, r)\n  return dx\n}\n",
     4096},
    {"cross_entropy_32768",
     "graph cross_entropy(x: T[M, C], label: i64[M, 1]) {\n"
     "  m = max(x, dims=[1], keepdims=true)\n  d = sub(x, m)\n  e = exp(d)\n"
     "  s = sum(e, dims=[1], keepdims=true)\n  l = log(s)\n"
     "  at = iota(shape=[M, C], dim=1, dtype=i64)\n  hit = eq(at, label)\n"
     "  z = select(hit, d, 0.0)\n  t = sum(z, dims=[1], keepdims=true)\n  loss = sub(l, t)\n"
     "  return loss\n}\n",
     32768},
    {"transpose_bias_gelu",
     "graph transpose_bias_gelu(x: T[C, M], b: T[C]) {\n"
     "  t = transpose(x, perm=[1, 0])\n  u = add(t, b)\n  y = gelu(u)\n  return y\n}\n",
     8192},
    {"full_sum", "graph full_sum(x: T[M, N]) {\n  s = sum(x)\n  return s\n}\n", 4096},
    {"column_sum", "graph column_sum(x: T[M, N]) {\n  s = sum(x, dims=[0])\n  return s\n}\n", 4096},
};

inline Work work_of(const Form& form, const std::string& suffix, const std::string& dtype,
                    int64_t rows, int64_t columns) {
  std::string text = form.text;
  const std::pair<std::string, std::string> parts[] = {
      {"T[", dtype + "["},
      {", C]", ", " + std::to_string(columns) + "]"},
      {"[C", "[" + std::to_string(columns)}};
  for (const auto& [from, to] : parts) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  ingot::Sizes sizes = {{"M", rows}};
  if (text.find("N]") != std::string::npos) sizes["N"] = columns;
  return {form.name + suffix, text, sizes};
}

// Each at 256 MiB a tensor in f32 and bf16, at 2 MiB, and as 64 by 1024.
inline std::vector<Work> all_works() {
  std::vector<Work> works;
  for (const Form& form : forms) {
    works.push_back(work_of(form, "", "f32", (int64_t{64} << 20) / form.columns, form.columns));
  }
  for (const Form& form : forms) {
    const int64_t columns = form.columns;
    works.push_back(work_of(form, ".bf16", "bf16", (int64_t{128} << 20) / columns, columns));
    works.push_back(work_of(form, ".2MiB", "f32", (int64_t{512} << 10) / columns, columns));
    works.push_back(work_of(form, ".64x1024", "f32", 64, 1024));
  }
  return works;
}

}  // namespace bench
