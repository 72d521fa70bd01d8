// How a group runs: its schedules and the sizes that choose between them.
#pragma once

#include <string>
#include <vector>

#include "base/sym.h"
#include "graph/graph.h"
#include "graph/reduction_order.h"

namespace ingot {

// A choice of schedule for a group, guarded at run time: the first variant whose guards hold runs.
struct Schedule {
  std::string name;           // "rows", "flat", "rows, streaming", "split"
  bool streaming = false;     // non-temporal stores and prefetch for outputs beyond the cache
  bool split_rows = false;    // few long rows: chunks in parallel, partials combined in order
  bool column_bands = false;  // columns: bands of rows in parallel, partials combined in order
  bool row_bands = false;     // rows and columns: bands of rows in parallel, each row by row
  // On a GPU: rows of a band that are worked on at once, and inputs whose next ones are on their
  // way meanwhile.
  int64_t rows_together = 1;
  std::vector<NodeId> fetched;
  int64_t rows_ahead = 0;
  int64_t row_blocks = 0;  // 4 or 8 rows side by side: row vectors are loaded once for four
  // On a GPU: each chunk of a row on a warp of its own, or each row of a tile on a few threads;
  // rows that a thread advances side by side; columns that a block of threads covers (0: all of
  // them).
  bool spread_rows = false;
  int blocks = 1;                                 // that share a row, as a cluster
  int lanes = static_cast<int>(reduction_lanes);  // of the sums of a row
  int64_t chunk = trailing_chunk;                 // of a row, that a warp takes
  int64_t bands = 0;                              // of rows, all at once; 0: of 64 rows each
  bool bands_apart = false;                       // each takes every so many-th row
  int64_t chunks = 0;  // of a split row, all at once, each every so many-th piece; 0: as in `exact`
  int64_t thread_rows = 1, block_columns = 0;
  // Where its compiler found that values do not fit: elements that a thread takes at a time (0: 16
  // bytes of the narrowest operand), and whether it may have all registers there are.
  int64_t thread_elements = 0;
  bool all_registers = false;
  int64_t most_registers = 0;  // that a thread may have; 0: the emitter's own bound
  bool chunk_rows = false;     // what is staged is kept for a chunk of the row, not for all passes
  // Where pads and concats cut the last variable: each piece has what it needs and nothing else.
  struct Piece {
    int64_t first, length;
  };
  std::vector<Piece> pieces;
  std::string tile_variable;  // operands count with it, not with the last: turned over in tiles
  bool tiles_along_outputs = false;         // one after the other along rows of the outputs
  int64_t tile_rows = 0, tile_columns = 0;  // on a GPU: of such an operand
  int64_t block_rows = 0;                   // contraction: rows of the product a block computes
  std::vector<NodeId> staged;  // values kept in a row buffer between passes instead of recomputed
  struct AtLeast {
    Sym value;
    int64_t minimum;
    std::string text() const;  // "n >= 16"; "8*B <= 4096" of -8*B >= -4096
  };
  std::vector<AtLeast> guards;  // all must hold; the last variant of a group has none

  std::string word() const;  // "rows_streaming" of "rows, streaming": in names and tuning files
};

// Whether a schedule runs at these sizes; not where it asks for one that is not given.
bool guards_hold(const Schedule& schedule, const Bindings& sizes);

}  // namespace ingot
