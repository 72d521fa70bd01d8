#include <algorithm>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

constexpr int64_t size_limit = int64_t{16} << 20;

std::optional<int64_t> constant_bytes(const TensorType& type) {
  int64_t bytes = byte_size(type.dtype);
  for (const Sym& size : type.shape) {
    std::optional<int64_t> value = size.constant();
    if (!value || __builtin_mul_overflow(bytes, *value, &bytes)) return std::nullopt;
  }
  return bytes;
}

bool is_empty(const Node& node) { return constant_bytes(node.type) == 0; }

// An input without elements holds nothing that has to be waited for.
bool is_known(const Node& node) { return node.op == Op::constant || is_empty(node); }

bool may_fold(const GraphBuilder& builder, const Node& node, const std::vector<NodeId>& operands) {
  Category category = op_info(node.op).category;
  if (node.op == Op::input || node.op == Op::constant) return false;
  if (is_empty(node)) return true;
  // A product's bits are the library's. A node without operands (iota) is cheaper than its data.
  if (operands.empty() || category == Category::contraction) return false;
  int64_t operand_bytes = 0;
  for (NodeId id : operands) {
    if (!is_known(builder[id])) return false;
    if (builder[id].data) operand_bytes = std::max(operand_bytes, builder[id].data->bytes());
  }
  std::optional<int64_t> bytes = constant_bytes(node.type);
  if (!bytes) return false;
  // A broadcast is only an index map: its data would have to be read, the operand's need not.
  if (node.op == Op::broadcast) return *bytes <= operand_bytes;
  return *bytes <= std::max(size_limit, operand_bytes);
}

Tensor without_elements(const TensorType& type) { return {type.dtype, evaluate(type.shape, {})}; }

// The node alone, as a graph of constants.
Tensor evaluate_node(const GraphBuilder& builder, const Node& node,
                     const std::vector<NodeId>& operands) {
  GraphBuilder alone(node.name);
  std::vector<NodeId> copies;
  for (NodeId id : operands) {
    const Node& operand = builder[id];
    copies.push_back(operand.data ? alone.copy(operand, {})
                                  : alone.constant(without_elements(operand.type)));
  }
  alone.output(alone.copy(node, copies));
  return evaluate(alone.take(), {}, Precision::per_op).front();
}

}  // namespace

bool has_known_values(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (node.op != Op::input && is_empty(node)) return true;
    return !node.operands.empty() &&
           std::ranges::all_of(node.operands, [&](NodeId id) { return is_known(graph[id]); });
  });
}

Graph fold_constants(const Graph& graph) {
  return rebuild(graph, [](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
    if (!may_fold(builder, node, operands)) return builder.copy(node, std::move(operands));
    if (is_empty(node)) {
      return builder.constant(without_elements(node.type), node.name, node.location);
    }
    try {
      return builder.constant(evaluate_node(builder, node, operands), node.name, node.location);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      return builder.copy(node, std::move(operands));  // an index out of range: said at run time
    }
  });
}

}  // namespace ingot
