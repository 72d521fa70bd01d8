#include <algorithm>

#include "base/error.h"
#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

Sym bytes_of(const TensorType& type) {
  return element_count(type.shape) * Sym(byte_size(type.dtype));
}

// Of an operand, the distinct elements; of a table, the rows that are picked.
Sym bytes_read(const Graph& graph, const Node& node, size_t operand) {
  const Node* read = &graph[node.operands[operand]];
  const bool picked = operand == 0 && (op_info(node.op).flags & OpFlag::ids) != 0;
  if (picked) return element_count(node.type.shape) * Sym(byte_size(read->type.dtype));
  while (read->op == Op::broadcast) read = &graph[read->operands[0]];
  return bytes_of(read->type);
}

Sym bytes_alone(const Graph& graph, const Node& node) {
  if ((op_info(node.op).flags & OpFlag::view) != 0) return Sym(0);
  Sym bytes = bytes_of(node.type);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const auto before = node.operands.begin() + static_cast<std::ptrdiff_t>(i);
    const bool again = std::find(node.operands.begin(), before, *before) != before;
    if (!again && !literal_value(graph[*before])) bytes = bytes + bytes_read(graph, node, i);
  }
  return bytes;
}

SourceOp source_op(const Graph& graph, const Node& node) {
  SourceOp source{node.name, node.op, {}, {}, node.type, bytes_alone(graph, node), ""};
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Node& operand = graph[node.operands[i]];
    source.operands.push_back(operand.name);
    if (literal_value(operand)) source.literal_operands.push_back(static_cast<int64_t>(i));
  }
  return source;
}

}  // namespace

Graph mark_sources(const Graph& graph) {
  Graph marked = without_dead_nodes(graph);
  marked.sources.clear();
  for (Node& node : marked.nodes) {
    if (node.op == Op::input || node.op == Op::constant) continue;
    node.source = static_cast<int32_t>(marked.sources.size());
    try {
      marked.sources.push_back(source_op(marked, node));
    } catch (const Error& error) {  // more bytes than a number holds
      throw error.at(node.location);
    }
  }
  return marked;
}

}  // namespace ingot
