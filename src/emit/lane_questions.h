// What the emitter asks about the chunk that it is writing: which subscripts, guards and values are
// the same for all lanes, and which follow them.
#pragma once

#include <string>
#include <vector>

#include "emit/chunk.h"
#include "emit/phase_state.h"
#include "loop/loop.h"

namespace ingot {

// The longest that a loop can be, over all iterations of the loops around it.
std::optional<int64_t> longest_loop(const Sym& extent);

// Ops that an iteration computes; from so many on a few of them hide what one waits for.
inline constexpr int64_t much_arithmetic = 6;
int64_t arithmetic(const loop::Loop& loop);

// Whether sums of one lane stand in vector loops: those of columns.
bool sums_columns(const std::vector<loop::Stmt>& body, bool in_vector = false);

class LaneQuestions : protected PhaseState {
 protected:
  LaneQuestions(const loop::Kernel& kernel, const Target& target)
      : kernel_(kernel), target_(target), kernel_target_(target) {}

  bool differs_by_row(const Sym& index) const;
  bool rows_aligned(const Sym& index) const;
  bool is_varying(const loop::Stmt& stmt) const;
  bool is_varying(const Sym& sym) const;
  bool is_varying(const std::vector<loop::Guard>& guards) const;
  bool is_varying(const loop::Operand& operand) const;
  bool ends_between_chunks(const loop::Guard& guard) const;
  bool differs_by_lane(const std::vector<loop::Guard>& guards) const;
  bool follows_lanes(const std::vector<loop::Guard>& guards) const;
  bool uses_values(const Sym& sym) const;
  bool uses_varying_values(const Sym& sym) const;
  LaneAccess access(const Sym& index) const;
  Sym lane_index(const Sym& index) const;
  bool aligned(const Sym& index) const;
  const EmittedValue& value(const std::string& name) const;

  const loop::Kernel& kernel_;
  Target target_;
  const Target kernel_target_;  // of phases that have none of their own
  // CUDA: scratch with an element for each spread iteration, or rows filled ahead, in shared memory
  std::set<std::string> shared_rows_, fetched_;
  std::set<std::string> loaded_;  // buffers of the kernel
};

}  // namespace ingot
