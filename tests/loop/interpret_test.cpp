// The loop interpreter against values worked out by hand.
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "loop/loop.h"

namespace ingot::loop {
namespace {

template <class T>
BufferRef ref(std::vector<T>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

TEST(Interpret, RoundsEveryDefinition) {
  Kernel kernel =
      parse_kernel(R"(kernel k(x: bf16[1] in, y: bf16[1] out, u: u8[1] out, h: f16[1] out) sizes() {
    phase p in parallel(1) grain 1 {
      x0: bf16 = load x[0]
      t: bf16 = add(x0, 0.00390625)
      s: bf16 = add(t, 0.00390625)
      store y[0] = s
      a: u8 = sub(1: u8, 2)
      store u[0] = a
      b: f16 = mul(60000: f16, 2)
      store h[0] = b
    }
  })",
                   "<test>");
  std::vector<uint16_t> x{bf16_bits(1.0)}, y{0}, h{0};
  std::vector<uint8_t> u{0};
  interpret(kernel, {ref(x), ref(y), ref(u), ref(h)}, {});
  EXPECT_EQ(bf16_value(y[0]), 1.0f);  // 1 + 2^-8 is a tie and rounds to the even 1, twice
  EXPECT_EQ(u[0], 255);
  EXPECT_EQ(f16_value(h[0]), INFINITY);
}

// 64 lanes, then halves: 2^24 stands in lane 0, ones after it, so that the order shows.
TEST(Interpret, LanesAreCombinedByHalves) {
  Kernel kernel = parse_kernel(R"(kernel k(x: f32[N] in, y: f32[1] out) sizes(N) {
    phase p in parallel(1) grain 1 {
      acc s: f32 = sum lanes 64
      for j in vector(N) {
        x0: f32 = load x[j]
        s sum= x0
      }
      r: f32 = finish s
      store y[0] = r
    }
  })",
                               "<test>");
  std::vector<float> x(130, 1.0f), y{0};
  x[0] = 16777216.0f;
  interpret(kernel, {ref(x), ref(y)}, {{"N", 130}});
  std::vector<float> lanes(64, 0.0f);
  for (size_t i = 0; i < x.size(); i++) lanes[i % 64] += x[i];
  for (size_t half = 32; half > 0; half /= 2) {
    for (size_t l = 0; l < half; l++) lanes[l] += lanes[l + half];
  }
  EXPECT_EQ(y[0], lanes[0]);
  EXPECT_NE(y[0], 16777216.0f);  // what adding one by one gives
}

TEST(Interpret, EmptyReductionsGiveTheIdentity) {
  Kernel kernel = parse_kernel(
      R"(kernel k(x: f32[N] in, i: i32[N] in, b: bool[N] in, y: f32[1] out, z: i32[1] out, a: bool[1] out) sizes(N) {
    phase p in parallel(1) grain 1 {
      acc s: f32 = max lanes 64
      acc t: i32 = max lanes 64
      acc u: bool = all lanes 64
      for j in vector(N) {
        x0: f32 = load x[j]
        i0: i32 = load i[j]
        b0: bool = load b[j]
        s max= x0
        t max= i0
        u all= b0
      }
      r: f32 = finish s
      store y[0] = r
      q: i32 = finish t
      store z[0] = q
      v: bool = finish u
      store a[0] = v
    }
  })",
      "<test>");
  std::vector<float> x, y{0};
  std::vector<int32_t> i, z{0};
  std::vector<uint8_t> b, a{0};
  interpret(kernel, {ref(x), ref(i), ref(b), ref(y), ref(z), ref(a)}, {{"N", 0}});
  EXPECT_EQ(y[0], -INFINITY);
  EXPECT_EQ(z[0], INT32_MIN);
  EXPECT_EQ(a[0], 1);
}

constexpr std::string_view gather =
    R"(kernel k(t: f32[3] in, ids: i64[4] in, y: f32[4] out) sizes() {
  report "gather: an index is out of range"
  phase p in parallel(4) grain 1 {
    id: i64 = load ids[p]
    r: f32 = load t[id] if 0 <= id < 3 else -1 report 0
    store y[p] = r
  }
})";

TEST(Interpret, FailedGuardsGiveOtherwiseAndReport) {
  Kernel kernel = parse_kernel(gather, "<test>");
  std::vector<float> t{10, 20, 30}, y(4);
  std::vector<int64_t> ids{2, 0, 1, 2};
  EXPECT_TRUE(interpret(kernel, {ref(t), ref(ids), ref(y)}, {}).empty());
  EXPECT_EQ(y, (std::vector<float>{30, 10, 20, 30}));
  ids = {2, 3, -1, 0};
  EXPECT_EQ(interpret(kernel, {ref(t), ref(ids), ref(y)}, {}),
            std::vector<std::string>{"gather: an index is out of range"});
  EXPECT_EQ(y, (std::vector<float>{30, -1, -1, 10}));
}

TEST(Interpret, EveryAccessIsChecked) {
  Kernel kernel = parse_kernel(R"(kernel copy(x: f32[N] in, y: f32[N] out) sizes(N) {
    phase p in parallel(N) grain 1 {
      x0: f32 = load x[p + 1]
      store y[p] = x0
    }
  })",
                               "<test>");
  std::vector<float> x{1, 2}, y{0, 0};
  try {
    interpret(kernel, {ref(x), ref(y)}, {{"N", 2}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_NE(error.message().find("kernel copy: buffer 'x': index 2 is not in [0, 2)"),
              std::string::npos)
        << error.message();
  }
}

// What an iteration left in scratch is not there for the next.
TEST(Interpret, ScratchIsPoisoned) {
  Kernel kernel = parse_kernel(R"(kernel k(y: f32[2] out) sizes() {
    scratch s: f32[1]
    phase p in parallel(2) grain 1 {
      v: f32 = load s[0]
      store y[p] = v
      store s[0] = 1
    }
  })",
                               "<test>");
  std::vector<float> y{0, 0};
  interpret(kernel, {ref(y)}, {});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST(Interpret, PhasesSeeWhatEarlierOnesStored) {
  Kernel kernel =
      parse_kernel(R"(kernel k(x: i32[4] in, y: i32[4] out, w: i32[4] workspace) sizes() {
    phase p in parallel(4) grain 1 {
      x0: i32 = load x[p]
      t: i32 = mul(x0, 3)
      store w[3 - p] = t
    }
    phase p in parallel(4) grain 1 {
      t: i32 = load w[p]
      i: i32 = index p
      u: i32 = add(t, i)
      store y[p] = u
    }
  })",
                   "<test>");
  std::vector<int32_t> x{1, 2, 3, 4}, y(4), w(4);
  interpret(kernel, {ref(x), ref(y), ref(w)}, {});
  EXPECT_EQ(y, (std::vector<int32_t>{12, 10, 8, 6}));
}

TEST(Interpret, Matmul) {
  Kernel kernel = parse_kernel(R"(kernel k(a: bf16[6] in, b: bf16[6] in, y: f32[4] out) sizes() {
    phase p in parallel(1) grain 1 {
      product matmul bf16 y[0] = a[0] * b[0]
        sizes m=2, n=2, k=3, lda=3, ldb=3, ldc=2, transpose_a=0, transpose_b=1
    }
  })",
                               "<test>");
  std::vector<uint16_t> a, b;
  for (double v : {1, 2, 3, 4, 5, 6}) a.push_back(bf16_bits(v)), b.push_back(bf16_bits(v / 2));
  std::vector<float> y(4);
  interpret(kernel, {ref(a), ref(b), ref(y)}, {});
  EXPECT_EQ(y, (std::vector<float>{7, 16, 16, 38.5}));
}

// One channel, 3 wide, kernel 2, padded by one on the low side; weights [2, 1, 2].
TEST(Interpret, Conv) {
  Kernel kernel = parse_kernel(R"(kernel k(x: f32[3] in, w: f32[4] in, y: f32[6] out) sizes() {
    phase p in parallel(1) grain 1 {
      product conv f32 y[0] = x[0] * w[0]
        sizes channels=1, groups=1, outputs=2, rank=1, input=3, kernel=2, stride=1, dilation=1,
              low=1, high=0, x_channel=3, x_0=1, y_channel=3, y_0=1
    }
  })",
                               "<test>");
  std::vector<float> x{1, 2, 3}, w{10, 1, 0, -1}, y(6);
  interpret(kernel, {ref(x), ref(w), ref(y)}, {});
  EXPECT_EQ(y, (std::vector<float>{1, 12, 23, -1, -2, -3}));
}

}  // namespace
}  // namespace ingot::loop
