// Medians with their intervals, and which of several is the fastest.
#include "report/race.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ingot {
namespace {

std::vector<double> samples(size_t count, double centre, double spread, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(centre, spread);
  std::vector<double> list;
  for (size_t i = 0; i < count; ++i) list.push_back(normal(engine));
  return list;
}

TEST(Race, AnIntervalNeedsSixSamples) {
  EXPECT_TRUE(std::isinf(median_interval({}).high));
  EXPECT_TRUE(std::isinf(median_interval({1, 2, 3, 4, 5}).high));
  const MedianInterval six = median_interval({6, 1, 5, 2, 4, 3});
  EXPECT_EQ(six.median, 3.5);
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
}

// P(X <= k) of a binomial distribution of 20 and one half is 2.07 % for k = 5 and 5.77 % for 6.
TEST(Race, BoundsAreTheTablesOrderStatistics) {
  std::vector<double> twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  const MedianInterval found = median_interval(twenty);
  EXPECT_EQ(found.low, 6);
  EXPECT_EQ(found.high, 15);
}

TEST(Race, TheMedianLiesInNinetyFiveOfAHundredIntervals) {
  for (const size_t count : {7U, 25U, 200U, 1000U}) {
    int inside = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
      const MedianInterval found = median_interval(samples(count, 10, 1, seed));
      inside += found.low <= 10 && 10 <= found.high ? 1 : 0;
    }
    EXPECT_GE(inside, 370) << count;  // 380 of 400 expected
  }
}

TEST(Race, TheSlowerOneIsOutOnceThatIsKnown) {
  std::vector<Entrant> entrants(3);
  entrants[0].us = samples(6, 10, 0.1, 1);
  entrants[1].us = samples(6, 12, 0.1, 2);
  entrants[2].us = samples(6, 10.02, 0.1, 3);
  judge(entrants);
  EXPECT_FALSE(entrants[1].out) << "after six samples";
  for (Entrant& entrant : entrants) entrant.us.push_back(entrant.us.back());
  EXPECT_EQ(judge(entrants), 0U);
  EXPECT_TRUE(entrants[1].out);
  EXPECT_FALSE(entrants[2].out);
  EXPECT_FALSE(is_decided(entrants));
  for (Entrant& entrant : entrants) entrant.us = samples(300, entrant.us[0], 0.1, 7);
  EXPECT_TRUE(is_decided(entrants)) << "both are known to 1 %";
}

TEST(Race, OneIsDecidedAtOnceWhereTheOthersAreOut) {
  std::vector<Entrant> entrants(2);
  entrants[1].out = true;
  EXPECT_TRUE(is_decided(entrants));
  EXPECT_EQ(judge(entrants), 0U);
}

}  // namespace
}  // namespace ingot
