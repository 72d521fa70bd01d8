#include "plan/device_model.h"

#include <algorithm>

#include "base/error.h"

namespace ingot {
namespace {

const DeviceModel models[] = {
    {.name = "cpu",
     .gpu = false,
     .architecture = "",
     .board = "",
     .multiprocessors = 2,
     .copy_gbs = 90,
     .read_gbs = 60,
     .cache_gbs = 170,
     .cache_bytes = 32.0 * (1 << 20),
     .row_bytes = 1 << 20,
     .f32_gflops = 220,
     .product_gflops = 205,
     .instructions_gps = 150,
     .special_gps = 0,
     .launch_us = 0.5,
     .start_us = 0,
     .registers_per_sm = 0,
     .max_threads_per_sm = 0,
     .max_blocks_per_sm = 0,
     .shared_per_sm = 0,
     .shared_per_block = 0,
     .register_allocation = 0,
     .source = "measured on 2 cores of a Zen 4 server with AVX-512"},
    {.name = "h200",
     .gpu = true,
     .architecture = "sm_90a",
     .board = "H200",
     .multiprocessors = 132,
     .copy_gbs = 4290,
     .read_gbs = 4595,
     .cache_gbs = 5700,
     .cache_bytes = 60e6,
     .row_bytes = 227 << 10,
     .f32_gflops = 66900,
     .product_gflops = 780000,
     .instructions_gps = 33400,
     .special_gps = 4010,
     .launch_us = 0.6,
     .start_us = 2,
     .registers_per_sm = 65536,
     .max_threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .shared_per_sm = 228 << 10,
     .shared_per_block = 227 << 10,
     .register_allocation = 256,
     .source = "copy, reads, cache, launch, start and product measured on an H200; the rest from "
               "the data sheet"},
    {.name = "h100",
     .gpu = true,
     .architecture = "sm_90a",
     .board = "H100",
     .multiprocessors = 132,
     .copy_gbs = 3000,
     .read_gbs = 3210,
     .cache_gbs = 5500,
     .cache_bytes = 50e6,
     .row_bytes = 227 << 10,
     .f32_gflops = 66900,
     .product_gflops = 780000,
     .instructions_gps = 33400,
     .special_gps = 3750,
     .launch_us = 0.6,
     .start_us = 2,
     .registers_per_sm = 65536,
     .max_threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .shared_per_sm = 228 << 10,
     .shared_per_block = 227 << 10,
     .register_allocation = 256,
     .source =
         "data sheet of the SXM5 board; copy and product as published by others, reads 7 % faster "
         "than copies, launch and start as on an H200, cache estimated"},
    {.name = "a100",
     .gpu = true,
     .architecture = "sm_80",
     .board = "A100",
     .multiprocessors = 108,
     .copy_gbs = 1770,
     .read_gbs = 1895,
     .cache_gbs = 3600,
     .cache_bytes = 40e6,
     .row_bytes = 163 << 10,
     .f32_gflops = 19500,
     .product_gflops = 250000,
     .instructions_gps = 9750,
     .special_gps = 2440,
     .launch_us = 0.6,
     .start_us = 2,
     .registers_per_sm = 65536,
     .max_threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .shared_per_sm = 164 << 10,
     .shared_per_block = 163 << 10,
     .register_allocation = 256,
     .source = "data sheet of the 80 GB SXM4 board; copy at 87 % and product at 80 % of its peak, "
               "reads 7 % faster than copies, launch and start as on an H200, cache estimated"},
    {.name = "rtx4090",
     .gpu = true,
     .architecture = "sm_89",
     .board = "RTX 4090",
     .multiprocessors = 128,
     .copy_gbs = 877,
     .read_gbs = 940,
     .cache_gbs = 4500,
     .cache_bytes = 72e6,
     .row_bytes = 99 << 10,
     .f32_gflops = 82600,
     .product_gflops = 132000,
     .instructions_gps = 41300,
     .special_gps = 5160,
     .launch_us = 0.6,
     .start_us = 2,
     .registers_per_sm = 65536,
     .max_threads_per_sm = 1536,
     .max_blocks_per_sm = 24,
     .shared_per_sm = 100 << 10,
     .shared_per_block = 99 << 10,
     .register_allocation = 256,
     .source = "data sheet; copy at 87 % and product at 80 % of its peak, reads 7 % faster than "
               "copies, launch and start as on an H200, cache estimated"},
    {.name = "b200",
     .gpu = true,
     .architecture = "sm_100a",
     .board = "B200",
     .multiprocessors = 148,
     .copy_gbs = 6960,
     .read_gbs = 7450,
     .cache_gbs = 9000,
     .cache_bytes = 126e6,
     .row_bytes = 227 << 10,
     .f32_gflops = 75000,
     .product_gflops = 1800000,
     .instructions_gps = 37500,
     .special_gps = 4690,
     .launch_us = 0.6,
     .start_us = 2,
     .registers_per_sm = 65536,
     .max_threads_per_sm = 2048,
     .max_blocks_per_sm = 32,
     .shared_per_sm = 228 << 10,
     .shared_per_block = 227 << 10,
     .register_allocation = 256,
     .source = "data sheet; copy at 87 % and product at 80 % of its peak, reads 7 % faster than "
               "copies, launch and start as on an H200, cache estimated"},
};

}  // namespace

std::span<const DeviceModel> device_models() { return models; }

const DeviceModel& device_model(std::string_view name) {
  std::string known;
  for (const DeviceModel& model : models) {
    if (model.name == name) return model;
    known += (known.empty() ? "" : ", ") + model.name;
  }
  throw Error(ErrorKind::input, fmt::format("no device '{}'; known: {} and cuda", name, known));
}

int DeviceModel::line_bytes() const { return gpu ? 32 : 64; }

int DeviceModel::largest_cluster() const {
  constexpr int first_with_clusters = 90, portable = 8;
  const int number = architecture.empty() ? 0 : std::stoi(architecture.substr(3));  // "sm_90a"
  return number >= first_with_clusters ? portable : 1;
}

double DeviceModel::near_row_bytes(bool known_length) const {
  constexpr double of_row = 4 / 2.0;  // bytes of a register, half of which are left to other values
  const int blocks = largest_cluster();
  return known_length && blocks > 1 ? blocks * registers_per_sm * of_row : row_bytes;
}

// Registers are handed out to whole warps within a quarter of the multiprocessor.
Occupancy occupancy(const DeviceModel& device, int threads_per_block, int registers,
                    int shared_bytes) {
  Occupancy result{0, 0, 0, 0, 0, 0, ""};
  if (!device.gpu || threads_per_block <= 0) return result;
  int warps = (threads_per_block + warp_threads - 1) / warp_threads;
  int unit = device.register_allocation;
  int per_warp = std::max(unit, (registers * warp_threads + unit - 1) / unit * unit);
  int warps_by_registers =
      device.registers_per_sm / register_partitions / per_warp * register_partitions;
  result.blocks_by_registers = warps_by_registers / warps;
  result.blocks_by_shared = shared_bytes > device.shared_per_block
                                ? 0
                                : device.shared_per_sm / (shared_bytes + block_reserve_bytes);
  int most_warps = device.max_threads_per_sm / warp_threads;
  result.blocks_by_threads = most_warps / warps;
  result.blocks_by_blocks = device.max_blocks_per_sm;
  // Of equal limits the one that no schedule can move comes first.
  const std::pair<int, const char*> limits[] = {{result.blocks_by_threads, "threads"},
                                                {result.blocks_by_blocks, "blocks"},
                                                {result.blocks_by_registers, "registers"},
                                                {result.blocks_by_shared, "shared"}};
  const auto& least =
      *std::min_element(std::begin(limits), std::end(limits),
                        [](const auto& a, const auto& b) { return a.first < b.first; });
  result.blocks = least.first;
  result.limit = least.second;
  result.occupancy = static_cast<double>(result.blocks * warps) / most_warps;
  return result;
}

}  // namespace ingot
