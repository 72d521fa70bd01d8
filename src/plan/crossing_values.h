// Values that groups exchange and what leads to them: who reads them, who may come to need them,
// and what saving each costs and computing it again.
#pragma once

#include "plan/fuse.h"
#include "plan/save_or_recompute.h"

namespace ingot {

class CrossingValues {
 public:
  // A value that groups exchange, or a node that leads to one.
  struct Item {
    NodeId id = -1;
    bool open = false;         // may be computed again
    std::string fixed;         // why not
    bool stored = false;       // as things are
    std::vector<int> readers;  // groups
    // Groups that may come to need it, and the share of its elements: a gather reads few.
    std::map<int, double> needing;
    std::vector<int> operands;  // items
    double save = 0, read = 0, again = SaveProblem::never;
    Sym saved_bytes;
    std::string refused;  // by the walk
  };
  // Of one more byte and one more instruction: in what is kept down, and in us.
  struct Price {
    double byte, instruction, byte_us, instruction_us;
  };
  struct Network {
    SaveProblem problem;
    std::vector<int> items;  // by position
    std::map<int, int> position;
    std::vector<Sym> upkeep_bytes;  // as the problem's
    std::vector<double> upkeep_us;

    int add(int item) {
      const auto [found, added] = position.try_emplace(item, static_cast<int>(items.size()));
      if (added) {
        items.push_back(item);
        problem.values.emplace_back();
      }
      return found->second;
    }
    SaveProblem::Value& value(int item) {
      return problem.values[static_cast<size_t>(position.at(item))];
    }
  };
  // Computing one value again, all others as they were chosen.
  struct Way {
    double us = 0;
    Sym bytes, flops;
  };

  explicit CrossingValues(Fusion* fusion);

  int size() const { return static_cast<int>(items_.size()); }
  int crossing() const { return crossing_; }  // so many are exchanged, the first ones
  Item& item(int i) { return items_[static_cast<size_t>(i)]; }
  const Item& item(int i) const { return items_[static_cast<size_t>(i)]; }
  int item_of(NodeId id);           // a new one, if there is none
  int owner_of(NodeId id) const;    // the group that makes it; -1: none
  double size_of(NodeId id) const;  // bytes
  bool by_bytes() const { return fusion_.options_.fusion == FusionMode::all; }
  Sym read_bytes(int group, NodeId value);
  // Little for what a group has little of, since memory and arithmetic overlap.
  const Price& price(int group);
  void forget_prices() { prices_.assign(prices_.size(), std::nullopt); }
  // The problem of these open items; others are saved.
  Network network(const std::vector<int>& items);
  std::optional<Way> way_of(int item);  // nothing of one that is not open
  double cost(const Way& way) const;    // in the unit of an item's costs

 private:
  void find_crossing();
  std::string why_saved(NodeId value) const;
  bool may_repeat(NodeId id) const;
  void expand(int first);
  void spread_needs();
  void find_costs();
  const Cluster::Moved& moved(int group);
  double share(const Item& value, int group) const;
  double reading(const Item& value, const std::vector<int>& groups);
  bool reads(int group, NodeId value) const;
  double arithmetic(int item) const;  // of all its elements
  SaveProblem::Value& problem_value(int item, Network* network);
  void add_upkeep(int maker, Network* network);
  Way way(int first, const Network& local, const SaveSolution& solution);
  const Bindings& sizes() const { return fusion_.options_.sizes; }
  const FusionUnit& unit(int u) const { return fusion_.unit(u); }
  Cluster& cluster(int c) { return fusion_.at(c); }

  Fusion& fusion_;
  const Graph& graph_;
  std::vector<Item> items_;
  std::map<NodeId, int> places_;
  int crossing_ = 0;
  std::vector<std::optional<Price>> prices_;
};

bool holds(const std::vector<NodeId>& ascending, NodeId id);
void insert_ascending(std::vector<int>* list, int value);

}  // namespace ingot
