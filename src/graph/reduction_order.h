// The canonical order of reductions in `exact` (docs/semantics.md), as numbers that the evaluator,
// the lowering and the docs share. It depends on the op, the reduced lengths and whether the
// trailing dimension is reduced; never on the number of rows, threads, vectors or the fusion.
//
// Adjacent reduced dimensions count as one. The innermost reduced dimension, of n elements, is cut
// into chunks, each of which gives a partial.
//  trailing:  chunks of 2048 (1 + n / 2^23), so that there are never more than 4096; inside a chunk
//             64 lanes, lane l takes elements l, l+64, … in order from the identity; then lanes are
//             halved: l with l+32, l+16, l+8, l+4, l+2, l+1. The partials are combined alike:
//             lane l takes those of the chunks l, l+64, …, then halves.
//  otherwise: chunks of 64, elements in order, from the identity; 16 chunks in order make a block,
//             the blocks are combined in order.
// Outer reduced dimensions run in order around the innermost, on the same lanes or total.
// Size-1 dimensions are dropped first; a dimension is trailing when it is the last of those left.
#pragma once

#include <cstdint>

namespace ingot {

inline constexpr int64_t trailing_chunk = 2048;
inline constexpr int64_t longest_of_small_chunks = int64_t{1} << 23;
inline constexpr int64_t reduction_lanes = 64;
inline constexpr int64_t column_chunk = 64;
inline constexpr int64_t block_chunks = 16;

}  // namespace ingot
