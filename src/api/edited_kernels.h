// Kernels that the user edited: sources for a compiler, or loops as `ingot lower` prints them.
#pragma once

#include <map>
#include <string>

#include "api/units.h"
#include "report/report.h"

namespace ingot {

using KernelFiles = std::map<std::string, std::string>;  // kernel name → path

// Of the files that hold a source. Error{input} where one cannot be read or is no text.
EditedKernels edited_sources(const KernelFiles& files);
// Puts the kernels of the files that hold loops in the place of ours; whether there were any.
// Error{input} where such a file lacks its kernel, or the kernel does not hold together or takes
// other parameters than ours.
bool replace_loops(const KernelFiles& files, LoweredGroups* loops);
// Whether all of them hold loops.
bool are_loops(const KernelFiles& files);

}  // namespace ingot
