#include "api/device.h"

#include <algorithm>
#include <charconv>

#include <ingot/tables.h>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

// "NVIDIA A100-SXM4-80GB" → " NVIDIA A100 SXM4 80GB ", so that a word is found whole.
std::string words_of_name(const std::string& name) {
  std::string words = " ";
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    words += letter ? c : ' ';
  }
  return words + " ";
}

bool is_board(const DeviceModel& model, const CudaDeviceInfo& device) {
  return model.gpu && words_of_name(device.name).find(" " + model.board + " ") != std::string::npos;
}

// The model with the greatest capability that this device has too.
const DeviceModel& nearest_model(const CudaDeviceInfo& device) {
  if (device.major >= 10) return device_model("b200");
  if (device.major == 9) return device_model("h100");
  return device_model(device.major == 8 && device.minor > 0 ? "rtx4090" : "a100");
}

int cuda_index(const std::string& name) {
  if (name == "cuda") return 0;
  int index = -1;
  const char* const end = name.data() + name.size();
  const size_t digits = std::string_view("cuda:").size();
  const bool has_digits = name.starts_with("cuda:") && name.size() > digits;
  const auto [rest, status] =
      std::from_chars(name.data() + (has_digits ? digits : name.size()), end, index);
  if (status != std::errc() || rest != end || index < 0) {
    throw Error(ErrorKind::input,
                fmt::format("device '{}': a CUDA device is cuda, cuda:0, cuda:1, …; others are {}",
                            name, join(device_names(), ", ")));
  }
  return index;
}

// Why no device runs: of the driver, or what it finds instead.
std::string absence_text(const CudaDriverStatus& driver) {
  if (driver.devices.empty()) return driver.problem;
  std::vector<std::string> found;
  for (const CudaDeviceInfo& device : driver.devices) {
    found.push_back(fmt::format("cuda:{} ({})", device.index, device.name));
  }
  return "the driver finds " + join(found, ", ");
}

ChosenDevice choose_cuda(const std::string& name) {
  const auto index = static_cast<size_t>(cuda_index(name));
  const CudaDriverStatus driver = cuda_driver_status();
  if (driver.devices.empty()) {
    throw Error(ErrorKind::input, fmt::format("device {}: there is no CUDA device here", name), {},
                {driver.problem, fmt::format("{} take the name of a device model, too: {}",
                                             without_device, join(device_names(), ", "))});
  }
  if (index >= driver.devices.size()) {
    throw Error(ErrorKind::input, fmt::format("device {}: there is no such CUDA device here", name),
                {}, {absence_text(driver)});
  }
  return {model_of(driver.devices[index]), CudaDevice(static_cast<int>(index)), ""};
}

}  // namespace

DeviceModel model_of(const CudaDeviceInfo& device) {
  for (const DeviceModel& model : device_models()) {
    if (is_board(model, device)) return model;
  }
  DeviceModel model = nearest_model(device);
  const double share = static_cast<double>(device.multiprocessors) / model.multiprocessors;
  model.source = fmt::format("the driver; rates of {}, by multiprocessors", model.name);
  model.name = architecture_of(device);
  model.architecture = architecture_of(device);
  model.board = device.name;
  model.multiprocessors = device.multiprocessors;
  model.copy_gbs *= share;
  model.f32_gflops *= share;
  model.product_gflops *= share;
  model.instructions_gps *= share;
  model.cache_bytes = static_cast<double>(device.l2_bytes);
  model.row_bytes = static_cast<double>(device.block_shared_bytes);
  model.registers_per_sm = static_cast<int>(device.registers);
  model.max_threads_per_sm = device.threads;
  model.max_blocks_per_sm = device.blocks;
  model.shared_per_sm = static_cast<int>(device.shared_bytes);
  model.shared_per_block = static_cast<int>(device.block_shared_bytes);
  return model;
}

std::string default_device(const CudaDriverStatus& driver) {
  return driver.devices.empty() ? "cpu" : "cuda:0";
}

std::string default_device() { return default_device(cuda_driver_status()); }

ChosenDevice choose_device(const Options& options) {
  if (options.device.starts_with("cuda")) return choose_cuda(options.device);
  ChosenDevice chosen{device_model(options.device), std::nullopt, ""};
  if (!chosen.model.gpu || options.plan_only) return chosen;
  const CudaDriverStatus driver = cuda_driver_status();
  for (const CudaDeviceInfo& device : driver.devices) {
    if (!is_board(chosen.model, device)) continue;
    chosen.cuda.emplace(device.index);
    return chosen;
  }
  chosen.absence = absence_text(driver);
  return chosen;
}

}  // namespace ingot
