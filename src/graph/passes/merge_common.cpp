#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{:a}", value); }  // -0 ≠ 0
  std::string operator()(const std::string& value) const { return '"' + value + '"'; }
  std::string operator()(DType value) const { return std::string(dtype_name(value)); }
  std::string operator()(const std::vector<Sym>& value) const { return shape_text(value); }
};

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes())};
}

// Equal keys: equal values. A constant's key has the hash of its data, which is compared after.
std::string key_of(const Node& node, std::vector<NodeId> operands) {
  if ((op_info(node.op).flags & OpFlag::commutative) != 0) std::ranges::sort(operands);
  std::string key(op_name(node.op));
  key += ' ';
  key += dtype_name(node.type.dtype);
  key += shape_text(node.type.shape);
  for (NodeId operand : operands) key += ' ' + std::to_string(operand);
  for (const auto& [name, value] : node.attrs) {
    key += fmt::format(" {}={}", name, std::visit(ValueText{}, value));
  }
  if (node.data) {
    key += fmt::format(" data={}", std::hash<std::string_view>{}(bytes_of(*node.data)));
  }
  return key;
}

bool same_data(const Node& a, const Node& b) {
  if (!a.data || a.data == b.data) return true;
  return bytes_of(*a.data) == bytes_of(*b.data);
}

}  // namespace

Graph merge_common(const Graph& graph) {
  std::unordered_map<std::string, NodeId> seen;
  return rebuild(graph, [&](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
    if (node.op == Op::input) return builder.copy(node, {});
    std::string key = key_of(node, operands);
    if (auto found = seen.find(key);
        found != seen.end() && same_data(node, builder[found->second])) {
      return found->second;
    }
    NodeId id = builder.copy(node, std::move(operands));
    seen.emplace(std::move(key), id);
    return id;
  });
}

}  // namespace ingot
