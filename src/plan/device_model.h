// A device as numbers. The planner never asks a driver: plans for an H200 are made on any machine.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot {

struct DeviceModel {
  std::string name;  // "cpu", "h200"
  bool gpu;
  std::string architecture;  // "sm_90a"; "" on a CPU
  std::string board;         // words of the name that the driver gives such a device
  int multiprocessors;       // cores on a CPU
  double copy_gbs;           // device-memory copy rate, bytes read + written, GB/s
  double read_gbs;           // of a stream that is only read
  double cache_gbs;          // bytes read + written in the last-level cache
  double cache_bytes;        // last-level cache
  double row_bytes;          // fast memory a row may take: L2 of a core; shared memory of a block
  double f32_gflops;         // vector FMA rate of all cores, GFLOP/s
  double product_gflops;     // f32 (CPU) or bf16 (GPU) product rate
  double instructions_gps;   // f32 element-instructions a second, 1e9
  double special_gps;        // of them those of a GPU's special-function unit; 0: there is none
  double launch_us;          // start of one kernel within a graph (GPU), or of the threads (CPU)
  double start_us;           // first loads and last stores of a kernel that fills the device
  // Limits for occupancy; 0 on a CPU.
  int registers_per_sm, max_threads_per_sm, max_blocks_per_sm, shared_per_sm, shared_per_block;
  int register_allocation;  // registers are handed out to a warp in multiples of this
  std::string source;       // where the numbers come from

  int line_bytes() const;       // the least that an access moves
  int largest_cluster() const;  // of blocks, on every device of the architecture; 1: no clusters
  // Of a row that stays near between its passes; of known length the registers of a cluster hold
  // it.
  double near_row_bytes(bool known_length) const;
};

std::span<const DeviceModel> device_models();
// Error{input} that lists the known names.
const DeviceModel& device_model(std::string_view name);

inline constexpr int warp_threads = 32;
inline constexpr int register_partitions = 4;     // of a multiprocessor, each with its registers
inline constexpr int block_reserve_bytes = 1024;  // of shared memory, taken by every block

struct Occupancy {
  int blocks_by_registers, blocks_by_shared, blocks_by_threads, blocks_by_blocks;
  int blocks;
  double occupancy;   // resident warps / most warps
  std::string limit;  // "registers" | "shared" | "threads" | "blocks"
};
Occupancy occupancy(const DeviceModel& device, int threads_per_block, int registers,
                    int shared_bytes);

}  // namespace ingot
