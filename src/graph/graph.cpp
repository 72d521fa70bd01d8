// What every reader of a graph asks: is it valid, which sizes has it, who uses a node.
#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "graph/graph.h"

namespace ingot {
namespace {

std::string concrete_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void verify_constant(const Node& node, std::string_view where) {
  if (node.data == nullptr) fail_internal(where, fmt::format("constant {} has no data", node.name));
  Shape shape(node.data->shape().begin(), node.data->shape().end());
  if (node.data->dtype() != node.type.dtype || shape != node.type.shape) {
    fail_internal(where, fmt::format("constant {}: type {}, data {}", node.name,
                                     type_text(node.type), type_text({node.data->dtype(), shape})));
  }
}

void verify_type(const Graph& graph, const Node& node, std::string_view where) {
  std::vector<TensorType> operands;
  for (NodeId id : node.operands) operands.push_back(graph[id].type);
  TensorType type{};
  try {
    type = infer_type(node.op, operands, node.attrs, nullptr);
  } catch (const Error& error) {
    fail_internal(where, fmt::format("node {}: {}", node.name, error.message()));
  }
  if (!(type == node.type)) {
    fail_internal(where, fmt::format("node {} = {}: type {}, inferred {}", node.name,
                                     op_name(node.op), type_text(node.type), type_text(type)));
  }
}

// The one size that is still unknown in `size`, if it follows from size = given.
std::optional<std::pair<std::string, int64_t>> solve_size(const Sym& size, int64_t given,
                                                          const Bindings& known) {
  std::map<std::string, Sym, std::less<>> values;
  for (const auto& [name, value] : known) values.emplace(name, Sym(value));
  const Sym rest = size.substitute(values);
  const std::set<std::string> unknown = rest.variables();
  if (unknown.size() != 1) return std::nullopt;
  const std::string& name = *unknown.begin();
  const auto stride = rest.stride(name);
  const auto factor = stride ? stride->constant() : std::nullopt;
  if (!factor || *factor == 0) return std::nullopt;
  const int64_t value = given - rest.constant_part();
  if (value % *factor != 0 || value / *factor < 0) return std::nullopt;
  return std::pair{name, value / *factor};
}

}  // namespace

void verify(const Graph& graph, std::string_view where) {
  std::unordered_set<std::string_view> names;
  size_t inputs = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.name.empty() || !names.insert(node.name).second) {
      fail_internal(where, fmt::format("node {}: name '{}' is empty or taken", i, node.name));
    }
    for (NodeId operand : node.operands) {
      if (operand < 0 || static_cast<size_t>(operand) >= i) {
        fail_internal(where,
                      fmt::format("node {}: operand {} is not before it", node.name, operand));
      }
    }
    if (node.op == Op::input) {
      if (inputs >= graph.inputs.size() || graph.inputs[inputs++] != static_cast<NodeId>(i)) {
        fail_internal(where, fmt::format("input {} is not in the signature", node.name));
      }
    } else if (node.op == Op::constant) {
      verify_constant(node, where);
    } else {
      verify_type(graph, node, where);
    }
  }
  if (inputs != graph.inputs.size()) fail_internal(where, "the signature names what is no input");
  if (graph.outputs.size() != graph.output_names.size()) {
    fail_internal(where, "as many output names as outputs are needed");
  }
  for (NodeId id : graph.outputs) {
    if (id < 0 || static_cast<size_t>(id) >= graph.nodes.size()) {
      fail_internal(where, fmt::format("output {} is not a node", id));
    }
  }
}

std::vector<std::string> size_names(const Graph& graph) {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (NodeId id : graph.inputs) {
    for (const Sym& size : graph[id].type.shape) {
      for (const std::string& name : size.variables()) {
        if (seen.insert(name).second) names.push_back(name);
      }
    }
  }
  return names;
}

std::vector<std::vector<NodeId>> consumers(const Graph& graph) {
  std::vector<std::vector<NodeId>> result(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id = static_cast<NodeId>(i);
    for (NodeId operand : graph.nodes[i].operands) {
      std::vector<NodeId>& users = result[static_cast<size_t>(operand)];
      // A node that uses a value twice is one consumer.
      if (users.empty() || users.back() != id) users.push_back(id);
    }
  }
  return result;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (NodeId id : graph.outputs) live[static_cast<size_t>(id)] = true;
  for (NodeId id : graph.inputs) live[static_cast<size_t>(id)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (NodeId operand : graph.nodes[i].operands) live[static_cast<size_t>(operand)] = true;
  }
  return live;
}

std::optional<double> literal_value(const Node& node) {
  if (node.op != Op::constant || node.data == nullptr || node.data->size() != 1) {
    return std::nullopt;
  }
  return node.data->get_f64(0);
}

std::vector<int64_t> evaluate(const Shape& shape, const Bindings& bindings) {
  std::vector<int64_t> sizes;
  sizes.reserve(shape.size());
  for (const Sym& size : shape) {
    sizes.push_back(size.constant() ? *size.constant() : size.evaluate(bindings));
  }
  return sizes;
}

namespace {

// Bare names first, then expressions with one unknown, until nothing new follows.
Bindings solve_sizes(const Graph& graph, const std::vector<std::vector<int64_t>>& input_shapes) {
  Bindings bindings;
  std::vector<std::pair<Sym, int64_t>> expressions;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = graph[graph.inputs[i]].type.shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (const auto name = shape[d].variable()) {
        bindings.emplace(*name, input_shapes[i][d]);
      } else if (!shape[d].constant()) {
        expressions.emplace_back(shape[d], input_shapes[i][d]);
      }
    }
  }
  for (bool found = true; found;) {
    found = false;
    for (const auto& [size, given] : expressions) {
      if (const auto solution = solve_size(size, given, bindings)) {
        found |= bindings.emplace(solution->first, solution->second).second;
      }
    }
  }
  return bindings;
}

void check_input(const Node& input, const std::vector<int64_t>& given, const Bindings& bindings) {
  for (size_t d = 0; d < given.size(); ++d) {
    const Sym& size = input.type.shape[d];
    for (const std::string& name : size.variables()) {
      if (bindings.contains(name)) continue;
      fail_input(input.location,
                 fmt::format("{}: expected {}, got {}: {} does not follow from the inputs' shapes",
                             input.name, shape_text(input.type.shape), concrete_text(given), name));
    }
    const int64_t expected = size.evaluate(bindings);
    if (expected == given[d]) continue;
    std::string message = fmt::format("{}: expected {}, got {}", input.name,
                                      shape_text(input.type.shape), concrete_text(given));
    if (!size.constant()) {
      message += fmt::format(": {} is {} by the other sizes", size.text(), expected);
    }
    fail_input(input.location, std::move(message));
  }
}

// The sizes of a node's shape; where one overflows, the error says of which node.
std::vector<int64_t> sizes_of(const Node& node, const Bindings& bindings) {
  try {
    return evaluate(node.type.shape, bindings);
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("{}: {}: {}", node.name, type_text(node.type), error.message()),
                node.location);
  }
}

// A shape that a size makes negative, or whose byte count no int64 holds, is the caller's error.
void check_bytes(const Node& node, const Bindings& bindings) {
  int64_t bytes = byte_size(node.type.dtype);
  bool is_empty = false;
  const std::vector<int64_t> sizes = sizes_of(node, bindings);
  for (const int64_t size : sizes) {
    if (size < 0) {
      fail_input(node.location, fmt::format("{}: {} is {} at the given sizes: a size is negative",
                                            node.name, type_text(node.type), concrete_text(sizes)));
    }
    is_empty |= size == 0;
    if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes) && !is_empty) {
      fail_input(node.location,
                 fmt::format("{}: {}{} takes more bytes than 64 bits can count", node.name,
                             dtype_name(node.type.dtype), concrete_text(sizes)));
    }
  }
}

bool is_topk(Op op) { return op == Op::topk || op == Op::topk_indices; }

[[noreturn]] void fail_topk(const Location& location, const std::string& name, int64_t k,
                            int64_t count) {
  fail_input(location, fmt::format("topk '{}': k={} of {}", name, k, counted(count, "element")));
}

void check_topk(const Graph& graph, const Node& node, const Bindings& bindings) {
  const Shape& shape = graph[node.operands[0]].type.shape;
  const OpInfo& info = op_info(node.op);
  const int64_t k = integer_attr(info, node.attrs, "k"),
                dim = integer_attr(info, node.attrs, "dim");
  const int64_t count =
      shape[static_cast<size_t>(dim < 0 ? dim + std::ssize(shape) : dim)].evaluate(bindings);
  if (count < k) fail_topk(node.location, node.name, k, count);
}

// What topk's definition has in the place of it: the smaller of the count and k.
void check_part_of_topk(const Graph& graph, const Node& node, const Bindings& bindings) {
  if (node.op != Op::minimum || node.source < 0) return;
  const SourceOp& source = graph.sources[static_cast<size_t>(node.source)];
  const Node& first = graph[node.operands[0]];
  if (!is_topk(source.op) || first.op != Op::size) return;
  const std::optional<double> k = literal_value(graph[node.operands[1]]);
  const int64_t count = sizes_attr(op_info(Op::size), first.attrs, "value")[0].evaluate(bindings);
  if (k && static_cast<double>(count) < *k) {
    fail_topk(node.location, source.name, static_cast<int64_t>(*k), count);
  }
}

// Inference takes it that constant bounds lie inside a named size; here the size is known.
void check_slice(const Graph& graph, const Node& node, const Bindings& bindings) {
  const Shape& shape = graph[node.operands[0]].type.shape;
  std::vector<SliceRange> ranges = slice_ranges(shape, node.attrs);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].constant()) continue;
    int64_t size = shape[d].evaluate(bindings), count = ranges[d].size.evaluate(bindings);
    int64_t first = ranges[d].start.evaluate(bindings);
    int64_t last = first + (count - 1) * ranges[d].step.evaluate(bindings);
    if (count <= 0 || (std::min(first, last) >= 0 && std::max(first, last) < size)) continue;
    fail_input(node.location,
               fmt::format("slice '{}': elements {} to {} of dimension {}, which has {} = {}",
                           node.name, first, last, d, shape[d].text(), size));
  }
}

}  // namespace

Bindings bind_sizes(const Graph& graph, const std::vector<std::vector<int64_t>>& input_shapes) {
  if (input_shapes.size() != graph.inputs.size()) {
    fail_input({}, fmt::format("{}: expected {} inputs, got {}", graph.name, graph.inputs.size(),
                               input_shapes.size()));
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Node& input = graph[graph.inputs[i]];
    const bool is_negative = std::ranges::any_of(input_shapes[i], [](int64_t n) { return n < 0; });
    if (input_shapes[i].size() == input.type.shape.size() && !is_negative) continue;
    fail_input(input.location,
               fmt::format("{}: expected {}, got {}", input.name, shape_text(input.type.shape),
                           concrete_text(input_shapes[i])));
  }
  Bindings bindings = solve_sizes(graph, input_shapes);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    check_input(graph[graph.inputs[i]], input_shapes[i], bindings);
  }
  const std::vector<bool> live = live_nodes(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    const Node& node = graph.nodes[i];
    check_bytes(node, bindings);
    if (node.op == Op::slice) check_slice(graph, node, bindings);
    if (is_topk(node.op)) check_topk(graph, node, bindings);
    check_part_of_topk(graph, node, bindings);
  }
  return bindings;
}

}  // namespace ingot
