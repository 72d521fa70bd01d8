// Graph → text. parse_graph.cpp reads it back.
#include <algorithm>

#include "base/text.h"
#include "graph/constant_text.h"
#include "graph/graph.h"
#include "graph/graph_text.h"

namespace ingot {
namespace {

// Words that mean something else where a value's name may stand.
std::string value_name(std::string_view name) {
  for (const std::string_view word : {"true", "false", "inf", "nan", "return"}) {
    if (name == word) return fmt::format("`{}`", name);
  }
  return quoted_name(name);
}

// "literal", "literal_3": named by the builder, not by the user.
bool has_literal_name(std::string_view name) {
  constexpr std::string_view derived = "literal";
  if (!name.starts_with(derived)) return false;
  name.remove_prefix(derived.size());
  if (name.empty()) return true;
  if (name[0] != '_' || name.size() < 2) return false;
  return std::ranges::all_of(name.substr(1), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<DType> number_dtype(const Graph& graph, const Node& node,
                                  const std::vector<bool>& written_as_number, size_t position) {
  std::vector<std::optional<DType>> dtypes;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const bool is_number = written_as_number[static_cast<size_t>(node.operands[i])];
    dtypes.push_back(is_number ? std::nullopt : std::optional(graph[node.operands[i]].type.dtype));
  }
  return number_operand_dtype(node.op, dtypes, position);
}

// Literals that are written as numbers at every use.
std::vector<bool> literals_as_numbers(const Graph& graph) {
  std::vector<bool> as_number(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    as_number[i] = node.op == Op::constant && node.type.shape.empty() &&
                   has_literal_name(node.name) && !literal_text(*node.data).empty();
  }
  for (NodeId id : graph.outputs) as_number[static_cast<size_t>(id)] = false;
  // One use that cannot take a number makes the literal a line of its own, which may help others.
  for (const Node& node : graph.nodes) {
    for (size_t k = 0; k < node.operands.size(); ++k) {
      const size_t operand = static_cast<size_t>(node.operands[k]);
      if (!as_number[operand]) continue;
      if (number_dtype(graph, node, as_number, k) != graph.nodes[operand].type.dtype) {
        as_number[operand] = false;
      }
    }
  }
  return as_number;
}

std::string node_text(const Graph& graph, const Node& node, const std::vector<bool>& as_number) {
  if (node.op == Op::constant) {
    return fmt::format("{} = constant({})", value_name(node.name), constant_text(*node.data));
  }
  std::vector<std::string> parts;
  for (NodeId id : node.operands) {
    const Node& operand = graph[id];
    parts.push_back(as_number[static_cast<size_t>(id)] ? literal_text(*operand.data)
                                                       : value_name(operand.name));
  }
  for (const auto& [name, value] : node.attrs) {
    parts.push_back(fmt::format("{}={}", name, attr_text(value)));
  }
  return fmt::format("{} = {}({})", value_name(node.name), op_name(node.op), join(parts, ", "));
}

}  // namespace

std::string attr_text(const AttrValue& value) {
  struct Printer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t integer) const { return fmt::format("{}", integer); }
    std::string operator()(double real) const { return number_text(real); }
    std::string operator()(const std::string& text) const { return quoted_string(text); }
    std::string operator()(DType dtype) const { return std::string(dtype_name(dtype)); }
    std::string operator()(const Shape& sizes) const { return shape_text(sizes); }
  };
  return std::visit(Printer{}, value);
}

std::string print(const Graph& graph) {
  std::vector<std::string> inputs;
  for (NodeId id : graph.inputs) {
    const Node& node = graph[id];
    inputs.push_back(fmt::format("{}: {}{}", value_name(node.name), dtype_name(node.type.dtype),
                                 shape_text(node.type.shape)));
  }
  Writer writer;
  writer.open(fmt::format("graph {}({}) {{", quoted_name(graph.name), join(inputs, ", ")));
  const std::vector<bool> as_number = literals_as_numbers(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op != Op::input && !as_number[i]) writer.line(node_text(graph, node, as_number));
  }
  std::vector<std::string> outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph[graph.outputs[i]].name;
    const std::string& output = graph.output_names[i];
    outputs.push_back(output == name ? value_name(name)
                                     : fmt::format("{}={}", value_name(output), value_name(name)));
  }
  writer.line(fmt::format("return {}", join(outputs, ", ")));
  writer.close();
  return writer.take();
}

}  // namespace ingot
