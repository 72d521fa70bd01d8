// How the lanes of the chunk that is being written see subscripts, guards and values.
#include "emit/lane_questions.h"

#include <algorithm>
#include <array>

namespace ingot {

using namespace loop;

bool LaneQuestions::differs_by_row(const Sym& index) const {
  return chunk_ && !chunk_->across.empty() && index.uses(chunk_->across);
}

bool LaneQuestions::rows_aligned(const Sym& index) const {
  Sym at = Sym(across_columns) * Sym::var(std::string(chunk_var));
  for (int64_t row = 0; row < across_rows; row++) {
    std::map<std::string, Sym, std::less<>> place{{chunk_->ir_var, at}, {chunk_->across, Sym(row)}};
    if (!multiple_of(index.substitute(place, ranges_), across_columns)) return false;
  }
  return true;
}

bool LaneQuestions::uses_values(const Sym& sym) const {
  return std::ranges::any_of(sym.variables(), [&](const std::string& name) {
    return !ranges_.contains(name) && values_.contains(name);
  });
}

bool LaneQuestions::uses_varying_values(const Sym& sym) const {
  return std::ranges::any_of(sym.variables(), [&](const std::string& name) {
    auto found = values_.find(name);
    return !ranges_.contains(name) && found != values_.end() && found->second.varying;
  });
}

bool LaneQuestions::is_varying(const Sym& sym) const {
  return sym.uses(chunk_->ir_var) || differs_by_row(sym) || uses_varying_values(sym);
}

bool LaneQuestions::is_varying(const std::vector<Guard>& guards) const {
  return std::ranges::any_of(guards, [&](const Guard& guard) {
    return is_varying(guard.value) || is_varying(guard.lo) || is_varying(guard.hi);
  });
}

bool LaneQuestions::is_varying(const Operand& operand) const {
  const auto* name = std::get_if<std::string>(&operand);
  return name != nullptr && value(*name).varying;
}

bool LaneQuestions::is_varying(const Stmt& stmt) const {
  if (const auto* load = std::get_if<Load>(&stmt)) {
    return is_varying(load->index) || is_varying(load->guards);
  }
  const auto& index = std::get<IndexValue>(stmt);
  return is_varying(index.value) || is_varying(index.guards);
}

// Whether a guard holds for all lanes of a chunk or for none: it begins and ends with one.
bool LaneQuestions::ends_between_chunks(const Guard& guard) const {
  if (!chunk_->across.empty() || access(guard.value).kind != LaneAccess::contiguous) return false;
  const Sym at = Sym(target_.lanes) * Sym::var(std::string(chunk_var));
  return std::ranges::all_of(std::array{guard.lo, guard.hi}, [&](const Sym& end) {
    return multiple_of((guard.value - end).substitute({{chunk_->ir_var, at}}), target_.lanes);
  });
}

// Whether a guard is not one condition for all lanes.
bool LaneQuestions::differs_by_lane(const std::vector<Guard>& guards) const {
  return chunk_ && std::ranges::any_of(guards, [&](const Guard& guard) {
           auto differs = [&](const Sym& s) { return access(s).kind != LaneAccess::uniform; };
           if (differs(guard.lo) || differs(guard.hi)) return true;
           return differs(guard.value) && !ends_between_chunks(guard);
         });
}

// Whether each guarded value is the same for all lanes or counts with them.
bool LaneQuestions::follows_lanes(const std::vector<Guard>& guards) const {
  return std::ranges::all_of(guards, [&](const Guard& guard) {
    return access(guard.value).kind != LaneAccess::lanes &&
           !differs_by_lane({{guard.lo, 0, guard.hi}});
  });
}

Sym LaneQuestions::lane_index(const Sym& index) const {
  Sym at = Sym::var(chunk_->ir_var) + Sym::var(std::string(lane_var));
  return index.substitute({{chunk_->ir_var, at}});
}

// A loop variable is a multiple of 64 at a chunk's start, so that j / 64 or j % 64 may turn out to
// be the same for all lanes, or to follow them.
LaneAccess LaneQuestions::access(const Sym& index) const {
  if (!chunk_ || !is_varying(index)) return {LaneAccess::uniform, index};
  if (uses_varying_values(index)) return {LaneAccess::lanes, index};
  auto classify = [&](const Sym& sym) -> std::optional<LaneAccess> {
    std::optional<Sym> stride = sym.stride(lane_var);
    if (!stride || (!stride->is(0) && !stride->is(1))) return std::nullopt;
    Sym first = sym.substitute({{std::string(lane_var), Sym(0)}});
    return LaneAccess{stride->is(0) ? LaneAccess::uniform : LaneAccess::contiguous, first};
  };
  if (std::optional<LaneAccess> found = classify(lane_index(index))) return *found;
  INGOT_CHECK(chunk_->across.empty(), "kernel {}: rows by lanes", kernel_.name);
  Sym at = Sym(target_.lanes) * Sym::var(std::string(chunk_var)) + Sym::var(std::string(lane_var));
  Ranges ranges = ranges_;
  for (const std::string& name : index.variables()) {  // a loaded id may be 0, which no size is
    if (!ranges.contains(name) && values_.contains(name)) ranges[name] = Sym::var(name + " limit");
  }
  ranges.insert_or_assign(std::string(lane_var), Sym(target_.lanes));
  ranges.insert_or_assign(std::string(chunk_var), ranges_.find(chunk_->ir_var)->second);
  if (std::optional<LaneAccess> found =
          classify(index.substitute({{chunk_->ir_var, at}}, ranges))) {
    return *found;
  }
  return {LaneAccess::lanes, index};
}

// Whether the place of every chunk is a multiple of 16 elements, for aligned stores; in CUDA of the
// chunk's own length.
bool LaneQuestions::aligned(const Sym& index) const {
  Sym at = Sym(target_.lanes) * Sym::var(std::string(chunk_var));
  return multiple_of(index.substitute({{chunk_->ir_var, at}}), target_.cuda ? target_.lanes : 16);
}

const EmittedValue& LaneQuestions::value(const std::string& name) const {
  auto found = values_.find(name);
  INGOT_CHECK(found != values_.end(), "kernel {}: no value '{}'", kernel_.name, name);
  return found->second;
}

}  // namespace ingot
