// Executable: plan + loaded kernels + buffers, run on the caller's memory.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/tensor.h"
#include "jit/jit.h"
#include "plan/plan.h"

namespace ingot {

// A kernel ready to run: its entries in phase order, and the library that holds them.
struct LoadedKernel {
  std::vector<Library::Entry> phases;
  Library library;
};
LoadedKernel loaded_kernel(const KernelSource& source, const Library& library);
// Makes kernels runnable; called with those that a run needs first, all at once.
using KernelLoader =
    std::function<std::vector<LoadedKernel>(const std::vector<const KernelSource*>& kernels)>;

struct KernelPlace {
  size_t group, variant;
  bool operator==(const KernelPlace&) const = default;
};

struct GroupTiming {
  int group;
  double us;
  int variant;
};

class Executable {
 public:
  // `sources`: of all variants of each group, in the order of Group::schedules. A variant is loaded
  // when a run first takes it.
  Executable(Graph graph, Plan plan, std::vector<std::vector<KernelSource>> sources,
             KernelLoader load, int threads);
  ~Executable();
  Executable(Executable&&) noexcept;

  // Inputs and outputs in signature order, any strides, any alignment; outputs already allocated
  // with the right shapes. Sizes come from the inputs' shapes. Thread-safe. `timings` may be null.
  // Strided inputs are packed first, and strided outputs unpacked at the end. An output that shares
  // memory with an input is computed apart and copied, so calls in place are right. Error{input}:
  // shapes, dtypes, outputs that share memory, an index out of range; the program stays usable.
  void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
           std::vector<GroupTiming>* timings = nullptr) const;
  // The variant of each group that runs at these sizes, on aligned memory.
  std::vector<KernelPlace> chosen(const Bindings& sizes) const;
  // Loads what runs at these sizes, where a name that is not listed counts as small, and `others`.
  void prepare(const Bindings& sizes, const std::vector<KernelPlace>& others) const;
  std::vector<std::vector<int64_t>> output_shapes(
      const std::vector<std::vector<int64_t>>& input_shapes) const;
  const Graph& graph() const;
  const Plan& plan() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
