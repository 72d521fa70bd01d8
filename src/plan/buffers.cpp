// Lifetimes of intermediates in group order, and where they lie in one block of memory.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "plan/cost.h"

namespace ingot {
namespace {

constexpr int64_t alignment = 64;

struct Lifetime {
  NodeId node;
  int64_t bytes;
  int first, last;  // groups
};

std::vector<Lifetime> lifetimes(const Graph& graph, const Plan& plan, const Bindings& sizes) {
  std::set<NodeId> returned(graph.outputs.begin(), graph.outputs.end());
  std::map<NodeId, size_t> place;
  std::vector<Lifetime> result;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    int now = static_cast<int>(g);
    for (NodeId id : plan.groups[g].inputs) {
      if (auto found = place.find(id); found != place.end()) result[found->second].last = now;
    }
    for (NodeId id : plan.groups[g].outputs) {
      if (returned.count(id) > 0) continue;
      int64_t bytes = bytes_of(graph, id).evaluate(sizes);
      place[id] = result.size();
      result.push_back({id, (bytes + alignment - 1) / alignment * alignment, now, now});
    }
  }
  return result;
}

// The smallest gap among what lives now that is large enough; else behind the last.
int64_t best_fit(const std::vector<std::pair<int64_t, int64_t>>& taken, int64_t bytes) {
  int64_t end = 0, best = -1, best_gap = std::numeric_limits<int64_t>::max();
  for (auto [begin, stop] : taken) {
    int64_t gap = begin - end;
    if (gap >= bytes && gap < best_gap) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, stop);
  }
  return best >= 0 ? best : end;
}

}  // namespace

BufferPlan plan_buffers(const Graph& graph, const Plan& plan, const Bindings& sizes) {
  BufferPlan result;
  struct Live {
    int64_t begin, end;
    int last;
  };
  std::vector<Live> live;
  for (const Lifetime& value : lifetimes(graph, plan, sizes)) {
    std::erase_if(live, [&](const Live& other) { return other.last < value.first; });
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Live& other : live) taken.emplace_back(other.begin, other.end);
    std::sort(taken.begin(), taken.end());
    int64_t offset = best_fit(taken, value.bytes);
    result.offset[value.node] = offset;
    result.arena_bytes = std::max(result.arena_bytes, offset + value.bytes);
    live.push_back({offset, offset + value.bytes, value.last});
  }
  std::set<NodeId> counted;
  result.peak_bytes = result.arena_bytes;
  auto count = [&](NodeId id) {
    if (counted.insert(id).second) result.peak_bytes += bytes_of(graph, id).evaluate(sizes);
  };
  for (NodeId id : graph.inputs) count(id);
  for (NodeId id : graph.outputs) count(id);
  for (const Group& group : plan.groups) {
    for (NodeId id : group.inputs) {
      if (graph[id].op == Op::constant) count(id);
    }
  }
  return result;
}

}  // namespace ingot
