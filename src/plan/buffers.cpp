// Lifetimes of intermediates in group order, and where they lie in one block of memory.
#include <algorithm>
#include <map>
#include <set>

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

std::vector<Lifetime> lifetimes(const Graph& graph, const std::vector<Group>& groups,
                                const Bindings& sizes) {
  std::set<NodeId> returned(graph.outputs.begin(), graph.outputs.end());
  std::map<NodeId, size_t> place;
  std::vector<Lifetime> result;
  for (size_t g = 0; g < groups.size(); ++g) {
    int now = static_cast<int>(g);
    for (NodeId id : groups[g].inputs) {
      if (auto found = place.find(id); found != place.end()) result[found->second].last = now;
    }
    for (NodeId id : groups[g].outputs) {
      if (returned.count(id) > 0) continue;
      int64_t bytes = bytes_of(graph, id).evaluate(sizes);
      place[id] = result.size();
      result.push_back({id, (bytes + alignment - 1) / alignment * alignment, now, now});
    }
  }
  return result;
}

// A block of memory that grows at its end: what is taken, and the gaps between.
class Arena {
 public:
  // In the smallest gap that is large enough, the first of several; else behind the last.
  int64_t take(int64_t bytes) {
    auto gap = by_size_.lower_bound({bytes, 0});
    if (gap == by_size_.end()) {
      end_ += bytes;
      return end_ - bytes;
    }
    auto [size, begin] = *gap;
    remove_gap(begin, size);
    if (size > bytes) add_gap(begin + bytes, size - bytes);
    return begin;
  }

  void give_back(int64_t begin, int64_t bytes) {
    if (bytes == 0) return;
    auto after = gaps_.lower_bound(begin);
    if (after != gaps_.end() && after->first == begin + bytes) {
      int64_t size = after->second;
      remove_gap(begin + bytes, size);
      bytes += size;
    }
    auto before = gaps_.lower_bound(begin);
    if (before != gaps_.begin() && (--before)->first + before->second == begin) {
      auto [first, size] = *before;
      remove_gap(first, size);
      begin = first;
      bytes += size;
    }
    if (begin + bytes == end_) {
      end_ = begin;
    } else {
      add_gap(begin, bytes);
    }
  }

 private:
  void add_gap(int64_t begin, int64_t size) {
    gaps_.emplace(begin, size);
    by_size_.emplace(size, begin);
  }
  void remove_gap(int64_t begin, int64_t size) {
    gaps_.erase(begin);
    by_size_.erase({size, begin});
  }

  std::map<int64_t, int64_t> gaps_;  // begin → size
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

}  // namespace

BufferPlan plan_buffers(const Graph& graph, const std::vector<Group>& groups,
                        const Bindings& sizes) {
  BufferPlan result;
  Arena arena;
  std::multimap<int, std::pair<int64_t, int64_t>> live;  // last group → offset, bytes
  for (const Lifetime& value : lifetimes(graph, groups, sizes)) {
    auto first_alive = live.lower_bound(value.first);
    for (auto old = live.begin(); old != first_alive; ++old) {
      arena.give_back(old->second.first, old->second.second);
    }
    live.erase(live.begin(), first_alive);
    int64_t offset = arena.take(value.bytes);
    result.offset[value.node] = offset;
    result.arena_bytes = std::max(result.arena_bytes, offset + value.bytes);
    live.emplace(value.last, std::pair(offset, value.bytes));
  }
  std::set<NodeId> counted;
  result.peak_bytes = result.arena_bytes;
  auto count = [&](NodeId id) {
    if (counted.insert(id).second) result.peak_bytes += bytes_of(graph, id).evaluate(sizes);
  };
  for (NodeId id : graph.inputs) count(id);
  for (NodeId id : graph.outputs) count(id);
  for (const Group& group : groups) {
    for (NodeId id : group.inputs) {
      if (graph[id].op == Op::constant) count(id);
    }
  }
  return result;
}

BufferPlan plan_buffers(const Graph& graph, const Plan& plan, const Bindings& sizes) {
  return plan_buffers(graph, plan.groups, sizes);
}

}  // namespace ingot
