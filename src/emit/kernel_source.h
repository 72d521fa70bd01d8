// What compilation and launch may know of a kernel: text, symbols and launch sizes. No IR.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/sym.h"

namespace ingot {

// The C ABI of an emitted CPU kernel phase: `extern "C" void NAME(const KernelCall* call)`. The
// same struct is written into the emitted text.
struct ProductCall;  // run/product.h
struct KernelReport {
  long number;  // 1 + index of the report
  long value;   // what the report names
};

struct KernelCall {
  void* const* buffers;  // in the order of KernelSource::params
  const long* sizes;     // in the order of KernelSource::sizes
  char* scratch;         // this thread's, 64-byte aligned
  long begin, end;       // iterations of this phase for this thread
  KernelReport* report;  // set when a run-time check fails
  void (*product)(const KernelCall* call, const char* routine, const long* sizes, const void* lhs,
                  const void* rhs,
                  void* dst);  // sizes in the order the Product statement lists them
  const void* runtime;         // for `product`
};

struct PhaseSource {
  std::string symbol;
  Sym extent;
  int64_t grain;
  // CUDA: threads that share an iteration, and threads of a block, of which a launch of few blocks
  // may have fewer (0: not). The kernel's parameters are the buffers in the order of params, the
  // sizes in the order of sizes, and the report.
  int team = 1, block = 0, least_block = 0;
  int blocks = 1;            // a cluster, that shares an iteration: `team` is all their threads
  int64_t shared_bytes = 0;  // besides what the text declares
};

struct ParamSource {
  std::string name;
  int32_t value;  // the node it stands for
  bool written;
  bool workspace;
  Sym bytes;
};

struct KernelSource {
  std::string name;
  std::string text;                 // this kernel alone, as a person reads it
  std::string key;                  // equal for kernels that differ in names only
  std::set<std::string> functions;  // of the device library, needed before `text`
  std::set<std::string> sections;   // of the vector prelude
  std::vector<ParamSource> params;
  std::vector<std::string> sizes;
  Sym scratch_bytes;
  std::vector<PhaseSource> phases;
  std::vector<std::string> reports;
  int lanes = 0;                 // elements of a chunk
  bool needs_alignment = false;  // streaming stores: written buffers must be 64-byte aligned
};

inline bool is_cuda(const KernelSource& kernel) {
  return !kernel.phases.empty() && kernel.phases[0].block > 0;
}

}  // namespace ingot
