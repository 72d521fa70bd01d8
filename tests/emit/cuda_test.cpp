// The text of CUDA kernels. That it compiles is tested in tests/jit, that it computes the same bits
// on a GPU in tests/gpu.
#include <regex>

#include <gtest/gtest.h>

#include "emit/emit.h"

namespace ingot {
namespace {

KernelSource cuda(const std::string& text) {
  const loop::Kernel kernel = loop::parse_kernel(text, "<test>");
  loop::verify(kernel, "test");
  return emit_cuda(kernel);
}

// A kernel whose rows are one loop over `length` elements.
KernelSource cuda_rows(const std::string& signature, const std::string& rows,
                       const std::string& length, const std::string& body) {
  return cuda(fmt::format(
      "kernel {} {{ phase p in parallel({}) grain 1 {{ for j in vector({}) {{ {} }} }} }}",
      signature, rows, length, body));
}

bool has(const KernelSource& source, std::string_view line) {
  return source.text.find(line) != std::string::npos;
}

TEST(Cuda, ElementwiseABlockARowSixteenBytesAThread) {
  const KernelSource source = cuda(R"(
    kernel bias(x: bf16[B*8192] in, b: bf16[8192] in, y: bf16[B*8192] out) sizes(B) {
      phase p in parallel(B) grain 1 {
        for j in vector(8192) {
          prefetch L1 x[8192*p + j + 1024]
          x0: bf16 = load x[8192*p + j]
          b0: bf16 = load b[j]
          t: bf16 = add(x0, b0)
          stream y[8192*p + j] = t
        }
      }
    })");
  EXPECT_EQ(source.lanes, 8);
  ASSERT_EQ(source.phases.size(), 1u);
  EXPECT_EQ(source.phases[0].team, 256);
  EXPECT_EQ(source.phases[0].block, 256);
  EXPECT_TRUE(has(source, "__global__ void __launch_bounds__(256) bias_p0("));
  EXPECT_TRUE(has(source, "const long j = 8 * thread + 2048 * step;"));
  EXPECT_TRUE(has(source, "load_whole_bf16(x + 8192 * p + j)"));
  EXPECT_TRUE(has(source, "store_whole_bf16(y + 8192 * p + j, "));
  EXPECT_FALSE(has(source, "prefetch"));
}

TEST(Cuda, RowsOfAnyLengthHaveLiveLanes) {
  const KernelSource source = cuda_rows("copy(x: f32[B*N] in, y: f32[B*N] out) sizes(B, N)", "B",
                                        "N", "x0: f32 = load x[N*p + j]\n store y[N*p + j] = x0\n");
  EXPECT_EQ(source.lanes, 4);
  EXPECT_TRUE(has(source, "const Live live = first_lanes(N - j);"));
  EXPECT_TRUE(has(source, "load_f32(x + N * p + j, live)"));
  // Where the length and the places allow it, whole packs after all.
  EXPECT_TRUE(has(source, "N % 4 == 0 &&"));
  EXPECT_TRUE(has(source, "on_pack(x + N * p) &&"));
  EXPECT_TRUE(has(source, "load_whole_f32(x + N * p + j)"));
}

TEST(Cuda, AReductionIsAWarpsWithTheLanesOfTheCpu) {
  const KernelSource source = cuda(R"(
    kernel total(x: f32[B*4096] in, s: f32[B] out) sizes(B) {
      phase p in parallel(B) grain 1 {
        acc a: f32 = sum lanes 64
        for j in vector(4096) {
          x0: f32 = load x[4096*p + j]
          a sum= x0
        }
        r: f32 = finish a
        store s[p] = r
      }
    })");
  EXPECT_EQ(source.lanes, 2);
  EXPECT_EQ(source.phases[0].team, 32);
  EXPECT_TRUE(has(source, "const long p = (blockIdx.x * 128L + threadIdx.x) / 32;"));
  EXPECT_TRUE(has(source, "if (p >= B) return;"));
  EXPECT_TRUE(has(source, "for (long j = 2 * thread; j < 4096; j += 64) {"));
  EXPECT_TRUE(has(source, "if (thread == 0) store_f32(s + p, "));
}

TEST(Cuda, ARowOfScratchStaysInRegisters) {
  const KernelSource source = cuda(R"(
    kernel row(x: bf16[B*4096] in, y: bf16[B*4096] out) sizes(B) {
      scratch t: bf16[4096]
      phase p in parallel(B) grain 1 {
        acc s: f32 = sum lanes 64
        for c in spread(2) {
          acc a: f32 = sum lanes 64
          for j in vector(2048) {
            x0: bf16 = load x[4096*p + 2048*c + j]
            store t[2048*c + j] = x0
            w: f32 = cast(x0)
            a sum= w
          }
          part: f32 = finish a
          s[c] sum= part
        }
        r: f32 = finish s
        for d in spread(2) {
          for k in vector(2048) {
            t0: bf16 = load t[2048*d + k]
            y0: bf16 = mul(t0, 2)
            store y[4096*p + 2048*d + k] = y0
          }
        }
      }
    })");
  EXPECT_EQ(source.phases[0].team, 64);
  EXPECT_EQ(source.phases[0].block, 64);
  EXPECT_TRUE(has(source, "const int warp = threadIdx.x / 32, thread = threadIdx.x % 32;"));
  EXPECT_TRUE(has(source, "Pack<unsigned short> t[32];"));
  EXPECT_TRUE(has(source, "t[step] = x0_pack;"));
  EXPECT_TRUE(has(source, "__shared__ float s_parts[2];"));
  EXPECT_TRUE(has(source, "if (thread == 0) s_parts[c] = first_lane(part);"));
  EXPECT_TRUE(has(source, "again_bf16<1>(t[step])"));
}

// The largest of a row of bf16 that goes into registers is found two at a time.
TEST(Cuda, ExtremesOfAKeptRowAreTakenInPairs) {
  const std::string text = R"(
    kernel largest(x: bf16[512*B] in, y: bf16[512*B] out, z: f32[B] out) sizes(B) {
      scratch t: bf16[512]
      phase p in parallel(B) grain 1 {
        acc m: f32 = OP lanes 64
        for j in vector(512) {
          x0: bf16 = load x[512*p + j]
          store t[j] = x0
          w: f32 = cast(x0)
          m OP= w
        }
        r: f32 = finish m
        store z[p] = r
        for k in vector(512) {
          t0: bf16 = load t[k]
          y0: bf16 = mul(t0, r)
          store y[512*p + k] = y0
        }
      }
    })";
  auto with = [&](const std::string& op) {
    return cuda(std::regex_replace(text, std::regex("OP"), op));
  };
  EXPECT_TRUE(has(with("max"), "Pack<unsigned short> m = every_pair(0xff80ff80);"));
  EXPECT_TRUE(has(with("max"), "m = maximum_pairs(m, x0_pack);"));
  EXPECT_TRUE(has(with("min"), "m = minimum_pairs(m, x0_pack);"));
  EXPECT_TRUE(has(with("min"), "splat_f32(lanes_min(lanes_bf16(m)))"));
  EXPECT_TRUE(has(with("sum"), "m = step == 0 ? w : m + w;"));
}

// What each iteration leaves for the loops behind it; where a row has more chunks than a block has
// warps, each warp goes on by itself, and the parts are combined once.
TEST(Cuda, AScratchElementASpreadIterationIsShared) {
  const KernelSource source = cuda(R"(
    kernel weigh(x: f32[200000*B] in, y: f32[B] out) sizes(B) {
      scratch w: f32[98]
      phase p in parallel(B) grain 1 {
        acc m: f32 = max lanes 64
        for c in spread(98) {
          acc a: f32 = max lanes 64
          for j in vector(min(200000 - 2048*c, 2048)) {
            x0: f32 = load x[200000*p + 2048*c + j]
            a max= x0
          }
          part: f32 = finish a
          m[c] max= part
          store w[c] = part
        }
        r: f32 = finish m
        acc s: f32 = sum lanes 64
        for k in vector(98) {
          w0: f32 = load w[k]
          d: f32 = sub(w0, r)
          s sum= d
        }
        t: f32 = finish s
        store y[p] = t
      }
    })");
  EXPECT_EQ(source.phases[0].block, 256);
  EXPECT_TRUE(has(source, "__shared__ __align__(16) float w[98];"));
  EXPECT_TRUE(has(source, "__shared__ float m_parts[98];"));
  EXPECT_TRUE(has(source, "if (thread == 0) m_parts[c] = first_lane(part);"));
  EXPECT_TRUE(has(source, "if (thread == 0) store_f32(w + c, part, 1);"));
  EXPECT_TRUE(has(source, "for (long first = 0; first < 98; first += 64) {"));
  EXPECT_TRUE(has(source, "if (threadIdx.x == 0) store_f32(y + p, t, 1);"));
  const size_t barrier = source.text.find("__syncthreads");
  ASSERT_NE(barrier, std::string::npos);
  EXPECT_EQ(source.text.find("__syncthreads", barrier + 1), std::string::npos);
}

// Whole tiles of halves by the instruction that turns over blocks of 8 by 8; else row by row.
TEST(Cuda, TilesLieInSharedMemory) {
  const std::string text = R"(
    kernel turn(x: T[64*N] in, y: T[64*N] out) sizes(N) {
      scratch t: T[4096]
      phase p in parallel(N / 64) grain 1 {
        transpose t[0] by 64 = x[64*p] by N rows 64 columns COLUMNS
        for i in spread(COLUMNS) {
          for j in vector(64) {
            x0: T = load t[64*i + j]
            store y[64*i + 4096*p + j] = x0
          }
        }
      }
    })";
  auto with = [&](const std::string& dtype, const std::string& columns) {
    std::string typed = std::regex_replace(text, std::regex("\\bT\\b"), dtype);
    return cuda(std::regex_replace(typed, std::regex("COLUMNS"), columns));
  };
  const KernelSource halves = with("bf16", "64");
  EXPECT_EQ(halves.phases[0].team, 256);
  EXPECT_TRUE(has(halves, "__shared__ __align__(16) unsigned short t[4096];"));
  EXPECT_TRUE(has(halves, "fill_tile<64, 64, 256, true, false>(t, x + 64 * p, N, 64, 64);"));
  EXPECT_TRUE(has(halves, "__syncthreads();"));
  EXPECT_TRUE(has(halves, "lanes_bf16(tile_matrices<64>(t, j, i))"));
  EXPECT_TRUE(has(halves, "store_words(y + 64 * i + 4096 * p + j, pack_bf16(x0));")) << halves.text;
  for (const KernelSource& other : {with("f32", "64"), with("bf16", "min(64, N - 64*p)")}) {
    EXPECT_TRUE(has(other, "(tile_lanes<64>(t, j, i))")) << other.text;
    EXPECT_FALSE(has(other, "matrices"));
  }
}

TEST(Cuda, ProductsAreNotWrittenYet) {
  const loop::Kernel kernel = loop::parse_kernel(R"(
    kernel product(x: f32[64] in, w: f32[64] in, y: f32[64] out) sizes() {
      phase p in parallel(1) grain 1 {
        product matmul f32 y[0] = x[0] * w[0] sizes m=8, n=8, k=8, lda=8, ldb=8, ldc=8, transpose_a=0, transpose_b=0
      }
    })",
                                                 "<test>");
  EXPECT_FALSE(fits_cuda(kernel));
}

// Rows of 128 in chunks of 8: 16 rows a block. A guard that ends between chunks is one condition.
TEST(Cuda, ShortRowsShareABlockAndPiecesAreLoadedWhole) {
  const KernelSource source = cuda(R"(
    kernel join(a: bf16[B*64] in, b: bf16[B*60] in, y: bf16[B*128] out) sizes(B) {
      phase p in parallel(B) grain 1 {
        for j in vector(128) {
          a0: bf16 = load a[64*p + j] if 0 <= j < 64 else 0
          b0: bf16 = load b[60*p + j - 64] if 64 <= j < 124 else 0
          y0: bf16 = add(a0, b0)
          store y[128*p + j] = y0
        }
      }
    })");
  ASSERT_EQ(source.phases.size(), 1u);
  EXPECT_EQ(source.phases[0].team, 16);
  EXPECT_EQ(source.phases[0].block, 256);
  EXPECT_TRUE(has(source, "if (p >= B) return;"));
  EXPECT_TRUE(has(source, "j < 64 ? load_whole_bf16(a + 64 * p + j) : splat_f32(0.0f);"));
  EXPECT_TRUE(has(source, "gather_bf16(b0_at)"));  // 124 is within a chunk
}

// The words that a kernel's text uses itself.
TEST(Cuda, UsersMayCallTensorsAnything) {
  const KernelSource source = cuda(R"(
    kernel f(thread: f32[B*64] in, report: f32[64] in, threadIdx: f32[64] in, load_whole_f32: f32[64] in,
             KernelReport: f32[B*64] out) sizes(B) {
      phase blockIdx in parallel(B) grain 1 {
        for j in vector(64) {
          a: f32 = load thread[64*blockIdx + j]
          b: f32 = load report[j]
          c: f32 = load threadIdx[j]
          d: f32 = load load_whole_f32[j]
          t: f32 = add(a, b)
          u: f32 = fma(t, c, d)
          store KernelReport[64*blockIdx + j] = u
        }
      }
    })");
  EXPECT_TRUE(has(source, "float* __restrict__ thread_v2,"));
  EXPECT_TRUE(has(source, "float* __restrict__ report_v2,"));
  EXPECT_TRUE(has(source, "float* __restrict__ threadIdx_v2,"));
  EXPECT_TRUE(has(source, "float* __restrict__ load_whole_f32_v2,"));
  EXPECT_TRUE(has(source, "float* __restrict__ KernelReport_v2,"));
  EXPECT_TRUE(
      has(source, "const long blockIdx_v2 = (blockIdx.x * (long)blockDim.x + threadIdx.x) / 16;"));
}

TEST(Cuda, AUnitIncludesNothing) {
  const KernelSource source =
      cuda_rows("f(x: f32[64] in, y: f32[64] out) sizes()", "1", "64",
                "x0: f32 = load x[j]\n t: f32 = gelu(x0)\n store y[j] = t\n");
  const KernelSource* const list[] = {&source};
  const std::string unit = cuda_unit(list);
  EXPECT_EQ(unit.find("#include"), std::string::npos);
  EXPECT_NE(unit.find("INLINE F32 gelu(F32 x)"), std::string::npos);
  EXPECT_EQ(unit.find("INLINE F32 tanh(F32 x)"), std::string::npos);
}

}  // namespace
}  // namespace ingot
