#include "plan/narrow.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "graph/value_range.h"

namespace ingot {
namespace {

constexpr size_t longest_chain = 64;

class Narrow {
 public:
  Narrow(const Graph& graph, Numerics numerics, std::vector<Decision>* decisions)
      : graph_(graph),
        exact_(numerics == Numerics::exact),
        collapses_(numerics == Numerics::fast),
        ranges_(value_ranges(graph)),
        users_(consumers(graph)),
        decisions_(decisions) {}

  void group(Group* group) {
    inside_ = std::set<NodeId>(group->nodes.begin(), group->nodes.end());
    stored_ = std::set<NodeId>(group->outputs.begin(), group->outputs.end());
    std::set<NodeId> gone;
    for (auto id = group->nodes.rbegin(); id != group->nodes.rend(); ++id) {
      if (gone.contains(*id) || !computes(*id)) continue;
      if (collapses_ && polynomial(*id, group, &gone)) continue;
      shorter(*id, group);
    }
  }

 private:
  const ValueRange& range(NodeId id) const { return ranges_[static_cast<size_t>(id)]; }
  // An op of f32 inside the group, operand by operand at the element of the result.
  bool computes(NodeId id) const {
    const Node& n = graph_[id];
    return n.type.dtype == DType::f32 && inside_.contains(id) && n.op != Op::select &&
           n.op != Op::cast && op_info(n.op).category == Category::elementwise;
  }
  void decide(NodeId operand, NodeId id, const std::string& what) {
    Decision d;
    d.fused = true;
    d.reason = Reason::value_range;
    d.kind = DecisionKind::formula;
    d.producer = operand;
    d.consumer = id;
    d.detail = fmt::format("'{}' lies in [{:.4g}, {:.4g}]: {}", graph_[operand].name,
                           range(operand).low, range(operand).high, what);
    decisions_->push_back(std::move(d));
  }

  void shorter(NodeId id, Group* group) {
    const OpInfo& info = op_info(graph_[id].op);
    const NodeId operand = graph_[id].operands[0];
    if (exact_) {  // the same bits
      if (!has_form(info, Form::below) || !(range(operand).high <= 0)) return;
      group->narrowings[id] = {operand, Form::below, {}};
      return decide(operand, id, fmt::format("the formula of {} up to 0", info.name));
    }
    for (const Form form : {Form::narrower, Form::narrow}) {
      const double reach = info.reach[static_cast<size_t>(form)];
      if (reach == 0 || !(range(operand).magnitude() <= reach)) continue;
      group->narrowings[id] = {operand, form, {}};
      return decide(operand, id, fmt::format("the formula of {} up to {}", info.name, reach));
    }
  }

  // Whether the node became a polynomial of the first value that all of it follows from.
  bool polynomial(NodeId id, Group* group, std::set<NodeId>* gone) {
    const std::vector<Chain> candidates = chains(id);
    for (size_t i = 0; i < candidates.size();
         i += std::max<size_t>(1, (candidates.size() - i) / 2)) {
      const Chain& chain = candidates[i];
      double cost = 0, error = 0;
      for (NodeId node : chain.nodes) cost += op_info(graph_[node].op).instructions;
      const ValueRange& base = range(chain.base);
      const std::vector<double> coefficients = collapse(graph_, chain, base.low, base.high, &error);
      if (coefficients.empty() || 2 * static_cast<double>(coefficients.size()) > cost) continue;
      group->narrowings[id] = {chain.base, Form::full, coefficients};
      decide(chain.base, id,
             fmt::format("{} ops as a polynomial of degree {}, error {:.2g}", chain.nodes.size(),
                         coefficients.size() - 1, error));
      gone->insert(chain.nodes.begin(), chain.nodes.end());
      return true;
    }
    return false;
  }

  // From the node down to each single value in a known range that it follows from, longest first.
  std::vector<Chain> chains(NodeId id) const {
    std::vector<Chain> found;
    std::set<NodeId> open{id}, nodes;
    while (!open.empty() && nodes.size() < longest_chain) {
      const NodeId last = *open.rbegin();
      if (open.size() == 1 && nodes.size() > 1 && range(last).bounded() && apart(nodes, id)) {
        found.insert(found.begin(), Chain{last, {nodes.begin(), nodes.end()}});
      }
      if (!computes(last) || !expand(last, id, &open)) break;
      nodes.insert(last);
    }
    return found;
  }

  // Puts the node's operands in its place. False where one has another shape or dtype.
  bool expand(NodeId node, NodeId id, std::set<NodeId>* open) const {
    for (NodeId operand : graph_[node].operands) {
      if (literal_value(graph_[operand])) continue;
      if (!(graph_[operand].type == graph_[id].type)) return false;
      open->insert(operand);
    }
    open->erase(node);
    return true;
  }

  // Whether nothing else needs what is computed on the way.
  bool apart(const std::set<NodeId>& nodes, NodeId result) const {
    return std::ranges::all_of(nodes, [&](NodeId node) {
      if (node == result) return true;
      const std::vector<NodeId>& users = users_[static_cast<size_t>(node)];
      return !stored_.contains(node) &&
             std::ranges::all_of(users, [&](NodeId user) { return nodes.contains(user); });
    });
  }

  const Graph& graph_;
  bool exact_, collapses_;
  std::vector<ValueRange> ranges_;
  std::vector<std::vector<NodeId>> users_;
  std::set<NodeId> inside_, stored_;
  std::vector<Decision>* decisions_;
};

}  // namespace

void narrow(const Graph& graph, const DeviceModel& device, Plan* plan) {
  const Numerics numerics = plan->numerics;
  if (!device.gpu && numerics != Numerics::fast) return;
  Narrow narrow(graph, numerics, &plan->decisions);
  for (Group& group : plan->groups) narrow.group(&group);
}

}  // namespace ingot
