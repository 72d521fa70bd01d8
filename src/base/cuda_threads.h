// How the threads of a GPU share a kernel, from sm_80 on: what the plan's schedules and the CUDA
// emitter have to agree on.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ingot::cuda {

inline constexpr int warp = 32;           // threads
inline constexpr int most_warps = 32;     // of a block
inline constexpr int block = 256;         // threads, of elementwise work
inline constexpr int few_block = 64;      // the same where there is too little of it for the device
inline constexpr int row_block = 128;     // threads, where a warp has a row
inline constexpr int column_lanes = 4;    // columns of a thread, in a column reduction
inline constexpr int row_lanes = 2;       // of the 64 lanes of a reduction, those of a thread
inline constexpr int most_row_lanes = 8;  // the same of short rows, several a warp
inline constexpr int most_row_bytes = 128;          // that a thread keeps of short rows
inline constexpr int most_blocks = 32;              // of a multiprocessor
inline constexpr int most_registers = 255;          // of a thread
inline constexpr int64_t register_file = 64 << 10;  // of a multiprocessor

// Registers of a thread that keeps part of a row, besides it: addresses, sums, an access.
constexpr int64_t other_registers(int lanes) { return 28 + 2 * lanes; }

// And those on their way from so many places, besides the first.
constexpr int64_t stream_registers(int64_t streams) {
  return 32 * std::max<int64_t>(streams - 1, 0);
}

// Registers of a thread of a band, whose rows are fetched 16 bytes at a time, besides the sums of
// its columns and what it keeps of a row.
inline constexpr int64_t band_registers = 48;

// And of one that sums up columns alone and computes much.
inline constexpr int64_t column_registers = 64;

// Elements that a thread takes at a time: 16 bytes of the narrowest operand, and at least two.
constexpr int thread_elements(int64_t narrowest_bytes) {
  constexpr int64_t widest_access = 16;
  return static_cast<int>(
      std::clamp<int64_t>(widest_access / std::max<int64_t>(narrowest_bytes, 1), 2, 8));
}

}  // namespace ingot::cuda
