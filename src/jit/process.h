// Runs a program without a shell and captures what it prints.
#pragma once

#include <string>
#include <vector>

namespace ingot {

struct ProcessResult {
  bool succeeded;      // exit code 0
  std::string output;  // stdout and stderr, interleaved
  std::string ending;  // "exit code 1", "signal 11"; "" if it succeeded
};

// command[0] is a path. Messages come in English (LC_ALL=C). Throws Error{input} if it cannot
// start.
ProcessResult run_process(const std::vector<std::string>& command);

}  // namespace ingot
