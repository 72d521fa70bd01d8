// Beyond producers and consumers: siblings that read the same buffer, and values that are cheaper
// to compute in every consumer than to store.
#include <algorithm>

#include "base/error.h"
#include "plan/fuse.h"

namespace ingot {
namespace {

constexpr size_t most_siblings = 16;       // readers of one buffer that are tried
constexpr double worthwhile_share = 0.25;  // of a group's traffic that the shared buffer must be
constexpr size_t most_recomputed = 32;     // nodes computed again for one value

}  // namespace

// Buffers with several readers, in the order of the nodes.
void Fusion::join_siblings() {
  for (NodeId value = 0; value < static_cast<NodeId>(graph_.nodes.size()); ++value) {
    if (readers(value).size() > 1) join_readers(value, readers(value));
  }
}

// The buffers that a group reads for what it computes again.
std::set<NodeId> Fusion::reads_again(int cluster) const {
  const Cluster& c = at(cluster);
  std::set<NodeId> read;
  for (NodeId id : c.recomputed) {
    for (NodeId operand : graph_[id].operands) {
      const NodeId value = root(graph_, units_, operand);
      if (!std::binary_search(c.nodes.begin(), c.nodes.end(), value)) read.insert(value);
    }
  }
  return read;
}

// Groups that read a buffer since they compute values again.
void Fusion::join_new_siblings() {
  std::map<NodeId, std::vector<int>> found;
  for (const Cluster& cluster : clusters_) {
    if (!cluster.alive) continue;
    const int number = static_cast<int>(&cluster - clusters_.data());
    for (NodeId value : reads_again(number)) found[value].push_back(cluster.units.front());
  }
  for (auto& [value, units] : found) {
    units.insert(units.begin(), readers(value).begin(), readers(value).end());
    join_readers(value, units);
  }
}

void Fusion::join_readers(NodeId value, const std::vector<int>& reading) {
  std::vector<int> distinct, first_reader;
  for (int u : reading) {
    int cluster = cluster_of(u);
    bool own = unit_of(value) >= 0 && cluster_of(unit_of(value)) == cluster;
    if (own || at(cluster).contraction_unit >= 0 || unit(u).copy) continue;
    if (std::find(distinct.begin(), distinct.end(), cluster) != distinct.end()) continue;
    distinct.push_back(cluster);
    first_reader.push_back(u);
    if (distinct.size() == most_siblings) break;
  }
  double bytes = at_sizes(bytes_of(graph_, value), options_.sizes);
  for (size_t i = 1; i < distinct.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      int a = cluster_of(first_reader[j]), b = cluster_of(first_reader[i]);
      if (a == b) break;
      if (options_.fusion == FusionMode::off && !one_op(first_reader[j], first_reader[i])) continue;
      if (bytes < worthwhile_share * std::min(work(a).bytes, work(b).bytes)) continue;
      Union merged;
      Edge edge{value, value, first_reader[j], first_reader[i], {}};
      edge.decision = try_merge(a, b, &merged, true);
      edge.decision.kind = DecisionKind::sibling;
      if (edge.decision) {
        edge.decision.reason = Reason::shared_input;
        edge.decision.detail = fmt::format("both read {}", named(value));
        merge(a, b, std::move(merged));
      }
      bool done = edge.decision.fused;
      edges_.push_back(std::move(edge));
      if (done) break;
    }
  }
}

void Fusion::index_edges() {
  edges_from_.resize(units_.units.size());
  for (size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].decision.kind == DecisionKind::sibling) continue;
    edges_from_[static_cast<size_t>(edges_[i].producer)].push_back(i);
  }
}

void Fusion::recompute() {
  index_edges();
  for (size_t i = 0; i < clusters_.size(); ++i) {
    int owner = static_cast<int>(i);
    if (!at(owner).alive) continue;
    std::vector<NodeId> outputs = at(owner).outputs;
    for (NodeId value : outputs) {
      if (at(owner).alive && !units_.graph_output[static_cast<size_t>(value)]) {
        recompute_value(owner, value);
      }
    }
  }
}

// What the value needs inside its cluster beyond what is stored anyway; empty where a reduction or
// product would be done twice.
std::vector<NodeId> Fusion::subtree(const Cluster& cluster, NodeId value) const {
  std::vector<NodeId> found{value}, stack{value};
  while (!stack.empty()) {
    NodeId id = stack.back();
    stack.pop_back();
    if (is_reduction(graph_, id) || is_scan(graph_, id) || reads_memory(graph_, id)) return {};
    for (NodeId operand : graph_[id].operands) {
      bool inside = std::binary_search(cluster.nodes.begin(), cluster.nodes.end(), operand) &&
                    !std::binary_search(cluster.outputs.begin(), cluster.outputs.end(), operand);
      if (!inside || std::find(found.begin(), found.end(), operand) != found.end()) continue;
      found.push_back(operand);
      stack.push_back(operand);
    }
    if (found.size() > most_recomputed) return {};
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Every consumer has room for what is computed again, and not so many operands (a concat of
// hundreds) that weighing each of them again takes long.
bool Fusion::may_grow(const Recomputation& r) const {
  double added = 0;
  for (NodeId id : r.again) added += instructions_of(graph_[id], device_.gpu);
  return std::ranges::all_of(r.consumers, [&](int c) {
    const Cluster& consumer = at(c);
    const auto missing = std::ranges::count_if(r.again, [&](NodeId id) {
      return !std::binary_search(consumer.nodes.begin(), consumer.nodes.end(), id);
    });
    size_t operands = 0;
    for (NodeId id : consumer.nodes) operands += graph_[id].operands.size();
    return consumer.nodes.size() + static_cast<size_t>(missing) <= most_nodes &&
           operands <= most_operands && consumer.instructions + added <= most_instructions;
  });
}

const Cluster::Moved& Fusion::moved(int cluster) {
  Cluster& c = at(cluster);
  if (!c.moved) {
    GroupCost cost = measure(graph_, analysis_of(c), nullptr, {}, Numerics::exact);
    c.moved = {cost.read_bytes + cost.written, std::move(cost.read)};
  }
  return *c.moved;
}

// Both choices with their bytes; nothing where one of them is not possible.
std::optional<Fusion::Recomputation> Fusion::weigh(int owner, NodeId value) {
  Recomputation r;
  r.owner = owner;
  r.value = value;
  if (read_again_.count(value) > 0) return std::nullopt;  // someone's recomputation reads it
  for (int u : readers(value)) {
    if (feeds_product(value, u) || unit(u).copy) return std::nullopt;
    if (cluster_of(u) != owner) r.consumers.push_back(cluster_of(u));
  }
  std::sort(r.consumers.begin(), r.consumers.end());
  r.consumers.erase(std::unique(r.consumers.begin(), r.consumers.end()), r.consumers.end());
  r.again = subtree(at(owner), value);
  if (r.consumers.empty() || r.again.empty() || !may_grow(r)) return std::nullopt;
  r.left = at(owner).outputs;
  std::erase(r.left, value);
  double us_before = work(owner).us, us_after = 0;
  auto traffic = [&](const Analysis& analysis) {
    GroupCost cost = measure(graph_, analysis, nullptr, {}, Numerics::exact);
    return cost.read_bytes + cost.written;
  };
  r.materialized = moved(owner).bytes;
  if (r.left.empty()) {  // the group made only this value: it goes
    us_before += device_.launch_us;
  } else {
    if (!analyze(graph_, at(owner).nodes, r.left, &r.rest)) return std::nullopt;
    r.materialized = r.materialized - traffic(r.rest);
    us_after = work_of(r.rest).us;
  }
  if (!find_moved(&r)) return std::nullopt;
  if (!r.left.empty()) {  // without what moves, the rest still has to run over one domain
    r.kept = kept_nodes(r);
    if (!analyze(graph_, r.kept, r.left, &r.rest)) return std::nullopt;
  }
  for (int c : r.consumers) {
    const Cluster& consumer = at(c);
    Union next;
    next.nodes = united(consumer.nodes, r.again);
    next.outputs = consumer.outputs;
    if (!find_work(&next)) return std::nullopt;
    const Cluster::Moved& alone = moved(c);
    auto found = alone.read.find(value);
    Sym read = found == alone.read.end() ? Sym(0) : found->second;
    r.materialized = r.materialized + read;
    r.recomputed = r.recomputed + traffic(next.analysis) - alone.bytes + read;
    us_before += work(c).us;
    us_after += next.work.us;
    r.grown.push_back(std::move(next));
  }
  r.slower_us = us_after - us_before;
  return r;
}

// Units that nothing left in the owner needs: they move to the first consumer. false: a part of a
// unit is needed on both sides.
bool Fusion::find_moved(Recomputation* r) const {
  for (int u : at(r->owner).units) {
    const std::vector<NodeId>& nodes = unit(u).nodes;
    auto needed = [&](NodeId id) { return r->rest.evaluations.count(id) > 0; };
    if (std::all_of(nodes.begin(), nodes.end(), needed)) continue;
    bool computed = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      return std::binary_search(r->again.begin(), r->again.end(), id);
    });
    if (!computed || std::any_of(nodes.begin(), nodes.end(), needed)) return false;
    r->moved.push_back(u);
  }
  return true;
}

// The owner's nodes then, with the views between them.
std::vector<NodeId> Fusion::kept_nodes(const Recomputation& r) const {
  std::vector<NodeId> kept = at(r.owner).recomputed;
  std::erase_if(kept, [&](NodeId id) { return r.rest.evaluations.count(id) == 0; });
  for (int u : at(r.owner).units) {
    if (std::find(r.moved.begin(), r.moved.end(), u) != r.moved.end()) continue;
    kept.insert(kept.end(), unit(u).nodes.begin(), unit(u).nodes.end());
  }
  return with_views(graph_, units_, kept);
}

void Fusion::recompute_value(int owner, NodeId value) {
  std::optional<Recomputation> r = weigh(owner, value);
  if (!r) return;
  bool cheaper =
      at_sizes(r->recomputed, options_.sizes) < at_sizes(r->materialized, options_.sizes);
  bool chosen = cheaper && (r->slower_us <= 0 || options_.fusion == FusionMode::all);
  for (size_t i : edges_from_[static_cast<size_t>(unit_of(value))]) {
    Edge& edge = edges_[i];
    if (edge.value != value) continue;
    edge.decision.bytes_if_materialized = r->materialized;
    edge.decision.bytes_if_recomputed = r->recomputed;
  }
  if (chosen) apply(std::move(*r));
}

void Fusion::apply(Recomputation r) {
  Cluster& owner = at(r.owner);
  std::vector<NodeId> moved_nodes;
  for (int u : r.moved) {
    moved_nodes.insert(moved_nodes.end(), unit(u).nodes.begin(), unit(u).nodes.end());
  }
  explain(r);
  for (size_t i = 0; i < r.consumers.size(); ++i) {
    Cluster& consumer = at(r.consumers[i]);
    consumer.nodes = std::move(r.grown[i].nodes);
    consumer.domain = std::move(r.grown[i].analysis.domain);
    consumer.work = r.grown[i].work;
    consumer.moved.reset();
    consumer.alike = false;
    consumer.walked = true;
    ++consumer.version;
    for (NodeId id : r.again) {
      consumer.instructions += instructions_of(graph_[id], device_.gpu);
      for (NodeId operand : graph_[id].operands) read_again_.insert(root(graph_, units_, operand));
      std::vector<NodeId>& list = consumer.recomputed;
      bool moves =
          i == 0 && std::find(moved_nodes.begin(), moved_nodes.end(), id) != moved_nodes.end();
      bool listed = std::find(list.begin(), list.end(), id) != list.end();
      bool copied = !is_free(graph_, units_, id) && cluster_of(unit_of(id)) != r.consumers[i];
      if (copied && !moves && !listed) list.push_back(id);
    }
  }
  Cluster& first = at(r.consumers[0]);
  std::erase_if(first.recomputed, [&](NodeId id) {
    return std::find(moved_nodes.begin(), moved_nodes.end(), id) != moved_nodes.end();
  });
  for (int u : r.moved) {
    cluster_of_[static_cast<size_t>(u)] = r.consumers[0];
    std::erase(owner.units, u);
    first.units.insert(std::lower_bound(first.units.begin(), first.units.end(), u), u);
  }
  if (r.left.empty()) {
    owner = {};
    owner.alive = false;
    return;
  }
  std::erase_if(owner.recomputed, [&](NodeId id) { return r.rest.evaluations.count(id) == 0; });
  owner.nodes = std::move(r.kept);
  owner.outputs = std::move(r.left);
  owner.domain = std::move(r.rest.domain);
  owner.alike = false;
  owner.walked = true;
  owner.work.reset();
  owner.moved.reset();
}

// The edges as they are now: computed again; or moved, with the refusal on the other side.
void Fusion::explain(const Recomputation& r) {
  Decision apart;
  for (size_t i : edges_from_[static_cast<size_t>(unit_of(r.value))]) {
    const Edge& edge = edges_[i];
    if (edge.value == r.value && !edge.decision.fused) apart = edge.decision;
  }
  auto moves = [&](int u) { return std::find(r.moved.begin(), r.moved.end(), u) != r.moved.end(); };
  auto again = [&](NodeId id) { return std::binary_search(r.again.begin(), r.again.end(), id); };
  std::vector<size_t> from_owner;
  for (int u : at(r.owner).units) {
    const std::vector<size_t>& own = edges_from_[static_cast<size_t>(u)];
    from_owner.insert(from_owner.end(), own.begin(), own.end());
  }
  for (size_t i : from_owner) {
    Edge& edge = edges_[i];
    int to = cluster_of(edge.consumer);
    bool consumer = std::find(r.consumers.begin(), r.consumers.end(), to) != r.consumers.end();
    if (again(edge.value) && consumer) {
      if (moves(edge.producer) && to == r.consumers[0]) {
        edge.decision = yes(edge, to, at(to).reductions);
        continue;
      }
      edge.decision.fused = true;
      edge.decision.reason = Reason::recomputed;
      edge.decision.detail = fmt::format("{} is computed again instead of stored", named(r.value));
    } else if (to == r.owner && moves(edge.consumer) && !again(edge.value)) {
      edge.decision = refusal(apart.reason, apart.detail);
    } else if (to == r.owner && moves(edge.consumer) && !moves(edge.producer)) {
      edge.decision.fused = true;
      edge.decision.reason = Reason::recomputed;
      edge.decision.detail =
          fmt::format("{} is computed again instead of stored", named(edge.value));
    }
  }
}

}  // namespace ingot
