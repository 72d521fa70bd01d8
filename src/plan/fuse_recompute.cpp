// Save or recompute: values that one group makes and others read. A minimum cut proposes what to
// compute again in its readers, by marginal prices; the walk over the groups as they would be
// decides.
#include <algorithm>

#include "base/error.h"
#include "plan/crossing_values.h"

namespace ingot {
namespace {

constexpr int most_rounds = 12;  // of cut and walk for values that depend on each other

}  // namespace

class Recomputation {
 public:
  explicit Recomputation(Fusion* fusion)
      : fusion_(*fusion), graph_(fusion->graph_), values_(fusion) {}

  void run() {
    index_edges();
    std::vector<int> open;
    for (int i = 0; i < values_.size(); ++i) {
      if (values_.item(i).open) open.push_back(i);
    }
    cut(open);
    const std::vector<std::vector<int>> worthwhile = bundles(again_);
    std::set<int> bundled;
    for (const std::vector<int>& bundle : worthwhile) bundled.insert(bundle.begin(), bundle.end());
    again_.clear();
    for (int i = 0; i < values_.crossing(); ++i) {
      if (!bundled.contains(i)) tell(i);
    }
    for (const std::vector<int>& bundle : worthwhile) settle(bundle);
    part_siblings();
  }

  // Once readers have joined: what is saved so that others can be computed from it.
  void tell_saved() {
    values_.forget_prices();
    std::map<NodeId, SaveOrRecompute> rows;
    for (int c = 0; c < static_cast<int>(fusion_.clusters_.size()); ++c) {
      for (const NodeId id :
           cluster(c).recomputed.empty() ? std::set<NodeId>{} : fusion_.reads_again(c)) {
        if (!saved_.contains(id)) continue;
        SaveOrRecompute& row = rows[id];
        row.bytes_if_saved = row.bytes_if_saved + values_.read_bytes(c, id);
        row.us_if_saved +=
            at_sizes(values_.read_bytes(c, id), fusion_.options_.sizes) * values_.price(c).byte_us;
        for (const NodeId reader : cluster(c).recomputed) {
          const bool reads = std::ranges::any_of(graph_[reader].operands, [&](NodeId operand) {
            return root(graph_, fusion_.units_, operand) == id;
          });
          if (reads) insert_ascending(&row.consumers, reader);
        }
      }
    }
    for (auto& [id, row] : rows) {
      row.value = id;
      row.bytes_if_saved = row.bytes_if_saved + bytes_of(graph_, id);
      row.us_if_saved += values_.size_of(id) * values_.price(values_.owner_of(id)).byte_us;
      row.why = "others are computed again from it";
      fusion_.values_.push_back(std::move(row));
    }
    std::ranges::sort(fusion_.values_, {}, &SaveOrRecompute::value);
  }

 private:
  using Union = Fusion::Union;

  Cluster& cluster(int c) { return fusion_.at(c); }
  const FusionUnit& unit(int u) const { return fusion_.unit(u); }
  std::string named(NodeId id) const { return fusion_.named(id); }

  // A group as it would be.
  struct Next {
    bool gone = false;
    std::vector<NodeId> again;  // computed again in it besides
    std::vector<int> moved;     // units that come from others
    std::vector<int> lost;      // and that go to others
    Union all;
  };
  struct Attempt {
    std::vector<int> values;  // items, computed again
    std::map<int, Next> next;
    std::set<NodeId> saved;     // read by those that compute again
    std::vector<int> culprits;  // items that cannot be, and why
    std::string refusal;
    double before_us = 0, after_us = 0, before_bytes = 0, after_bytes = 0;
  };
  void index_edges() {
    edges_from_.resize(fusion_.units_.units.size());
    for (size_t e = 0; e < fusion_.edges_.size(); ++e) {
      const Edge& edge = fusion_.edges_[e];
      if (edge.decision.kind == DecisionKind::sibling) continue;
      edges_from_[static_cast<size_t>(edge.producer)].push_back(e);
    }
  }

  // Of these open items those that are made of each other, or in one group.
  std::vector<std::vector<int>> bundles(const std::set<int>& members) const {
    std::map<int, int> leader;
    for (const int i : members) leader[i] = i;
    const auto find = [&](int i) {
      while (leader.at(i) != i) i = leader[i] = leader.at(leader.at(i));
      return i;
    };
    std::map<int, int> first_of;  // groups
    for (const int i : members) {
      for (const int o : values_.item(i).operands) {
        if (members.contains(o)) leader[find(o)] = find(i);
      }
      const auto [same, added] = first_of.try_emplace(values_.owner_of(values_.item(i).id), i);
      if (!added) leader[find(same->second)] = find(i);
    }
    std::map<int, std::vector<int>> found;
    for (const int i : members) found[find(i)].push_back(i);
    std::vector<std::vector<int>> result;
    for (auto& [first, bundle] : found) result.push_back(std::move(bundle));
    return result;
  }

  // What is worth computing again, of these open items.
  void cut(const std::vector<int>& items) {
    const CrossingValues::Network all = values_.network(items);
    const SaveSolution solution = cheapest(all.problem);
    again_.clear();
    gone_.clear();
    for (size_t p = 0; p < all.items.size(); ++p) {
      if (solution.again[p]) again_.insert(all.items[p]);
      if (solution.gone[p]) gone_.insert(values_.item(all.items[p]).id);
    }
  }

  // Walk and cut in turns: what the walk refuses is saved in the next cut.
  void settle(const std::vector<int>& bundle) {
    Attempt attempt;
    for (int round = 0;; ++round) {
      cut(bundle);
      attempt = attempt_of(bundle);
      if (attempt.values.empty()) break;
      if (attempt.refusal.empty()) weigh(&attempt);
      if (attempt.refusal.empty()) break;
      for (const int i : round < most_rounds ? attempt.culprits : attempt.values) {
        values_.item(i).refused = attempt.refusal;
      }
    }
    for (const NodeId id : attempt.saved) {
      CrossingValues::Item& value = values_.item(values_.item_of(id));
      if (value.stored) continue;
      value.stored = true;
      saved_.insert(id);
    }
    for (const int i : bundle) {
      if (i < values_.crossing()) tell(i);
    }
    if (!attempt.values.empty()) apply(std::move(attempt));
  }

  // What a group computes again for these values, and reads for it.
  std::vector<NodeId> needed_again(int c, const std::vector<NodeId>& values,
                                   std::set<NodeId>* read) {
    std::vector<NodeId> found, stack = values;
    std::set<NodeId> seen(values.begin(), values.end());
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      found.push_back(id);
      for (const NodeId operand : graph_[id].operands) {
        const NodeId value = root(graph_, fusion_.units_, operand);
        const int owner = values_.owner_of(value);
        if (owner == c || owner < 0 || holds(cluster(c).recomputed, value)) continue;
        const bool again = again_.contains(values_.item_of(value));
        if (again && seen.insert(value).second) stack.push_back(value);
        if (!again) read->insert(value);
      }
    }
    std::ranges::sort(found);
    return found;
  }

  Attempt attempt_of(const std::vector<int>& component) {
    Attempt attempt;
    std::set<int> groups;
    std::set<NodeId> values;
    for (const int i : component) {
      if (i >= values_.crossing() || !again_.contains(i)) continue;
      attempt.values.push_back(i);
      values.insert(values_.item(i).id);
      groups.insert(values_.owner_of(values_.item(i).id));
      groups.insert(values_.item(i).readers.begin(), values_.item(i).readers.end());
    }
    for (const int c : groups) {
      attempt.next[c].gone =
          std::ranges::all_of(cluster(c).outputs, [&](NodeId id) { return values.contains(id); });
    }
    if (!find_again(&attempt)) return attempt;
    for (auto& [c, next] : attempt.next) {
      std::vector<NodeId> outputs = cluster(c).outputs;
      std::erase_if(outputs, [&](NodeId id) { return values.contains(id); });
      for (const NodeId id : attempt.saved) {
        if (values_.owner_of(id) == c) insert_ascending(&outputs, id);
      }
      next.all.outputs = std::move(outputs);
      next.all.nodes = cluster(c).nodes;
      if (!next.gone && !grow(c, &attempt)) return attempt;
    }
    move_units(&attempt);
    return attempt;
  }

  // By a node that is not gone from the group.
  bool stays_read(int c, NodeId value) {
    return std::ranges::any_of(cluster(c).nodes, [&](NodeId id) {
      if (is_free(graph_, fusion_.units_, id) || gone_.contains(id)) return false;
      return std::ranges::any_of(graph_[id].operands, [&](NodeId operand) {
        return root(graph_, fusion_.units_, operand) == value;
      });
    });
  }

  // A group that would be gone stays where others read what it makes, and computes again, too.
  bool find_again(Attempt* attempt) {
    for (bool changed = true; changed;) {
      changed = false;
      attempt->saved.clear();
      for (auto& [c, next] : attempt->next) {
        if (next.gone) continue;
        std::vector<NodeId> own;
        for (const int i : attempt->values) {
          const bool reads = std::ranges::binary_search(values_.item(i).readers, c);
          if (reads && stays_read(c, values_.item(i).id)) own.push_back(values_.item(i).id);
        }
        next.again = needed_again(c, own, &attempt->saved);
        if (!may_grow(c, next.again)) {
          refuse(attempt, own, "its readers would be too large to compile in linear time");
          return false;
        }
      }
      for (const NodeId id : attempt->saved) {
        Next& maker = attempt->next.try_emplace(values_.owner_of(id)).first->second;
        changed = changed || maker.gone;
        maker.gone = false;
      }
    }
    return true;
  }

  void refuse(Attempt* attempt, const std::vector<NodeId>& values, std::string why) {
    attempt->refusal = std::move(why);
    for (const NodeId value : values) attempt->culprits.push_back(values_.item_of(value));
    if (values.empty()) attempt->culprits = attempt->values;
  }

  // The group with what it computes again and without what nobody in it needs.
  bool grow(int c, Attempt* attempt) {
    Next& next = attempt->next.at(c);
    next.all.nodes = united(cluster(c).nodes, with_views(graph_, fusion_.units_, next.again));
    if (Decision legal = fusion_.find_work(&next.all); !legal) {
      refuse(attempt, culprits(c, *attempt), legal.detail);
      return false;
    }
    for (const int u : cluster(c).units) {
      const auto needed = [&](NodeId id) { return next.all.analysis.evaluations.contains(id); };
      const std::vector<NodeId>& nodes = unit(u).nodes;
      if (std::ranges::all_of(nodes, needed)) continue;
      if (std::ranges::any_of(nodes, needed)) {
        refuse(attempt, culprits(c, *attempt),
               fmt::format("a part of '{}' would be needed here and there",
                           graph_[unit(u).result].name));
        return false;
      }
      next.lost.push_back(u);
    }
    if (next.lost.empty()) return true;
    std::vector<NodeId> kept = next.again;
    for (const NodeId id : cluster(c).recomputed) {
      if (next.all.analysis.evaluations.contains(id)) insert_ascending(&kept, id);
    }
    for (const int u : cluster(c).units) {
      if (std::ranges::find(next.lost, u) != next.lost.end()) continue;
      kept = united(kept, sorted(unit(u).nodes));
    }
    next.all.nodes = with_views(graph_, fusion_.units_, kept);
    if (Decision legal = fusion_.find_work(&next.all); !legal) {
      refuse(attempt, culprits(c, *attempt), legal.detail);
      return false;
    }
    return true;
  }

  static std::vector<NodeId> sorted(std::vector<NodeId> nodes) {
    std::ranges::sort(nodes);
    return nodes;
  }

  // Those of the values that a group reads or makes which are refused one by one; all, where each
  // alone would do.
  std::vector<NodeId> culprits(int c, const Attempt& attempt) {
    std::vector<NodeId> all, alone;
    for (const int i : attempt.values) {
      const bool made = values_.owner_of(values_.item(i).id) == c;
      if (!made && !std::ranges::binary_search(values_.item(i).readers, c)) continue;
      all.push_back(values_.item(i).id);
      if (made) continue;
      std::set<NodeId> ignored;
      Union one;
      one.outputs = cluster(c).outputs;
      one.nodes = united(
          cluster(c).nodes,
          with_views(graph_, fusion_.units_, needed_again(c, {values_.item(i).id}, &ignored)));
      if (!fusion_.find_work(&one)) alone.push_back(values_.item(i).id);
    }
    return alone.empty() ? all : alone;
  }

  // A group has room for what it computes again, and not so many operands (a concat of hundreds)
  // that walking over it takes long.
  bool may_grow(int c, const std::vector<NodeId>& again) {
    const Cluster& own = cluster(c);
    double added = 0;
    size_t operands = 0;
    for (const NodeId id : again) added += instructions_of(graph_[id], fusion_.device_.gpu);
    for (const NodeId id : own.nodes) operands += graph_[id].operands.size();
    return own.nodes.size() + again.size() <= most_nodes && operands <= most_operands &&
           own.instructions + added <= most_instructions;
  }

  // What a group no longer needs goes to the first one that computes it again.
  void move_units(Attempt* attempt) {
    for (auto& [c, next] : attempt->next) {
      for (const int u : next.gone ? cluster(c).units : next.lost) {
        const auto taker = std::ranges::find_if(attempt->next, [&](const auto& other) {
          return std::ranges::all_of(unit(u).nodes,
                                     [&](NodeId id) { return holds(other.second.again, id); });
        });
        if (taker == attempt->next.end()) {
          refuse(attempt, culprits(c, *attempt),
                 fmt::format("parts of '{}' would be needed in several kernels",
                             graph_[unit(u).result].name));
          return;
        }
        taker->second.moved.push_back(u);
      }
    }
  }

  // By what the groups are predicted to take as they would be; with --fusion all by their bytes.
  void weigh(Attempt* attempt) {
    for (auto& [c, next] : attempt->next) {
      attempt->before_us += predicted(fusion_.work(c));
      attempt->before_bytes += fusion_.work(c).bytes;
      if (next.gone) continue;
      attempt->after_us += predicted(next.all.work);
      attempt->after_bytes += next.all.work.bytes;
    }
    const bool better = values_.by_bytes() ? attempt->after_bytes < attempt->before_bytes
                                           : attempt->after_us < attempt->before_us;
    if (better) return;
    // The least promising value is saved in the next round.
    const int least = *std::ranges::min_element(attempt->values, {}, [&](int i) {
      const std::optional<CrossingValues::Way> way = values_.way_of(i);
      return values_.item(i).save - (way ? values_.cost(*way) : 0);
    });
    attempt->culprits = {least};
    attempt->refusal =
        values_.by_bytes()
            ? fmt::format("the kernels would move {} instead of {}",
                          bytes_text(attempt->after_bytes), bytes_text(attempt->before_bytes))
            : fmt::format("the kernels would take {:.2f} us instead of {:.2f}, predicted",
                          attempt->after_us, attempt->before_us);
  }

  double predicted(const Cluster::Work& work) const {
    return work_time(fusion_.device_, work.detail).us + fusion_.device_.launch_us;
  }

  void apply(Attempt attempt) {
    std::map<int, std::vector<int>> former;  // units of each group
    for (auto& [c, next] : attempt.next) {
      former[c] = cluster(c).units;
      for (const int u : next.moved) fusion_.cluster_of_[static_cast<size_t>(u)] = c;
    }
    for (auto& [c, next] : attempt.next) {
      if (next.gone) {
        cluster(c) = {};
        cluster(c).alive = false;
        continue;
      }
      take_on(c, std::move(next));
    }
    for (const auto& [c, units] : former) {
      for (const int u : units) explain(u);
    }
    changed_ = true;
  }

  void take_on(int c, Next next) {
    Cluster& own = cluster(c);
    for (const int u : next.lost) std::erase(own.units, u);
    for (const int u : next.moved) insert_ascending(&own.units, u);
    for (const NodeId id : next.again) {
      own.instructions += instructions_of(graph_[id], fusion_.device_.gpu);
      for (const NodeId operand : graph_[id].operands) {
        fusion_.read_again_.insert(root(graph_, fusion_.units_, operand));
      }
      if (values_.owner_of(id) != c) insert_ascending(&own.recomputed, id);
    }
    std::erase_if(own.recomputed, [&](NodeId id) {
      return values_.owner_of(id) == c || !next.all.analysis.evaluations.contains(id);
    });
    own.nodes = std::move(next.all.nodes);
    own.outputs = std::move(next.all.outputs);
    own.domain = std::move(next.all.analysis.domain);
    own.work = next.all.work;
    own.moved.reset();
    own.alike = false;
    own.walked = true;
    ++own.version;
  }

  // The edges from a unit as they are now: together, computed again, or apart since one of both
  // has moved.
  void explain(int u) {
    std::string apart;
    Reason reason = Reason::no_gain;
    for (const size_t e : edges_from_[static_cast<size_t>(u)]) {
      const Edge& edge = fusion_.edges_[e];
      if (edge.decision.fused) continue;
      reason = edge.decision.reason;
      apart = edge.decision.detail;
    }
    for (const size_t e : edges_from_[static_cast<size_t>(u)]) {
      Edge& edge = fusion_.edges_[e];
      const int to = fusion_.cluster_of(edge.consumer);
      if (!holds(cluster(to).nodes, edge.value)) {
        if (edge.decision.fused) {
          edge.decision =
              refusal(reason, apart.empty() ? fmt::format("{} is saved for kernels that "
                                                          "compute '{}' again",
                                                          named(edge.value),
                                                          graph_[unit(edge.consumer).result].name)
                                            : apart);
        }
      } else if (fusion_.cluster_of(u) == to) {
        edge.decision = fusion_.yes(edge, to, reduces_before(to, edge.consumer));
      } else {
        edge.decision.fused = true;
        edge.decision.reason = Reason::recomputed;
        edge.decision.detail =
            fmt::format("{} is computed again instead of stored", named(edge.value));
      }
    }
  }

  bool reduces_before(int c, int consumer) const {
    return std::ranges::any_of(fusion_.at(c).units, [&](int u) {
      return u < consumer && std::ranges::any_of(unit(u).nodes, [&](NodeId id) {
               return is_reduction(graph_, id);
             });
    });
  }

  // Units that read one buffer and no longer run together.
  void part_siblings() {
    if (!changed_) return;
    for (Edge& edge : fusion_.edges_) {
      const bool apart = fusion_.cluster_of(edge.producer) != fusion_.cluster_of(edge.consumer);
      if (edge.decision.kind != DecisionKind::sibling || !edge.decision.fused || !apart) continue;
      edge.decision = refusal(Reason::recomputed, "one of both is computed in its readers");
      edge.decision.kind = DecisionKind::sibling;
    }
  }

  // The row of a value's two choices.
  void tell(int i) {
    const CrossingValues::Item& value = values_.item(i);
    SaveOrRecompute row;
    row.value = value.id;
    row.recomputed = again_.contains(i) && value.open;
    row.bytes_if_saved = value.saved_bytes;
    row.us_if_saved = values_.size_of(value.id) * values_.price(values_.owner_of(value.id)).byte_us;
    for (const int c : value.readers) {
      row.us_if_saved += at_sizes(values_.read_bytes(c, value.id), fusion_.options_.sizes) *
                         values_.price(c).byte_us;
    }
    for (const int u : fusion_.readers(value.id)) {
      if (fusion_.cluster_of(u) != values_.owner_of(value.id))
        row.consumers.push_back(unit(u).result);
    }
    if (const std::optional<CrossingValues::Way> way = values_.way_of(i)) {
      row.bytes_if_recomputed = way->bytes;
      row.flops_if_recomputed = way->flops;
      row.us_if_recomputed = way->us;
      for (const size_t e : edges_from_[static_cast<size_t>(fusion_.unit_of(value.id))]) {
        Edge& edge = fusion_.edges_[e];
        if (edge.value != value.id) continue;
        edge.decision.bytes_if_materialized = row.bytes_if_saved;
        edge.decision.bytes_if_recomputed = row.bytes_if_recomputed;
      }
    }
    row.why = why(value, row);
    fusion_.values_.push_back(std::move(row));
  }

  std::string why(const CrossingValues::Item& value, const SaveOrRecompute& row) const {
    if (!row.us_if_recomputed) return value.fixed;
    if (!row.recomputed && !value.refused.empty()) return value.refused;
    const double us = *row.us_if_recomputed - row.us_if_saved;
    if (values_.by_bytes())
      return row.recomputed ? "fewer bytes" : "computing it again moves more bytes";
    return fmt::format("{:.2f} us {}, predicted", std::abs(us),
                       row.recomputed == (us < 0) ? "less" : "more, but others take less by it");
  }

  Fusion& fusion_;
  const Graph& graph_;
  CrossingValues values_;
  std::set<int> again_;     // items that the last cut computes again
  std::set<NodeId> gone_;   // and what is gone then from the group that made it
  std::set<NodeId> saved_;  // that were not before
  bool changed_ = false;
  std::vector<std::vector<size_t>> edges_from_;  // producer's unit → edges, but siblings'
};

void Fusion::recompute() {
  Recomputation recomputation(this);
  recomputation.run();
  join_new_siblings();
  recomputation.tell_saved();
}

}  // namespace ingot
