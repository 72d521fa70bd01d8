#include "report/program_json.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "op/op.h"
#include "plan/plan_words.h"

namespace ingot {
namespace {

using Json = ReportJson;

int64_t byte_count(const TensorType& type, const Bindings& sizes) {
  return element_count(type.shape).evaluate(sizes) * byte_size(type.dtype);
}

Json node_json(const std::string& name, const std::string& op, const TensorType& type,
               const Bindings& sizes) {
  return {{"name", name},
          {"op", op},
          {"type", type_text(type)},
          {"bytes", byte_count(type, sizes)},
          {"operands", Json::array()},
          {"output", false},
          {"groups", Json::array()}};
}

// By the user's op, the groups that compute a part of it.
std::vector<std::set<int>> groups_of_sources(const ExplainInput& input) {
  std::vector<std::set<int>> groups(input.graph.sources.size());
  for (const Group& group : input.plan.groups) {
    for (const NodeId id : group.nodes) {
      const int32_t source = input.graph[id].source;
      if (source >= 0) groups[static_cast<size_t>(source)].insert(group.id);
    }
  }
  return groups;
}

std::set<std::string> output_names(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.outputs) {
    const int32_t source = graph[id].source;
    names.insert(source >= 0 ? graph.sources[static_cast<size_t>(source)].name : graph[id].name);
  }
  return names;
}

}  // namespace

std::vector<std::string> op_names(const Graph& graph, const Group& group) {
  std::vector<std::string> names;
  std::set<int32_t> seen;
  for (const NodeId id : group.nodes) {
    const int32_t source = graph[id].source;
    if (source >= 0 && seen.insert(source).second) {
      names.push_back(graph.sources[static_cast<size_t>(source)].name);
    }
  }
  return names;
}

Json nodes_json(const ExplainInput& input) {
  const Graph& graph = input.graph;
  std::unordered_map<std::string, const Node*> stored;  // inputs and weights
  for (const Node& node : graph.nodes) {
    if (node.op == Op::input || node.op == Op::constant) stored.emplace(node.name, &node);
  }
  const std::vector<std::set<int>> groups = groups_of_sources(input);
  const std::set<std::string> outputs = output_names(graph);
  Json nodes = Json::array();
  std::set<std::string> listed;
  const auto list_stored = [&](const Node& node) {
    if (!listed.insert(node.name).second) return;
    nodes.push_back(
        node_json(node.name, node.op == Op::input ? "input" : "weight", node.type, input.sizes));
  };
  for (const NodeId id : graph.inputs) list_stored(graph[id]);
  for (size_t s = 0; s < graph.sources.size(); ++s) {
    const SourceOp& source = graph.sources[s];
    Json node = node_json(source.name, std::string(op_name(source.op)), source.type, input.sizes);
    for (size_t i = 0; i < source.operands.size(); ++i) {
      const std::string& operand = source.operands[i];
      const auto& literals = source.literal_operands;
      if (std::find(literals.begin(), literals.end(), static_cast<int64_t>(i)) != literals.end()) {
        continue;
      }
      if (const auto found = stored.find(operand); found != stored.end()) {
        list_stored(*found->second);
      }
      node["operands"].push_back(operand);
    }
    node["output"] = outputs.count(source.name) != 0;
    node["groups"] = groups[s];
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Json separate_groups_json(const ExplainInput& input) {
  Json groups = Json::array();
  for (const Group& group : input.separate.groups) {
    groups.push_back({{"name", group.name},
                      {"kind", kind_text(group.kind)},
                      {"ops", op_names(input.graph, group)},
                      {"bytes", group_bytes(group).evaluate(input.sizes)},
                      {"flops", group.flops.evaluate(input.sizes)},
                      {"predicted_us", estimate(group, input.device, input.sizes).us}});
  }
  return groups;
}

Json device_model_json(const DeviceModel& model) {
  return {{"name", model.name},
          {"kind", model.gpu ? "gpu" : "cpu"},
          {"architecture", model.architecture},
          {"multiprocessors", model.multiprocessors},
          {"copy_gbs", model.copy_gbs},
          {"read_gbs", model.read_gbs},
          {"cache_gbs", model.cache_gbs},
          {"cache_bytes", model.cache_bytes},
          {"f32_gflops", model.f32_gflops},
          {"product_gflops", model.product_gflops},
          {"instructions_gps", model.instructions_gps},
          {"special_gps", model.special_gps},
          {"launch_us", model.launch_us},
          {"start_us", model.start_us},
          {"registers_per_sm", model.registers_per_sm},
          {"register_allocation", model.register_allocation},
          {"max_threads_per_sm", model.max_threads_per_sm},
          {"max_blocks_per_sm", model.max_blocks_per_sm},
          {"shared_per_sm", model.shared_per_sm},
          {"shared_per_block", model.shared_per_block},
          {"source", model.source}};
}

}  // namespace ingot
