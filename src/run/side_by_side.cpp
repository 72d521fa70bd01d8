#include "run/side_by_side.h"

#include <algorithm>
#include <map>
#include <set>

namespace ingot {
namespace {

constexpr size_t none = static_cast<size_t>(-1);

// The groups that write what each group reads.
std::vector<std::set<size_t>> dependencies(const Plan& plan) {
  std::map<NodeId, size_t> writer;
  std::vector<std::set<size_t>> needs(plan.groups.size());
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (const NodeId id : plan.groups[g].inputs) {
      if (const auto found = writer.find(id); found != writer.end()) needs[g].insert(found->second);
    }
    for (const NodeId id : plan.groups[g].outputs) writer.emplace(id, g);
  }
  return needs;
}

struct Stream {
  size_t last = none;
  std::vector<size_t> reached;  // of each stream: how many of its groups are done by then
  size_t count = 0;
};

class Lanes {
 public:
  explicit Lanes(size_t groups) : lanes_(groups), place_(groups), reached_(groups) {
    streams_.push_back({none, std::vector<size_t>(most_streams), 0});
  }

  // The stream of what it needs, where that is the last on it; else one that is free.
  int stream_for(const std::set<size_t>& needs) {
    for (auto need = needs.rbegin(); need != needs.rend(); ++need) {
      const int stream = lanes_[*need].stream;
      if (at(stream).last == *need) return stream;
    }
    if (at(0).last == none) return 0;
    if (streams_.size() < most_streams) {
      streams_.push_back({none, std::vector<size_t>(most_streams), 0});
      return static_cast<int>(streams_.size()) - 1;
    }
    const auto fewest = std::ranges::min_element(streams_, {}, &Stream::count);
    return static_cast<int>(fewest - streams_.begin());
  }

  void put(size_t group, int stream, const std::set<size_t>& needs) {
    Stream& own = at(stream);
    Lane& lane = lanes_[group];
    lane.stream = stream;
    // The latest first: what it has waited for need not be waited for again.
    for (auto need = needs.rbegin(); need != needs.rend(); ++need) {
      const auto other = static_cast<size_t>(lanes_[*need].stream);
      if (lanes_[*need].stream == stream || own.reached[other] > place_[*need]) continue;
      lane.after.push_back(*need);
      for (size_t s = 0; s < own.reached.size(); ++s) {
        own.reached[s] = std::max(own.reached[s], reached_[*need][s]);
      }
    }
    std::ranges::sort(lane.after);
    place_[group] = own.count++;
    own.reached[static_cast<size_t>(stream)] = own.count;
    reached_[group] = own.reached;
    own.last = group;
  }

  std::vector<Lane> take() { return std::move(lanes_); }

 private:
  Stream& at(int stream) { return streams_[static_cast<size_t>(stream)]; }

  std::vector<Lane> lanes_;
  std::vector<size_t> place_;                 // of a group on its stream
  std::vector<std::vector<size_t>> reached_;  // what is done when a group is
  std::vector<Stream> streams_;
};

}  // namespace

std::vector<Lane> side_by_side(const Plan& plan, const std::vector<bool>& small) {
  const std::vector<std::set<size_t>> needs = dependencies(plan);
  Lanes lanes(plan.groups.size());
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    lanes.put(g, small[g] ? lanes.stream_for(needs[g]) : 0, needs[g]);
  }
  return lanes.take();
}

int streams_of(const std::vector<Lane>& lanes) {
  int most = 0;
  for (const Lane& lane : lanes) most = std::max(most, lane.stream);
  return 1 + most;
}

}  // namespace ingot
