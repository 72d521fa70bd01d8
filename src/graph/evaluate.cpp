// Walks the graph; the parts are evaluate_elementwise, _reduction, _movement, _ordered and
// _product.
#include "graph/evaluate.h"

#include <algorithm>
#include <set>

#include "base/float_environment.h"
#include "base/tensor_copy.h"
#include "graph/evaluate_node.h"
#include "graph/passes/passes.h"

namespace ingot {
namespace {

DType storage_dtype(DType dtype, Precision precision) {
  return precision == Precision::wide && is_float(dtype) ? DType::f64 : dtype;
}

Tensor in_storage(const Tensor& value, Precision precision) {
  const DType dtype = storage_dtype(value.dtype(), precision);
  if (dtype == value.dtype()) return value;
  Tensor widened = Tensor::uninitialized(dtype, value.shape());
  for (int64_t i = 0; i < value.size(); ++i) widened.set_f64(i, value.get_f64(i));
  return widened;
}

void set_integer(Tensor& tensor, int64_t index, int64_t value) {
  is_float(tensor.dtype()) ? tensor.set_f64(index, static_cast<double>(value))
                           : tensor.set_i64(index, value);
}

void evaluate_creation(const NodeInputs& inputs, Tensor& result) {
  const Node& node = inputs.node;
  const OpInfo& info = op_info(node.op);
  if (node.op == Op::size) {
    return set_integer(result, 0, evaluate(sizes_attr(info, node.attrs, "value"), inputs.sizes)[0]);
  }
  INGOT_CHECK(node.op == Op::iota, "{} is evaluated elsewhere", info.name);
  const auto& shape = result.shape();
  int64_t dim = integer_attr(info, node.attrs, "dim");
  if (dim < 0) dim += static_cast<int64_t>(shape.size());
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < shape.size(); ++d) inner *= shape[d];
  for (int64_t i = 0; i < result.size(); ++i) {
    set_integer(result, i, i / inner % shape[static_cast<size_t>(dim)]);
  }
}

Tensor evaluate_node(const Graph& graph, const NodeInputs& inputs, Precision precision) {
  const Node& node = inputs.node;
  Tensor result(storage_dtype(node.type.dtype, precision), evaluate(node.type.shape, inputs.sizes));
  switch (op_info(node.op).category) {
    case Category::elementwise:
      evaluate_elementwise(inputs, result);
      break;
    case Category::reduction:
      evaluate_reduction(inputs, graph[node.operands[0]].type.shape, result);
      break;
    case Category::movement:
      evaluate_movement(inputs, result);
      break;
    case Category::contraction:
      evaluate_contraction(inputs, result);
      break;
    case Category::scan:
      evaluate_scan(inputs, result);
      break;
    case Category::scatter:
      evaluate_scatter(inputs, result);
      break;
    case Category::creation:
      evaluate_creation(inputs, result);
      break;
    case Category::composite:
      fail_internal("evaluate", fmt::format("{} was not decomposed", op_name(node.op)));
  }
  return result;
}

void check_dtypes(const Graph& graph, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = graph[graph.inputs[i]];
    if (inputs[i].dtype() == node.type.dtype) continue;
    fail_input(node.location,
               fmt::format("{}: expected {}, got {}", node.name, dtype_name(node.type.dtype),
                           dtype_name(inputs[i].dtype())));
  }
}

// The last node that reads each value; outputs are read at the end.
std::vector<size_t> last_uses(const Graph& graph) {
  std::vector<size_t> last(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (NodeId id : graph.nodes[i].operands) last[static_cast<size_t>(id)] = i;
  }
  for (NodeId id : graph.outputs) last[static_cast<size_t>(id)] = graph.nodes.size();
  return last;
}

}  // namespace

std::vector<Tensor> evaluate(const Graph& source, const std::vector<Tensor>& inputs,
                             Precision precision) {
  const DefaultFloatEnvironment defaults;
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  bind_sizes(source, shapes);  // errors in the user's own terms, before anything is rewritten
  check_dtypes(source, inputs);
  const Graph graph = decompose(source);
  const Bindings sizes = bind_sizes(graph, shapes);
  const std::vector<size_t> last = last_uses(graph);
  std::vector<Tensor> values(graph.nodes.size());
  size_t next_input = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op == Op::input) {
      values[i] = in_storage(inputs[next_input++], precision);
      continue;
    }
    if (node.op == Op::constant) {
      values[i] = in_storage(*node.data, precision);
      continue;
    }
    NodeInputs node_inputs{node, {}, sizes};
    for (NodeId id : node.operands) {
      node_inputs.operands.push_back(&values[static_cast<size_t>(id)]);
    }
    values[i] = evaluate_node(graph, node_inputs, precision);
    for (NodeId id : node.operands) {
      if (last[static_cast<size_t>(id)] == i) values[static_cast<size_t>(id)] = Tensor();
    }
  }
  std::vector<Tensor> results;
  std::set<NodeId> given;  // tensors share their data when copied: each result gets its own
  for (NodeId id : graph.outputs) {
    const Tensor& value = values[static_cast<size_t>(id)];
    const bool made_here = op_info(graph[id].op).max_operands != 0 && given.insert(id).second;
    results.push_back(made_here ? value : own_copy(value));
  }
  return results;
}

}  // namespace ingot
