#include "plan/choice.h"

#include <algorithm>
#include <bit>

#include "plan/relief.h"

namespace ingot {
namespace {

constexpr int64_t bounds_on_registers[] = {32, 40, 48, 64, 80, 96, 128};

bool holds(const Part& part, NodeId id) { return std::ranges::binary_search(part.nodes, id); }

// The edges within nodes that were divided anew. A value that a part computes again is used where
// it is made.
void tell_edges(const Choice& choice, const UnitGraph& units, std::vector<Edge>* edges) {
  auto inside = [&](int u) {
    const NodeId result = units.units[static_cast<size_t>(u)].result;
    return std::ranges::binary_search(choice.nodes, result);
  };
  for (Edge& edge : *edges) {
    if (edge.producer < 0 || !inside(edge.producer) || !inside(edge.consumer)) continue;
    const NodeId made = units.units[static_cast<size_t>(edge.producer)].result;
    const NodeId used = units.units[static_cast<size_t>(edge.consumer)].result;
    const bool together = std::ranges::any_of(
        choice.parts, [&](const Part& part) { return holds(part, made) && holds(part, used); });
    if (together == edge.decision.fused) continue;
    edge.decision.fused = together;
    edge.decision.reason = choice.reason;
    edge.decision.detail = choice.found;
  }
  for (const Part& part : choice.parts) {
    for (Edge& edge : *edges) {
      const bool again = std::ranges::binary_search(part.recomputed, edge.value);
      if (!again || edge.consumer < 0 || !inside(edge.consumer)) continue;
      if (!holds(part, units.units[static_cast<size_t>(edge.consumer)].result)) continue;
      edge.decision.reason = Reason::recomputed;
      edge.decision.detail = choice.found;
    }
  }
}

// The parts of a plan that a choice divides anew: one that it cuts, or those that it joins. Empty
// where there are none.
std::vector<size_t> parts_of(const Choice& choice, const std::vector<Part>& parts) {
  std::vector<size_t> found;
  std::vector<NodeId> nodes;
  for (size_t p = 0; p < parts.size(); ++p) {
    if (!std::ranges::includes(choice.nodes, parts[p].nodes)) continue;
    found.push_back(p);
    std::vector<NodeId> all;
    std::ranges::set_union(nodes, parts[p].nodes, std::back_inserter(all));
    nodes = std::move(all);
  }
  const bool changes = found.size() > 1 || choice.parts.size() > 1;
  return nodes == choice.nodes && changes ? found : std::vector<size_t>{};
}

Schedule named(const Schedule& schedule, std::string_view words) {
  Schedule other = schedule;
  other.name = fmt::format("{}, {}", schedule.name, words);
  return other;
}

// On a CPU.
std::vector<Schedule> host_alternatives(const Schedule& schedule) {
  std::vector<Schedule> list;
  if (!schedule.staged.empty()) {
    list.push_back(named(schedule, "read again"));
    list.back().staged.clear();
  }
  if (schedule.row_blocks > 0) {
    const int64_t other = schedule.row_blocks == 4 ? 8 : 4;
    list.push_back(named(schedule, fmt::format("{} rows", other)));
    list.back().row_blocks = other;
  }
  if (!schedule.tile_variable.empty()) {
    const bool along = !schedule.tiles_along_outputs;
    list.push_back(named(schedule, along ? "along outputs" : "along operands"));
    list.back().tiles_along_outputs = along;
  }
  return list;
}

bool is_one_unit(const UnitGraph& units, const std::vector<NodeId>& nodes) {
  return std::ranges::all_of(nodes, [&](NodeId id) {
    return units.unit_of[static_cast<size_t>(id)] ==
           units.unit_of[static_cast<size_t>(nodes.front())];
  });
}

// Sizes of the class of those given, of the names that the group has.
std::vector<Schedule::AtLeast> guards_of_class(const Graph& graph, const Group& group,
                                               const Bindings& sizes) {
  std::vector<Schedule::AtLeast> guards;
  for (const std::string& name : sizes_of(graph, group.nodes)) {
    const auto found = sizes.find(name);
    const int64_t size = found == sizes.end() ? unlisted_size : found->second;
    const int number = size_class(size);
    const int64_t least = number < 0 ? 0 : int64_t{1} << number;
    const int64_t most = number < 0 ? 0 : least + (least - 1);
    guards.push_back({Sym::var(name), least});
    guards.push_back({Sym(0) - Sym::var(name), -most});
  }
  return guards;
}

}  // namespace

const Choice* choice_of(const std::vector<Choice>& choices, const std::vector<NodeId>& nodes) {
  const auto found = std::find_if(choices.rbegin(), choices.rend(),
                                  [&](const Choice& choice) { return choice.nodes == nodes; });
  return found == choices.rend() ? nullptr : &*found;
}

std::vector<NodeId> part_nodes(const UnitGraph& units, const Group& group) {
  std::vector<NodeId> nodes;
  for (NodeId id : group.nodes) {
    if (units.unit_of[static_cast<size_t>(id)] >= 0) nodes.push_back(id);
  }
  return nodes;
}

void apply_parts(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
                 const PlanOptions& options, Partition* partition, std::vector<Group>* groups) {
  std::vector<const Choice*> open;
  for (const Choice& choice : options.choices) {
    const bool last = choice_of(options.choices, choice.nodes) == &choice;
    if (last && !choice.parts.empty()) open.push_back(&choice);
  }
  bool changed = false;
  for (size_t i = 0; i < open.size();) {
    const Choice& choice = *open[i];
    std::vector<size_t> divided = parts_of(choice, partition->parts);
    if (divided.empty()) {
      ++i;
      continue;
    }
    for (auto p = divided.rbegin(); p != divided.rend(); ++p) {
      partition->parts.erase(partition->parts.begin() + static_cast<ptrdiff_t>(*p));
    }
    partition->parts.insert(partition->parts.begin() + static_cast<ptrdiff_t>(divided.front()),
                            choice.parts.begin(), choice.parts.end());
    tell_edges(choice, units, &partition->edges);
    changed = true;
    open.erase(open.begin() + static_cast<ptrdiff_t>(i));
    i = 0;  // others may be of what has come about
  }
  if (changed) *groups = build_groups(graph, units, partition->parts, device, options);
}

std::vector<Schedule> alternatives(const Graph& graph, const Group& group, const Schedule& schedule,
                                   const DeviceModel& device) {
  if (!device.gpu) return host_alternatives(schedule);
  std::vector<Schedule> list = relieved(schedule, elements_of_thread(graph, group));
  for (const int64_t bound : bounds_on_registers) {
    list.push_back(named(schedule, fmt::format("at most {} registers", bound)));
    list.back().most_registers = bound;
  }
  return list;
}

void apply_schedules(const Graph& graph, const Choice& choice, const DeviceModel& device,
                     const Bindings& sizes, Group* group) {
  if (choice.steps > 0) {
    for (Schedule& schedule : group->schedules) {
      const std::vector<Schedule> list = relieved(schedule, elements_of_thread(graph, *group));
      if (!list.empty()) schedule = list[std::min(choice.steps, list.size()) - 1];
    }
  }
  if (choice.schedule.empty()) return;
  std::vector<Schedule> known = group->schedules;
  for (const Schedule& schedule : group->schedules) {
    std::ranges::move(alternatives(graph, *group, schedule, device), std::back_inserter(known));
  }
  const auto first = std::ranges::find_if(
      known, [&](const Schedule& schedule) { return schedule.word() == choice.schedule; });
  if (first == known.end()) return;
  Schedule preferred = *first;
  preferred.guards = guards_of_class(graph, *group, sizes);
  std::vector<Schedule> list = {preferred};
  // What nothing keeps from running leaves no room for others, but for one that needs alignment.
  if (!preferred.guards.empty() || preferred.streaming) {
    for (const Schedule& schedule : group->schedules) {
      const bool same = schedule.name == preferred.name && preferred.guards.empty();
      if (!same) list.push_back(schedule);
    }
  }
  group->schedules = std::move(list);
}

std::vector<Decision> choice_decisions(const UnitGraph& units, const std::vector<Choice>& choices,
                                       const std::vector<Group>& groups) {
  std::vector<Decision> decisions;
  for (const Group& group : groups) {
    const std::vector<NodeId> nodes = part_nodes(units, group);
    const Choice* choice = choice_of(choices, nodes);
    if (choice == nullptr || choice->reason != Reason::measured) continue;
    const bool plain = choice->schedule.empty() && is_one_unit(units, nodes);
    if (plain || choice->found.empty()) continue;
    Decision decision;
    decision.fused = true;
    decision.reason = choice->reason;
    decision.kind = DecisionKind::measurement;
    decision.detail = fmt::format("group {}, {}", group.name, choice->found);
    decision.producer = nodes.front();
    decision.consumer = group.outputs.back();
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

int size_class(int64_t size) {
  return size <= 0 ? -1 : std::bit_width(static_cast<uint64_t>(size)) - 1;
}

}  // namespace ingot
