#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/float_environment.h"
#include "base/report_text.h"
#include "base/text.h"
#include "run/arguments.h"
#include "run/kernel_set.h"
#include "run/memory_block.h"
#include "run/product.h"
#include "run/product_run.h"
#include "run/run.h"
#include "run/sizing.h"
#include "run/strided_copy.h"
#include "run/thread_pool.h"

namespace ingot {
namespace {

// Buffers of one run at a time, kept for the next.
struct RunMemory {
  MemoryBlock arena, scratch;
  std::vector<MemoryBlock> inputs, outputs;  // packed copies of strided or overlapping tensors
  std::vector<std::byte*> input_data, output_data;
  std::vector<char> output_is_direct;
  std::vector<void*> buffers;
  std::vector<KernelReport> reports;  // of each thread
  std::vector<KernelPlace> variants;  // of each group, for this run
};

}  // namespace

struct Executable::State {
  Graph graph;
  Plan plan;
  std::unique_ptr<KernelSet<LoadedKernel>> kernels;
  int threads = 1;
  std::shared_ptr<ThreadPool> pool;  // nullptr with one thread
  std::vector<Home> homes;
  mutable PackedConstants constants;
  SizingCache<Sizing> sizings;

  std::mutex mutex;  // of what follows
  std::vector<std::unique_ptr<RunMemory>> free_memory;

  std::unique_ptr<RunMemory> take_memory();
  void give_back(std::unique_ptr<RunMemory> memory);

  void place_inputs(const std::vector<TensorView>& inputs, const Sizing& sizing,
                    RunMemory& memory) const;
  void place_outputs(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
                     const Sizing& sizing, RunMemory& memory) const;
  void deliver_outputs(const std::vector<TensorView>& outputs, const Sizing& sizing,
                       RunMemory& memory) const;
  std::byte* address(NodeId node, const Sizing& sizing, const RunMemory& memory) const;
  KernelPlace choose_variant(size_t group, const Sizing& sizing, const RunMemory& memory) const;
  void run_group(KernelPlace place, const Sizing& sizing, RunMemory& memory) const;
  Location place_of(const Group& group, const std::string& report) const;
  void run_phase(KernelPlace place, size_t phase, const VariantSizing& numbers,
                 int64_t scratch_bytes, RunMemory& memory, ProductRun& products) const;
};

namespace {

// Gives the memory back however the run ends.
template <class State>
struct MemoryLease {
  State& state;
  std::unique_ptr<RunMemory> memory = state.take_memory();
  explicit MemoryLease(State& owner) : state(owner) {}
  MemoryLease(const MemoryLease&) = delete;
  MemoryLease& operator=(const MemoryLease&) = delete;
  ~MemoryLease() { state.give_back(std::move(memory)); }
};

}  // namespace

std::unique_ptr<RunMemory> Executable::State::take_memory() {
  const std::lock_guard lock(mutex);
  if (!free_memory.empty()) {
    std::unique_ptr<RunMemory> memory = std::move(free_memory.back());
    free_memory.pop_back();
    return memory;
  }
  auto memory = std::make_unique<RunMemory>();
  memory->inputs = std::vector<MemoryBlock>(graph.inputs.size());
  memory->outputs = std::vector<MemoryBlock>(graph.outputs.size());
  memory->input_data.resize(graph.inputs.size());
  memory->output_data.resize(graph.outputs.size());
  memory->output_is_direct.resize(graph.outputs.size());
  memory->reports.resize(static_cast<size_t>(threads));
  return memory;
}

void Executable::State::give_back(std::unique_ptr<RunMemory> memory) {
  const std::lock_guard lock(mutex);
  free_memory.push_back(std::move(memory));
}

void Executable::State::place_inputs(const std::vector<TensorView>& inputs, const Sizing& sizing,
                                     RunMemory& memory) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (is_plain(inputs[i])) {
      memory.input_data[i] = static_cast<std::byte*>(inputs[i].data);
      continue;
    }
    memory.input_data[i] =
        memory.inputs[i].reserve(sizing.input_bytes[i], graph[graph.inputs[i]].name);
    copy_strided(inputs[i], memory.input_data[i], CopyDirection::pack, pool.get());
  }
}

// An output is written directly unless it is strided or shares memory with an input.
void Executable::State::place_outputs(const std::vector<TensorView>& inputs,
                                      const std::vector<TensorView>& outputs, const Sizing& sizing,
                                      RunMemory& memory) const {
  const std::vector<ByteRange> read = joined_ranges(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool direct = is_plain(outputs[i]) && !overlaps_any(read, byte_range(outputs[i]));
    memory.output_is_direct[i] = direct ? 1 : 0;
    memory.output_data[i] =
        direct ? static_cast<std::byte*>(outputs[i].data)
               : memory.outputs[i].reserve(sizing.output_bytes[i], graph.output_names[i]);
  }
}

// Outputs that are inputs, constants or other outputs first, as long as no input is overwritten.
void Executable::State::deliver_outputs(const std::vector<TensorView>& outputs,
                                        const Sizing& sizing, RunMemory& memory) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::byte* const source = address(graph.outputs[i], sizing, memory);
    if (source == memory.output_data[i] || sizing.output_bytes[i] == 0) continue;
    std::memcpy(memory.output_data[i], source, static_cast<size_t>(sizing.output_bytes[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (memory.output_is_direct[i] != 0) continue;
    copy_strided(outputs[i], memory.output_data[i], CopyDirection::unpack, pool.get());
  }
}

std::byte* Executable::State::address(NodeId node, const Sizing& sizing,
                                      const RunMemory& memory) const {
  const Home& home = homes[static_cast<size_t>(node)];
  switch (home.kind) {
    case Home::Kind::input:
      return memory.input_data[home.slot];
    case Home::Kind::output:
      return memory.output_data[home.slot];
    case Home::Kind::constant:
      // Kernels read constants only; the pointer's type is that of all buffers.
      return const_cast<std::byte*>(graph[node].data->data());
    case Home::Kind::arena:
      break;
  }
  const int64_t offset = sizing.node_offset[static_cast<size_t>(node)];
  INGOT_CHECK(offset >= 0, "{} has no buffer", graph[node].name);
  return memory.arena.data() + offset;
}

KernelPlace Executable::State::choose_variant(size_t group, const Sizing& sizing,
                                              const RunMemory& memory) const {
  for (size_t v = 0; v < kernels->variants(group); ++v) {
    if (!sizing.groups[group][v].permitted) continue;
    const KernelSource& source = kernels->source({group, v});
    const bool fits =
        !source.needs_alignment ||
        std::all_of(source.params.begin(), source.params.end(), [&](const ParamSource& param) {
          return !param.written || param.workspace ||
                 reinterpret_cast<uintptr_t>(address(param.value, sizing, memory)) %
                         buffer_alignment ==
                     0;
        });
    if (fits) return {group, v};
  }
  fail_internal("run", fmt::format("{}: no variant fits", plan.groups[group].name));
}

void Executable::State::run_group(KernelPlace place, const Sizing& sizing,
                                  RunMemory& memory) const {
  const KernelSource& source = kernels->source(place);
  const VariantSizing& numbers = sizing.groups[place.group][place.variant];
  memory.buffers.clear();
  for (size_t p = 0; p < source.params.size(); ++p) {
    const ParamSource& param = source.params[p];
    memory.buffers.push_back(param.workspace ? memory.arena.data() + numbers.workspace_offset[p]
                                             : address(param.value, sizing, memory));
  }
  std::fill(memory.reports.begin(), memory.reports.end(), KernelReport{});
  ProductRun products;
  products.constants = &constants;
  for (size_t p = 0; p < source.phases.size(); ++p) {
    run_phase(place, p, numbers, sizing.scratch_bytes, memory, products);
    if (products.failure != nullptr) std::rethrow_exception(products.failure);
    for (const KernelReport& report : memory.reports) {
      if (report.number == 0) continue;
      const std::string& text = source.reports.at(static_cast<size_t>(report.number - 1));
      fail_input(place_of(plan.groups[place.group], text), report_text(text, report.value));
    }
  }
}

// Of the node whose op and name the report begins with.
Location Executable::State::place_of(const Group& group, const std::string& report) const {
  for (const NodeId id : group.nodes) {
    const Node& node = graph[id];
    if (report.starts_with(fmt::format("{} '{}':", op_name(node.op), node.name))) {
      return node.location;
    }
  }
  return {};
}

// One contiguous part for each thread, as many as the grain makes worth it; all of them here, while
// there is too little to do to wake the pool.
void Executable::State::run_phase(KernelPlace place, size_t phase, const VariantSizing& numbers,
                                  int64_t scratch_bytes, RunMemory& memory,
                                  ProductRun& products) const {
  const int64_t extent = numbers.extents[phase];
  if (extent <= 0) return;
  const int64_t grain = std::max<int64_t>(kernels->source(place).phases[phase].grain, 1);
  const Library::Entry entry = kernels->loaded(place).phases[phase];
  const int64_t grains = (extent - 1) / grain + 1;
  int64_t parts = std::min<int64_t>(grains, threads);
  const bool known = grain > 1;  // a single iteration may be any amount of work
  if (parts > 1 && known && pool->asleep() && !pool->worth_waking(grains)) parts = 1;
  auto body = [&](int part) {
    KernelCall call{};
    call.buffers = memory.buffers.data();
    call.sizes = numbers.sizes.data();
    call.scratch = reinterpret_cast<char*>(memory.scratch.data()) + scratch_bytes * part;
    // Not extent * part / parts, which may overflow.
    call.begin = extent / parts * part + std::min<int64_t>(part, extent % parts);
    call.end = call.begin + extent / parts + (part < extent % parts ? 1 : 0);
    call.report = &memory.reports[static_cast<size_t>(part)];
    call.product = run_product;
    call.runtime = &products;
    entry(&call);
  };
  if (parts == 1) {
    body(0);
  } else {
    pool->run(static_cast<int>(parts), body);
  }
}

LoadedKernel loaded_kernel(const KernelSource& source, const Library& library) {
  LoadedKernel kernel;
  for (const PhaseSource& phase : source.phases) {
    kernel.phases.push_back(library.entry(phase.symbol));
  }
  kernel.library = library;
  return kernel;
}

Executable::Executable(Graph graph, Plan plan, std::vector<std::vector<KernelSource>> sources,
                       KernelLoader load, int threads)
    : state_(std::make_unique<State>()) {
  INGOT_CHECK(sources.size() == plan.groups.size(), "{} kernels for {} groups", sources.size(),
              plan.groups.size());
  for (size_t g = 0; g < sources.size(); ++g) {
    INGOT_CHECK(sources[g].size() == plan.groups[g].schedules.size(),
                "{}: {} variants for {} schedules", plan.groups[g].name, sources[g].size(),
                plan.groups[g].schedules.size());
  }
  state_->homes = find_homes(graph);
  for (const Node& node : graph.nodes) {
    if (node.data != nullptr) state_->constants.add_constant(node.data->data(), node.data->bytes());
  }
  state_->graph = std::move(graph);
  state_->plan = std::move(plan);
  state_->kernels = std::make_unique<KernelSet<LoadedKernel>>(std::move(sources), std::move(load));
  state_->threads = thread_count(threads);
  if (state_->threads > 1) state_->pool = shared_thread_pool(state_->threads);
}

Executable::~Executable() = default;
Executable::Executable(Executable&&) noexcept = default;

void Executable::run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs,
                     std::vector<GroupTiming>* timings) const {
  State& state = *state_;
  const Graph& graph = state.graph;
  check_inputs(graph, inputs, outputs);
  const std::shared_ptr<const Sizing> sizing =
      state.sizings.find(inputs, [&](const std::vector<std::vector<int64_t>>& shapes) {
        return make_sizing(graph, state.plan, state.kernels->sources(), shapes);
      });
  check_input_memory(graph, inputs, *sizing);
  check_outputs(graph, outputs, *sizing);
  const MemoryLease lease(state);
  RunMemory& memory = *lease.memory;
  try {
    memory.arena.reserve(sizing->arena_bytes, "intermediates");
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", graph.name, error.message()));
  }
  memory.scratch.reserve(sizing->scratch_bytes * state.threads, "the rows of all threads");
  state.place_inputs(inputs, *sizing, memory);
  state.place_outputs(inputs, outputs, *sizing, memory);
  if (timings != nullptr) timings->clear();
  memory.variants.clear();
  for (size_t g = 0; g < state.kernels->groups(); ++g) {
    memory.variants.push_back(state.choose_variant(g, *sizing, memory));
  }
  state.kernels->require(memory.variants);

  const DefaultFloatEnvironment defaults;
  for (const KernelPlace& place : memory.variants) {
    const auto start = std::chrono::steady_clock::now();
    state.run_group(place, *sizing, memory);
    if (timings == nullptr) continue;
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
    timings->push_back(
        {static_cast<int>(place.group), us.count(), static_cast<int>(place.variant)});
  }
  state.deliver_outputs(outputs, *sizing, memory);
}

void Executable::prepare(const Bindings& sizes, const std::vector<KernelPlace>& others) const {
  std::vector<KernelPlace> places = chosen(sizes);
  places.insert(places.end(), others.begin(), others.end());
  state_->kernels->require(places);
}

const Graph& Executable::graph() const { return state_->graph; }
const Plan& Executable::plan() const { return state_->plan; }

}  // namespace ingot
