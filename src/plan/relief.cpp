// Groups whose kernels spill: other schedules, and cuts.
#include "plan/relief.h"

#include <algorithm>

#include "base/cuda_threads.h"

namespace ingot {
namespace {

constexpr double least_share = 0.25;  // of a group's instructions, in either half if possible
constexpr size_t most_cuts = 8;       // that are looked at, the cheapest first
constexpr int64_t fewest_elements = 2;
constexpr int most_blocks = 8;  // of a cluster

// The units of a group in an order in which what leads to one of its outputs stands together.
class Cutter {
 public:
  Cutter(const Graph& graph, const UnitGraph& units, const Group& group, const DeviceModel& device)
      : graph_(graph), units_(units), group_(group), device_(device) {
    for (NodeId id : group.outputs) visit(id);
    for (NodeId id : group.nodes) visit(id);  // what only a check needs
    for (int u : order_) {
      double work = 1;
      for (NodeId id : unit(u).nodes) work += instructions_of(graph_[id], true);
      work_.push_back(work);
      all_ += work;
    }
  }

  std::optional<Cut> best() const {
    struct Place {
      Cut cut;
      bool lopsided;
      double bytes, imbalance;
    };
    std::vector<Place> places;
    double before = 0;
    for (size_t first = 1; first < order_.size(); ++first) {
      before += work_[first - 1];
      const double share = std::min(before, all_ - before) / all_;
      Cut cut = cut_at(first);
      const double bytes = at_sizes(cut.bytes, {});
      places.push_back({std::move(cut), share < least_share, bytes, 0.5 - share});
    }
    std::ranges::sort(places, [](const Place& a, const Place& b) {
      return std::tie(a.lopsided, a.bytes, a.imbalance) <
             std::tie(b.lopsided, b.bytes, b.imbalance);
    });
    if (places.size() > most_cuts) places.resize(most_cuts);
    for (const Place& place : places) {
      const Cut& cut = place.cut;
      if (runs(cut.first, cut.second) && runs(cut.second, cut.first)) return cut;
    }
    return std::nullopt;
  }

 private:
  const FusionUnit& unit(int u) const { return units_.units[static_cast<size_t>(u)]; }
  bool inside(NodeId id) const { return std::ranges::binary_search(group_.nodes, id); }

  void visit(NodeId node) {
    const NodeId id = root(graph_, units_, node);
    const int u = units_.unit_of[static_cast<size_t>(id)];
    if (u < 0 || !inside(id) || !seen_.insert(u).second) return;
    for (NodeId part : unit(u).nodes) {
      for (NodeId operand : graph_[part].operands) visit(operand);
    }
    order_.push_back(u);
  }

  Part part(const std::vector<int>& own, const std::set<int>& again) const {
    Part part;
    auto add = [&](int u, bool recomputed) {
      for (NodeId id : unit(u).nodes) {
        if (!inside(id)) continue;
        part.nodes.push_back(id);
        if (recomputed || std::ranges::binary_search(group_.recomputed, id)) {
          part.recomputed.push_back(id);
        }
      }
    };
    for (int u : own) add(u, false);
    for (int u : again) add(u, true);
    std::ranges::sort(part.nodes);
    std::ranges::sort(part.recomputed);
    return part;
  }

  std::set<NodeId> read(const Part& part) const {
    std::set<NodeId> values;
    for (NodeId id : part.nodes) {
      for (NodeId operand : graph_[id].operands) {
        const NodeId value = root(graph_, units_, operand);
        if (!std::ranges::binary_search(part.nodes, value) && !is_literal(graph_, value)) {
          values.insert(value);
        }
      }
    }
    return values;
  }

  Sym bytes_of_all(const std::set<NodeId>& values) const {
    Sym bytes;
    for (NodeId value : values) bytes = bytes + bytes_of(graph_, value);
    return bytes;
  }

  // A value that goes from the first half to the second is stored and read again, or, where that is
  // little work on fewer bytes, computed again; what both halves read is read twice.
  Cut cut_at(size_t first) const {
    const auto middle = order_.begin() + static_cast<ptrdiff_t>(first);
    const std::vector<int> before(order_.begin(), middle), behind(middle, order_.end());
    const Part head = part(before, {});
    std::set<int> again;
    for (NodeId value : read(part(behind, {}))) {
      if (!std::ranges::binary_search(head.nodes, value)) continue;
      const std::optional<std::set<int>> way = little_work(value);
      if (!way || at_sizes(bytes_of_all(read(part({}, *way))), {}) >
                      at_sizes(bytes_of(graph_, value), {})) {
        continue;
      }
      again.insert(way->begin(), way->end());
    }
    Cut cut{head, part(behind, again), 0};
    const std::set<NodeId> reads = read(head);
    for (NodeId value : read(cut.second)) {
      const bool made = std::ranges::binary_search(head.nodes, value);
      const bool stored = std::ranges::binary_search(group_.outputs, value);
      if (made && !stored) cut.bytes = cut.bytes + bytes_of(graph_, value);
      if (made || reads.contains(value)) cut.bytes = cut.bytes + bytes_of(graph_, value);
    }
    return cut;
  }

  // The few elementwise units of the group that lead to the value.
  std::optional<std::set<int>> little_work(NodeId value) const {
    constexpr size_t most_units = 4;
    std::set<int> way;
    std::vector<NodeId> open = {value};
    while (!open.empty()) {
      const NodeId id = root(graph_, units_, open.back());
      open.pop_back();
      const int u = units_.unit_of[static_cast<size_t>(id)];
      if (u < 0 || !inside(id) || !way.insert(u).second) continue;
      const bool plain =
          unit(u).nodes.size() == 1 && op_info(graph_[id].op).category == Category::elementwise;
      if (!plain || way.size() > most_units) return std::nullopt;
      open.insert(open.end(), graph_[id].operands.begin(), graph_[id].operands.end());
    }
    return way;
  }

  bool runs(const Part& part, const Part& other) const {
    std::vector<NodeId> outputs;
    const std::set<NodeId> needed = read(other);
    for (NodeId id : part.nodes) {
      if (std::ranges::binary_search(group_.outputs, id) || needed.contains(id)) {
        outputs.push_back(id);
      }
    }
    if (outputs.empty()) return false;
    Analysis analysis;
    if (!analyze(graph_, with_views(graph_, units_, part.nodes), outputs, &analysis)) return false;
    const GroupCost cost = measure(graph_, analysis, &device_, {}, Numerics::exact);
    return static_cast<bool>(rows_with_columns(graph_, analysis, cost, device_));
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const Group& group_;
  const DeviceModel& device_;
  std::set<int> seen_;
  std::vector<int> order_;
  std::vector<double> work_;
  double all_ = 0;
};

}  // namespace

std::vector<Schedule> relieved(const Schedule& schedule, int64_t elements) {
  std::vector<Schedule> list;
  const bool elementwise = schedule.block_columns > 0 && schedule.tile_rows == 0 &&
                           !schedule.column_bands && !schedule.row_bands && !schedule.spread_rows;
  Schedule next = schedule;
  next.all_registers = true;
  next.name = schedule.name + ", all registers";
  list.push_back(next);
  if (next.thread_rows > 1) {
    next.thread_rows = 1;
    next.name = schedule.name + ", one row a thread";
    list.push_back(next);
  }
  while (elementwise && elements > fewest_elements) {
    elements /= 2;
    next.block_columns = next.block_columns / (2 * elements) * elements;
    next.thread_elements = elements;
    next.name = fmt::format("{}, {} elements a thread", schedule.name, elements);
    list.push_back(next);
  }
  if (next.blocks > 1 && next.blocks < most_blocks) {
    next.blocks *= 2;
    next.name = schedule.name + ", twice the blocks";
    list.push_back(next);
  }
  if (!schedule.staged.empty() && !schedule.row_bands) {
    next.staged.clear();
    next.all_registers = false;  // nothing of a row is kept, so they would be idle
    next.blocks = 1;
    next.chunk_rows = false;
    next.name = schedule.name + ", read again";
    list.push_back(next);
  }
  return list;
}

std::optional<Cut> cut(const Graph& graph, const UnitGraph& units, const Group& group,
                       const DeviceModel& device) {
  return Cutter(graph, units, group, device).best();
}

}  // namespace ingot
