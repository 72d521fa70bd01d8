// A program on a GPU: plan + loaded CUDA kernels, run on the caller's memory or on the device's.
#pragma once

#include <optional>

#include "run/cuda_kernel.h"
#include "run/run.h"

namespace ingot {

// The functions of a kernel's phases, in their order.
struct DeviceKernel {
  std::vector<CudaFunction> phases;
  bool waits = false;  // each by itself for the kernel before: after_previous_kernel()
};
// Makes kernels runnable; called with those that a run needs first, all at once.
using DeviceLoader =
    std::function<std::vector<DeviceKernel>(const std::vector<const KernelSource*>& kernels)>;

struct DeviceProgram;
struct DeviceCallState;

// Events before the first group and behind every group that has one.
using GroupMarks = std::vector<std::optional<CudaEvent>>;

// A program for one set of input shapes, with a stream and the memory of its intermediates:
// launched any number of times on buffers of the device. Belongs to one thread at a time.
class DeviceCall {
 public:
  ~DeviceCall();
  DeviceCall(DeviceCall&&) noexcept;

  bool has_checks() const;  // at run time

  const CudaStream& stream() const;
  const std::vector<int64_t>& input_bytes() const;
  const std::vector<int64_t>& output_bytes() const;
  size_t launches() const;
  size_t streams() const;                   // on which a graph has them
  std::vector<KernelPlace> places() const;  // the variant of each group

  // Puts the program on the stream and does not wait. Addresses are those of row-major tensors,
  // aligned to 16 bytes; outputs lie apart from each other and from the inputs. With `marks` all
  // groups run on one stream, in a captured graph, too.
  void launch(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
              const GroupMarks* marks = nullptr);
  // The same as one launch of a graph that was captured by the first call; other addresses are
  // written into it.
  void launch_graph(const std::vector<void*>& inputs, const std::vector<void*>& outputs);
  // Waits. Error{input} for a run-time check that failed since the last time; the call stays
  // usable.
  void finish();

 private:
  friend class DeviceExecutable;
  explicit DeviceCall(std::unique_ptr<DeviceCallState> state);
  std::unique_ptr<DeviceCallState> state_;
};

class DeviceExecutable : public Runnable {
 public:
  // `sources` as for Executable.
  DeviceExecutable(Graph graph, Plan plan, std::vector<std::vector<KernelSource>> sources,
                   DeviceLoader load, const CudaDevice& device);
  ~DeviceExecutable() override;

  // Copies the inputs to the device and the outputs back. Memory of the device is taken for the
  // call; where there is too little, the error says how much was asked for.
  void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
           std::vector<GroupTiming>* timings = nullptr) const override;
  // On memory of the device: row-major, aligned to 16 bytes, outputs apart from the inputs. Behind
  // what the caller's stream holds, and before what it is given next; waits only where the program
  // has run-time checks.
  void run_in_place(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
                    const CudaStream& callers) const;
  void prepare(const Bindings& sizes, const std::vector<KernelPlace>& others) const override;
  const Graph& graph() const override;
  const Plan& plan() const override;

  const CudaDevice& device() const;
  // Keeps what it needs of this alive. Kernels that leave most of the device idle and do not need
  // each other run on several streams of a graph, unless `one_stream`.
  DeviceCall call(const std::vector<std::vector<int64_t>>& input_shapes,
                  bool one_stream = false) const;

 private:
  std::shared_ptr<DeviceProgram> program_;
};

}  // namespace ingot
