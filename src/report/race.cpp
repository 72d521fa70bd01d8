#include "report/race.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ingot {
namespace {

constexpr size_t least_samples = 7;
constexpr double known = 0.01;  // half an interval, as a share: as good as known

// How many samples lie outside the interval on either side: the largest k with
// P(at most k - 1 of n below the median) <= 2.5 %. -1: no such interval.
int outside(size_t n) {
  constexpr double tail = 0.025;
  double probability = std::pow(0.5, static_cast<double>(n)), sum = 0;
  int k = -1;
  for (size_t i = 0; i < n; ++i) {
    sum += probability;
    if (sum > tail) break;
    k = static_cast<int>(i);
    probability *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return k;
}

// For more samples than 0.5^n has room for, by the normal distribution.
int outside_of_many(size_t n) {
  constexpr double quantile = 1.96;
  const double half = static_cast<double>(n) / 2;
  return static_cast<int>(half - quantile * std::sqrt(static_cast<double>(n)) / 2 - 1);
}

}  // namespace

double MedianInterval::half_width() const {
  return median > 0 ? std::max(high - median, median - low) / median
                    : std::numeric_limits<double>::infinity();
}

MedianInterval median_interval(std::vector<double> samples) {
  constexpr size_t many = 500;
  MedianInterval result{0, 0, std::numeric_limits<double>::infinity()};
  if (samples.empty()) return result;
  std::ranges::sort(samples);
  const size_t n = samples.size();
  result.median = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
  const int beyond = n > many ? outside_of_many(n) : outside(n);
  if (beyond < 0) return result;
  result.low = samples[static_cast<size_t>(beyond)];
  result.high = samples[n - 1 - static_cast<size_t>(beyond)];
  return result;
}

size_t judge(std::vector<Entrant>& entrants) {
  size_t fastest = entrants.size();
  double least = std::numeric_limits<double>::infinity();
  std::vector<MedianInterval> intervals;
  for (const Entrant& entrant : entrants) {
    intervals.push_back(median_interval(entrant.us));
    const bool ready = !entrant.out && entrant.us.size() >= least_samples;
    if (!ready || intervals.back().median >= least) continue;
    least = intervals.back().median;
    fastest = intervals.size() - 1;
  }
  if (fastest == entrants.size()) return 0;
  for (size_t i = 0; i < entrants.size(); ++i) {
    if (i == fastest || entrants[i].us.size() < least_samples) continue;
    if (intervals[i].low > intervals[fastest].high) entrants[i].out = true;
  }
  return fastest;
}

bool is_decided(const std::vector<Entrant>& entrants) {
  size_t left = 0;
  bool all_known = true;
  for (const Entrant& entrant : entrants) {
    if (entrant.out) continue;
    ++left;
    all_known = all_known && entrant.us.size() >= least_samples &&
                median_interval(entrant.us).half_width() <= known;
  }
  return left <= 1 || all_known;
}

}  // namespace ingot
