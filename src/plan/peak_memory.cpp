#include "plan/peak_memory.h"

#include <algorithm>

#include "plan/choice.h"

namespace ingot {
namespace {

constexpr size_t most_rounds = 12;     // of undoing 1, 2, 4, … groups; then all are undone
constexpr size_t most_restored = 8;    // undone groups that are tried once more
constexpr double most_bytes = 0x1p60;  // above: sizes that no memory has

class Peak {
 public:
  Peak(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
       const PlanOptions& options, Partition* partition, std::vector<Group>* groups)
      : graph_(graph),
        units_(units),
        device_(device),
        options_(options),
        partition_(*partition),
        groups_(*groups),
        sizes_(options.sizes) {
    for (const std::string& name : size_names(graph)) sizes_.try_emplace(name, unlisted_size);
  }

  void run() {
    double all = 0;
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) all += bytes(id);
    if (all > most_bytes) return;
    fused_ = arena(groups_);
    if (fused_ <= least_separate()) return;
    find_separate();
    if (fused_ <= separate_) return;
    const Partition before = partition_;
    std::vector<Part> undone;
    for (size_t round = 0; arena(groups_) > separate_; ++round) {
      const std::vector<Part> next =
          round < most_rounds ? at_the_peak(size_t{1} << round) : fused_parts();
      if (next.empty()) return;  // nothing is left to undo
      for (const Part& part : next) {
        undo(part, &partition_);
        undone.push_back(part);
      }
      rebuild();
    }
    restore(before, &undone);
    for (const Part& part : undone) tell(part);
  }

 private:
  double bytes(NodeId id) const { return at_sizes(bytes_of(graph_, id), sizes_); }
  int64_t arena(const std::vector<Group>& groups) const {
    return plan_buffers(graph_, groups, sizes_).arena_bytes;
  }
  void rebuild() { groups_ = build_groups(graph_, units_, partition_.parts, device_, options_); }
  bool returned(NodeId id) const { return units_.graph_output[static_cast<size_t>(id)]; }

  // A bound from below that takes no planning: an op that is a kernel of its own has its operands
  // and results in memory at once.
  int64_t least_separate() const {
    std::map<int32_t, int> parts;
    for (const FusionUnit& unit : units_.units) ++parts[graph_[unit.result].source];
    auto alone = [&](int u) {
      const FusionUnit& unit = units_.units[static_cast<size_t>(u)];
      const int32_t source = graph_[unit.result].source;
      return !unit.copy && source >= 0 && parts.at(source) == 1;
    };
    double most = 0;
    for (size_t u = 0; u < units_.units.size(); ++u) {
      if (!alone(static_cast<int>(u))) continue;
      double sum = 0;
      for (NodeId id : units_.units[u].values) sum += returned(id) ? 0 : bytes(id);
      for (NodeId id : units_.units[u].reads) {
        const int maker = units_.unit_of[static_cast<size_t>(id)];
        if (maker >= 0 && alone(maker) && !returned(id)) sum += bytes(id);
      }
      most = std::max(most, sum);
    }
    return static_cast<int64_t>(most);
  }

  void find_separate() {
    PlanOptions off = options_;
    off.fusion = FusionMode::off;
    off.choices.clear();
    const Partition apart = partition(graph_, units_, device_, off);
    separate_ = arena(build_groups(graph_, units_, apart.parts, device_, off));
    apart_ = apart.parts;
  }

  // The parts of the separate program that this one is made of, without what others own; nothing
  // where it is not made of whole ones.
  std::vector<Part> parts_within(const Part& part) const {
    std::vector<Part> found;
    size_t nodes = 0;
    for (const Part& own : apart_) {
      const bool again = std::ranges::includes(part.recomputed, own.nodes);
      if (again || !std::ranges::includes(part.nodes, own.nodes)) continue;
      found.push_back(own);
      nodes += own.nodes.size();
    }
    return nodes + part.recomputed.size() == part.nodes.size() ? found : std::vector<Part>{};
  }

  bool is_fused(const Part& part) const {
    const size_t count = parts_within(part).size();
    return count > 1 || (count == 1 && !part.recomputed.empty());
  }

  // Where most waits in memory: the group there, then those of the largest values that wait; at
  // most so many.
  std::vector<Part> at_the_peak(size_t most) const {
    struct Life {
      NodeId value;
      size_t first, last;
    };
    std::map<NodeId, Life> lives;
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (NodeId id : groups_[g].inputs) {
        if (const auto found = lives.find(id); found != lives.end()) found->second.last = g;
      }
      for (NodeId id : groups_[g].outputs) {
        if (!returned(id)) lives[id] = {id, g, g};
      }
    }
    std::vector<double> waiting(groups_.size() + 1);
    for (const auto& [id, life] : lives) {
      for (size_t g = life.first; g <= life.last; ++g) waiting[g] += bytes(id);
    }
    const auto peak = static_cast<size_t>(std::ranges::max_element(waiting) - waiting.begin());
    std::vector<std::pair<double, size_t>> candidates;
    for (const auto& [id, life] : lives) {
      if (life.first > peak || life.last < peak) continue;
      for (size_t g = life.first; g <= life.last; ++g) {
        const bool touches = g == life.first || std::ranges::count(groups_[g].inputs, id) > 0;
        if (touches) candidates.emplace_back(g == peak ? most_bytes : bytes(id), g);
      }
    }
    std::ranges::stable_sort(candidates, std::greater<>());
    std::vector<Part> found;
    std::set<size_t> seen;
    for (const auto& [weight, g] : candidates) {
      if (found.size() == most || !seen.insert(g).second) continue;
      const Part* part = part_of(groups_[g]);
      if (part != nullptr && is_fused(*part)) found.push_back(*part);
    }
    if (found.empty()) found = fused_parts();
    if (found.size() > most) found.resize(most);
    return found;
  }

  const Part* part_of(const Group& group) const {
    const auto found = std::ranges::find(partition_.parts, part_nodes(units_, group), &Part::nodes);
    return found == partition_.parts.end() ? nullptr : &*found;
  }

  std::vector<Part> fused_parts() const {
    std::vector<Part> found;
    for (const Part& part : partition_.parts) {
      if (is_fused(part)) found.push_back(part);
    }
    return found;
  }

  void undo(const Part& part, Partition* partition) const {
    const auto place = std::ranges::find(partition->parts, part.nodes, &Part::nodes);
    const auto after = partition->parts.erase(place);
    const std::vector<Part> own = parts_within(part);
    partition->parts.insert(after, own.begin(), own.end());
  }

  // Undone on the way, and not in the way of it.
  void restore(const Partition& before, std::vector<Part>* undone) {
    size_t tried = 0;
    for (size_t i = 0; i < undone->size() && undone->size() > 1 && tried < most_restored; ++tried) {
      Partition without = before;
      for (size_t k = 0; k < undone->size(); ++k) {
        if (k != i) undo((*undone)[k], &without);
      }
      std::vector<Group> groups = build_groups(graph_, units_, without.parts, device_, options_);
      if (arena(groups) > separate_) {
        ++i;
        continue;
      }
      partition_.parts = std::move(without.parts);
      groups_ = std::move(groups);
      undone->erase(undone->begin() + static_cast<ptrdiff_t>(i));
    }
  }

  void tell(const Part& part) {
    const std::string detail = fmt::format(
        "together {} of intermediates at once, {} op by op; --allow-memory permits it",
        bytes_text(static_cast<double>(fused_)), bytes_text(static_cast<double>(separate_)));
    auto inside = [&](int u) {
      const NodeId result = units_.units[static_cast<size_t>(u)].result;
      return std::ranges::binary_search(part.nodes, result);
    };
    for (Edge& edge : partition_.edges) {
      const bool parted = edge.producer >= 0 && edge.decision.fused && inside(edge.producer) &&
                          inside(edge.consumer) && edge.producer != edge.consumer &&
                          !together(edge.producer, edge.consumer);
      if (!parted) continue;
      edge.decision.fused = false;
      edge.decision.reason = Reason::memory;
      edge.decision.detail = detail;
    }
  }

  bool together(int a, int b) const {
    const NodeId first = units_.units[static_cast<size_t>(a)].result;
    const NodeId second = units_.units[static_cast<size_t>(b)].result;
    return std::ranges::any_of(apart_, [&](const Part& part) {
      return std::ranges::binary_search(part.nodes, first) &&
             std::ranges::binary_search(part.nodes, second);
    });
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const DeviceModel& device_;
  const PlanOptions& options_;
  Partition& partition_;
  std::vector<Group>& groups_;
  Bindings sizes_;
  int64_t fused_ = 0, separate_ = 0;  // bytes of intermediates
  std::vector<Part> apart_;
};

}  // namespace

void keep_peak(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
               const PlanOptions& options, Partition* partition, std::vector<Group>* groups) {
  if (options.fusion != FusionMode::automatic || options.allow_memory) return;
  Peak(graph, units, device, options, partition, groups).run();
}

}  // namespace ingot
