// Random programs: the evaluator against interpreted plans and against compiled kernels, bit for
// bit, in every fusion mode. A failure is shrunk and kept as a file in the build folder.
#include <gtest/gtest.h>

#include "support/differential.h"
#include "support/random_graphs.h"

namespace ingot::testing {
namespace {

constexpr int most_failures = 3;  // shrinking takes time

Trial trial_of(uint64_t seed, const RandomOptions& options) {
  return {seed, random_graph(seed, options), {usual_sizes(), other_sizes(seed)}, options.products};
}

void compare_interpreted(uint64_t first, uint64_t last, const RandomOptions& options) {
  int failures = 0;
  for (uint64_t seed = first; seed < last && failures < most_failures; ++seed) {
    const Trial trial = trial_of(seed, options);
    const std::string reason = interpreted_difference(trial);
    if (reason.empty()) continue;
    ++failures;
    ADD_FAILURE() << write_failure(trial, reason, fmt::format("interpreted_{}", seed),
                                   interpreted_difference);
  }
}

void compare_compiled(uint64_t first, uint64_t last, const RandomOptions& options) {
  constexpr uint64_t together = 40;  // programs compiled at once
  const auto alone = [](const Trial& trial) { return compiled_differences({trial}, "")[0]; };
  int failures = 0;
  for (uint64_t start = first; start < last && failures < most_failures; start += together) {
    std::vector<Trial> trials;
    for (uint64_t seed = start; seed < std::min(start + together, last); ++seed) {
      trials.push_back(trial_of(seed, options));
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

TEST(RandomPrograms, InterpretedPlansGiveTheEvaluatorsBits) {
  compare_interpreted(1, 1301, {.nodes = 12, .elements = 3000});
}

TEST(RandomPrograms, InterpretedPlansWithProductsGiveTheEvaluatorsBits) {
  compare_interpreted(10000, 10300, {.nodes = 9, .elements = 3000, .whole_products = true});
}

TEST(RandomPrograms, CompiledKernelsGiveTheEvaluatorsBits) {
  compare_compiled(20000, 20240, {.nodes = 8, .elements = 20000});
}

TEST(RandomPrograms, CompiledProductsOfWholeNumbersGiveTheEvaluatorsBits) {
  compare_compiled(30000, 30040, {.nodes = 6, .elements = 20000, .whole_products = true});
}

TEST(RandomPrograms, ProductsGiveTheSameBitsInEveryFusionMode) {
  compare_compiled(40000, 40040, {.nodes = 6, .elements = 20000, .products = true});
}

}  // namespace
}  // namespace ingot::testing
