// The iteration space of a set of nodes, and who is computed how often in it. The same walk answers
// legality, bytes, instructions and what is worth keeping between passes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/index_map.h"
#include "plan/plan.h"

namespace ingot {

// A node evaluated at one index (of a group's node) or read at it (of a buffer).
struct Evaluation {
  std::vector<Sym> index;
  Sym elements;                   // distinct elements, at most
  Sym executions;                 // how often the loops come here, for one pass
  bool per_row = false;           // uses no reduced variable: once, between the passes; or is
                                  // made of columns' results, once after all rows
  bool run_time = false;          // rows picked by a gather
  std::vector<NodeId> consumers;  // nodes that asked for it
  bool stored = false;            // the group stores this value at this index
};

struct Analysis {
  Domain domain;
  std::vector<NodeId> nodes, outputs;
  std::map<NodeId, std::vector<Evaluation>> evaluations;  // of the group's nodes
  std::map<NodeId, std::vector<Evaluation>> reads;        // of the buffers it reads
  std::map<NodeId, int> level;  // reductions that stand one after another up to and with the node
  int levels = 0;
};

// find_domain with everything found on the way. `nodes` and `outputs` ascending.
Decision analyze(const Graph& graph, const std::vector<NodeId>& nodes,
                 const std::vector<NodeId>& outputs, Analysis* analysis);

// A reduction's reduced dimensions: size-1 ones dropped, adjacent ones together.
struct ReducedRuns {
  std::vector<std::vector<size_t>> runs;  // dimensions of the operand
  std::vector<Sym> extents;
  bool trailing = false;  // the last dimension that is not 1 is reduced
};
ReducedRuns reduced_runs(const Graph& graph, NodeId reduction);

// The variables that are not reduced, as one: how many rows, and the number of one.
Sym row_count(const Domain& domain);
Sym row_number(const Domain& domain);
bool is_column(const Domain& domain, NodeId reduction);  // one of `columns`
// `first`, and those of `nodes` (topological) that need them.
std::set<NodeId> after(const Graph& graph, const std::vector<NodeId>& nodes,
                       const std::vector<NodeId>& first);

// The domain variable along which a scan at `index` runs (empty: one element), and its direction.
struct ScanLine {
  bool found = false;
  std::string variable;
  bool reverse = false;
  friend bool operator==(const ScanLine&, const ScanLine&) = default;
};
ScanLine scan_line(const Graph& graph, NodeId scan, const std::vector<Sym>& index);

// The indices of `dims` (row-major, of the sizes `shape[d]`) when `value` counts their elements.
void split_index(const Sym& value, const Shape& shape, const std::vector<size_t>& dims,
                 const Ranges& ranges, std::vector<Sym>* index);

// Names of sizes in the shapes and attributes of these nodes and their operands.
std::set<std::string> sizes_of(const Graph& graph, const std::vector<NodeId>& nodes);

bool is_view(const Graph& graph, NodeId node);
bool is_reduction(const Graph& graph, NodeId node);
bool is_contraction(const Graph& graph, NodeId node);
bool is_scan(const Graph& graph, NodeId node);
bool is_scatter(const Graph& graph, NodeId node);
// Its operands are read from memory, however they were made.
bool reads_memory(const Graph& graph, NodeId node);
// Needs no buffer: a constant of one element.
bool is_literal(const Graph& graph, NodeId node);

// The place in memory of a node's element; a size-1 dimension is always at 0.
Sym flat_place(const Graph& graph, NodeId id, std::vector<Sym> index);
// Whether a value is read at some elements of a row only, as by pad, concat and gather: its row in
// the order of the group's may begin before the buffer, so it cannot be loaded as a whole.
bool reads_parts(const Graph& graph, const std::vector<NodeId>& nodes);

// The smaller of two counts; a min expression where the sizes decide.
Sym smaller(const Sym& a, const Sym& b);

}  // namespace ingot
