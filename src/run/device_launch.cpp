#include "run/device_launch.h"

#include <limits>

#include "base/error.h"

namespace ingot {

std::optional<CudaLaunch> launch_of(const PhaseSource& phase, const Bindings& sizes) {
  constexpr int64_t most_blocks = std::numeric_limits<int32_t>::max();
  INGOT_CHECK(phase.block > 0 && phase.block % phase.team == 0, "{}: teams of {} in blocks of {}",
              phase.symbol, phase.team, phase.block);
  const int64_t iterations = phase.extent.evaluate(sizes);
  if (iterations <= 0) return std::nullopt;
  const int64_t blocks = (iterations - 1) / (phase.block / phase.team) + 1;
  if (blocks > most_blocks) {
    fail_input({}, fmt::format("{}: {} iterations take {} blocks of {} threads, a launch has at "
                               "most {}",
                               phase.symbol, iterations, blocks, phase.block, most_blocks));
  }
  CudaLaunch launch;
  launch.grid[0] = static_cast<unsigned>(blocks);
  launch.block[0] = static_cast<unsigned>(phase.block);
  return launch;
}

}  // namespace ingot
