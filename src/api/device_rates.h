// What a device really reaches: programs of ingot's own, timed. Reports predict with these rates
// where they were measured once; plans follow the device model's row alone.
#pragma once

#include <ingot/compiled.h>

#include <optional>
#include <string>

#include "plan/device_model.h"

namespace ingot {

struct DeviceRates {
  double copy_gbs = 0, read_gbs = 0;  // beyond the caches, bytes read + written
  double cache_gbs = 0;               // what the kernel before has just written, and again
  double launch_us = 0;               // of the smallest kernel, among others of its program
  double f32_gflops = 0;              // of fused multiply-adds
  double sigmoid_gps = 0;             // of results, 1e9 a second: the special functions' rate
  std::string date;
};

// About a second a rate. `options`: device, threads, cache.
DeviceRates measure_rates(const Options& options, const Progress& progress);

// Beside the kernel cache, by device and threads; nothing where none were measured or the file is
// damaged.
std::optional<DeviceRates> known_rates(const Options& options, const DeviceModel& device);
void keep_rates(const Options& options, const DeviceModel& device, const DeviceRates& rates);

// The model with what was measured in the place of its row.
DeviceModel with_rates(const DeviceModel& device, const DeviceRates& rates);

}  // namespace ingot
