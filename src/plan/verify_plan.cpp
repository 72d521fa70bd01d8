#include <algorithm>

#include "base/error.h"
#include "plan/units.h"

namespace ingot {
namespace {

class PlanVerifier {
 public:
  PlanVerifier(const Graph& graph, const Plan& plan, std::string_view where)
      : graph_(graph), plan_(plan), where_(where) {}

  void run() {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
      Op op = graph_[id].op;
      if (op == Op::input || op == Op::constant) ready_.insert(id);
    }
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      group(plan_.groups[g], static_cast<int>(g));
    }
    for (NodeId id : graph_.outputs) {
      if (ready_.count(id) == 0) fail(fmt::format("'{}' is never stored", graph_[id].name));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_internal(where_, what); }

  void group(const Group& group, int position) {
    auto complain = [&](const std::string& what) {
      fail(fmt::format("group {} '{}': {}", group.id, group.name, what));
    };
    if (group.id != position) complain("not numbered in order");
    if (!std::is_sorted(group.nodes.begin(), group.nodes.end())) complain("nodes out of order");
    if (group.schedules.empty()) complain("has no schedule");
    if (!group.schedules.back().guards.empty()) complain("its last schedule is guarded");
    if (group.outputs.empty()) complain("stores nothing");
    for (NodeId id : group.inputs) {
      if (ready_.count(id) == 0) {
        complain(fmt::format("reads '{}' before it is stored", graph_[id].name));
      }
    }
    for (NodeId id : group.nodes) {
      for (NodeId operand : graph_[id].operands) {
        bool known = std::binary_search(group.nodes.begin(), group.nodes.end(), operand) ||
                     std::binary_search(group.inputs.begin(), group.inputs.end(), operand) ||
                     is_literal(graph_, operand);
        if (!known) complain(fmt::format("'{}' is missing", graph_[operand].name));
      }
    }
    for (NodeId id : group.outputs) {
      if (!std::binary_search(group.nodes.begin(), group.nodes.end(), id)) {
        complain(fmt::format("stores '{}' without computing it", graph_[id].name));
      }
      if (group.domain.index.count(id) == 0) {
        complain(fmt::format("has no index for '{}'", graph_[id].name));
      }
      if (!ready_.insert(id).second) {
        complain(fmt::format("stores '{}' a second time", graph_[id].name));
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  std::string_view where_;
  std::set<NodeId> ready_;
};

}  // namespace

void verify(const Graph& graph, const Plan& plan, std::string_view where) {
  PlanVerifier(graph, plan, where).run();
}

}  // namespace ingot
