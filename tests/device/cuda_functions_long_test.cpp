// More operands than cuda_functions_test.cpp has.
#include <cstdio>
#include <set>
#include <string_view>

#include "device/same_bits.h"
#include "support/approximations.h"

namespace ingot::testing {
namespace {

TEST(CudaFunctions, SameOnesHaveTheBitsOfTheirFormulaForMoreOperands) { expect_same_bits(61); }

const Approximation* approximation(std::string_view formula) {
  for (const Approximation& each : approximations) {
    if (formula.substr(0, formula.find('(')) == each.function) return &each;
  }
  return nullptr;
}

// Beyond its largest value f32 has infinities only.
double as_f32_holds(double value) {
  return std::fabs(value) > std::numeric_limits<float>::max() ? std::copysign(INFINITY, value)
                                                              : value;
}

// The largest part of its bound that an error takes, of every 61st operand.
double largest_part(const scalar::CudaFunction& function, const Approximation& bound) {
  const Formula<double> exact = formula<double>(function.op);
  double largest = 0;
  for (uint64_t b = 0; b < uint64_t{1} << 32; b += 61) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(b));
    if (bound.reach != 0 && !(std::fabs(x) <= bound.reach)) continue;
    const double got = function.function(x), want = as_f32_holds(exact(x, 0, 0, 0, 0, 0));
    if (std::isnan(want) ? std::isnan(got) : got == want) continue;
    const double part = std::fabs(got - want) / (bound.relative * std::fabs(want) + bound.absolute);
    if (!(part <= largest)) largest = part;
  }
  return largest;
}

// With a special-function unit that rounds its results to nearest: what is left are the errors of
// the formulas. tests/gpu/functions_test.cpp has those of a device for every operand.
TEST(CudaFunctions, ApproximationsKeepTheirBoundsWithTheBestUnit) {
  scalar::errors = {};
  std::set<std::string_view> seen;  // several forms have one function
  for (const scalar::CudaFunction& each : scalar::cuda_functions) {
    const Approximation* bound =
        approximation(op_info(each.op).cuda[static_cast<size_t>(each.form)]);
    if (bound == nullptr || !seen.insert(bound->function).second) continue;
    const double part = largest_part(each, *bound);
    std::printf("%-22s %.3f of its bound\n", bound->function, part);
    EXPECT_LE(part, 1) << bound->function;
  }
  EXPECT_EQ(seen.size(), 16U);
}

}  // namespace
}  // namespace ingot::testing
