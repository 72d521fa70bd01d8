// The device library's functions with a reference in long double and the bound that each must keep.
#pragma once

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "device/scalar.h"

namespace ingot::testing {

// Every function of one floating operand, and of two.
#define INGOT_UNARY(X) \
  X(exp)               \
  X(exp2)              \
  X(expm1)             \
  X(log)               \
  X(log2)              \
  X(log1p)             \
  X(sigmoid)           \
  X(silu)              \
  X(gelu)              \
  X(gelu_tanh)         \
  X(softplus)          \
  X(mish)              \
  X(tanh)              \
  X(sinh)              \
  X(cosh) X(asinh) X(acosh) X(atanh) X(erf) X(rsqrt) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)
#define INGOT_BINARY(X) X(pow) X(atan2) X(mod)

using Wide = long double;

// The references below hold for long double and double: T's own error is far below an ulp of f32.
template <class T>
T sigmoid_of(T x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

template <class T>
T silu_of(T x) {
  return std::isinf(x) && x < 0 ? -T(0) : x * sigmoid_of(x);
}

// e^x erfc(-x / sqrt 2) in one piece, so that the tail keeps its relative accuracy.
template <class T>
T gelu_of(T x) {
  if (std::isinf(x)) return x > 0 ? x : -T(0);
  return T(0.5L) * x * std::erfc(-x * T(0.707106781186547524400844362104849039L));
}

template <class T>
T gelu_tanh_of(T x) {
  if (!(std::fabs(x) < T(1e3L))) return x > 0 ? x : x < 0 ? -T(0) : x;
  return x * sigmoid_of(T(1.59576912160573071175978423973752747L) * (x + T(0.044715L) * x * x * x));
}

template <class T>
T mish_of(T x) {
  if (x > 100) return x;
  if (std::isinf(x)) return -T(0);
  T e = std::exp(x), n = e * (e + 2);
  return x * (n / (n + 2));
}

template <class T>
T softplus_of(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

struct UnaryFunction {
  const char* name;
  float (*f32)(float);
  double (*f64)(double);
  Wide (*reference)(Wide);
  double (*reference64)(double);  // for f32
  double ulp32, ulp64;            // largest errors in units in the last place, over all inputs
};

// What a function keeps for operands >= from; bands go down, the last one to -inf and NaN.
struct UlpBound {
  float from;
  double ulp;
};

// The bands of f32: composites lose accuracy where the result becomes small.
inline std::vector<UlpBound> bounds_of(const UnaryFunction& f) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  std::string_view name = f.name;
  if (name == "gelu") return {{0, 1.4}, {-1, 2.4}, {-3, 4.3}, {lowest, 12}};
  if (name == "gelu_tanh") return {{-1, 2.9}, {-3, 14}, {-5, 32}, {lowest, 220}};
  return {{lowest, f.ulp32}};
}

inline const UlpBound& bound_at(const std::vector<UlpBound>& bounds, float x) {
  size_t band = 0;
  while (!(x >= bounds[band].from) && band + 1 < bounds.size()) band++;
  return bounds[band];
}

// Bounds: the largest error seen (f32: all inputs; f64: 10^7 inputs), rounded up.
// 0: bounded by bounds_of (f32) or CompositesKeepTheirBounds (f64).
inline std::vector<UnaryFunction> unary_functions() {
#define ROW(name, reference, ulp32, ulp64)                                                  \
  UnaryFunction {                                                                           \
#name, [](float x) { return scalar::name(x); }, [](double x) { return scalar::name(x); }, \
        [](Wide x) -> Wide { return reference; }, [](double x) -> double { return reference; },   \
        ulp32, ulp64 \
  }
  return {
      ROW(exp, std::exp(x), 1.1, 0.9),        ROW(exp2, std::exp2(x), 0.95, 1.0),
      ROW(expm1, std::expm1(x), 1.5, 1.9),    ROW(log, std::log(x), 0.95, 0.95),
      ROW(log2, std::log2(x), 1.95, 1.9),     ROW(log1p, std::log1p(x), 1.3, 1.0),
      ROW(sigmoid, sigmoid_of(x), 2.0, 2.0),  ROW(tanh, std::tanh(x), 1.6, 1.6),
      ROW(sinh, std::sinh(x), 1.7, 1.7),      ROW(cosh, std::cosh(x), 1.4, 1.4),
      ROW(asinh, std::asinh(x), 1.95, 1.9),   ROW(acosh, std::acosh(x), 1.9, 1.9),
      ROW(atanh, std::atanh(x), 2.0, 2.0),    ROW(erf, std::erf(x), 1.4, 1.4),
      ROW(rsqrt, 1 / std::sqrt(x), 1.5, 1.5), ROW(sin, std::sin(x), 1.7, 1.7),
      ROW(cos, std::cos(x), 1.7, 1.7),        ROW(tan, std::tan(x), 1.95, 1.9),
      ROW(asin, std::asin(x), 1.9, 1.7),      ROW(acos, std::acos(x), 1.5, 1.5),
      ROW(atan, std::atan(x), 1.6, 1.9),      ROW(softplus, softplus_of(x), 1.7, 1.7),
      ROW(silu, silu_of(x), 3.2, 0),          ROW(gelu, gelu_of(x), 0, 0),
      ROW(gelu_tanh, gelu_tanh_of(x), 0, 0),  ROW(mish, mish_of(x), 5.0, 0),
  };
#undef ROW
}

// The distance of `got` from `want` in units of the last place that `want` has in T; subnormal
// results count in the smallest subnormal. NaN for NaN is 0, a wrong NaN or infinity is infinite.
template <class T>
double error_in_ulp(T got, Wide want) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  using Limits = std::numeric_limits<T>;
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  Wide largest_step = std::ldexp(1.0L, Limits::max_exponent - Limits::digits);
  Wide past_largest = std::ldexp(1.0L, Limits::max_exponent);
  Wide g = std::isinf(got) ? std::copysign(past_largest, static_cast<Wide>(got)) : Wide(got);
  Wide w = std::fabs(want) > past_largest ? std::copysign(past_largest, want) : want;
  if (std::isinf(got) != std::isinf(static_cast<T>(want))) {
    return static_cast<double>(std::fabs(g - w) / largest_step);  // on either side of overflow
  }
  int exponent = want == 0 ? Limits::min_exponent : std::ilogb(w) + 1;
  exponent = std::max(exponent, Limits::min_exponent);
  return static_cast<double>(std::fabs(g - w) / std::ldexp(1.0L, exponent - Limits::digits));
}

}  // namespace ingot::testing
