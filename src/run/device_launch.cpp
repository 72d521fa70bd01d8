#include "run/device_launch.h"

#include <limits>

#include "base/error.h"

namespace ingot {

std::optional<CudaLaunch> launch_of(const PhaseSource& phase, const Bindings& sizes,
                                    int multiprocessors) {
  constexpr int64_t most_blocks = std::numeric_limits<int32_t>::max();
  INGOT_CHECK(phase.block > 0 && phase.blocks * phase.block % phase.team == 0,
              "{}: teams of {} in {} blocks of {}", phase.symbol, phase.team, phase.blocks,
              phase.block);
  const int64_t iterations = phase.extent.evaluate(sizes);
  if (iterations <= 0) return std::nullopt;
  int block = phase.block;
  auto blocks_now = [&] {
    const int64_t teams = int64_t{phase.blocks} * block / phase.team;
    return phase.blocks * ((iterations - 1) / teams + 1);
  };
  const int least = phase.least_block > 0 ? phase.least_block : block;
  while (block > least && blocks_now() < 2 * multiprocessors) block /= 2;
  const int64_t blocks = blocks_now();
  if (blocks > most_blocks) {
    fail_input({}, fmt::format("{}: {} iterations take {} blocks of {} threads, a launch has at "
                               "most {}",
                               phase.symbol, iterations, blocks, block, most_blocks));
  }
  CudaLaunch launch;
  launch.grid[0] = static_cast<unsigned>(blocks);
  launch.block[0] = static_cast<unsigned>(block);
  launch.cluster[0] = static_cast<unsigned>(phase.blocks);
  launch.shared_bytes = static_cast<unsigned>(phase.shared_bytes);
  return launch;
}

}  // namespace ingot
