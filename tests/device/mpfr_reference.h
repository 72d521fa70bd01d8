// The f64 functions against MPFR at points that are hard for them.
#pragma once

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "device/functions.h"

namespace ingot::testing {

// A number of 160 bits: 107 more than f64 has.
class Real {
 public:
  Real() { mpfr_init2(value_, 160); }
  explicit Real(double x) : Real() { mpfr_set_d(value_, x, MPFR_RNDN); }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

// The distance of `got` in units of the last place that `want` has in f64; see error_in_ulp.
inline double ulp_of_real(double got, Real& want) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || mpfr_nan_p(want.get())) {
    return std::isnan(got) && mpfr_nan_p(want.get()) ? 0 : wrong;
  }
  double nearest = mpfr_get_d(want.get(), MPFR_RNDN);
  if (std::isinf(got) || std::isinf(nearest)) {
    if (got == nearest) return 0;
    return got == std::nextafter(nearest, 0.0) || std::nextafter(got, 0.0) == nearest ? 1 : wrong;
  }
  if (mpfr_zero_p(want.get())) return got == 0 ? 0 : wrong;
  long exponent = std::max<long>(mpfr_get_exp(want.get()), -1021) - 53;
  Real difference;
  mpfr_sub_d(difference.get(), want.get(), got, MPFR_RNDN);
  mpfr_mul_2si(difference.get(), difference.get(), -exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN));
}

using RealFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

inline int real_rsqrt(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) { return mpfr_rec_sqrt(y, x, r); }
inline int real_sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  mpfr_neg(y, x, r);
  mpfr_exp(y, y, r);
  mpfr_add_ui(y, y, 1, r);
  return mpfr_ui_div(y, 1, y, r);
}
inline int real_softplus(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t r) {
  if (mpfr_cmp_ui(x, 1000) > 0) return mpfr_set(y, x, r);
  mpfr_exp(y, x, r);
  return mpfr_log1p(y, y, r);
}

// nullptr for the composites, whose bounds are not in ulp.
inline RealFunction real_function(std::string_view name) {
  struct Row {
    std::string_view name;
    RealFunction function;
  };
  constexpr Row rows[] = {
      {"exp", mpfr_exp},           {"exp2", mpfr_exp2},   {"expm1", mpfr_expm1},
      {"log", mpfr_log},           {"log2", mpfr_log2},   {"log1p", mpfr_log1p},
      {"sin", mpfr_sin},           {"cos", mpfr_cos},     {"tan", mpfr_tan},
      {"asin", mpfr_asin},         {"acos", mpfr_acos},   {"atan", mpfr_atan},
      {"sinh", mpfr_sinh},         {"cosh", mpfr_cosh},   {"tanh", mpfr_tanh},
      {"asinh", mpfr_asinh},       {"acosh", mpfr_acosh}, {"atanh", mpfr_atanh},
      {"erf", mpfr_erf},           {"rsqrt", real_rsqrt}, {"sigmoid", real_sigmoid},
      {"softplus", real_softplus},
  };
  for (const Row& row : rows) {
    if (row.name == name) return row.function;
  }
  return nullptr;
}

// Any bits, moderate numbers, neighbours of multiples of pi/2, of 1, of the ends of ranges.
inline double hard_point(std::mt19937_64& random) {
  constexpr double ends[] = {0.25, 0.5,   0.75, 1,  1.5,   2,      6,     20,
                             22,   36.75, 37.5, 40, 707.7, 709.78, 710.5, 744.5};
  double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  double sign = (random() & 1) != 0 ? 1 : -1;
  switch (random() % 6) {
    case 0:
      return std::bit_cast<double>(random());
    case 1:
      return unit * 30;
    case 2:
      return std::ldexp(unit, static_cast<int>(random() % 70) - 50);
    case 3: {
      auto n = static_cast<double>(random() >> (12 + random() % 50));
      return sign * std::nextafter(n * 1.57079632679489661923, unit);
    }
    case 4:
      return sign * (1 + std::ldexp(unit, -static_cast<int>(random() % 53)));
    default:
      return sign * ends[random() % std::size(ends)] *
             (1 + std::ldexp(unit, -static_cast<int>(random() % 50)));
  }
}

inline void check_against_mpfr(int points, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const UnaryFunction& f : unary_functions()) {
    RealFunction function = real_function(f.name);
    if (function == nullptr) continue;
    double worst = 0, at = 0;
    for (int i = 0; i < points; i++) {
      double x = hard_point(random);
      if (!std::isfinite(x)) continue;
      Real operand(x), want;
      function(want.get(), operand.get(), MPFR_RNDN);
      double error = ulp_of_real(f.f64(x), want);
      if (!(error <= worst)) worst = error, at = x;
    }
    std::printf("%-10s %.3f ulp at %a\n", f.name, worst, at);
    EXPECT_LE(worst, f.ulp64) << f.name << "(" << at << ")";
  }
}

inline void check_pairs_against_mpfr(int points, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < points; i++) {
    double x = hard_point(random), y = hard_point(random);
    if (i % 2 == 0 && x != 0 && std::fabs(x) != 1) {  // a result near the ends of the range
      y = y / std::fabs(y) * 1074 * (1 - std::ldexp(1.0, -static_cast<int>(random() % 20))) /
          std::fabs(std::log2(std::fabs(x)));
    }
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    Real a(x), b(y), want;
    if (std::fabs(y * std::log2(std::fabs(x))) < 1e6) {
      mpfr_pow(want.get(), a.get(), b.get(), MPFR_RNDN);
      ASSERT_LE(ulp_of_real(scalar::pow(x, y), want), 1.2) << x << " " << y;
    }
    mpfr_atan2(want.get(), a.get(), b.get(), MPFR_RNDN);
    ASSERT_LE(ulp_of_real(scalar::atan2(x, y), want), 2.0) << x << " " << y;
  }
}

}  // namespace ingot::testing
