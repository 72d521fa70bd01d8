#include "plan/crossing_values.h"

#include <algorithm>
#include <numeric>

namespace ingot {
namespace {

constexpr size_t most_recomputed = 32;                // nodes that are looked at for one value
constexpr size_t most_needing = 16;                   // groups that may come to need a value
constexpr double per_byte = 1e-6;                     // with --fusion all: megabytes are kept down
constexpr double most_cost = 1e9;                     // us or megabytes
constexpr double step_share = 0.1, least_step = 1e4;  // of a group's bytes, for its price of one

}  // namespace

bool holds(const std::vector<NodeId>& ascending, NodeId id) {
  return std::ranges::binary_search(ascending, id);
}

void insert_ascending(std::vector<int>* list, int value) {
  const auto place = std::ranges::lower_bound(*list, value);
  if (place == list->end() || *place != value) list->insert(place, value);
}

CrossingValues::CrossingValues(Fusion* fusion)
    : fusion_(*fusion), graph_(fusion->graph_), prices_(fusion->clusters_.size()) {
  find_crossing();
  for (int i = 0; i < crossing_; ++i) expand(i);
  spread_needs();
  find_costs();
}

double CrossingValues::size_of(NodeId id) const { return at_sizes(bytes_of(graph_, id), sizes()); }

int CrossingValues::owner_of(NodeId id) const {
  const int u = fusion_.unit_of(id);
  return u < 0 ? -1 : fusion_.cluster_of(u);
}

int CrossingValues::item_of(NodeId id) {
  const auto [found, added] = places_.try_emplace(id, static_cast<int>(items_.size()));
  if (added) items_.emplace_back().id = id;
  return found->second;
}

void CrossingValues::find_crossing() {
  for (size_t c = 0; c < fusion_.clusters_.size(); ++c) {
    if (!fusion_.clusters_[c].alive) continue;
    for (const NodeId value : fusion_.clusters_[c].outputs) {
      std::vector<int> readers;
      for (const int u : fusion_.readers(value)) {
        const int reader = fusion_.cluster_of(u);
        if (reader != static_cast<int>(c)) insert_ascending(&readers, reader);
      }
      if (readers.empty()) continue;
      Item& found = item(item_of(value));
      for (const int reader : readers) {
        const double bytes = at_sizes(read_bytes(reader, value), sizes());
        found.needing[reader] = std::min(1.0, bytes / std::max(size_of(value), 1.0));
      }
      found.readers = std::move(readers);
      found.fixed = why_saved(value);
    }
  }
  crossing_ = size();
}

// Empty: it may be computed again.
std::string CrossingValues::why_saved(NodeId value) const {
  if (fusion_.units_.graph_output[static_cast<size_t>(value)]) {
    return "it is a result of the program";
  }
  if (!may_repeat(value)) {
    return fmt::format("{} is not done twice", op_name(graph_[value].op));
  }
  for (const int u : fusion_.readers(value)) {
    const std::string reader = graph_[unit(u).result].name;
    if (fusion_.feeds_product(value, u)) {
      return fmt::format("the product '{}' reads it from memory", reader);
    }
    if (unit(u).copy) return fmt::format("'{}' is stored in its place", reader);
  }
  return {};
}

// A reduction's result is shorter than what it is made of, by its length.
bool CrossingValues::may_repeat(NodeId id) const {
  const int u = fusion_.unit_of(id);
  return u >= 0 && !unit(u).copy && !is_reduction(graph_, id) && !is_scan(graph_, id) &&
         !reads_memory(graph_, id);
}

// The nodes that lead to a value, the nearest ones first.
void CrossingValues::expand(int first) {
  if (!item(first).fixed.empty()) return;
  std::vector<int> queue{first};
  std::set<int> seen{first};
  for (size_t next = 0; next < queue.size() && next < most_recomputed; ++next) {
    const int i = queue[next];
    const NodeId id = item(i).id;
    if (!item(i).fixed.empty() || !may_repeat(id)) continue;
    const bool known = item(i).open;
    item(i).open = true;
    for (const NodeId operand : graph_[id].operands) {
      const NodeId value = root(graph_, fusion_.units_, operand);
      if (is_free(graph_, fusion_.units_, value) || is_literal(graph_, value)) continue;
      const int o = item_of(value);
      if (!known && std::ranges::find(item(i).operands, o) == item(i).operands.end()) {
        item(i).operands.push_back(o);
      }
      if (seen.insert(o).second) queue.push_back(o);
    }
  }
}

// A group that computes a value again may come to need all that leads to it.
void CrossingValues::spread_needs() {
  std::vector<int> order(items_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater<>(), [&](int i) { return item(i).id; });
  for (const int i : order) {
    Item& from = item(i);
    const int owner = owner_of(from.id);
    from.needing.erase(owner);
    from.stored = owner < 0 || holds(cluster(owner).outputs, from.id);
    if (from.open && from.needing.size() > most_needing) {
      from.open = false;
      from.fixed = fmt::format("{} kernels would compute it again", from.needing.size());
    }
    if (!from.open) continue;
    for (const int o : from.operands) {
      for (const auto& [c, share] : from.needing) {
        double& most = item(o).needing[c];
        most = std::max(most, share);
      }
    }
  }
}

const CrossingValues::Price& CrossingValues::price(int c) {
  std::optional<Price>& known = prices_[static_cast<size_t>(c)];
  if (known) return *known;
  moved(c);  // and its work, by one walk
  const Work now = fusion_.work(c).detail;
  const double us = work_time(fusion_.device_, now).us;
  const auto slope = [&](const Work& more, double step) {
    return std::max(0.0, work_time(fusion_.device_, more).us - us) / step;
  };
  Work more = now;
  const double bytes = now.read + now.written;
  const double more_bytes = std::max(step_share * bytes, least_step);
  more.read += more_bytes;
  more.cached *= bytes > 0 ? (bytes + more_bytes) / bytes : 1;
  const double byte_us = slope(more, more_bytes);
  more = now;
  const double more_work = std::max(step_share * now.instructions, least_step);
  more.instructions += more_work;
  more.special *= now.instructions > 0 ? more.instructions / now.instructions : 1;
  const double instruction_us = slope(more, more_work);
  return known.emplace(by_bytes() ? Price{per_byte, 0, byte_us, instruction_us}
                                  : Price{byte_us, instruction_us, byte_us, instruction_us});
}

const Cluster::Moved& CrossingValues::moved(int c) {
  Cluster& own = cluster(c);
  if (own.moved) return *own.moved;
  const Analysis analysis = fusion_.analysis_of(own);
  if (!own.work) own.work = fusion_.work_of(analysis);
  GroupCost cost = measure(graph_, analysis, nullptr, {}, Numerics::exact);
  return own.moved.emplace(Cluster::Moved{cost.read_bytes + cost.written, std::move(cost.read)});
}

Sym CrossingValues::read_bytes(int c, NodeId value) {
  const auto found = moved(c).read.find(value);
  return found == moved(c).read.end() ? Sym(0) : found->second;
}

void CrossingValues::find_costs() {
  for (size_t i = 0; i < items_.size(); ++i) {
    Item& value = items_[i];
    const int owner = owner_of(value.id);
    if (static_cast<int>(i) < crossing_) {
      value.saved_bytes = bytes_of(graph_, value.id);
      value.save = size_of(value.id) * price(owner).byte;
      for (const int c : value.readers) {
        const Sym bytes = read_bytes(c, value.id);
        value.saved_bytes = value.saved_bytes + bytes;
        value.save += at_sizes(bytes, sizes()) * price(c).byte;
      }
    }
    std::vector<int> groups;
    for (const auto& [c, share] : value.needing) groups.push_back(c);
    value.read = reading(value, groups);
    if (!value.open) continue;
    value.again = 0;
    for (const auto& [c, share] : value.needing) {
      value.again += share * arithmetic(static_cast<int>(i)) * price(c).instruction;
    }
  }
}

double CrossingValues::cost(const Way& way) const {
  return by_bytes() ? at_sizes(way.bytes, sizes()) * per_byte : way.us;
}

// Of what these groups come to need, and do not read or make anyway.
double CrossingValues::reading(const Item& value, const std::vector<int>& groups) {
  double cost = value.stored ? 0 : size_of(value.id) * price(owner_of(value.id)).byte;
  for (const int c : groups) {
    if (reads(c, value.id)) continue;
    cost += share(value, c) * size_of(value.id) * price(c).byte;
  }
  return cost;
}

double CrossingValues::share(const Item& value, int group) const {
  const auto found = value.needing.find(group);
  return found == value.needing.end() ? 1 : found->second;
}

bool CrossingValues::reads(int c, NodeId value) const {
  return std::ranges::any_of(fusion_.at(c).units, [&](int u) {
    return std::ranges::find(unit(u).reads, value) != unit(u).reads.end();
  });
}

double CrossingValues::arithmetic(int i) const {
  const Node& node = graph_[item(i).id];
  return instructions_of(node, fusion_.device_.gpu) *
         at_sizes(element_count(node.type.shape), sizes());
}

CrossingValues::Network CrossingValues::network(const std::vector<int>& component) {
  Network result;
  std::set<int> makers;
  for (const int i : component) {
    SaveProblem::Value& value = problem_value(i, &result);
    value.save = item(i).save;
    if (item(i).refused.empty()) value.again = item(i).again;
    makers.insert(owner_of(item(i).id));
  }
  for (const int maker : makers) add_upkeep(maker, &result);
  return result;
}

// With what it is made of.
SaveProblem::Value& CrossingValues::problem_value(int i, Network* network) {
  std::vector<int> operands;
  for (const int o : item(i).operands) {
    operands.push_back(network->add(o));
    network->value(o).read = item(o).read;
  }
  network->add(i);
  SaveProblem::Value& value = network->value(i);
  value.read = item(i).read;
  value.operands = std::move(operands);
  return value;
}

// What the group would no longer read and compute, were values gone from it, and its start.
void CrossingValues::add_upkeep(int maker, Network* network) {
  const Cluster& own = cluster(maker);
  std::map<NodeId, std::vector<NodeId>> users;  // of values and buffers
  size_t all = 0;
  for (const NodeId id : own.nodes) {
    if (is_free(graph_, fusion_.units_, id)) continue;
    ++all;
    for (const NodeId operand : graph_[id].operands) {
      std::vector<NodeId>& list = users[root(graph_, fusion_.units_, operand)];
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }
  const auto position_of = [&](NodeId id) {
    const auto place = places_.find(id);
    if (place == places_.end() || !item(place->second).open) return -1;
    const auto found = network->position.find(place->second);
    return found == network->position.end() ? -1 : found->second;
  };
  const Price& each = price(maker);
  const auto add = [&](std::vector<int> values, const Sym& bytes, double instructions, double us) {
    const double size = at_sizes(bytes, sizes());
    network->problem.upkeep.push_back(
        {size * each.byte + instructions * each.instruction + (by_bytes() ? 0 : us),
         std::move(values)});
    network->upkeep_bytes.push_back(bytes);
    network->upkeep_us.push_back(size * each.byte_us + instructions * each.instruction_us + us);
  };
  std::vector<int> made;
  for (const auto& [id, list] : users) {
    std::vector<int> positions;
    for (const NodeId user : list) positions.push_back(position_of(user));
    const bool others = std::ranges::count(positions, -1) > 0;
    const bool inside = holds(own.nodes, id);
    const int position = inside ? position_of(id) : -1;
    if (position >= 0) {
      SaveProblem::Value& value = network->problem.values[static_cast<size_t>(position)];
      value.stays = others;
      std::erase(positions, -1);
      value.users = std::move(positions);
    } else if (!inside && !others && !is_literal(graph_, id)) {
      add(std::move(positions), read_bytes(maker, id), 0, 0);
    }
  }
  for (const NodeId id : own.nodes) {
    if (const int position = position_of(id); position >= 0) {
      made.push_back(position);
      add({position}, Sym(0), arithmetic(places_.at(id)), 0);
    }
  }
  if (made.size() == all) add(std::move(made), Sym(0), 0, fusion_.device_.launch_us);
}

std::optional<CrossingValues::Way> CrossingValues::way_of(int first) {
  if (!item(first).open) return std::nullopt;
  const std::vector<int>& groups = item(first).readers;
  Network local;
  local.add(first);
  std::set<int> makers;
  for (size_t next = 0; next < local.items.size(); ++next) {
    const int i = local.items[next];
    const bool open = item(i).open && local.items.size() <= 4 * most_recomputed;
    if (open) problem_value(i, &local).again = 0;
    SaveProblem::Value& value = local.value(i);
    value.read = reading(item(i), groups);
    if (!open) continue;
    for (const int c : groups) {
      value.again += share(item(i), c) * arithmetic(i) * price(c).instruction;
    }
    makers.insert(owner_of(item(i).id));
  }
  local.value(first).save = most_cost;  // it is what is asked for
  for (const int maker : makers) add_upkeep(maker, &local);
  const SaveSolution solution = cheapest(local.problem);
  if (solution.again.empty() || !solution.again[0]) return std::nullopt;
  return way(first, local, solution);
}

CrossingValues::Way CrossingValues::way(int first, const Network& local,
                                        const SaveSolution& solution) {
  Way way;
  const Item& asked = item(first);
  // That a group needs of a value: all, or as many as it reads of the one that is asked for.
  const auto elements = [&](const Item& value, int c) {
    const Sym all = element_count(graph_[value.id].type.shape);
    if (share(value, c) >= 1) return all;
    return ceil_div(read_bytes(c, asked.id), Sym(byte_size(graph_[asked.id].type.dtype)));
  };
  for (size_t p = 0; p < local.items.size(); ++p) {
    const Item& value = item(local.items[p]);
    const Node& node = graph_[value.id];
    if (solution.again[p]) {
      const auto each = static_cast<int64_t>(op_info(node.op).flops + 0.5);
      for (const int c : asked.readers) {
        way.flops = way.flops + elements(value, c) * Sym(each);
        way.us += share(value, c) * arithmetic(local.items[p]) * price(c).instruction_us;
      }
    }
    if (!solution.read[p]) continue;
    if (!value.stored) {
      way.bytes = way.bytes + bytes_of(graph_, value.id);
      way.us += size_of(value.id) * price(owner_of(value.id)).byte_us;
    }
    for (const int c : asked.readers) {
      if (reads(c, value.id)) continue;
      way.bytes = way.bytes + elements(value, c) * Sym(byte_size(node.type.dtype));
      way.us += share(value, c) * size_of(value.id) * price(c).byte_us;
    }
  }
  for (size_t k = 0; k < local.problem.upkeep.size(); ++k) {
    const std::vector<int>& values = local.problem.upkeep[k].values;
    const bool all = std::ranges::all_of(
        values, [&](int v) { return static_cast<bool>(solution.gone[static_cast<size_t>(v)]); });
    if (!all) continue;
    way.bytes = way.bytes - local.upkeep_bytes[k];
    way.us -= local.upkeep_us[k];
  }
  return way;
}

}  // namespace ingot
