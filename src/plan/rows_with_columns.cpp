// Rows and columns of one input: whether a device has a kernel for both, and how it walks.
#include "plan/rows_with_columns.h"

#include <algorithm>

#include "base/cuda_threads.h"
#include "graph/reduction_order.h"

namespace ingot {
namespace {

constexpr int64_t fewest_columns = 128;  // on a GPU: fewer leave threads of a warp without work

// Of all that is kept of a row between its passes and from row to row, on a CPU.
Sym row_bytes(const Graph& graph, const Analysis& analysis, const GroupCost& cost) {
  Sym bytes = cost.row_bytes;
  for (NodeId id : analysis.domain.columns) {
    const int64_t width = byte_size(compute_dtype(graph[id].type.dtype));
    bytes = bytes + analysis.domain.vars.back().extent * Sym(width);
  }
  return bytes;
}

// What a thread keeps of a row: `kept` values that all passes come back to, and sums of its columns
// so far; and whether it has the registers. What is `fetched` stands in shared memory.
struct RowRegisters {
  std::vector<NodeId> kept;
  int64_t bytes = 0;  // of an element
  int64_t used = 0, warps = 1;
  bool fit = false;
};
RowRegisters row_registers(const Graph& graph, const Analysis& analysis, const GroupCost& cost,
                           const DeviceModel& device, const std::vector<NodeId>& fetched) {
  const DomainVar& last = analysis.domain.vars.back();
  if (!last.extent.constant() || reads_parts(graph, analysis.nodes)) return {};
  RowRegisters row;
  for (const GroupCost::Row& kept : cost.rows) {
    if (std::ranges::find(fetched, kept.id) != fetched.end()) continue;
    row.kept.push_back(kept.id);
    row.bytes += byte_size(graph[kept.id].type.dtype);
  }
  for (NodeId id : analysis.domain.columns) {
    row.bytes += std::max<int64_t>(4, byte_size(compute_dtype(graph[id].type.dtype)));
  }
  const int64_t length = std::min(*last.extent.constant(), trailing_chunk);
  row.warps = (*last.extent.constant() + trailing_chunk - 1) / trailing_chunk;
  row.used = (length + cuda::warp - 1) / cuda::warp * row.bytes / 4 +
             cuda::other_registers(cuda::row_lanes);
  row.fit = row.used <= cuda::most_registers && row.warps <= cuda::most_warps &&
            row.used * cuda::warp * row.warps <= device.registers_per_sm;
  return row;
}

// Inputs whose rows differ, lie as they are read, and begin and end on 16 bytes.
std::vector<NodeId> fetchable(const Graph& graph, const Analysis& analysis) {
  constexpr int64_t piece_bytes = 16;
  const DomainVar& last = analysis.domain.vars.back();
  if (!last.extent.constant() || reads_parts(graph, analysis.nodes)) return {};
  std::vector<NodeId> found;
  for (const auto& [id, reads] : analysis.reads) {
    if (reads.size() != 1 || reads[0].per_row || reads[0].run_time) continue;
    const Sym place = flat_place(graph, id, reads[0].index);
    const std::optional<Sym> stride = place.stride(last.name);
    const int64_t piece = piece_bytes / byte_size(graph[id].type.dtype);
    const Sym row = place.substitute({{last.name, Sym(0)}});
    const bool aligned = row.constant_part() % piece == 0 &&
                         std::ranges::all_of(row.terms(), [&](const Sym::Term& term) {
                           return term.factor % piece == 0;
                         });
    const bool differs = std::ranges::any_of(analysis.domain.vars, [&](const DomainVar& var) {
      return !var.reduced && row.uses(var.name);
    });
    const bool whole = *last.extent.constant() % piece == 0;
    if (stride && stride->is(1) && aligned && differs && whole) found.push_back(id);
  }
  return found;
}

// A band's rows of a block: of `together`, those that are on their way in shared memory; or one in
// registers. `blocks` of a multiprocessor.
struct BandRows {
  RowRegisters registers;
  std::vector<NodeId> fetched;
  int64_t together = 1, ahead = 0, blocks = 0;
};
// Bytes of a row of all of these, whose length is known.
int64_t row_bytes(const Graph& graph, const Analysis& analysis, const std::vector<NodeId>& nodes) {
  int64_t bytes = 0;
  for (NodeId id : nodes) {
    bytes += *analysis.domain.vars.back().extent.constant() * byte_size(graph[id].type.dtype);
  }
  return bytes;
}

BandRows band_rows(const Graph& graph, const Analysis& analysis, const GroupCost& cost,
                   const DeviceModel& device, int64_t together) {
  BandRows rows;
  rows.fetched = fetchable(graph, analysis);
  rows.registers = row_registers(graph, analysis, cost, device, rows.fetched);
  const int64_t bytes = row_bytes(graph, analysis, rows.fetched);
  const auto streams = together * std::ranges::count_if(analysis.reads, [](const auto& read) {
                         return !read.second[0].per_row;
                       });
  const int64_t registers = std::min<int64_t>(rows.registers.used + cuda::stream_registers(streams),
                                              cuda::most_registers);
  const int64_t by_registers =
      device.registers_per_sm / (cuda::warp * (registers + 1) * rows.registers.warps);
  auto by_shared = [&](int64_t ahead) {
    const int64_t block = (ahead + together) * bytes;
    return block > device.shared_per_block ? 0
                                           : device.shared_per_sm / (block + block_reserve_bytes);
  };
  if (bytes > 0 && rows.registers.fit && by_shared(together) > 0) {
    rows.together = rows.ahead = together;
    if (together == 1 && by_shared(2) >= std::max<int64_t>(by_registers, 1)) rows.ahead = 2;
    rows.blocks = std::min(by_shared(rows.ahead), by_registers);
    return rows;
  }
  rows.fetched.clear();
  rows.registers = row_registers(graph, analysis, cost, device, {});
  return rows;
}

// Where the order of sums is free: many warps a row, of which each thread has 16 bytes at a time,
// and bands as long as it takes to have all of them at once. Nothing where rows are not fetched.
std::optional<Schedule> long_bands(const Graph& graph, const Schedule& plain,
                                   const Analysis& analysis, const GroupCost& cost,
                                   const DeviceModel& device, int lanes) {
  constexpr int64_t fewest_rows = 8;  // of a band: fewer partials
  const DomainVar& last = analysis.domain.vars.back();
  const std::optional<int64_t> length = last.extent.constant();
  const std::vector<NodeId> fetched = fetchable(graph, analysis);
  if (lanes == reduction_lanes || !length || *length <= lanes || fetched.empty()) return {};
  const RowRegisters row = row_registers(graph, analysis, cost, device, fetched);
  Schedule schedule = plain;
  schedule.lanes = lanes;
  schedule.chunk = lanes;
  while (*length > schedule.chunk * cuda::most_warps) schedule.chunk += lanes;
  const int64_t warps = (*length + schedule.chunk - 1) / schedule.chunk;
  const int64_t bytes = row_bytes(graph, analysis, fetched);
  const int64_t kept = row.bytes * schedule.chunk / cuda::warp / 4;
  const int64_t by_registers =
      device.registers_per_sm / (cuda::warp * warps * (kept + cuda::band_registers));
  // As many rows in scratch as make a number that is quick to divide by.
  constexpr int64_t turns = 4;
  const int64_t by_shared = turns * bytes > device.shared_per_block
                                ? 0
                                : device.shared_per_sm / (turns * bytes + block_reserve_bytes);
  const int64_t blocks = std::min(by_registers, by_shared);
  if (blocks == 0) return {};
  schedule.name = "long row bands";
  schedule.row_bands = true;
  schedule.staged = row.kept;
  schedule.fetched = fetched;
  schedule.rows_together = 1;
  // Measured: with one sum of columns bands side by side are faster, with two those of rows in
  // order.
  schedule.bands_apart = analysis.domain.columns.size() == 1;
  schedule.rows_ahead = !schedule.bands_apart ? turns - 1 : blocks > 1 ? 2 : 1;
  schedule.bands = blocks * device.multiprocessors;
  schedule.guards = {{row_count(analysis.domain), schedule.bands * fewest_rows}};
  return schedule;
}

// How long a row takes in bands, with few warps on each multiprocessor, as a share of its time in a
// kernel of rows and then one of columns, which read it twice and have as many warps as there are.
double share_of_two_passes(const GroupCost& cost, const DeviceModel& device, const BandRows& band) {
  constexpr double of_bands = 0.75;    // of the memory rate, and
  constexpr double enough_warps = 16;  // that keep a multiprocessor's arithmetic busy: measured
  const double bytes = at_sizes(cost.read_bytes + cost.written, {});
  const double memory_us = bytes / (device.copy_gbs * 1e3);
  const double compute_us = at_sizes(cost.instructions, {}) / (device.instructions_gps * 1e3);
  const auto warps = static_cast<double>(std::max<int64_t>(1, band.blocks) * band.registers.warps);
  const double in_bands =
      std::max(memory_us / of_bands, compute_us * enough_warps / std::min(enough_warps, warps));
  return in_bands /
         std::max(memory_us + at_sizes(cost.read_bytes, {}) / (device.copy_gbs * 1e3), compute_us);
}

}  // namespace

std::vector<Schedule> row_bands(const Graph& graph, const Schedule& plain, const Analysis& analysis,
                                const GroupCost& cost, const DeviceModel& device, int lanes) {
  const Sym rows = row_count(analysis.domain);
  const int64_t processors = device.multiprocessors;
  Schedule schedule = plain;
  schedule.name = "row bands";
  schedule.row_bands = true;
  if (!device.gpu) {
    const Sym bytes = Sym(0) - row_bytes(graph, analysis, cost);
    schedule.guards = {{rows, column_chunk * processors / 2},
                       {bytes, -static_cast<int64_t>(device.row_bytes)}};
    return {schedule};
  }
  if (auto bands = long_bands(graph, plain, analysis, cost, device, lanes)) return {*bands};
  const BandRows one = band_rows(graph, analysis, cost, device, 1);
  const BandRows two = band_rows(graph, analysis, cost, device, 2);
  // Fewer bands than multiprocessors take as long as one for each.
  const double share = share_of_two_passes(cost, device, one);
  if (share >= 1) return {};
  const auto fewest = static_cast<int64_t>(share * static_cast<double>(column_chunk * processors));
  schedule.guards = {
      {rows, std::max(column_chunk * processors * 3 / 2 / one.registers.warps, fewest)}};
  auto with = [&](const BandRows& band) {
    Schedule made = schedule;
    made.staged = band.registers.kept;
    made.fetched = band.fetched;
    made.rows_together = band.together;
    made.rows_ahead = band.ahead;
    return made;
  };
  Schedule ones = with(one), twos = with(two);
  if (two.together == 1) return {ones};
  twos.name = "row bands, in twos";
  ones.guards.push_back({rows, column_chunk * two.blocks * processors + 1});
  ones.guards.push_back({Sym(0) - rows, -column_chunk * one.blocks * processors});
  if (one.blocks <= two.blocks) return {twos};
  return {ones, twos};
}

Decision rows_with_columns(const Graph& graph, const Analysis& analysis, const GroupCost& cost,
                           const DeviceModel& device) {
  const Domain& domain = analysis.domain;
  Decision decision;
  decision.fused = true;
  if (domain.columns.empty()) return decision;
  if (domain.is_empty()) {
    decision.fused = false;
    decision.reason = Reason::no_gain;
    decision.detail = "there are no elements";
    return decision;
  }
  const Sym& length = domain.vars.back().extent;
  const std::optional<int64_t> bytes = row_bytes(graph, analysis, cost).constant();
  const bool unknown = device.gpu && !length.constant();
  const bool few = device.gpu && !unknown && *length.constant() < fewest_columns;
  decision.fused = device.gpu ? !few && band_rows(graph, analysis, cost, device, 1).registers.fit
                              : !bytes || static_cast<double>(*bytes) <= device.row_bytes;
  if (decision.fused) return decision;
  decision.reason = unknown ? Reason::unsupported_pattern
                    : few   ? Reason::no_gain
                            : Reason::row_too_large;
  decision.detail = fmt::format(
      "'{}' reduces columns where others reduce rows, and {}", graph[domain.columns[0]].name,
      unknown ? fmt::format("the length of a row, {}, is not known", length.text())
      : few   ? fmt::format("a row of {} leaves most threads of a warp without work", length.text())
              : fmt::format("a row of {} with its columns' results does not stay in {}",
                            length.text(), device.gpu ? "registers" : "fast memory"));
  return decision;
}

}  // namespace ingot
