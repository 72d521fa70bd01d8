// The functions of a GPU that `exact` takes for bf16, on the host: right whatever the
// special-function unit gives within the bounds that NVIDIA documents for every architecture.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "device/scalar.h"
#include "op/apply.h"
#include "op/op.h"

namespace ingot::scalar {
namespace {

// Relative errors of the unit, as parts of its bounds: 2 ulp for ex2, 1 for rcp, 2^-22.4 for rsqrt.
struct UnitErrors {
  double exp2 = 0, reciprocal = 0, rsqrt = 0;
};
UnitErrors errors;

F32 no_subnormal(F32 a) {
  return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0F, a) : a;
}
bool power_of_two(double a) {
  int exponent = 0;
  return std::fabs(std::frexp(a, &exponent)) == 0.5;
}
// A result that f32 holds is exact where it is a power of two.
F32 with_error(double result, double error) {
  return static_cast<F32>(power_of_two(result) ? result : result * (1 + error));
}
F32 exp2_hardware(F32 a) {
  return no_subnormal(with_error(std::exp2(static_cast<double>(no_subnormal(a))), errors.exp2));
}
F32 reciprocal_hardware(F32 a) {
  return no_subnormal(with_error(1 / static_cast<double>(no_subnormal(a)), errors.reciprocal));
}
F32 rsqrt_hardware(F32 a) {
  return with_error(1 / std::sqrt(static_cast<double>(a)), errors.rsqrt);
}
F32 tanh_hardware(F32 a) { return std::tanh(a); }

#define INLINE [[maybe_unused]] inline
#include "device/cuda_functions.inc"
#undef INLINE

struct NearestFunction {
  Op op;
  F32 (*function)(F32 a);
};

const NearestFunction nearest_functions[] = {
#define CUDA(name, form, formula)                    \
  {Form::form == Form::nearest ? Op::name : Op::add, \
   [](F32 a) { return static_cast<F32>(formula); }},
#include "op/ops.def"
};

}  // namespace
}  // namespace ingot::scalar

namespace ingot::testing {
namespace {

constexpr double exp2_bound = 0x1.12p-22;  // 2^-21.9: more than 2 ulp
constexpr double reciprocal_bound = 0x1p-23, rsqrt_bound = 0x1.86p-23;

TEST(CudaFunctions, NearestOnesHaveTheBitsOfTheirFormulaForEveryBfloat) {
  int functions = 0;
  for (const scalar::NearestFunction& each : scalar::nearest_functions) {
    if (each.op == Op::add) continue;
    functions++;
    const Formula<float> full = formula<float>(each.op);
    for (int h = 0; h < 0x10000; h++) {
      const float x = scalar::bf16_to_f32(static_cast<uint16_t>(h));
      const int want = scalar::f32_to_bf16(full(x, 0, 0, 0, 0, 0));
      for (int corner = 0; corner < 9; corner++) {
        const double up = corner == 8 ? 0 : (corner & 1) != 0 ? 1 : -1;
        const double also_up = corner == 8 ? 0 : (corner & 2) != 0 ? 1 : -1;
        scalar::errors = {up * exp2_bound, also_up * reciprocal_bound, up * rsqrt_bound};
        const int got = scalar::f32_to_bf16(each.function(x));
        if (std::isnan(scalar::bf16_to_f32(static_cast<uint16_t>(want)))) {
          ASSERT_TRUE(std::isnan(scalar::bf16_to_f32(static_cast<uint16_t>(got)))) << x;
        } else {
          ASSERT_EQ(got, want) << op_name(each.op) << "(" << x << "), corner " << corner;
        }
      }
    }
  }
  EXPECT_EQ(functions, 7);
}

// Those of the modes wide and fast: results that f32 holds as subnormal numbers become zeros.
TEST(CudaFunctions, ApproximationsFlushWhatIsSubnormal) {
  scalar::errors = {};
  EXPECT_GT(scalar::exp(-90.0F), 0);
  EXPECT_EQ(scalar::exp_approximate(-90.0F), 0);
  EXPECT_EQ(scalar::exp_hardware(-90.0F), 0);
  EXPECT_GT(scalar::sigmoid(-90.0F), 0);
  EXPECT_EQ(scalar::sigmoid_approximate(-90.0F), 0);
  EXPECT_LT(scalar::silu(-100.0F), 0);
  EXPECT_EQ(scalar::silu_approximate(-100.0F), 0);
}

}  // namespace
}  // namespace ingot::testing
