// Column reductions in bands of rows: each band leaves a partial for every column, and the partials
// are combined in order. A band is one chunk of the canonical order, so the bits are those of
// columns one after the other; but rows are read side by side, as they lie in memory.
#include "graph/reduction_order.h"
#include "lower/nest.h"

namespace ingot::lowering {
namespace {

constexpr int64_t sweep_rows = 8;          // rows that are read side by side
constexpr int64_t longest_row = 16384;     // columns whose partials stay near
constexpr int64_t block_columns = 8192;    // of longer rows
constexpr int64_t register_columns = 256;  // so few are summed up in registers, a whole band
constexpr int64_t combined_columns = 256;  // an iteration of the second phase

// `block`, or what is left of `extent` from `first` on.
Sym part_of(const Sym& extent, const Sym& first, int64_t block) {
  std::optional<int64_t> length = extent.constant();
  if (length && *length % block == 0) return block;
  return min(Sym(block), extent - first);
}

}  // namespace

// The accumulator of a reduction, started from its partial so far.
std::string Nest::resumed(NodeId reduction, const Band& band) {
  std::string name = accumulator(reduction, "_acc", 1);
  loop::Load load;
  load.name = values_.unique(graph_[reduction].name + "_part");
  load.dtype = compute_dtype(graph_[reduction].type.dtype);
  load.buffer = band.partials.at(reduction);
  load.index = values_.substituted(band.place);
  std::string loaded = load.name;
  values_.statements().push_back(std::move(load));
  values_.statements().push_back(loop::Accumulate{name, loaded});
  return name;
}

void Nest::store_partials(const std::map<NodeId, std::string>& accumulators, const Band& band) {
  for (const auto& [r, accumulator] : accumulators) {
    std::string part =
        finish(accumulator, graph_[r].name + "_part", compute_dtype(graph_[r].type.dtype));
    values_.statements().push_back(loop::Store{band.partials.at(r), values_.substituted(band.place),
                                               part, loop::StoreMode::normal});
  }
}

// Adds `rows` rows from `first` on, inside the loop over the columns.
void Nest::add_rows(const std::map<NodeId, std::string>& accumulators, const Sym& first,
                    const Sym& rows) {
  std::string k = values_.unique("k");
  values_.open(k, rows);
  values_.bind_var(reduced_.back().name, first + Sym::var(k));
  store_outputs(0, true);
  for (const auto& [r, accumulator] : accumulators) {
    loop::Operand operand = reduction_operand(r);
    values_.statements().push_back(loop::Accumulate{accumulator, operand});
  }
  prefetch_iterations(k, sweep_rows);
  values_.close_loop(loop::LoopKind::serial);
}

// A band of few columns, or of the few that a GPU's warp has, in one loop over them; else sweeps of
// rows, between which the sums stand in the row of partials.
void Nest::sum_band(const Band& band, const Var& columns) {
  auto fresh = [&] {
    std::map<NodeId, std::string> accumulators;
    for (NodeId r : reductions_at(1)) accumulators[r] = accumulator(r, "_acc", 1);
    return accumulators;
  };
  std::optional<int64_t> width = columns.extent.constant();
  open_vector(columns, band.first_column, band.block);
  std::map<NodeId, std::string> accumulators = fresh();
  const bool registers = schedule_.block_columns > 0 || (width && *width <= register_columns);
  if (registers) add_rows(accumulators, band.first_row, band.rows);
  store_partials(accumulators, band);
  values_.close_loop(loop::LoopKind::vector);
  if (registers) return;

  std::string sweep = values_.unique("sweep");
  values_.open(sweep, ceil_div(band.rows, Sym(sweep_rows)));
  open_vector(columns, band.first_column, band.block);
  for (auto& [r, accumulator] : accumulators) accumulator = resumed(r, band);
  Sym first = Sym(sweep_rows) * Sym::var(sweep);
  add_rows(accumulators, band.first_row + first, part_of(band.rows, first, sweep_rows));
  store_partials(accumulators, band);
  values_.close_loop(loop::LoopKind::vector);
  values_.close_loop(loop::LoopKind::serial);
}

void Nest::band_phases() {
  std::vector<Var> outer = merged(kept_, true);
  const Var columns = outer.back();
  outer.pop_back();
  Sym rows(1), parts = ceil_div(reduced_.back().extent, Sym(column_chunk));
  for (const Var& var : outer) rows = rows * var.extent;
  const Sym bands = parts;
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) parts = parts * reduced_[i].extent;
  std::optional<int64_t> width = columns.extent.constant();
  const int64_t own = schedule_.block_columns;
  const bool blocked = own > 0 || !width || *width > longest_row;
  const int64_t block = own > 0 ? own : block_columns;
  const Sym blocks = blocked ? ceil_div(columns.extent, Sym(block)) : Sym(1);

  Band band;
  for (NodeId r : reductions_at(1)) {
    band.partials[r] =
        values_.workspace(graph_[r].name + "_partials", compute_dtype(graph_[r].type.dtype),
                          rows * parts * columns.extent);
  }
  std::string p = values_.unique("p");
  values_.open(p, rows * parts * blocks);
  Sym part = floor_div(Sym::var(p), blocks);
  bind_outer(outer, floor_div(part, parts));
  Sym rest = outer.empty() ? part : mod(part, parts);
  Sym number = reduced_.size() == 1 ? rest : mod(rest, bands);
  band.first_row = Sym(column_chunk) * number;
  band.rows = part_of(reduced_.back().extent, band.first_row, column_chunk);
  rest = floor_div(rest, bands);
  for (size_t i = reduced_.size() - 1; i-- > 0;) {
    values_.bind_var(reduced_[i].name, mod(rest, reduced_[i].extent));
    rest = floor_div(rest, reduced_[i].extent);
  }
  band.block = blocked ? block : 0;
  band.first_column = blocked ? Sym(block) * mod(Sym::var(p), blocks) : Sym(0);
  band.place = part * columns.extent + Sym::var(columns.parts.back().name);
  sum_band(band, columns);
  add_phase(p, rows * parts * blocks,
            grain_for(column_chunk * std::min(width.value_or(block), block)));
  combine_bands(band, outer, columns, parts);
}

// All partials of a column in order, and what is made of the sums.
void Nest::combine_bands(const Band& band, const std::vector<Var>& outer, const Var& columns,
                         const Sym& parts) {
  const int64_t own = schedule_.block_columns, width = own > 0 ? own : combined_columns;
  Sym rows(1), blocks = ceil_div(columns.extent, Sym(width));
  for (const Var& var : outer) rows = rows * var.extent;
  std::string p = values_.unique("p"), c = values_.unique("band");
  values_.open(p, rows * blocks);
  Sym row = outer.empty() ? Sym(0) : floor_div(Sym::var(p), blocks);
  bind_outer(outer, row);
  Sym block = outer.empty() ? Sym::var(p) : mod(Sym::var(p), blocks);
  Sym first = Sym(width) * block;
  open_vector(columns, first, width);
  Sym column = Sym::var(columns.parts.back().name);
  std::map<NodeId, std::string> totals;
  for (const auto& [r, buffer] : band.partials) totals[r] = accumulator(r, "_total", 1);
  values_.open(c, parts);
  for (const auto& [r, buffer] : band.partials) {
    loop::Load load;
    load.name = values_.unique(graph_[r].name + "_part");
    load.dtype = compute_dtype(graph_[r].type.dtype);
    load.buffer = buffer;
    load.index = values_.substituted((row * parts + Sym::var(c)) * columns.extent + column);
    std::string loaded = load.name;
    values_.statements().push_back(std::move(load));
    values_.statements().push_back(loop::Accumulate{totals[r], loaded});
  }
  values_.close_loop(loop::LoopKind::serial);
  for (const auto& [r, total] : totals) {
    std::string name = finish(total, graph_[r].name, values_.kept_dtype(r));
    values_.bind_value(r, name, values_.kept_dtype(r));
  }
  for (int level = 0; level <= levels_; ++level) store_outputs(level, false);
  values_.close_loop(loop::LoopKind::vector);
  add_phase(p, rows * blocks, grain_for(width * 16));
}

}  // namespace ingot::lowering
