// Greedy fusion over the units in topological order.
#pragma once

#include <optional>

#include "plan/partition.h"

namespace ingot {

// Of a group: compile time grows faster than linearly (bench/NOTES.md). Ops of one shape may be
// more, since they need no new walk; but with the tensors that they read, too.
inline constexpr size_t most_nodes = 96, most_alike = 256, most_read_alike = 128;
inline constexpr size_t most_operands = 512;       // of a group that computes something again
inline constexpr double most_instructions = 1600;  // estimated, of an element

Decision refusal(Reason reason, std::string detail);
std::vector<NodeId> united(const std::vector<NodeId>& a, const std::vector<NodeId>& b);

// Units that run together so far.
struct Cluster {
  std::vector<int> units;          // ascending
  std::vector<NodeId> nodes;       // with the views between them; ascending
  std::vector<NodeId> outputs;     // ascending
  std::vector<NodeId> reads;       // buffers of others; ascending
  std::vector<NodeId> recomputed;  // ascending
  Domain domain;
  int contraction_unit = -1;
  double instructions = 0;  // of an element
  // Elementwise ops of one shape, each at the domain's index: two such groups need no new walk.
  bool alike = false;
  bool reductions = false, alive = true;
  bool walked = true;  // its domain is that of a walk over just these nodes and outputs
  int version = 0;
  // No unit in it, nor in any cluster that it needs, comes later than this one.
  int reach = 0;
  struct Work {
    double bytes, us;
    bool row_stays;
    double row_bytes, near_row_bytes;
    ingot::Work detail;  // with the spread of its rows, which `us` leaves out
  };
  std::optional<Work> work;  // at the options' sizes; derived when asked for
  struct Moved {
    Sym bytes;
    std::map<NodeId, Sym> read;  // of them, by buffer
  };
  std::optional<Moved> moved;  // derived when asked for, after all groups have joined
};

// A group that grew op by op has a domain, but a walk over all of it finds none.
struct LostDomain {};

class Fusion {
 public:
  // `op_by_op`: groups take elementwise ops without another walk. Throws LostDomain, then only.
  Fusion(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
         const PlanOptions& options, bool op_by_op);
  Partition run();

 private:
  struct Union {
    std::vector<NodeId> nodes, outputs;
    Analysis analysis;
    Cluster::Work work;
  };
  void start();
  void start_alone(const FusionUnit& unit, Cluster* cluster);
  bool start_like(const FusionUnit& unit, Cluster* cluster);
  void join_producers(int unit);
  void try_again();
  bool one_op(int first, int second) const;  // units that are parts of one op of the program
  Decision try_edge(const Edge& edge);
  Decision find_work(Union* all) const;
  // `one_op`: parts of one op of the program, which belong together at any time predicted.
  Decision try_merge(int into, int from, Union* merged, bool sibling, bool one_op = false);
  bool extend_elementwise(int into, int from);
  bool join_alike(int into, int from);
  Decision fits(const Cluster& a, const Cluster& b, size_t most) const;
  bool fit_alike(const Cluster& a, const Cluster& b) const;
  Decision keeps_the_peak(int p, int c) const;
  Decision gain(int into, int from, Union* merged, bool sibling, bool one_op);
  void merge(int into, int from, Union merged);
  void absorb(int into, int from);
  bool feeds_product(NodeId value, int unit) const;
  bool depends(int cluster, int on) const;
  std::vector<int> producers(int cluster) const;
  void pass_on_reach(int cluster);
  bool read_outside(NodeId value, int a, int b) const;
  Cluster::Work work_of(const Analysis& analysis) const;
  Cluster::Work work_of(const GroupCost& cost) const;
  const Cluster::Work& work(int cluster);
  Analysis analysis_of(const Cluster& cluster) const;
  Decision yes(const Edge& edge, int producer_cluster, bool had_reductions) const;
  void join_siblings();
  std::set<NodeId> reads_again(int cluster) const;
  void join_new_siblings();
  void join_readers(NodeId value, const std::vector<int>& reading);
  void recompute();
  friend class CrossingValues;  // plan/crossing_values.h
  friend class Recomputation;   // plan/fuse_recompute.cpp
  Partition finish();

  Cluster& at(int cluster) { return clusters_[static_cast<size_t>(cluster)]; }
  const Cluster& at(int cluster) const { return clusters_[static_cast<size_t>(cluster)]; }
  int cluster_of(int unit) const { return cluster_of_[static_cast<size_t>(unit)]; }
  const FusionUnit& unit(int u) const { return units_.units[static_cast<size_t>(u)]; }
  int unit_of(NodeId node) const { return units_.unit_of[static_cast<size_t>(node)]; }
  const std::vector<int>& readers(NodeId node) const {
    return units_.readers[static_cast<size_t>(node)];
  }
  std::string named(NodeId node) const;

  const Graph& graph_;
  const UnitGraph& units_;
  const DeviceModel& device_;
  const PlanOptions& options_;
  const bool op_by_op_;
  std::vector<Cluster> clusters_;
  std::vector<int> cluster_of_;
  std::vector<Edge> edges_;
  SeparateBytes separate_;
  // Elementwise ops alone, by all that their cost depends on: the first unit of the kind.
  std::map<std::string, int> first_like_;
  std::set<NodeId> read_again_;             // by nodes that are computed again
  std::vector<SaveOrRecompute> values_;     // that one group makes and others read
  std::vector<std::pair<int, int>> tried_;  // versions of both clusters when edge i was refused
};

}  // namespace ingot
