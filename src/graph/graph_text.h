// Parts of the graph's text form.
#pragma once

#include <string>

#include "op/op.h"

namespace ingot {

std::string attr_text(const AttrValue& value);  // "true", "0.5", "[2*B, 8]", "\"erf\""

}  // namespace ingot
