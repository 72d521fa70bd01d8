// Kernels that must not pass, with what is said about them.
#include <gtest/gtest.h>

#include "base/error.h"
#include "loop/loop.h"

namespace ingot::loop {
namespace {

Kernel kernel_of(const std::string& body,
                 const std::string& phase = "phase p in parallel(4) grain 1") {
  return parse_kernel(
      "kernel k(x: f32[N] in, i: i64[N] in, y: f32[N] out, z: bf16[N] out) sizes(N) {\n"
      "scratch s: f32[N]\n report \"r\"\n" +
          phase + " {\n" + body + "\n}\n}",
      "<test>");
}

std::string error_of(const Kernel& kernel) {
  try {
    verify(kernel, "after test");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    std::string start = "after test: kernel k: ";
    EXPECT_EQ(error.message().substr(0, start.size()), start);
    return error.message().substr(std::min(start.size(), error.message().size()));
  }
  return "no error";
}

std::string error_of(const std::string& body) { return error_of(kernel_of(body)); }

TEST(VerifyLoop, AcceptsGoodKernels) {
  EXPECT_EQ(error_of(R"(acc a: f32 = sum lanes 64
    for j in vector(8) {
      x0: f32 = load x[8*p + j]
      a sum= x0
      store s[j] = x0
    }
    r: f32 = finish a
    for j in vector(8) {
      t: f32 = load s[j]
      u: f32 = sub(t, r)
      store y[8*p + j] = u
    }
    for j in vector(8) {
      t: f32 = load y[8*p + j]
      u: f32 = exp(t)
      store y[8*p + j] = u
    })"),
            "no error");
  EXPECT_EQ(error_of(R"(for j in vector(8) {
      acc a: f32 = max lanes 1
      for k in serial(4) {
        x0: f32 = load x[8*k + j]
        a max= x0
      }
      r: bf16 = finish a
      store z[8*p + j] = r
    })"),
            "no error");
}

TEST(VerifyLoop, Names) {
  EXPECT_EQ(error_of("t: f32 = load x[p] t: f32 = load x[p]"), "'t' is defined twice");
  EXPECT_EQ(error_of("for p in serial(2) { }"), "'p' is defined twice");
  EXPECT_EQ(error_of("t: f32 = load x[q]"), "t = load x: 'q' in q is not defined here");
  Kernel kernel = kernel_of("t: f32 = load x[p] u: f32 = neg(t)");
  std::get<Let>(kernel.phases[0].body[1]).operands[0] = std::string("w");
  EXPECT_EQ(error_of(kernel), "u = neg: no value 'w' here");
  EXPECT_EQ(error_of(kernel_of("", "phase p in parallel(q) grain 1")),
            "phase p: 'q' in its extent is no size");
  EXPECT_EQ(error_of(kernel_of("", "phase p in parallel(4) grain 1 blocks 8")), "no error");
  EXPECT_EQ(error_of(kernel_of("", "phase p in parallel(4) grain 1 blocks 3")),
            "phase p: 3 blocks, not 1, 2, 4 or 8");
  EXPECT_EQ(error_of(kernel_of("} phase q in parallel(4) grain 1 blocks 2 {",
                               "phase p in parallel(4) grain 1 blocks 4")),
            "phases of 4 and of 2 blocks in one kernel");
}

TEST(VerifyLoop, DTypes) {
  EXPECT_EQ(error_of("t: i32 = load x[p]"), "t = load x: i32 from a buffer of f32");
  EXPECT_EQ(error_of("t: f32 = load x[p] store z[p] = t"), "store z: 't' is f32, not bf16");
  EXPECT_EQ(error_of("t: f32 = load x[p] a: i64 = load i[p] u: f32 = add(t, a)"),
            "u = add of f32 and i64");
  EXPECT_EQ(error_of("t: f32 = load x[p] u: f32 = lt(t, 1)"), "u = lt gives bool, not f32");
  EXPECT_EQ(error_of("t: f32 = load x[p] u: i32 = neg(t)"), "u = neg of f32 gives no i32");
  EXPECT_EQ(error_of("a: i64 = load i[p] u: i64 = exp(a)"), "u = exp does not take i64");
  EXPECT_EQ(error_of("t: f32 = load x[p] u: f32 = select(t, t, t)"),
            "u = select: select by f32, not by bool");
  EXPECT_EQ(error_of("m: i32 = within 0 <= p < 3"), "m: a bool has guards, a number has none");
  EXPECT_EQ(error_of("acc a: bf16 = sum lanes 1"), "acc a: bf16 is no compute dtype");
  EXPECT_EQ(error_of("acc a: f32 = any lanes 1"), "acc a: any does not take f32");
}

TEST(VerifyLoop, Subscripts) {
  EXPECT_EQ(error_of("t: f32 = load x[p] u: f32 = load x[t]"),
            "u = load x: 't' in t is f32, no integer");
  EXPECT_EQ(error_of("for k in serial(4) { u: f32 = load x[k*p] }"),
            "u = load x: k*p multiplies variables");
  EXPECT_EQ(error_of("for j in vector(4) { a: i64 = load i[j] for k in serial(a) { } }"),
            "loop k: its extent a differs between iterations of a vector loop");
  EXPECT_EQ(error_of("t: f32 = load x[p] if 0 <= p < 3 else 0 report 1"),
            "t = load x: no report 1");
  EXPECT_EQ(error_of("m: bool = within 0 <= p < 3 report 1"), "m: no report 1");
  EXPECT_EQ(error_of("t: f32 = load x[p] report 0"), "t = load x: a report without a guard");
}

TEST(VerifyLoop, Lanes) {
  EXPECT_EQ(error_of("for j in vector(4) { acc a: f32 = sum lanes 64 }"),
            "acc a: lanes inside a vector loop");
  EXPECT_EQ(error_of("acc a: f32 = sum lanes 1 for j in vector(4) { a sum= 1 }"),
            "a: iterations of a vector loop share an accumulator of one lane");
  EXPECT_EQ(error_of("acc a: f32 = sum lanes 64 a sum= 1"),
            "a: outside of vector loops a lane has to be named");
  EXPECT_EQ(error_of("acc a: f32 = sum lanes 1 a[3] sum= 1"), "a: a lane of an accumulator of one");
  EXPECT_EQ(error_of("acc a: f32 = sum lanes 64 for j in vector(4) { a[j] sum= 1 }"),
            "a: lanes of a vector loop are its iterations");
  EXPECT_EQ(error_of("acc a: f32 = sum lanes 1 for c in spread(4) { a sum= 1 }"),
            "a: iterations of a spread loop share it, so a lane has to be named");
  EXPECT_EQ(error_of("acc a: f32 = sum lanes 32"), "acc a: 32 lanes");
  EXPECT_EQ(error_of("acc a: f32 = sum lanes 64 for j in vector(4) { r: f32 = finish a }"),
            "r: finished in another loop than declared");
  EXPECT_EQ(error_of("for j in vector(4) { for l in vector(4) { } }"),
            "vector loop l inside a vector loop");
}

TEST(VerifyLoop, Stores) {
  EXPECT_EQ(error_of("store x[p] = 1"), "store x: an input is not stored to");
  EXPECT_EQ(error_of("store y[0] = 1"), "store y[0]: all iterations over p store one element");
  EXPECT_EQ(error_of("for j in vector(4) { store y[p] = 1 }"),
            "store y[p]: all iterations over j store one element");
  EXPECT_EQ(error_of("t: f32 = load y[p + 1] store y[p] = t"),
            "phase p: buffer 'y' is stored at p + … and loaded at p + 1 + …");
  EXPECT_EQ(error_of("for j in vector(4) { t: f32 = load s[j + 1] store s[j] = t }"),
            "vector loop j: buffer 's' is stored at j + … and loaded at j + 1 + …");
}

TEST(VerifyLoop, TransposedTiles) {
  EXPECT_EQ(error_of("transpose s[0] by 80 = x[p] by N rows 64 columns min(64, N)"), "no error");
  EXPECT_EQ(error_of("transpose y[p] by 80 = x[p] by N rows 64 columns 64"),
            "transpose y = x: 'y' is no scratch buffer");
  EXPECT_EQ(error_of("transpose s[0] by 80 = z[p] by N rows 64 columns 64"),
            "transpose s = z: f32 from bf16");
  EXPECT_EQ(error_of("transpose s[0] by 80 = s[0] by 8 rows 8 columns 8"),
            "transpose s = s: onto itself");
  EXPECT_EQ(error_of("for j in vector(8) { transpose s[j] by 80 = x[p] by N rows 8 columns 8 }"),
            "transpose s = x: inside a vector loop");
}

TEST(VerifyLoop, FetchedRows) {
  EXPECT_EQ(error_of("fetch s[0] = x[p] count 8 await 0 t: f32 = load s[3]"), "no error");
  EXPECT_EQ(error_of("fetch y[p] = x[p] count 8"), "fetch y = x: 'y' is no scratch buffer");
  EXPECT_EQ(error_of("fetch s[0] = y[p] count 8"), "fetch s = y: 'y' is no input");
  EXPECT_EQ(error_of("store s[1] = 1 fetch s[0] = x[p] count 8"),
            "fetch s = x: 's' is stored to as well");
  EXPECT_EQ(error_of("fetch s[0] = x[p] count 8 store s[1] = 1"), "store s: it is fetched as well");
  EXPECT_EQ(error_of("for j in vector(8) { fetch s[j] = x[p] count 8 }"),
            "fetch s = x: inside a vector loop");
  EXPECT_EQ(error_of("for j in vector(8) { await 0 }"), "await inside a vector loop");
}

TEST(VerifyLoop, AccumulatorsThatGoOn) {
  EXPECT_EQ(error_of("for j in vector(8) { a: f32 = load s[j] acc t: f32 = sum(a) lanes 1 "
                     "t sum= 1 u: f32 = finish t store s[j] = u }"),
            "no error");
  EXPECT_EQ(error_of("a: f32 = load x[p] acc t: f32 = sum(a) lanes 64"),
            "acc t: from a value, in 64 lanes");
  EXPECT_EQ(error_of("a: bf16 = load z[p] acc t: f32 = sum(a) lanes 1"),
            "acc t: 'a' is bf16, not f32");
}

// A hint may be for a place behind the buffer's end.
TEST(VerifyLoop, Hints) {
  EXPECT_EQ(error_of("prefetch L2 x[p + 9999999] for j in vector(4) { prefetch L1 z[j] }"),
            "no error");
  EXPECT_EQ(error_of("prefetch L1 w[p]"), "prefetch w: no buffer 'w'");
  EXPECT_EQ(error_of("prefetch L1 x[k]"), "prefetch x: 'k' in k is not defined here");
  EXPECT_EQ(error_of("for j in vector(4) { prefetch L1 x[2*j] }"),
            "prefetch x: [2*j] does not count with j");
  EXPECT_EQ(error_of("for j in vector(4) { prefetch L2 x[j] share 0 }"), "prefetch x: share 0");
}

TEST(VerifyLoop, LoopsAcrossRows) {
  auto across = [](const std::string& body) {
    return error_of("for j in vector(32) across q(4) {" + body + "}");
  };
  EXPECT_EQ(across(R"(a: f32 = load x[j] b: f32 = load x[128*p + 32*q + j] c: f32 = load x[4*p + q]
                      t: f32 = add(a, b) u: f32 = mul(t, c) store y[128*p + 32*q + j] = u)"),
            "no error");
  EXPECT_EQ(across("store y[32*p + j] = 1"),
            "loop j across q: store y[j + 32*p]: not an element for each iteration");
  EXPECT_EQ(across("store y[4*p + q] = 1"),
            "loop j across q: store y[4*p + q]: not an element for each iteration");
  EXPECT_EQ(across("a: f32 = load x[2*j]"), "loop j across q: [2*j] does not count with j");
  EXPECT_EQ(across("a: f32 = load x[j] if 0 <= j < 3 else 0"),
            "loop j across q: a is loaded with a guard");
  EXPECT_EQ(across("a: i64 = load i[j] b: f32 = load x[j + a]"),
            "loop j across q: [a + j] depends on 'a'");
  EXPECT_EQ(across("a: i64 = index j"),
            "loop j across q: loads, arithmetic, stores and hints only");
  EXPECT_EQ(across("a: f32 = load y[128*p + 32*q + j] store y[128*p + 32*q + j] = a"),
            "loop j across q: loads from 'y', which it stores to");
  EXPECT_EQ(error_of("for j in vector(N) across q(4) { }"),
            "loop j across q: N is no multiple of 16");
  EXPECT_EQ(error_of("for j in vector(16) across p(4) { }"), "'p' is defined twice");
}

TEST(VerifyLoop, Products) {
  EXPECT_EQ(error_of("product matmul f32 s[0] = x[0] * x[0] sizes m=1"),
            "product matmul: conv, or matmul with m n k lda ldb ldc transpose_a transpose_b");
  EXPECT_EQ(error_of("product conv bf16 s[0] = x[0] * z[0] sizes m=1"),
            "product conv: 'x' is not bf16");
}

}  // namespace
}  // namespace ingot::loop
