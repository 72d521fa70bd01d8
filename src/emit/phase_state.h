// What the emitter knows while it writes a phase; each phase starts with a fresh one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sym.h"
#include "emit/chunk.h"

namespace ingot {

struct PhaseState {
  size_t depth_ = 0;
  std::map<std::string, std::string> buffers_;    // IR name → text
  std::map<std::string, std::string> variables_;  // loop variables and sizes → text
  std::map<std::string, std::string> quotients_;  // of the phase's variable: IR text → name
  std::map<std::string, EmittedValue> values_;
  std::map<std::string, EmittedValue> accumulators_;
  std::set<std::string> written_;                      // buffers stored to
  std::set<std::string> in_subscripts_;                // names of values that stand in subscripts
  std::map<std::string, std::set<std::string>> uses_;  // value → "store", "row", "other"
  Ranges ranges_;
  std::optional<Chunk> chunk_;
  // Variables for expressions of the loops around: depth of the scope, text, name.
  struct Shared {
    size_t depth;
    std::string text, name;
  };
  std::vector<Shared> shared_;
  std::map<std::string, std::string> rows_;  // "buffer + what is the same for a loop" → pointer
  bool streams_ = false;
  // CUDA: stores of 16 bytes that the compiler would do in parts, as soon as each is there, among
  // loads that it may not move or rows side by side.
  bool stores_whole_ = false;
  std::set<std::string> setups_;  // CUDA: functions that a block's threads call before all else
  std::string repeats_;           // CUDA: whether the iteration is another team's too; empty: never
  std::map<std::string, int> row_reads_;  // loads from a row of registers so far
  struct PackNow {                        // of a fetched row, and the loop that loads it
    std::string name, loop;
  };
  std::map<std::string, PackNow> packs_now_;
  std::set<std::string> in_pairs_;  // accumulators of bf16 extremes, kept as they stand in memory
  std::map<std::string, std::string> parts_;  // accumulator → where warps leave their parts
  std::string part_place_;                    // and at which place
  bool parts_in_lanes_ = false;               // in registers of each thread instead
  std::vector<std::string> serial_;           // variables of the serial loops around, their text
};

}  // namespace ingot
