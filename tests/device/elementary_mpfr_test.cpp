// The f64 functions against MPFR: a sample of elementary_mpfr_long_test.cpp.
#include "device/mpfr_reference.h"

namespace ingot::testing {
namespace {

TEST(ElementaryMpfr, F64FunctionsKeepTheirBounds) { check_against_mpfr(20000, 1); }
TEST(ElementaryMpfr, PowAndAtan2KeepTheirBounds) { check_pairs_against_mpfr(50000, 2); }

// Powers of two, and what else f64 holds, come out exactly, subnormal results included.
TEST(ElementaryMpfr, RepresentableResultsAreExact) {
  for (int n = -1074; n < 1024; n++) {
    double power = std::ldexp(1.0, n);
    EXPECT_EQ(scalar::exp2(static_cast<double>(n)), power) << n;
    EXPECT_EQ(scalar::log2(power), n);
    EXPECT_EQ(scalar::pow(2.0, static_cast<double>(n)), power) << n;
    EXPECT_EQ(scalar::pow(0.5, static_cast<double>(-n)), power) << n;
    if (n < -149 || n > 127) continue;
    auto narrow = static_cast<float>(power);
    EXPECT_EQ(scalar::exp2(static_cast<float>(n)), narrow) << n;
    EXPECT_EQ(scalar::log2(narrow), static_cast<float>(n));
    EXPECT_EQ(scalar::pow(2.0f, static_cast<float>(n)), narrow) << n;
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; i++) {
    auto whole = static_cast<double>(random() >> 38);  // 26 bits: the square is exact
    double x = std::ldexp(whole, static_cast<int>(random() % 600) - 300);
    EXPECT_EQ(scalar::pow(x, 2.0), x * x) << x;
    EXPECT_EQ(scalar::pow(-x, 1.0), -x) << x;
    auto narrow = static_cast<float>(std::ldexp(static_cast<double>(random() >> 52), -6));
    EXPECT_EQ(scalar::pow(narrow, 2.0f), narrow * narrow) << narrow;
  }
}

}  // namespace
}  // namespace ingot::testing
