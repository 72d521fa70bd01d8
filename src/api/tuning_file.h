// Where the tuning database lies, read and written whole.
#pragma once

#include <ingot/options.h>

#include "plan/device_model.h"
#include "plan/tuning.h"

namespace ingot {

// Options::tuning_file, else INGOT_TUNING, else "tuning.txt" beside the compiled kernels. Empty for
// "none": no database.
std::string tuning_path(const Options& options);
// What entries call this device: the board of a GPU; a CPU with its vector instructions and the
// number of threads.
std::string tuning_device(const DeviceModel& device, int threads);

// A file that is not there is empty. Lines that are ignored are warnings on stderr.
TuningDatabase load_tuning(const std::string& path);
// Adds the entries to what the file has now, in the place of older ones, in one step: programs that
// do so at once lose nothing. Error{input} with path and reason.
void save_tuning(const std::string& path, const std::vector<TuningEntry>& entries);

}  // namespace ingot
