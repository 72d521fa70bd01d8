// explain_json: groups, decisions and totals, at concrete sizes.

#include <algorithm>

#include <nlohmann/json.hpp>

#include "emit/emit.h"
#include "plan/plan_words.h"
#include "report/program_json.h"
#include "report/report.h"
#include "report/resources.h"
#include "run/sizing.h"

namespace ingot {
namespace {

using Json = ReportJson;

std::vector<std::string> node_names(const Graph& graph, const std::vector<NodeId>& ids) {
  std::vector<std::string> names;
  for (const NodeId id : ids) {
    names.push_back(graph[id].name);
  }
  return names;
}

Json resources_of(const ExplainInput& input, size_t group, size_t variant) {
  if (!input.device.gpu) return no_resources();
  const loop::Kernel& kernel = input.kernels[group][variant];
  const auto compiled = input.compiled.find(kernel.name);
  if (compiled != input.compiled.end()) return compiled->second;
  const std::string obstacle = cuda_obstacle(kernel);
  return resources_json(kernel, input.device, input.sizes,
                        obstacle.empty() ? input.compiler_problem : obstacle);
}

// Why the group runs on no device of this model.
Json obstacle_of(const ExplainInput& input, size_t group, size_t variant) {
  if (!input.device.gpu) return nullptr;
  const std::string obstacle = cuda_obstacle(input.kernels[group][variant]);
  return obstacle.empty() ? Json(nullptr) : Json(obstacle);
}

Json variants_json(const Group& group) {
  Json variants = Json::array();
  for (const Schedule& schedule : group.schedules) {
    Json guards = Json::array();
    for (const Schedule::AtLeast& guard : schedule.guards) {
      guards.push_back(guard.text());
    }
    variants.push_back({{"name", schedule.name}, {"guards", guards}});
  }
  return variants;
}

// A fused edge's saving belongs to the group that computes the consumer.
std::vector<int64_t> savings_by_group(const ExplainInput& input) {
  std::vector<int64_t> saved(input.plan.groups.size(), 0);
  std::vector<int> owner(input.graph.nodes.size(), -1);
  for (size_t g = input.plan.groups.size(); g-- > 0;) {
    for (const NodeId id : input.plan.groups[g].nodes) {
      owner[static_cast<size_t>(id)] = static_cast<int>(g);
    }
  }
  for (const Decision& decision : input.plan.decisions) {
    const int group = decision.consumer < 0 ? -1 : owner[static_cast<size_t>(decision.consumer)];
    if (decision.fused && group >= 0) {
      saved[static_cast<size_t>(group)] += decision.bytes_saved.evaluate(input.sizes);
    }
  }
  return saved;
}

double percent_of_copy(int64_t bytes, double us, double copy_gbs) {
  return us > 0 && copy_gbs > 0 ? 100.0 * static_cast<double>(bytes) / (us * 1e3) / copy_gbs : 0;
}

Json group_json(const ExplainInput& input, size_t position, int64_t saved) {
  const Group& group = input.plan.groups[position];
  const Graph& graph = input.graph;
  const size_t variant = chosen_variant(group, input.sizes);
  const Estimate predicted = estimate(group, input.device, input.sizes);
  const int64_t bytes = group_bytes(group).evaluate(input.sizes);
  Json measured = nullptr, percent = nullptr;
  if (input.measured) {
    const double us = input.measured->group_us[position];
    measured = us;
    percent = percent_of_copy(bytes, us, input.measured->copy_gbs);
  }
  return {
      {"id", group.id},
      {"name", group.name},
      {"kind", kind_text(group.kind)},
      {"ops", op_names(graph, group)},
      {"inputs", node_names(graph, group.inputs)},
      {"outputs", node_names(graph, group.outputs)},
      {"materialized", node_names(graph, group.materialized)},
      {"recomputed", node_names(graph, group.recomputed)},
      {"reason", group.reason},
      {"bytes_read", group.traffic.read.evaluate(input.sizes)},
      {"bytes_written", group.traffic.written.evaluate(input.sizes)},
      {"bytes_workspace", group.traffic.workspace.evaluate(input.sizes)},
      {"bytes_saved", saved},
      {"flops", group.flops.evaluate(input.sizes)},
      {"intensity", predicted.intensity},
      {"bound", predicted.bound},
      {"schedule", group.schedules.empty() ? Json(nullptr) : Json(group.schedules[variant].name)},
      {"variants", variants_json(group)},
      {"batch_invariant", group.batch_invariant},
      {"obstacle", obstacle_of(input, position, variant)},
      {"resources", resources_of(input, position, variant)},
      {"predicted_us", predicted.us},
      {"measured_us", measured},
      {"percent_of_ceiling", percent}};
}

Json decision_json(const ExplainInput& input, const Decision& decision) {
  const Graph& graph = input.graph;
  const auto name = [&](NodeId id) { return id < 0 ? Json(nullptr) : Json(graph[id].name); };
  // The user's op that the node is (part of); an input or a weight is itself.
  const auto op = [&](NodeId id) {
    const int32_t source = id < 0 ? -1 : graph[id].source;
    return source < 0 ? name(id) : Json(graph.sources[static_cast<size_t>(source)].name);
  };
  const auto bytes = [&](const std::optional<Sym>& sym) {
    return sym ? Json(sym->evaluate(input.sizes)) : Json(nullptr);
  };
  Json fits = nullptr;
  if (decision.producer >= 0) {
    const TensorType& type = graph[decision.producer].type;
    const int64_t size = element_count(type.shape).evaluate(input.sizes) * byte_size(type.dtype);
    fits = static_cast<double>(size) <= input.device.cache_bytes;
  }
  // Of an op that no node is left of.
  const Json gone = decision.source < 0
                        ? Json(nullptr)
                        : Json(graph.sources[static_cast<size_t>(decision.source)].name);
  return {{"producer", name(decision.producer)},
          {"consumer", decision.source < 0 ? name(decision.consumer) : gone},
          {"producer_op", op(decision.producer)},
          {"consumer_op", decision.source < 0 ? op(decision.consumer) : gone},
          {"kind", kind_text(decision.kind)},
          {"fused", decision.fused},
          {"reason", reason_text(decision.reason)},
          {"detail", decision.detail},
          {"bytes_saved", decision.bytes_saved.evaluate(input.sizes)},
          {"fits_l2", fits},
          {"bytes_if_materialized", bytes(decision.bytes_if_materialized)},
          {"bytes_if_recomputed", bytes(decision.bytes_if_recomputed)}};
}

// Both choices of each value that kernels exchange, with the memory that it takes while it waits.
Json save_or_recompute_json(const ExplainInput& input) {
  const Graph& graph = input.graph;
  std::map<NodeId, std::pair<int, int>>
      held;  // the group that makes it, the last one that reads it
  for (const Group& group : input.plan.groups) {
    for (const NodeId id : group.outputs) held[id] = {group.id, group.id};
    for (const NodeId id : group.inputs) {
      if (const auto found = held.find(id); found != held.end()) found->second.second = group.id;
    }
  }
  const auto number = [&](const std::optional<Sym>& sym) {
    return sym ? Json(sym->evaluate(input.sizes)) : Json(nullptr);
  };
  Json rows = Json::array();
  for (const SaveOrRecompute& row : input.plan.values) {
    const TensorType& type = graph[row.value].type;
    const auto place = held.find(row.value);
    const bool waits = place != held.end();
    rows.push_back(
        {{"value", graph[row.value].name},
         {"consumers", node_names(graph, row.consumers)},
         {"chosen", row.recomputed ? "recomputed" : "saved"},
         {"bytes_if_saved", row.bytes_if_saved.evaluate(input.sizes)},
         {"us_if_saved", row.us_if_saved},
         {"bytes_if_recomputed", number(row.bytes_if_recomputed)},
         {"flops_if_recomputed", number(row.flops_if_recomputed)},
         {"us_if_recomputed", row.us_if_recomputed ? Json(*row.us_if_recomputed) : Json(nullptr)},
         {"memory_bytes",
          waits ? element_count(type.shape).evaluate(input.sizes) * byte_size(type.dtype) : 0},
         {"held_from", waits ? Json(place->second.first) : Json(nullptr)},
         {"held_to", waits ? Json(place->second.second) : Json(nullptr)},
         {"why", row.why}});
  }
  return rows;
}

Json totals_json(const ExplainInput& input) {
  int64_t fused_bytes = 0;
  double fused_us = 0;
  for (const Group& group : input.plan.groups) {
    fused_bytes += group_bytes(group).evaluate(input.sizes);
    fused_us += estimate(group, input.device, input.sizes).us;
  }
  const int64_t separate = input.plan.separate_bytes.evaluate(input.sizes);
  const auto peak = [&](const Plan& plan) {
    return plan_buffers(input.graph, plan, input.sizes).peak_bytes;
  };
  const auto& measured = input.measured;
  return {{"ops", input.graph.sources.size()},
          {"kernels_separate", input.plan.separate_kernels},
          {"kernels_fused", input.plan.groups.size()},
          {"bytes_separate", separate},
          {"bytes_fused", fused_bytes},
          {"bytes_saved", separate - fused_bytes},
          {"bytes_saved_net", separate - fused_bytes},
          {"peak_memory_separate", peak(input.separate)},
          {"peak_memory_fused", peak(input.plan)},
          {"predicted_us_separate", estimate(input.separate, input.device, input.sizes).us},
          {"predicted_us_fused", fused_us},
          {"measured_us_separate", measured ? Json(measured->separate_us) : Json(nullptr)},
          {"measured_us_fused", measured ? Json(measured->fused_us) : Json(nullptr)},
          {"copy_gbs", measured ? Json(measured->copy_gbs) : Json(nullptr)}};
}

}  // namespace

ReportJson explain_json(const ExplainInput& input, const ReportJson& environment) {
  Json dims = Json::object();
  for (const std::string& name : size_names(input.graph)) {
    dims[name] = input.sizes.at(name);
  }
  const std::vector<int64_t> saved = savings_by_group(input);
  Json groups = Json::array();
  for (size_t g = 0; g < input.plan.groups.size(); ++g) {
    groups.push_back(group_json(input, g, saved[g]));
  }
  Json decisions = Json::array();
  for (const Decision& decision : input.plan.decisions) {
    decisions.push_back(decision_json(input, decision));
  }
  const bool silent = !input.compiler_problem.empty();
  Json report = {{"graph", input.graph.name},
                 {"device", input.device.name},
                 {"numerics", numerics_text(input.plan.numerics)},
                 {"boundary", "device_memory"},
                 {"dims", dims},
                 {"environment", environment},
                 {"totals", totals_json(input)},
                 {"groups", groups},
                 {"decisions", decisions},
                 {"save_or_recompute", save_or_recompute_json(input)},
                 {"nodes", nodes_json(input)},
                 {"separate_groups", separate_groups_json(input)},
                 {"device_model", device_model_json(input.device)},
                 {"compiler_problem", silent ? Json(input.compiler_problem) : Json(nullptr)}};
  if (input.measured || !input.edited_not_run.empty()) {
    report["edited_not_run"] = input.edited_not_run;
  }
  return report;
}

}  // namespace ingot
