// CUDA C++ text → cubin, by NVIDIA's run-time compiler (NVRTC), which is found when it is needed.
//
// No CUDA header and no CUDA library is needed to build this, and no driver to run it.
#pragma once

#include <string>
#include <vector>

#include "jit/cubin.h"
#include "jit/jit.h"

namespace ingot {

struct CudaBinary {
  std::string cubin;  // for the driver
  std::string log;    // of the assembler, with the resources of every kernel
  CubinResources resources;
  bool from_cache = false;
  double compile_ms = 0;
  std::string path;  // in the cache; the source (.cu) and the record (.json) stand beside it
};

struct CudaOptions {
  std::string cache_dir;   // as in JitOptions
  int jobs = 0;            // compilations at once; 0: number of cores
  int max_registers = 0;   // a thread; 0: the compiler chooses
  bool line_info = false;  // for profilers
};

// Compiles all units at once for an architecture ("sm_90a"), through the cache of cache.h. Key:
// SHA-256 of source, flags, architecture and NVRTC version. A source that NVRTC refuses is
// Error{internal} with the lines around it (Error{input} where `Unit::file` names the user's); no
// NVRTC, or an architecture that it does not know, is Error{input}.
std::vector<CudaBinary> compile_cuda(const std::vector<Unit>& units,
                                     const std::string& architecture, const CudaOptions& options);
CudaBinary compile_cuda(const Unit& unit, const std::string& architecture,
                        const CudaOptions& options);

struct NvrtcVersion {
  std::string path;
  std::string text;        // "13.0"
  int64_t file_bytes = 0;  // tells releases with the same version apart
  bool operator==(const NvrtcVersion&) const = default;
};

// INGOT_NVRTC alone if it is set; else libnvrtc.so.13, .12 and libnvrtc.so where the loader looks,
// under $CUDA_HOME, $CUDA_PATH and /usr/local/cuda, and in the Python environment $VIRTUAL_ENV.
// Error{input} says where it looked. Loads it, which takes a while; later calls find it loaded.
NvrtcVersion load_nvrtc();
// The same without loading, where `cache_dir` remembers what an equal search found.
NvrtcVersion find_nvrtc(const std::string& cache_dir);
void remember_nvrtc(const std::string& cache_dir, const NvrtcVersion& version);
// What load_nvrtc tries, in its order.
std::vector<std::string> nvrtc_candidates();

struct CudaCompilation {
  std::string cubin, log;
};
std::vector<std::string> cuda_flags(const std::string& architecture, const CudaOptions& options);
// One run of NVRTC; no cache.
CudaCompilation compile_cubin(const Unit& unit, const std::vector<std::string>& flags);

}  // namespace ingot
