// More operands than cuda_functions_test.cpp has.
#include "device/same_bits.h"

namespace ingot::testing {
namespace {

TEST(CudaFunctions, SameOnesHaveTheBitsOfTheirFormulaForMoreOperands) { expect_same_bits(61); }

}  // namespace
}  // namespace ingot::testing
