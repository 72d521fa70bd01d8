// The device that a program is compiled for.
#pragma once

#include <ingot/options.h>

#include <optional>
#include <string>
#include <string_view>

#include "plan/device_model.h"
#include "run/cuda_driver.h"

namespace ingot {

// The commands that need no device; tune then measures nothing.
inline constexpr std::string_view without_device =
    "explain, plan, print, lower, emit and tune --register-caps";

struct ChosenDevice {
  DeviceModel model;
  std::optional<CudaDevice> cuda;  // where kernels run; of a model only if such a GPU is here
  std::string absence;             // why nothing runs
};

// "cpu", "cuda", "cuda:1", or a model's name. The driver is asked only where something is to run.
// Error{input}: an unknown name, a device that is not here.
ChosenDevice choose_device(const Options& options);

// Of a machine with these devices: "cuda:0", or "cpu" where there are none.
std::string default_device(const CudaDriverStatus& driver);

// The model of a GPU that is here: the one of its board; else the nearest one, with the numbers
// that the driver tells.
DeviceModel model_of(const CudaDeviceInfo& device);

}  // namespace ingot
