// The cheapest way to part a source from a sink: Dinic's maximum flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot {

class FlowNetwork {
 public:
  // An edge that is never cut. A cut of as much or more: there is none.
  static constexpr int64_t infinite = int64_t{1} << 56;

  explicit FlowNetwork(int nodes) : edges_of_(static_cast<std::size_t>(nodes)) {}
  void add_edge(int from, int to, int64_t capacity);
  // The capacity of a minimum cut; to be asked for once. The network is used up by it.
  int64_t cut(int source, int sink);
  // After cut(): the nodes on the source's side of the cut that is nearest to the source.
  const std::vector<bool>& source_side() const { return reached_; }

 private:
  struct Edge {
    int to;
    int64_t left;  // capacity that is not used yet; the edge back is this one's number ^ 1
  };
  bool find_distances(int source, int sink);
  int64_t push_along_one_path(int source, int sink);

  std::vector<Edge> edges_;
  std::vector<std::vector<int>> edges_of_;
  std::vector<int> distance_;      // from the source, through edges with capacity left; -1: none
  std::vector<std::size_t> next_;  // edge of each node to be tried
  std::vector<bool> reached_;
};

}  // namespace ingot
