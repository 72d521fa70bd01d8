#include "report/resources.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/cuda_threads.h"
#include "run/device_launch.h"

namespace ingot {
namespace {

constexpr int threads_per_block = 256;
constexpr int bytes_a_load = 16;  // the widest load: a thread holds this much of each value
constexpr int address_registers = 16;

// First and last place of every value in the statements, read from top to bottom.
struct Lifetimes {
  std::map<std::string, std::pair<int, int>, std::less<>> values;
  int place = 0;

  void define(const std::string& name) { values[name] = {place, place}; }
  void use(const std::string& name) {
    if (const auto found = values.find(name); found != values.end()) {
      found->second.second = place;
    }
  }
  void use(const loop::Operand& operand) {
    if (const std::string* name = std::get_if<std::string>(&operand)) {
      use(*name);
    }
  }
  void use(const Sym& index) {
    for (const std::string& name : index.variables()) {
      use(name);
    }
  }
};

void visit(const std::vector<loop::Stmt>& body, Lifetimes& lifetimes);

struct Visitor {
  Lifetimes& lifetimes;

  void operator()(const loop::Let& let) const {
    for (const loop::Operand& operand : let.operands) {
      lifetimes.use(operand);
    }
    lifetimes.define(let.name);
  }
  void operator()(const loop::Load& load) const {
    lifetimes.use(load.index);
    lifetimes.define(load.name);
  }
  void operator()(const loop::IndexValue& index) const {
    lifetimes.use(index.value);
    lifetimes.define(index.name);
  }
  void operator()(const loop::Accumulator& accumulator) const {
    lifetimes.use(accumulator.from);
    lifetimes.define(accumulator.name);
  }
  void operator()(const loop::Accumulate& accumulate) const {
    lifetimes.use(accumulate.value);
    lifetimes.use(accumulate.accumulator);
  }
  void operator()(const loop::Finish& finish) const {
    lifetimes.use(finish.accumulator);
    lifetimes.define(finish.name);
  }
  void operator()(const loop::Store& store) const {
    lifetimes.use(store.index);
    lifetimes.use(store.value);
  }
  void operator()(const loop::Product&) const {}
  void operator()(const loop::Transpose&) const {}
  void operator()(const loop::Fetch&) const {}
  void operator()(const loop::Await&) const {}
  void operator()(const loop::Prefetch&) const {}
  void operator()(const std::shared_ptr<loop::Loop>& loop) const { visit(loop->body, lifetimes); }
};

void visit(const std::vector<loop::Stmt>& body, Lifetimes& lifetimes) {
  for (const loop::Stmt& statement : body) {
    ++lifetimes.place;
    std::visit(Visitor{lifetimes}, statement);
  }
}

int most_live(const loop::Phase& phase) {
  Lifetimes lifetimes;
  visit(phase.body, lifetimes);
  std::vector<int> change(static_cast<size_t>(lifetimes.place) + 2, 0);
  for (const auto& [name, life] : lifetimes.values) {
    ++change[static_cast<size_t>(life.first)];
    --change[static_cast<size_t>(life.second) + 1];
  }
  int live = 0, most = 0;
  for (const int step : change) {
    live += step;
    most = std::max(most, live);
  }
  return most;
}

void add_occupancy(const Occupancy& blocks, ReportJson& resources) {
  resources["blocks_per_sm"] = blocks.blocks;
  resources["blocks_by"] = {{"registers", blocks.blocks_by_registers},
                            {"shared", blocks.blocks_by_shared},
                            {"threads", blocks.blocks_by_threads},
                            {"blocks", blocks.blocks_by_blocks}};
  resources["occupancy"] = blocks.occupancy;
  resources["occupancy_limit"] = blocks.limit;
}

ReportJson gpu_resources(const ResourceEstimate& estimate, const std::string& why) {
  const bool spills = estimate.spilled_registers > 0;
  const ReportJson spill = spills ? ReportJson(estimate.spilled_registers * 4) : ReportJson(0);
  ReportJson resources = {{"registers", estimate.registers},
                          {"spill_store_bytes", spill},
                          {"spill_load_bytes", spill},
                          {"bytes_spill_upper", spills ? ReportJson(nullptr) : ReportJson(0)},
                          {"stack_bytes", spill},
                          {"shared_bytes", estimate.shared_bytes},
                          {"threads_per_block", estimate.threads_per_block},
                          {"instructions", nullptr},
                          {"special_instructions", nullptr}};
  add_occupancy(estimate.occupancy, resources);
  resources["source"] = "estimate";
  resources["note"] = fmt::format("estimated from the loops, without instructions: {}", why);
  return resources;
}

// How often a thread runs an instruction of a phase's innermost loop, at most: unrolled copies
// count once each in the code and as often here.
struct ThreadTrips {
  int64_t team, lanes;
  const Bindings& sizes;

  int64_t most(const std::vector<loop::Stmt>& body) const {
    int64_t most_trips = 1;
    for (const loop::Stmt& statement : body) {
      const auto* loop = std::get_if<std::shared_ptr<loop::Loop>>(&statement);
      if (loop != nullptr) most_trips = std::max(most_trips, of(**loop) * most((*loop)->body));
    }
    return most_trips;
  }

 private:
  int64_t of(const loop::Loop& loop) const {
    Bindings known = sizes;
    for (const std::string& name : loop.extent.variables()) known.try_emplace(name, 0);
    const int64_t extent = std::max<int64_t>(loop.extent.evaluate(known), 1);
    const int64_t together = loop.kind == loop::LoopKind::vector ? team * lanes
                             : loop.kind == loop::LoopKind::spread
                                 ? std::max<int64_t>(team / cuda::warp, 1)
                                 : 1;
    return (extent - 1) / together + 1;
  }
};

}  // namespace

ReportJson no_resources() {
  ReportJson resources;
  for (const char* key :
       {"registers", "spill_store_bytes", "spill_load_bytes", "bytes_spill_upper", "stack_bytes",
        "shared_bytes", "threads_per_block", "instructions", "special_instructions",
        "blocks_per_sm", "blocks_by", "occupancy", "occupancy_limit"}) {
    resources[key] = nullptr;
  }
  resources["source"] = "compiler";
  resources["note"] = "the kernel runs on a CPU; these are numbers of a GPU's kernels";
  return resources;
}

KernelResources compiled_resources(const loop::Kernel& loops, const KernelSource& source,
                                   const std::vector<CudaKernelResources>& functions,
                                   const DeviceModel& device, const Bindings& sizes) {
  KernelResources result;
  CudaKernelResources& all = result.functions;
  for (size_t p = 0; p < functions.size(); ++p) {
    const CudaKernelResources& function = functions[p];
    const PhaseSource& phase = source.phases[p];
    const std::optional<CudaLaunch> launch = launch_of(phase, sizes, device.multiprocessors);
    const int64_t threads = launch ? launch->block[0] : phase.block;
    const int64_t shared = function.shared_bytes + (launch ? launch->shared_bytes : 0);
    const Occupancy own = occupancy(device, static_cast<int>(threads),
                                    static_cast<int>(function.registers), static_cast<int>(shared));
    if (p == 0 || own.occupancy < result.occupancy.occupancy) {
      result.occupancy = own;
      result.threads_per_block = threads;
    }
    all.registers = std::max(all.registers, function.registers);
    all.stack_bytes = std::max(all.stack_bytes, function.stack_bytes);
    result.shared_bytes = std::max(result.shared_bytes, shared);
    all.spill_store_bytes += function.spill_store_bytes;
    all.spill_load_bytes += function.spill_load_bytes;
    all.instructions += function.instructions;
    all.special_instructions += function.special_instructions;
    const int64_t blocks =
        launch ? int64_t{launch->grid[0]} * launch->grid[1] * launch->grid[2] : 0;
    const int64_t spilled = function.spill_store_bytes + function.spill_load_bytes;
    if (spilled == 0) continue;
    const ThreadTrips trips{phase.team, source.lanes, sizes};
    result.spilled_bytes += spilled * threads * blocks * trips.most(loops.phases[p].body);
  }
  return result;
}

ReportJson compiled_resources_json(const KernelResources& resources) {
  const CudaKernelResources& all = resources.functions;
  ReportJson json = {{"registers", all.registers},
                     {"spill_store_bytes", all.spill_store_bytes},
                     {"spill_load_bytes", all.spill_load_bytes},
                     {"bytes_spill_upper", resources.spilled_bytes},
                     {"stack_bytes", all.stack_bytes},
                     {"shared_bytes", resources.shared_bytes},
                     {"threads_per_block", resources.threads_per_block},
                     {"instructions", all.instructions},
                     {"special_instructions", all.special_instructions}};
  add_occupancy(resources.occupancy, json);
  json["source"] = "compiler";
  json["note"] = nullptr;
  return json;
}

ResourceEstimate estimate_resources(const loop::Kernel& kernel, const DeviceModel& device,
                                    const Bindings& sizes) {
  int64_t narrowest = 8;
  for (const loop::Param& param : kernel.params) {
    narrowest = std::min(narrowest, byte_size(param.dtype));
  }
  const int elements = static_cast<int>(bytes_a_load / std::max<int64_t>(narrowest, 2));
  int live = 0;
  for (const loop::Phase& phase : kernel.phases) {
    live = std::max(live, most_live(phase));
  }
  ResourceEstimate estimate{};
  estimate.threads_per_block = threads_per_block;
  const int wanted =
      address_registers + 2 * static_cast<int>(kernel.params.size()) + live * elements;
  estimate.registers = std::min(wanted, cuda::most_registers);
  estimate.spilled_registers = wanted - estimate.registers;
  for (const loop::Scratch& scratch : kernel.scratch) {
    estimate.shared_bytes += scratch.elements.evaluate(sizes) * byte_size(scratch.dtype);
  }
  estimate.occupancy = occupancy(
      device, threads_per_block, estimate.registers,
      static_cast<int>(std::min<int64_t>(estimate.shared_bytes, device.shared_per_block)));
  return estimate;
}

ReportJson resources_json(const loop::Kernel& kernel, const DeviceModel& device,
                          const Bindings& sizes, const std::string& why) {
  return device.gpu ? gpu_resources(estimate_resources(kernel, device, sizes), why)
                    : no_resources();
}

}  // namespace ingot
