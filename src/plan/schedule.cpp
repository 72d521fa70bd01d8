// Which schedules a group gets, and the sizes that choose between them at run time.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/cuda_threads.h"
#include "graph/index_map.h"
#include "graph/reduction_order.h"
#include "plan/kept_row.h"
#include "plan/rows_with_columns.h"

namespace ingot {
namespace {

constexpr int64_t tile_bytes = 256 << 10;  // of a product's block: stays in the second-level cache
constexpr int64_t fewest_rows = 16, most_rows = 128, rows_of_unknown_width = 32;
constexpr int64_t long_vectors = 32 << 10;    // bytes of row vectors that leave no room in L1
constexpr int64_t fewest_blocked_rows = 32;   // fewer: repeating the last row costs too much
constexpr int64_t fewest_band_rows = 32;      // fewer: the partials cost too much
constexpr int64_t fewest_band_columns = 256;  // fewer of unknown number are summed up in registers
constexpr int64_t shortest_tile = 16;         // shorter sides: lane by lane
constexpr double hiding_instructions = 16;    // an element, behind which a transposed read hides
constexpr double few_instructions = 10;       // an element, which hide no wait for the vectors
constexpr int64_t shortest_piece = 16, most_pieces = 8;
constexpr int64_t longest_of_pieces = 4096;            // on a CPU: of a row in pieces
constexpr int64_t split_length = 32 * trailing_chunk;  // shorter rows are not worth a second phase
constexpr int64_t split_warps = 32;  // of a multiprocessor, that read a row side by side

// Guards that hold for every size vanish; a variant whose guards cannot hold does too.
bool possible(Schedule* schedule) {
  std::erase_if(schedule->guards, [](const Schedule::AtLeast& guard) {
    return provably_nonnegative(guard.value - Sym(guard.minimum), {});
  });
  return std::none_of(schedule->guards.begin(), schedule->guards.end(),
                      [](const Schedule::AtLeast& guard) {
                        return guard.value.constant() && *guard.value.constant() < guard.minimum;
                      });
}

// From static shapes only, so that a row's bits do not depend on the number of rows.
int64_t block_rows(const Graph& graph, NodeId contraction) {
  const Node& node = graph[contraction];
  if (node.op != Op::matmul) return 1;
  bool vector = graph[node.operands[1]].type.shape.size() == 1;
  std::optional<int64_t> columns = vector || node.type.shape.empty()
                                       ? std::optional<int64_t>(1)
                                       : node.type.shape.back().constant();
  if (!columns) return rows_of_unknown_width;
  int64_t width = std::max<int64_t>(1, *columns) * byte_size(compute_dtype(node.type.dtype));
  return std::clamp(tile_bytes / width / fewest_rows * fewest_rows, fewest_rows, most_rows);
}

// `free`: the order of sums is.
Schedule split(const Analysis& analysis, const Schedule& plain, const DeviceModel& device,
               bool free) {
  Schedule schedule;
  schedule.lanes = plain.lanes;
  if (free) schedule.chunks = device.multiprocessors * split_warps;
  schedule.name = plain.name == "rows" ? "split" : plain.name + ", split";
  schedule.split_rows = true;
  Sym rows(1);
  for (const DomainVar& var : analysis.domain.vars) {
    if (!var.reduced) rows = rows * var.extent;
  }
  const Sym& length = analysis.domain.vars.back().extent;
  int64_t few = 2 * static_cast<int64_t>(device.multiprocessors);
  schedule.guards = {{Sym(0) - rows, -few}, {length, split_length}};
  return schedule;
}

// One level of reductions over columns, of enough rows: nothing of a whole column is needed again.
std::optional<Schedule> column_bands(const Group& group, const Analysis& analysis) {
  const std::vector<DomainVar>& vars = analysis.domain.vars;
  Sym rows;
  for (const DomainVar& var : vars) {
    if (var.reduced) rows = var.extent;
  }
  for (NodeId id : group.outputs) {
    bool full = !analysis.evaluations.at(id)[0].per_row;
    if (analysis.levels != 1 || (full && analysis.level.at(id) > 0)) return std::nullopt;
  }
  Schedule schedule;
  schedule.name = "column bands";
  schedule.column_bands = true;
  schedule.guards = {{rows, fewest_band_rows}};
  const Sym& columns = vars.back().extent;
  if (!columns.constant()) schedule.guards.push_back({columns, fewest_band_columns});
  return schedule;
}

// The same where the order of sums is free and the work is stored, too: as many bands as run at
// once, side by side in memory.
std::optional<Schedule> bands_at_once(const Graph& graph, const Group& group, const Schedule& bands,
                                      const DeviceModel& device) {
  constexpr int64_t fewest_rows = 8;  // of a band: fewer partials
  const std::vector<DomainVar>& vars = group.domain.vars;
  const std::optional<int64_t> columns = vars.back().extent.constant();
  const bool stores = std::ranges::any_of(group.outputs, [&](NodeId id) {
    return graph[id].type.shape.size() == vars.size() && vars.size() == 2;
  });
  if (!columns || *columns == 0 || !stores) return std::nullopt;
  const int64_t warps = (*columns + bands.block_columns - 1) / bands.block_columns;
  const int64_t threads = device.registers_per_sm / cuda::column_registers;
  Schedule schedule = bands;
  schedule.name = "column bands at once";
  schedule.bands_apart = true;
  schedule.bands = device.multiprocessors * threads / cuda::warp / warps;
  if (schedule.bands == 0) return std::nullopt;
  schedule.guards = {{vars.front().extent, schedule.bands * fewest_rows}};
  return schedule;
}

// Whether an element follows from its place, as of iota and random.
bool counts_places(const Graph& graph, const Group& group) {
  return std::ranges::any_of(group.nodes, [&](NodeId id) {
    return op_info(graph[id].op).category == Category::creation && graph[id].op != Op::constant;
  });
}

// What rows side by side need: every subscript counts with the last variable or does not depend on
// it. The bytes of operands that are the same in every row; 0: nothing is gained, or not possible.
Sym row_vector_bytes(const Graph& graph, const Group& group, const Analysis& analysis) {
  const std::vector<DomainVar>& vars = analysis.domain.vars;
  if (vars.size() < 2 || analysis.levels > 0) return 0;
  if (reads_parts(graph, group.nodes) || counts_places(graph, group)) return 0;
  const std::string& column = vars.back().name;
  auto other_rows = [&](const Sym& place) {
    return std::count_if(vars.begin(), vars.end() - 1,
                         [&](const DomainVar& var) { return place.uses(var.name); });
  };
  auto flat = [&](NodeId id, const std::vector<Sym>& index) {
    return flat_place(graph, id, index);
  };
  for (NodeId id : group.outputs) {
    Sym place = flat(id, analysis.domain.index.at(id));
    std::optional<Sym> stride = place.stride(column);
    if (!stride || !stride->is(1) || other_rows(place) + 1 < std::ssize(vars)) return 0;
  }
  Sym bytes;
  for (const auto& [id, evaluations] : analysis.reads) {
    for (const Evaluation& read : evaluations) {
      Sym place = flat(id, read.index);
      std::optional<Sym> stride = place.stride(column);
      if (!stride || !(stride->is(0) || stride->is(1))) return 0;
      if (stride->is(1) && other_rows(place) == 0) {
        bytes = bytes + vars.back().extent * Sym(byte_size(graph[id].type.dtype));
      }
    }
  }
  return bytes;
}

// The variable that operands count with where they do not count with the last one: these are turned
// over in tiles. Nothing if there are none, or something else stands between a place and its load.
std::optional<std::string> tile_variable(const Graph& graph, const Group& group,
                                         const Analysis& analysis) {
  const std::vector<DomainVar>& vars = analysis.domain.vars;
  if (vars.size() < 2 || analysis.levels > 0 || reads_parts(graph, group.nodes))
    return std::nullopt;
  if (analysis.domain.is_empty()) return std::nullopt;
  auto stride = [&](NodeId id, const std::vector<Sym>& index, const DomainVar& var) {
    std::optional<Sym> found = flat_place(graph, id, index).stride(var.name);
    return found ? *found : Sym(-1);  // not of the kind that is sought
  };
  for (NodeId id : group.outputs) {
    if (!stride(id, analysis.domain.index.at(id), vars.back()).is(1)) return std::nullopt;
  }
  for (const auto& [id, evaluations] : analysis.reads) {
    if (evaluations.size() != 1) continue;
    const std::vector<Sym>& index = evaluations[0].index;
    Sym across = stride(id, index, vars.back());
    if (across.constant() && *across.constant() <= 1) continue;
    for (size_t v = 0; v + 1 < vars.size(); ++v) {
      if (stride(id, index, vars[v]).is(1)) return vars[v].name;
    }
  }
  return std::nullopt;
}

double instructions_of(const Graph& graph, const Group& group, bool gpu) {
  double instructions = 0;
  for (NodeId id : group.nodes) instructions += instructions_of(graph[id], gpu);
  return instructions;
}

// Reading is hidden behind arithmetic if there is enough of it, and then stores bind, which like
// long runs; else it is the reads that do.
Schedule transposed_tiles(const Graph& graph, const Group& group, const Analysis& analysis,
                          const Schedule& plain, const std::string& variable) {
  Schedule schedule = plain;
  schedule.name = "transposed tiles";
  schedule.tile_variable = variable;
  schedule.tiles_along_outputs = instructions_of(graph, group, false) >= hiding_instructions;
  for (const DomainVar& var : analysis.domain.vars) {
    if (var.name == variable) schedule.guards.push_back({var.extent, shortest_tile});
  }
  schedule.guards.push_back({analysis.domain.vars.back().extent, shortest_tile});
  return schedule;
}

// Of the operands in tiles, together and the widest: bytes of an element.
std::pair<int64_t, int64_t> tile_bytes_of(const Graph& graph, const Analysis& analysis,
                                          const std::string& variable) {
  int64_t all = 0, widest = 1;
  for (const auto& [id, evaluations] : analysis.reads) {
    Sym place = flat_place(graph, id, evaluations[0].index);
    std::optional<Sym> along = place.stride(variable);
    std::optional<Sym> across = place.stride(analysis.domain.vars.back().name);
    if (evaluations.size() != 1 || !along || !along->is(1) || !across || across->is(0)) continue;
    const int64_t bytes = byte_size(graph[id].type.dtype);
    all += bytes;
    widest = std::max(widest, bytes);
  }
  return {all, widest};
}

// The last variable of elementwise work, cut where a pad or concat goes on with another operand.
// Nothing where these are many or short.
std::vector<Schedule::Piece> pieces_of(const Graph& graph, const Analysis& analysis,
                                       int64_t longest) {
  const std::vector<DomainVar>& vars = analysis.domain.vars;
  if (vars.size() < 2 || analysis.levels > 0) return {};
  const std::optional<int64_t> extent = vars.back().extent.constant();
  if (!extent || *extent > longest) return {};
  const Ranges ranges = analysis.domain.ranges();
  std::set<int64_t> ends = {0, *extent};
  auto cut = [&](const Guard& guard) {
    const Sym offset = guard.value - Sym::var(vars.back().name);
    for (const Sym& end : {guard.lo - offset, guard.hi - offset}) {
      if (end.constant() && *end.constant() > 0 && *end.constant() < *extent) {
        ends.insert(*end.constant());
      }
    }
  };
  for (const auto& [id, evaluations] : analysis.evaluations) {
    const Op op = graph[id].op;
    if (op != Op::concat && op != Op::pad) continue;
    for (const Evaluation& e : evaluations) {
      for (const Access& access : operand_accesses(graph, id, e.index, ranges)) {
        std::ranges::for_each(access.guards, cut);
      }
    }
  }
  std::vector<Schedule::Piece> pieces;
  for (auto end = std::next(ends.begin()); end != ends.end(); ++end) {
    pieces.push_back({*std::prev(end), *end - *std::prev(end)});
    if (pieces.back().length < shortest_piece) return {};
  }
  return pieces.size() > 1 && pieces.size() <= most_pieces ? pieces
                                                           : std::vector<Schedule::Piece>{};
}

Schedule row_blocks(const Analysis& analysis, const Schedule& plain, const Sym& vector_bytes) {
  Schedule schedule = plain;
  schedule.name = "row blocks";
  schedule.row_blocks = 4;
  Sym rows(1);
  for (size_t i = 0; i + 1 < analysis.domain.vars.size(); ++i) {
    rows = rows * analysis.domain.vars[i].extent;
  }
  schedule.guards = {{vector_bytes, long_vectors}, {rows, fewest_blocked_rows}};
  return schedule;
}

// Whether the way of several row vectors from the second-level cache binds: one operand comes from
// memory and little is computed. Two and their rows keep the memory busy without more rows.
bool waits_for_vectors(const Graph& graph, const Group& group, const Analysis& analysis) {
  const std::vector<DomainVar>& vars = analysis.domain.vars;
  int64_t moving = 0, vectors = 0;
  for (const auto& [id, evaluations] : analysis.reads) {
    for (const Evaluation& read : evaluations) {
      const Sym place = flat_place(graph, id, read.index);
      const bool moves = std::any_of(vars.begin(), vars.end() - 1,
                                     [&](const DomainVar& var) { return place.uses(var.name); });
      if (moves) ++moving;
      if (!moves && place.uses(vars.back().name)) ++vectors;
    }
  }
  return moving == 1 && vectors > 1 && group.outputs.size() == 1 &&
         instructions_of(graph, group, false) <= few_instructions;
}

// ---- GPU: a block of threads takes 16 bytes a thread of the narrowest operand at a time, and
// elementwise work no more than that; rows stay in registers between the passes of a reduction.
// An element, from which on what a thread does once counts beside more loads at a time.
constexpr double many_instructions = 64;

int64_t narrowest_bytes(const Graph& graph, const Group& group) {
  int64_t bytes = 8;
  for (NodeId id : group.inputs) bytes = std::min(bytes, byte_size(graph[id].type.dtype));
  for (NodeId id : group.outputs) bytes = std::min(bytes, byte_size(graph[id].type.dtype));
  return bytes;
}

// The buffers that a chunk of a row reads, if it comes back to them.
std::vector<NodeId> kept_chunks(const Graph& graph, const Group& group, const Analysis& analysis,
                                const DeviceModel& device) {
  if (group.online.empty() || reads_parts(graph, group.nodes)) return {};
  const std::vector<DomainVar>& vars = group.domain.vars;
  for (const auto& [sum, how] : group.online) {  // the rows serve one pass
    if (analysis.level.at(sum) != analysis.level.at(group.online.begin()->first)) return {};
  }
  std::vector<NodeId> kept;
  int64_t bytes = 0;
  for (const auto& [id, reads] : analysis.reads) {
    if (reads.size() != 1 || reads[0].per_row || reads[0].run_time) continue;
    const bool by_row = std::any_of(vars.begin(), vars.end() - 1, [&](const DomainVar& var) {
      return flat_place(graph, id, reads[0].index).uses(var.name);
    });
    if (!by_row) continue;
    kept.push_back(id);
    bytes += byte_size(graph[id].type.dtype);
  }
  constexpr int64_t others = cuda::other_registers(cuda::row_lanes);
  const bool fits = blocks_for_row(trailing_chunk, bytes, others, 1, device) > 0;
  return fits ? kept : std::vector<NodeId>{};
}

// A block of threads turns over tiles of 8 or 16 KB, with 128 bytes or more of every row and
// column: so both sides of the memory move whole lines. Nothing where so many operands have no
// room.
std::optional<Schedule> gpu_tiles(const Graph& graph, const Group& group, const Analysis& analysis,
                                  const Schedule& plain) {
  constexpr int64_t most_bytes = 24 << 10, shared_bytes = 48 << 10, shortest_side = 32;
  std::optional<std::string> variable = tile_variable(graph, group, analysis);
  if (!variable) return std::nullopt;
  Schedule schedule = transposed_tiles(graph, group, analysis, plain, *variable);
  const auto [bytes, widest] = tile_bytes_of(graph, analysis, *variable);
  schedule.tile_columns = std::max(128 / widest, shortest_side);
  schedule.tile_rows = widest == 1 ? 128 : widest == 8 ? 32 : 64;
  auto too_large = [&] { return schedule.tile_rows * schedule.tile_columns * bytes > most_bytes; };
  while (too_large() && schedule.tile_rows > shortest_side) schedule.tile_rows /= 2;
  while (too_large() && schedule.tile_columns > shortest_side) schedule.tile_columns /= 2;
  if (schedule.tile_rows * schedule.tile_columns * bytes > shared_bytes) return std::nullopt;
  schedule.spread_rows = true;
  return schedule;
}

// Lanes of a row's sums where the order is free: a warp's accesses of 16 bytes. Short rows share a
// warp and stay with 64, and so do those that do not consist of such accesses. A whole tensor is
// aligned, so all of its chunks but the last do, whatever its length.
int free_lanes(const Graph& graph, const Group& group) {
  constexpr int64_t longest_short_row = 512;
  const std::optional<int64_t> length = group.domain.vars.back().extent.constant();
  const int64_t elements = elements_of_thread(graph, group);
  const bool whole = length ? *length > longest_short_row && *length % elements == 0
                            : group.domain.vars.size() == 1;
  return whole ? cuda::warp * static_cast<int>(elements) : static_cast<int>(reduction_lanes);
}

// Elementwise work that leaves multiprocessors without a block: blocks of fewer threads and one row
// each, so that more of them have a part.
Schedule gpu_few(const Graph& graph, const Group& group, const Schedule& plain,
                 const DeviceModel& device) {
  Schedule few = plain;
  few.name += ", few";
  few.thread_rows = 1;
  few.block_columns = cuda::few_block * elements_of_thread(graph, group);
  Sym elements(1);
  for (const DomainVar& var : group.domain.vars) elements = elements * var.extent;
  const int64_t wave = device.multiprocessors * plain.block_columns * plain.thread_rows;
  few.guards = {{Sym(0) - elements, -wave}};
  return few;
}

Schedule gpu_schedule(const Graph& graph, const Group& group, const Analysis& analysis,
                      const GroupCost& cost, const DeviceModel& device, Numerics numerics) {
  Schedule schedule;
  const std::vector<DomainVar>& vars = group.domain.vars;
  const auto reduced = std::ranges::count_if(vars, [](const DomainVar& v) { return v.reduced; });
  if (reduced == 0) {
    schedule.name = vars.size() > 1 ? "rows" : "flat";
    schedule.block_columns = cuda::block * elements_of_thread(graph, group);
    if (!row_vector_bytes(graph, group, analysis).is(0)) {
      schedule.thread_rows = 2;
    } else if (instructions_of(graph, group, true) >= many_instructions) {
      schedule.block_columns *= 4;
    }
    return schedule;
  }
  schedule.name = group.domain.trailing_reduced || vars.size() == 1 ? "rows" : "columns";
  if (schedule.name == "rows" && reduced == 1) {
    schedule.spread_rows = true;
    if (numerics != Numerics::exact && group.domain.columns.empty()) {
      schedule.lanes = free_lanes(graph, group);
    }
    const KeptRow row = kept_row(graph, group.nodes, group.domain, cost, device);
    schedule.staged = row.values;
    schedule.blocks = row.values.empty() ? 1 : row.blocks;
    schedule.name = schedule.staged.empty() ? "warps" : "rows in registers";
    if (schedule.blocks > 1) schedule.name += fmt::format(", {} blocks", schedule.blocks);
    if (schedule.staged.empty()) {
      schedule.staged = kept_chunks(graph, group, analysis, device);
      schedule.chunk_rows = !schedule.staged.empty();
      if (schedule.chunk_rows) schedule.name = "chunks in registers";
    }
  }
  return schedule;
}

}  // namespace

int64_t elements_of_thread(const Graph& graph, const Group& group) {
  return cuda::thread_elements(narrowest_bytes(graph, group));
}

bool guards_hold(const Schedule& schedule, const Bindings& sizes) {
  return std::all_of(
      schedule.guards.begin(), schedule.guards.end(), [&](const Schedule::AtLeast& guard) {
        const std::set<std::string> names = guard.value.variables();
        return std::all_of(names.begin(), names.end(),
                           [&](const std::string& name) { return sizes.count(name) != 0; }) &&
               guard.value.evaluate(sizes) >= guard.minimum;
      });
}

std::string Schedule::AtLeast::text() const {
  const bool is_limit =
      minimum <= 0 &&
      std::ranges::all_of(value.terms(), [](const Sym::Term& term) { return term.factor < 0; });
  return is_limit ? fmt::format("{} <= {}", (Sym(0) - value).text(), -minimum)
                  : fmt::format("{} >= {}", value.text(), minimum);
}

std::string Schedule::word() const {
  std::string word;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (letter || (!word.empty() && word.back() != '_')) word += letter ? c : '_';
  }
  return word;
}

std::vector<Schedule> choose_schedules(const Graph& graph, const Group& group,
                                       const Analysis& analysis, const GroupCost& cost,
                                       const DeviceModel& device, Numerics numerics) {
  Schedule plain;
  plain.staged = cost.staged;
  if (group.contraction >= 0) {
    plain.name = "tiles";
    plain.block_rows = block_rows(graph, group.contraction);
    return {plain};
  }
  if (group.kind == GroupKind::scan || group.kind == GroupKind::scatter) {
    plain.name = "in order";
    plain.staged.clear();
    return {plain};
  }
  bool reduces = std::any_of(group.domain.vars.begin(), group.domain.vars.end(),
                             [](const DomainVar& var) { return var.reduced; });
  bool columns = reduces && !group.domain.trailing_reduced;
  plain.name = columns ? "columns" : group.domain.vars.size() > 1 || reduces ? "rows" : "flat";
  if (device.gpu) plain = gpu_schedule(graph, group, analysis, cost, device, numerics);
  plain.pieces = pieces_of(graph, analysis, device.gpu ? plain.block_columns : longest_of_pieces);
  if (!plain.pieces.empty()) plain.name = "rows in pieces";
  bool full = false;
  for (NodeId id : group.outputs) {
    full = full || !reduces || !analysis.evaluations.at(id)[0].per_row;
  }
  std::vector<Schedule> schedules;
  auto offer = [&](Schedule schedule) {
    // Streaming stores need aligned outputs: another schedule stands by for those that are not.
    bool settled =
        !schedules.empty() && schedules.back().guards.empty() && !schedules.back().streaming;
    if (!settled && possible(&schedule)) schedules.push_back(std::move(schedule));
  };
  if (reduces && !columns && !full && analysis.levels == 1 && group.online.empty() &&
      group.domain.columns.empty() && !group.domain.vars.empty() &&
      group.domain.vars.back().reduced) {
    offer(split(analysis, plain, device, device.gpu && numerics != Numerics::exact));
  }
  auto streaming = [&](Schedule schedule) {
    schedule.name += ", streaming";
    schedule.streaming = true;
    schedule.guards.push_back(
        {group.traffic.read + group.traffic.written, static_cast<int64_t>(device.cache_bytes)});
    return schedule;
  };
  if (!group.domain.columns.empty()) {
    const bool free = device.gpu && numerics != Numerics::exact;
    const int lanes = free ? free_lanes(graph, group) : static_cast<int>(reduction_lanes);
    if (device.gpu) plain.block_columns = cuda::warp * cuda::row_lanes;
    for (Schedule& bands : row_bands(graph, plain, analysis, cost, device, lanes)) {
      if (!device.gpu) offer(streaming(bands));
      offer(std::move(bands));
    }
    plain.name += ", then columns";
  }
  if (columns) {
    if (std::optional<Schedule> bands = column_bands(group, analysis)) {
      if (device.gpu) {
        bands->block_columns =
            cuda::warp * std::max<int64_t>(elements_of_thread(graph, group), cuda::column_lanes);
      }
      if (!device.gpu) offer(streaming(*bands));
      const bool free = device.gpu && numerics != Numerics::exact;
      std::optional<Schedule> at_once =
          free ? bands_at_once(graph, group, *bands, device) : std::nullopt;
      if (at_once) offer(std::move(*at_once));
      offer(std::move(*bands));
    }
  }
  if (Sym bytes = device.gpu ? Sym(0) : row_vector_bytes(graph, group, analysis); !bytes.is(0)) {
    Schedule blocks = row_blocks(analysis, plain, bytes);
    Schedule beyond = streaming(blocks);
    if (waits_for_vectors(graph, group, analysis)) beyond.row_blocks = 8;
    offer(std::move(beyond));
    offer(std::move(blocks));
  }
  if (device.gpu) {
    std::optional<Schedule> tiles = gpu_tiles(graph, group, analysis, plain);
    if (tiles) offer(std::move(*tiles));
  } else if (std::optional<std::string> variable = tile_variable(graph, group, analysis)) {
    Schedule tiles = transposed_tiles(graph, group, analysis, plain, *variable);
    offer(streaming(tiles));
    offer(std::move(tiles));
  }
  const bool elementwise = device.gpu && plain.block_columns > 0 && plain.pieces.empty();
  if (elementwise && group.domain.columns.empty()) offer(gpu_few(graph, group, plain, device));
  // On a GPU a plain store is as fast, and other threads hide the way of the next row.
  const bool rereads = reduces && !columns && analysis.levels > 1;
  if ((full || rereads) && !device.gpu) offer(streaming(plain));
  offer(std::move(plain));
  return schedules;
}

}  // namespace ingot
