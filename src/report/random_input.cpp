// Random data for inputs, and the values that an integer input may have.

#include <algorithm>

#include "report/report.h"

namespace ingot {
namespace {

// Follows `node`'s value through casts and movements to the gathers whose indices it gives; the
// smallest table decides.
void narrow_to_tables(const Graph& graph, NodeId node,
                      const std::vector<std::vector<NodeId>>& users, const Bindings& sizes,
                      std::optional<int64_t>& rows) {
  for (const NodeId user : users[static_cast<size_t>(node)]) {
    const Node& consumer = graph[user];
    const OpInfo& info = op_info(consumer.op);
    const bool has_ids = (info.flags & OpFlag::ids) != 0;
    const bool is_index = has_ids && consumer.operands[1] == node;
    if (is_index) {
      const Node& table = graph[consumer.operands[0]];
      const int rank = static_cast<int>(table.type.shape.size());
      int64_t dim = integer_attr(info, consumer.attrs, "dim");
      dim = dim < 0 ? dim + rank : dim;
      const int64_t size = table.type.shape[static_cast<size_t>(dim)].evaluate(sizes);
      rows = std::min(rows.value_or(size), size);
    } else if ((consumer.op == Op::cast && is_integer(consumer.type.dtype)) ||
               (info.category == Category::movement && !has_ids)) {
      narrow_to_tables(graph, user, users, sizes, rows);
    }
  }
}

constexpr IntegerRange any_integer = {-100, 101, false};  // where nothing says more

}  // namespace

IntegerRange input_range(const Graph& graph, NodeId input, const Bindings& sizes) {
  const DType dtype = graph[input].type.dtype;
  if (!is_integer(dtype)) {
    return {0, 2, false};
  }
  std::optional<int64_t> rows;
  narrow_to_tables(graph, input, consumers(graph), sizes, rows);
  if (rows) {
    return {0, std::max<int64_t>(*rows, 1), true};
  }
  if (byte_size(dtype) == 1) {
    const IntegerLimits limits = integer_limits(dtype);
    return {limits.lowest, limits.highest + 1, false};
  }
  return is_unsigned(dtype) ? IntegerRange{0, 201, false} : any_integer;
}

namespace {

// Without memory for it the error says which tensor it is.
template <class Make>
Tensor named(const std::string& name, Make make) {
  try {
    return make();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", name, error.message()), error.location(),
                error.notes());
  }
}

}  // namespace

Tensor random_input(const Graph& graph, size_t input, const Bindings& sizes, uint64_t seed,
                    double scale) {
  const NodeId id = graph.inputs[input];
  const TensorType& type = graph[id].type;
  const IntegerRange range = input_range(graph, id, sizes);
  // Inputs differ from each other under one seed.
  const uint64_t own_seed = seed * 0x9E3779B97F4A7C15u + input;
  return named(graph[id].name, [&] {
    return random_tensor(type.dtype, evaluate(type.shape, sizes), own_seed, scale, range.low,
                         range.high);
  });
}

std::vector<Tensor> run_allocating(const Runnable& executable, const std::vector<Tensor>& inputs,
                                   std::vector<GroupTiming>* timings) {
  std::vector<TensorView> input_views, output_views;
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) {
    input_views.push_back(view(input));
    shapes.push_back(input.shape());
  }
  const std::vector<std::vector<int64_t>> output_shapes = executable.output_shapes(shapes);
  const Graph& graph = executable.graph();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < output_shapes.size(); ++i) {
    outputs.push_back(named(graph.output_names[i], [&] {
      return Tensor::uninitialized(graph[graph.outputs[i]].type.dtype, output_shapes[i]);
    }));
    output_views.push_back(view(outputs.back()));
  }
  executable.run(input_views, output_views, timings);
  return outputs;
}

}  // namespace ingot
