// Column reductions in bands of rows: each band leaves a partial for every column, and the partials
// are combined in order. A band is one chunk of the canonical order, so the bits are those of
// columns one after the other; but rows are read side by side, as they lie in memory.
#include "graph/reduction_order.h"
#include "lower/row_bands.h"

namespace ingot::lowering {
namespace {

constexpr int64_t sweep_rows = 8;          // rows that are read side by side
constexpr int64_t longest_row = 16384;     // columns whose partials stay near
constexpr int64_t block_columns = 8192;    // of longer rows
constexpr int64_t register_columns = 256;  // so few are summed up in registers, a whole band
constexpr int64_t combined_columns = 256;  // an iteration of the second phase

// The rows of a sweep from `first` on, of a band of `rows`.
Sym sweep_part(const Sym& rows, const Sym& first) {
  std::optional<int64_t> length = rows.constant();
  return length && *length % sweep_rows == 0 ? Sym(sweep_rows) : min(Sym(sweep_rows), rows - first);
}

}  // namespace

// The accumulator of a reduction, started from its partial so far.
std::string Nest::resumed(NodeId reduction, const std::string& buffer, const Sym& place) {
  std::string part = load_partial(reduction, buffer, place);
  std::string name = accumulator(reduction, "_acc", 1);
  std::get<loop::Accumulator>(values_.statements().back()).from = part;
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
void Nest::add_rows(const std::map<NodeId, std::string>& sums, const Band& band, const Sym& first,
                    const Sym& rows) {
  std::string k = values_.unique("k");
  values_.open(k, rows);
  RowBands(*this).bind_row(first + band.step * Sym::var(k));
  store_outputs(0, true);
  for (const auto& [r, sum] : sums) {
    loop::Operand operand = reduction_operand(r);
    values_.statements().push_back(loop::Accumulate{sum, operand});
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
  if (registers) add_rows(accumulators, band, band.first_row, band.rows);
  store_partials(accumulators, band);
  values_.close_loop(loop::LoopKind::vector);
  if (registers) return;

  std::string sweep = values_.unique("sweep");
  values_.open(sweep, ceil_div(band.rows, Sym(sweep_rows)));
  open_vector(columns, band.first_column, band.block);
  for (auto& [r, accumulator] : accumulators) {
    accumulator = resumed(r, band.partials.at(r), band.place);
  }
  Sym first = Sym(sweep_rows) * Sym::var(sweep);
  add_rows(accumulators, band, band.first_row + band.step * first, sweep_part(band.rows, first));
  store_partials(accumulators, band);
  values_.close_loop(loop::LoopKind::vector);
  values_.close_loop(loop::LoopKind::serial);
}

void Nest::band_phases() {
  std::vector<Var> outer = merged(kept_, true);
  const Var columns = outer.back();
  outer.pop_back();
  const bool apart = schedule_.bands_apart;
  const Sym& length = reduced_.back().extent;
  const Sym count = apart ? min(Sym(schedule_.bands), length) : chunk_count();
  Sym rows(1), parts = count;
  for (const Var& var : outer) rows = rows * var.extent;
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) parts = parts * reduced_[i].extent;
  std::optional<int64_t> width = columns.extent.constant();
  const int64_t own = schedule_.block_columns;
  const bool blocked = own > 0 || !width || *width > longest_row;
  const int64_t block = own > 0 ? own : block_columns;
  const Sym blocks = blocked ? ceil_div(columns.extent, Sym(block)) : Sym(1);

  Band band;
  band.count = count;
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
  Sym number = reduced_.size() == 1 ? rest : mod(rest, band.count);
  band.step = apart ? count : Sym(1);
  band.first_row = apart ? number : Sym(column_chunk) * number;
  band.rows = apart ? ceil_div(length - number, count) : rest_of_row(band.first_row, column_chunk);
  rest = floor_div(rest, band.count);
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
  combine_bands(std::move(band), outer, columns);
}

// An iteration for each row, each of `parts` and a block of columns, inside a loop over these.
Combining Nest::open_columns(const std::vector<Var>& outer, const Var& columns, const Sym& parts) {
  const int64_t own = schedule_.block_columns, width = own > 0 ? own : combined_columns;
  const Sym blocks = ceil_div(columns.extent, Sym(width));
  Combining made;
  made.iterations = parts * blocks;
  for (const Var& var : outer) made.iterations = made.iterations * var.extent;
  made.variable = values_.unique("p");
  made.grain = grain_for(width * block_chunks);
  const Sym p = Sym::var(made.variable);
  values_.open(made.variable, made.iterations);
  const Sym place = floor_div(p, blocks);
  made.part = parts.is(1) ? Sym(0) : outer.empty() ? place : mod(place, parts);
  made.row = outer.empty() ? Sym(0) : floor_div(place, parts);
  bind_outer(outer, made.row);
  open_vector(columns, Sym(width) * (blocks.is(1) ? Sym(0) : mod(p, blocks)), width);
  made.column = Sym::var(columns.parts.back().name);
  return made;
}

// A GPU has the threads to sum up blocks of partials side by side before the last phase.
void Nest::sum_blocks(Band* band, const std::vector<Var>& outer, const Var& columns) {
  const Sym blocks = ceil_div(band->count, Sym(block_chunks));
  std::map<NodeId, std::string> sums;
  for (const auto& [r, buffer] : band->partials) {
    Sym elements = blocks * columns.extent;
    for (const Var& var : outer) elements = elements * var.extent;
    sums[r] = values_.workspace(graph_[r].name + "_blocks", compute_dtype(graph_[r].type.dtype),
                                elements);
  }
  const Combining at = open_columns(outer, columns, blocks);
  std::map<NodeId, std::string> accumulators;
  for (const auto& [r, buffer] : sums) accumulators[r] = accumulator(r, "_block", 1);
  const Sym first = Sym(block_chunks) * at.part;
  add_bands(*band, at.row * band->count + first, min(Sym(block_chunks), band->count - first),
            accumulators, columns);
  band->partials = sums;
  band->place = (at.row * blocks + at.part) * columns.extent + at.column;
  store_partials(accumulators, *band);
  values_.close_loop(loop::LoopKind::vector);
  add_phase(at.variable, at.iterations, at.grain);
  band->count = blocks;
}

// `count` partials of a column from `first` on, in order.
void Nest::add_bands(const Band& band, const Sym& first, const Sym& count,
                     const std::map<NodeId, std::string>& totals, const Var& columns) {
  const std::string c = values_.unique("band");
  values_.open(c, count);
  const Sym place = (first + Sym::var(c)) * columns.extent + Sym::var(columns.parts.back().name);
  for (const auto& [r, buffer] : band.partials) {
    std::string part = load_partial(r, buffer, place);
    values_.statements().push_back(loop::Accumulate{totals.at(r), part});
  }
  values_.close_loop(loop::LoopKind::serial);
}

// All partials of a column in order, and what is made of the sums.
void Nest::combine_bands(Band band, const std::vector<Var>& outer, const Var& columns) {
  std::optional<int64_t> count = band.count.constant();
  bool in_sequence = reduced_.size() == 1 && count && *count <= block_chunks;
  if (!in_sequence && schedule_.block_columns > 0 && reduced_.size() == 1) {
    sum_blocks(&band, outer, columns);
    in_sequence = true;
  }
  const Combining at = open_columns(outer, columns, Sym(1));
  std::map<NodeId, std::string> totals;
  for (const auto& [r, buffer] : band.partials) totals[r] = accumulator(r, "_total", 1);
  if (in_sequence) {
    add_bands(band, at.row * band.count, band.count, totals, columns);
  } else {
    open_outer_reduced();
    const Sym run = run_of(at.row);
    in_blocks(band.count, totals, [&](const Sym& number, const auto& block) {
      for (const auto& [r, buffer] : band.partials) {
        std::string part =
            load_partial(r, buffer, (run * band.count + number) * columns.extent + at.column);
        values_.statements().push_back(loop::Accumulate{block.at(r), part});
      }
    });
    close_outer_reduced();
  }
  bind_totals(totals);
  for (int level = 0; level <= levels_; ++level) store_outputs(level, false);
  values_.close_loop(loop::LoopKind::vector);
  add_phase(at.variable, at.iterations, at.grain);
}

}  // namespace ingot::lowering
