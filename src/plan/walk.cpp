#include "plan/walk.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

// Each row's code stands within the guards of all the gathers around it.
constexpr int most_picked = 8;

}  // namespace

Walk::Walk(const Graph& graph, const std::vector<NodeId>& nodes, Analysis* analysis)
    : graph_(graph),
      nodes_(nodes),
      analysis_(*analysis),
      ranges_(analysis->domain.ranges()),
      most_(8 * nodes.size() + 256) {
  for (const DomainVar& var : analysis_.domain.vars) {
    if (var.reduced) columns_ = columns_ * var.extent;
  }
  for (bool reduced : {false, true}) {
    for (const DomainVar& var : analysis_.domain.vars) {
      if (var.reduced == reduced) loops_.push_back(var);
    }
  }
}

bool Walk::inside(NodeId id) const { return std::binary_search(nodes_.begin(), nodes_.end(), id); }

void Walk::refuse(Reason reason, std::string text) {
  if (!refusal_.empty()) return;
  reason_ = reason;
  refusal_ = std::move(text);
}

bool Walk::per_row(const std::vector<Sym>& index) const {
  return std::ranges::none_of(index, [&](const Sym& i) {
    return i.uses_any([&](std::string_view name) {
      return name[0] == '@' || std::ranges::any_of(loops_, [&](const DomainVar& var) {
               return var.reduced && var.name == name;
             });
    });
  });
}

// A value is computed in the innermost loop whose variable it needs.
Sym Walk::executions(const std::vector<Sym>& index, const Sym& parent) const {
  size_t depth = 0;
  for (const Sym& i : index) {
    bool run_time = i.uses_any([&](std::string_view name) {
      for (size_t d = depth; d < loops_.size(); ++d) {
        if (loops_[d].name == name) depth = d + 1;
      }
      return name[0] == '@';
    });
    if (run_time) return parent;  // as often as the gather
  }
  Sym count(1);
  for (size_t d = 0; d < depth; ++d) count = count * loops_[d].extent;
  return count;
}

void Walk::from_reduction(NodeId reduction, const std::vector<Sym>& operand_index) {
  Sym all(1);
  for (const DomainVar& var : loops_) all = all * var.extent;
  analysis_.evaluations[reduction].push_back({analysis_.domain.index.at(reduction),
                                              element_count(graph_[reduction].type.shape),
                                              all,
                                              true,
                                              false,
                                              {},
                                              false});
  NodeId operand = graph_[reduction].operands[0];
  visit(operand, {operand_index, element_count(graph_[operand].type.shape), all, false, reduction});
}

void Walk::from_output(NodeId output, const std::vector<Sym>& index, bool column) {
  Sym count = element_count(graph_[output].type.shape);
  visit(output, {index, count, count, false, -1, column});
}

void Walk::from_scan(NodeId scan) {
  const std::vector<Sym>& index = analysis_.domain.index.at(scan);
  Sym count = element_count(graph_[scan].type.shape);
  auto& own = analysis_.evaluations[scan];
  if (own.empty()) own.push_back({index, count, count, false, false, {}, false});
  visit(graph_[scan].operands[0], {index, count, count, false, scan});
}

void Walk::from_memory(NodeId contraction) {
  auto& own = analysis_.evaluations[contraction];
  if (own.empty()) {
    Sym count = element_count(graph_[contraction].type.shape);
    own.push_back({analysis_.domain.index.at(contraction), count, count, false, false, {}, false});
  }
  for (NodeId id : graph_[contraction].operands) {
    Sym elements = element_count(graph_[id].type.shape);
    while (inside(id)) {  // views only: operands_outside() has seen to it
      id = graph_[id].operands[0];
      elements = smaller(elements, element_count(graph_[id].type.shape));
    }
    analysis_.reads[id].push_back({{}, elements, elements, false, false, {contraction}, false});
  }
}

size_t Walk::evaluation(std::vector<Evaluation>& list, const Need& need) {
  for (size_t i = 0; i < list.size(); ++i) {
    Evaluation& e = list[i];
    if (!(e.index == need.index)) continue;
    if (need.consumer >= 0 && (e.consumers.empty() || e.consumers.back() != need.consumer)) {
      e.consumers.push_back(need.consumer);
    }
    e.stored = e.stored || need.consumer < 0;
    e.per_row = e.per_row && (need.column || per_row(need.index));
    return i;
  }
  Evaluation e;
  e.index = need.index;
  e.elements = need.elements;
  e.executions = need.executions;
  e.per_row = need.column || per_row(need.index);
  e.run_time = need.run_time;
  if (need.consumer >= 0) e.consumers.push_back(need.consumer);
  e.stored = need.consumer < 0;
  list.push_back(std::move(e));
  return list.size() - 1;
}

void Walk::visit(NodeId id, Need need) {
  if (!refusal_.empty()) return;
  const Node& node = graph_[id];
  for (size_t d = 0; d < need.index.size(); ++d) {
    if (node.type.shape[d].is(1)) need.index[d] = Sym(0);
  }
  if (!inside(id)) {
    if (is_literal(graph_, id)) return;
    need.executions = need.column ? columns_ : executions(need.index, need.executions);
    evaluation(analysis_.reads[id], need);
    return;
  }
  if (is_reduction(graph_, id) || is_scan(graph_, id) || reads_memory(graph_, id)) {
    auto canonical = analysis_.domain.index.find(id);
    if (canonical == analysis_.domain.index.end() || !(canonical->second == need.index)) {
      refuse(Reason::needs_whole_tensor,
             fmt::format("'{}' is needed at another index than it is computed at", node.name));
      return;
    }
    std::vector<Evaluation>& own = analysis_.evaluations[id];
    if (own.empty()) {
      Sym count = element_count(node.type.shape);
      own.push_back({need.index, count, count, false, false, {}, false});
    }
    if (need.consumer < 0) own[0].stored = true;
    if (need.consumer >= 0) own[0].consumers.push_back(need.consumer);
    return;
  }
  need.executions = need.column ? columns_ : executions(need.index, need.executions);
  const size_t at = evaluation(analysis_.evaluations[id], need);
  if (!made_.insert({id, at, need.context}).second) return;
  if (made_.size() > most_) {
    refuse(Reason::group_too_large,
           fmt::format("'{}' and others would be computed at too many indices", node.name));
    return;
  }
  visit_operands(id, need, at + 1);
}

int Walk::within(int context, const std::vector<Guard>& guards) {
  if (guards.empty()) return context;
  std::string key;
  for (const Guard& guard : guards) {
    key += fmt::format("{}@{}:{};", guard.value.text(), guard.lo.text(), guard.hi.text());
  }
  const int next = static_cast<int>(contexts_.size()) + 1;
  return contexts_.try_emplace({context, std::move(key)}, next).first->second;
}

// A row of a table, of as many as the gather gives.
void Walk::pick_row(NodeId gather, const Access& access, size_t ordinal, Need* row) {
  const Sym& rows =
      graph_[graph_[gather].operands[0]].type.shape[static_cast<size_t>(access.run_time_dim)];
  const std::string name = fmt::format("{}{}_{}", run_time_symbol, gather, ordinal);
  ranges_[name] = rows;
  for (Sym& i : row->index) {
    i = i.substitute({{std::string(run_time_symbol), Sym::var(name)}}, ranges_);
  }
  row->run_time = true;
  row->context = within(row->context, {{Sym::var(name), Sym(0), rows}});
  if (++row->rows > most_picked) {
    refuse(Reason::group_too_large,
           fmt::format("{} gathers, from '{}' on, would pick rows of one another's rows; a group "
                       "has at most {} such, to keep compile times linear",
                       row->rows, graph_[gather].name, most_picked));
  }
}

void Walk::visit_operands(NodeId id, const Need& need, size_t ordinal) {
  const Node& node = graph_[id];
  const std::vector<Access> accesses = operand_accesses(graph_, id, need.index, ranges_);
  // Where one of a concat's operands is read everywhere, nothing is guarded.
  const bool guarded = std::ranges::none_of(
      accesses, [&](const Access& a) { return node.op == Op::concat && a.guards.empty(); });
  for (size_t k = 0; k < node.operands.size(); ++k) {
    NodeId operand = node.operands[k];
    if (!inside(operand) && is_literal(graph_, operand)) continue;
    const Access& access = accesses[k];
    const Shape& shape = graph_[operand].type.shape;
    Need next{access.index, smaller(need.elements, element_count(shape)), need.executions,
              need.run_time, id};
    next.rows = need.rows;
    next.context = guarded ? within(need.context, access.guards) : need.context;
    if (access.run_time_dim >= 0) {
      next.elements = need.elements;
      pick_row(id, access, ordinal, &next);
    }
    visit(operand, std::move(next));
  }
}

void Walk::find_levels() {
  for (NodeId id : nodes_) {
    int level = 0;
    for (NodeId operand : graph_[id].operands) {
      auto found = analysis_.level.find(operand);
      if (found != analysis_.level.end()) level = std::max(level, found->second);
    }
    if (is_reduction(graph_, id) && !is_column(analysis_.domain, id)) ++level;
    analysis_.level[id] = level;
    analysis_.levels = std::max(analysis_.levels, level);
  }
}

}  // namespace ingot
