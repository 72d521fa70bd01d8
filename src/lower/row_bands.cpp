#include "lower/row_bands.h"

#include <algorithm>
#include <bit>

#include "graph/reduction_order.h"
#include "lower/rows_in_twos.h"
#include "plan/domain.h"

namespace ingot::lowering {

RowBands::RowBands(Nest& nest)
    : nest_(nest),
      both_(nest.both_),
      values_(nest.values_),
      graph_(nest.graph_),
      group_(nest.group_),
      schedule_(nest.schedule_) {}

// A row, by chunks where these are spread: `part` gets the first element and their number.
void RowBands::over_chunks(const std::function<void(const Sym&, const Sym&)>& part) {
  const bool chunked = schedule_.spread_rows && nest_.has_chunks();
  Sym first(0), extent = nest_.reduced_.back().extent;
  if (chunked) {
    const std::string number = values_.unique("chunk");
    values_.open(number, ceil_div(extent, Sym(schedule_.chunk)));
    first = Sym(schedule_.chunk) * Sym::var(number);
    extent = nest_.rest_of_row(first, schedule_.chunk);
  }
  part(first, extent);
  if (chunked) values_.close_loop(loop::LoopKind::spread);
}

void RowBands::over_row(const std::function<void(const Sym&)>& element) {
  over_chunks([&](const Sym& first, const Sym& extent) {
    nest_.open_innermost(first, extent);
    element(values_.substituted(Sym::var(nest_.reduced_.back().name)));
    values_.close_loop(nest_.columns_ ? loop::LoopKind::serial : loop::LoopKind::vector);
  });
}

void RowBands::add_to_columns(int level) {
  for (const auto& [r, buffer] : both_.sums) {
    if (nest_.level_.at(r) != level) continue;
    const Sym place = Sym::var(nest_.reduced_.back().name);
    loop::Operand operand = nest_.reduction_operand(r);
    const std::string name = nest_.resumed(r, buffer, place);
    values_.statements().push_back(loop::Accumulate{name, operand});
    std::string sum =
        nest_.finish(name, graph_[r].name + "_sum", compute_dtype(graph_[r].type.dtype));
    values_.statements().push_back(
        loop::Store{buffer, values_.substituted(place), sum, loop::StoreMode::normal});
  }
}

// `count` elements from `first` on of row `row` of the band, or of its last one.
void RowBands::fetch_row(const Sym& row, const Sym& first, const Sym& count) {
  const Sym turn = mod(row, Sym(both_.turns));
  bind_row(row.is(0) ? row : min(row, both_.band.rows - Sym(1)));
  values_.bind_var(nest_.reduced_.back().name, first);
  for (const Staged& staged : both_.fetched) {
    values_.bind_var(std::string(turn_variable), turn);
    loop::Fetch fetch;
    fetch.dst = staged.buffer;
    fetch.src = values_.buffer(staged.node);
    fetch.dst_index = values_.substituted(staged.flat);
    fetch.src_index = values_.substituted(flat_index(graph_[staged.node].type.shape, staged.index));
    fetch.count = values_.substituted(count);
    values_.statements().push_back(std::move(fetch));
  }
}

void RowBands::fetch_next_row(const Sym& first, const Sym& count) {
  if (both_.fetched.empty()) return;
  const Sym row = Sym::var(both_.band_row);
  const int64_t later = schedule_.rows_ahead - 1;
  values_.statements().push_back(loop::Await{later * std::ssize(both_.fetched)});
  fetch_row(row + Sym(schedule_.rows_ahead), first, count);
  bind_row(row);
}

// The partials, the sums so far, and the rows that are on their way when the first is worked on:
// in scratch for as many as are on their way or worked on.
void RowBands::open_band(const std::string& p) {
  Band& band = both_.band;
  const Sym rows = row_count(group_.domain), length = nest_.reduced_.back().extent;
  for (NodeId id : nest_.findings_ == nullptr ? std::vector<NodeId>{} : schedule_.fetched) {
    const std::vector<Sym>* index = nest_.findings_->index_ahead(id);
    if (index == nullptr) continue;
    Staged row{id, *index, "", graph_[id].type.dtype, {}, 0, false};
    row.flat = Sym::var(std::string(turn_variable)) * length + Sym::var(nest_.reduced_.back().name);
    row.buffer = values_.scratch(graph_[id].name + "_rows", row.dtype, Sym(both_.turns) * length);
    values_.bind_element(id, row.buffer, row.dtype, row.flat);
    both_.fetched.push_back(std::move(row));
  }
  const bool apart = schedule_.bands_apart;
  const Sym most(schedule_.bands);
  const Sym band_rows = schedule_.bands > 0 ? ceil_div(rows, most) : Sym(column_chunk);
  band.count = apart ? min(most, rows) : ceil_div(rows, band_rows);
  band.step = apart ? band.count : Sym(1);
  for (NodeId r : group_.domain.columns) {
    const DType dtype = compute_dtype(graph_[r].type.dtype);
    both_.sums[r] = values_.scratch(graph_[r].name + "_sums", dtype, length);
    band.partials[r] = values_.workspace(graph_[r].name + "_partials", dtype, band.count * length);
  }
  values_.open(p, band.count);
  band.first_row = apart ? Sym::var(p) : band_rows * Sym::var(p);
  const bool whole = mod(rows, band_rows).is(0);
  band.rows = apart   ? ceil_div(rows - band.first_row, band.count)
              : whole ? band_rows
                      : min(band_rows, rows - band.first_row);
  over_chunks([&](const Sym& first, const Sym& elements) {
    for (int64_t row = 0; row < schedule_.rows_ahead; ++row) fetch_row(Sym(row), first, elements);
  });
  over_row([&](const Sym& place) {
    for (const auto& [r, buffer] : both_.sums) {
      const Node& node = graph_[r];
      values_.statements().push_back(loop::Store{
          buffer, place, loop::accumulator_identity(node.op, compute_dtype(node.type.dtype)),
          loop::StoreMode::normal});
    }
  });
}

void RowBands::phases() {
  Band& band = both_.band;
  const Var columns{
      nest_.reduced_.back().name, nest_.reduced_.back().extent, {nest_.reduced_.back()}};
  nest_.rows_.vars = nest_.merged(nest_.kept_, true);
  both_.turns = schedule_.rows_ahead + schedule_.rows_together;
  if (schedule_.bands > 0) both_.turns = static_cast<int64_t>(std::bit_ceil(uint64_t(both_.turns)));
  const std::string p = values_.unique("p");
  open_band(p);
  both_.band_row = values_.unique("row");
  values_.open(both_.band_row, band.rows);
  bind_row(Sym::var(both_.band_row));
  nest_.body();
  values_.close_loop(loop::LoopKind::serial);
  if (schedule_.rows_together == 2) take_rows_in_twos();
  if (!both_.fetched.empty()) values_.statements().push_back(loop::Await{0});
  over_row([&](const Sym& place) {
    for (const auto& [r, buffer] : both_.sums) {
      const std::string part = nest_.load_partial(r, buffer, Sym::var(columns.name));
      const Sym at = Sym::var(p) * columns.extent + place;
      values_.statements().push_back(
          loop::Store{band.partials.at(r), at, part, loop::StoreMode::normal});
    }
  });
  nest_.add_phase(p, band.count, 1);
  turn_to_columns();
  nest_.combine_bands(std::move(band), {}, columns);
}

void RowBands::take_rows_in_twos() {
  std::vector<loop::Stmt>& done = values_.statements();
  const auto* rows =
      done.empty() ? nullptr : std::get_if<std::shared_ptr<loop::Loop>>(&done.back());
  if (rows == nullptr || (*rows)->var != both_.band_row) return;  // it never runs
  const std::shared_ptr<loop::Loop> loop = *rows;
  done.pop_back();
  std::ranges::move(
      rows_in_twos(*loop, [&](const std::string& name) { return values_.unique(name); }),
      std::back_inserter(done));
}

void RowBands::turn_to_columns() {
  values_.unbind();
  for (const auto& [r, buffer] : both_.results) {
    values_.bind_element(r, buffer, values_.kept_dtype(r), row_number(group_.domain));
  }
  nest_.rows_.vars = nest_.merged(nest_.kept_, true);
  nest_.kept_ = {nest_.reduced_.back()};
  nest_.reduced_ = {{values_.unique("row"), row_count(group_.domain), true}};
  nest_.columns_ = both_.columns = true;
}

// The results of rows that are summed up over columns.
void RowBands::store_row_results() {
  if (group_.domain.columns.empty() || schedule_.row_bands) return;
  const Sym row = row_number(group_.domain);
  for (int level = 1; level <= nest_.levels_; ++level) {
    for (NodeId r : nest_.reductions_at(level)) {
      const std::set<NodeId> later = after(graph_, group_.nodes, {r});
      if (std::ranges::none_of(group_.domain.columns,
                               [&](NodeId c) { return later.contains(c); })) {
        continue;
      }
      const DType dtype = values_.kept_dtype(r);
      const Typed result = values_.value(r, group_.domain.index.at(r));
      both_.results[r] =
          values_.workspace(graph_[r].name + "_rows", dtype, row_count(group_.domain));
      values_.statements().push_back(loop::Store{both_.results[r], values_.substituted(row),
                                                 result.operand, loop::StoreMode::normal});
    }
  }
}

void RowBands::bind_row(const Sym& row) {
  if (schedule_.row_bands && !both_.columns) {
    values_.bind_var(std::string(turn_variable), mod(row, Sym(both_.turns)));
    return nest_.at_row(both_.band.first_row + both_.band.step * row);
  }
  if (!both_.columns) return values_.bind_var(nest_.reduced_.back().name, row);
  nest_.at_row(row);
}

}  // namespace ingot::lowering
