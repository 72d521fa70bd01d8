// Reads a cubin: what each kernel takes of the device, from the ELF file and the assembler's log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

struct CudaKernelResources {
  std::string name;               // its symbol
  int64_t registers = 0;          // a thread
  int64_t shared_bytes = 0;       // static, a block, without what the system reserves
  int64_t local_bytes = 0;        // stack frame, a thread
  int64_t stack_bytes = 0;        // with the functions that it calls
  int64_t spill_store_bytes = 0;  // from the log
  int64_t spill_load_bytes = 0;   // from the log
  int64_t constant_bytes = 0;     // all banks; parameters are in bank 0
  int64_t parameter_bytes = 0;
  int64_t max_threads = 0;  // a block, by __launch_bounds__; 0: none stated
  int64_t code_bytes = 0;
  int64_t instructions = 0;          // no-operations left out
  int64_t special_instructions = 0;  // of the special-function unit (MUFU)

  bool operator==(const CudaKernelResources&) const = default;
};

struct CubinResources {
  std::string architecture;                  // "sm_90a"
  std::vector<CudaKernelResources> kernels;  // by name
  bool operator==(const CubinResources&) const = default;
};

// `log`: what the assembler printed under --ptxas-options=-v. Error{input} if the bytes are no
// whole cubin or if the log does not speak of one of its kernels.
CubinResources read_cubin(std::string_view cubin, std::string_view log);

// An error if there is no kernel of that name.
const CudaKernelResources& resources_of(const CubinResources& cubin, const std::string& kernel);

}  // namespace ingot
