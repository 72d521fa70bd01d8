// The functions of a GPU on the host, with a special-function unit that errs as one wishes.
#pragma once

#include <cmath>
#include <limits>

#include "device/scalar.h"
#include "op/apply.h"
#include "op/op.h"

namespace ingot::scalar {

// Relative errors of the unit, as parts of its bounds: 2 ulp for ex2, 1 for rcp, 2^-22.4 for rsqrt.
struct UnitErrors {
  double exp2 = 0, reciprocal = 0, rsqrt = 0;
};
inline UnitErrors errors;

inline F32 no_subnormal(F32 a) {
  return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0F, a) : a;
}
inline bool power_of_two(double a) {
  int exponent = 0;
  return std::fabs(std::frexp(a, &exponent)) == 0.5;
}
// A result that f32 holds is exact where it is a power of two.
inline F32 with_error(double result, double error) {
  return static_cast<F32>(power_of_two(result) ? result : result * (1 + error));
}
inline F32 exp2_hardware(F32 a) {
  return no_subnormal(with_error(std::exp2(static_cast<double>(no_subnormal(a))), errors.exp2));
}
inline F32 reciprocal_hardware(F32 a) {
  return no_subnormal(with_error(1 / static_cast<double>(no_subnormal(a)), errors.reciprocal));
}
inline F32 rsqrt_hardware(F32 a) {
  return with_error(1 / std::sqrt(static_cast<double>(a)), errors.rsqrt);
}
inline F32 tanh_hardware(F32 a) { return std::tanh(a); }

struct Thread {
  unsigned x = 0;
};
inline Thread threadIdx;
inline void __syncthreads() {}

#define INLINE inline
#define SHARED inline
#define TABLE inline constexpr
// Integers wrap there, as those of a thread's lanes do.
#pragma GCC push_options
#pragma GCC optimize("wrapv")
#include "device/cuda_functions.inc"
#pragma GCC pop_options
#undef INLINE
#undef SHARED
#undef TABLE

struct CudaFunction {
  Op op;
  Form form;
  F32 (*function)(F32 a);
};

inline const CudaFunction cuda_functions[] = {
#define CUDA(name, form, formula) \
  {Op::name, Form::form, [](F32 a) { return static_cast<F32>(formula); }},
#include "op/ops.def"
};

}  // namespace ingot::scalar
