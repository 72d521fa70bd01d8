// C++ text → loaded shared object, through a content-addressed cache.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emit/kernel_source.h"

namespace ingot {

struct JitOptions {
  std::string
      cache_dir;         // empty: $INGOT_CACHE_DIR, else $XDG_CACHE_HOME/ingot, else ~/.cache/ingot
  std::string compiler;  // empty: $CXX, else g++, else clang++, else c++
  int jobs = 0;          // compilers at once; 0: number of cores
};

// A loaded shared object; closed with the last reference.
class Library {
 public:
  using Entry = void (*)(const KernelCall*);
  Entry entry(const std::string& symbol) const;  // an error if absent
  bool from_cache = false;
  double compile_ms = 0;
  std::string path;  // of the .so; the source stands beside it
  std::string file;  // the unit's

 private:
  friend class JitAccess;
  std::shared_ptr<void> handle_;
};

struct Unit {
  std::string name;       // readable, for the file name
  std::string source;     // a whole translation unit
  std::string file = {};  // where the source is the user's; its faults are then Error{input}
};

// Compiles all units at once. Key: SHA-256 of source, flags, CPU features, compiler version and our
// ABI. A source that the compiler refuses is Error{internal} with the lines around it; no compiler,
// or one that fails otherwise, is Error{input}.
std::vector<Library> compile(const std::vector<Unit>& units, const JitOptions& options);

struct CacheStats {
  std::string directory;
  int64_t entries, bytes, damaged;
};
CacheStats cache_stats(const JitOptions& options);
CacheStats cache_verify(
    const JitOptions& options);  // re-reads every checksum, removes damaged entries
CacheStats cache_clear(const JitOptions& options);
std::string compiler_version(const JitOptions& options);  // "g++ (Debian …) 12.2.0"
std::string cpu_description();                            // model name and the vector features used

}  // namespace ingot
