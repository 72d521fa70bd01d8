// What tests that need a GPU or its compiler find here; they are skipped visibly without it:
//   if (const std::string why = no_cuda_device(); !why.empty()) GTEST_SKIP() << why;
#pragma once

#include <string>

namespace ingot::testing {

// "", or why there is no device.
std::string no_cuda_device();
// "", or why nothing can be compiled for one. Loads NVRTC.
std::string no_nvrtc();

}  // namespace ingot::testing
