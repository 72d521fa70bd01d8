#include "api/tuning_sites.h"

#include <algorithm>

#include "plan/choice.h"
#include "plan/relief.h"
#include "run/sizing.h"

namespace ingot {
namespace {

constexpr size_t most_cuts = 4;   // of a group in two
constexpr size_t most_joins = 8;  // of a plan
constexpr size_t most_schedules = 16;

class Sites {
 public:
  Sites(const Graph& graph, const DeviceModel& device, const PlanOptions& planning,
        const Plan& plan)
      : graph_(graph),
        device_(device),
        planning_(planning),
        plan_(plan),
        units_(make_units(graph)),
        sizes_(planning.sizes) {
    for (const std::string& name : size_names(graph)) sizes_.try_emplace(name, unlisted_size);
  }

  std::vector<TuningSite> run(std::set<std::vector<NodeId>>* seen) {
    std::vector<TuningSite> sites;
    for (const Group& group : plan_.groups) {
      TuningSite site{part_nodes(units_, group), group.outputs, group.name, {}, false};
      if (!seen->insert(site.nodes).second) continue;
      site.forms.push_back(planned(site.nodes));
      if (group.recomputed.empty()) divide(group, &site);
      schedules(group, &site);
      if (site.forms.size() > 1) sites.push_back(std::move(site));
    }
    joins(seen, &sites);
    return sites;
  }

 private:
  TuningForm planned(const std::vector<NodeId>& nodes) const {
    TuningForm form{"as planned", "planned", {}, 1};
    form.choice.nodes = nodes;
    form.choice.reason = Reason::measured;
    return form;
  }

  void add_parts(std::string what, std::vector<Part> parts, TuningSite* site) const {
    TuningForm form = planned(site->nodes);
    form.what = std::move(what);
    form.text = "parts:" + parts_text(units_, site->nodes, parts);
    form.kernels = parts.size();
    form.choice.parts = std::move(parts);
    form.choice.found = form.what;
    const bool known = std::ranges::any_of(
        site->forms, [&](const TuningForm& other) { return other.text == form.text; });
    if (!known) site->forms.push_back(std::move(form));
  }

  // Predicted, with the start of its kernel; nothing where it is no kernel.
  std::optional<double> predicted(const std::vector<NodeId>& nodes,
                                  const std::vector<NodeId>& outputs) const {
    Analysis analysis;
    if (outputs.empty() || !analyze(graph_, with_views(graph_, units_, nodes), outputs, &analysis))
      return std::nullopt;
    const GroupCost cost = measure(graph_, analysis, &device_, sizes_, planning_.numerics);
    if (!rows_with_columns(graph_, analysis, cost, device_)) return std::nullopt;
    return device_.launch_us + work_time(device_, work_of(cost, device_, sizes_)).us;
  }

  // Of the nodes, those that others or the program need.
  std::vector<NodeId> stored(const std::vector<NodeId>& nodes, const TuningSite& site) const {
    std::vector<NodeId> found;
    for (NodeId id : nodes) {
      const std::vector<int>& readers = units_.readers[static_cast<size_t>(id)];
      const bool outside = std::ranges::any_of(readers, [&](int u) {
        const NodeId result = units_.units[static_cast<size_t>(u)].result;
        return std::ranges::binary_search(site.nodes, result) &&
               !std::ranges::binary_search(nodes, result);
      });
      if (outside || std::ranges::binary_search(site.outputs, id)) found.push_back(id);
    }
    return found;
  }

  // Op by op; and where each place in the order of the ops is a cut, the best by the model.
  void divide(const Group& group, TuningSite* site) const {
    const std::vector<std::vector<NodeId>> own = units_within(units_, site->nodes);
    if (own.size() < 2) return;
    std::vector<Part> each;
    for (const std::vector<NodeId>& nodes : own) each.push_back({nodes, {}});
    add_parts(std::string(op_by_op), each, site);
    if (own.size() == 2) return;
    struct Place {
      double us;
      size_t at;
      std::vector<Part> parts;
    };
    std::vector<Place> places;
    for (size_t at = 1; at < own.size(); ++at) {
      std::vector<Part> halves(2);
      for (size_t u = 0; u < own.size(); ++u) {
        std::vector<NodeId>& nodes = halves[u < at ? 0 : 1].nodes;
        nodes.insert(nodes.end(), own[u].begin(), own[u].end());
      }
      double us = 0;
      bool possible = true;
      for (Part& half : halves) {
        std::ranges::sort(half.nodes);
        const std::optional<double> one = predicted(half.nodes, stored(half.nodes, *site));
        possible = possible && one.has_value();
        us += one.value_or(0);
      }
      if (possible) places.push_back({us, at, std::move(halves)});
    }
    std::ranges::stable_sort(places, {}, &Place::us);
    if (places.size() > most_cuts) places.resize(most_cuts);
    for (Place& place : places) {
      const NodeId last = own[place.at - 1].back();
      add_parts(fmt::format("cut behind '{}'", graph_[last].name), std::move(place.parts), site);
    }
    if (std::optional<Cut> halves = cut(graph_, units_, group, device_)) {
      add_parts("cut where few bytes pass", {halves->first, halves->second}, site);
    }
  }

  // Those that do not run at the sizes, and other forms of the one that does.
  void schedules(const Group& group, TuningSite* site) const {
    const auto chosen = std::ranges::find_if(
        group.schedules, [&](const Schedule& each) { return guards_hold(each, sizes_); });
    if (chosen == group.schedules.end()) return;
    std::vector<Schedule> others;
    for (auto each = group.schedules.begin(); each != group.schedules.end(); ++each) {
      if (each != chosen) others.push_back(*each);
    }
    std::ranges::move(alternatives(graph_, group, *chosen, device_), std::back_inserter(others));
    if (others.size() > most_schedules) others.resize(most_schedules);
    for (const Schedule& schedule : others) {
      TuningForm form = planned(site->nodes);
      form.what = fmt::format("schedule {}", schedule.name);
      form.choice.schedule = schedule.word();
      form.text = "schedule:" + form.choice.schedule;
      form.choice.found = form.what;
      site->forms.push_back(std::move(form));
    }
  }

  void joins(std::set<std::vector<NodeId>>* seen, std::vector<TuningSite>* sites) const {
    size_t found = 0;
    for (const Decision& decision : plan_.decisions) {
      if (found == most_joins) return;
      const std::vector<NodeId> nodes = joint_nodes(units_, plan_, decision);
      if (nodes.empty() || !seen->insert(nodes).second) continue;
      const std::vector<NodeId> outputs = joint_outputs(units_, plan_, nodes);
      if (!predicted(nodes, outputs)) continue;
      TuningSite site{nodes, outputs, "", {planned(nodes)}, true};
      for (const Group& group : plan_.groups) {
        if (!std::ranges::includes(nodes, part_nodes(units_, group))) continue;
        site.name += (site.name.empty() ? "" : "+") + group.name;
      }
      site.forms[0].kernels = 2;
      TuningForm form = planned(nodes);
      form.what = "as one kernel";
      form.text = "together";
      form.choice.parts = {{nodes, {}}};
      form.choice.found = form.what;
      site.forms.push_back(std::move(form));
      sites->push_back(std::move(site));
      ++found;
    }
  }

  const Graph& graph_;
  const DeviceModel& device_;
  const PlanOptions& planning_;
  const Plan& plan_;
  UnitGraph units_;
  Bindings sizes_;
};

}  // namespace

std::vector<TuningSite> tuning_sites(const Graph& graph, const DeviceModel& device,
                                     const PlanOptions& planning, const Plan& plan,
                                     std::set<std::vector<NodeId>>* seen) {
  return Sites(graph, device, planning, plan).run(seen);
}

}  // namespace ingot
