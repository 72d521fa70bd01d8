// What device_executable.cpp and device_call.cpp share.
#pragma once

#include "run/arguments.h"
#include "run/device_executable.h"
#include "run/kernel_set.h"
#include "run/side_by_side.h"

namespace ingot {

// A program's sizes as numbers, with the launches of each variant's phases.
struct DeviceSizing {
  Sizing numbers;
  std::vector<std::vector<std::vector<std::optional<CudaLaunch>>>> launches;
  std::vector<Lane> lanes;  // of each group, in a graph
};

struct DeviceProgram {
  Graph graph;
  Plan plan;
  CudaDevice device;
  KernelSet<DeviceKernel> kernels;
  std::vector<Home> homes;
  std::vector<CudaMemory> constants;  // of each node; empty where it has no data
  SizingCache<DeviceSizing> sizings;

  DeviceProgram(Graph program, Plan its_plan, std::vector<std::vector<KernelSource>> sources,
                DeviceLoader load, const CudaDevice& where);
  DeviceSizing make_device_sizing(const std::vector<std::vector<int64_t>>& input_shapes) const;
  void find_lanes(const std::vector<std::vector<int64_t>>& input_shapes,
                  DeviceSizing* sizing) const;
  // Of the inputs' shapes. Error{input} where inputs or outputs do not agree with them.
  std::shared_ptr<const DeviceSizing> checked_sizing(const std::vector<TensorView>& inputs,
                                                     const std::vector<TensorView>& outputs);
};

struct DeviceCallState {
  // One kernel's arguments, as a launch reads them.
  struct Group {
    KernelPlace place;
    std::vector<void*> buffers;
    std::vector<long> sizes;
    void* report;
    std::vector<void*> pointers;  // to each of the above
    std::vector<void*> captured;  // buffers in the graph
  };
  struct Step {
    size_t group;
    const CudaFunction* function;
    CudaLaunch launch;
  };

  std::shared_ptr<DeviceProgram> program;
  std::shared_ptr<const DeviceSizing> sizing;
  CudaStream stream;
  CudaMemory arena, reports;
  std::vector<Group> groups;
  std::vector<Step> steps;
  std::vector<CudaStream> sides;       // the streams of the lanes besides 0
  std::optional<CudaEvent> begun;      // where there are some: the call's start,
  std::vector<CudaEvent> done;         // the end of each group
  std::vector<void*> inputs, outputs;  // of the last launch
  std::optional<CudaGraph> graph;
  std::vector<void*> captured_inputs, captured_outputs;

  DeviceCallState(std::shared_ptr<DeviceProgram> of, std::shared_ptr<const DeviceSizing> sizes);
  bool may_overlap(size_t step) const;
  void make_side_streams();
  void* address(NodeId node) const;
  // Fills in the buffers.
  void place(const std::vector<void*>& new_inputs, const std::vector<void*>& new_outputs);
  // Whether an output is an input, a constant or another output: it is copied at the end.
  bool copies_outputs() const;
  void enqueue(const GroupMarks* marks);
  void launch_group(size_t group, size_t* step, const CudaStream& on);
  void launch_on_streams();
  void update_graph();
};

}  // namespace ingot
