// DeviceCall: the launches of a program, one by one or as a graph.
#include <algorithm>

#include "base/error.h"
#include "base/report_text.h"
#include "run/cuda_state.h"
#include "run/device_state.h"

namespace ingot {
namespace {

constexpr int64_t usual_shared_bytes = 48 << 10;  // of a block; more has to be asked for
constexpr auto report_bytes = static_cast<int64_t>(sizeof(KernelReport));

// While this lives, launches on the side streams count as those of the captured stream.
class CapturedBeside {
 public:
  CapturedBeside(const CudaStream& stream, const std::vector<CudaStream>& sides) : sides_(sides) {
    for (const CudaStream& side : sides_) side.state()->captured = stream.state()->captured;
  }
  CapturedBeside(const CapturedBeside&) = delete;
  CapturedBeside& operator=(const CapturedBeside&) = delete;
  ~CapturedBeside() {
    for (const CudaStream& side : sides_) side.state()->captured = nullptr;
  }

 private:
  const std::vector<CudaStream>& sides_;
};

}  // namespace

DeviceCallState::DeviceCallState(std::shared_ptr<DeviceProgram> of,
                                 std::shared_ptr<const DeviceSizing> sizes)
    : program(std::move(of)), sizing(std::move(sizes)), stream(program->device) {
  const Sizing& numbers = sizing->numbers;
  arena = CudaMemory(stream, numbers.arena_bytes);
  const auto group_count = static_cast<int64_t>(program->kernels.groups());
  reports = CudaMemory(stream, group_count * report_bytes);
  fill_bytes(stream, reports.address(), 0, reports.bytes());
  std::vector<KernelPlace> places;
  for (size_t g = 0; g < program->kernels.groups(); ++g) {
    const std::vector<VariantSizing>& variants = numbers.groups[g];
    size_t variant = 0;
    while (variant < variants.size() && !variants[variant].permitted) ++variant;
    INGOT_CHECK(variant < variants.size(), "{}: no variant fits", program->plan.groups[g].name);
    places.push_back({g, variant});
  }
  program->kernels.require(places);
  for (size_t g = 0; g < places.size(); ++g) {
    const KernelSource& source = program->kernels.source(places[g]);
    const DeviceKernel& kernel = program->kernels.loaded(places[g]);
    Group& group = groups.emplace_back();
    group.place = places[g];
    group.buffers.resize(source.params.size());
    group.sizes = numbers.groups[g][places[g].variant].sizes;
    group.report = static_cast<std::byte*>(reports.address()) + g * sizeof(KernelReport);
    const auto& launches = sizing->launches[g][places[g].variant];
    for (size_t p = 0; p < launches.size(); ++p) {
      if (!launches[p]) continue;
      const CudaFunction& function = kernel.phases[p];
      if (launches[p]->shared_bytes + function.attributes().shared_bytes > usual_shared_bytes) {
        function.allow_shared_bytes(launches[p]->shared_bytes);
      }
      steps.push_back({g, &function, *launches[p]});
      const bool waits = kernel.waits && program->device.info().major >= 9;
      steps.back().launch.overlaps_previous = waits && may_overlap(steps.size() - 1);
    }
  }
  make_side_streams();
  for (Group& group : groups) {
    for (void*& buffer : group.buffers) group.pointers.push_back(&buffer);
    for (long& size : group.sizes) group.pointers.push_back(&size);
    group.pointers.push_back(&group.report);
  }
}

// Whether the launch before it on its stream is the one thing that it stands behind.
bool DeviceCallState::may_overlap(size_t step) const {
  const std::vector<Lane>& lanes = sizing->lanes;
  const size_t group = steps[step].group;
  if (step > 0 && steps[step - 1].group == group) return true;
  const auto same = [&](const Lane& lane) { return lane.stream == lanes[group].stream; };
  const bool first = std::find_if(lanes.begin(), lanes.end(), same) - lanes.begin() ==
                     static_cast<std::ptrdiff_t>(group);
  return streams_of(lanes) == 1 || (!first && lanes[group].after.empty());
}

void DeviceCallState::make_side_streams() {
  const int count = streams_of(sizing->lanes);
  if (count == 1) return;
  for (int side = 1; side < count; ++side) sides.emplace_back(program->device);
  begun.emplace(program->device);
  for (size_t g = 0; g < groups.size(); ++g) done.emplace_back(program->device);
}

void* DeviceCallState::address(NodeId node) const {
  const Home& home = program->homes[static_cast<size_t>(node)];
  switch (home.kind) {
    case Home::Kind::input:
      return inputs[home.slot];
    case Home::Kind::output:
      return outputs[home.slot];
    case Home::Kind::constant:
      return program->constants[static_cast<size_t>(node)].address();
    case Home::Kind::arena:
      break;
  }
  const int64_t offset = sizing->numbers.node_offset[static_cast<size_t>(node)];
  INGOT_CHECK(offset >= 0, "{} has no buffer", program->graph[node].name);
  return static_cast<std::byte*>(arena.address()) + offset;
}

void DeviceCallState::place(const std::vector<void*>& new_inputs,
                            const std::vector<void*>& new_outputs) {
  INGOT_CHECK(new_inputs.size() == program->graph.inputs.size() &&
                  new_outputs.size() == program->graph.outputs.size(),
              "{}: {} inputs, {} outputs", program->graph.name, new_inputs.size(),
              new_outputs.size());
  inputs = new_inputs;
  outputs = new_outputs;
  for (size_t g = 0; g < groups.size(); ++g) {
    const KernelSource& source = program->kernels.source(groups[g].place);
    const VariantSizing& numbers = sizing->numbers.groups[g][groups[g].place.variant];
    for (size_t p = 0; p < source.params.size(); ++p) {
      const ParamSource& param = source.params[p];
      groups[g].buffers[p] =
          param.workspace ? static_cast<std::byte*>(arena.address()) + numbers.workspace_offset[p]
                          : address(param.value);
    }
  }
}

bool DeviceCallState::copies_outputs() const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (sizing->numbers.output_bytes[i] > 0 && address(program->graph.outputs[i]) != outputs[i]) {
      return true;
    }
  }
  return false;
}

void DeviceCallState::launch_group(size_t group, size_t* step, const CudaStream& on) {
  for (; *step < steps.size() && steps[*step].group == group; ++*step) {
    steps[*step].function->launch(on, steps[*step].launch, groups[group].pointers.data());
  }
}

// In a graph that is being captured each stream is a branch; launched one by one they would cost
// more than they save.
void DeviceCallState::launch_on_streams() {
  const CapturedBeside captured(stream, sides);
  const std::vector<Lane>& lanes = sizing->lanes;
  std::vector<size_t> last(sides.size(), groups.size());
  stream.record(*begun);
  size_t step = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto side = static_cast<size_t>(lanes[g].stream);
    const CudaStream& on = side == 0 ? stream : sides[side - 1];
    if (side > 0 && last[side - 1] == groups.size()) on.wait(*begun);
    for (const size_t before : lanes[g].after) on.wait(done[before]);
    launch_group(g, &step, on);
    on.record(done[g]);
    if (side > 0) last[side - 1] = g;
  }
  for (const size_t g : last) {
    if (g < groups.size()) stream.wait(done[g]);
  }
}

void DeviceCallState::enqueue(const GroupMarks* marks) {
  if (marks == nullptr && !sides.empty() && stream.state()->captured != nullptr) {
    launch_on_streams();
  } else {
    const auto mark = [&](size_t place) {
      if (marks != nullptr && marks->at(place)) stream.mark(*marks->at(place));
    };
    size_t step = 0;
    mark(0);
    for (size_t g = 0; g < groups.size(); ++g) {
      launch_group(g, &step, stream);
      mark(g + 1);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const void* const source = address(program->graph.outputs[i]);
    if (source == outputs[i]) continue;
    copy_on_device(stream, outputs[i], source, sizing->numbers.output_bytes[i]);
  }
}

void DeviceCallState::update_graph() {
  const auto put = [&] { enqueue(nullptr); };
  const bool same = inputs == captured_inputs && outputs == captured_outputs;
  if (!graph) {
    graph.emplace(stream, put);
  } else if (!same && copies_outputs()) {
    graph->update(stream, put);
  } else if (!same) {
    for (size_t s = 0; s < steps.size(); ++s) {
      Group& group = groups[steps[s].group];
      if (group.captured == group.buffers) continue;
      graph->set_kernel(s, *steps[s].function, steps[s].launch, group.pointers.data());
    }
  }
  captured_inputs = inputs;
  captured_outputs = outputs;
  for (Group& group : groups) group.captured = group.buffers;
}

DeviceCall::DeviceCall(std::unique_ptr<DeviceCallState> state) : state_(std::move(state)) {}
DeviceCall::~DeviceCall() = default;
DeviceCall::DeviceCall(DeviceCall&&) noexcept = default;

const CudaStream& DeviceCall::stream() const { return state_->stream; }
const std::vector<int64_t>& DeviceCall::input_bytes() const {
  return state_->sizing->numbers.input_bytes;
}
const std::vector<int64_t>& DeviceCall::output_bytes() const {
  return state_->sizing->numbers.output_bytes;
}
size_t DeviceCall::launches() const { return state_->steps.size(); }
size_t DeviceCall::streams() const { return 1 + state_->sides.size(); }
std::vector<KernelPlace> DeviceCall::places() const {
  std::vector<KernelPlace> places;
  for (const DeviceCallState::Group& group : state_->groups) places.push_back(group.place);
  return places;
}

void DeviceCall::launch(const std::vector<void*>& inputs, const std::vector<void*>& outputs,
                        const GroupMarks* marks) {
  state_->place(inputs, outputs);
  state_->enqueue(marks);
}

void DeviceCall::launch_graph(const std::vector<void*>& inputs, const std::vector<void*>& outputs) {
  state_->place(inputs, outputs);
  state_->update_graph();
  state_->graph->launch(state_->stream);
}

bool DeviceCall::has_checks() const {
  return std::ranges::any_of(state_->groups, [&](const DeviceCallState::Group& group) {
    return !state_->program->kernels.source(group.place).reports.empty();
  });
}

void DeviceCall::finish() {
  DeviceCallState& state = *state_;
  const KernelSet<DeviceKernel>& kernels = state.program->kernels;
  if (!has_checks()) return state.stream.synchronize();
  std::vector<KernelReport> reports(state.groups.size());
  copy_to_host(state.stream, reports.data(), state.reports.address(), state.reports.bytes());
  state.stream.synchronize();
  for (size_t g = 0; g < reports.size(); ++g) {
    if (reports[g].number == 0) continue;
    fill_bytes(state.stream, state.reports.address(), 0, state.reports.bytes());
    const std::vector<std::string>& texts = kernels.source(state.groups[g].place).reports;
    fail_input({},
               report_text(texts.at(static_cast<size_t>(reports[g].number - 1)), reports[g].value));
  }
}

}  // namespace ingot
