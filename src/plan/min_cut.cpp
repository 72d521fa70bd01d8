#include "plan/min_cut.h"

#include <algorithm>

namespace ingot {

void FlowNetwork::add_edge(int from, int to, int64_t capacity) {
  edges_of_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, std::min(capacity, infinite)});
  edges_of_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

int64_t FlowNetwork::cut(int source, int sink) {
  int64_t flow = 0;
  while (flow < infinite && find_distances(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (flow < infinite) {
      const int64_t more = push_along_one_path(source, sink);
      if (more == 0) break;
      flow += more;
    }
  }
  reached_.resize(edges_of_.size());
  for (size_t node = 0; node < reached_.size(); ++node) reached_[node] = distance_[node] >= 0;
  return std::min(flow, infinite);
}

// Breadth first over all that is left, so that the last search has the source's side.
bool FlowNetwork::find_distances(int source, int sink) {
  distance_.assign(edges_of_.size(), -1);
  distance_[static_cast<size_t>(source)] = 0;
  std::vector<int> queue{source};
  for (size_t first = 0; first < queue.size(); ++first) {
    const auto node = static_cast<size_t>(queue[first]);
    for (const int number : edges_of_[node]) {
      const Edge& edge = edges_[static_cast<size_t>(number)];
      int& distance = distance_[static_cast<size_t>(edge.to)];
      if (edge.left == 0 || distance >= 0) continue;
      distance = distance_[node] + 1;
      queue.push_back(edge.to);
    }
  }
  return distance_[static_cast<size_t>(sink)] >= 0;
}

// Depth first along shortest paths, without recursion: paths may be as long as the program.
int64_t FlowNetwork::push_along_one_path(int source, int sink) {
  std::vector<int> path;  // edges
  int node = source;
  while (node != sink) {
    const std::vector<int>& own = edges_of_[static_cast<size_t>(node)];
    size_t& next = next_[static_cast<size_t>(node)];
    const auto leads_on = [&](int number) {
      const Edge& edge = edges_[static_cast<size_t>(number)];
      return edge.left > 0 &&
             distance_[static_cast<size_t>(edge.to)] == distance_[static_cast<size_t>(node)] + 1;
    };
    while (next < own.size() && !leads_on(own[next])) ++next;
    if (next < own.size()) {
      path.push_back(own[next]);
      node = edges_[static_cast<size_t>(own[next])].to;
      continue;
    }
    if (path.empty()) return 0;
    node = edges_[static_cast<size_t>(path.back() ^ 1)].to;
    path.pop_back();
    ++next_[static_cast<size_t>(node)];
  }
  int64_t least = infinite;
  for (const int number : path) least = std::min(least, edges_[static_cast<size_t>(number)].left);
  for (const int number : path) {
    edges_[static_cast<size_t>(number)].left -= least;
    edges_[static_cast<size_t>(number ^ 1)].left += least;
  }
  return least;
}

}  // namespace ingot
