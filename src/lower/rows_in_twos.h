// Two iterations of a serial loop at a time, so that a processor has twice as much to do that does
// not wait for itself, and threads wait for each other half as often.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loop/loop.h"

namespace ingot::lowering {

using Unique = std::function<std::string(const std::string&)>;  // a name that is not taken yet

// The loop over pairs, and one over what may be left. Iterations may depend on earlier ones through
// elements that each loads and stores at the same place of one vector loop.
std::vector<loop::Stmt> rows_in_twos(const loop::Loop& rows, const Unique& unique);

}  // namespace ingot::lowering
