// The passes over a row (or a block of columns): reductions level by level, then the outputs.
#include <algorithm>

#include "base/error.h"
#include "graph/reduction_order.h"
#include "lower/row_bands.h"
#include "plan/domain.h"

namespace ingot::lowering {
// The reduced dimensions' indices of the operand in terms of the domain's reduced variables.
std::vector<Sym> Nest::reduced_index(NodeId reduction) const {
  const Node& node = graph_[reduction];
  const Shape& shape = graph_[node.operands[0]].type.shape;
  ReducedRuns found = reduced_runs(graph_, reduction);
  std::vector<Sym> along;
  if (is_column(group_.domain, reduction)) {
    along = {row_number(group_.domain)};
  } else {
    for (const DomainVar& var : reduced_) along.push_back(Sym::var(var.name));
  }
  INGOT_CHECK(found.runs.size() == along.size(), "'{}' reduces {} runs, its group {}", node.name,
              found.runs.size(), along.size());
  std::vector<Sym> at(shape.size(), Sym(0));
  for (size_t r = 0; r < along.size(); ++r) {
    split_index(along[r], shape, found.runs[r], ranges_, &at);
  }
  std::vector<Sym> reduced;
  for (int d : dims_attr(op_info(node.op), node.attrs, "dims", static_cast<int>(shape.size()))) {
    reduced.push_back(at[static_cast<size_t>(d)]);
  }
  return reduced;
}

std::string Nest::accumulator(NodeId reduction, const std::string& suffix, int lanes) {
  const Node& node = graph_[reduction];
  std::string name = values_.unique(node.name + suffix);
  values_.statements().push_back(
      loop::Accumulator{name, compute_dtype(node.type.dtype), node.op, lanes});
  return name;
}

loop::Operand Nest::reduction_operand(NodeId reduction) {
  const Node& node = graph_[reduction];
  Access access = operand_access(graph_, reduction, 0, group_.domain.index.at(reduction), ranges_,
                                 reduced_index(reduction));
  Typed operand = values_.value(node.operands[0], access.index);
  DType wanted = compute_dtype(node.type.dtype);
  return compute_dtype(operand.dtype) == wanted ? operand.operand
                                                : values_.rounded(operand, wanted);
}

std::string Nest::finish(const std::string& accumulator, const std::string& wanted, DType dtype) {
  std::string name = values_.unique(wanted);
  values_.statements().push_back(loop::Finish{name, dtype, accumulator});
  values_.note_defined(name);
  return name;
}

std::vector<NodeId> Nest::reductions_at(int level) const {
  std::vector<NodeId> found;
  if (both_.columns) return group_.domain.columns;
  for (NodeId id : group_.nodes) {
    const bool reduction = op_info(graph_[id].op).category == Category::reduction;
    if (reduction && level_.at(id) == level && !is_column(group_.domain, id)) found.push_back(id);
  }
  return found;
}

// All values first: an output's row may hold a staged value that another output still needs.
void Nest::store_outputs(int level, bool full) {
  std::vector<loop::Store> stores;
  for (NodeId id : group_.outputs) {
    if (both_.after_columns.contains(id) != both_.columns) continue;
    if (level_.at(id) != level || on_domain(id) != full || is_empty(id)) continue;
    std::vector<Sym> index = group_.domain.index.at(id);
    for (Sym& i : index) {
      if (piece_ == 0) break;
      const std::string& last = kept_.back().name;
      i = i.substitute({{last, Sym(piece_) + Sym::var(last)}}, ranges_);
    }
    Typed value = values_.value(id, index);
    loop::Store store;
    store.buffer = values_.buffer(id);
    store.value = values_.rounded(value, graph_[id].type.dtype);
    store.index = values_.substituted(values_.flat(id, index));
    store.mode = may_stream(id) ? loop::StoreMode::streaming : loop::StoreMode::normal;
    stores.push_back(std::move(store));
  }
  for (loop::Store& store : stores) values_.statements().push_back(std::move(store));
}

void Nest::store_staged(int level) {
  for (const Staged& staged : staged_) {
    if (staged.level != level || staged.own_output) continue;
    Typed value = values_.value(staged.node, staged.index);
    values_.statements().push_back(loop::Store{staged.buffer, values_.substituted(staged.flat),
                                               values_.rounded(value, staged.dtype),
                                               loop::StoreMode::normal});
  }
}

// Later passes read what this pass staged.
void Nest::bind_staged(int level) {
  for (const Staged& staged : staged_) {
    if (staged.level == level) {
      values_.bind_element(staged.node, staged.buffer, staged.dtype, staged.flat);
    }
  }
}

bool Nest::holds_staged(NodeId output) const {
  return std::any_of(staged_.begin(), staged_.end(),
                     [&](const Staged& staged) { return staged.buffer == values_.buffer(output); });
}

bool Nest::may_stream(NodeId output) const {
  if (!schedule_.streaming || columns_ || holds_staged(output)) return false;
  // Each row has to start on a vector boundary.
  const std::vector<DomainVar>& vars = group_.domain.vars;
  if (vars.empty()) return false;
  int64_t bytes = byte_size(graph_[output].type.dtype);
  Sym row = vars.back().extent;
  bool one_loop = reduced_.empty() && merged(kept_, true).size() == 1;
  // Rows of unknown length are tested where they are stored.
  return one_loop || !row.constant() || *row.constant() * bytes % 64 == 0;
}

// Opens the loops over the reduced variables but the last one.
void Nest::open_outer_reduced() {
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) {
    values_.open(reduced_[i].name, reduced_[i].extent);
    values_.bind_var(reduced_[i].name, Sym::var(reduced_[i].name));
  }
}

// The number of the run of chunks, inside those loops.
Sym Nest::run_of(const Sym& row) const {
  Sym run = row;
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) {
    run = run * reduced_[i].extent + Sym::var(reduced_[i].name);
  }
  return run;
}

void Nest::close_outer_reduced() {
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) values_.close_loop(loop::LoopKind::serial);
}

void Nest::open_innermost(const Sym& first, const Sym& extent) {
  const DomainVar& last = reduced_.back();
  std::string name = first.is(0) ? last.name : values_.unique("k");
  values_.open(name, extent);
  values_.bind_var(last.name, first + Sym::var(name));
  values_.bind_var(std::string(place_variable), Sym::var(name));
}

bool Nest::has_chunks() const {
  std::optional<int64_t> length = reduced_.back().extent.constant();
  return !length || *length > (columns_ ? column_chunk : schedule_.chunk);
}

// Pieces of 2048 elements of a chunk, more than one where a row is very long; at most.
Sym Nest::chunk_pieces() const {
  if (columns_) return 1;
  if (schedule_.chunks > 0) return ceil_div(row_pieces(), chunk_count());
  return Sym(1) + floor_div(reduced_.back().extent, Sym(longest_of_small_chunks));
}

Sym Nest::chunk_length() const {
  return columns_ ? Sym(column_chunk) : Sym(schedule_.chunk) * chunk_pieces();
}

Sym Nest::chunk_first(const Sym& number) const {
  return (schedule_.chunks > 0 ? Sym(schedule_.chunk) : chunk_length()) * number;
}

Sym Nest::row_pieces() const { return ceil_div(reduced_.back().extent, Sym(schedule_.chunk)); }

Sym Nest::chunk_count() const {
  if (schedule_.chunks > 0) return min(Sym(schedule_.chunks), row_pieces());
  return ceil_div(reduced_.back().extent, chunk_length());
}

// `block` elements, or what is left of the innermost reduced variable from `first` on.
Sym Nest::rest_of_row(const Sym& first, int64_t block) const {
  const Sym& length = reduced_.back().extent;
  const bool whole = length.constant() && *length.constant() > 0 && *length.constant() % block == 0;
  return whole ? Sym(block) : min(Sym(block), length - first);
}

void Nest::add_elements(const std::map<NodeId, std::string>& accumulators) {
  for (const auto& [r, accumulator] : accumulators) {
    loop::Operand operand = reduction_operand(r);
    values_.statements().push_back(loop::Accumulate{accumulator, operand});
  }
}

// One chunk from `first` on: accumulators, the innermost loop, and each accumulator's partial
// result.
std::map<NodeId, std::string> Nest::chunk(int level, const Sym& first, bool last_of_row) {
  std::vector<NodeId> reductions = reductions_at(level);
  std::map<NodeId, std::string> accumulators, partials;
  bool vector = !columns_;
  for (NodeId r : reductions) {
    accumulators[r] = accumulator(r, "_acc", vector ? schedule_.lanes : 1);
  }
  const int64_t piece = columns_ ? column_chunk : schedule_.chunk;
  const Sym pieces = last_of_row ? Sym(1) : chunk_pieces();
  Sym start = first;
  if (!pieces.is(1)) {
    const std::string name = values_.unique("piece");
    const Sym step = schedule_.chunks > 0 ? chunk_count() : Sym(1);
    const Sym rest = ceil_div(reduced_.back().extent - first, Sym(piece));
    values_.open(name, schedule_.chunks > 0 ? ceil_div(rest, step) : min(pieces, rest));
    start = first + Sym(piece) * step * Sym::var(name);
  }
  const Sym length = last_of_row ? reduced_.back().extent : rest_of_row(start, piece);
  if (level == 1) RowBands(*this).fetch_next_row(start, length);
  open_innermost(start, length);
  prefetch_rows(level - 1, start);
  std::vector<loop::Stmt> last;
  if (overlap_.follows_row && level == overlap_.level) last = outputs_of_row_before();
  store_outputs(level - 1, true);
  store_staged(level - 1);
  add_elements(accumulators);
  RowBands(*this).add_to_columns(level - 1);
  for (loop::Stmt& stmt : last) values_.statements().push_back(std::move(stmt));
  if (vector && level == 1 && !rows_stay_near()) prefetch_streams();
  values_.close_loop(vector ? loop::LoopKind::vector : loop::LoopKind::serial);
  if (!pieces.is(1)) values_.close_loop(loop::LoopKind::serial);
  for (NodeId r : reductions) {
    const Node& node = graph_[r];
    DType dtype = last_of_row ? values_.kept_dtype(r) : compute_dtype(node.type.dtype);
    partials[r] = finish(accumulators[r], node.name + (last_of_row ? "" : "_part"), dtype);
  }
  return partials;
}

// The chunks of a trailing variable, each into its lane of the totals.
void Nest::chunks_into_lanes(int level, const std::map<NodeId, std::string>& totals) {
  const std::string number = values_.unique("chunk");
  values_.open(number, chunk_count());
  for (const auto& [r, part] : chunk(level, chunk_first(Sym::var(number)), false)) {
    values_.statements().push_back(loop::Accumulate{totals.at(r), part, Sym::var(number)});
  }
  values_.close_loop(schedule_.spread_rows ? loop::LoopKind::spread : loop::LoopKind::serial);
}

// The chunks of another variable, in blocks of 16.
void Nest::chunks_in_blocks(int level, const std::map<NodeId, std::string>& totals) {
  in_blocks(chunk_count(), totals, [&](const Sym& number, const auto& block) {
    for (const auto& [r, part] : chunk(level, Sym(column_chunk) * number, false)) {
      values_.statements().push_back(loop::Accumulate{block.at(r), part});
    }
  });
}

// Calls `add` with a number below `count` and accumulators, inside loops that add up 16 at a time.
void Nest::in_blocks(
    const Sym& count, const std::map<NodeId, std::string>& totals,
    const std::function<void(const Sym&, const std::map<NodeId, std::string>&)>& add) {
  const std::string block = values_.unique("block"), chunk = values_.unique("chunk");
  values_.open(block, ceil_div(count, Sym(block_chunks)));
  std::map<NodeId, std::string> accumulators;
  for (const auto& [r, total] : totals) accumulators[r] = accumulator(r, "_block", 1);
  const Sym first = Sym(block_chunks) * Sym::var(block);
  values_.open(chunk, min(Sym(block_chunks), count - first));
  add(first + Sym::var(chunk), accumulators);
  values_.close_loop(loop::LoopKind::serial);
  for (const auto& [r, total] : totals) {
    const Node& node = graph_[r];
    std::string part =
        finish(accumulators.at(r), node.name + "_part", compute_dtype(node.type.dtype));
    values_.statements().push_back(loop::Accumulate{total, part});
  }
  values_.close_loop(loop::LoopKind::serial);
}

// The reductions' results, rounded.
void Nest::bind_totals(const std::map<NodeId, std::string>& totals) {
  for (const auto& [r, total] : totals) {
    std::string name = finish(total, graph_[r].name, values_.kept_dtype(r));
    values_.bind_value(r, name, values_.kept_dtype(r));
  }
}

// All reductions of a level in one sweep over the reduced variables.
void Nest::pass(int level) {
  const bool chunked = has_chunks();
  if (std::ranges::any_of(group_.online,
                          [&](const auto& pair) { return level_.at(pair.first) == level; })) {
    return online_pass(level);
  }
  if (reduced_.size() == 1 && !chunked) {
    for (const auto& [r, name] : chunk(level, Sym(0), true)) {
      values_.bind_value(r, name, values_.kept_dtype(r));
    }
    bind_staged(level - 1);
    return;
  }
  const int lanes = chunked && !columns_ ? schedule_.lanes : 1;
  std::map<NodeId, std::string> totals;
  for (NodeId r : reductions_at(level)) totals[r] = accumulator(r, "_total", lanes);
  open_outer_reduced();
  if (!chunked) {
    for (const auto& [r, part] : chunk(level, Sym(0), false)) {
      values_.statements().push_back(loop::Accumulate{totals[r], part});
    }
  } else if (columns_) {
    chunks_in_blocks(level, totals);
  } else {
    chunks_into_lanes(level, totals);
  }
  close_outer_reduced();
  bind_totals(totals);
  bind_staged(level - 1);
}

// Reductions over size-1 dimensions: the identity and one element, as the canonical order has it.
void Nest::single_elements(int level) {
  for (NodeId r : reductions_at(level)) {
    std::string name = accumulator(r, "_acc", 1);
    loop::Operand operand = reduction_operand(r);
    values_.statements().push_back(loop::Accumulate{name, operand});
    DType dtype = values_.kept_dtype(r);
    values_.bind_value(r, finish(name, graph_[r].name, dtype), dtype);
  }
}

// Over the reduced variables: one a level, and one for outputs that need every reduction.
int Nest::passes() const {
  const bool last = std::ranges::any_of(group_.outputs, [&](NodeId id) {
    return level_.at(id) == levels_ && on_domain(id) && !both_.after_columns.contains(id);
  });
  const bool columns = std::ranges::any_of(
      both_.sums, [&](const auto& sum) { return level_.at(sum.first) == levels_; });
  return levels_ + (last || columns ? 1 : 0);
}

void Nest::final_pass() {
  if (passes() == levels_) return;
  open_outer_reduced();
  RowBands bands(*this);
  bands.over_row([&](const Sym&) {
    prefetch_rows(levels_, Sym(0));
    store_outputs(levels_, true);
    bands.add_to_columns(levels_);
  });
  close_outer_reduced();
}

void Nest::body() {
  if (reduced_.empty()) {
    for (int level = 1; level <= levels_; ++level) single_elements(level);
    for (int level = 0; level <= levels_; ++level) store_outputs(level, true);
    return;
  }
  for (int level = 1; level <= levels_; ++level) pass(level);
  final_pass();
  for (int level = 0; level <= levels_; ++level) store_outputs(level, false);
  RowBands(*this).store_row_results();
}

// Split rows: one chunk's partials into workspaces.
std::map<NodeId, std::string> Nest::chunk_partials(const Sym& number, const Sym& count,
                                                   const Sym& part) {
  std::map<NodeId, std::string> buffers;
  for (const auto& [r, name] : chunk(1, chunk_first(number), false)) {
    DType dtype = compute_dtype(graph_[r].type.dtype);
    buffers[r] = values_.workspace(graph_[r].name + "_partials", dtype, count);
    values_.statements().push_back(loop::Store{buffers[r], part, name, loop::StoreMode::normal});
  }
  return buffers;
}

std::string Nest::load_partial(NodeId reduction, const std::string& buffer, const Sym& index) {
  loop::Load load;
  load.name = values_.unique(graph_[reduction].name + "_part");
  load.dtype = compute_dtype(graph_[reduction].type.dtype);
  load.buffer = buffer;
  load.index = values_.substituted(index);
  std::string name = load.name;
  values_.statements().push_back(std::move(load));
  values_.note_defined(name);
  return name;
}

// The partials of each run of chunks into their lanes.
void Nest::combine_partials(const std::map<NodeId, std::string>& buffers, const Sym& row) {
  std::map<NodeId, std::string> totals;
  for (const auto& [r, buffer] : buffers) {
    totals[r] = accumulator(r, "_total", schedule_.lanes);
  }
  open_outer_reduced();
  const Sym run = run_of(row);
  const std::string c = values_.unique("chunk");
  values_.open(c, chunk_count());
  for (const auto& [r, buffer] : buffers) {
    std::string part = load_partial(r, buffer, run * chunk_count() + Sym::var(c));
    values_.statements().push_back(loop::Accumulate{totals[r], part});
  }
  values_.close_loop(loop::LoopKind::vector);
  close_outer_reduced();
  bind_totals(totals);
}

}  // namespace ingot::lowering
