// GraphBuilder: inference as nodes are added, one name for sizes that have to be equal.
#include <utility>

#include "base/text.h"
#include "graph/graph.h"

namespace ingot {
namespace {

using SizeValues = std::map<std::string, Sym, std::less<>>;

bool uses_any(const Sym& size, const SizeValues& values) {
  if (size.constant()) return false;
  for (const std::string& name : size.variables()) {
    if (values.contains(name)) return true;
  }
  return false;
}

void substitute(Shape& shape, const SizeValues& values) {
  for (Sym& size : shape) {
    if (uses_any(size, values)) size = size.substitute(values);
  }
}

void substitute(Attrs& attrs, const SizeValues& values) {
  for (auto& [name, value] : attrs) {
    if (auto* sizes = std::get_if<Shape>(&value)) substitute(*sizes, values);
  }
}

// A name and what it has to be for left = right; nullopt where no name can be isolated.
std::optional<std::pair<std::string, Sym>> solve(
    const Sym& left, const Sym& right, const std::map<std::string, int, std::less<>>& order) {
  const Sym difference = left - right;
  std::optional<std::pair<std::string, Sym>> best;
  int best_order = -1;
  for (const std::string& name : difference.variables()) {
    const auto stride = difference.stride(name);
    const auto factor = stride ? stride->constant() : std::nullopt;
    if (!factor || *factor == 0) continue;
    const auto value = exact_div(Sym(0) - (difference - *stride * Sym::var(name)), Sym(*factor));
    if (!value || (value->constant() && *value->constant() < 0)) continue;
    // The size that was seen last gives way, so that the first name stays.
    const auto found = order.find(name);
    const int seen = found == order.end() ? static_cast<int>(order.size()) : found->second;
    if (seen > best_order) {
      best_order = seen;
      best = {name, *value};
    }
  }
  return best;
}

// `wanted`, with a suffix if it is taken. The last suffix is kept, so that this stays linear.
std::string unique_name(std::unordered_map<std::string, int>& taken, const std::string& wanted) {
  const auto [entry, is_free] = taken.try_emplace(wanted, 0);
  if (is_free) return wanted;
  int suffix = entry->second;
  std::string name;
  do {
    name = fmt::format("{}_{}", wanted, ++suffix);
  } while (taken.contains(name));
  entry->second = suffix;
  taken.emplace(name, 0);
  return name;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name) { graph_.name = std::move(name); }

NodeId GraphBuilder::append(Node node) {
  if (!node.name.empty()) node.name = unique_name(name_uses_, node.name);
  graph_.nodes.push_back(std::move(node));
  return static_cast<NodeId>(graph_.nodes.size() - 1);
}

NodeId GraphBuilder::input(std::string name, DType dtype, Shape shape, Location location) {
  if (name_uses_.contains(name)) {
    fail_input(location, fmt::format("input '{}' is defined twice", name));
  }
  substitute(shape, graph_.merged_sizes);
  for (const Sym& size : shape) {
    if (size.constant() && *size.constant() < 0) {
      fail_input(location, fmt::format("input '{}': {}{}: a size is negative", name,
                                       dtype_name(dtype), shape_text(shape)));
    }
    for (const std::string& variable : size.variables()) {
      size_order_.emplace(variable, static_cast<int>(size_order_.size()));
    }
  }
  Node node{};
  node.op = Op::input;
  node.type = {dtype, std::move(shape)};
  node.name = std::move(name);
  node.location = std::move(location);
  const NodeId id = append(std::move(node));
  graph_.inputs.push_back(id);
  return id;
}

NodeId GraphBuilder::constant(Tensor value, std::string name, Location location) {
  Node node{};
  node.op = Op::constant;
  node.name = std::move(name);
  node.type.dtype = value.dtype();
  for (int64_t size : value.shape()) node.type.shape.emplace_back(size);
  node.location = std::move(location);
  node.data = std::make_shared<const Tensor>(std::move(value));
  return append(std::move(node));
}

NodeId GraphBuilder::literal(DType dtype, double value, Location location) {
  Tensor tensor(dtype, {});
  tensor.set_f64(0, value);
  return constant(std::move(tensor), {}, std::move(location));
}

NodeId GraphBuilder::literal_i64(DType dtype, int64_t value, Location location) {
  Tensor tensor(dtype, {});
  tensor.set_i64(0, value);
  return constant(std::move(tensor), {}, std::move(location));
}

NodeId GraphBuilder::add(Op op, std::vector<NodeId> operands, Attrs attrs, std::string name,
                         Location location, int32_t source) {
  substitute(attrs, graph_.merged_sizes);
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (NodeId id : operands) {
    INGOT_CHECK(id >= 0 && static_cast<size_t>(id) < graph_.nodes.size(),
                "operand {} of {} is not a node", id, op_name(op));
    types.push_back(graph_[id].type);
  }
  std::vector<SizeEquality> equalities;
  Node node{};
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  try {
    node.type = infer_type(op, types, node.attrs, &equalities);
  } catch (const Error& error) {
    throw error.at(location);
  }
  node.name = std::move(name);
  node.location = std::move(location);
  node.source = source;
  const NodeId id = append(std::move(node));
  for (const SizeEquality& equality : equalities) {
    try {
      require_equal(equality.left, equality.right);
    } catch (const Error& error) {
      std::vector<std::string> shapes;
      for (const TensorType& type : types) {
        shapes.push_back(type_text(type));
      }
      throw Error(error.kind(),
                  fmt::format("{}: {}: {}", op_name(op), join(shapes, ", "), error.message()),
                  graph_[id].location);
    }
  }
  return id;
}

void GraphBuilder::output(NodeId id, std::string name) {
  INGOT_CHECK(id >= 0 && static_cast<size_t>(id) < graph_.nodes.size(), "output {} is not a node",
              id);
  graph_.outputs.push_back(id);
  graph_.output_names.push_back(std::move(name));
}

void GraphBuilder::require_equal(const Sym& left, const Sym& right, const Location& location) {
  const Sym a = left.substitute(graph_.merged_sizes);
  const Sym b = right.substitute(graph_.merged_sizes);
  if (a == b) return;
  if (const auto solution = solve(a, b, size_order_)) {
    replace_size(solution->first, solution->second, location);
    return;
  }
  if ((a - b).constant()) {
    fail_input(location, fmt::format("sizes {} and {} differ", a.text(), b.text()));
  }
  fail_input(location,
             fmt::format("sizes {} and {} have to be equal, but neither follows from the other",
                         a.text(), b.text()));
}

// Rewrites every node: rare (at most once a name), and every reader sees one name at any time.
void GraphBuilder::replace_size(const std::string& name, const Sym& value,
                                const Location& location) {
  const SizeValues change{{name, value}};
  for (auto& [other, replacement] : graph_.merged_sizes) {
    if (replacement.uses(name)) replacement = replacement.substitute(change);
  }
  graph_.merged_sizes.emplace(name, value);
  for (Node& node : graph_.nodes) {
    substitute(node.type.shape, change);
    substitute(node.attrs, change);
    for (const Sym& size : node.type.shape) {
      if (size.constant() && *size.constant() < 0) {
        fail_input(location, fmt::format("size {} = {} makes a shape negative: {}", name,
                                         value.text(), shape_text(node.type.shape)));
      }
    }
  }
}

NodeId GraphBuilder::copy(const Node& node, std::vector<NodeId> operands) {
  Node copied = node;
  copied.operands = std::move(operands);
  substitute(copied.type.shape, graph_.merged_sizes);
  substitute(copied.attrs, graph_.merged_sizes);
  if (node.op == Op::input) {
    for (const Sym& size : copied.type.shape) {
      for (const std::string& variable : size.variables()) {
        size_order_.emplace(variable, static_cast<int>(size_order_.size()));
      }
    }
    graph_.inputs.push_back(static_cast<NodeId>(graph_.nodes.size()));
  }
  return append(std::move(copied));
}

Graph GraphBuilder::take() {
  for (Node& node : graph_.nodes) {
    for (const auto& [attr, value] : node.attrs) {
      const auto* sizes = std::get_if<Shape>(&value);
      if (sizes == nullptr) continue;
      for (const Sym& size : *sizes) {
        if (size.constant()) continue;
        for (const std::string& name : size.variables()) {
          if (size_order_.contains(name)) continue;
          fail_input(node.location, fmt::format("{}: {}: size {} is not a size of any input",
                                                op_name(node.op), attr, quoted_name(name)));
        }
      }
    }
    if (!node.name.empty()) continue;
    const bool is_literal = node.op == Op::constant && node.type.shape.empty();
    node.name = unique_name(name_uses_, is_literal ? "literal" : std::string(op_name(node.op)));
  }
  std::unordered_map<std::string, int> used;
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    std::string& name = graph_.output_names[i];
    if (name.empty()) name = graph_[graph_.outputs[i]].name;
    name = unique_name(used, name);
  }
  return std::move(graph_);
}

}  // namespace ingot
