// Who saved what: every byte between the separate and the fused program belongs to one Decision.
#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "plan/source_ops.h"

namespace ingot {

void SeparateBytes::add(const FusionUnit& unit, std::map<NodeId, Sym> bytes_read,
                        Sym bytes_written) {
  bool counted = !unit.copy;
  read.push_back(counted ? std::move(bytes_read) : std::map<NodeId, Sym>{});
  written.push_back(counted ? std::move(bytes_written) : Sym(0));
  for (const auto& [id, bytes] : read.back()) total = total + bytes;
  total = total + written.back();
}

SeparateBytes separate(const Graph& graph, const UnitGraph& units) {
  SeparateBytes result;
  for (const FusionUnit& unit : units.units) {
    Analysis analysis;
    Decision legal = analyze(graph, with_views(graph, units, unit.nodes), unit.values, &analysis);
    INGOT_CHECK(legal.fused, "'{}' has no domain: {}", graph[unit.result].name, legal.detail);
    GroupCost cost = measure(graph, analysis, nullptr, {}, Numerics::exact);
    result.add(unit, std::move(cost.read), std::move(cost.written));
  }
  return result;
}

namespace {

class Account {
 public:
  Account(const Graph& graph, const UnitGraph& units, std::vector<Edge> edges,
          const std::vector<Group>& groups, const SourceOps& ops)
      : graph_(graph),
        units_(units),
        edges_(std::move(edges)),
        groups_(groups),
        ops_(ops),
        separate_(ops.separate) {}

  std::vector<Decision> run() {
    place_units();
    for (size_t i = 0; i < edges_.size(); ++i) {
      const Key key{edges_[i].value, edges_[i].consumer};
      if (edges_[i].decision.kind == DecisionKind::sibling) {
        siblings_.emplace(key, i);
      } else {
        by_ends_.emplace(key, i);
      }
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (NodeId id : groups_[g].outputs) stored_.insert(id);
    }
    for (size_t u = 0; u < units_.units.size(); ++u) writes_of(static_cast<int>(u));
    for (size_t g = 0; g < groups_.size(); ++g) reads_of(static_cast<int>(g));
    return decisions();
  }

 private:
  using Key = std::pair<NodeId, int>;  // value and consumer

  void place_units() {
    group_of_.assign(units_.units.size(), -1);
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (NodeId id : groups_[g].nodes) {
        int u = units_.unit_of[static_cast<size_t>(id)];
        if (u < 0 ||
            std::binary_search(groups_[g].recomputed.begin(), groups_[g].recomputed.end(), id)) {
          continue;
        }
        // Where its result is made, if its parts stand in several groups.
        if (int& place = group_of_[static_cast<size_t>(u)]; place < 0 || id == unit(u).result) {
          place = static_cast<int>(g);
        }
      }
    }
    members_.resize(groups_.size());
    for (size_t u = 0; u < group_of_.size(); ++u) {
      if (group_of_[u] < 0) continue;
      members_[static_cast<size_t>(group_of_[u])].push_back(static_cast<int>(u));
    }
  }

  const FusionUnit& unit(int u) const { return units_.units[static_cast<size_t>(u)]; }

  void credit(Edge& edge, const Sym& bytes) {
    edge.decision.bytes_saved = edge.decision.bytes_saved + bytes;
  }

  // Values that are no longer stored; and copies of views, which the separate program does not
  // count.
  void writes_of(int u) {
    for (NodeId value : unit(u).values) {
      const bool part = ops_.inner[static_cast<size_t>(value)];
      Sym before = unit(u).copy || part ? Sym(0) : bytes_of(graph_, value);
      Sym after = stored_.count(value) > 0 ? bytes_of(graph_, value) : Sym(0);
      if (before == after) continue;
      credit(unit(u).copy ? edge_into(u) : edge_from(value, u), before - after);
    }
    for (NodeId id : unit(u).nodes) {  // an edited plan may store a value inside a composite
      bool known =
          std::find(unit(u).values.begin(), unit(u).values.end(), id) != unit(u).values.end();
      if (!known && stored_.count(id) > 0) credit(composite(u), Sym(0) - bytes_of(graph_, id));
    }
  }

  Edge& edge_from(NodeId value, int u) {
    Edge* any = nullptr;
    for (int reader : units_.readers[static_cast<size_t>(value)]) {
      auto found = by_ends_.find({value, reader});
      if (found == by_ends_.end()) continue;
      Edge& edge = edges_[found->second];
      if (edge.decision.fused) return edge;
      any = &edge;
    }
    return any != nullptr ? *any : composite(u);
  }

  Edge& edge_into(int u) {
    for (NodeId value : unit(u).reads) {
      auto found = by_ends_.find({value, u});
      if (found != by_ends_.end()) return edges_[found->second];
    }
    return composite(u);  // a copy of a view of an input
  }

  // What concerns one op alone: its parts, or its copy.
  Edge& composite(int u) {
    auto [found, added] = by_ends_.emplace(Key{-1, u}, edges_.size());
    if (added) {
      Edge edge{-1, -1, u, u, {}};
      edge.decision.fused = !unit(u).copy;
      edge.decision.kind = unit(u).copy ? DecisionKind::copy : DecisionKind::composite;
      edge.decision.reason = unit(u).copy ? Reason::graph_output_only : Reason::composite;
      edge.decision.detail =
          unit(u).copy ? fmt::format("'{}' needs a buffer of its own", graph_[unit(u).result].name)
                       : parts_text(unit(u).nodes);
      edges_.push_back(std::move(edge));
    }
    return edges_[found->second];
  }

  // Of two in one group; an edge to a reader in another group, which was refused, is not theirs.
  Edge& sibling(NodeId buffer, int first, int second) {
    const auto group = [&](int u) { return group_of_[static_cast<size_t>(u)]; };
    auto [at, end] = siblings_.equal_range({buffer, second});
    while (at != end && group(edges_[at->second].producer) != group(second)) ++at;
    if (at == end) {
      at = siblings_.emplace(std::pair(buffer, second), edges_.size());
      edges_.push_back({buffer, buffer, first, second, {}});
    }
    Edge& edge = edges_[at->second];
    if (!edge.decision.fused) {
      edge.decision.fused = true;
      edge.decision.kind = DecisionKind::sibling;
      edge.decision.reason = Reason::shared_input;
      edge.decision.detail = fmt::format("both read '{}'", graph_[buffer].name);
    }
    return edge;
  }

  void reads_of(int g) {
    const Group& group = groups_[static_cast<size_t>(g)];
    std::map<NodeId, Sym> left;
    for (size_t i = 0; i < group.inputs.size(); ++i) left[group.inputs[i]] = group.input_bytes[i];
    Sym again = group.traffic.read;
    for (const auto& [id, bytes] : left) again = again - bytes;
    std::map<NodeId, int> first;
    const std::vector<int>& members = members_[static_cast<size_t>(g)];
    for (int u : members) {
      for (const auto& [value, bytes] : separate_.read[static_cast<size_t>(u)]) {
        auto outside = left.find(value);
        if (outside == left.end()) {  // made in the group
          credit(edge_between(value, u), bytes);
          continue;
        }
        auto [found, added] = first.emplace(value, u);
        if (!added) {
          credit(sibling(value, found->second, u), bytes);
          continue;
        }
        outside->second = outside->second - bytes;
      }
    }
    Sym rest = again;
    for (const auto& [id, bytes] : left) rest = rest + bytes;
    if (!rest.is(0)) credit(last_edge(group, members), Sym(0) - rest);
  }

  Edge& edge_between(NodeId value, int u) {
    auto found = by_ends_.find({value, u});
    return found != by_ends_.end() ? edges_[found->second] : composite(u);
  }

  // Where what a group reads more than its ops would have gone: the last fused edge into it.
  Edge& last_edge(const Group& group, const std::vector<int>& members) {
    for (size_t i = members.size(); i-- > 0;) {
      for (NodeId value : unit(members[i]).reads) {
        auto found = by_ends_.find({value, members[i]});
        if (found != by_ends_.end() && edges_[found->second].decision.fused) {
          return edges_[found->second];
        }
      }
      if (unit(members[i]).copy) return edge_into(members[i]);
    }
    // An edited plan may have groups that only begin an op.
    return composite(members.empty() ? units_.unit_of[static_cast<size_t>(group.outputs.front())]
                                     : members.back());
  }

  std::vector<Decision> decisions() {
    std::vector<Decision> result;
    rewrite_decisions(&result);
    equal_decisions(&result);
    view_decisions(&result);
    for (Edge& edge : edges_) {
      Decision& d = edge.decision;
      bool is_sibling = d.kind == DecisionKind::sibling;
      bool one = edge.value < 0;
      const FusionUnit& first = unit(edge.producer);
      bool of_buffer = one && first.copy && !first.reads.empty();  // a view of an input
      d.producer = of_buffer ? first.reads[0] : is_sibling || one ? first.result : edge.via;
      d.consumer = unit(edge.consumer).result;
      if (!is_sibling && !one && d.fused) stored_too(edge);
      if (d.reason == Reason::library_operand && d.kind == DecisionKind::prologue)
        both_choices(&d, edge);
      add(edge, &result);
    }
    return result;
  }

  // The edges between two ops that are several units are one decision, and those inside one.
  void add(Edge& edge, std::vector<Decision>* result) {
    Decision& d = edge.decision;
    if (!ops_.is_split(edge.producer) && !ops_.is_split(edge.consumer)) {
      result->push_back(std::move(d));
      return;
    }
    const int first = ops_.whole[static_cast<size_t>(edge.producer)];
    const int second = ops_.whole[static_cast<size_t>(edge.consumer)];
    const bool part = edge.value >= 0 && ops_.inner[static_cast<size_t>(edge.value)];
    const std::string from = graph_[unit(first).result].name, to = graph_[unit(second).result].name;
    const NodeId value = first == second || part ? -1 : edge.value;
    const bool sibling = first != second && d.kind == DecisionKind::sibling;
    const auto [found, added] =
        between_.emplace(std::tuple(first, second, value, sibling), result->size());
    if (!added) {
      Decision& known = (*result)[found->second];
      known.bytes_saved = known.bytes_saved + d.bytes_saved;
      if (first == second || d.fused || !known.fused) return;
      known.fused = false;  // a part of the op reads it from memory
      known.reason = d.reason;
      known.detail = renamed(d.detail, edge.consumer, second);
      return;
    }
    if (part || d.kind == DecisionKind::sibling) d.producer = unit(first).result;
    d.consumer = unit(second).result;
    d.detail = renamed(d.detail, edge.consumer, second);
    if (first == second) {
      d.fused = true;
      d.kind = DecisionKind::composite;
      d.reason = Reason::composite;
      d.detail = parts_text(results_of(first));
    } else if (part && d.fused) {
      d.detail = fmt::format("'{}' and '{}' have parts in common", from, to);
    }
    if (first == second || part) d.bytes_if_materialized = d.bytes_if_recomputed = std::nullopt;
    result->push_back(std::move(d));
  }

  // Of the units that are parts of an op.
  std::vector<NodeId> results_of(int whole) const {
    std::vector<NodeId> results;
    for (size_t u = 0; u < units_.units.size(); ++u) {
      if (ops_.whole[u] == whole) results.push_back(units_.units[u].result);
    }
    return results;
  }

  // "'y.max', 'y.exp' and 6 more are parts of 'y'", the last of them.
  std::string parts_text(const std::vector<NodeId>& parts) const {
    constexpr size_t most_named = 4;
    if (parts.size() == 1) return fmt::format("'{}' alone", graph_[parts[0]].name);
    std::vector<std::string> names;
    for (size_t i = 0; i + 1 < parts.size() && i < most_named; ++i) {
      names.push_back(fmt::format("'{}'", graph_[parts[i]].name));
    }
    const size_t others = parts.size() - names.size() - 1;
    return fmt::format("{}{} {} of '{}'", join(names, ", "),
                       others > 0 ? fmt::format(" and {} more", others) : "",
                       parts.size() > 2 ? "are parts" : "is a part", graph_[parts.back()].name);
  }

  // With the op's name in the place of its part's.
  std::string renamed(std::string text, int part, int whole) const {
    const std::string from = fmt::format("'{}'", graph_[unit(part).result].name);
    const size_t at = part == whole ? std::string::npos : text.find(from);
    if (at == std::string::npos) return text;
    return text.replace(at, from.size(), fmt::format("'{}'", graph_[unit(whole).result].name));
  }

  // Reasons that only the finished plan shows.
  void stored_too(Edge& edge) const {
    Decision& d = edge.decision;
    if (d.reason == Reason::recomputed || unit(edge.consumer).copy) return;
    bool several = units_.readers[static_cast<size_t>(edge.value)].size() > 1;
    bool stored = stored_.count(edge.value) > 0;
    if (!stored && !several) return;
    if (!d.bytes_if_materialized) both_choices(&d, edge);
    if (!stored) {
      const std::vector<std::string> again = made_again_in(edge.value);
      d.detail += again.empty()
                      ? "; one register serves all its readers: neither materialized nor recomputed"
                      : fmt::format("; computed again in {}", join(again, ", "));
      return;
    }
    d.reason = Reason::materialized;
    d.detail = fmt::format("'{}' is used where it is made, and stored {}", graph_[edge.value].name,
                           units_.graph_output[static_cast<size_t>(edge.value)]
                               ? "as a result of the program"
                               : "for other kernels");
  }

  std::vector<std::string> made_again_in(NodeId value) const {
    std::vector<std::string> names;
    for (const Group& group : groups_) {
      if (std::ranges::find(group.recomputed, value) != group.recomputed.end()) {
        names.push_back(group.name);
      }
    }
    return names;
  }

  // Bytes that are read to make the value from what lies in memory.
  Sym bytes_to_make(int producer) const {
    Sym bytes(0);
    std::set<NodeId> seen;
    std::vector<int> open{producer};
    while (!open.empty()) {
      const int u = open.back();
      open.pop_back();
      for (const auto& [id, read] : separate_.read[static_cast<size_t>(u)]) {
        if (!seen.insert(id).second) continue;
        const int maker = units_.unit_of[static_cast<size_t>(id)];
        if (maker < 0 || stored_.count(id) > 0) {
          bytes = bytes + read;
        } else {
          open.push_back(maker);
        }
      }
    }
    return bytes;
  }

  // What storing the value and reading it in every other op would move, and what making it again
  // would.
  void both_choices(Decision* d, const Edge& edge) const {
    const Sym once = bytes_to_make(edge.producer);
    Sym reads(0);
    int64_t others = 0;
    for (int reader : units_.readers[static_cast<size_t>(edge.value)]) {
      if (reader == edge.consumer) continue;
      const std::map<NodeId, Sym>& read = separate_.read[static_cast<size_t>(reader)];
      if (auto found = read.find(edge.value); found != read.end()) reads = reads + found->second;
      ++others;
    }
    bool output = units_.graph_output[static_cast<size_t>(edge.value)];
    Sym store = bytes_of(graph_, edge.value);
    d->bytes_if_materialized = store + reads;
    d->bytes_if_recomputed = once * Sym(others + (output ? 1 : 0)) + (output ? store : Sym(0));
    if (d->reason != Reason::library_operand) return;
    // The library reads memory: the value is stored and read for it in both cases.
    const std::map<NodeId, Sym>& read = separate_.read[static_cast<size_t>(edge.consumer)];
    auto own = read.find(edge.value);
    Sym product = own == read.end() ? Sym(0) : own->second;
    d->bytes_if_materialized = store + reads + product;
    d->bytes_if_recomputed = store + product + once * Sym(others);
  }

  // What passes put in the place of an op, or left as it was.
  void rewrite_decisions(std::vector<Decision>* result) const {
    std::map<std::string_view, NodeId> node_of;
    if (graph_.rewrites.empty()) return;
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      node_of[graph_[id].name] = id;
    }
    for (const Rewrite& rewrite : graph_.rewrites) {
      auto found = node_of.find(rewrite.name);
      if (found == node_of.end()) continue;  // nothing needs it any more
      Decision d;
      d.fused = rewrite.done;
      d.reason = rewrite.done ? Reason::one_hot_product : Reason::numerics;
      d.detail = rewrite.detail;
      d.kind = DecisionKind::rewrite;
      d.producer = graph_[found->second].operands[rewrite.done ? 1 : 0];
      d.consumer = found->second;
      result->push_back(std::move(d));
    }
  }

  // Ops that run in no kernel.
  void equal_decisions(std::vector<Decision>* result) const {
    for (const SourceOps::Gone& gone : ops_.gone) {
      const SourceOp& op = graph_.sources[static_cast<size_t>(gone.source)];
      Decision d;
      d.fused = true;
      d.reason = Reason::equal_value;
      d.kind = DecisionKind::rewrite;
      d.source = gone.source;
      d.bytes_saved = gone.bytes;
      d.detail = op.equal_to.empty()
                     ? fmt::format("nothing needs '{}' where other ops are simplified", op.name)
                     : fmt::format("'{}' is the same as '{}'", op.name, op.equal_to);
      result->push_back(std::move(d));
    }
  }

  // A view after an op costs nothing, and that is a decision too.
  void view_decisions(std::vector<Decision>* result) const {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      if (!is_view(graph_, id) || !is_free(graph_, units_, id)) continue;
      NodeId operand = graph_[id].operands[0];
      bool source_op = graph_[id].source >= 0 && graph_[id].source != graph_[operand].source;
      if (!source_op || units_.unit_of[static_cast<size_t>(operand)] < 0) continue;
      Decision d;
      d.fused = true;
      d.reason = Reason::view;
      d.producer = operand;
      d.consumer = id;
      d.detail = fmt::format("'{}' is an index map of its readers", graph_[id].name);
      result->push_back(std::move(d));
    }
  }

  const Graph& graph_;
  const UnitGraph& units_;
  std::vector<Edge> edges_;
  const std::vector<Group>& groups_;
  const SourceOps& ops_;
  const SeparateBytes& separate_;
  std::vector<int> group_of_;
  std::vector<std::vector<int>> members_;  // units of each group
  std::map<Key, size_t> by_ends_;          // edges but siblings'
  std::multimap<Key, size_t> siblings_;    // of each pair of groups that have such readers
  std::map<std::tuple<int, int, NodeId, bool>, size_t> between_;  // whole ops → decision
  std::set<NodeId> stored_;
};

}  // namespace

std::vector<Decision> account(const Graph& graph, const UnitGraph& units, std::vector<Edge> edges,
                              const std::vector<Group>& groups, const SourceOps& ops) {
  return Account(graph, units, std::move(edges), groups, ops).run();
}

}  // namespace ingot
