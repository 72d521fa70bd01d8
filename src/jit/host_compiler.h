// The system's C++ compiler: where it is, which version, and one run of it.
#pragma once

#include <string>
#include <vector>

#include "jit/jit.h"

namespace ingot {

struct HostCompiler {
  std::vector<std::string> command;  // first the path of the program, then its own arguments
  std::string version;               // first line of --version
};

// Options, else $CXX, else g++, clang++, c++ in PATH. Error{input} says what was looked for.
// The version is remembered in `cache_dir` by path, size and time of the program, so that a warm
// start runs no process.
HostCompiler find_compiler(const JitOptions& options, const std::string& cache_dir);

const std::vector<std::string>& compile_flags();

// Compiles one file into a shared object. Error{internal} has the compiler's first errors with the
// source lines around them.
void compile_file(const HostCompiler& compiler, const std::string& source_path,
                  const std::string& object_path, const Unit& unit);

}  // namespace ingot
