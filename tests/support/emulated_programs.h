// Programs planned for a GPU, their kernels emulated on the host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/compiled_programs.h"
#include "support/cuda_emulation.h"
#include "support/interpret_plan.h"

namespace ingot::testing {

struct EmulatedKernel {
  KernelSource source;
  Library library;
};

struct EmulatedProgram {
  Graph graph;
  Plan plan;
  PlanKernels loops;
  // By name of the loops' kernel. Those that CUDA has no text for are absent: they are interpreted.
  std::map<std::string, EmulatedKernel> kernels;
};

// The kernels of all programs, in few units, those that are equal up to names once. An empty
// cache_dir is the user's. `most`: kernels of a unit.
std::vector<EmulatedProgram> emulate_programs(const std::vector<PlannedProgram>& programs,
                                              const std::string& cache_dir, size_t most = 40);

// As interpret_plan. Every buffer is a GuardedMemory of its own; outputs start poisoned.
std::vector<Tensor> run_emulated(const EmulatedProgram& program, const std::vector<Tensor>& inputs,
                                 EmulatedOrder order = EmulatedOrder::forwards,
                                 const std::string& schedule_name = "");

// One kernel on buffers in the order of its params; the reports that it raised.
std::vector<std::string> run_emulated(const EmulatedKernel& kernel,
                                      const std::vector<loop::BufferRef>& buffers,
                                      const Bindings& sizes, EmulatedOrder order);

}  // namespace ingot::testing
