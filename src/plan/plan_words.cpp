#include "plan/plan_words.h"

#include "base/error.h"

namespace ingot {

std::string_view numerics_text(Numerics numerics) {
  switch (numerics) {
    case Numerics::exact:
      return "exact";
    case Numerics::wide:
      return "wide";
    case Numerics::fast:
      return "fast";
  }
  return "";
}

std::string_view fusion_text(FusionMode mode) {
  switch (mode) {
    case FusionMode::off:
      return "off";
    case FusionMode::automatic:
      return "auto";
    case FusionMode::all:
      return "all";
  }
  return "";
}

std::string_view kind_text(GroupKind kind) {
  switch (kind) {
    case GroupKind::elementwise:
      return "elementwise";
    case GroupKind::transpose:
      return "transpose";
    case GroupKind::gather:
      return "gather";
    case GroupKind::row_reduction:
      return "row_reduction";
    case GroupKind::column_reduction:
      return "column_reduction";
    case GroupKind::normalization:
      return "normalization";
    case GroupKind::softmax:
      return "softmax";
    case GroupKind::contraction:
      return "contraction";
    case GroupKind::scan:
      return "scan";
    case GroupKind::scatter:
      return "scatter";
  }
  return "";
}

std::string_view reason_text(Reason reason) {
  switch (reason) {
    case Reason::local_dependency:
      return "local_dependency";
    case Reason::into_reduction:
      return "into_reduction";
    case Reason::row_in_fast_memory:
      return "row_in_fast_memory";
    case Reason::shared_input:
      return "shared_input";
    case Reason::epilogue_on_tile:
      return "epilogue_on_tile";
    case Reason::materialized:
      return "materialized";
    case Reason::recomputed:
      return "recomputed";
    case Reason::view:
      return "view";
    case Reason::composite:
      return "composite";
    case Reason::one_hot_product:
      return "one_hot_product";
    case Reason::equal_value:
      return "equal_value";
    case Reason::value_range:
      return "value_range";
    case Reason::fewer_live_values:
      return "fewer_live_values";
    case Reason::spill_kept:
      return "spill_kept";
    case Reason::measured:
      return "measured";
    case Reason::different_iteration_space:
      return "different_iteration_space";
    case Reason::would_cycle:
      return "would_cycle";
    case Reason::needs_whole_tensor:
      return "needs_whole_tensor";
    case Reason::row_too_large:
      return "row_too_large";
    case Reason::group_too_large:
      return "group_too_large";
    case Reason::graph_output_only:
      return "graph_output_only";
    case Reason::library_operand:
      return "library_operand";
    case Reason::fusion_off:
      return "fusion_off";
    case Reason::no_gain:
      return "no_gain";
    case Reason::numerics:
      return "numerics";
    case Reason::spills:
      return "spills";
    case Reason::memory:
      return "memory";
    case Reason::unsupported_pattern:
      return "unsupported_pattern";
    case Reason::user_plan:
      return "user_plan";
  }
  return "";
}

std::string_view kind_text(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::producer_consumer:
      return "producer_consumer";
    case DecisionKind::sibling:
      return "sibling";
    case DecisionKind::epilogue:
      return "epilogue";
    case DecisionKind::prologue:
      return "prologue";
    case DecisionKind::composite:
      return "composite";
    case DecisionKind::copy:
      return "copy";
    case DecisionKind::rewrite:
      return "rewrite";
    case DecisionKind::formula:
      return "formula";
    case DecisionKind::resources:
      return "resources";
    case DecisionKind::measurement:
      return "measurement";
  }
  return "";
}

DecisionKind decision_kind(std::string_view text) {
  for (int kind = 0; kind <= static_cast<int>(DecisionKind::measurement); ++kind) {
    if (kind_text(static_cast<DecisionKind>(kind)) == text) return static_cast<DecisionKind>(kind);
  }
  throw Error(ErrorKind::internal, fmt::format("no decision is of kind '{}'", text));
}

bool is_edge(DecisionKind kind) {
  return kind != DecisionKind::rewrite && kind != DecisionKind::formula &&
         kind != DecisionKind::resources && kind != DecisionKind::measurement;
}

}  // namespace ingot
