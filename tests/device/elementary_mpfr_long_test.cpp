// The f64 functions against MPFR at millions of points.
#include "device/mpfr_reference.h"

namespace ingot::testing {
namespace {

TEST(ElementaryMpfrLong, F64FunctionsKeepTheirBounds) { check_against_mpfr(2000000, 11); }
TEST(ElementaryMpfrLong, PowAndAtan2KeepTheirBounds) { check_pairs_against_mpfr(4000000, 12); }

}  // namespace
}  // namespace ingot::testing
