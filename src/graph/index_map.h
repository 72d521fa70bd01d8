// Index maps: from the index of a result to the index of an operand. The one way to speak about
// access: legality, bytes, coalescing and emitted subscripts all come from them.
//
//   transpose perm=[1,0]   (i, j) -> (j, i)
//   broadcast [N]→[M,N]    (i, j) -> (j)
//   reshape [B,2048,64]→[B,512,256]   (b, i, j) -> (b, 4*i + j / 64, j % 64)
//   slice                  (i) -> (2*i + 3)
//   pad, concat            the same with a guard: the part of the domain where this operand is read
//   gather dim=0           (i, j) -> (ids[i], j): a run-time symbol in place of an index
#pragma once

#include "graph/graph.h"

namespace ingot {

// lo ≤ value < hi.
struct Guard {
  Sym value, lo, hi;
};

struct Access {
  std::vector<Sym> index;     // of the operand, one per operand dimension
  std::vector<Guard> guards;  // read only where all hold; empty: everywhere
  // gather's table only: position in `index` that holds the variable `run_time_symbol` standing for
  // the value of the ids operand at the index that `access` of operand 1 gives. -1: none.
  int run_time_dim = -1;
};
inline constexpr std::string_view run_time_symbol = "@id";

// Where operand number `operand` of `node` is read when the node's element at `index` is computed.
// `index` may be any expressions in variables with the given ranges. For a reduction, `index` has
// the kept dimensions and `reduced` the expressions for the reduced ones, in order.
Access operand_access(const Graph& graph, NodeId node, int operand, const std::vector<Sym>& index,
                      const Ranges& ranges, const std::vector<Sym>& reduced = {});

// Of all operands, which share what a concat's have to add up. Not for reductions.
std::vector<Access> operand_accesses(const Graph& graph, NodeId node, const std::vector<Sym>& index,
                                     const Ranges& ranges);

// The inverse for maps that are one to one: the index of `node` as a function of the index of its
// operand; nullopt if there is none (broadcast, slice, pad, concat, gather, a reduction).
std::optional<std::vector<Sym>> result_index(const Graph& graph, NodeId node, int operand,
                                             const std::vector<Sym>& operand_index,
                                             const Ranges& ranges);

// Row-major flat index.
Sym flat_index(const Shape& shape, const std::vector<Sym>& index);
// "(i, j) -> (j, i)"
std::string map_text(const std::vector<std::string>& variables, const std::vector<Sym>& results);

}  // namespace ingot
