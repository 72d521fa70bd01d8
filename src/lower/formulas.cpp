// Values that are computed otherwise than op by op: contracted, or as a polynomial.
#include <algorithm>
#include <cmath>

#include "lower/values.h"
#include "op/apply.h"
#include "plan/domain.h"

namespace ingot::lowering {

constexpr size_t most_seen = 256;  // nodes on the way back from a value

// A product of f32 values that this kernel computes for whoever asks.
bool Values::is_product(NodeId node) const {
  const bool here = std::ranges::binary_search(group_.nodes, node) && !is_buffer(node) &&
                    !values_.contains(node) && !elements_.contains(node) &&
                    !group_.narrowings.contains(node);
  return here && graph_[node].op == Op::mul && kept_dtype(node) == DType::f32;
}

// Whether this kernel takes a root or logarithm of the value, which has none below 0: then what
// cancels has to be 0 and nothing below it, and so rounds its product.
bool Values::takes_root(NodeId value) const {
  return std::ranges::any_of(group_.nodes, [&](NodeId id) {
    const Node& node = graph_[id];
    const bool unary = op_info(node.op).category == Category::elementwise &&
                       node.operands.size() == 1 && node.operands[0] == value;
    const Formula<double> of = unary ? formula<double>(node.op) : nullptr;
    return of != nullptr && std::isnan(of(-1, 0, 0, 0, 0, 0)) && !std::isnan(of(1, 0, 0, 0, 0, 0));
  });
}

// Whether the value is made of the rounded product, as a maximum that is taken off it: what cancels
// then has to be 0. A sum is no element, so nothing cancels to 0 there. Graphs are in topological
// order; a long way back counts as yes.
bool Values::made_of(NodeId value, NodeId product) const {
  std::vector<NodeId> open{value};
  std::set<NodeId> seen;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (id == product || seen.size() > most_seen) return true;
    const bool sum = graph_[id].op == Op::sum || graph_[id].op == Op::mean;
    if (id < product || sum || !seen.insert(id).second) continue;
    const std::vector<NodeId>& operands = graph_[id].operands;
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return false;
}

// Whether the values are made of reductions' results and constants alone, as E[x²] and E[x]² are:
// computed once for many elements, and likely to cancel.
bool Values::made_of_reductions(std::vector<NodeId> open) const {
  std::set<NodeId> seen;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (is_reduction(graph_, id) || graph_[id].op == Op::constant) continue;
    const bool passes =
        op_info(graph_[id].op).category == Category::elementwise || is_view(graph_, id);
    if (!passes || graph_[id].operands.empty() || seen.size() > most_seen) return false;
    if (!seen.insert(id).second) continue;
    const std::vector<NodeId>& operands = graph_[id].operands;
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return true;
}

// a·b + c, a·b − c or c − a·b with one rounding: a GPU's, where the mode allows it.
std::optional<Typed> Values::contracted(NodeId node, const std::vector<Sym>& index,
                                        const Context& context) {
  const Node& n = graph_[node];
  const bool sum = n.op == Op::add || n.op == Op::sub;
  if (!gpu_ || numerics_ == Numerics::exact || !sum || kept_dtype(node) != DType::f32) return {};
  const size_t at = is_product(n.operands[0]) ? 0 : 1;
  if (!is_product(n.operands[at]) || takes_root(node)) return {};
  if (made_of(n.operands[1 - at], n.operands[at]) || made_of_reductions({node})) return {};
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
