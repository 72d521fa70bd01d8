// Runs a plan by lowering each group and interpreting the loops: the second oracle for whole
// programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "loop/loop.h"
#include "plan/plan.h"

namespace ingot::testing {

// The kernels of every schedule of every group, verified; with `texts` printed and parsed back.
using PlanKernels = std::vector<std::vector<loop::Kernel>>;
PlanKernels lower_plan(const Graph& graph, const Plan& plan, bool texts = true);

// Interprets the kernels that the guards choose (or `schedule_name` where a group has it).
std::vector<Tensor> interpret_plan(const Graph& graph, const Plan& plan, const PlanKernels& kernels,
                                   const std::vector<Tensor>& inputs,
                                   const std::string& schedule_name = "");

// The same with another way to run a kernel.
using KernelRun = std::function<std::vector<std::string>(
    const loop::Kernel& kernel, const std::vector<loop::BufferRef>& buffers,
    const Bindings& sizes)>;
std::vector<Tensor> run_plan(const Graph& graph, const Plan& plan, const PlanKernels& kernels,
                             const std::vector<Tensor>& inputs, const std::string& schedule_name,
                             const KernelRun& run);

// Random inputs for a graph at given sizes: normal floats, small integers, ids in range. With
// `special`, one in eight is a NaN, an infinity, a zero, a subnormal or an extreme, and ids leave
// the range where that gives zeros.
std::vector<Tensor> random_inputs(const Graph& graph, const Bindings& sizes, uint64_t seed,
                                  bool special = false);

// The first difference of two tensors' bits (NaNs are equal to each other), or "".
std::string first_difference(const Tensor& a, const Tensor& b);

}  // namespace ingot::testing
