// Many programs compiled together: all kernels in few translation units, kernels that are equal up
// to their names once.
#pragma once

#include <string>
#include <vector>

#include "lower/lower.h"
#include "run/run.h"

namespace ingot::testing {

struct PlannedProgram {
  Graph graph;  // after run_graph_passes
  Plan plan;
};

struct CompiledProgram {
  Graph graph;
  Plan plan;
  std::vector<std::vector<KernelSource>> sources;  // of all variants of each group
  KernelLoader load;

  // With several threads every phase is cut, however small it is.
  Executable executable(int threads) const;
};

// An empty cache_dir is the user's. Error: also where a kernel does not verify.
std::vector<CompiledProgram> compile_programs(const std::vector<PlannedProgram>& programs,
                                              const std::string& cache_dir, size_t units = 2);

// Allocates the outputs.
std::vector<Tensor> run(const Executable& executable, const std::vector<Tensor>& inputs);

}  // namespace ingot::testing
