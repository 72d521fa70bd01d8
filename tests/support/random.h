// Random numbers that are a function of a seed.
#pragma once

#include <cstdint>

namespace ingot::testing {

class Random {
 public:
  // Mixed, so that neighbouring seeds are not one sequence with a shift.
  explicit Random(uint64_t seed) : state_(mixed(mixed(seed) + 1)) {}
  uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15u); }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace ingot::testing
