// Why two nodes run together, or do not, and what is known that decides it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace ingot {

// Reasons for "yes" and "no", stable words that scripts may compare.
enum class Reason : uint8_t {
  // yes
  local_dependency,    // elementwise, broadcast or movement into its consumer
  into_reduction,      // producer computed while the reduction loads
  row_in_fast_memory,  // reduction → broadcast → elementwise, row kept or re-read from cache
  shared_input,        // siblings that read the same tensor
  epilogue_on_tile,    // elementwise on a product's block while it is in cache
  materialized,        // one more output of the same kernel serves the other consumers
  recomputed,          // cheaper to compute again than to store and load
  view,                // movement that is only an index map: nothing to fuse
  composite,           // parts of one op
  one_hot_product,     // a product that picks rows runs as a gather
  equal_value,         // no kernel computes it: another value is the same, or nothing needs it
  value_range,         // the values are known to lie where a shorter formula holds
  fewer_live_values,   // the schedule was changed, since its kernel spilled
  spill_kept,          // a split would move more bytes than the spill does
  measured,            // the faster of several forms that were timed; yes and no
  // no
  different_iteration_space,
  would_cycle,
  needs_whole_tensor,
  row_too_large,
  group_too_large,  // compile time grows faster than the kernel
  graph_output_only,
  library_operand,  // a product reads its operand from memory
  fusion_off,
  no_gain,
  numerics,
  spills,  // together they need more registers than a thread has
  memory,  // together the program needs more memory at once than op by op
  unsupported_pattern,
  user_plan,
};

// What a decision is about.
enum class DecisionKind : uint8_t {
  producer_consumer,
  sibling,      // two that read the same tensor
  epilogue,     // on a product's block
  prologue,     // what a product reads
  composite,    // parts of one op
  copy,         // a view that needs a buffer of its own
  rewrite,      // what a pass put in the place of an op, or did not
  formula,      // a shorter one for the values of an operand
  resources,    // what a compiler found, and what was changed for it
  measurement,  // what was timed, and what was chosen for it
};

// Yes or no, with the reason and the numbers. Converts to bool. Recorded where it is taken.
struct Decision {
  bool fused = false;
  Reason reason = Reason::no_gain;
  std::string detail;                   // a sentence with the shapes and numbers
  NodeId producer = -1, consumer = -1;  // for a sibling edge: the two siblings
  int32_t source = -1;                  // of an op that no node is left of, instead of them
  DecisionKind kind = DecisionKind::producer_consumer;
  Sym bytes_saved;  // an upper bound; 0 when not fused
  // For a value with several consumers: bytes of both choices.
  std::optional<Sym> bytes_if_materialized, bytes_if_recomputed;
  explicit operator bool() const { return fused; }
};

// A value that one kernel makes and others need: what it takes to save it in memory, and to compute
// it again in each of them, at the least cost. Bytes of the finished plan's buffers are not in it.
struct SaveOrRecompute {
  NodeId value = -1;
  std::vector<NodeId> consumers;  // ops in other kernels
  bool recomputed = false;
  Sym bytes_if_saved;      // written, and read by the consumers
  double us_if_saved = 0;  // predicted, as the next ones
  // Nothing where it cannot be computed again.
  std::optional<Sym> bytes_if_recomputed, flops_if_recomputed;
  std::optional<double> us_if_recomputed;
  std::string why;
};

// The nodes of one kernel, without views; ascending. `recomputed` ones are another part's.
struct Part {
  std::vector<NodeId> nodes, recomputed;
};

// What is known of some nodes beside what the planner sees, a compiler's report, a measurement or
// the memory in use, and what is done about it: plan/choice.h.
struct Choice {
  std::vector<NodeId> nodes;  // of a group, or of the groups that are to be one
  std::vector<Part> parts;    // that they run as; none: as one group that is there
  size_t steps = 0;           // changes of all its schedules, one after the other
  std::string schedule;       // the one that goes first; empty: the planner's order
  Reason reason = Reason::spills;
  std::string found;  // in words
};

}  // namespace ingot
