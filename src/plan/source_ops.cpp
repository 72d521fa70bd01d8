#include "plan/source_ops.h"

#include <algorithm>

namespace ingot {
namespace {

class Counter {
 public:
  Counter(const Graph& graph, const UnitGraph& units, const SeparateBytes& alone)
      : graph_(graph), units_(units), alone_(alone) {}

  SourceOps run() {
    find_parts();
    for (size_t u = 0; u < units_.units.size(); ++u) {
      const FusionUnit& unit = units_.units[u];
      const bool counted = !unit.copy;
      if (counted && ops_.whole[u] == static_cast<int>(u)) ++ops_.kernels;
      ops_.separate.add(unit, reads_of(u), counted ? written_by(u) : Sym(0));
    }
    return std::move(ops_);
  }

 private:
  // A unit's op is known by the result of the last of its parts.
  void find_parts() {
    std::map<int32_t, std::vector<int>> of_source;
    for (size_t u = 0; u < units_.units.size(); ++u) {
      ops_.whole.push_back(static_cast<int>(u));
      ops_.parts.push_back(1);
      const int32_t source = graph_[units_.units[u].result].source;
      if (source >= 0 && !units_.units[u].copy) of_source[source].push_back(static_cast<int>(u));
    }
    ops_.inner.assign(graph_.nodes.size(), false);
    for (const auto& [source, parts] : of_source) {
      if (parts.size() < 2) continue;
      const auto result = [&](int u) { return units_.units[static_cast<size_t>(u)].result; };
      const int last = *std::ranges::max_element(parts, {}, result);
      for (const int u : parts) {
        ops_.whole[static_cast<size_t>(u)] = last;
        ops_.parts[static_cast<size_t>(u)] = static_cast<int>(parts.size());
        for (const NodeId id : units_.units[static_cast<size_t>(u)].nodes) {
          ops_.inner[static_cast<size_t>(id)] =
              id != result(last) && !units_.graph_output[static_cast<size_t>(id)];
        }
      }
    }
  }

  // What of a unit's op no earlier part has read; in the place of another op's parts what those
  // were made of.
  std::map<NodeId, Sym> reads_of(size_t u) {
    std::map<NodeId, Sym> reads;
    std::set<NodeId>& seen = seen_[ops_.whole[u]];
    std::vector<int> open{static_cast<int>(u)};
    while (!open.empty()) {
      const int next = open.back();
      open.pop_back();
      for (const auto& [value, bytes] : alone_.read[static_cast<size_t>(next)]) {
        const int maker = units_.unit_of[static_cast<size_t>(value)];
        const bool own = maker >= 0 && ops_.whole[static_cast<size_t>(maker)] == ops_.whole[u];
        if (own || !seen.insert(value).second) continue;
        if (ops_.inner[static_cast<size_t>(value)]) {
          open.push_back(maker);
        } else {
          reads.emplace(value, bytes);
        }
      }
    }
    return reads;
  }

  Sym written_by(size_t u) const {
    if (!ops_.is_split(static_cast<int>(u))) return alone_.written[u];
    Sym bytes(0);
    for (const NodeId value : units_.units[u].values) {
      if (!ops_.inner[static_cast<size_t>(value)]) bytes = bytes + bytes_of(graph_, value);
    }
    return bytes;
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const SeparateBytes& alone_;
  std::map<int, std::set<NodeId>> seen_;  // by whole op
  SourceOps ops_;
};

}  // namespace

SourceOps source_ops(const Graph& graph, const UnitGraph& units, const SeparateBytes& alone) {
  return Counter(graph, units, alone).run();
}

}  // namespace ingot
