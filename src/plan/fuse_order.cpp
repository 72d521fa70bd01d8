// What has to run before what, between groups that grow.
#include <algorithm>
#include <bit>

#include "plan/fuse.h"

namespace ingot {
namespace {

constexpr size_t most_searched = 512;  // groups looked at in one search for a cycle

}  // namespace

std::vector<int> Fusion::producers(int cluster) const {
  std::vector<int> result;
  for (int u : at(cluster).units) {
    for (NodeId value : unit(u).reads) {
      if (unit_of(value) < 0) continue;
      int from = cluster_of(unit_of(value));
      if (from != cluster) result.push_back(from);
    }
  }
  for (NodeId value : reads_again(cluster)) {
    if (unit_of(value) >= 0 && cluster_of(unit_of(value)) != cluster) {
      result.push_back(cluster_of(unit_of(value)));
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// Every cluster that reads this one, directly or not, reaches as far. The distance from its own
// last unit is rounded up to a power of two, so that it changes a few times only.
void Fusion::pass_on_reach(int cluster) {
  std::vector<int> stack{cluster};
  while (!stack.empty()) {
    const int from = stack.back(), reach = at(from).reach;
    stack.pop_back();
    for (NodeId value : at(from).outputs) {
      for (int u : readers(value)) {
        const int to = cluster_of(u);
        if (at(to).reach >= reach) continue;
        const int last = at(to).units.back();
        const unsigned distance = std::bit_ceil(static_cast<unsigned>(reach - last));
        at(to).reach =
            std::min(last + static_cast<int>(distance), static_cast<int>(units_.units.size()) - 1);
        stack.push_back(to);
      }
    }
  }
}

// Does `cluster` need `on` through a third one? Those that do not reach `on`'s last unit do not
// need it; a search that gets too long says yes.
bool Fusion::depends(int cluster, int on) const {
  std::vector<int> stack = producers(cluster);
  std::erase(stack, on);
  std::set<int> seen(stack.begin(), stack.end());
  const int last = at(on).units.back();
  while (!stack.empty()) {
    int next = stack.back();
    stack.pop_back();
    if (at(next).reach < last) continue;
    if (seen.size() > most_searched) return true;
    for (int from : producers(next)) {
      if (from == on) return true;
      if (seen.insert(from).second) stack.push_back(from);
    }
  }
  return false;
}

}  // namespace ingot
