// The elementary functions against long double: sampled bounds, special values, integer operations
// and rounding to 16-bit floats. Sweeps over all inputs: elementary_long_test.cpp;
// f64 against MPFR: elementary_mpfr_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>

#include "device/functions.h"

namespace ingot::testing {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Whether two numbers have the same bits, any NaN being like any other.
::testing::AssertionResult same(double got, double want) {
  bool equal =
      std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
  if (equal) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "got " << got << ", want " << want;
}

// Values that a function of f64 is likely to meet: any bits, moderate ones, close to 0, whole.
double sample(std::mt19937_64& random) {
  uint64_t bits = random();
  double unit = static_cast<double>(bits >> 11) * 0x1p-52 - 1;
  switch (bits % 5) {
    case 0:
      return std::bit_cast<double>(random());
    case 1:
      return unit * 10;
    case 2:
      return unit * 800;
    case 3:
      return std::ldexp(unit, static_cast<int>(random() % 60) - 40);
    default:
      return std::round(unit * 1000) + std::ldexp(unit, -30);
  }
}

TEST(Elementary, KeepsItsBoundOnSampledF32) {
  for (const UnaryFunction& f : unary_functions()) {
    std::vector<UlpBound> bounds = bounds_of(f);
    for (uint32_t b = 12345; b < 0xffff0000; b += 104729) {
      float x = std::bit_cast<float>(b);
      ASSERT_LE(error_in_ulp(f.f32(x), f.reference(x)), bound_at(bounds, x).ulp)
          << f.name << "(" << x << ")";
    }
  }
}

TEST(Elementary, KeepsItsBoundOnSampledF64) {
  std::mt19937_64 random(7);
  for (const UnaryFunction& f : unary_functions()) {
    if (f.ulp64 == 0) continue;
    for (int i = 0; i < 20000; i++) {
      double x = sample(random);
      ASSERT_LE(error_in_ulp(f.f64(x), f.reference(x)), f.ulp64) << f.name << "(" << x << ")";
    }
  }
}

// Composites: relative error where the result is normal, in steps of `from`; absolute error
// anywhere.
struct CompositeBound {
  const char* name;
  double from, relative32, relative64;
};

TEST(Elementary, CompositesKeepTheirBounds) {
  const CompositeBound bounds[] = {
      {"silu", -87, 2.2e-7, 4.5e-16},   {"mish", -87, 3.0e-7, 5.5e-16},
      {"gelu", 0, 1.3e-7, 9e-16},       {"gelu", -1, 1.9e-7, 9e-16},
      {"gelu", -3, 3.3e-7, 9e-16},      {"gelu", -5, 6e-7, 9e-16},
      {"gelu", -12.9, 9e-7, 4e-15},     {"gelu_tanh", 0, 2.8e-7, 5e-16},
      {"gelu_tanh", -5, 2.2e-6, 5e-15}, {"gelu_tanh", -10, 1.6e-5, 3e-14},
  };
  std::mt19937_64 random(11);
  for (const UnaryFunction& f : unary_functions()) {
    for (const CompositeBound& bound : bounds) {
      if (std::string_view(f.name) != bound.name) continue;
      for (int i = 0; i < 30000; i++) {
        double x = sample(random);
        if (!(x >= bound.from) || std::fabs(x) > 1e30 || std::fabs(x) < 1e-30) continue;
        float y = static_cast<float>(x);
        Wide want = f.reference(y);
        ASSERT_LE(std::fabs(f.f32(y) - want), bound.relative32 * std::fabs(want))
            << f.name << "(" << y << ")";
        want = f.reference(x);
        ASSERT_LE(std::fabs(f.f64(x) - want), bound.relative64 * std::fabs(want))
            << f.name << "(" << x << ")";
      }
    }
  }
}

TEST(Elementary, GeluTailIsSmallAndAbsolutelyRight) {
  for (float x = -20; x < 0; x += 0.001f) {
    EXPECT_LE(std::fabs(scalar::gelu(x) - gelu_of(Wide(x))), 4.6e-8) << x;
    EXPECT_LE(scalar::gelu(x), 0) << x;
  }
  EXPECT_EQ(scalar::gelu(-15.0f), 0);
}

// The shorter functions of the modes wide and fast: the larger of a relative and an absolute error.
TEST(Elementary, ShorterFunctionsKeepTheirBounds) {
  struct Short {
    const char* name;
    float (*function)(float);
    Wide (*reference)(Wide);
    double relative, absolute;
    float reach = inf;
  };
  const Short functions[] = {
      {"exp", scalar::exp_short, [](Wide x) { return std::exp(x); }, 0x1p-20, 1.5e-45},
      {"sigmoid", scalar::sigmoid_short, sigmoid_of<Wide>, 0x1p-20, 1.7e-38},
      {"silu", scalar::silu_short, silu_of<Wide>, 0x1p-20, 1.5e-36},
      {"gelu_tanh", scalar::gelu_tanh_short, gelu_tanh_of<Wide>, 2e-5, 2e-37},
      {"gelu", scalar::gelu_short, gelu_of<Wide>, 0x1p-23, 2.2e-8},
      {"gelu_bf16", scalar::gelu_bf16, gelu_of<Wide>, 3.8e-5, 1e-37},
      {"tanh_narrow", scalar::tanh_narrow, [](Wide x) { return std::tanh(x); }, 0x1p-23, 1e-45,
       0.875F},
      {"sigmoid_narrow", scalar::sigmoid_narrow, sigmoid_of<Wide>, 1.25e-7, 1e-45, 1.0625F},
  };
  for (const Short& f : functions) {
    double worst = 0;
    float at = 0;
    for (uint32_t b = 12345; b < 0xffff0000; b += 7919) {
      auto x = std::bit_cast<float>(b);
      if (!(std::fabs(x) <= f.reach)) continue;
      Wide want = f.reference(x), got = f.function(x);
      if (std::fabs(want) > std::numeric_limits<float>::max()) continue;
      Wide allowed = f.relative * std::fabs(want) + f.absolute;
      if (!(std::fabs(got - want) / allowed <= worst)) {
        worst = static_cast<double>(std::fabs(got - want) / allowed), at = x;
      }
    }
    EXPECT_LE(worst, 1) << f.name << "(" << at << ") = " << f.function(at);
    EXPECT_TRUE(std::isnan(f.function(nan)));
    EXPECT_EQ(f.function(-0.0f), static_cast<float>(f.reference(0)));
  }
}

// The number of a 16-bit type nearest to a result, by way of a float that is rounded to odd.
template <class Narrow>
uint16_t nearest_half(Wide x, Narrow narrow) {
  float f = static_cast<float>(x);
  if (f != x && std::isfinite(f)) {
    if (std::fabs(Wide(f)) > std::fabs(x)) f = std::nextafter(f, 0.0f);
    f = std::bit_cast<float>(std::bit_cast<uint32_t>(f) | 1);
  }
  return narrow(f);
}

// How many operands of a 16-bit type have another result than the nearest one. No result may be
// further away than its neighbour.
template <class Widen, class Narrow>
int not_nearest(const UnaryFunction& f, Widen widen, Narrow narrow) {
  int count = 0;
  for (int h = 0; h < 0x10000; h++) {
    float x = widen(static_cast<uint16_t>(h));
    Wide want = f.reference(x);
    if (std::isnan(want) || std::fabs(want) > std::numeric_limits<float>::max()) continue;
    int got = narrow(f.f32(x)), nearest = nearest_half(want, narrow);
    if (widen(static_cast<uint16_t>(got)) == widen(static_cast<uint16_t>(nearest))) continue;
    EXPECT_EQ(std::abs(got - nearest), 1) << f.name << "(" << x << ")";
    count++;
  }
  return count;
}

TEST(Elementary, BfloatResultsAreCorrectlyRoundedForEveryInput) {
  for (const UnaryFunction& f : unary_functions()) {
    EXPECT_EQ(not_nearest(f, scalar::bf16_to_f32, scalar::f32_to_bf16), 0) << f.name;
  }
}

// docs/functions.md has the numbers.
TEST(Elementary, HalfResultsAreTheNearestOrItsNeighbour) {
  const std::map<std::string_view, int> counts = {
      {"exp", 1},  {"exp2", 1},      {"expm1", 1}, {"log", 1},   {"log1p", 2},    {"sigmoid", 7},
      {"sinh", 2}, {"cosh", 2},      {"asinh", 6}, {"acosh", 1}, {"erf", 2},      {"sin", 4},
      {"cos", 2},  {"tan", 4},       {"acos", 3},  {"atan", 8},  {"softplus", 2}, {"silu", 1},
      {"gelu", 3}, {"gelu_tanh", 2}, {"mish", 4},
  };
  for (const UnaryFunction& f : unary_functions()) {
    auto count = counts.find(f.name);
    EXPECT_EQ(not_nearest(f, scalar::f16_to_f32, scalar::f32_to_f16),
              count == counts.end() ? 0 : count->second)
        << f.name;
  }
}

// x, then what each function gives for it, in f32 and f64 alike.
TEST(Elementary, SpecialValues) {
  struct Case {
    const char* name;
    double x, want;
  };
  const Case cases[] = {
      {"exp", -inf, 0},        {"exp", inf, inf},
      {"exp", -0.0, 1},        {"exp2", -inf, 0},
      {"exp2", inf, inf},      {"exp2", 10, 1024},
      {"expm1", -inf, -1},     {"expm1", inf, inf},
      {"expm1", -0.0, -0.0},   {"log", 0, -inf},
      {"log", -0.0, -inf},     {"log", inf, inf},
      {"log", -1, nan},        {"log", 1, 0},
      {"log", -inf, nan},      {"log2", 0, -inf},
      {"log2", inf, inf},      {"log2", -1, nan},
      {"log2", 0.0078125, -7}, {"log1p", -1, -inf},
      {"log1p", inf, inf},     {"log1p", -2, nan},
      {"log1p", -0.0, -0.0},   {"log1p", -inf, nan},
      {"tanh", inf, 1},        {"tanh", -inf, -1},
      {"tanh", -0.0, -0.0},    {"erf", inf, 1},
      {"erf", -inf, -1},       {"erf", -0.0, -0.0},
      {"sigmoid", -inf, 0},    {"sigmoid", inf, 1},
      {"sigmoid", 0, 0.5},     {"silu", -inf, -0.0},
      {"silu", inf, inf},      {"silu", -0.0, -0.0},
      {"gelu", -inf, -0.0},    {"gelu", inf, inf},
      {"gelu", -0.0, -0.0},    {"gelu_tanh", -inf, -0.0},
      {"gelu_tanh", inf, inf}, {"gelu_tanh", -0.0, -0.0},
      {"mish", -inf, -0.0},    {"mish", inf, inf},
      {"mish", -0.0, -0.0},    {"softplus", -inf, 0},
      {"softplus", inf, inf},  {"rsqrt", 0, inf},
      {"rsqrt", -0.0, -inf},   {"rsqrt", inf, 0},
      {"rsqrt", -1, nan},      {"sin", inf, nan},
      {"sin", -0.0, -0.0},     {"cos", -inf, nan},
      {"cos", 0, 1},           {"tan", inf, nan},
      {"tan", -0.0, -0.0},     {"asin", 1.5, nan},
      {"asin", -0.0, -0.0},    {"acos", 1, 0},
      {"acos", -1.5, nan},     {"atan", -0.0, -0.0},
      {"sinh", -inf, -inf},    {"sinh", -0.0, -0.0},
      {"cosh", -inf, inf},     {"cosh", 0, 1},
      {"asinh", -inf, -inf},   {"asinh", -0.0, -0.0},
      {"acosh", 1, 0},         {"acosh", 0.5, nan},
      {"acosh", inf, inf},     {"acosh", -inf, nan},
      {"atanh", 1, inf},       {"atanh", -1, -inf},
      {"atanh", 2, nan},       {"atanh", -0.0, -0.0},
  };
  for (const UnaryFunction& f : unary_functions()) {
    EXPECT_TRUE(std::isnan(f.f32(nan)) && std::isnan(f.f64(nan))) << f.name << "(nan)";
    for (const Case& c : cases) {
      if (std::string_view(f.name) != c.name) continue;
      EXPECT_TRUE(same(f.f32(static_cast<float>(c.x)), c.want)) << f.name << "(" << c.x << ")";
      EXPECT_TRUE(same(f.f64(c.x), c.want)) << f.name << "(" << c.x << ") in f64";
    }
  }
}

TEST(Elementary, PowFollowsC) {
  const double values[] = {0.0,  -0.0,  0.5, 1,    -1,  2,      -2,    3,   -3,   2.5,       -2.5,
                           1e30, -1e30, inf, -inf, nan, 0x1p24, 1e-40, 127, -149, 0.9999999, 1024};
  for (double x : values) {
    for (double y : values) {
      float a = static_cast<float>(x), b = static_cast<float>(y);
      EXPECT_LE(error_in_ulp(scalar::pow(a, b), std::pow(Wide(a), Wide(b))), 1.2) << a << " " << b;
      EXPECT_LE(error_in_ulp(scalar::pow(x, y), std::pow(Wide(x), Wide(y))), 1.2) << x << " " << y;
      Wide want = std::pow(Wide(a), Wide(b));
      EXPECT_TRUE(want != 0 || same(scalar::pow(a, b), static_cast<float>(want))) << a << " " << b;
    }
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; i++) {
    // every other pair: any mantissa, and an exponent that takes the result near the limits
    double x = std::fabs(sample(random)), y = sample(random);
    if (i % 2 == 0) {
      x = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                     static_cast<int>(i / 2 % 9) - 4);
      y = (static_cast<double>(random() >> 11) * 0x1p-52 - 1) * 1030 / std::fabs(std::log2(x));
    }
    ASSERT_LE(error_in_ulp(scalar::pow(x, y), std::pow(Wide(x), Wide(y))), 1.2) << x << " " << y;
    float a = static_cast<float>(x), b = static_cast<float>(i % 2 == 0 ? y / 8 : y);
    ASSERT_LE(error_in_ulp(scalar::pow(a, b), std::pow(Wide(a), Wide(b))), 1.2) << a << " " << b;
  }
}

TEST(Elementary, Atan2FollowsC) {
  const double values[] = {0.0,   -0.0,  1,   -1,   3,   -0.25,  1e38,
                           -1e38, 1e-45, inf, -inf, nan, 1e-300, 1e300};
  for (double y : values) {
    for (double x : values) {
      float a = static_cast<float>(y), b = static_cast<float>(x);
      EXPECT_LE(error_in_ulp(scalar::atan2(a, b), std::atan2(Wide(a), Wide(b))), 2)
          << a << " " << b;
      EXPECT_LE(error_in_ulp(scalar::atan2(y, x), std::atan2(Wide(y), Wide(x))), 2)
          << y << " " << x;
      EXPECT_TRUE(std::isnan(a) || std::isnan(b) ||
                  std::signbit(scalar::atan2(a, b)) == std::signbit(a))
          << a << " " << b;
    }
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; i++) {
    double y = sample(random), x = sample(random);
    if (i % 2 == 0) y = x * static_cast<double>(random() % 4000) / 1000;
    ASSERT_LE(error_in_ulp(scalar::atan2(y, x), std::atan2(Wide(y), Wide(x))), 2) << y << " " << x;
    float a = static_cast<float>(y), b = static_cast<float>(x);
    ASSERT_LE(error_in_ulp(scalar::atan2(a, b), std::atan2(Wide(a), Wide(b))), 2) << a << " " << b;
  }
}

// Python's floored remainder: fmod is exact, one addition may round.
template <class T>
T floored(T x, T y) {
  T r = std::fmod(x, y);
  if (std::isnan(r)) return r;
  if (r != 0 && (r < 0) != (y < 0)) r += y;
  return r == 0 ? std::copysign(T(0), y) : r;
}

TEST(Elementary, ModIsTheExactFlooredRemainder) {
  const double values[] = {0.0,   -0.0,  1,   -1,   3,   -3,  0.1,   1e38,
                           -1e38, 1e-45, inf, -inf, nan, 7.5, 1e-300};
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; i++) {
    double x = i < 225 ? values[i / 15] : sample(random),
           y = i < 225 ? values[i % 15] : sample(random);
    float a = static_cast<float>(x), b = static_cast<float>(y);
    ASSERT_TRUE(same(scalar::mod(a, b), floored(a, b))) << a << " mod " << b;
    ASSERT_TRUE(same(scalar::mod(x, y), floored(x, y))) << x << " mod " << y;
  }
}

TEST(Integer, EveryOperandHasOneAnswer) {
  const int64_t values[] = {0,
                            1,
                            -1,
                            2,
                            -2,
                            3,
                            7,
                            -7,
                            31,
                            32,
                            33,
                            63,
                            64,
                            1000,
                            INT32_MAX,
                            INT32_MIN,
                            INT64_MAX,
                            INT64_MIN,
                            INT32_MIN + 1,
                            INT64_MIN + 1};
  auto divide = [](auto a, auto b) {
    using T = decltype(a);
    if (b == 0) return T(0);
    return b == -1 ? scalar::negate(a) : T(a / b);
  };
  auto remainder = [](auto a, auto b) {
    using T = decltype(a);
    if (b == 0 || b == -1) return T(0);
    T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
  };
  for (int64_t x : values) {
    for (int64_t y : values) {
      int a = static_cast<int>(x), b = static_cast<int>(y);
      long c = x, d = y;
      EXPECT_EQ(scalar::div_trunc(a, b), divide(a, b)) << a << " " << b;
      EXPECT_EQ(scalar::div_trunc(c, d), divide(c, d)) << c << " " << d;
      EXPECT_EQ(scalar::mod_floor(a, b), remainder(a, b)) << a << " " << b;
      EXPECT_EQ(scalar::mod_floor(c, d), remainder(c, d)) << c << " " << d;
      auto in = [](auto n, long bits) { return n >= 0 && n < bits; };
      EXPECT_EQ(scalar::shift_left(a, b),
                in(b, 32) ? static_cast<int>(static_cast<unsigned>(a) << b) : 0);
      EXPECT_EQ(scalar::shift_right(a, b), in(b, 32) ? a >> b : a < 0 ? -1 : 0);
      EXPECT_EQ(scalar::shift_left(c, d),
                in(d, 64) ? static_cast<long>(static_cast<uint64_t>(c) << d) : 0);
      EXPECT_EQ(scalar::shift_right(c, d), in(d, 64) ? c >> d : c < 0 ? -1 : 0);
    }
  }
}

TEST(Conversion, FloatToIntegerSaturatesAndNanGivesZero) {
  EXPECT_EQ(scalar::to_i32(nan), 0);
  EXPECT_EQ(scalar::to_i32(1e20f), INT32_MAX);
  EXPECT_EQ(scalar::to_i32(-inf), INT32_MIN);
  EXPECT_EQ(scalar::to_i32(-2.9f), -2);
  EXPECT_EQ(scalar::to_i32(2147483647.5), INT32_MAX);
  EXPECT_EQ(scalar::to_i64(-1e300), INT64_MIN);
  EXPECT_EQ(scalar::to_i64(1e19f), INT64_MAX);
  EXPECT_EQ(scalar::to_i64(static_cast<double>(nan)), 0);
}

// Every value of the 16-bit type survives, and rounding takes the nearest of two neighbours.
template <class Widen, class Narrow>
void check_rounding(Widen widen, Narrow narrow, int infinity) {
  for (int h = 0; h < 0x10000; h++) {
    float x = widen(static_cast<uint16_t>(h));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(widen(narrow(x))));
      continue;
    }
    ASSERT_EQ(narrow(x), h);
  }
  for (int h = 0; h < infinity; h++) {  // between h and its successor, which may be infinity
    double low = widen(static_cast<uint16_t>(h));
    double high = h + 1 == infinity ? 2 * low - widen(static_cast<uint16_t>(h - 1))
                                    : widen(static_cast<uint16_t>(h + 1));
    float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(narrow(middle), h + (h & 1)) << middle;
    ASSERT_EQ(narrow(std::nextafter(middle, 0.0f)), h) << middle;
    ASSERT_EQ(narrow(std::nextafter(middle, inf)), h + 1) << middle;
    ASSERT_EQ(narrow(-middle), (h + (h & 1)) | 0x8000) << middle;
  }
}

TEST(Conversion, SixteenBitFloatsRoundToNearestEven) {
  check_rounding(scalar::bf16_to_f32, scalar::f32_to_bf16, 0x7f80);
  check_rounding(scalar::f16_to_f32, scalar::f32_to_f16, 0x7c00);
}

TEST(Primitive, MantissaAndExponentAgree) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 100000; i++) {
    double x = std::fabs(sample(random));
    if (x == 0 || !std::isfinite(x)) continue;
    EXPECT_TRUE(scalar::mantissa(x) >= 0.75 && scalar::mantissa(x) < 1.5) << x;
    EXPECT_EQ(std::ldexp(scalar::mantissa(x), static_cast<int>(scalar::exponent(x))), x);
  }
  EXPECT_TRUE(same(scalar::exponent(0.0f), -inf) && same(scalar::mantissa(0.0f), 1));
  EXPECT_TRUE(same(scalar::exponent(inf), inf) && same(scalar::mantissa(inf), 1));
  EXPECT_TRUE(same(scalar::mantissa(-2.0f), nan));
}

TEST(Primitive, MinimumAndMaximumOrderZerosAndKeepNan) {
  EXPECT_TRUE(same(scalar::maximum(-0.0f, 0.0f), 0.0));
  EXPECT_TRUE(same(scalar::minimum(0.0f, -0.0f), -0.0));
  EXPECT_TRUE(same(scalar::maximum(nan, 1.0f), nan) && same(scalar::maximum(1.0f, nan), nan));
  EXPECT_TRUE(same(scalar::minimum(-inf, static_cast<float>(nan)), nan));
}

}  // namespace
}  // namespace ingot::testing
