// What was given on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ingot::cli {

struct Arguments {
  std::string command;       // "explain", "run", …
  std::string command_line;  // as typed, for a reproducer
  std::string file;
  std::string device, numerics = "exact", fusion = "auto";
  std::vector<std::string> dims, inputs, kernels;  // NAME=VALUE each
  std::vector<int> register_caps;                  // tune
  std::string out, plan, cache, tuning;
  std::string html, dot, trace;  // files for reports
  std::optional<double> rtol, atol;
  int threads = 0;
  int repeats = 0;
  bool counters = false;            // bench
  std::string compare;              // bench: an earlier report
  std::vector<std::string> sweeps;  // bench: NAME=N,N,… each
  int port = 0;                     // lab; 0: a free one
  double budget = 30;               // tune: seconds
  bool allow_memory = false;        // fusion auto
  bool json = false, verbose = false;
  bool measure = false, no_measure = false;  // explain; devices
  bool markdown = false, header = false;     // ops
  std::string cache_action;                  // stats, verify, clear
};

}  // namespace ingot::cli
