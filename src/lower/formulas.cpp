// Values that are computed otherwise than op by op: contracted, or as a polynomial.
#include <algorithm>
#include <cmath>

#include "lower/values.h"
#include "op/apply.h"
#include "plan/domain.h"

namespace ingot::lowering {

namespace {

constexpr size_t most_seen = 256;  // nodes on the way back from a value
constexpr int most_steps = 4;      // from a value to a root of it

// Whether the op has no value for a negative operand `at`, but for a positive one: roots,
// logarithms, powers with a broken exponent. The other operands are literals.
bool is_root(const Graph& graph, const Node& node, size_t at) {
  const Formula<double> of = formula<double>(node.op);
  if (of == nullptr || node.operands.size() > 3) return false;
  double below[3] = {}, above[3] = {};
  for (size_t k = 0; k < node.operands.size(); ++k) {
    if (k != at && !is_literal(graph, node.operands[k])) return false;
    const double other = k == at ? 1 : graph[node.operands[k]].data->get_f64(0);
    below[k] = k == at ? -other : other;
    above[k] = other;
  }
  return std::isnan(of(below[0], below[1], below[2], 0, 0, 0)) &&
         !std::isnan(of(above[0], above[1], above[2], 0, 0, 0));
}

// Whether one of `nodes` takes a root or logarithm of the value, as it is or after a few
// elementwise steps, as where it is scaled: then what cancels has to be 0 and nothing below it, and
// so rounds its product.
bool takes_root(const Graph& graph, const std::vector<NodeId>& nodes, NodeId value, int steps) {
  return std::ranges::any_of(nodes, [&](NodeId id) {
    const Node& node = graph[id];
    const auto found = std::ranges::find(node.operands, value);
    if (found == node.operands.end()) return false;
    const bool elementwise = op_info(node.op).category == Category::elementwise;
    if (elementwise && is_root(graph, node, static_cast<size_t>(found - node.operands.begin()))) {
      return true;
    }
    const bool goes_on = steps > 1 && (elementwise || is_view(graph, id));
    return goes_on && takes_root(graph, nodes, id, steps - 1);
  });
}

// Whether the value is made of the rounded product, as a maximum that is taken off it: what cancels
// then has to be 0. A sum is no element, so nothing cancels to 0 there. Graphs are in topological
// order; a long way back counts as yes.
bool made_of(const Graph& graph, NodeId value, NodeId product) {
  std::vector<NodeId> open{value};
  std::set<NodeId> seen;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == product || seen.size() > most_seen) return true;
    const bool sum = is_reduction(graph, id) && std::isfinite(op_info(graph[id].op).identity);
    if (id < product || sum || !seen.insert(id).second) continue;
    const std::vector<NodeId>& operands = graph[id].operands;
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return false;
}

// Whether the values are made of reductions' results and constants alone, as E[x²] and E[x]² are:
// computed once for many elements, and likely to cancel.
bool made_of_reductions(const Graph& graph, std::vector<NodeId> open) {
  std::set<NodeId> seen;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (is_reduction(graph, id) || graph[id].op == Op::constant) continue;
    const bool passes =
        op_info(graph[id].op).category == Category::elementwise || is_view(graph, id);
    if (!passes || graph[id].operands.empty() || seen.size() > most_seen) return false;
    if (!seen.insert(id).second) continue;
    const std::vector<NodeId>& operands = graph[id].operands;
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return true;
}

}  // namespace

// A product of f32 values that this kernel computes for whoever asks.
bool Values::is_product(NodeId node) const {
  const bool here = std::ranges::binary_search(group_.nodes, node) && !is_buffer(node) &&
                    !values_.contains(node) && !elements_.contains(node) &&
                    !group_.narrowings.contains(node);
  return here && graph_[node].op == Op::mul && kept_dtype(node) == DType::f32;
}

// a·b + c, a·b − c or c − a·b with one rounding: a GPU's, where the mode allows it.
std::optional<Typed> Values::contracted(NodeId node, const std::vector<Sym>& index,
                                        const Context& context) {
  const Node& n = graph_[node];
  const bool sum = n.op == Op::add || n.op == Op::sub;
  if (!gpu_ || numerics_ == Numerics::exact || !sum || kept_dtype(node) != DType::f32) return {};
  const size_t at = is_product(n.operands[0]) ? 0 : 1;
  if (!is_product(n.operands[at])) return {};
  if (takes_root(graph_, group_.nodes, node, most_steps) ||
      made_of(graph_, n.operands[1 - at], n.operands[at]) || made_of_reductions(graph_, {node})) {
    return {};
  }
  auto operand = [&](NodeId of, size_t i, const std::vector<Sym>& where) {
    Access access = operand_access(graph_, of, static_cast<int>(i), where, domain_ranges_);
    return value(graph_[of].operands[i], access.index, context);
  };
  auto negative = [&](const Typed& x) -> Typed {
    if (const auto* literal = std::get_if<loop::Literal>(&x.operand)) {
      return {loop::Literal{-literal->real, -literal->integer}, DType::f32};
    }
    return {computed(Op::neg, {x}, DType::f32, std::get<std::string>(x.operand)), DType::f32};
  };
  const std::vector<Sym> inner =
      operand_access(graph_, node, static_cast<int>(at), index, domain_ranges_).index;
  Typed a = operand(n.operands[at], 0, inner), b = operand(n.operands[at], 1, inner);
  Typed c = operand(node, 1 - at, index);
  if (n.op == Op::sub) (at == 0 ? c : a) = negative(at == 0 ? c : a);
  return Typed{computed(Op::fma, {a, b, c}, DType::f32, n.name), DType::f32};
}

std::string Values::computed(Op op, const std::vector<Typed>& operands, DType dtype,
                             const std::string& wanted, Form form) {
  loop::Let let;
  std::set<std::string> needs;
  for (const Typed& operand : operands) {
    if (const auto* name = std::get_if<std::string>(&operand.operand)) needs.insert(*name);
    let.operands.push_back(operand.operand);
    let.operand_dtypes.push_back(operand.dtype);
  }
  let.op = op;
  let.form = form;
  let.dtype = dtype;
  let.name = unique(wanted);
  const std::string name = let.name;
  place(std::move(let), name, dtype, needs);
  return name;
}

// By Horner's rule.
Typed Values::polynomial(NodeId node, const Narrowing& narrowing, const std::vector<Sym>& index,
                         const Context& context) {
  const Typed x = value(narrowing.operand, index, context);
  std::set<std::string> needs;
  if (const auto* name = std::get_if<std::string>(&x.operand)) needs.insert(*name);
  Typed sum{loop::Literal{narrowing.polynomial[0]}, DType::f32};
  for (size_t i = 1; i < narrowing.polynomial.size(); ++i) {
    loop::Let let;
    let.name = unique(graph_[node].name);
    let.dtype = DType::f32;
    let.op = Op::fma;
    let.operands = {sum.operand, x.operand, loop::Literal{narrowing.polynomial[i]}};
    let.operand_dtypes.assign(3, DType::f32);
    const std::string name = let.name;
    sum = place(std::move(let), name, DType::f32, needs);
    needs.insert(name);
  }
  return sum;
}

}  // namespace ingot::lowering
