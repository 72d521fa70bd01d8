// docs/semantics.md, sentence by sentence: what the evaluator answers is the contract. Movement,
// positions, random numbers and products stand in movement_semantics_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "base/text.h"
#include "graph/evaluate.h"
#include "support/values.h"

namespace ingot {
namespace {

using testing::evaluate_text;
using testing::same_bits;
using testing::tensor;
using testing::values_of;
using Values = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();

// y = op(a, b) on two tensors of one dtype.
Values binary(const std::string& op, DType dtype, std::initializer_list<double> a,
              std::initializer_list<double> b) {
  const int64_t n = static_cast<int64_t>(a.size());
  const std::string type = fmt::format("{}[{}]", dtype_name(dtype), n);
  return values_of(evaluate_text(fmt::format("a: {}, b: {}", type, type),
                                 fmt::format("y = {}(a, b) return y", op),
                                 {tensor(dtype, {n}, a), tensor(dtype, {n}, b)}));
}

Values unary(const std::string& call, DType dtype, std::initializer_list<double> x) {
  const int64_t n = static_cast<int64_t>(x.size());
  return values_of(evaluate_text(fmt::format("x: {}[{}]", dtype_name(dtype), n),
                                 fmt::format("y = {} return y", call), {tensor(dtype, {n}, x)}));
}

std::string sign_bits(const Values& values) {
  std::string text;
  for (const double value : values) text += std::signbit(value) ? '-' : '+';
  return text;
}

std::string parse_error(const std::string& inputs, const std::string& statements) {
  try {
    parse_graph("graph g(" + inputs + ") { " + statements + " }", "<text>");
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

// Types

TEST(Semantics, MixedDtypesAreAnErrorThatSuggestsCast) {
  const std::string message = parse_error("x: f32[4], y: bf16[4]", "z = add(x, y) return z");
  EXPECT_NE(message.find("cast"), std::string::npos) << message;
}

TEST(Semantics, BroadcastingIsNumPys) {
  EXPECT_EQ(parse_error("x: f32[4, 1], y: f32[3]", "z = add(x, y) return z"), "no error");
  EXPECT_NE(parse_error("x: f32[4, 2], y: f32[3]", "z = add(x, y) return z"), "no error");
}

TEST(Semantics, NumbersThatADtypeCannotHoldAreErrors) {
  for (const std::string statement :
       {"y = add(x, 300)", "y = add(x, 0.5)", "y = pad(x, low=[1], high=[0], value=300)",
        "y = clip(x, max=0.5)", "y = clip(x, min=nan)"}) {
    EXPECT_NE(parse_error("x: u8[4]", statement + " return y"), "no error") << statement;
  }
  EXPECT_EQ(parse_error("x: u8[4]", "y = clip(x, min=-1, max=300) return y"), "no error");
}

TEST(Semantics, AnIotaIsItsIndexCast) {
  const Tensor x(DType::f32, {300});
  const auto last = [&](const std::string& dtype) {
    return values_of(evaluate_text("x: f32[N]",
                                   "y = iota(shape=[9*N], dtype=" + dtype + ") return y", {x}))
        .back();
  };
  EXPECT_EQ(last("i32"), 2699);
  EXPECT_EQ(last("u8"), 2699 % 256);
  EXPECT_EQ(last("f16"), 2700);  // 2699 lies between two f16 numbers
}

// Rounding

TEST(Semantics, EveryOpRoundsOnceToItsDtype) {
  // 1 + 2^-9 is a tie in bf16 (8 bits); the sum rounds to even each time.
  const Tensor x = tensor(DType::bf16, {1}, {1});
  EXPECT_EQ(values_of(evaluate_text("x: bf16[1]",
                                    "t = add(x, 0.00390625) y = add(t, 0.00390625) return y", {x})),
            (Values{1}));
  // In one op (a sum over three elements) nothing is rounded on the way.
  const Tensor row = tensor(DType::bf16, {3}, {1, 0.00390625, 0.00390625});
  EXPECT_EQ(values_of(evaluate_text("x: bf16[3]", "y = sum(x) return y", {row})),
            (Values{1.0078125}));
}

TEST(Semantics, RoundingIsToNearestEven) {
  EXPECT_EQ(unary("cast(x, dtype=bf16)", DType::f32, {1.00390625, 1.01171875, 3.3961775e38}),
            (Values{1, 1.015625, inf}));
  EXPECT_EQ(unary("cast(x, dtype=f16)", DType::f32, {2049, 2051, 65520, 65519}),
            (Values{2048, 2052, inf, 65504}));
  EXPECT_EQ(unary("cast(x, dtype=f32)", DType::f64, {16777217}), (Values{16777216}));
}

TEST(Semantics, SubnormalsAreKept) {
  EXPECT_EQ(unary("mul(x, 0.5)", DType::f32, {0x1p-126, 0x1p-148}), (Values{0x1p-127, 0x1p-149}));
  EXPECT_EQ(unary("mul(x, 1)", DType::f16, {0x1p-24}), (Values{0x1p-24}));
  EXPECT_EQ(unary("mul(x, 1)", DType::bf16, {0x1p-133}), (Values{0x1p-133}));
}

TEST(Semantics, MulAndAddStayTwoRoundings) {
  const double a = 1 + 0x1p-12;
  const std::string inputs = "a: f32[1]";
  const std::vector<Tensor> values = {tensor(DType::f32, {1}, {a})};
  const double c = -(1 + 0x1p-11);
  EXPECT_EQ(values_of(evaluate_text(inputs, fmt::format("t = mul(a, a) y = add(t, {}) return y", c),
                                    values)),
            (Values{0}));
  EXPECT_EQ(values_of(evaluate_text(inputs, fmt::format("y = fma(a, a, {}) return y", c), values)),
            (Values{0x1p-24}));
}

TEST(Semantics, ACompositeRoundsOnce) {
  const Tensor x = random_tensor(DType::bf16, {4, 100}, 1, 1, 0, 0);
  Tensor wide(DType::f32, {4, 100});
  for (int64_t i = 0; i < x.size(); ++i) wide.set_f64(i, x.get_f64(i));
  const Tensor one = evaluate_text("x: bf16[4, 100]", "y = softmax(x, dim=-1) return y", {x});
  const Tensor inside = evaluate_text(
      "x: f32[4, 100]", "t = softmax(x, dim=-1) y = cast(t, dtype=bf16) return y", {wide});
  const Tensor spelled =
      evaluate_text("x: bf16[4, 100]",
                    "m = max(x, dims=[-1], keepdims=true) d = sub(x, m) e = exp(d) "
                    "s = sum(e, dims=[-1], keepdims=true) y = div(e, s) return y",
                    {x});
  EXPECT_TRUE(same_bits(one, inside));
  EXPECT_FALSE(same_bits(one, spelled));
}

TEST(Semantics, TheCallersModesDecideNoBit) {
  const Tensor x = tensor(DType::f32, {2}, {0x1p-130, 1});
  const std::string inputs = "x: f32[2]", statements = "y = mul(x, 0.3) return y";
  const Tensor expected = evaluate_text(inputs, statements, {x});
#if defined(__x86_64__)
  const unsigned saved = __builtin_ia32_stmxcsr();
  for (const unsigned mode : {saved | 0x8040U, (saved & ~0x6000U) | 0x4000U}) {  // flush, upwards
    __builtin_ia32_ldmxcsr(mode);
    const Tensor got =
        evaluate(parse_graph("graph g(" + inputs + ") { y = mul(x, 0.3) return y }", "<text>"), {x},
                 Precision::per_op)[0];
    __builtin_ia32_ldmxcsr(saved);
    EXPECT_TRUE(same_bits(got, expected));
  }
#endif
}

// Integers

TEST(Semantics, IntegersWrap) {
  EXPECT_EQ(binary("add", DType::i32, {2147483647}, {1}), (Values{-2147483648.0}));
  EXPECT_EQ(binary("mul", DType::i32, {65536}, {65536}), (Values{0}));
  EXPECT_EQ(binary("sub", DType::u8, {3}, {5}), (Values{254}));
  EXPECT_EQ(binary("mul", DType::u8, {16}, {17}), (Values{16}));
  EXPECT_EQ(unary("neg(x)", DType::i32, {-2147483648.0}), (Values{-2147483648.0}));
  EXPECT_EQ(unary("abs(x)", DType::i32, {-2147483648.0}), (Values{-2147483648.0}));
}

TEST(Semantics, IntegerDivisionTruncatesAndNeverTraps) {
  EXPECT_EQ(binary("div", DType::i32, {7, -7, 7, -7, 5, -2147483648.0}, {2, 2, -2, -2, 0, -1}),
            (Values{3, -3, -3, 3, 0, -2147483648.0}));
}

TEST(Semantics, ModHasTheDivisorsSign) {
  EXPECT_EQ(binary("mod", DType::i32, {7, -7, 7, -7, 5, -2147483648.0}, {3, 3, -3, -3, 0, -1}),
            (Values{1, 2, -2, -1, 0, 0}));
  EXPECT_EQ(binary("mod", DType::f32, {7, -7, 7, -7}, {3, 3, -3, -3}), (Values{1, 2, -2, -1}));
}

TEST(Semantics, ShiftsBeyondTheWidthShiftEverythingOut) {
  EXPECT_EQ(binary("shift_left", DType::i32, {1, 1, 1, 1}, {31, 32, 100, -1}),
            (Values{-2147483648.0, 0, 0, 0}));
  EXPECT_EQ(binary("shift_right", DType::i32, {-8, -8, -8, 8}, {1, 32, -1, 40}),
            (Values{-4, -1, -1, 0}));
}

TEST(Semantics, CastsHaveOneAnswer) {
  EXPECT_EQ(unary("cast(x, dtype=i32)", DType::f32, {2.9, -2.9, 3e9, -3e9, NAN, inf}),
            (Values{2, -2, 2147483647, -2147483648.0, 0, 2147483647}));
  EXPECT_EQ(unary("cast(x, dtype=u8)", DType::f32, {300, -5, 254.9}), (Values{255, 0, 254}));
  EXPECT_EQ(unary("cast(x, dtype=u8)", DType::i32, {300, -5}), (Values{44, 251}));
  EXPECT_EQ(unary("cast(x, dtype=bool)", DType::f32, {0, -0.0, 0.1, NAN}), (Values{0, 0, 1, 1}));
  EXPECT_EQ(unary("cast(x, dtype=f16)", DType::boolean, {0, 1}), (Values{0, 1}));
}

TEST(Semantics, AnIntegerBecomesAHalfByWayOfF32) {
  // 2^24 · (1 + 2^-8) + 1 is above the middle of two bf16 numbers, but in f32 it is the middle.
  EXPECT_EQ(unary("cast(x, dtype=bf16)", DType::i32, {16842753}), (Values{16777216}));
  EXPECT_EQ(unary("cast(x, dtype=f32)", DType::i64, {16777217}), (Values{16777216}));
  EXPECT_EQ(unary("cast(x, dtype=f16)", DType::i32, {2049, 70000}), (Values{2048, inf}));
}

TEST(Semantics, NumbersBeyondAFloatDTypeAreInfinities) {
  EXPECT_EQ(unary("mul(x, 70000)", DType::f16, {1, -1}), (Values{inf, -inf}));
  EXPECT_EQ(unary("mul(x, 1e39)", DType::f32, {1}), (Values{inf}));
  EXPECT_EQ(unary("mul(x, -1e309)", DType::f64, {1}), (Values{-inf}));
}

// Special values

TEST(Semantics, NaNPropagatesThroughMinimumMaximumReluAndClip) {
  for (const std::string op : {"minimum", "maximum"}) {
    for (const double value : binary(op, DType::f32, {NAN, 1, NAN}, {1, NAN, NAN})) {
      EXPECT_TRUE(std::isnan(value)) << op;
    }
  }
  EXPECT_TRUE(std::isnan(unary("relu(x)", DType::f32, {NAN})[0]));
  EXPECT_TRUE(std::isnan(unary("clip(x, min=0, max=1)", DType::f32, {NAN})[0]));
}

TEST(Semantics, NegativeZeroIsKeptApart) {
  EXPECT_EQ(sign_bits(unary("neg(x)", DType::f32, {0, -0.0})), "-+");
  EXPECT_EQ(sign_bits(unary("add(x, 0)", DType::f32, {-0.0})), "+");
  EXPECT_EQ(sign_bits(unary("add(x, -0)", DType::f32, {-0.0})), "-");
  EXPECT_EQ(sign_bits(unary("mul(x, 0)", DType::f32, {-1})), "-");
}

TEST(Semantics, NegativeZeroIsTheSmaller) {
  EXPECT_EQ(sign_bits(binary("minimum", DType::f32, {0, -0.0}, {-0.0, 0})), "--");
  EXPECT_EQ(sign_bits(binary("maximum", DType::f32, {0, -0.0}, {-0.0, 0})), "++");
  EXPECT_EQ(sign_bits(unary("relu(x)", DType::f32, {-0.0})), "+");
  EXPECT_EQ(sign_bits(unary("min(x)", DType::f32, {0, -0.0, 0})), "-");
  EXPECT_EQ(sign_bits(unary("max(x)", DType::f32, {-0.0, 0, -0.0})), "+");
}

TEST(Semantics, ClipIsAMinimumOfAMaximum) {
  EXPECT_EQ(unary("clip(x, min=1, max=-1)", DType::f32, {-5, 0, 5}), (Values{-1, -1, -1}));
  EXPECT_EQ(sign_bits(unary("clip(x, min=0)", DType::f32, {-0.0, 0})), "++");
  EXPECT_EQ(sign_bits(unary("clip(x, max=-0.0)", DType::f32, {-0.0, 0})), "--");
  for (const std::string bounds : {"min=nan", "max=nan", "min=0, max=nan"}) {
    for (const double value : unary("clip(x, " + bounds + ")", DType::f32, {0.5, -3, NAN})) {
      EXPECT_TRUE(std::isnan(value)) << bounds;
    }
  }
}

TEST(Semantics, ComparisonsWithNaNAreFalse) {
  for (const std::string op : {"eq", "lt", "le", "gt", "ge"}) {
    EXPECT_EQ(binary(op, DType::f32, {NAN, 1, NAN}, {1, NAN, NAN}), (Values{0, 0, 0})) << op;
  }
  EXPECT_EQ(binary("ne", DType::f32, {NAN, 1, NAN}, {1, NAN, NAN}), (Values{1, 1, 1}));
  EXPECT_EQ(binary("eq", DType::f32, {-0.0}, {0}), (Values{1}));
}

TEST(Semantics, NaNStaysInReductions) {
  const Tensor x = tensor(DType::f32, {2, 3}, {1, NAN, 3, 1, 2, 3});
  for (const std::string op : {"sum", "max", "min", "prod"}) {
    const Tensor y = evaluate_text("x: f32[2, 3]", "y = " + op + "(x, dims=[1]) return y", {x});
    EXPECT_TRUE(std::isnan(y.get_f64(0))) << op;
    EXPECT_FALSE(std::isnan(y.get_f64(1))) << op;
  }
}

// Reductions

// The order as docs/semantics.md words it, on one row.
float lanes_of_64(const float* x, int64_t n) {
  auto halves = [](float* lane) {
    for (int half = 32; half >= 1; half /= 2) {
      for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    }
    return lane[0];
  };
  const int64_t length = 2048 * (1 + n / 8388608);
  float total[64] = {};
  for (int64_t c = 0; c * length < n; ++c) {
    float lane[64] = {};
    const int64_t end = std::min(n, (c + 1) * length);
    for (int64_t i = c * length; i < end; ++i) lane[(i - c * length) % 64] += x[i];
    total[c % 64] += halves(lane);
  }
  return halves(total);
}

float chunks_of_64(const float* x, int64_t n, int64_t stride) {
  float total = 0;
  for (int64_t first = 0; first < n; first += 1024) {
    float block = 0;
    for (int64_t chunk = first; chunk < std::min(n, first + 1024); chunk += 64) {
      float partial = 0;
      for (int64_t i = chunk; i < std::min(n, chunk + 64); ++i) partial += x[i * stride];
      block += partial;
    }
    total += block;
  }
  return total;
}

TEST(Semantics, TrailingDimensionsAreSummedIn64Lanes) {
  for (const int64_t n : {1, 63, 64, 65, 1000, 2048, 2049, 20000, 131073, 8390000}) {
    const Tensor x = random_tensor(DType::f32, {3, n}, 7, 1, 0, 0);
    const Tensor y = evaluate_text("x: f32[B, N]", "y = sum(x, dims=[1]) return y", {x});
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(y.as<float>()[row], lanes_of_64(x.as<float>() + row * n, n)) << n;
    }
  }
}

TEST(Semantics, AdjacentReducedDimensionsCountAsOne) {
  const Tensor x = random_tensor(DType::f32, {5, 7, 30}, 7, 1, 0, 0);
  const Tensor y = evaluate_text("x: f32[5, 7, 30]", "y = sum(x, dims=[1, 2]) return y", {x});
  for (int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(y.as<float>()[row], lanes_of_64(x.as<float>() + row * 210, 210));
  }
}

TEST(Semantics, OtherDimensionsAreSummedInChunksOf64) {
  for (const int64_t n : {1, 64, 65, 300, 1024, 1025, 3000}) {
    const Tensor x = random_tensor(DType::f32, {n, 3}, 7, 1, 0, 0);
    const Tensor y = evaluate_text("x: f32[N, 3]", "y = sum(x, dims=[0]) return y", {x});
    for (int64_t column = 0; column < 3; ++column) {
      EXPECT_EQ(y.as<float>()[column], chunks_of_64(x.as<float>() + column, n, 3)) << n;
    }
  }
}

TEST(Semantics, OuterReducedDimensionsRunInOrderAroundTheInnermost) {
  const Tensor x = random_tensor(DType::f32, {4, 3, 100}, 9, 1, 0, 0);
  const Tensor y = evaluate_text("x: f32[4, 3, 100]", "y = sum(x, dims=[0, 2]) return y", {x});
  for (int64_t kept = 0; kept < 3; ++kept) {
    float total = 0;
    for (int64_t a = 0; a < 4; ++a) total += lanes_of_64(x.as<float>() + (a * 3 + kept) * 100, 100);
    EXPECT_EQ(y.as<float>()[kept], total);
  }
}

TEST(Semantics, SizeOneDimensionsDoNotChangeTheOrder) {
  const Tensor x = random_tensor(DType::f32, {4, 100}, 9, 1, 0, 0);
  const Tensor plain = evaluate_text("x: f32[4, 100]", "y = sum(x, dims=[1]) return y", {x});
  const Tensor framed = evaluate_text("x: f32[4, 100]",
                                      "t = reshape(x, shape=[4, 1, 100, 1]) y = sum(t, dims=[2]) "
                                      "z = reshape(y, shape=[4]) return z",
                                      {x});
  EXPECT_TRUE(same_bits(plain, framed));
}

TEST(Semantics, ANamedSizeOfOneStillCounts) {
  // [5000, N] with N = 1: a column of 5000, not a row of 5000.
  const Tensor x = random_tensor(DType::f32, {5000, 1}, 9, 1, 0, 0);
  const std::string statements = "y = sum(x, dims=[0]) return y";
  const Tensor named = evaluate_text("x: f32[5000, N]", statements, {x});
  const Tensor fixed = evaluate_text("x: f32[5000, 1]", statements, {x});
  EXPECT_EQ(named.as<float>()[0], chunks_of_64(x.as<float>(), 5000, 1));
  EXPECT_EQ(fixed.as<float>()[0], lanes_of_64(x.as<float>(), 5000));
  EXPECT_FALSE(same_bits(named, fixed));  // else this shows nothing
}

TEST(Semantics, ARowsBitsDoNotDependOnTheNumberOfRows) {
  const Tensor x = random_tensor(DType::f32, {9, 333}, 5, 1, 0, 0);
  Tensor one(DType::f32, {1, 333});
  std::memcpy(one.data(), x.data() + 4 * 333 * 4, 333 * 4);
  for (const std::string call : {"sum(x, dims=[1])", "softmax(x, dim=-1)"}) {
    const std::string statements = "y = " + call + " return y";
    const Tensor all = evaluate_text("x: f32[B, 333]", statements, {x});
    const Tensor alone = evaluate_text("x: f32[B, 333]", statements, {one});
    const size_t bytes = static_cast<size_t>(alone.bytes());
    EXPECT_EQ(std::memcmp(all.data() + 4 * bytes, alone.data(), bytes), 0) << call;
  }
}

TEST(Semantics, EmptyReductionsGiveTheIdentity) {
  const Tensor x(DType::f32, {2, 0});
  const auto run = [&](const std::string& op) {
    return evaluate_text("x: f32[2, N]", "y = " + op + "(x, dims=[1]) return y", {x}).get_f64(0);
  };
  EXPECT_EQ(run("sum"), 0);
  EXPECT_EQ(run("prod"), 1);
  EXPECT_EQ(run("max"), -inf);
  EXPECT_EQ(run("min"), inf);
  EXPECT_TRUE(std::isnan(run("mean")));
  const Tensor i(DType::i32, {2, 0});
  EXPECT_EQ(evaluate_text("x: i32[2, N]", "y = max(x, dims=[1]) return y", {i}).get_i64(0),
            std::numeric_limits<int32_t>::min());
}

TEST(Semantics, ASumIsNeverNegativeZero) {
  const Tensor x = tensor(DType::f32, {2}, {-0.0, -0.0});
  EXPECT_FALSE(std::signbit(evaluate_text("x: f32[2]", "y = sum(x) return y", {x}).get_f64(0)));
}

TEST(Semantics, IntegerSumsWrapInTheirOwnDtype) {
  EXPECT_EQ(
      evaluate_text("x: u8[3]", "y = sum(x) return y", {tensor(DType::u8, {3}, {200, 100, 3})})
          .get_i64(0),
      47);
  EXPECT_EQ(
      evaluate_text("x: i32[2]", "y = sum(x) return y", {tensor(DType::i32, {2}, {2147483647, 1})})
          .get_i64(0),
      std::numeric_limits<int32_t>::min());
}

TEST(Semantics, HalfPrecisionSumsAccumulateInF32) {
  const int64_t n = 4096;
  Tensor x(DType::f16, {n});
  for (int64_t i = 0; i < n; ++i) x.set_f64(i, 1);
  EXPECT_EQ(evaluate_text("x: f16[N]", "y = sum(x) return y", {x}).get_f64(0), 4096);
}

TEST(Semantics, AMeanIsTheSumDividedByTheCount) {
  const Tensor x = random_tensor(DType::f32, {3, 7}, 5, 1, 0, 0);
  const Tensor mean = evaluate_text("x: f32[B, 7]", "y = mean(x, dims=[1]) return y", {x});
  const Tensor spelled =
      evaluate_text("x: f32[B, 7]", "s = sum(x, dims=[1]) y = div(s, 7) return y", {x});
  EXPECT_TRUE(same_bits(mean, spelled));
}

TEST(Semantics, AVarianceIsTheMeanOfSquaredDistances) {
  const Tensor x = tensor(DType::f32, {1, 4}, {10000, 10001, 10002, 10003});
  const Tensor one = tensor(DType::f32, {4}, {1, 1, 1, 1}), zero(DType::f32, {4});
  EXPECT_EQ(values_of(evaluate_text("x: f32[1, 4]", "y = var(x, dims=[1]) return y", {x})),
            (Values{1.25}));
  const Values normal = values_of(evaluate_text(
      "x: f32[1, 4], g: f32[4], b: f32[4]", "y = layer_norm(x, g, b) return y", {x, one, zero}));
  EXPECT_NEAR(normal[0], -1.3416355, 1e-6);
  // Spelled out as E[x²] − E[x]² the cancellation stays.
  EXPECT_EQ(values_of(evaluate_text("x: f32[1, 4]",
                                    "q = mul(x, x) s = mean(q, dims=[1]) m = mean(x, dims=[1]) "
                                    "p = mul(m, m) y = sub(s, p) return y",
                                    {x})),
            (Values{0}));
}

TEST(Semantics, AVarianceThatOverflowsNormalizesToZeros) {
  const Tensor x = tensor(DType::f32, {1, 4}, {8.5e37, 8.4e37, 8.3e37, 8.2e37});
  const Tensor one = tensor(DType::f32, {4}, {1, 1, 1, 1});
  const Values y = values_of(
      evaluate_text("x: f32[1, 4], g: f32[4]", "y = layer_norm(x, g) return y", {x, one}));
  EXPECT_EQ(y, (Values{0, 0, 0, 0}));
  EXPECT_EQ(sign_bits(y), "++--");
}

TEST(Semantics, ARowOfEqualValuesNormalizesToBeta) {
  Tensor x(DType::f32, {1, 64});
  for (int64_t i = 0; i < 64; ++i) x.set_f64(i, 3);
  const Tensor gamma = random_tensor(DType::f32, {64}, 1, 1, 0, 0);
  const Tensor beta = random_tensor(DType::f32, {64}, 2, 1, 0, 0);
  const Tensor y = evaluate_text("x: f32[B, 64], g: f32[64], b: f32[64]",
                                 "y = layer_norm(x, g, b, dims=[-1]) return y", {x, gamma, beta});
  EXPECT_EQ(values_of(y), values_of(beta));
}

TEST(Semantics, ASoftmaxOverNothingButMinusInfinityIsNaN) {
  const Tensor x = tensor(DType::f32, {1, 2}, {-inf, -inf});
  for (const double value :
       values_of(evaluate_text("x: f32[1, 2]", "y = softmax(x, dim=-1) return y", {x}))) {
    EXPECT_TRUE(std::isnan(value));
  }
}

// The document itself

std::set<std::string> tests_in_sources() {
  std::set<std::string> names;
  const std::string root = std::string(INGOT_SOURCE_DIR) + "/tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read_file(entry.path().string());
    for (const std::string_view macro : {"TEST(", "TEST_F(", "TEST_P("}) {
      for (size_t at = text.find(macro); at != std::string::npos; at = text.find(macro, at + 1)) {
        const size_t comma = text.find(',', at), end = text.find(')', at);
        if (comma == std::string::npos || end == std::string::npos || comma > end) continue;
        const size_t first = at + macro.size();
        const size_t second = text.find_first_not_of(" \n", comma + 1);
        names.insert(text.substr(first, comma - first) + "." + text.substr(second, end - second));
      }
    }
  }
  return names;
}

// Every bullet of docs/semantics.md ends in the names of its tests, and they exist.
TEST(Semantics, EverySentenceNamesATestThatExists) {
  const std::string text = read_file(std::string(INGOT_SOURCE_DIR) + "/docs/semantics.md");
  const std::set<std::string> tests = tests_in_sources();
  int bullets = 0;
  for (size_t at = text.find("\n- "); at != std::string::npos; at = text.find("\n- ", at + 1)) {
    const size_t blank = std::min(text.find("\n\n", at), text.find_last_not_of('\n') + 1);
    const std::string bullet =
        text.substr(at + 1, std::min(text.find("\n- ", at + 1), blank) - at - 1);
    ++bullets;
    EXPECT_TRUE(bullet.ends_with('`')) << "no test named in: " << bullet;
    size_t end = bullet.size();
    int named = 0;
    while (end > 0 && bullet[end - 1] == '`') {
      const size_t begin = bullet.rfind('`', end - 2);
      if (begin == std::string::npos) break;
      const std::string name = bullet.substr(begin + 1, end - begin - 2);
      EXPECT_TRUE(tests.contains(name)) << name << " in: " << bullet;
      ++named;
      // Several names stand one after another, separated by blanks.
      const size_t before = bullet.find_last_not_of(" \n", begin - 1);
      end = before == std::string::npos ? 0 : before + 1;
    }
    EXPECT_GT(named, 0) << bullet;
  }
  EXPECT_GE(bullets, 60);
}

}  // namespace
}  // namespace ingot
