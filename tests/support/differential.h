// One program through all its executions: the evaluator, interpreted plans, compiled kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/random_graphs.h"

namespace ingot::testing {

struct Trial {
  uint64_t seed;  // of the inputs
  Graph source;
  std::vector<Bindings> sizes;
  // Results of floating products have the library's bits: they are only compared between the
  // fusion modes.
  bool library_order = false;
};

// A random program at the usual and at other sizes.
Trial random_trial(uint64_t seed, const RandomOptions& options);

enum class Depth {
  all,   // every fusion mode, schedule and setting
  some,  // a choice of them by the seed: for many programs
};

// What the executions disagree on, or "". Fusion off, auto and all; bits, where NaNs are equal.
// Inputs on which the evaluator fails must fail everywhere.
std::string interpreted_difference(const Trial& trial, Depth depth = Depth::all);

// The same with compiled kernels, 1 and 2 threads, and with each group's other schedules whatever
// their guards say. One text a trial. `cache_dir`: of the compiled kernels; empty: the user's.
std::vector<std::string> compiled_differences(const std::vector<Trial>& trials,
                                              const std::string& cache_dir,
                                              Depth depth = Depth::all);

// The same with kernels for a GPU, emulated on the host: one plan a trial, chosen by its seed.
std::vector<std::string> emulated_differences(const std::vector<Trial>& trials,
                                              const std::string& cache_dir);

using Difference = std::function<std::string(const Trial&)>;

// Shrinks a failing trial and writes it as FOLDER/NAME.ingot, the reason in comments. `difference`
// is one of the above. Returns a text with path, reason and the small program.
std::string write_failure(const Trial& trial, const std::string& reason, const std::string& name,
                          const Difference& difference);

}  // namespace ingot::testing
