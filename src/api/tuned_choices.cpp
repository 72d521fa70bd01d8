#include "api/tuned_choices.h"

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "plan/choice.h"
#include "report/number_text.h"

namespace ingot {
namespace {

constexpr size_t digits = 16;   // of a group's SHA-256
constexpr int most_rounds = 8;  // of groups cut and cut again

std::string kernels_text(const std::vector<Part>& parts) {
  return counted(std::ssize(parts), "kernel");
}

// "as 2 kernels 110 us, together 123 us, op by op 140 us, within 0.8 %, on 2026-11-30".
std::string sentence(const TuningEntry& entry, const std::string& form, double us) {
  std::string text = fmt::format("{} {}", form, time_text(us));
  if (entry.together_us && *entry.together_us != us) {
    text += fmt::format(", together {}", time_text(*entry.together_us));
  }
  if (entry.apart_us && *entry.apart_us != us) {
    text += fmt::format(", op by op {}", time_text(*entry.apart_us));
  }
  return text + fmt::format(", within {:.1f} %, on {}", 100 * entry.interval, entry.date);
}

std::vector<Part> one_by_one(const UnitGraph& units, const std::vector<NodeId>& nodes) {
  std::vector<Part> parts;
  for (std::vector<NodeId>& own : units_within(units, nodes)) parts.push_back({std::move(own), {}});
  return parts;
}

// What an entry says of a group of these nodes; nothing where that is no form of it.
std::optional<Choice> choice_for(const UnitGraph& units, const std::vector<NodeId>& nodes,
                                 const TuningEntry& entry) {
  constexpr std::string_view parts = "parts:", schedule = "schedule:";
  Choice choice;
  choice.nodes = nodes;
  choice.reason = Reason::measured;
  if (entry.apart_is_faster()) {
    choice.parts = one_by_one(units, nodes);
    choice.found = sentence(entry, "op by op", *entry.apart_us);
  } else if (entry.choice.starts_with(parts)) {
    const auto divided = parse_parts(units, nodes, entry.choice.substr(parts.size()));
    if (!divided) return std::nullopt;
    choice.parts = *divided;
    choice.found = sentence(entry, "as " + kernels_text(choice.parts), entry.us);
  } else if (entry.choice.starts_with(schedule)) {
    choice.schedule = entry.choice.substr(schedule.size());
    choice.found = sentence(entry, fmt::format("schedule {}", choice.schedule), entry.us);
  } else {
    choice.found = sentence(entry, "as planned", entry.us);
  }
  if (choice.parts.size() == 1) choice.parts.clear();
  return choice;
}

class Resolver {
 public:
  Resolver(const Graph& graph, const DeviceModel& device, const PlanOptions& planning,
           const TuningDatabase& database, const TuningTarget& target)
      : graph_(graph),
        device_(device),
        planning_(planning),
        database_(database),
        target_(target),
        units_(make_units(graph)) {}

  std::vector<Choice> run() {
    for (int round = 0; round < most_rounds; ++round) {
      const Plan plan = make_plan(graph_, device_, planning_);
      const size_t before = planning_.choices.size();
      for (const Group& group : plan.groups) {
        look_up(part_nodes(units_, group), group.outputs, false);
      }
      for (const Decision& decision : plan.decisions) join(plan, decision);
      if (planning_.choices.size() == before) break;
      drop_what_fails(before);
    }
    return std::move(planning_.choices);
  }

 private:
  void look_up(const std::vector<NodeId>& nodes, const std::vector<NodeId>& outputs, bool joins) {
    if (!seen_.insert(nodes).second) return;
    const GroupKey key = group_key(graph_, units_, nodes, outputs, planning_.sizes);
    const TuningEntry* entry = database_.find(tuning_key(target_, key));
    if (entry == nullptr || joins != (entry->choice == "together")) return;
    if (joins) {
      Choice choice;
      choice.nodes = nodes;
      choice.parts = {{nodes, {}}};
      choice.reason = Reason::measured;
      choice.found = sentence(*entry, "as one kernel", entry->us);
      planning_.choices.push_back(std::move(choice));
    } else if (std::optional<Choice> choice = choice_for(units_, nodes, *entry)) {
      planning_.choices.push_back(std::move(*choice));
    }
  }

  // Two groups that the planner kept apart, since it saw no gain.
  void join(const Plan& plan, const Decision& decision) {
    const std::vector<NodeId> nodes = joint_nodes(units_, plan, decision);
    if (!nodes.empty()) look_up(nodes, joint_outputs(units_, plan, nodes), true);
  }

  // Entries are of equal groups, but an edited file may say anything.
  void drop_what_fails(size_t first) {
    try {
      make_plan(graph_, device_, planning_);
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
    }
    std::vector<Choice> all(planning_.choices.begin() + static_cast<ptrdiff_t>(first),
                            planning_.choices.end());
    planning_.choices.resize(first);
    for (Choice& choice : all) {
      planning_.choices.push_back(std::move(choice));
      try {
        make_plan(graph_, device_, planning_);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::input) throw;
        planning_.choices.pop_back();
      }
    }
  }

  const Graph& graph_;
  const DeviceModel& device_;
  PlanOptions planning_;
  const TuningDatabase& database_;
  const TuningTarget& target_;
  UnitGraph units_;
  std::set<std::vector<NodeId>> seen_;
};

}  // namespace

TuningKey tuning_key(const TuningTarget& target, const GroupKey& key) {
  return {target.device, target.numerics, sha256_hex(key.text).substr(0, digits), key.sizes,
          plan_version};
}

std::vector<NodeId> joint_nodes(const UnitGraph& units, const Plan& plan,
                                const Decision& decision) {
  const bool doubted =
      !decision.fused && decision.producer >= 0 && decision.consumer >= 0 &&
      (decision.reason == Reason::no_gain || decision.reason == Reason::row_too_large);
  if (!doubted) return {};
  std::vector<NodeId> nodes;
  size_t groups = 0;
  for (const Group& group : plan.groups) {
    const auto owns = [&](NodeId id) {
      return std::ranges::binary_search(group.nodes, id) &&
             !std::ranges::binary_search(group.recomputed, id);
    };
    if (!owns(decision.producer) && !owns(decision.consumer)) continue;
    if (!group.recomputed.empty()) return {};
    ++groups;
    std::vector<NodeId> all;
    std::ranges::set_union(nodes, part_nodes(units, group), std::back_inserter(all));
    nodes = std::move(all);
  }
  return groups == 2 ? nodes : std::vector<NodeId>{};
}

std::vector<NodeId> joint_outputs(const UnitGraph& units, const Plan& plan,
                                  const std::vector<NodeId>& nodes) {
  std::vector<NodeId> outputs;
  for (const Group& group : plan.groups) {
    for (NodeId id : group.outputs) {
      if (!std::ranges::binary_search(nodes, id)) continue;
      const std::vector<int>& readers = units.readers[static_cast<size_t>(id)];
      const bool outside = std::ranges::any_of(readers, [&](int u) {
        const NodeId result = units.units[static_cast<size_t>(u)].result;
        return !std::ranges::binary_search(nodes, result);
      });
      if (outside || units.graph_output[static_cast<size_t>(id)]) outputs.push_back(id);
    }
  }
  std::ranges::sort(outputs);
  return outputs;
}

std::vector<Choice> tuned_choices(const Graph& graph, const DeviceModel& device,
                                  const PlanOptions& planning, const TuningDatabase& database,
                                  const TuningTarget& target) {
  if (database.size() == 0) return {};
  return Resolver(graph, device, planning, database, target).run();
}

}  // namespace ingot
