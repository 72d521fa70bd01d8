// The functions of a GPU that `exact` takes, on the host: for bf16 right whatever the
// special-function unit gives within the bounds that NVIDIA documents for every architecture.
#include "device/same_bits.h"

namespace ingot::testing {
namespace {

constexpr double exp2_bound = 0x1.12p-22;  // 2^-21.9: more than 2 ulp
constexpr double reciprocal_bound = 0x1p-23, rsqrt_bound = 0x1.86p-23;

TEST(CudaFunctions, NearestOnesHaveTheBitsOfTheirFormulaForEveryBfloat) {
  int functions = 0;
  for (const scalar::CudaFunction& each : scalar::cuda_functions) {
    if (each.form != Form::nearest) continue;
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

TEST(CudaFunctions, SameOnesHaveTheBitsOfTheirFormula) { expect_same_bits(7919); }

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
