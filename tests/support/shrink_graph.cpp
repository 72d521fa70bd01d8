#include <algorithm>
#include <optional>

#include "base/error.h"
#include "support/random_graphs.h"

namespace ingot::testing {
namespace {

// The graph with `replaced` as an input (or as its operand number `operand`) and the given outputs.
Graph rebuild(const Graph& graph, NodeId replaced, int operand,
              const std::vector<NodeId>& outputs) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (NodeId id : outputs) needed[static_cast<size_t>(id)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes[i];
    if (static_cast<NodeId>(i) == replaced) {
      if (operand >= 0)
        needed[static_cast<size_t>(node.operands[static_cast<size_t>(operand)])] = true;
      continue;
    }
    for (NodeId o : node.operands) needed[static_cast<size_t>(o)] = true;
  }
  GraphBuilder builder(graph.name);
  std::vector<NodeId> map(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes[i];
    if (static_cast<NodeId>(i) == replaced) {
      map[i] = operand >= 0 ? map[static_cast<size_t>(node.operands[static_cast<size_t>(operand)])]
                            : builder.input(node.name, node.type.dtype, node.type.shape);
      continue;
    }
    if (node.op == Op::input) {
      map[i] = builder.input(node.name, node.type.dtype, node.type.shape);
      continue;
    }
    std::vector<NodeId> operands;
    for (NodeId o : node.operands) operands.push_back(map[static_cast<size_t>(o)]);
    map[i] = builder.copy(node, operands);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    builder.output(map[static_cast<size_t>(outputs[i])], fmt::format("out{}", i));
  }
  return builder.take();
}

// A change that gives no valid program, or makes it an error, is not taken.
template <class Change>
std::optional<Graph> taken(const Change& change, const std::function<bool(const Graph&)>& fails) {
  try {
    Graph candidate = change();
    if (fails(candidate)) return candidate;
  } catch (const Error&) {
  }
  return std::nullopt;
}

std::optional<Graph> fewer_outputs(const Graph& graph,
                                   const std::function<bool(const Graph&)>& fails) {
  if (graph.outputs.size() == 1) return std::nullopt;
  for (NodeId output : graph.outputs) {
    auto smaller = taken([&] { return rebuild(graph, -1, -1, {output}); }, fails);
    if (smaller) return smaller;
  }
  for (size_t i = 0; graph.outputs.size() > 2 && i < graph.outputs.size(); ++i) {
    std::vector<NodeId> rest = graph.outputs;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    auto smaller = taken([&] { return rebuild(graph, -1, -1, rest); }, fails);
    if (smaller) return smaller;
  }
  return std::nullopt;
}

std::optional<Graph> smaller(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  if (auto found = fewer_outputs(graph, fails)) return found;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (node.op == Op::input) continue;
    NodeId id = static_cast<NodeId>(i);
    for (size_t o = 0; o < node.operands.size(); ++o) {
      if (!(graph[node.operands[o]].type == node.type)) continue;
      int operand = static_cast<int>(o);
      auto found = taken([&] { return rebuild(graph, id, operand, graph.outputs); }, fails);
      if (found) return found;
    }
    if (node.op == Op::constant) continue;
    bool is_output =
        std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
    if (is_output) continue;
    auto candidate = [&] {
      Graph rebuilt = rebuild(graph, id, -1, graph.outputs);
      if (rebuilt.nodes.size() >= graph.nodes.size()) fail_input({}, "not smaller");
      return rebuilt;
    };
    if (auto found = taken(candidate, fails)) return found;
  }
  return std::nullopt;
}

}  // namespace

Graph shrink(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  Graph current = graph;
  while (std::optional<Graph> next = smaller(current, fails)) current = std::move(*next);
  return current;
}

}  // namespace ingot::testing
