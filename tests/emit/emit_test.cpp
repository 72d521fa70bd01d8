// Emitted kernels give the interpreter's bits.
#include "support/compiled_kernel.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::compile_kernels;
using testing::Compiled;
using testing::expect_same;
using testing::Memory;

constexpr int64_t lengths[] = {0, 1, 3, 15, 16, 17, 63, 64, 65, 1000};

// Cast, moved and compared, but not computed with.
bool is_only_stored(DType dtype) { return is_float(dtype) && byte_size(dtype) == 1; }

TEST(Emit, ElementwiseOfEveryDTypeAtEveryLength) {
  std::vector<std::string> texts;
  for (DType dtype : all_dtypes) {
    std::string_view name = dtype_name(dtype);
    if (is_only_stored(dtype)) continue;
    bool boolean = dtype == DType::boolean;
    texts.push_back(fmt::format(
        R"(kernel binary_{0}(a: {0}[N] in, b: {0}[N] in, y: {0}[N] out, z: {0}[N] out) sizes(N) {{
          phase p in parallel(1) grain 1 {{
            for j in vector(N) {{
              a0: {0} = load a[j]
              b0: {0} = load b[j]
              s: {0} = {1}(a0, b0)
              t: {0} = {2}(s, b0)
              store y[j] = s
              store z[j] = t
            }}
          }}
        }})",
        name, boolean ? "xor" : "sub", boolean ? "and" : "maximum"));
  }
  Compiled compiled = compile_kernels(texts);
  for (size_t i = 0; i < texts.size(); i++) {
    for (int64_t n : lengths) expect_same(compiled, i, {{"N", n}}, static_cast<uint64_t>(n + 1));
  }
}

TEST(Emit, ConstantLengths) {
  std::vector<std::string> texts;
  for (int64_t n : lengths) {
    texts.push_back(fmt::format(
        R"(kernel relu_{0}(x: f32[3*{0}] in, y: f32[3*{0}] out) sizes() {{
          phase p in parallel(3) grain 1 {{
            for j in vector({0}) {{
              x0: f32 = load x[{0}*p + j]
              y0: f32 = relu(x0)
              stream y[{0}*p + j] = y0
            }}
          }}
        }})",
        n));
  }
  Compiled compiled = compile_kernels(texts);
  for (size_t i = 0; i < texts.size(); i++) expect_same(compiled, i, {});
}

TEST(Emit, EveryCast) {
  std::vector<std::string> texts;
  for (DType from : all_dtypes) {
    for (DType to : all_dtypes) {
      texts.push_back(fmt::format(
          R"(kernel cast_{0}_{1}(x: {0}[N] in, y: {1}[N] out) sizes(N) {{
            phase p in parallel(1) grain 1 {{
              for j in vector(N) {{
                x0: {0} = load x[j]
                y0: {1} = cast(x0)
                store y[j] = y0
              }}
            }}
          }})",
          dtype_name(from), dtype_name(to)));
    }
  }
  Compiled compiled = compile_kernels(texts);
  for (size_t i = 0; i < texts.size(); i++) expect_same(compiled, i, {{"N", 3000}});
}

// A kernel of one phase with a loop; `statement` defines y0.
std::string key_of(std::string_view name, std::string_view x, std::string_view value,
                   std::string_view statement) {
  std::string text = fmt::format(
      R"(kernel {0}({1}: f32[N] in, y: f32[N] out) sizes(N) {{
        phase p in parallel(1) grain 1 {{
          for j in vector(N) {{
            {2}: f32 = load {1}[j]
            y0: f32 = {3}
            store y[j] = y0
          }}
        }}
      }})",
      name, x, value, statement);
  return emit_cpp(loop::parse_kernel(text, "test")).key;
}

TEST(Emit, KeysAreEqualUpToNames) {
  std::string key = key_of("add", "x", "x0", "add(x0, 0.5)");
  EXPECT_EQ(key_of("add_2", "x", "x0", "add(x0, 0.5)"), key);
  EXPECT_EQ(key_of("add", "weights", "a", "add(a, 0.5)"), key);
  EXPECT_EQ(key_of("add", "buffers", "sizes", "add(sizes, 0.5)"), key);
  EXPECT_EQ(key_of("add", "load_f32", "f", "add(f, 0.5)"), key);
  EXPECT_NE(key_of("add", "x", "x0", "add(x0, 0.25)"), key);
  EXPECT_NE(key_of("add", "x", "x0", "mul(x0, 0.5)"), key);
  EXPECT_NE(key_of("add", "x", "x0", "add(x0, x0)"), key);
}

TEST(Emit, ComparisonsSelectAndLiterals) {
  std::vector<std::string> texts;
  for (DType dtype : all_dtypes) {
    if (dtype == DType::boolean || is_only_stored(dtype)) continue;
    texts.push_back(fmt::format(
        R"(kernel choose_{0}(x: {0}[N] in, m: bool[N] in, y: {0}[N] out, k: bool[N] out) sizes(N) {{
          phase p in parallel(1) grain 1 {{
            for j in vector(N) {{
              x0: {0} = load x[j]
              m0: bool = load m[j]
              below: bool = lt(x0, 3)
              not_m: bool = not(m0)
              both: bool = and(below, not_m)
              same: bool = eq(both, m0)
              either: bool = or(same, 1)
              picked: {0} = select(both, x0, 7)
              other: {0} = select(below, 1: {0}, 2)
              y0: {0} = sub(picked, other)
              none: {0} = select(1, y0, 5)
              kept: bool = select(m0, both, either)
              store y[j] = none
              store k[j] = kept
            }}
          }}
        }})",
        dtype_name(dtype)));
  }
  Compiled compiled = compile_kernels(texts);
  for (size_t i = 0; i < texts.size(); i++) expect_same(compiled, i, {{"N", 500}});
}

// On any bits, and on moderate numbers, whose sums tell the order.
void expect_same_sums(const Compiled& compiled, size_t number, const Bindings& sizes) {
  expect_same(compiled, number, sizes);
  expect_same(compiled, number, sizes, 1, [](std::vector<Memory>& memories) {
    for (size_t i = 0; i < memories.size(); ++i) testing::make_moderate(&memories[i].data, i);
  });
}

std::string reduction_text(std::string_view dtype, std::string_view acc, std::string_view op) {
  return fmt::format(
      R"(kernel {2}_{0}(x: {0}[B*N] in, y: {0}[B] out) sizes(B, N) {{
        phase p in parallel(B) grain 1 {{
          acc s: {1} = {2} lanes 64
          for c in serial((N + 255) / 256) {{
            for j in vector(min(256, N - 256*c)) {{
              x0: {0} = load x[N*p + 256*c + j]
              s {2}= x0
            }}
          }}
          r: {0} = finish s
          store y[p] = r
        }}
      }})",
      dtype, acc, op);
}

TEST(Emit, LaneAccumulators) {
  std::vector<std::string> texts;
  for (DType dtype : all_dtypes) {
    if (is_only_stored(dtype)) continue;
    bool boolean = dtype == DType::boolean;
    std::vector<std::string_view> ops{"sum", "max", "min", "prod"};
    if (boolean) ops = {"any", "all"};
    for (std::string_view op : ops) {
      texts.push_back(reduction_text(dtype_name(dtype), dtype_name(compute_dtype(dtype)), op));
    }
  }
  Compiled compiled = compile_kernels(texts);
  for (size_t i = 0; i < texts.size(); i++) {
    for (int64_t n : lengths) {
      for (uint64_t keep : {0, 16}) {
        expect_same(compiled, i, {{"B", 3}, {"N", n}}, static_cast<uint64_t>(n + 1),
                    [&](std::vector<Memory>& memories) {
                      testing::make_moderate(&memories[0].data, 7, keep);
                    });
      }
    }
  }
}

TEST(Emit, ZeroSignsAndNaNInTails) {
  Compiled compiled =
      compile_kernels({reduction_text("f32", "f32", "sum"), reduction_text("f32", "f32", "max"),
                       reduction_text("f32", "f32", "min")});
  for (size_t i = 0; i < 3; i++) {
    for (int64_t n : {1, 17, 65, 300}) {
      for (double value : {-0.0, 0.0, __builtin_nan(""), -__builtin_inf()}) {
        expect_same(compiled, i, {{"B", 2}, {"N", n}}, 1, [&](std::vector<Memory>& memories) {
          for (int64_t e = 0; e < memories[0].data.size(); e++) memories[0].data.set_f64(e, value);
        });
      }
    }
  }
}

TEST(Emit, RowSoftmax) {
  std::vector<std::string> texts;
  for (std::string_view dtype : {"f32", "bf16", "f64"}) {
    std::string_view wide = dtype == "f64" ? "f64" : "f32";
    texts.push_back(fmt::format(
        R"(kernel softmax_{0}(x: {0}[B*N] in, y: {0}[B*N] out) sizes(B, N) {{
          scratch row: {1}[N]
          phase p in parallel(B) grain 1 {{
            acc m: {1} = max lanes 64
            for j in vector(N) {{
              x0: {0} = load x[N*p + j]
              m max= x0
            }}
            top: {1} = finish m
            acc s: {1} = sum lanes 64
            for j in vector(N) {{
              x0: {0} = load x[N*p + j]
              d: {1} = sub(x0, top)
              e: {1} = exp(d)
              s sum= e
              store row[j] = e
            }}
            total: {1} = finish s
            for j in vector(N) {{
              e: {1} = load row[j]
              y0: {0} = div(e, total)
              store y[N*p + j] = y0
            }}
          }}
        }})",
        dtype, wide));
  }
  Compiled compiled = compile_kernels(texts);
  for (size_t i = 0; i < texts.size(); i++) {
    for (int64_t n : lengths) expect_same_sums(compiled, i, {{"B", 3}, {"N", n}});
  }
}

TEST(Emit, ColumnReduction) {
  Compiled compiled = compile_kernels({R"(
    kernel columns(x: f32[M*N] in, y: f32[N] out, c: f32[N] out) sizes(M, N) {
      phase p in parallel((N + 99) / 100) grain 1 {
        for j in vector(min(100, N - 100*p)) {
          acc s: f32 = sum lanes 1
          for k in serial(M) {
            x0: f32 = load x[N*k + 100*p + j]
            k0: f32 = index k
            w: f32 = mul(x0, k0)
            s sum= w
          }
          r: f32 = finish s
          store y[100*p + j] = r
          t: f32 = tanh(r)
          store c[100*p + j] = t
        }
      }
    })"});
  for (int64_t n : lengths) expect_same_sums(compiled, 0, {{"M", 5}, {"N", n}});
}

TEST(Emit, StridedTransposedAndReshapedAccess) {
  Compiled compiled = compile_kernels({R"(
    kernel strided(x: f32[M*N] in, y: f32[M*N] out, z: bf16[2*M*N] out) sizes(M, N) {
      phase p in parallel(N) grain 1 {
        for j in vector(M) {
          x0: f32 = load x[N*j + p]
          store y[M*p + j] = x0
          h: bf16 = cast(x0)
          store z[2*M*p + 2*j] = h
        }
      }
    })",
                                       R"(
    kernel blocks(x: f32[64*M] in, w: f32[M + 64] in, y: f32[64*M] out) sizes(M) {
      phase p in parallel(1) grain 1 {
        for j in vector(64*M) {
          x0: f32 = load x[j % 64 + 64*(j / 64)]
          w0: f32 = load w[j / 64]
          v0: f32 = load w[j % 50]
          s: f32 = add(x0, w0)
          t: f32 = mul(s, v0)
          store y[j] = t
        }
      }
    })"});
  for (int64_t m : lengths) {
    expect_same(compiled, 0, {{"M", m}, {"N", 3}});
    expect_same(compiled, 1, {{"M", m}});
  }
}

// Places that take divisions to find get a pointer, shared by the loops of a scope.
TEST(Emit, RowPointers) {
  Compiled compiled = compile_kernels({R"(
    kernel rows(x: f32[6*N] in, y: f32[6*N] out, z: f32[6*N] out) sizes(N) {
      phase p in parallel(6) grain 1 {
        for j in vector(N) {
          x0: f32 = load x[3*N*(p % 2) + N*(p / 2) + j]
          store y[3*N*(p % 2) + N*(p / 2) + j] = x0
        }
        for j in vector(N) {
          t: f32 = load y[3*N*(p % 2) + N*(p / 2) + j]
          store z[3*N*(p % 2) + N*(p / 2) + j] = t
        }
        for j in vector(N) {
          t: f32 = load y[3*N*(p % 2) + N*(p / 2) + j]
          u: f32 = neg(t)
          store y[3*N*(p % 2) + N*(p / 2) + j] = u
        }
      }
    })"});
  for (int64_t n : lengths) expect_same(compiled, 0, {{"N", n}});
  EXPECT_NE(compiled.sources[0].text.find("load_f32(x_row + j, live)"), std::string::npos);
}

// As many lines as the lanes of a chunk take, and one for an element that is the same for all.
TEST(Emit, HintsFetchAhead) {
  Compiled compiled = compile_kernels({R"(
    kernel k(x: f32[21*N] in, y: f32[N] in, s: f32[3*N] out) sizes(N) {
      phase p in parallel(3) grain 1 {
        for j in vector(N) {
          acc a: f32 = sum lanes 1
          for k in serial(7) {
            prefetch L2 x[7*N*p + N*k + j + 8*N]
            prefetch L2 y[j + N*k] share 2
            prefetch L1 y[p]
            x0: f32 = load x[7*N*p + N*k + j]
            y0: f32 = load y[j]
            t: f32 = mul(x0, y0)
            a sum= t
          }
          r: f32 = finish a
          store s[N*p + j] = r
        }
      }
    })"});
  for (int64_t n : lengths) expect_same_sums(compiled, 0, {{"N", n}});
  const std::string& text = compiled.sources[0].text;
  EXPECT_NE(text.find("prefetch_lines<4, 2>(x + 8 * N + N * k + 7 * N * p + j);"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("prefetch_lines<2, 2>(y + N * k + j / 2);"), std::string::npos) << text;
  EXPECT_NE(text.find("prefetch_lines<1>(y + p);"), std::string::npos) << text;
}

// Whole blocks in registers, and what is left of rows and columns.
TEST(Emit, TransposedTiles) {
  const std::string text = R"(
    kernel k(x: T[70*N] in, y: T[70*N] out) sizes(N) {
      scratch tile: T[6000]
      phase p in parallel((N + 63) / 64) grain 1 {
        transpose tile[0] by 80 = x[64*p] by N rows 70 columns min(64, N - 64*p)
        for i in serial(min(64, N - 64*p)) {
          for j in vector(70) {
            x0: T = load tile[80*i + j]
            store y[70*i + 4480*p + j] = x0
          }
        }
      }
    })";
  for (const char* dtype : {"f32", "bf16", "u8", "f64", "i64", "bool"}) {
    std::string typed = text;
    for (size_t at; (at = typed.find("T[")) != std::string::npos;) typed.replace(at, 1, dtype);
    for (size_t at; (at = typed.find(": T ")) != std::string::npos;) {
      typed.replace(at, 4, fmt::format(": {} ", dtype));
    }
    Compiled compiled = compile_kernels({typed});
    for (int64_t n : lengths) expect_same(compiled, 0, {{"N", n}});
  }
}

TEST(Emit, GuardsOfPadAndConcat) {
  Compiled compiled = compile_kernels({R"(
    kernel pad(x: bf16[N] in, u: u8[N] in, y: bf16[N + 7] out, k: bool[N + 7] out, v: u8[N + 7] out)
        sizes(N) {
      phase p in parallel(1) grain 1 {
        for j in vector(N + 7) {
          x0: bf16 = load x[j - 3] if 0 <= j - 3 < N else -1.5
          u0: u8 = load u[N - 1 - j] if 0 <= N - 1 - j < N and 0 <= j < 9 else 200
          k0: bool = within 3 <= j < N + 3
          i0: u8 = index 3*j
          v0: u8 = add(u0, i0)
          store y[j] = x0
          store k[j] = k0
          store v[j] = v0
        }
      }
    })"});
  for (int64_t n : lengths) expect_same(compiled, 0, {{"N", n}});
}

constexpr std::string_view gather_text = R"(
    kernel gather(table: f32[R*C] in, ids: i64[M] in, y: f32[M*C] out, z: f32[M*C] out) sizes(R, C, M) {
      report "gather: an index is out of range"
      phase p in parallel(M) grain 1 {
        id: i64 = load ids[p]
        next: i64 = add(id, 1)
        for j in vector(C) {
          r: f32 = load table[C*id + j] if 0 <= id < R else 0 report 0
          n: f32 = load table[C*next + j] if 0 <= next < R else 2
          s: f32 = add(r, n)
          store y[C*p + j] = s
        }
      }
      phase c in parallel(C) grain 1 {
        for j in vector(M) {
          id: i64 = load ids[j]
          low: bool = lt(id, 0)
          up: i64 = add(id, R0)
          id2: i64 = select(low, up, id)
          inside: bool = within 0 <= id2 < R report 0
          r: f32 = load table[C*id2 + c] if 0 <= id2 < R else -1 report 0
          s: f32 = select(inside, r, -2)
          store z[C*j + c] = s
        }
      }
    })";

TEST(Emit, Gather) {
  std::string text(gather_text);
  text.replace(text.find("R0"), 2, "5");
  Compiled compiled = compile_kernels({text});
  for (int64_t low : {-6, -5, 0}) {
    for (int64_t m : {1, 3, 64, 70}) {
      expect_same(compiled, 0, {{"R", 5}, {"C", 7}, {"M", m}}, 3,
                  [&](std::vector<Memory>& memories) {
                    for (int64_t e = 0; e < m; e++) memories[1].data.set_i64(e, low + e % 5);
                  });
    }
  }
}

TEST(Emit, LongBodies) {
  std::string body;
  for (int i = 0; i < 160; i++) {
    body += fmt::format("t{}: f32 = fma(t{}, x0, 0.25)\n", i + 1, i);
  }
  Compiled compiled = compile_kernels({fmt::format(
      R"(kernel chain(x: f32[N] in, y: f32[N] out, r: f32[1] out) sizes(N) {{
        phase p in parallel(1) grain 1 {{
          acc s: f32 = sum lanes 64
          for j in vector(N) {{
            x0: f32 = load x[j]
            t0: f32 = mul(x0, 0.5)
            {}
            s sum= t160
            store y[j] = t160
          }}
          total: f32 = finish s
          store r[p] = total
        }}
      }})",
      body)});
  for (int64_t n : lengths) {
    expect_same(compiled, 0, {{"N", n}}, 1, [](std::vector<Memory>& memories) {
      for (int64_t e = 0; e < memories[0].data.size(); e++) {
        memories[0].data.set_f64(e, static_cast<double>(e % 19) / 20);
      }
    });
  }
}

TEST(Emit, NamesOfUsersMayBeAnything) {
  Compiled compiled = compile_kernels({R"(
    kernel odd(`x y`: f32[`if`] in, exp: f32[`if`] out) sizes(`if`) {
      phase int in parallel(1) grain 1 {
        for long in vector(`if`) {
          select: f32 = load `x y`[long]
          `a.b/c:0`: f32 = exp(select)
          F32: f32 = add(`a.b/c:0`, select)
          store exp[long] = F32
        }
      }
    })"});
  expect_same(compiled, 0, {{"if", 100}});
}

TEST(Emit, NamesOfTheVocabularyMayBeUsersToo) {
  for (const char* name : {"load_f32", "store_f32", "stream_f32", "gather_f32", "prefetch_lines",
                           "INLINE", "ALWAYS_INLINE", "INGOT_LANES", "chunk_end", "report"}) {
    Compiled compiled = compile_kernels({fmt::format(R"(
    kernel odd({0}: f32[2*N] in, y: f32[N] out) sizes(N) {{
      phase p in parallel(1) grain 1 {{
        for i in vector(N) {{
          {0}_1: f32 = load {0}[2*i]
          t: f32 = load {0}[i]
          r: f32 = exp(t)
          s: f32 = add(r, {0}_1)
          store y[i] = s
        }}
      }}
    }})",
                                                     name)});
    expect_same(compiled, 0, {{"N", 100}});
  }
}

TEST(Emit, EqualKernelsStandOnceInAUnit) {
  loop::Kernel kernel = loop::parse_kernel(reduction_text("f32", "f32", "sum"), "<test>");
  KernelSource first = emit_cpp(kernel), second = emit_cpp(kernel);
  const KernelSource* both[] = {&first, &second};
  std::string unit = translation_unit(both);
  EXPECT_EQ(unit.find(first.text), unit.rfind(first.text));
}

TEST(Emit, ProductsCallTheRoutineWithItsSizes) {
  Compiled compiled = compile_kernels({R"(
    kernel product(a: f32[M*8] in, b: f32[8*N] in, y: f32[M*N] out) sizes(M, N) {
      scratch tile: f32[4*N]
      phase p in parallel(M / 4) grain 1 {
        product matmul f32 tile[0] = a[32*p] * b[0]
          sizes m=4, n=N, k=8, lda=8, ldb=N, ldc=N, transpose_a=0, transpose_b=0
        for i in serial(4) {
          for j in vector(N) {
            t: f32 = load tile[N*i + j]
            r: f32 = relu(t)
            store y[4*N*p + N*i + j] = r
          }
        }
      }
    })"});
  const KernelSource& source = compiled.sources[0];
  std::vector<Memory> memories =
      testing::make_memories(compiled.kernels[0], {{"M", 8}, {"N", 5}}, 1);
  std::vector<void*> buffers;
  for (Memory& memory : memories) buffers.push_back(memory.data.data());
  std::vector<long> sizes{8, 5};
  Tensor scratch(DType::u8, {source.scratch_bytes.evaluate({{"M", 8}, {"N", 5}})});
  KernelCall call{};
  call.buffers = buffers.data();
  call.sizes = sizes.data();
  call.scratch = scratch.as<char>();
  call.begin = 1;
  call.end = 2;
  call.product = [](const KernelCall* c, const char* routine, const long* s, const void* lhs,
                    const void* rhs, void* dst) {
    EXPECT_STREQ(routine, "matmul.f32");
    EXPECT_EQ(std::vector<long>(s, s + 8), (std::vector<long>{4, 5, 8, 8, 5, 5, 0, 0}));
    EXPECT_EQ(lhs, static_cast<const float*>(c->buffers[0]) + 32);
    EXPECT_EQ(rhs, c->buffers[1]);
    for (int i = 0; i < 20; i++) static_cast<float*>(dst)[i] = static_cast<float>(i - 10);
  };
  compiled.library.entry("product_p0")(&call);
  for (int i = 0; i < 20; i++) {
    EXPECT_EQ(memories[2].data.as<float>()[20 + i], static_cast<float>(std::max(i - 10, 0)));
  }
}

}  // namespace
}  // namespace ingot
