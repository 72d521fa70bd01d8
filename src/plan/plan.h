// Plan: which nodes run together, why, why not, at what cost, and where the buffers lie.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/value_range.h"
#include "plan/decision.h"
#include "plan/device_model.h"
#include "plan/schedule.h"

namespace ingot {

enum class Numerics : uint8_t { exact, wide, fast };
enum class FusionMode : uint8_t { off, automatic, all };

enum class GroupKind : uint8_t {
  elementwise,
  transpose,
  gather,
  row_reduction,
  column_reduction,
  normalization,
  softmax,
  contraction,
  scan,
  scatter,
};

struct DomainVar {
  std::string name;  // "i0", "i1", …
  Sym extent;
  bool reduced;
};

// The iteration space of a group. Reductions of a group all reduce the same variables, but for
// `columns`. Adjacent reduced dimensions are one variable; size-1 dimensions have none.
struct Domain {
  std::vector<DomainVar> vars;    // in the order of the anchor's dimensions
  bool trailing_reduced = false;  // the last variable is reduced: canonical order "trailing"
  // Reductions over all variables but the last, where the others reduce that one: rows and columns
  // of one input. Ascending.
  std::vector<NodeId> columns;
  // Index of each group output, each reduction's result, and of the contraction's result, in vars.
  std::map<NodeId, std::vector<Sym>> index;
  Ranges ranges() const;
  bool is_empty() const;  // has no elements, at any sizes
};

struct Traffic {
  Sym read, written, workspace;  // bytes at device memory
};

// A sum of e^(x - max(x)) in the pass of its maximum: plan/online.h.
struct OnlineSum {
  NodeId maximum;
  bool infinite;  // an infinite maximum is subtracted too, and gives NaN
  bool bare;      // nothing but the sum needs its terms
};

struct Group {
  int id = 0;
  std::string name;  // "add_gelu"
  GroupKind kind = GroupKind::elementwise;
  std::vector<NodeId> nodes;  // topological; also recomputed ones and views
  std::vector<NodeId>
      inputs;  // buffers read: graph inputs, constants with data, other groups' outputs
  std::vector<Sym> input_bytes;      // what is read of each, counted once
  std::vector<NodeId> outputs;       // buffers written
  std::vector<NodeId> materialized;  // outputs that are also used inside
  std::vector<NodeId> recomputed;    // nodes that another group computes too
  NodeId contraction = -1;
  Domain domain;
  std::vector<Schedule> schedules;
  std::map<NodeId, Narrowing> narrowings;
  std::map<NodeId, OnlineSum> online;
  Traffic traffic;
  Sym flops;
  Sym product_flops;  // the library's part of them
  Sym instructions;   // estimated vector-element instructions
  Sym special;        // of them those of a GPU's special-function unit
  Sym scattered_read, scattered_written, parallel;  // as in GroupCost (plan/cost.h)
  std::string reason;                               // one sentence: why these nodes run together
  bool batch_invariant = true;                      // false: a library product decides the bits
};

struct Plan {
  std::string graph_name;
  std::string device;
  Numerics numerics = Numerics::exact;
  FusionMode fusion = FusionMode::automatic;
  std::vector<Group> groups;  // in execution order
  std::vector<Decision> decisions;
  std::vector<SaveOrRecompute> values;  // that one group makes and others need; by value
  // The source program run op by op (interface.md, Counting): its bytes and the kernels it takes.
  Sym separate_bytes;
  int64_t separate_kernels = 0;
};

struct PlanOptions {
  Numerics numerics = Numerics::exact;
  FusionMode fusion = FusionMode::automatic;
  Bindings sizes;  // values to weigh costs with; sizes not listed count as 1024
  int threads = 0;
  std::vector<Choice> choices;  // a later one of the same nodes stands for an earlier one
  bool allow_memory = false;  // automatic fusion may raise the peak above that of separate kernels
};

// The fusion algorithm: a graph after run_graph_passes → groups. With FusionMode::off one group per
// source op. Deterministic.
Plan make_plan(const Graph& graph, const DeviceModel& device, const PlanOptions& options);

// Finds the iteration space in which all `nodes` (topological) can be computed together, with the
// values in `outputs` stored. The Decision says no with its reason, or yes and fills `domain`.
Decision find_domain(const Graph& graph, const std::vector<NodeId>& nodes,
                     const std::vector<NodeId>& outputs, Domain* domain);

// The schedule that runs: the first whose guards hold; 0 where there is none.
size_t chosen_variant(const Group& group, const Bindings& sizes);

Sym group_bytes(const Group& group);  // read + written + workspace
// Predicted time at concrete sizes, µs; and what binds: "memory", "compute" or "launch".
struct Estimate {
  double us;
  std::string bound;
  double intensity;  // FLOP a byte
};
Estimate estimate(const Group& group, const DeviceModel& device, const Bindings& sizes);
Estimate estimate(const Plan& plan, const DeviceModel& device, const Bindings& sizes);

// Arena: one block of memory for every group output that is not a graph output, plus workspaces.
struct BufferPlan {
  std::map<NodeId, int64_t> offset;  // of intermediates, bytes, 64-byte aligned
  int64_t arena_bytes = 0;
  int64_t peak_bytes = 0;  // arena + inputs + outputs + weights alive at once
};
BufferPlan plan_buffers(const Graph& graph, const std::vector<Group>& groups,
                        const Bindings& sizes);
BufferPlan plan_buffers(const Graph& graph, const Plan& plan, const Bindings& sizes);

std::string print(const Graph& graph, const Plan& plan);
// Reads an edited plan: groups by node names, schedules by name; everything else is derived again
// and checked. Error{input} with a caret where a group is not legal.
Plan parse_plan(const Graph& graph, std::string_view text, const std::string& file,
                const DeviceModel& device, const PlanOptions& options);
// Every output computed once, groups acyclic and in order, domains valid. Error{internal}.
void verify(const Graph& graph, const Plan& plan, std::string_view where);

}  // namespace ingot
