#include "run/device_executable.h"

#include <algorithm>

#include "base/error.h"
#include "run/device_launch.h"
#include "run/device_state.h"
#include "run/memory_block.h"
#include "run/strided_copy.h"

namespace ingot {
namespace {

// Copies of a call's inputs on the device.
struct Upload {
  std::vector<MemoryBlock> packed;  // of tensors that are not row-major without gaps
  std::vector<CudaMemory> memory;
  std::vector<void*> addresses;

  Upload(const CudaStream& stream, const std::vector<TensorView>& inputs,
         const std::vector<int64_t>& bytes)
      : packed(inputs.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const void* source = inputs[i].data;
      if (bytes[i] > 0 && !is_plain(inputs[i])) {
        std::byte* const copy = packed[i].reserve(bytes[i], "a packed input");
        copy_strided(inputs[i], copy, CopyDirection::pack, nullptr);
        source = copy;
      }
      memory.emplace_back(stream, bytes[i]);
      addresses.push_back(memory.back().address());
      copy_to_device(stream, addresses.back(), source, bytes[i]);
    }
  }
};

void download(const CudaStream& stream, const std::vector<void*>& addresses,
              const std::vector<TensorView>& outputs, const std::vector<int64_t>& bytes) {
  std::vector<MemoryBlock> unpacked(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    void* const target =
        is_plain(outputs[i]) ? outputs[i].data : unpacked[i].reserve(bytes[i], "a packed input");
    copy_to_host(stream, target, addresses[i], bytes[i]);
  }
  stream.synchronize();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_plain(outputs[i])) continue;
    copy_strided(outputs[i], unpacked[i].data(), CopyDirection::unpack, nullptr);
  }
}

std::vector<void*> addresses_of(const std::vector<TensorView>& views) {
  std::vector<void*> addresses;
  for (const TensorView& view : views) addresses.push_back(view.data);
  return addresses;
}

void check_place(const TensorView& view, const std::string& name) {
  constexpr uintptr_t alignment = 16;
  if (!is_plain(view)) {
    fail_input({}, fmt::format("{}: on a GPU tensors are row-major without gaps; shape [{}], "
                               "strides [{}]",
                               name, fmt::join(view.shape, ", "), fmt::join(view.strides, ", ")));
  }
  if (reinterpret_cast<uintptr_t>(view.data) % alignment != 0) {
    fail_input({}, fmt::format("{}: on a GPU tensors are aligned to {} bytes; address {}", name,
                               alignment, view.data));
  }
}

void check_in_place(const Graph& graph, const std::vector<TensorView>& inputs,
                    const std::vector<TensorView>& outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) check_place(inputs[i], graph[graph.inputs[i]].name);
  const std::vector<ByteRange> read = joined_ranges(inputs);
  for (size_t o = 0; o < outputs.size(); ++o) {
    const std::string& name = graph.output_names[o];
    check_place(outputs[o], name);
    const ByteRange written = byte_range(outputs[o]);
    if (!overlaps_any(read, written)) continue;
    const auto input = std::ranges::find_if(
        inputs, [&](const TensorView& view) { return overlap(byte_range(view), written); });
    const auto i = static_cast<size_t>(input - inputs.begin());
    fail_input({}, fmt::format("output {} lies in the memory of input {}", name,
                               graph[graph.inputs[i]].name));
  }
}

}  // namespace

DeviceProgram::DeviceProgram(Graph program, Plan its_plan,
                             std::vector<std::vector<KernelSource>> sources, DeviceLoader load,
                             const CudaDevice& where)
    : graph(std::move(program)),
      plan(std::move(its_plan)),
      device(where),
      kernels(std::move(sources), std::move(load)),
      homes(find_homes(graph)),
      constants(graph.nodes.size()) {
  const CudaStream stream(device);
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.data == nullptr) continue;
    constants[id] = CudaMemory(stream, node.data->bytes());
    copy_to_device(stream, constants[id].address(), node.data->data(), node.data->bytes());
  }
  stream.synchronize();
}

DeviceSizing DeviceProgram::make_device_sizing(
    const std::vector<std::vector<int64_t>>& input_shapes) const {
  DeviceSizing sizing;
  sizing.numbers = make_sizing(graph, plan, kernels.sources(), input_shapes);
  const Bindings bindings = bind_sizes(graph, input_shapes);
  for (size_t g = 0; g < kernels.groups(); ++g) {
    auto& variants = sizing.launches.emplace_back(kernels.variants(g));
    for (size_t v = 0; v < variants.size(); ++v) {
      if (!sizing.numbers.groups[g][v].permitted) continue;
      for (const PhaseSource& phase : kernels.source({g, v}).phases) {
        variants[v].push_back(launch_of(phase, bindings, device.info().multiprocessors));
      }
    }
  }
  find_lanes(input_shapes, &sizing);
  return sizing;
}

// A group is small where several fit on the device at once. Beside each other they take turns in no
// memory, which must not cost much of it.
void DeviceProgram::find_lanes(const std::vector<std::vector<int64_t>>& input_shapes,
                               DeviceSizing* sizing) const {
  constexpr int64_t small_share = 4;      // a quarter of the threads that the device holds
  constexpr int64_t most_more = 4 << 20;  // bytes
  const CudaDeviceInfo& info = device.info();
  const int64_t most_threads = int64_t{info.multiprocessors} * info.threads / small_share;
  std::vector<bool> small;
  for (size_t g = 0; g < kernels.groups(); ++g) {
    const std::vector<VariantSizing>& variants = sizing->numbers.groups[g];
    const auto chosen = std::ranges::find(variants, true, &VariantSizing::permitted);
    const auto v = static_cast<size_t>(chosen - variants.begin());
    small.push_back(v < variants.size() &&
                    std::ranges::all_of(sizing->launches[g][v], [&](const auto& launch) {
                      return !launch || int64_t{launch->grid[0]} * launch->block[0] <= most_threads;
                    }));
  }
  sizing->lanes = side_by_side(plan, small);
  if (streams_of(sizing->lanes) == 1) return;
  Sizing apart = make_sizing(graph, plan, kernels.sources(), input_shapes, ArenaUse::apart);
  if (apart.arena_bytes <= sizing->numbers.arena_bytes + most_more) {
    sizing->numbers = std::move(apart);
  } else {
    sizing->lanes.assign(kernels.groups(), {});
  }
}

std::shared_ptr<const DeviceSizing> DeviceProgram::checked_sizing(
    const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs) {
  check_inputs(graph, inputs, outputs);
  auto sizing = sizings.find(inputs, [&](const std::vector<std::vector<int64_t>>& shapes) {
    return make_device_sizing(shapes);
  });
  check_input_memory(graph, inputs, sizing->numbers);
  check_outputs(graph, outputs, sizing->numbers);
  return sizing;
}

DeviceExecutable::DeviceExecutable(Graph graph, Plan plan,
                                   std::vector<std::vector<KernelSource>> sources,
                                   DeviceLoader load, const CudaDevice& device) {
  INGOT_CHECK(sources.size() == plan.groups.size(), "{} kernels for {} groups", sources.size(),
              plan.groups.size());
  for (size_t g = 0; g < sources.size(); ++g) {
    INGOT_CHECK(sources[g].size() == plan.groups[g].schedules.size(),
                "{}: {} variants for {} schedules", plan.groups[g].name, sources[g].size(),
                plan.groups[g].schedules.size());
  }
  program_ = std::make_shared<DeviceProgram>(std::move(graph), std::move(plan), std::move(sources),
                                             std::move(load), device);
}

DeviceExecutable::~DeviceExecutable() = default;

void DeviceExecutable::run(const std::vector<TensorView>& inputs,
                           const std::vector<TensorView>& outputs,
                           std::vector<GroupTiming>* timings) const {
  DeviceProgram& program = *program_;
  const std::shared_ptr<const DeviceSizing> sizing = program.checked_sizing(inputs, outputs);

  DeviceCall call(std::make_unique<DeviceCallState>(program_, sizing));
  const Upload given(call.stream(), inputs, call.input_bytes());
  std::vector<CudaMemory> memory;
  std::vector<void*> addresses;
  for (const int64_t bytes : call.output_bytes()) {
    memory.emplace_back(call.stream(), bytes);
    addresses.push_back(memory.back().address());
  }
  GroupMarks marks;
  for (size_t g = 0; timings != nullptr && g <= program.kernels.groups(); ++g) {
    marks.emplace_back(CudaEvent(program.device));
  }
  call.launch(given.addresses, addresses, timings == nullptr ? nullptr : &marks);
  call.finish();
  download(call.stream(), addresses, outputs, call.output_bytes());
  if (timings == nullptr) return;
  timings->clear();
  for (const KernelPlace& place : call.places()) {
    const size_t g = place.group;
    timings->push_back({static_cast<int>(g), marks[g + 1]->ms_since(*marks[g]) * 1e3,
                        static_cast<int>(place.variant)});
  }
}

void DeviceExecutable::run_in_place(const std::vector<TensorView>& inputs,
                                    const std::vector<TensorView>& outputs,
                                    const CudaStream& callers) const {
  DeviceProgram& program = *program_;
  const std::shared_ptr<const DeviceSizing> sizing = program.checked_sizing(inputs, outputs);
  check_in_place(program.graph, inputs, outputs);

  const CudaEvent ready(program.device), done(program.device);
  DeviceCall call(std::make_unique<DeviceCallState>(program_, sizing));
  callers.record(ready);
  call.stream().wait(ready);
  call.launch(addresses_of(inputs), addresses_of(outputs));
  if (call.has_checks()) return call.finish();
  call.stream().record(done);
  callers.wait(done);
}

void DeviceExecutable::prepare(const Bindings& sizes,
                               const std::vector<KernelPlace>& others) const {
  std::vector<KernelPlace> places = chosen(sizes);
  places.insert(places.end(), others.begin(), others.end());
  program_->kernels.require(places);
}

const Graph& DeviceExecutable::graph() const { return program_->graph; }
const Plan& DeviceExecutable::plan() const { return program_->plan; }
const CudaDevice& DeviceExecutable::device() const { return program_->device; }

DeviceCall DeviceExecutable::call(const std::vector<std::vector<int64_t>>& input_shapes,
                                  bool one_stream) const {
  DeviceSizing sizing = program_->make_device_sizing(input_shapes);
  if (one_stream) sizing.lanes.assign(sizing.lanes.size(), {});
  return DeviceCall(std::make_unique<DeviceCallState>(
      program_, std::make_shared<const DeviceSizing>(std::move(sizing))));
}

}  // namespace ingot
