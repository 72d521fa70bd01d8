// The plan as text. Groups, their nodes and schedules read back; lines after # are derived.
#include <algorithm>

#include "base/text.h"
#include "plan/choice.h"
#include "plan/narrow.h"
#include "plan/plan_words.h"
#include "plan/source_ops.h"

namespace ingot {
namespace {

class Printer {
 public:
  Printer(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  std::string run() {
    out_.open(fmt::format("plan {} for {} numerics {} fusion {} {{", quoted_name(plan_.graph_name),
                          quoted_name(plan_.device), numerics_text(plan_.numerics),
                          fusion_text(plan_.fusion)));
    for (const Group& g : plan_.groups) group(g);
    for (const Decision& d : plan_.decisions) decision(d);
    out_.close();
    return out_.take();
  }

 private:
  std::string names(const std::vector<NodeId>& nodes) const {
    std::vector<std::string> parts;
    for (NodeId id : nodes) parts.push_back(quoted_name(graph_[id].name));
    return join(parts, ", ");
  }

  void group(const Group& g) {
    out_.open(fmt::format("group {} {{", g.name));
    std::vector<NodeId> own;
    for (NodeId id : g.nodes) {
      bool stored = std::binary_search(g.outputs.begin(), g.outputs.end(), id);
      bool creation = op_info(graph_[id].op).category == Category::creation;
      if (stored || !(is_view(graph_, id) || creation)) own.push_back(id);
    }
    out_.line(fmt::format("nodes {}", names(own)));
    std::vector<std::string> schedules;
    for (const Schedule& s : g.schedules) schedules.push_back("\"" + s.name + "\"");
    if (!g.recomputed.empty()) out_.line(fmt::format("again {}", names(g.recomputed)));
    out_.line(fmt::format("schedules {}", join(schedules, ", ")));
    out_.line(fmt::format("# {}: {}", kind_text(g.kind), g.reason));
    std::vector<std::string> vars;
    for (const DomainVar& v : g.domain.vars) {
      vars.push_back(
          fmt::format("{} < {}{}", v.name, v.extent.text(), v.reduced ? " reduced" : ""));
    }
    out_.line(fmt::format("# domain {}", vars.empty() ? "of one point" : join(vars, ", ")));
    out_.line(fmt::format("# reads {}: {} bytes", names(g.inputs), g.traffic.read.text()));
    out_.line(fmt::format("# writes {}: {} bytes", names(g.outputs), g.traffic.written.text()));
    for (const Schedule& s : g.schedules) schedule(s);
    out_.close();
  }

  void schedule(const Schedule& s) {
    std::vector<std::string> parts;
    for (const Schedule::AtLeast& guard : s.guards) {
      parts.push_back(guard.text());
    }
    std::string text = fmt::format("# \"{}\"", s.name);
    if (!parts.empty()) text += " when " + join(parts, " and ");
    if (s.block_rows > 0) text += fmt::format(", blocks of {} rows", s.block_rows);
    if (!s.staged.empty()) text += ", keeps " + names(s.staged);
    if (!s.fetched.empty()) {
      text += fmt::format(", fetches {}, {} row{} at once, {} ahead", names(s.fetched),
                          s.rows_together, s.rows_together == 1 ? "" : "s", s.rows_ahead);
    }
    out_.line(text);
  }

  void decision(const Decision& d) {
    const std::string_view between =
        d.kind == DecisionKind::sibling                                            ? "with"
        : d.kind == DecisionKind::resources || d.kind == DecisionKind::measurement ? "to"
                                                                                   : "->";
    const std::string edge = d.source >= 0
                                 ? quoted_name(graph_.sources[static_cast<size_t>(d.source)].name)
                                 : fmt::format("{} {} {}", quoted_name(graph_[d.producer].name),
                                               between, quoted_name(graph_[d.consumer].name));
    std::string text = fmt::format("# {} {}: {}, {}", d.fused ? "fused" : "not fused", edge,
                                   reason_text(d.reason), d.detail);
    if (!d.bytes_saved.is(0)) text += fmt::format("; saves {} bytes", d.bytes_saved.text());
    if (d.bytes_if_materialized) {
      text += fmt::format("; materialized {} bytes, recomputed {} bytes",
                          d.bytes_if_materialized->text(), d.bytes_if_recomputed->text());
    }
    out_.line(text);
  }

  const Graph& graph_;
  const Plan& plan_;
  Writer out_;
};

// An edited plan as it stands in the text.
struct TextGroup {
  std::string name;
  Location location;
  std::vector<NodeId> nodes, again;  // `again`: of the nodes those that another group owns
  std::vector<std::pair<std::string, Location>> schedules;
};

class Parser {
 public:
  Parser(const Graph& graph, const UnitGraph& units, std::string_view text, const std::string& file)
      : graph_(graph), units_(units), cursor_(file, text) {
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
      by_name_[graph[id].name] = id;
    }
  }

  // `plan` has what is asked for, and gets the fusion that the text has.
  std::vector<TextGroup> run(Plan* plan) {
    Location start = cursor_.location();
    cursor_.expect("plan");
    Location at = cursor_.location();
    if (std::string name = cursor_.identifier("the graph's name"); name != graph_.name) {
      cursor_.fail(at, fmt::format("this plan is for graph '{}', not '{}'", name, graph_.name));
    }
    header("for", "device", plan->device);
    header("numerics", "numerics", numerics_text(plan->numerics));
    fusion(&plan->fusion);
    cursor_.expect("{");
    std::vector<TextGroup> groups;
    while (!cursor_.accept("}")) groups.push_back(group());
    if (!cursor_.at_end()) {
      cursor_.fail(cursor_.location(), fmt::format("expected the end of the plan, got '{}'",
                                                   cursor_.next_token_text()));
    }
    check_complete(start, groups);
    return groups;
  }

  [[noreturn]] void fail(const Location& at, const std::string& message) {
    cursor_.fail(at, message);
  }

 private:
  // A plan holds for what it was made for: its schedules and bits depend on both.
  void header(std::string_view word, std::string_view what, std::string_view asked) {
    cursor_.expect(word);
    const Location at = cursor_.location();
    const std::string given = cursor_.identifier(word);
    if (given == asked) return;
    cursor_.fail(at,
                 fmt::format("this plan is for {} {}, but {} is asked for; --{} {} asks for the "
                             "plan's",
                             what, given, asked, what, given));
  }

  // The groups are the fusion: the word only says what they were made by.
  void fusion(FusionMode* mode) {
    cursor_.expect("fusion");
    const Location at = cursor_.location();
    const std::string given = cursor_.identifier("fusion");
    for (const FusionMode known : {FusionMode::off, FusionMode::automatic, FusionMode::all}) {
      if (given != fusion_text(known)) continue;
      *mode = known;
      return;
    }
    cursor_.fail(at, fmt::format("fusion is off, auto or all, not '{}'", given));
  }

  TextGroup group() {
    cursor_.expect("group");
    TextGroup result;
    result.location = cursor_.location();
    result.name = cursor_.identifier("a group's name");
    cursor_.expect("{");
    cursor_.expect("nodes");
    do {
      node(&result.nodes);
    } while (cursor_.accept(","));
    if (cursor_.accept("again")) {
      do {
        Location at = cursor_.location();
        node(&result.again);
        if (!result.again.empty() && std::ranges::count(result.nodes, result.again.back()) == 0) {
          cursor_.fail(at, "what is computed again is one of the group's nodes");
        }
      } while (cursor_.accept(","));
    }
    cursor_.expect("schedules");
    do {
      Location at = cursor_.location();
      result.schedules.emplace_back(cursor_.string_literal("a schedule's name"), at);
    } while (cursor_.accept(","));
    cursor_.expect("}");
    std::sort(result.nodes.begin(), result.nodes.end());
    return result;
  }

  void node(std::vector<NodeId>* nodes) {
    Location at = cursor_.location();
    std::string name = cursor_.identifier("a node's name");
    auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      cursor_.fail(at, fmt::format("the graph has no node '{}'", name));
    }
    NodeId id = found->second;
    if (units_.unit_of[static_cast<size_t>(id)] < 0) {
      if (is_free(graph_, units_, id)) return;  // goes with its readers by itself
      cursor_.fail(at, fmt::format("'{}' is not computed by a kernel", name));
    }
    if (std::ranges::find(*nodes, id) != nodes->end()) {
      cursor_.fail(at, fmt::format("'{}' stands in this group twice", name));
    }
    nodes->push_back(id);
  }

  void check_complete(const Location& start, const std::vector<TextGroup>& groups) {
    std::set<NodeId> placed;
    for (const TextGroup& g : groups) {
      if (g.nodes.empty()) cursor_.fail(g.location, "the group computes nothing");
      for (const NodeId id : g.nodes) {
        if (std::ranges::count(g.again, id) == 0) placed.insert(id);
      }
    }
    for (const FusionUnit& unit : units_.units) {
      for (NodeId id : unit.nodes) {
        if (placed.count(id) == 0) {
          cursor_.fail(start, fmt::format("'{}' stands in no group", graph_[id].name));
        }
      }
    }
  }

  const Graph& graph_;
  const UnitGraph& units_;
  Cursor cursor_;
  std::map<std::string, NodeId> by_name_;
};

// The first group that lists a node, and not as computed again, owns it.
std::vector<Part> parts_of(const std::vector<TextGroup>& groups) {
  std::vector<Part> parts;
  std::set<NodeId> owned;
  for (const TextGroup& group : groups) {
    Part part{group.nodes, {}};
    for (NodeId id : group.nodes) {
      const bool again = std::ranges::count(group.again, id) > 0;
      if (again || !owned.insert(id).second) part.recomputed.push_back(id);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

void keep_schedules(const Graph& graph, const DeviceModel& device, Parser& parser,
                    const TextGroup& text, Group* group) {
  std::vector<Schedule> kept, known = group->schedules;
  for (const Schedule& schedule : group->schedules) {
    std::ranges::move(alternatives(graph, *group, schedule, device), std::back_inserter(known));
  }
  for (const auto& [name, at] : text.schedules) {
    auto found = std::ranges::find_if(known, [&](const Schedule& s) { return s.name == name; });
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const Schedule& s : known) {
        const std::string quoted = "\"" + s.name + "\"";
        if (std::ranges::find(names, quoted) == names.end()) names.push_back(quoted);
      }
      parser.fail(at, fmt::format("group '{}' has no schedule \"{}\"; it has {}", text.name, name,
                                  join(names, ", ")));
    }
    kept.push_back(*found);
  }
  kept.back().guards.clear();  // what is left has to serve every size
  group->schedules = std::move(kept);
}

// Every edge of the source program as the edited plan has it.
std::vector<Edge> edges_of(const Graph& graph, const UnitGraph& units,
                           const std::vector<Group>& groups) {
  std::vector<Edge> edges;
  std::vector<std::set<NodeId>> inside(units.units.size());
  for (const Group& group : groups) {
    for (NodeId id : group.nodes) {
      int u = units.unit_of[static_cast<size_t>(id)];
      if (u >= 0) inside[static_cast<size_t>(u)].insert(group.nodes.begin(), group.nodes.end());
    }
  }
  for (size_t u = 0; u < units.units.size(); ++u) {
    for (NodeId value : units.units[u].reads) {
      int producer = units.unit_of[static_cast<size_t>(value)];
      if (producer < 0) continue;
      Edge edge{value, value, producer, static_cast<int>(u), {}};
      edge.decision.fused = inside[u].count(value) > 0;
      edge.decision.reason = Reason::user_plan;
      edge.decision.detail = fmt::format("as the plan says for '{}'", graph[value].name);
      edges.push_back(std::move(edge));
    }
  }
  return edges;
}

}  // namespace

std::string print(const Graph& graph, const Plan& plan) { return Printer(graph, plan).run(); }

Plan parse_plan(const Graph& graph, std::string_view text, const std::string& file,
                const DeviceModel& device, const PlanOptions& asked) {
  UnitGraph nodes = make_units(graph, true);
  Parser parser(graph, nodes, text, file);
  Plan plan;
  plan.graph_name = graph.name;
  plan.device = device.name;
  plan.numerics = asked.numerics;
  plan.fusion = asked.fusion;
  std::vector<TextGroup> written = parser.run(&plan);
  PlanOptions options = asked;
  options.fusion = plan.fusion;
  std::vector<Part> parts = parts_of(written);
  int failed = -1;
  try {
    plan.groups = build_groups(graph, nodes, parts, device, options, &failed);
  } catch (const Error& error) {
    if (failed < 0) throw;
    parser.fail(written[static_cast<size_t>(failed)].location, error.message());
  }
  std::map<NodeId, std::vector<size_t>> with_node;
  for (size_t p = 0; p < parts.size(); ++p) {
    for (NodeId id : parts[p].nodes) with_node[id].push_back(p);
  }
  for (Group& group : plan.groups) {
    for (size_t p : with_node[group.outputs.front()]) {
      if (!std::includes(group.nodes.begin(), group.nodes.end(), parts[p].nodes.begin(),
                         parts[p].nodes.end())) {
        continue;
      }
      bool same = std::all_of(group.outputs.begin(), group.outputs.end(), [&](NodeId id) {
        return std::binary_search(parts[p].nodes.begin(), parts[p].nodes.end(), id);
      });
      if (!same) continue;
      group.name = written[p].name;
      keep_schedules(graph, device, parser, written[p], &group);
      break;
    }
  }
  UnitGraph units = make_units(graph);
  const SourceOps ops = source_ops(graph, units, separate(graph, units), device, options);
  plan.decisions = account(graph, units, edges_of(graph, units, plan.groups), plan.groups, ops);
  narrow(graph, device, &plan);
  plan.separate_bytes = ops.separate.total;
  plan.separate_kernels = ops.kernels;
  verify(graph, plan, "edited plan");
  return plan;
}

}  // namespace ingot
