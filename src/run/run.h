// Runnable: a program on the caller's memory. Executable: plan + loaded kernels + buffers on the
// CPU; device_executable.h has the GPU's.
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

class Runnable {
 public:
  Runnable() = default;
  virtual ~Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;

  // Inputs and outputs in signature order, any strides, any alignment; outputs already allocated
  // with the right shapes. Sizes come from the inputs' shapes. Thread-safe. `timings` may be null.
  // Strided inputs are packed first, and strided outputs unpacked at the end. An output that shares
  // memory with an input is computed apart and copied, so calls in place are right. Error{input}:
  // shapes, dtypes, outputs that share memory, an index out of range; the program stays usable.
  virtual void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
                   std::vector<GroupTiming>* timings = nullptr) const = 0;
  // Loads what runs at these sizes, where a name that is not listed counts as small, and `others`.
  virtual void prepare(const Bindings& sizes, const std::vector<KernelPlace>& others) const = 0;
  virtual const Graph& graph() const = 0;
  virtual const Plan& plan() const = 0;

  // The variant of each group that runs at these sizes, on aligned memory.
  std::vector<KernelPlace> chosen(const Bindings& sizes) const;
  std::vector<std::vector<int64_t>> output_shapes(
      const std::vector<std::vector<int64_t>>& input_shapes) const;

 protected:
  Runnable(Runnable&&) = default;
};

class Executable : public Runnable {
 public:
  // `sources`: of all variants of each group, in the order of Group::schedules. A variant is loaded
  // when a run first takes it.
  Executable(Graph graph, Plan plan, std::vector<std::vector<KernelSource>> sources,
             KernelLoader load, int threads);
  ~Executable() override;
  Executable(Executable&&) noexcept;

  void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
           std::vector<GroupTiming>* timings = nullptr) const override;
  void prepare(const Bindings& sizes, const std::vector<KernelPlace>& others) const override;
  const Graph& graph() const override;
  const Plan& plan() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
