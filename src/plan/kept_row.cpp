#include "plan/kept_row.h"

#include <algorithm>

#include "base/cuda_threads.h"
#include "graph/reduction_order.h"

namespace ingot {
namespace {

constexpr int64_t row_registers = 64;  // of a thread
// Where one kept value is made of another; fewer of rows whose last chunk is not whole, for which a
// loop stands twice.
constexpr int64_t turning_registers = 128, turning_registers_of_parts = 96;

// Whether a row is what a block, or a cluster of them, works on at a time.
bool row_by_row(const Graph& graph, const std::vector<NodeId>& nodes, const Domain& domain) {
  const auto in_order = [&](NodeId id) {
    return is_contraction(graph, id) || is_scan(graph, id) || is_scatter(graph, id);
  };
  const auto reduced = [](const DomainVar& var) { return var.reduced; };
  return std::ranges::count_if(domain.vars, reduced) == 1 &&
         (domain.trailing_reduced || domain.vars.size() == 1) &&
         std::ranges::none_of(nodes, in_order);
}

}  // namespace

int blocks_for_row(int64_t elements, int64_t bytes, int64_t others, int most,
                   const DeviceModel& device) {
  const int64_t chunks = (elements + trailing_chunk - 1) / trailing_chunk;
  const int64_t length = std::min(elements, trailing_chunk);
  const int64_t used = (length + cuda::warp - 1) / cuda::warp * bytes / 4;
  auto fits = [&](int blocks, int64_t registers) {
    const int64_t warps = (chunks + blocks - 1) / blocks;
    return used <= row_registers && warps <= cuda::most_warps &&
           (used + others) * cuda::warp * warps <= registers;
  };
  if (fits(1, device.registers_per_sm)) return 1;
  for (const int64_t clusters : {2, 1}) {
    for (int blocks = 2; blocks <= most; blocks *= 2) {
      if (fits(blocks, device.registers_per_sm / clusters)) return blocks;
    }
  }
  return 0;
}

KeptRow kept_row(const Graph& graph, const std::vector<NodeId>& nodes, const Domain& domain,
                 const GroupCost& cost, const DeviceModel& device) {
  if (!row_by_row(graph, nodes, domain)) return {};
  const DomainVar& last = domain.vars.back();
  if (!last.extent.constant() || reads_parts(graph, nodes)) return {};
  // Of an element, after the pass after which most is kept; and in a pass, where it turns into
  // more.
  int64_t bytes = 0, read_bytes = 0, turning = 0;
  for (int pass = 0; pass < cost.passes; ++pass) {
    int64_t live = 0, in_pass = 0;
    for (const GroupCost::Row& row : cost.rows) {
      const bool made = (row.passes & ((2u << pass) - 1)) != 0;
      const int64_t own = made ? byte_size(graph[row.id].type.dtype) : 0;
      live += row.passes >> pass > 1 ? own : 0;
      in_pass += row.passes >> pass > 0 ? own : 0;
    }
    bytes = std::max(bytes, live);
    turning = std::max(turning, in_pass);
  }
  std::vector<NodeId> kept, read;
  for (const GroupCost::Row& row : cost.rows) {
    kept.push_back(row.id);
    if (std::ranges::find(cost.staged, row.id) != cost.staged.end()) continue;
    read.push_back(row.id);
    read_bytes += byte_size(graph[row.id].type.dtype);
  }
  const int64_t length = *last.extent.constant();
  const int64_t own = std::min(length, trailing_chunk) / cuda::warp * turning / 4;
  const bool whole = length % trailing_chunk == 0;
  const bool all =
      cost.staged.empty() || own <= (whole ? turning_registers : turning_registers_of_parts);
  constexpr int64_t others = cuda::other_registers(cuda::row_lanes);
  const int64_t of_kept = whole || cost.staged.empty() ? others : 2 * others;
  const int most = domain.columns.empty() ? device.largest_cluster() : 1;
  const int blocks = all ? blocks_for_row(length, bytes, of_kept, most, device) : 0;
  if (blocks > 0) return {kept, blocks};
  const int of_read = blocks_for_row(length, read_bytes, others, most, device);
  if (of_read > 0) return {read, of_read};
  return {};
}

}  // namespace ingot
