// Whether this machine can run and compile CUDA.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "run/cuda_driver.h"

namespace ingot::testing {

std::string no_cuda_device();  // why not, or "" where there is one
std::string no_nvrtc();

// Skipped, with the reason, where there is no device. The context lives as long as the tests do: to
// make one takes a quarter of a second, and longer where many processes do.
class OnCudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_cuda_device(); !why.empty()) GTEST_SKIP() << why;
    static const CudaDevice device;
  }
};

}  // namespace ingot::testing
