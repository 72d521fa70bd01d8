// Which units run together: the fusion algorithm's result before details are derived.
#pragma once

#include "plan/cost.h"

namespace ingot {

// An edge between two units, or (kind "sibling") two units that read the same buffer.
struct Edge {
  NodeId value = -1;  // the producer's stored value, or the shared buffer
  NodeId via = -1;    // the view it is seen through, or the value itself
  int producer = -1;  // unit; of a sibling edge the first
  int consumer = -1;
  Decision decision;
};

// What a unit moves when it runs alone, by buffer read; and its results' bytes. Copies of views:
// nothing.
struct SeparateBytes {
  // What the next unit moves alone.
  void add(const FusionUnit& unit, std::map<NodeId, Sym> bytes_read, Sym bytes_written);
  std::vector<std::map<NodeId, Sym>> read;  // by unit
  std::vector<Sym> written;
  Sym total;
};
SeparateBytes separate(const Graph& graph, const UnitGraph& units);

struct SourceOps;  // plan/source_ops.h

struct Partition {
  std::vector<Part> parts;
  std::vector<Edge> edges;
  SeparateBytes separate;
  std::vector<SaveOrRecompute> values;  // that one part makes and others need
};

Partition partition(const Graph& graph, const UnitGraph& units, const DeviceModel& device,
                    const PlanOptions& options);

// Parts → groups in execution order with everything a Group has. Error{input} where a part has no
// common iteration space or depends on itself through another; `failed` (may be null) then is its
// index.
std::vector<Group> build_groups(const Graph& graph, const UnitGraph& units,
                                const std::vector<Part>& parts, const DeviceModel& device,
                                const PlanOptions& options, int* failed = nullptr);

// Whether the device has a kernel for rows and columns of one input; yes where there are not both.
Decision rows_with_columns(const Graph& graph, const Analysis& analysis, const GroupCost& cost,
                           const DeviceModel& device);

std::vector<Schedule> choose_schedules(const Graph& graph, const Group& group,
                                       const Analysis& analysis, const GroupCost& cost,
                                       const DeviceModel& device, Numerics numerics);

// Of elementwise work on a GPU: 16 bytes of the narrowest operand.
int64_t elements_of_thread(const Graph& graph, const Group& group);

// Fills in reasons that only the finished plan shows (materialized, recomputed) and every edge's
// share of the bytes saved; the shares sum to separate − fused.
std::vector<Decision> account(const Graph& graph, const UnitGraph& units, std::vector<Edge> edges,
                              const std::vector<Group>& groups, const SourceOps& ops);

}  // namespace ingot
