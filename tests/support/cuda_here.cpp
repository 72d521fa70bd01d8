#include "support/cuda_here.h"

#include "base/error.h"
#include "jit/nvrtc.h"
#include "run/cuda_driver.h"

namespace ingot::testing {

std::string no_cuda_device() {
  const CudaDriverStatus status = cuda_driver_status();
  return status.devices.empty() ? "no CUDA device here: " + status.problem : "";
}

std::string no_nvrtc() {
  try {
    load_nvrtc();
  } catch (const Error& error) {
    return std::string("NVRTC is not installed here: ") + error.what();
  }
  return "";
}

}  // namespace ingot::testing
