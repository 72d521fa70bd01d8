// Executable: plan + loaded kernels + buffers, run on the caller's memory.
#pragma once

#include <memory>
#include <vector>

#include "base/tensor.h"
#include "jit/jit.h"
#include "plan/plan.h"

namespace ingot {

// A kernel ready to run: the group's variant, with its entries in phase order.
struct LoadedKernel {
  KernelSource source;
  std::vector<Library::Entry> phases;
};
// All variants of a group, in the order of Group::schedules.
struct LoadedGroup {
  std::vector<LoadedKernel> variants;
};

struct GroupTiming {
  int group;
  double us;
  int variant;
};

class Executable {
 public:
  // Keeps copies of graph and plan, and the libraries alive.
  Executable(Graph graph, Plan plan, std::vector<LoadedGroup> kernels,
             std::vector<Library> libraries, int threads);
  ~Executable();
  Executable(Executable&&) noexcept;

  // Inputs and outputs in signature order, any strides, any alignment; outputs already allocated
  // with the right shapes. Sizes come from the inputs' shapes. Thread-safe. `timings` may be null.
  // Strided inputs are packed first, and strided outputs unpacked at the end. An output that shares
  // memory with an input is computed apart and copied, so calls in place are right. Error{input}:
  // shapes, dtypes, outputs that share memory, an index out of range; the program stays usable.
  void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
           std::vector<GroupTiming>* timings = nullptr) const;
  std::vector<std::vector<int64_t>> output_shapes(
      const std::vector<std::vector<int64_t>>& input_shapes) const;
  const Graph& graph() const;
  const Plan& plan() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
