#include "plan/fuse.h"

#include <algorithm>

#include "base/error.h"

namespace ingot {
namespace {

constexpr double least_saving = 0.05;  // of the time to read what both groups would keep in memory

bool on_domain(const Domain& domain, NodeId node) {
  auto found = domain.index.find(node);
  if (found == domain.index.end()) return false;
  for (const DomainVar& var : domain.vars) {
    if (!var.reduced) continue;
    for (const Sym& index : found->second) {
      if (index.uses(var.name)) return true;
    }
  }
  return false;
}

// What two groups read from others when they are one.
std::vector<NodeId> read_together(const Cluster& a, const Cluster& b) {
  std::vector<NodeId> reads = united(a.reads, b.reads);
  std::erase_if(reads, [&](NodeId id) {
    return std::ranges::binary_search(a.nodes, id) || std::ranges::binary_search(b.nodes, id);
  });
  return reads;
}

}  // namespace

Decision refusal(Reason reason, std::string detail) {
  Decision decision;
  decision.reason = reason;
  decision.detail = std::move(detail);
  return decision;
}

std::vector<NodeId> united(const std::vector<NodeId>& a, const std::vector<NodeId>& b) {
  std::vector<NodeId> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

Fusion::Fusion(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
               const PlanOptions& options, bool op_by_op)
    : graph_(graph), units_(units), device_(device), options_(options), op_by_op_(op_by_op) {}

Partition Fusion::run() {
  start();
  for (int u = 0; u < static_cast<int>(units_.units.size()); ++u) join_producers(u);
  if (options_.fusion == FusionMode::off) {
    join_siblings();  // parts of one op
  } else {
    try_again();
    join_siblings();
    recompute();
  }
  return finish();
}

std::string Fusion::named(NodeId node) const {
  return fmt::format("'{}' {}", graph_[node].name, shape_text(graph_[node].type.shape));
}

// Every unit alone.
void Fusion::start() {
  clusters_.reserve(units_.units.size());
  for (size_t u = 0; u < units_.units.size(); ++u) {
    const FusionUnit& unit = units_.units[u];
    Cluster cluster;
    cluster.units = {static_cast<int>(u)};
    cluster.reach = static_cast<int>(u);
    cluster.nodes = with_views(graph_, units_, unit.nodes);
    cluster.outputs = unit.values;
    cluster.reads = unit.reads;
    std::ranges::sort(cluster.reads);
    for (NodeId id : unit.nodes) {
      if (is_contraction(graph_, id)) cluster.contraction_unit = static_cast<int>(u);
      cluster.reductions = cluster.reductions || is_reduction(graph_, id);
      cluster.instructions += instructions_of(graph_[id], device_.gpu);
    }
    cluster.alike = cluster.nodes.size() == 1 &&
                    op_info(graph_[unit.result].op).category == Category::elementwise;
    if (!start_like(unit, &cluster)) start_alone(unit, &cluster);
    clusters_.push_back(std::move(cluster));
    cluster_of_.push_back(static_cast<int>(u));
  }
}

void Fusion::start_alone(const FusionUnit& unit, Cluster* cluster) {
  Analysis analysis;
  Decision decision = analyze(graph_, cluster->nodes, cluster->outputs, &analysis);
  INGOT_CHECK(decision.fused, "'{}' has no domain: {}", graph_[unit.result].name, decision.detail);
  GroupCost cost = measure(graph_, analysis, &device_, options_.sizes, options_.numerics);
  cluster->work = work_of(cost);
  separate_.add(unit, std::move(cost.read), std::move(cost.written));
  cluster->domain = std::move(analysis.domain);
}

// An elementwise op that differs from an earlier one in nothing but its operands' values: what was
// found there, for its own nodes. Long programs have few different ones.
bool Fusion::start_like(const FusionUnit& unit, Cluster* cluster) {
  if (!cluster->alike || cluster->outputs.size() != 1) return false;
  const Node& node = graph_[unit.result];
  std::string kind = fmt::format("{} {}", op_name(node.op), type_text(node.type));
  for (NodeId operand : node.operands) {
    auto place = std::find(unit.reads.begin(), unit.reads.end(), operand);
    bool literal = place == unit.reads.end();
    kind += fmt::format(", {} {}", literal ? -1 : place - unit.reads.begin(),
                        type_text(graph_[operand].type));
  }
  int own = static_cast<int>(cluster->units.front());
  auto [first, added] = first_like_.emplace(std::move(kind), own);
  if (added) return false;
  const Cluster& model = at(first->second);
  const FusionUnit& other = units_.units[static_cast<size_t>(first->second)];
  cluster->work = model.work;
  cluster->domain.vars = model.domain.vars;
  cluster->domain.index[unit.result] = model.domain.index.at(other.result);
  std::map<NodeId, Sym> read;
  for (size_t i = 0; i < unit.reads.size(); ++i) {
    read[unit.reads[i]] = separate_.read[static_cast<size_t>(first->second)].at(other.reads[i]);
  }
  separate_.add(unit, std::move(read), separate_.written[static_cast<size_t>(first->second)]);
  return true;
}

Cluster::Work Fusion::work_of(const Analysis& analysis) const {
  return work_of(measure(graph_, analysis, &device_, options_.sizes, options_.numerics));
}

Cluster::Work Fusion::work_of(const GroupCost& cost) const {
  double bytes = at_sizes(cost.read_bytes + cost.written, options_.sizes);
  const Work detail = ingot::work_of(cost, device_, options_.sizes);
  // How a CPU's cores share out rows is the schedule's, which is not chosen yet.
  Work work = detail;
  if (!device_.gpu) work.parallel = work.row_length = 0;
  return {bytes,
          work_time(device_, work).us,
          cost.row_stays,
          at_sizes(cost.row_bytes, options_.sizes),
          cost.near_row_bytes,
          detail};
}

const Cluster::Work& Fusion::work(int cluster) {
  Cluster& c = at(cluster);
  if (!c.work) c.work = work_of(analysis_of(c));
  return *c.work;
}

Analysis Fusion::analysis_of(const Cluster& cluster) const {
  Analysis analysis;
  Decision decision = analyze(graph_, cluster.nodes, cluster.outputs, &analysis);
  if (!decision && !cluster.walked && op_by_op_) throw LostDomain();
  INGOT_CHECK(decision.fused, "a group lost its domain: {}", decision.detail);
  return analysis;
}

// Edges into a unit, the largest value first: it is worth most.
void Fusion::join_producers(int u) {
  std::vector<Edge> edges;
  for (NodeId value : unit(u).reads) {
    if (unit_of(value) < 0) continue;
    NodeId via = value;
    for (NodeId id : unit(u).nodes) {
      for (NodeId operand : graph_[id].operands) {
        if (via == value && root(graph_, units_, operand) == value) via = operand;
      }
    }
    Edge edge{value, via, unit_of(value), u, {}};
    edges.push_back(std::move(edge));
  }
  std::stable_sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
    return at_sizes(bytes_of(graph_, a.value), options_.sizes) >
           at_sizes(bytes_of(graph_, b.value), options_.sizes);
  });
  for (Edge& edge : edges) {
    edge.decision = try_edge(edge);
    int p = cluster_of(edge.producer), c = cluster_of(edge.consumer);
    tried_.emplace_back(at(p).version, at(c).version);
    edges_.push_back(std::move(edge));
  }
}

// A refused edge gets another chance where one of its groups has grown since.
void Fusion::try_again() {
  for (size_t i = 0; i < edges_.size(); ++i) {
    Edge& edge = edges_[i];
    if (edge.decision.fused) continue;
    Reason reason = edge.decision.reason;
    bool may_change = reason == Reason::would_cycle || reason == Reason::no_gain ||
                      reason == Reason::different_iteration_space;
    int p = cluster_of(edge.producer), c = cluster_of(edge.consumer);
    bool grown = tried_[i] != std::pair(at(p).version, at(c).version);
    if (p == c || (may_change && grown)) edge.decision = try_edge(edge);
  }
}

bool Fusion::feeds_product(NodeId value, int u) const {
  for (NodeId id : unit(u).nodes) {
    if (!is_contraction(graph_, id)) continue;
    for (NodeId operand : graph_[id].operands) {
      if (root(graph_, units_, operand) == value) return true;
    }
  }
  return false;
}

Decision Fusion::yes(const Edge& edge, int producer, bool had_reductions) const {
  Decision decision;
  decision.fused = true;
  const FusionUnit& consumer = unit(edge.consumer);
  bool reduces = false;
  for (NodeId id : consumer.nodes) reduces = reduces || is_reduction(graph_, id);
  if (consumer.copy) {
    decision.reason = Reason::view;
    decision.detail = fmt::format("{} is stored as {}", named(edge.value), named(consumer.result));
  } else if (at(producer).contraction_unit >= 0) {
    decision.kind = DecisionKind::epilogue;
    decision.reason = Reason::epilogue_on_tile;
    decision.detail =
        fmt::format("{} is used on the product's block while it is in cache", named(edge.value));
  } else if (reduces && !had_reductions) {
    decision.reason = Reason::into_reduction;
    decision.detail = fmt::format("{} is computed where '{}' reads it", named(edge.value),
                                  graph_[consumer.result].name);
  } else if (had_reductions && on_domain(at(producer).domain, consumer.result)) {
    decision.reason = Reason::row_in_fast_memory;
    decision.detail =
        fmt::format("the row of {} stays in fast memory between the passes", named(edge.value));
  } else {
    decision.reason = Reason::local_dependency;
    decision.detail = fmt::format("{} is used where it is made", named(edge.value));
  }
  return decision;
}

bool Fusion::one_op(int first, int second) const {
  const int32_t source = graph_[unit(first).result].source;
  return source >= 0 && graph_[unit(second).result].source == source;
}

Decision Fusion::try_edge(const Edge& edge) {
  int p = cluster_of(edge.producer), c = cluster_of(edge.consumer);
  bool had_reductions = at(p).reductions;
  if (feeds_product(edge.value, edge.consumer)) {
    Decision no = refusal(Reason::library_operand,
                          fmt::format("the product '{}' reads {} from memory",
                                      graph_[unit(edge.consumer).result].name, named(edge.value)));
    no.kind = DecisionKind::prologue;
    return no;
  }
  if (p == c) return yes(edge, p, had_reductions);
  if (options_.fusion == FusionMode::off && !unit(edge.consumer).copy &&
      !one_op(edge.producer, edge.consumer)) {
    return refusal(Reason::fusion_off, "fusion is off: one kernel for each op");
  }
  if (op_by_op_ && (extend_elementwise(p, c) || join_alike(p, c))) {
    return yes(edge, cluster_of(edge.producer), had_reductions);
  }
  Union merged;
  Decision decision = try_merge(p, c, &merged, false, one_op(edge.producer, edge.consumer));
  if (!decision) {
    if (at(p).contraction_unit >= 0) decision.kind = DecisionKind::epilogue;
    return decision;
  }
  merge(p, c, std::move(merged));
  return yes(edge, cluster_of(edge.producer), had_reductions);
}

// Some unit outside both clusters reads the value.
bool Fusion::read_outside(NodeId value, int a, int b) const {
  if (units_.graph_output[static_cast<size_t>(value)]) return true;
  const std::vector<int>& all = readers(value);
  const bool by_units = std::any_of(
      all.begin(), all.end(), [&](int u) { return cluster_of(u) != a && cluster_of(u) != b; });
  if (by_units || !read_again_.contains(value)) return by_units;
  for (int cluster = 0; cluster < static_cast<int>(clusters_.size()); ++cluster) {
    if (cluster != a && cluster != b && reads_again(cluster).contains(value)) return true;
  }
  return false;
}

// The common case of a chain, without another walk: one elementwise op, all of whose operands from
// the producer's group are stored there in the op's own shape and at the same index.
bool Fusion::extend_elementwise(int p, int c) {
  Cluster& into = at(p);
  const Cluster& from = at(c);
  if (from.units.size() != 1 || !fit_alike(into, from)) return false;
  const FusionUnit& u = unit(from.units[0]);
  if (u.nodes.size() != 1 || u.copy) return false;
  // From a stored view's elements others may follow that do not follow the other way round.
  if (std::ranges::any_of(into.outputs, [&](NodeId id) { return is_view(graph_, id); })) {
    return false;
  }
  const Node& node = graph_[u.result];
  if (op_info(node.op).category != Category::elementwise) return false;
  const std::vector<Sym>* index = nullptr;
  for (NodeId operand : node.operands) {
    NodeId value = root(graph_, units_, operand);
    if (unit_of(value) < 0 || cluster_of(unit_of(value)) != p) continue;
    auto found = into.domain.index.find(value);
    if (value != operand || is_scatter(graph_, value) || found == into.domain.index.end() ||
        !(graph_[value].type.shape == node.type.shape)) {
      return false;
    }
    if (index != nullptr && !(*index == found->second)) return false;
    index = &found->second;
  }
  if (index == nullptr || depends(c, p)) return false;
  into.domain.index.emplace(u.result, *index);
  std::vector<NodeId> outputs = united(into.outputs, from.outputs);
  std::erase_if(outputs, [&](NodeId value) { return !read_outside(value, p, c); });
  for (NodeId id : from.nodes) {
    auto place = std::upper_bound(into.nodes.begin(), into.nodes.end(), id);
    if (place == into.nodes.begin() || *(place - 1) != id) into.nodes.insert(place, id);
  }
  into.outputs = std::move(outputs);
  into.alike = into.alike && from.alike;
  into.walked = into.alike;
  absorb(p, c);
  return true;
}

// Both run over the same elements in the same order, so together they do too, and save a kernel, a
// store and a load.
bool Fusion::join_alike(int p, int c) {
  Cluster& into = at(p);
  Cluster& from = at(c);
  if (!into.alike || !from.alike || !fit_alike(into, from)) return false;
  const Shape& shape = graph_[into.nodes.front()].type.shape;
  auto same = [](const DomainVar& a, const DomainVar& b) { return a.name == b.name; };
  if (!(shape == graph_[from.nodes.front()].type.shape) ||
      !std::ranges::equal(into.domain.vars, from.domain.vars, same) || depends(c, p)) {
    return false;
  }
  into.nodes = united(into.nodes, from.nodes);
  into.outputs = united(into.outputs, from.outputs);
  std::erase_if(into.outputs, [&](NodeId value) { return !read_outside(value, p, c); });
  into.domain.index.merge(from.domain.index);
  absorb(p, c);
  return true;
}

Decision Fusion::fits(const Cluster& a, const Cluster& b, size_t most) const {
  if (a.nodes.size() + b.nodes.size() > most) {
    return refusal(Reason::group_too_large,
                   fmt::format("a group has at most {} nodes ({} where all are elementwise ops of "
                               "one shape on at most {} tensors), to keep compile times linear",
                               most_nodes, most_alike, most_read_alike));
  }
  if (a.instructions + b.instructions > most_instructions) {
    return refusal(Reason::group_too_large,
                   fmt::format("a group has at most about {} instructions an element, to keep "
                               "compile times linear; here {:.0f} and {:.0f}",
                               most_instructions, a.instructions, b.instructions));
  }
  Decision yes;
  yes.fused = true;
  return yes;
}

bool Fusion::fit_alike(const Cluster& a, const Cluster& b) const {
  if (!fits(a, b, most_alike)) return false;
  return a.reads.size() + b.reads.size() <= most_read_alike ||
         read_together(a, b).size() <= most_read_alike;
}

// The domain and work of its nodes and outputs, if they have one and the device a kernel for it.
Decision Fusion::find_work(Union* all) const {
  Decision decision = analyze(graph_, all->nodes, all->outputs, &all->analysis);
  if (!decision) return decision;
  const GroupCost cost =
      measure(graph_, all->analysis, &device_, options_.sizes, options_.numerics);
  all->work = work_of(cost);
  return rows_with_columns(graph_, all->analysis, cost, device_);
}

Decision Fusion::try_merge(int p, int c, Union* merged, bool sibling, bool one_op) {
  const Cluster& into = at(p);
  const Cluster& from = at(c);
  if (into.contraction_unit >= 0 && from.contraction_unit >= 0) {
    return refusal(Reason::library_operand, "each product is a kernel of its own");
  }
  if (Decision small = fits(into, from, most_nodes); !small) return small;
  if (depends(c, p) || (sibling && depends(p, c))) {
    return refusal(Reason::would_cycle, "another kernel has to run between the two");
  }
  if (Decision frugal = keeps_the_peak(p, c); !frugal) return frugal;
  merged->nodes = united(into.nodes, from.nodes);
  merged->outputs = united(into.outputs, from.outputs);
  std::erase_if(merged->outputs, [&](NodeId value) { return !read_outside(value, p, c); });
  Decision decision = find_work(merged);
  if (!decision) return decision;
  if (options_.fusion == FusionMode::automatic) return gain(p, c, merged, sibling, one_op);
  return decision;
}

// What both groups exchange or share, and intermediates that one of them reads alone. Together
// those of both wait in memory at once: not worth a saving that is small beside reading them.
Decision Fusion::keeps_the_peak(int p, int c) const {
  auto reads = [&](int cluster) {
    std::set<NodeId> values;
    for (int u : at(cluster).units) values.insert(unit(u).reads.begin(), unit(u).reads.end());
    return values;
  };
  auto bytes = [&](NodeId value) { return at_sizes(bytes_of(graph_, value), options_.sizes); };
  struct Side {
    std::set<NodeId> reads;
    double own = 0;  // bytes
    NodeId largest = -1;
    std::set<int> makers = {};
  };
  Side sides[] = {{.reads = reads(p)}, {.reads = reads(c)}};
  double saved = 0;
  for (int i = 0; i < 2; ++i) {
    Side& side = sides[i];
    for (NodeId value : side.reads) {
      int maker = unit_of(value) < 0 ? -1 : cluster_of(unit_of(value));
      if (maker == p || maker == c) {
        if (maker != (i == 0 ? p : c)) saved += 2 * bytes(value);
      } else if (sides[1 - i].reads.count(value) > 0) {
        saved += bytes(value) / 2;  // met once on either side
      } else if (maker >= 0 && !units_.graph_output[static_cast<size_t>(value)]) {
        side.own += bytes(value);
        side.makers.insert(maker);
        if (side.largest < 0 || bytes(value) > bytes(side.largest)) side.largest = value;
      }
    }
  }
  Decision yes;
  yes.fused = true;
  double own = std::min(sides[0].own, sides[1].own);
  double saved_us = device_.launch_us + copy_us(device_, saved);
  bool one_maker = std::any_of(sides[0].makers.begin(), sides[0].makers.end(),
                               [&](int maker) { return sides[1].makers.count(maker) > 0; });
  if (one_maker || saved_us >= least_saving * copy_us(device_, own)) return yes;
  return refusal(Reason::no_gain,
                 fmt::format("together {} and {} wait in memory at once, {} more at the peak, to "
                             "save {} and a kernel",
                             named(sides[0].largest), named(sides[1].largest), bytes_text(own),
                             bytes_text(saved)));
}

// Predicted time together against apart, and whether what is read again fits the fast memory.
Decision Fusion::gain(int p, int c, Union* merged, bool sibling, bool one_op) {
  const Cluster::Work &a = work(p), &b = work(c), &both = merged->work;
  if (!both.row_stays && a.row_stays && b.row_stays) {
    return refusal(Reason::row_too_large,
                   fmt::format("a row of {} does not stay in {} of fast memory",
                               bytes_text(both.row_bytes), bytes_text(both.near_row_bytes)));
  }
  double saved = a.us + b.us + device_.launch_us - both.us;
  double bytes = a.bytes + b.bytes - both.bytes;
  if (!one_op && (saved < 0 || (sibling && bytes <= 0))) {
    return refusal(Reason::no_gain,
                   fmt::format("together {:.2f} us, apart {:.2f} us, predicted; {} saved", both.us,
                               a.us + b.us + device_.launch_us, bytes_text(std::max(0.0, bytes))));
  }
  Decision decision;
  decision.fused = true;
  return decision;
}

void Fusion::merge(int p, int c, Union merged) {
  Cluster& into = at(p);
  into.nodes = std::move(merged.nodes);
  into.outputs = std::move(merged.outputs);
  into.domain = std::move(merged.analysis.domain);
  into.alike = false;
  into.walked = true;
  absorb(p, c);
  into.work = merged.work;
}

void Fusion::absorb(int p, int c) {
  Cluster& into = at(p);
  Cluster& from = at(c);
  into.reads = read_together(into, from);
  std::vector<int> units;
  std::merge(into.units.begin(), into.units.end(), from.units.begin(), from.units.end(),
             std::back_inserter(units));
  for (int u : from.units) cluster_of_[static_cast<size_t>(u)] = p;
  into.units = std::move(units);
  into.recomputed = united(into.recomputed, from.recomputed);
  std::erase_if(into.recomputed,
                [&](NodeId id) { return unit_of(id) >= 0 && cluster_of(unit_of(id)) == p; });
  into.contraction_unit = std::max(into.contraction_unit, from.contraction_unit);
  into.reductions = into.reductions || from.reductions;
  into.instructions += from.instructions;
  into.reach = std::max(into.reach, from.reach);
  ++into.version;
  into.work.reset();
  from = {};
  from.alive = false;
  pass_on_reach(p);
}

Partition Fusion::finish() {
  Partition result;
  for (Edge& edge : edges_) {  // refused once, together in the end by another way
    int cluster = cluster_of(edge.producer);
    bool together =
        cluster == cluster_of(edge.consumer) && edge.decision.kind != DecisionKind::sibling;
    if (together && !edge.decision.fused)
      edge.decision = yes(edge, cluster, at(cluster).reductions);
  }
  for (const Cluster& cluster : clusters_) {
    if (!cluster.alive) continue;
    if (!cluster.walked) analysis_of(cluster);
    Part part;
    part.recomputed = cluster.recomputed;
    for (int u : cluster.units) {
      part.nodes.insert(part.nodes.end(), unit(u).nodes.begin(), unit(u).nodes.end());
    }
    part.nodes.insert(part.nodes.end(), part.recomputed.begin(), part.recomputed.end());
    std::sort(part.nodes.begin(), part.nodes.end());
    result.parts.push_back(std::move(part));
  }
  result.edges = std::move(edges_);
  result.separate = std::move(separate_);
  result.values = std::move(values_);
  return result;
}

Partition partition(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
                    const PlanOptions& options) {
  try {
    return Fusion(graph, units, device, options, true).run();
  } catch (const LostDomain&) {  // rare: a walk for each step is slower
    return Fusion(graph, units, device, options, false).run();
  }
}

}  // namespace ingot
