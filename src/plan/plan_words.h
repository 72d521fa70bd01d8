// The words that plans, decisions and reports have for their values; scripts may compare them.
#pragma once

#include <string_view>

#include "plan/plan.h"

namespace ingot {

std::string_view numerics_text(Numerics numerics);
std::string_view fusion_text(FusionMode mode);
std::string_view kind_text(GroupKind kind);
std::string_view reason_text(Reason reason);
std::string_view kind_text(DecisionKind kind);
DecisionKind decision_kind(std::string_view text);  // of one of these

// Whether ops could have run together or apart. Others change one kernel.
bool is_edge(DecisionKind kind);

}  // namespace ingot
