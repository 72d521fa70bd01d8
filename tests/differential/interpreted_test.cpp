// Random programs: interpreted plans against the evaluator, bit for bit, in every fusion mode and
// with every schedule. A failure is shrunk and kept as a file in the build folder.
#include <gtest/gtest.h>

#include "support/differential.h"
#include "support/random_graphs.h"

namespace ingot::testing {
namespace {

constexpr int most_failures = 3;  // shrinking takes time

void compare_interpreted(uint64_t first, uint64_t last, const RandomOptions& options) {
  int failures = 0;
  for (uint64_t seed = first; seed < last && failures < most_failures; ++seed) {
    const Trial trial = random_trial(seed, options);
    const std::string reason = interpreted_difference(trial);
    if (reason.empty()) continue;
    ++failures;
    const auto again = [](const Trial& each) { return interpreted_difference(each); };
    ADD_FAILURE() << write_failure(trial, reason, fmt::format("interpreted_{}", seed), again);
  }
}

constexpr uint64_t programs = 100;  // of a test case, so that processes can share them out

class InterpretedPlans : public ::testing::TestWithParam<uint64_t> {};
TEST_P(InterpretedPlans, GiveTheEvaluatorsBits) {
  compare_interpreted(GetParam(), GetParam() + programs, {.nodes = 12, .elements = 3000});
}
INSTANTIATE_TEST_SUITE_P(From, InterpretedPlans, ::testing::Range<uint64_t>(1, 1301, programs));

class InterpretedProducts : public ::testing::TestWithParam<uint64_t> {};
TEST_P(InterpretedProducts, GiveTheEvaluatorsBits) {
  compare_interpreted(GetParam(), GetParam() + programs,
                      {.nodes = 9, .elements = 3000, .whole_products = true});
}
INSTANTIATE_TEST_SUITE_P(From, InterpretedProducts,
                         ::testing::Range<uint64_t>(10000, 10300, programs));

}  // namespace
}  // namespace ingot::testing
