// Which values to save and which to compute again, at the least cost: a minimum cut.
#pragma once

#include <limits>
#include <vector>

namespace ingot {

// Costs in any unit, never negative. A value is computed again in all kernels that need it, or in
// none; then they read it.
struct SaveProblem {
  static constexpr double never = std::numeric_limits<double>::infinity();
  struct Value {
    // Of storing it and reading it where it is read as things are; 0: it does not lie in memory.
    // What is computed again saves this.
    double save = 0;
    // Where something that is computed again needs the value, and it is read there.
    double read = 0;
    // Arithmetic, in all kernels that may come to need it; `never`: it is saved.
    double again = never;
    std::vector<int> operands;  // positions of values
    // Those made from it in the kernel that makes it. A value is gone from there when it is
    // computed again and they are gone, too.
    std::vector<int> users;
    bool stays = false;  // there is a user that is none of the values
  };
  // What the kernel of some values costs unless they are all gone from it: a value's arithmetic,
  // a buffer that they read, the start of the kernel.
  struct Upkeep {
    double cost = 0;
    std::vector<int> values;
  };
  std::vector<Value> values;
  std::vector<Upkeep> upkeep;
};

struct SaveSolution {
  double cost = 0;          // `never`: there is none
  std::vector<bool> again;  // by value
  std::vector<bool> read;   // something that is computed again reads the value
  std::vector<bool> gone;   // from its kernel
};

// The cost of `again`, which decides the rest.
SaveSolution cost_of(const SaveProblem& problem, std::vector<bool> again);
// The cheapest one; of several the one that computes least again.
SaveSolution cheapest(const SaveProblem& problem);

}  // namespace ingot
