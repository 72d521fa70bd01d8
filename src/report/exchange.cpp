#include "report/exchange.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/number_text.h"

namespace ingot {
namespace {

using Json = ReportJson;

// A string of DOT: only the quote and the backslash mean something inside.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

struct DotGraph {
  std::map<std::string, const Json*> nodes;  // by name
  // An op that several kernels compute stands in the first of them; inputs and weights in none
  // (-1).
  std::map<int, std::vector<const Json*>> by_kernel;
  std::map<std::pair<std::string, std::string>, const Json*> decisions;  // by the ops they are on
};

DotGraph read(const Json& explained) {
  DotGraph graph;
  for (const Json& node : explained.at("nodes")) {
    graph.nodes.emplace(node.at("name").get<std::string>(), &node);
    const Json& groups = node.at("groups");
    graph.by_kernel[groups.empty() ? -1 : groups[0].get<int>()].push_back(&node);
  }
  for (const Json& decision : explained.at("decisions")) {
    const Json &producer = decision.at("producer_op"), &consumer = decision.at("consumer_op");
    const std::string kind = decision.at("kind");
    if (kind == "sibling" || kind == "formula" || !producer.is_string() || !consumer.is_string()) {
      continue;
    }
    graph.decisions.emplace(std::pair(producer.get<std::string>(), consumer.get<std::string>()),
                            &decision);
  }
  return graph;
}

bool is_stored(const Json& node) { return node.at("op") == "input" || node.at("op") == "weight"; }

std::string node_line(const Json& node) {
  const std::string name = node.at("name"), op = node.at("op"), type = node.at("type");
  const bool output = node.at("output");
  // \n is DOT's line break, so it stands outside of what quoted() escapes.
  std::string label = quoted(name);
  label.pop_back();
  label += "\\n" + quoted(is_stored(node) ? type : op + " " + type).substr(1);
  return fmt::format("{} [label={}{}{}];\n", quoted(name), label,
                     is_stored(node) ? ", shape=ellipse" : "", output ? ", penwidth=2.5" : "");
}

bool share_a_kernel(const Json& one, const Json& other) {
  const Json& groups = other.at("groups");
  return std::ranges::any_of(one.at("groups"), [&](const Json& id) {
    return std::find(groups.begin(), groups.end(), id) != groups.end();
  });
}

std::string edge_line(const DotGraph& graph, const Json& from, const Json& to) {
  const std::string producer = from.at("name"), consumer = to.at("name");
  std::string look;
  if (is_stored(from)) {
    look = "color=gray";
  } else if (!share_a_kernel(from, to)) {
    look = fmt::format("color=orangered, penwidth=2, label={}",
                       quoted(short_bytes_text(from.at("bytes").get<int64_t>())));
  } else {
    const auto decision = graph.decisions.find({producer, consumer});
    const int64_t saved =
        decision == graph.decisions.end() ? 0 : decision->second->at("bytes_saved").get<int64_t>();
    look = saved > 0 ? fmt::format("color=darkgreen, style=dashed, label={}",
                                   quoted("-" + short_bytes_text(saved)))
                     : "color=darkgreen, style=dashed";
  }
  return fmt::format("  {} -> {} [{}];\n", quoted(producer), quoted(consumer), look);
}

Json event(const std::string& name, int track, double begin, double us, Json arguments) {
  return {{"name", name},
          {"ph", "X"},
          {"pid", 1},
          {"tid", track},
          {"ts", begin},
          {"dur", us},
          {"args", std::move(arguments)}};
}

Json track_name(const std::string& name, int track) {
  return {
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

// The kernels of `groups` one after the other; `us` names the time that counts.
void add_track(Json& events, const std::string& name, int track, const Json& groups, const char* us,
               const std::vector<const char*>& shown) {
  events.push_back(track_name(name, track));
  double begin = 0;
  for (const Json& group : groups) {
    Json arguments = Json::object();
    for (const char* key : shown) arguments[key] = group.at(key);
    const double time = group.at(us);
    events.push_back(event(group.at("name"), track, begin, time, std::move(arguments)));
    begin += time;
  }
}

}  // namespace

std::string dot_text(const Json& explained) {
  const DotGraph graph = read(explained);
  std::string text = fmt::format("digraph {} {{\n  node [shape=box, style=rounded];\n",
                                 quoted(explained.at("graph").get<std::string>()));
  std::map<int, std::string> names;
  for (const Json& group : explained.at("groups")) names[group.at("id")] = group.at("name");
  for (const auto& [kernel, nodes] : graph.by_kernel) {
    const bool inside = kernel >= 0;
    if (inside) {
      text += fmt::format("  subgraph cluster_{} {{\n    label={};\n", kernel,
                          quoted(fmt::format("kernel {}: {}", kernel, names[kernel])));
    }
    for (const Json* node : nodes) text += (inside ? "    " : "  ") + node_line(*node);
    if (inside) text += "  }\n";
  }
  for (const Json& node : explained.at("nodes")) {
    for (const Json& operand : node.at("operands")) {
      const auto from = graph.nodes.find(operand.get<std::string>());
      if (from != graph.nodes.end()) text += edge_line(graph, *from->second, node);
    }
  }
  return text + "}\n";
}

Json trace_json(const Json& explained) {
  const Json& groups = explained.at("groups");
  Json events = Json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 1},
                    {"args",
                     {{"name", fmt::format("{} on {}", explained.at("graph").get<std::string>(),
                                           explained.at("device").get<std::string>())}}}});
  add_track(events, "separate, predicted", 1, explained.at("separate_groups"), "predicted_us",
            {"ops", "bytes", "flops"});
  const std::vector<const char*> shown = {"ops",         "inputs",     "outputs",
                                          "bound",       "bytes_read", "bytes_written",
                                          "bytes_saved", "flops",      "schedule"};
  add_track(events, "fused, predicted", 2, groups, "predicted_us", shown);
  const bool measured = !groups.empty() && groups[0].at("measured_us").is_number();
  if (measured) add_track(events, "fused, measured", 3, groups, "measured_us", shown);
  return {{"displayTimeUnit", "ns"},
          {"traceEvents", events},
          {"otherData",
           {{"graph", explained.at("graph")},
            {"device", explained.at("device")},
            {"numerics", explained.at("numerics")},
            {"environment", explained.at("environment")}}}};
}

}  // namespace ingot
