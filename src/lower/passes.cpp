// The passes over a row (or a block of columns): reductions level by level, then the outputs.
#include <algorithm>

#include "base/error.h"
#include "graph/reduction_order.h"
#include "lower/nest.h"
#include "plan/domain.h"

namespace ingot::lowering {
// The reduced dimensions' indices of the operand in terms of the domain's reduced variables.
std::vector<Sym> Nest::reduced_index(NodeId reduction) const {
  const Node& node = graph_[reduction];
  const Shape& shape = graph_[node.operands[0]].type.shape;
  ReducedRuns found = reduced_runs(graph_, reduction);
  INGOT_CHECK(found.runs.size() == reduced_.size(), "'{}' reduces {} runs, its group {}", node.name,
              found.runs.size(), reduced_.size());
  std::vector<Sym> at(shape.size(), Sym(0));
  for (size_t r = 0; r < found.runs.size(); ++r) {
    split_index(Sym::var(reduced_[r].name), shape, found.runs[r], ranges_, &at);
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
  for (NodeId id : group_.nodes) {
    if (op_info(graph_[id].op).category == Category::reduction && level_.at(id) == level) {
      found.push_back(id);
    }
  }
  return found;
}

// All values first: an output's row may hold a staged value that another output still needs.
void Nest::store_outputs(int level, bool full) {
  std::vector<loop::Store> stores;
  for (NodeId id : group_.outputs) {
    if (store_level(id) != level || on_domain(id) != full || is_empty(id)) continue;
    const std::vector<Sym>& index = group_.domain.index.at(id);
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

// The pass that stores an output: as soon as it is known; but when rows go past the caches, in the
// last pass, where it is computed again from operands that are still near.
int Nest::store_level(NodeId output) const {
  int level = level_.at(output);
  if (!schedule_.streaming || columns_ || !on_domain(output) || holds_staged(output)) return level;
  bool last_pass = std::any_of(group_.outputs.begin(), group_.outputs.end(), [&](NodeId id) {
    return level_.at(id) == levels_ && on_domain(id);
  });
  return last_pass ? levels_ : level;
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

// Opens the loops over the reduced variables. `chunked` cuts the last one as the canonical order
// says.
void Nest::open_reduced(bool chunked) {
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) {
    values_.open(reduced_[i].name, reduced_[i].extent);
    values_.bind_var(reduced_[i].name, Sym::var(reduced_[i].name));
  }
  const DomainVar& last = reduced_.back();
  if (chunked) {
    chunk_name_ = values_.unique("chunk");
    values_.open(chunk_name_, ceil_div(last.extent, Sym(chunk_length())));
  }
}

void Nest::open_innermost(const Sym& first, const Sym& extent) {
  const DomainVar& last = reduced_.back();
  std::string name = first.is(0) ? last.name : values_.unique("k");
  values_.open(name, extent);
  values_.bind_var(last.name, first + Sym::var(name));
}

void Nest::close_reduced(bool chunked) {
  if (chunked) {
    values_.close_loop(schedule_.spread_rows ? loop::LoopKind::spread : loop::LoopKind::serial);
  }
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) values_.close_loop(loop::LoopKind::serial);
}

bool Nest::has_chunks() const {
  std::optional<int64_t> length = reduced_.back().extent.constant();
  return !length || *length > chunk_length();
}

// Where the innermost loop starts and how long it is, inside the chunk's loop.
std::pair<Sym, Sym> Nest::innermost(bool chunked) const {
  const Sym& length = reduced_.back().extent;
  if (!chunked) return {Sym(0), length};
  Sym first = Sym(chunk_length()) * Sym::var(chunk_name_);
  bool whole = length.constant() && *length.constant() % chunk_length() == 0;
  return {first, whole ? Sym(chunk_length()) : min(Sym(chunk_length()), length - first)};
}

int64_t Nest::chunk_length() const { return columns_ ? column_chunk : trailing_chunk; }

// One chunk: accumulators, the innermost loop, and each accumulator's partial result.
std::map<NodeId, std::string> Nest::chunk(int level, const Sym& first, const Sym& extent,
                                          bool last_of_row) {
  std::vector<NodeId> reductions = reductions_at(level);
  std::map<NodeId, std::string> accumulators, partials;
  bool vector = !columns_;
  for (NodeId r : reductions) {
    accumulators[r] = accumulator(r, "_acc", vector ? static_cast<int>(reduction_lanes) : 1);
  }
  open_innermost(first, extent);
  store_outputs(level - 1, true);
  store_staged(level - 1);
  for (NodeId r : reductions) {
    loop::Operand operand = reduction_operand(r);
    values_.statements().push_back(loop::Accumulate{accumulators[r], operand});
  }
  if (vector) prefetch_rows(level);
  values_.close_loop(vector ? loop::LoopKind::vector : loop::LoopKind::serial);
  for (NodeId r : reductions) {
    const Node& node = graph_[r];
    DType dtype = last_of_row ? values_.kept_dtype(r) : compute_dtype(node.type.dtype);
    partials[r] = finish(accumulators[r], node.name + (last_of_row ? "" : "_part"), dtype);
  }
  return partials;
}

// All reductions of a level in one sweep over the reduced variables.
void Nest::pass(int level) {
  const bool chunked = has_chunks();
  if (reduced_.size() == 1 && !chunked) {
    for (const auto& [r, name] : chunk(level, Sym(0), reduced_.back().extent, true)) {
      values_.bind_value(r, name, values_.kept_dtype(r));
    }
    bind_staged(level - 1);
    return;
  }
  std::map<NodeId, std::string> totals;
  for (NodeId r : reductions_at(level)) totals[r] = accumulator(r, "_total", 1);
  open_reduced(chunked);
  const auto [first, extent] = innermost(chunked);
  for (const auto& [r, part] : chunk(level, first, extent, false)) {
    values_.statements().push_back(loop::Accumulate{totals[r], part});
  }
  close_reduced(chunked);
  for (const auto& [r, total] : totals) {
    std::string name = finish(total, graph_[r].name, values_.kept_dtype(r));
    values_.bind_value(r, name, values_.kept_dtype(r));
  }
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

// Outputs over the whole domain that need every reduction.
void Nest::final_pass() {
  bool any = false;
  for (NodeId id : group_.outputs) any = any || (level_.at(id) == levels_ && on_domain(id));
  if (!any) return;
  const bool chunked = schedule_.spread_rows && has_chunks();
  open_reduced(chunked);
  const auto [first, extent] = innermost(chunked);
  open_innermost(first, extent);
  store_outputs(levels_, true);
  values_.close_loop(columns_ ? loop::LoopKind::serial : loop::LoopKind::vector);
  close_reduced(chunked);
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
}

// Split rows: one chunk's partials into workspaces; the chunk is given by split_chunk_.
std::map<NodeId, std::string> Nest::chunk_partials(const Sym& count, const Sym& part) {
  Sym length = reduced_.back().extent;
  Sym first = Sym(trailing_chunk) * split_chunk_;
  Sym extent = min(Sym(trailing_chunk), length - first);
  std::map<NodeId, std::string> buffers;
  for (const auto& [r, name] : chunk(1, first, extent, false)) {
    DType dtype = compute_dtype(graph_[r].type.dtype);
    buffers[r] = values_.workspace(graph_[r].name + "_partials", dtype, count);
    values_.statements().push_back(loop::Store{buffers[r], part, name, loop::StoreMode::normal});
  }
  return buffers;
}

void Nest::combine_partials(const std::map<NodeId, std::string>& buffers, const Sym& row,
                            const Sym& per_row) {
  std::map<NodeId, std::string> totals;
  for (const auto& [r, buffer] : buffers) totals[r] = accumulator(r, "_total", 1);
  std::string c = values_.unique("chunk");
  values_.open(c, per_row);
  for (const auto& [r, buffer] : buffers) {
    std::string name = values_.unique(graph_[r].name + "_part");
    loop::Load load;
    load.name = name;
    load.dtype = compute_dtype(graph_[r].type.dtype);
    load.buffer = buffer;
    load.index = row * per_row + Sym::var(c);
    values_.statements().push_back(std::move(load));
    values_.statements().push_back(loop::Accumulate{totals[r], name});
  }
  values_.close_loop(loop::LoopKind::serial);
  for (const auto& [r, total] : totals) {
    std::string name = finish(total, graph_[r].name, values_.kept_dtype(r));
    values_.bind_value(r, name, values_.kept_dtype(r));
  }
}

}  // namespace ingot::lowering
