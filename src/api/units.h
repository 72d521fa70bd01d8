// Kernels → what goes to a compiler: units, and in which of them each kernel stands.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "emit/kernel_source.h"
#include "jit/jit.h"

namespace ingot {

// Sources of the user's by the name of the kernel that they replace.
using EditedKernels = std::map<std::string, Unit>;
// The text of a unit of several kernels.
using UnitText = std::function<std::string(std::span<const KernelSource* const>)>;

struct UnitList {
  std::vector<Unit> units;
  std::map<std::string, size_t> unit_of;  // by the kernel's name
  // The kernel whose function serves this one, by name: kernels equal up to names are one function.
  std::map<std::string, const KernelSource*> function_of;
};

// Spreads the kernels over `count` units of about equal length of text; the longest first, each to
// the unit that has least, so the split depends on nothing but the kernels. An edited one is a unit
// of its own.
UnitList make_units(std::vector<const KernelSource*> kernels, const EditedKernels& edited,
                    size_t count, const UnitText& text);

}  // namespace ingot
