// What the emitter knows of values and of the chunk of a vector loop that it is writing.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/c_text.h"

namespace ingot {

// Lanes of a vector on a CPU: as many as a reduction has, so that a chunk of a vector loop is one
// vector and a lane accumulator is one variable.
inline constexpr int vector_lanes = 64;
using Texts = std::vector<std::string>;

// How the iterations of a phase and the chunks of a vector loop are spread.
struct Target {
  bool cuda = false;
  int lanes = vector_lanes;  // elements of a chunk; in CUDA those of one thread
  int team = 1;              // threads that share an iteration of a phase, in all its blocks
  int warps = 0;             // of the team, where each runs vector loops by itself; else 0
  int64_t threads() const { return warps > 0 ? team / warps : team; }  // of a vector loop
  int block = 1;                                                       // threads of a block
  int least_block = 0;  // of a launch with few blocks; 0: as many
  int blocks = 1;       // of a cluster that shares an iteration
  // After it all threads of an iteration see what its warps have left for the others.
  std::string_view barrier() const {
    return blocks > 1 ? "cluster_barrier();" : "__syncthreads();";
  }
};

// A value or accumulator of the IR in the emitted text.
struct EmittedValue {
  std::string name;
  DType dtype = DType::f32;
  Lanes lanes = Lanes::f32;
  bool varying = false;           // differs from lane to lane of the vector loop
  std::string subscript;          // its text in subscripts: a `long`, or name_index[l]
  std::string counts_from;        // an i64 that grows by 1 from lane to lane: the first lane's
  Op reduction = Op::sum;         // accumulators
  bool lane_accumulator = false;  // a partial result in each lane
  bool folded = false;            // CUDA: its lanes are combined already
  bool untouched = false;         // CUDA: a sum that the next loop is the first to add to
  bool from_first = false;        // CUDA: it began with its first element, which may be -0
  std::string pack;               // CUDA: its elements as they stood in memory
  std::string pairs;              // and, also where they are widened, those of bf16
};

// CUDA: a block of memory in shared memory.
struct Tile {
  int64_t rows, columns;
};

// The chunk of a vector loop that is being written: elements var … var + 63, or as `across` says.
struct Chunk {
  std::string ir_var;            // the loop's variable in the IR
  std::string var;               // and in the text
  std::string live;              // the lanes that exist, where these may not be all 64; else empty
  bool conditional = false;      // CUDA: inside an `if`, for threads that have nothing to do
  std::string step;              // CUDA: the number of the chunk among those of the thread
  std::string across;            // the IR's row variable: 4 rows by 16 elements var … var + 15
  bool whole_packs = false;      // CUDA: tested at run time
  std::set<std::string> inside;  // names that the loop defines, its own variable too
};

// How the lanes of a chunk see a subscript.
struct LaneAccess {
  enum Kind { uniform, contiguous, lanes } kind;
  Sym index;  // of lane 0; in the kind `lanes` as it was
};
inline constexpr std::string_view lane_var = "@lane";
inline constexpr std::string_view chunk_var = "@chunk";  // var / 64

}  // namespace ingot
