// Parts → groups: buffers read and written, order, domain, cost, kind, name and schedules.
#include <algorithm>
#include <cctype>
#include <limits>
#include <queue>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "plan/choice.h"
#include "plan/online.h"

namespace ingot {
namespace {

constexpr size_t most_words = 4;  // of a group's name
constexpr NodeId no_reader = std::numeric_limits<NodeId>::max();

bool contains(const std::vector<NodeId>& list, NodeId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

class Assembly {
 public:
  Assembly(const Graph& graph, const UnitGraph& units, const std::vector<Part>& parts,
           const DeviceModel& device, const PlanOptions& options, int* failed)
      : graph_(graph),
        units_(units),
        parts_(parts),
        device_(device),
        options_(options),
        failed_(failed) {}

  std::vector<Group> run() {
    find_owners();
    find_buffers();
    std::vector<Group> groups;
    for (int part : execution_order()) groups.push_back(group(part));
    number(&groups);
    return groups;
  }

 private:
  void find_owners() {
    owner_.assign(graph_.nodes.size(), -1);
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (NodeId id : parts_[p].nodes) {
        if (!contains(parts_[p].recomputed, id))
          owner_[static_cast<size_t>(id)] = static_cast<int>(p);
      }
    }
  }

  // What each part reads from memory, and with it what every other part has to store.
  void find_buffers() {
    stored_.assign(graph_.nodes.size(), false);
    for (NodeId id : graph_.outputs) stored_[static_cast<size_t>(id)] = true;
    needs_.resize(parts_.size());
    for (size_t p = 0; p < parts_.size(); ++p) {
      for (NodeId id : parts_[p].nodes) {
        for (NodeId operand : graph_[id].operands) {
          NodeId value = root(graph_, units_, operand);
          if (owner_[static_cast<size_t>(value)] < 0) continue;
          if (std::binary_search(parts_[p].nodes.begin(), parts_[p].nodes.end(), value)) continue;
          stored_[static_cast<size_t>(value)] = true;
          needs_[p].insert(owner_[static_cast<size_t>(value)]);
        }
      }
    }
  }

  [[noreturn]] void refuse(int part, std::string message) const {
    if (failed_ != nullptr) *failed_ = part;
    throw Error(ErrorKind::input, std::move(message));
  }

  std::vector<int> execution_order() const {
    std::vector<NodeId> last(parts_.size());
    for (size_t p = 0; p < parts_.size(); ++p) last[p] = parts_[p].nodes.back();
    return ordered(deadlines(last, ordered(last)));
  }

  // A part whose intermediates shrink what waits in memory is due at once, by its last node; any
  // other one when the first of those that read it is due.
  std::vector<NodeId> deadlines(std::vector<NodeId> due, const std::vector<int>& order) const {
    std::vector<NodeId> first_read(parts_.size(), no_reader);
    std::vector<double> read(parts_.size()), written(parts_.size());
    for (size_t p = 0; p < parts_.size(); ++p) {
      std::set<NodeId> operands;
      for (NodeId id : parts_[p].nodes) {
        for (NodeId operand : graph_[id].operands) operands.insert(root(graph_, units_, operand));
      }
      for (NodeId value : operands) {
        int from = owner_[static_cast<size_t>(value)];
        if (from >= 0 && from != static_cast<int>(p)) read[p] += waiting_bytes(value);
      }
      for (NodeId id : parts_[p].nodes) {
        bool own = owner_[static_cast<size_t>(id)] == static_cast<int>(p);
        if (own && stored_[static_cast<size_t>(id)]) written[p] += waiting_bytes(id);
      }
    }
    for (auto p = order.rbegin(); p != order.rend(); ++p) {
      auto part = static_cast<size_t>(*p);
      bool waits = read[part] <= written[part] && first_read[part] < no_reader;
      if (waits) due[part] = std::max(due[part], first_read[part]);
      for (int from : needs_[part]) {
        NodeId& first = first_read[static_cast<size_t>(from)];
        first = std::min(first, due[part]);
      }
    }
    return due;
  }

  // Of a value that takes memory between two kernels; what is returned takes it all the time.
  double waiting_bytes(NodeId value) const {
    bool returned = units_.graph_output[static_cast<size_t>(value)];
    return returned ? 0 : at_sizes(bytes_of(graph_, value), options_.sizes);
  }

  // Parts after those they need; of those that are ready the one that is due first.
  std::vector<int> ordered(const std::vector<NodeId>& due) const {
    std::vector<size_t> waiting(parts_.size());
    std::vector<std::vector<int>> after(parts_.size());
    using Entry = std::tuple<NodeId, NodeId, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    auto enter = [&](int part) {
      auto p = static_cast<size_t>(part);
      ready.emplace(due[p], parts_[p].nodes.back(), part);
    };
    for (size_t p = 0; p < parts_.size(); ++p) {
      waiting[p] = needs_[p].size();
      for (int from : needs_[p]) after[static_cast<size_t>(from)].push_back(static_cast<int>(p));
      if (waiting[p] == 0) enter(static_cast<int>(p));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      int p = std::get<2>(ready.top());
      ready.pop();
      order.push_back(p);
      for (int next : after[static_cast<size_t>(p)]) {
        if (--waiting[static_cast<size_t>(next)] == 0) enter(next);
      }
    }
    if (order.size() == parts_.size()) return order;
    for (size_t p = 0; p < parts_.size(); ++p) {
      if (waiting[p] > 0) {
        throw Error(ErrorKind::input, fmt::format("the groups form a cycle through the one of '{}'",
                                                  graph_[parts_[p].nodes.back()].name));
      }
    }
    return order;
  }

  Group group(int index) {
    const Part& part = parts_[static_cast<size_t>(index)];
    Group group;
    group.nodes = with_views(graph_, units_, part.nodes);
    group.recomputed = part.recomputed;
    std::sort(group.recomputed.begin(), group.recomputed.end());
    for (NodeId id : part.nodes) {
      if (is_contraction(graph_, id)) group.contraction = id;
      bool own = owner_[static_cast<size_t>(id)] == index;
      if (own && stored_[static_cast<size_t>(id)]) group.outputs.push_back(id);
    }
    Analysis analysis;
    Decision legal = analyze(graph_, group.nodes, group.outputs, &analysis);
    GroupCost cost;
    if (legal) {
      cost = measure(graph_, analysis, &device_, options_.sizes, options_.numerics);
      legal = rows_with_columns(graph_, analysis, cost, device_);
    }
    if (!legal) {
      refuse(index, fmt::format("the ops up to '{}' cannot be one kernel: {}",
                                graph_[part.nodes.back()].name, legal.detail));
    }
    if (options_.numerics != Numerics::exact) take_online(&group, &analysis, &cost);
    for (const auto& [id, bytes] : cost.read) {
      group.inputs.push_back(id);
      group.input_bytes.push_back(bytes);
    }
    for (NodeId id : group.outputs) {
      if (!analysis.evaluations.at(id)[0].consumers.empty()) group.materialized.push_back(id);
    }
    group.traffic = {cost.read_bytes, cost.written, Sym(0)};
    group.flops = cost.flops;
    group.product_flops = cost.product_flops;
    group.instructions = cost.instructions;
    group.special = cost.special;
    group.scattered_read = cost.scattered_read;
    group.scattered_written = cost.scattered_written;
    group.parallel = cost.parallel;
    group.batch_invariant = group.contraction < 0;
    group.domain = analysis.domain;
    group.kind = kind(group, analysis);
    group.schedules = choose_schedules(graph_, group, analysis, cost, device_, options_.numerics);
    if (const Choice* choice = choice_of(options_.choices, part.nodes)) {
      apply_schedules(graph_, *choice, device_, options_.sizes, &group);
    }
    group.name = name(part);
    group.reason = reason(group, part, cost);
    return group;
  }

  // Not where what lies between a maximum and its sum is kept for later passes: in the chunks it is
  // another value.
  void take_online(Group* group, Analysis* analysis, GroupCost* cost) const {
    if (!analysis->domain.columns.empty()) return;
    std::map<NodeId, OnlineSum> online = online_sums(graph_, *analysis, device_.gpu);
    if (online.empty()) return;
    Analysis joined = with_online(graph_, *analysis, online);
    GroupCost less = measure(graph_, joined, &device_, options_.sizes, options_.numerics);
    for (const auto& [sum, how] : online) {
      for (NodeId id : less.staged) {
        if (id > how.maximum && id < sum) return;
      }
    }
    group->online = std::move(online);
    *analysis = std::move(joined);
    *cost = std::move(less);
  }

  GroupKind kind(const Group& group, const Analysis& analysis) const {
    if (group.contraction >= 0) return GroupKind::contraction;
    for (NodeId id : group.nodes) {
      if (is_scan(graph_, id)) return GroupKind::scan;
      if (is_scatter(graph_, id)) return GroupKind::scatter;
    }
    bool gathers = false, exponential = false, full = false;
    int sums = 0, maxima = 0;
    for (NodeId id : group.nodes) {
      Op op = graph_[id].op;
      gathers = gathers || op == Op::gather || op == Op::gather_elements;
      exponential = exponential || op == Op::exp;
      sums += op == Op::sum ? 1 : 0;
      maxima += op == Op::max ? 1 : 0;
    }
    bool any_reduced = std::any_of(analysis.domain.vars.begin(), analysis.domain.vars.end(),
                                   [](const DomainVar& var) { return var.reduced; });
    if (!any_reduced) {
      if (gathers) return GroupKind::gather;
      return transposes(analysis) ? GroupKind::transpose : GroupKind::elementwise;
    }
    for (NodeId id : group.outputs) {
      full = full || (!analysis.evaluations.at(id)[0].per_row && analysis.level.at(id) > 0);
    }
    if (full) {
      bool softmax = exponential && sums > 0 && maxima > 0;
      return softmax ? GroupKind::softmax : GroupKind::normalization;
    }
    return group.domain.trailing_reduced ? GroupKind::row_reduction : GroupKind::column_reduction;
  }

  // A buffer is read along another variable than the innermost one.
  bool transposes(const Analysis& analysis) const {
    const std::vector<DomainVar>& vars = analysis.domain.vars;
    if (vars.size() < 2) return false;
    for (const auto& [id, reads] : analysis.reads) {
      for (const Evaluation& read : reads) {
        Sym flat = flat_index(graph_[id].type.shape, read.index);
        std::optional<Sym> inner = flat.stride(vars.back().name);
        if (!inner || inner->is(0) || inner->is(1)) continue;
        for (size_t v = 0; v + 1 < vars.size(); ++v) {
          std::optional<Sym> stride = flat.stride(vars[v].name);
          if (stride && stride->is(1)) return true;
        }
      }
    }
    return false;
  }

  // The ops' names in order; of more than four the first three and the last. One name alone gets a
  // suffix: an op's name may be a word of C++ or of the device library.
  std::string name(const Part& part) const {
    std::vector<std::string> words;
    std::set<int32_t> seen;
    for (NodeId id : part.nodes) {
      int32_t source = graph_[id].source;
      if (source >= 0 && !seen.insert(source).second) continue;
      bool known = source >= 0 && static_cast<size_t>(source) < graph_.sources.size();
      words.emplace_back(
          op_name(known ? graph_.sources[static_cast<size_t>(source)].op : graph_[id].op));
    }
    if (words.size() > most_words) words.erase(words.begin() + most_words - 1, words.end() - 1);
    if (words.size() == 1) words.emplace_back("kernel");
    return join(words, "_");
  }

  // As the program counts them: a softmax is one. What belongs to none of them counts for itself.
  size_t ops_of(const Part& part) const {
    std::set<int32_t> sources;
    size_t others = 0;
    for (NodeId id : part.nodes) {
      if (graph_[id].source >= 0)
        sources.insert(graph_[id].source);
      else
        ++others;
    }
    return sources.size() + others;
  }

  std::string reason(const Group& group, const Part& part, const GroupCost& cost) const {
    const size_t count = ops_of(part);
    std::string ops = count == 1 ? "one op" : fmt::format("{} ops", count);
    std::string space;
    for (const DomainVar& var : group.domain.vars) {
      space += (space.empty() ? "" : ", ") + var.extent.text() + (var.reduced ? " reduced" : "");
    }
    std::string text = fmt::format("{} over [{}]", ops, space);
    if (group.contraction >= 0) {
      text += fmt::format("; on blocks of the product '{}'", graph_[group.contraction].name);
    }
    if (!group.domain.columns.empty()) text += "; rows and columns";
    if (cost.passes > 1) {
      text += fmt::format("; {} passes over {} a row", cost.passes,
                          bytes_text(at_sizes(cost.row_bytes, options_.sizes)));
    }
    return text;
  }

  void number(std::vector<Group>* groups) const {
    std::set<std::string> taken;
    std::map<std::string, int> uses;
    for (size_t i = 0; i < groups->size(); ++i) {
      Group& group = (*groups)[i];
      group.id = static_cast<int>(i);
      std::string wanted = group.name;
      while (!taken.insert(group.name).second) {
        group.name = fmt::format("{}_{}", wanted, ++uses.emplace(wanted, 1).first->second);
      }
    }
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const std::vector<Part>& parts_;
  const DeviceModel& device_;
  const PlanOptions& options_;
  int* failed_;
  std::vector<int> owner_;
  std::vector<bool> stored_;
  std::vector<std::set<int>> needs_;
};

}  // namespace

std::vector<Group> build_groups(const Graph& graph, const UnitGraph& units,
                                const std::vector<Part>& parts, const DeviceModel& device,
                                const PlanOptions& options, int* failed) {
  return Assembly(graph, units, parts, device, options, failed).run();
}

}  // namespace ingot
