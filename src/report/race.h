// Which of several ways to do the same is the fastest, by timings that are taken in turns.
#pragma once

#include <cstddef>
#include <vector>

namespace ingot {

// The median, and what it lies between with a confidence of 95 % by the order of the samples,
// whatever their distribution. Fewer than 6 samples give no bound: low 0, high infinite.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
  double half_width() const;  // as a share of the median
};
MedianInterval median_interval(std::vector<double> samples);

struct Entrant {
  std::vector<double> us;
  bool out = false;  // slower than another one, with confidence
};

// Marks those as out that are slower than the fastest; with fewer than 7 samples none is. Returns
// the fastest, by median; the first of equal ones.
size_t judge(std::vector<Entrant>& entrants);
// Whether more samples would decide nothing: one is left, or all that are left are known to 1 %.
bool is_decided(const std::vector<Entrant>& entrants);

}  // namespace ingot
