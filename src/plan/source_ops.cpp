#include "plan/source_ops.h"

#include <algorithm>

namespace ingot {
namespace {

class Counter {
 public:
  Counter(const Graph& graph, const UnitGraph& units, const SeparateBytes& alone,
          const DeviceModel& device, const PlanOptions& options)
      : graph_(graph), units_(units), alone_(alone), device_(device), options_(options) {}

  SourceOps run() {
    find_parts();
    for (size_t u = 0; u < units_.units.size(); ++u) {
      const FusionUnit& unit = units_.units[u];
      const bool counted = !unit.copy;
      if (counted && ops_.whole[u] == static_cast<int>(u)) ++ops_.kernels;
      ops_.separate.add(unit, reads_of(u), counted ? written_by(u) : Sym(0));
    }
    add_gone();
    return std::move(ops_);
  }

 private:
  // What passes found to be another value is an op of the program all the same.
  void add_gone() {
    const std::vector<SourceOp>& sources = graph_.sources;
    std::vector<bool> left(sources.size(), false);
    for (const Node& node : graph_.nodes) {
      const auto source = static_cast<size_t>(node.source);
      if (node.source >= 0 && source < left.size()) left[source] = true;
    }
    std::map<std::string_view, size_t> gone;  // by name
    for (size_t s = 0; s < left.size(); ++s) {
      if (left[s] || sources[s].bytes.is(0)) continue;
      gone.emplace(sources[s].name, ops_.gone.size());
      ops_.gone.push_back({static_cast<int32_t>(s), sources[s].bytes});
      ++ops_.kernels;
    }
    if (gone.empty()) return;
    for (size_t s = 0; s < left.size(); ++s) {
      if (left[s] && !sources[s].bytes.is(0)) read_once(sources[s], gone);
    }
    for (const SourceOps::Gone& op : ops_.gone) {
      ops_.separate.total = ops_.separate.total + op.bytes;
    }
  }

  // Of two operands that became one value the op by itself reads both.
  void read_once(const SourceOp& reader, const std::map<std::string_view, size_t>& gone) {
    std::set<std::string_view> names, values;
    for (const std::string& operand : reader.operands) {
      if (!names.insert(operand).second) continue;
      const auto found = gone.find(operand);
      std::string_view value = operand;
      for (auto at = found; at != gone.end() && !source(at).equal_to.empty(); at = gone.find(value))
        value = source(at).equal_to;
      if (values.insert(value).second || found == gone.end()) continue;
      const TensorType& type = source(found).type;
      Sym& bytes = ops_.gone[found->second].bytes;
      bytes = bytes + element_count(type.shape) * Sym(byte_size(type.dtype));
    }
  }
  const SourceOp& source(std::map<std::string_view, size_t>::const_iterator gone) const {
    return graph_.sources[static_cast<size_t>(ops_.gone[gone->second].source)];
  }

  // A unit's op is known by the result of the last of its parts.
  void find_parts() {
    std::map<std::pair<int32_t, int>, std::vector<int>> kernels;  // op and part of the plan → units
    const std::vector<int> part_of = parts_of_split_ops();
    for (size_t u = 0; u < units_.units.size(); ++u) {
      ops_.whole.push_back(static_cast<int>(u));
      ops_.parts.push_back(1);
      const int32_t source = source_of(u);
      if (source >= 0) kernels[{source, part_of[u]}].push_back(static_cast<int>(u));
    }
    ops_.inner.assign(graph_.nodes.size(), false);
    for (const auto& [kernel, parts] : kernels) {
      if (parts.size() < 2) continue;
      const auto result = [&](int u) { return units_.units[static_cast<size_t>(u)].result; };
      const int last = *std::ranges::max_element(parts, {}, result);
      const bool whole_op = kernel.second < 0;
      for (const int u : parts) {
        ops_.whole[static_cast<size_t>(u)] = last;
        ops_.parts[static_cast<size_t>(u)] = static_cast<int>(parts.size());
        for (const NodeId id : units_.units[static_cast<size_t>(u)].nodes) {
          ops_.inner[static_cast<size_t>(id)] = id != result(last) &&
                                                !units_.graph_output[static_cast<size_t>(id)] &&
                                                (whole_op || stays_in(parts, id));
        }
      }
    }
  }

  // The op of a unit; -1 of copies.
  int32_t source_of(size_t u) const {
    return units_.units[u].copy ? -1 : graph_[units_.units[u].result].source;
  }

  bool stays_in(const std::vector<int>& parts, NodeId value) const {
    const std::vector<int>& readers = units_.readers[static_cast<size_t>(value)];
    return std::ranges::includes(parts, readers);  // both ascending
  }

  // Unit → the part of the plan without fusion that it is in, of ops that are several there; -1 of
  // others.
  std::vector<int> parts_of_split_ops() const {
    std::map<int32_t, std::set<int>> parts_of;  // of ops that are several units
    for (size_t u = 0; u < units_.units.size(); ++u) {
      if (const int32_t source = source_of(u); source >= 0) {
        parts_of[source].insert(static_cast<int>(u));
      }
    }
    std::erase_if(parts_of, [](const auto& op) { return op.second.size() < 2; });
    std::vector<int> part_of(units_.units.size(), -1);
    if (parts_of.empty()) return part_of;
    PlanOptions apart = options_;
    apart.fusion = FusionMode::off;
    const std::vector<Part> parts = partition(graph_, units_, device_, apart).parts;
    for (size_t p = 0; p < parts.size(); ++p) {
      for (const NodeId id : parts[p].nodes) {
        if (const int u = units_.unit_of[static_cast<size_t>(id)]; u >= 0) {
          part_of[static_cast<size_t>(u)] = static_cast<int>(p);
        }
      }
    }
    for (auto& [source, inside] : parts_of) {
      std::set<int> apart_in;
      for (const int u : inside) apart_in.insert(part_of[static_cast<size_t>(u)]);
      inside = std::move(apart_in);
    }
    for (size_t u = 0; u < part_of.size(); ++u) {
      const auto found = parts_of.find(source_of(u));
      if (found == parts_of.end() || found->second.size() < 2) part_of[u] = -1;
    }
    return part_of;
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
  const DeviceModel& device_;
  const PlanOptions& options_;
  std::map<int, std::set<NodeId>> seen_;  // by whole op
  SourceOps ops_;
};

}  // namespace

SourceOps source_ops(const Graph& graph, const UnitGraph& units, const SeparateBytes& alone,
                     const DeviceModel& device, const PlanOptions& options) {
  return Counter(graph, units, alone, device, options).run();
}

}  // namespace ingot
