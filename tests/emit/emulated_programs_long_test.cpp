// As emulated_programs_test.cpp, with every dtype and more random programs.
#include <gtest/gtest.h>

#include "support/emulated_trials.h"

namespace ingot::testing {
namespace {

class EveryOp : public ::testing::TestWithParam<DType> {};

TEST_P(EveryOp, GivesTheEvaluatorsBits) {
  std::vector<Trial> trials;
  for (const int64_t columns : {1, 37, 64, 300}) {
    for (const uint64_t seed : {1, 2}) {
      trials.push_back(every_op_trial(GetParam(), columns, seed));
    }
  }
  expect_equal(trials);
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryOp, ::testing::ValuesIn(all_dtypes),
                         [](const ::testing::TestParamInfo<DType>& dtype) {
                           return std::string(dtype_name(dtype.param));
                         });

TEST(EmulatedPrograms, ManyRandomOnes) {
  for (uint64_t first = 1000; first < 2000; first += 50) {
    std::vector<Trial> trials;
    for (uint64_t seed = first; seed < first + 50; ++seed) {
      trials.push_back(random_trial(seed, {.nodes = 16, .elements = 20000}));
    }
    expect_equal(trials);
  }
}

TEST(EmulatedPrograms, ManyRandomOnesWithProducts) {
  std::vector<Trial> trials;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    trials.push_back(random_trial(seed, {.nodes = 10, .elements = 3000, .whole_products = true}));
  }
  expect_equal(trials);
}

}  // namespace
}  // namespace ingot::testing
