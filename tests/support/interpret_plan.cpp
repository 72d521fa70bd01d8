#include "support/interpret_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include "loop/loop.h"
#include "lower/lower.h"

namespace ingot::testing {
namespace {

void run_kernel(const Graph& graph, const loop::Kernel& kernel, const Bindings& sizes,
                const KernelRun& run, std::map<NodeId, Tensor>* values) {
  std::vector<Tensor> workspaces;
  workspaces.reserve(kernel.params.size());
  std::vector<loop::BufferRef> buffers;
  for (const loop::Param& param : kernel.params) {
    int64_t elements = param.elements.evaluate(sizes);
    if (param.value < 0) {
      workspaces.emplace_back(param.dtype, std::vector<int64_t>{elements});
      buffers.push_back({workspaces.back().data(), elements});
      continue;
    }
    const Node& node = graph[param.value];
    if (values->count(param.value) == 0) {
      (*values)[param.value] = Tensor(node.type.dtype, evaluate(node.type.shape, sizes));
    }
    buffers.push_back({values->at(param.value).data(), elements});
  }
  std::vector<std::string> reports = run(kernel, buffers, sizes);
  if (!reports.empty()) throw Error(ErrorKind::input, reports[0]);
}

// What a gather needs of the input that its ids come from.
struct IdRange {
  int64_t rows = std::numeric_limits<int64_t>::max();
  bool zero_outside = true;
};

std::map<NodeId, IdRange> id_ranges(const Graph& graph, const Bindings& sizes) {
  std::map<NodeId, IdRange> ranges;
  for (const Node& node : graph.nodes) {
    const OpInfo& info = op_info(node.op);
    if ((info.flags & OpFlag::ids) == 0) continue;
    NodeId ids = node.operands[1];
    while (graph[ids].op != Op::input && !graph[ids].operands.empty()) ids = graph[ids].operands[0];
    int64_t dim = integer_attr(info, node.attrs, "dim");
    const Shape& table = graph[node.operands[0]].type.shape;
    if (dim < 0) dim += static_cast<int64_t>(table.size());
    IdRange& range = ranges[ids];
    range.rows = std::min(range.rows, table[static_cast<size_t>(dim)].evaluate(sizes));
    const bool gathers = info.category == Category::movement;
    const bool zeros = gathers && text_attr(info, node.attrs, "out_of_range") == "zero";
    if (!zeros) range.zero_outside = false;
  }
  return ranges;
}

void sprinkle(Tensor* tensor, uint64_t seed) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double reals[] = {0.0,   -0.0,   inf,  -inf, NAN,    1e-40,
                              -1e-7, 1e-310, 3e38, 88.7, -104.0, 2147483648.0};
  constexpr int64_t integers[] = {0,  1,   -1,        31,        32,        63,
                                  64, 255, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
  if (tensor->dtype() == DType::boolean) return;
  for (int64_t i = 0; i < tensor->size(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = seed >> 33;
    if (bits % 8 != 0) continue;
    if (is_float(tensor->dtype())) {
      tensor->set_f64(i, reals[bits / 8 % std::size(reals)]);
    } else {
      tensor->set_i64(i, integers[bits / 8 % std::size(integers)]);
    }
  }
}

}  // namespace

PlanKernels lower_plan(const Graph& graph, const Plan& plan, bool texts) {
  PlanKernels kernels;
  for (const Group& group : plan.groups) {
    kernels.emplace_back();
    for (const Schedule& schedule : group.schedules) {
      loop::Kernel kernel = lower(graph, plan, group, schedule);
      verify(kernel, group.name);
      std::string text = texts ? print(kernel) : "";
      if (texts && print(loop::parse_kernel(text, "<kernel>")) != text) {
        throw std::runtime_error("kernel does not parse back:\n" + text);
      }
      kernels.back().push_back(std::move(kernel));
    }
  }
  return kernels;
}

std::vector<Tensor> run_plan(const Graph& graph, const Plan& plan, const PlanKernels& kernels,
                             const std::vector<Tensor>& inputs, const std::string& schedule_name,
                             const KernelRun& run) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  Bindings sizes = bind_sizes(graph, shapes);
  std::map<NodeId, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
    if (graph[id].op == Op::constant) values[id] = *graph[id].data;
  }
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const std::vector<Schedule>& schedules = plan.groups[g].schedules;
    std::optional<size_t> chosen;
    for (size_t i = 0; i < schedules.size(); ++i) {
      bool named = !schedule_name.empty() && schedules[i].name == schedule_name;
      if (named || (!chosen && guards_hold(schedules[i], sizes))) chosen = i;
    }
    run_kernel(graph, kernels[g][chosen.value()], sizes, run, &values);
  }
  std::vector<Tensor> outputs;
  for (NodeId id : graph.outputs) outputs.push_back(values.at(id));
  return outputs;
}

std::vector<Tensor> interpret_plan(const Graph& graph, const Plan& plan, const PlanKernels& kernels,
                                   const std::vector<Tensor>& inputs,
                                   const std::string& schedule_name) {
  return run_plan(graph, plan, kernels, inputs, schedule_name, loop::interpret);
}

std::vector<Tensor> random_inputs(const Graph& graph, const Bindings& sizes, uint64_t seed,
                                  bool special) {
  std::map<NodeId, IdRange> ids = id_ranges(graph, sizes);
  std::vector<Tensor> inputs;
  for (NodeId id : graph.inputs) {
    const TensorType& type = graph[id].type;
    const auto found = ids.find(id);
    int64_t low = type.dtype == DType::u8 ? 0 : -20, high = 20;
    if (found != ids.end()) {
      int64_t margin = special && found->second.zero_outside ? 2 : 0;
      low = -margin;
      high = std::max<int64_t>(found->second.rows, 1) + margin;
    }
    uint64_t own_seed = seed * 1000 + static_cast<uint64_t>(id);
    double scale = special && own_seed % 3 == 0 ? 30 : 1;
    inputs.push_back(
        random_tensor(type.dtype, evaluate(type.shape, sizes), own_seed, scale, low, high));
    if (special && found == ids.end()) sprinkle(&inputs.back(), own_seed);
  }
  return inputs;
}

std::string first_difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return "types differ";
  if (a.size() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0) {
    return "";
  }
  int64_t width = byte_size(a.dtype());
  for (int64_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a.data() + i * width, b.data() + i * width, static_cast<size_t>(width)) == 0) {
      continue;
    }
    double x = a.get_f64(i), y = b.get_f64(i);
    if (is_float(a.dtype()) && std::isnan(x) && std::isnan(y)) continue;
    return fmt::format("element {} of {}: {} against {}", i, a.size(), x, y);
  }
  return "";
}

}  // namespace ingot::testing
