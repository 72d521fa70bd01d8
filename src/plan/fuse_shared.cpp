// Beyond producers and consumers: siblings that read the same buffer.
#include <algorithm>

#include "base/error.h"
#include "plan/fuse.h"

namespace ingot {
namespace {

constexpr size_t most_siblings = 16;       // readers of one buffer that are tried
constexpr double worthwhile_share = 0.25;  // of a group's traffic that the shared buffer must be

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

}  // namespace ingot
