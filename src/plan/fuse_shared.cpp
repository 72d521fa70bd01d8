// Beyond producers and consumers: siblings that read the same buffer, and values that are cheaper to
// compute in every consumer than to store.
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
    if (readers(value).size() > 1) join_readers(value);
  }
}

void Fusion::join_readers(NodeId value) {
  std::vector<int> distinct, first_reader;
  for (int u : readers(value)) {
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
      if (bytes < worthwhile_share * std::min(work(a).bytes, work(b).bytes)) continue;
      Union merged;
      Edge edge{value, value, first_reader[j], first_reader[i], {}};
      edge.decision = try_merge(a, b, &merged, true);
      edge.decision.kind = "sibling";
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

void Fusion::recompute() {
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

// What the value needs inside its cluster; empty where a reduction or product would be done twice.
std::vector<NodeId> Fusion::subtree(const Cluster& cluster, NodeId value) const {
  std::vector<NodeId> found{value}, stack{value};
  while (!stack.empty()) {
    NodeId id = stack.back();
    stack.pop_back();
    if (is_reduction(graph_, id) || is_contraction(graph_, id)) return {};
    for (NodeId operand : graph_[id].operands) {
      bool inside =
          std::binary_search(cluster.nodes.begin(), cluster.nodes.end(), operand);
      if (!inside || std::find(found.begin(), found.end(), operand) != found.end()) continue;
      found.push_back(operand);
      stack.push_back(operand);
    }
    if (found.size() > most_recomputed) return {};
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Both choices with their bytes; nothing where one of them is not possible.
std::optional<Fusion::Recomputation> Fusion::weigh(int owner, NodeId value) {
  Recomputation r;
  r.owner = owner;
  r.value = value;
  for (int u : readers(value)) {
    if (feeds_product(value, u) || unit(u).copy) return std::nullopt;
    if (cluster_of(u) != owner) r.consumers.push_back(cluster_of(u));
  }
  std::sort(r.consumers.begin(), r.consumers.end());
  r.consumers.erase(std::unique(r.consumers.begin(), r.consumers.end()), r.consumers.end());
  r.again = subtree(at(owner), value);
  if (r.consumers.empty() || r.again.empty()) return std::nullopt;
  r.left = at(owner).outputs;
  std::erase(r.left, value);
  r.materialized = bytes_of(graph_, value);
  double us_before = work(owner).us, us_after = 0;
  Analysis own;
  if (r.left.empty()) {  // the group made only this value: it goes
    analyze(graph_, at(owner).nodes, at(owner).outputs, &own);
    r.materialized = r.materialized + measure(graph_, own, nullptr, {}).read_bytes;
    us_before += device_.launch_us;
  } else {
    if (!analyze(graph_, at(owner).nodes, r.left, &r.rest)) return std::nullopt;
    if (r.rest.evaluations.count(value) == 0) return std::nullopt;
    us_after = work_of(r.rest).us;
  }
  for (int c : r.consumers) {
    const Cluster& consumer = at(c);
    Union next;
    next.nodes = united(consumer.nodes, r.again);
    next.outputs = consumer.outputs;
    Analysis alone;
    if (next.nodes.size() > most_nodes ||
        !analyze(graph_, next.nodes, next.outputs, &next.analysis) ||
        !analyze(graph_, consumer.nodes, consumer.outputs, &alone)) {
      return std::nullopt;
    }
    next.work = work_of(next.analysis);
    r.materialized = r.materialized + measure(graph_, alone, nullptr, {}).read_bytes;
    r.recomputed = r.recomputed + measure(graph_, next.analysis, nullptr, {}).read_bytes;
    us_before += work(c).us;
    us_after += next.work.us;
    r.grown.push_back(std::move(next));
  }
  r.slower_us = us_after - us_before;
  return r;
}

void Fusion::recompute_value(int owner, NodeId value) {
  std::optional<Recomputation> r = weigh(owner, value);
  if (!r) return;
  bool cheaper =
      at_sizes(r->recomputed, options_.sizes) < at_sizes(r->materialized, options_.sizes);
  bool chosen = cheaper && (r->slower_us <= 0 || options_.fusion == FusionMode::all);
  for (Edge& edge : edges_) {
    if (edge.value != value || edge.decision.kind == "sibling") continue;
    edge.decision.bytes_if_materialized = r->materialized;
    edge.decision.bytes_if_recomputed = r->recomputed;
    if (!chosen || cluster_of(edge.consumer) == owner) continue;
    edge.decision.fused = true;
    edge.decision.reason = Reason::recomputed;
    edge.decision.detail = fmt::format("{} is computed again instead of stored", named(value));
  }
  if (chosen) apply(std::move(*r));
}

void Fusion::apply(Recomputation r) {
  Cluster& owner = at(r.owner);
  for (size_t i = 0; i < r.consumers.size(); ++i) {
    Cluster& consumer = at(r.consumers[i]);
    consumer.nodes = std::move(r.grown[i].nodes);
    consumer.domain = std::move(r.grown[i].analysis.domain);
    consumer.work = r.grown[i].work;
    ++consumer.version;
    bool inherits = r.left.empty() && i == 0;
    for (NodeId id : inherits ? owner.recomputed : r.again) {
      std::vector<NodeId>& list = consumer.recomputed;
      bool listed = std::find(list.begin(), list.end(), id) != list.end();
      if (!listed && !is_free(graph_, units_, id)) list.push_back(id);
    }
  }
  if (r.left.empty()) {
    absorb(r.consumers[0], r.owner);
    return;
  }
  owner.outputs = std::move(r.left);
  owner.domain = std::move(r.rest.domain);
  owner.work.reset();
}

}  // namespace ingot
