// The device that a command takes where none is named.
#include "api/device.h"

#include <gtest/gtest.h>
#include <ingot/tables.h>

namespace ingot::testing {
namespace {

TEST(DefaultDevice, IsTheFirstGpuElseTheCpu) {
  CudaDriverStatus driver;
  driver.problem = "no driver";
  EXPECT_EQ(default_device(driver), "cpu");
  driver.devices.resize(2);
  EXPECT_EQ(default_device(driver), "cuda:0");
  EXPECT_EQ(default_device(), default_device(cuda_driver_status()));
}

}  // namespace
}  // namespace ingot::testing
