// The canonical order of reductions in `exact` (docs/semantics.md), as numbers that the evaluator,
// the lowering and the docs share. It depends on the op, the reduced lengths and whether the
// trailing dimension is reduced; never on the number of rows, threads, vectors or the fusion.
//
// Adjacent reduced dimensions count as one. The innermost reduced dimension is cut into chunks;
// each chunk gives a partial; partials are combined in order, starting from the identity.
//  trailing:  chunks of 2048; inside a chunk 64 lanes, lane l takes elements l, l+64, … in order
//             from the identity; then lanes are halved: l with l+32, l+16, l+8, l+4, l+2, l+1.
//  otherwise: chunks of 64; inside a chunk elements in order, from the identity.
// Size-1 dimensions are dropped first; a dimension is trailing when it is the last of those left.
#pragma once

#include <cstdint>

namespace ingot {

inline constexpr int64_t trailing_chunk = 2048;
inline constexpr int64_t reduction_lanes = 64;
inline constexpr int64_t column_chunk = 64;

}  // namespace ingot
