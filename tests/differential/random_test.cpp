// Random programs: compiled kernels against the evaluator, bit for bit, in every fusion mode, with
// 1 and 2 threads. A failure is shrunk and kept as a file in the build folder.
#include <gtest/gtest.h>

#include "support/differential.h"
#include "support/random_graphs.h"

namespace ingot::testing {
namespace {

constexpr int most_failures = 3;  // shrinking takes time

void compare_compiled(uint64_t first, uint64_t last, const RandomOptions& options) {
  constexpr uint64_t together = 40;  // programs compiled at once
  const auto alone = [](const Trial& trial) { return compiled_differences({trial}, "")[0]; };
  int failures = 0;
  for (uint64_t start = first; start < last && failures < most_failures; start += together) {
    std::vector<Trial> trials;
    for (uint64_t seed = start; seed < std::min(start + together, last); ++seed) {
      trials.push_back(random_trial(seed, options));
    }
    const std::vector<std::string> reasons = compiled_differences(trials, "");
    for (size_t i = 0; i < trials.size() && failures < most_failures; ++i) {
      if (reasons[i].empty()) continue;
      ++failures;
      ADD_FAILURE() << write_failure(trials[i], reasons[i],
                                     fmt::format("compiled_{}", trials[i].seed), alone);
    }
  }
}

TEST(RandomPrograms, CompiledKernelsGiveTheEvaluatorsBits) {
  compare_compiled(20000, 20260, {.nodes = 5, .elements = 20000});
}

TEST(RandomPrograms, CompiledProductsOfWholeNumbersGiveTheEvaluatorsBits) {
  compare_compiled(30000, 30040, {.nodes = 5, .elements = 20000, .whole_products = true});
}

TEST(RandomPrograms, ProductsGiveTheSameBitsInEveryFusionMode) {
  compare_compiled(40000, 40040, {.nodes = 5, .elements = 20000, .products = true});
}

}  // namespace
}  // namespace ingot::testing
