// Nest: variables, levels, staging and the parallel phases of a group. The passes inside stand in
// passes.cpp, products in product_phase.cpp.
#include "lower/row_bands.h"

#include <algorithm>

#include "base/error.h"
#include "graph/reduction_order.h"
#include "plan/cost.h"
#include "plan/domain.h"

namespace ingot::lowering {
namespace {

constexpr int64_t flat_block = 4096;        // elements a flat iteration covers
constexpr int64_t unblocked_inner = 16384;  // longest inner dimension that stays one loop
constexpr int64_t narrow_inner = 16;        // shorter inner dimensions are flattened with the outer
constexpr double cheap_instructions = 4;    // less than a store and a load cost
constexpr int64_t thread_elements = 16384;  // elements below which another thread is not worth it

std::string comment_of(const Group& group, const Schedule& schedule) {
  return fmt::format("{} [{}]", group.reason, schedule.name);
}

}  // namespace

Nest::Nest(const Graph& graph, const Plan& plan, const Group& group, const Schedule& schedule,
           const Findings* findings)
    : graph_(graph),
      plan_(plan),
      group_(group),
      schedule_(schedule),
      findings_(findings),
      values_(graph, group, plan.numerics, device_model(plan.device).gpu),
      ranges_(group.domain.ranges()) {
  for (const DomainVar& var : group.domain.vars) (var.reduced ? reduced_ : kept_).push_back(var);
  columns_ = !reduced_.empty() && !group.domain.trailing_reduced && !kept_.empty();
  both_.after_columns = after(graph, group.nodes, group.domain.columns);
}

loop::Kernel Nest::build() {
  find_levels();
  if (findings_ != nullptr) choose_staging();
  if (group_.contraction >= 0) {
    product_phase();
  } else if (group_.kind == GroupKind::scan) {
    scan_phase();
  } else if (group_.kind == GroupKind::scatter) {
    scatter_phases();
  } else if (schedule_.split_rows) {
    split_phases();
  } else if (schedule_.tile_rows > 0) {
    tile_blocks();
  } else if (!schedule_.tile_variable.empty()) {
    tile_phase();
  } else if (schedule_.row_bands) {
    RowBands(*this).phases();
  } else if (!group_.domain.columns.empty()) {
    plain_phase();
    RowBands(*this).turn_to_columns();
    band_phases();
  } else if (schedule_.column_bands) {
    band_phases();
  } else {
    plain_phase();
  }
  loop::Kernel kernel = std::move(values_.kernel());
  kernel.comment = comment_of(group_, schedule_);
  kernel.thread_elements = schedule_.thread_elements;
  kernel.all_registers = schedule_.all_registers;
  kernel.most_registers = schedule_.most_registers;
  kernel.phases = std::move(phases_);
  return kernel;
}

Findings Nest::take_findings() {
  found_.subscripts = std::move(values_.subscripts());
  found_.demands = std::move(values_.demands());
  found_.reads = std::move(values_.reads());
  return std::move(found_);
}

// A node's level: how many reductions follow one another up to and including it.
void Nest::find_levels() {
  for (NodeId id : group_.nodes) {
    const Node& node = graph_[id];
    int level = 0;
    for (NodeId operand : node.operands) {
      if (auto found = level_.find(operand); found != level_.end()) {
        level = std::max(level, found->second);
      }
    }
    if (auto sum = group_.online.find(id); sum != group_.online.end()) {
      level = level_.at(sum->second.maximum);
    } else if (op_info(node.op).category == Category::reduction && !is_column(group_.domain, id)) {
      ++level;
    }
    level_[id] = level;
    levels_ = std::max(levels_, level);
  }
  for (NodeId id : group_.inputs) level_[id] = 0;
}

bool Nest::on_domain(NodeId node) const {
  for (const Sym& index : group_.domain.index.at(node)) {
    for (const DomainVar& var : reduced_) {
      if (index.uses(var.name)) return true;
    }
  }
  return reduced_.empty();
}

// Without elements whatever the named sizes: there is nothing to store, and no subscript to do it.
bool Nest::is_empty(NodeId id) const { return element_count(graph_[id].type.shape).is(0); }

// Vector instructions to compute a node again from loads and finished reductions.
double Nest::instructions_of(NodeId id) const {
  const Node& node = graph_[id];
  const OpInfo& info = op_info(node.op);
  bool inside = std::binary_search(group_.nodes.begin(), group_.nodes.end(), id);
  if (!inside || info.category == Category::reduction) return 0;
  double total = info.category == Category::elementwise
                     ? ingot::instructions_of(node, schedule_.spread_rows)
                     : 0;
  for (NodeId operand : node.operands) total += instructions_of(operand);
  return total;
}

// What a widened value of the group was: half as long a row.
NodeId Nest::before_widening(NodeId id) const {
  const Node& node = graph_[id];
  if (node.op != Op::cast) return id;
  const NodeId narrow = node.operands[0];
  const bool inside = std::binary_search(group_.nodes.begin(), group_.nodes.end(), narrow);
  const bool halves = is_float(graph_[narrow].type.dtype) && is_float(node.type.dtype) &&
                      byte_size(values_.kept_dtype(narrow)) < byte_size(node.type.dtype);
  return inside && halves ? narrow : id;
}

const std::vector<Sym>* Findings::index_ahead(NodeId node) const {
  const auto demand = demands.find(node);
  if (demand == demands.end() || !demand->second.everywhere) return nullptr;
  const auto& indices = demand->second.indices;
  return indices.size() == 1 ? &indices.begin()->second : nullptr;
}

// A value of the plan's choice is kept between passes: in its own output, in the row of an output
// that the last pass writes at the same place, or in a scratch row.
void Nest::choose_staging() {
  if (group_.contraction >= 0 && columns_) return;
  // Past the caches an output is stored as soon as it is known; cheap ones are computed again.
  auto stored = [&](NodeId id) {
    return values_.is_output(before_widening(id)) && instructions_of(id) > cheap_instructions;
  };
  const bool one_row = schedule_.streaming && !columns_ && reduced_.size() == 1;
  // Rows overlap where what the last pass needs, besides operands, stands in scratch rows.
  overlap_.wanted = one_row && group_.online.empty() && group_.domain.columns.empty() &&
                    !schedule_.split_rows && passes() > levels_ &&
                    std::ranges::none_of(schedule_.staged, stored);
  std::vector<NodeId> taken;
  for (NodeId chosen : schedule_.staged) {
    const NodeId id = schedule_.spread_rows ? chosen : before_widening(chosen);
    const std::vector<Sym>* ahead = findings_->index_ahead(id);
    if (ahead == nullptr || is_empty(id)) continue;
    int level = schedule_.chunk_rows ? level_.at(group_.online.begin()->first) - 1 : level_.at(id);
    if (level >= levels_) continue;
    bool input = std::ranges::find(group_.inputs, id) != group_.inputs.end();
    bool output = values_.is_output(id);
    if (output && schedule_.streaming && !stored(id)) continue;
    const std::vector<Sym>& index = *ahead;
    // In `wide` an output is read back as it was stored.
    DType dtype = input || output ? graph_[id].type.dtype : values_.kept_dtype(id);
    Staged staged{id, index, "", dtype, flat_index(graph_[id].type.shape, index), level, false};
    const bool scratch = schedule_.spread_rows || overlap_.wanted || (output && one_row);
    for (NodeId output : scratch ? std::vector<NodeId>{} : group_.outputs) {
      bool same_place =
          flat_index(graph_[output].type.shape, group_.domain.index.at(output)) == staged.flat &&
          graph_[output].type.dtype == staged.dtype;
      bool last = level_.at(output) == levels_ && on_domain(output) &&
                  !both_.after_columns.contains(output);
      bool free = std::find(taken.begin(), taken.end(), output) == taken.end();
      if (output == id || (same_place && last && free && staged.buffer.empty())) {
        staged.buffer = values_.buffer(output);
        staged.own_output = output == id;
        if (output == id) break;
        taken.push_back(output);
      }
    }
    if (staged.buffer.empty()) {
      Sym elements(1), flat(0);
      for (const DomainVar& var : reduced_) {
        flat = flat * var.extent + Sym::var(var.name);
        elements = elements * var.extent;
      }
      if (columns_) {
        flat = flat * Sym(reduction_lanes) + Sym::var(std::string(lane_variable));
        elements = elements * Sym(reduction_lanes);
      }
      if (schedule_.chunk_rows) {
        flat = Sym::var(std::string(place_variable));
        elements = Sym(trailing_chunk);
      }
      staged.flat = flat;
      staged.buffer = values_.scratch(graph_[id].name + "_row", staged.dtype, elements);
    }
    staged_.push_back(staged);
  }
  overlap_.wanted = overlap_.wanted && !staged_.empty();
  if (overlap_.wanted)
    overlap_.level = 1 + std::ranges::min_element(staged_, {}, &Staged::level)->level;
}

// Adjacent variables become one loop where every subscript only depends on outer·extent + inner.
bool Nest::mergeable(const Var& outer, const DomainVar& inner) const {
  if (findings_ == nullptr) return false;
  if (!schedule_.pieces.empty() && inner.name == kept_.back().name) return false;
  const std::string& last = outer.parts.back().name;
  for (const Sym& subscript : findings_->subscripts) {
    std::optional<Sym> a = subscript.stride(last), b = subscript.stride(inner.name);
    if (!a || !b || !(*a == *b * inner.extent)) return false;
  }
  return true;
}

std::vector<Var> Nest::merged(std::vector<DomainVar> vars, bool allowed) const {
  std::vector<Var> result;
  for (DomainVar& var : vars) {
    if (allowed && !result.empty() && mergeable(result.back(), var)) {
      result.back().name = var.name;
      result.back().extent = result.back().extent * var.extent;
      result.back().parts.push_back(var);
    } else {
      result.push_back({var.name, var.extent, {var}});
    }
  }
  return result;
}

void Nest::at_row(const Sym& linear) {
  rows_.at = linear;
  bind_outer(rows_.vars, linear);
}

// The merged variable runs in place of its last part; the others stay 0 (their strides agree).
void Nest::bind_outer(const std::vector<Var>& vars, const Sym& linear) {
  Sym rest = linear;
  for (size_t i = vars.size(); i-- > 0;) {
    Sym value = i == 0 ? rest : mod(rest, vars[i].extent);
    rest = i == 0 ? rest : floor_div(rest, vars[i].extent);
    for (const DomainVar& part : vars[i].parts) values_.bind_var(part.name, Sym(0));
    values_.bind_var(vars[i].parts.back().name, value);
  }
}

int64_t Nest::grain_for(int64_t elements) const {
  return std::max<int64_t>(1, thread_elements / std::max<int64_t>(1, elements));
}

void Nest::add_phase(const std::string& var, const Sym& extent, int64_t grain) {
  phases_.push_back({var, extent, grain, values_.close()});
}

// Elementwise groups: the last (merged) variable is the vector, cut into blocks when long. Row
// groups: all kept variables are parallel. Column groups: blocks of 64 columns are parallel too.
void Nest::plain_phase() {
  std::vector<Var> outer = merged(kept_, true);
  Sym outer_extent(1);
  std::optional<Var> inner;
  if ((reduced_.empty() || columns_) && !outer.empty()) {
    inner = outer.back();
    outer.pop_back();
  }
  if (inner && reduced_.empty() && !outer.empty() && inner->extent.constant() &&
      *inner->extent.constant() < narrow_inner) {
    flat_phase(outer, *inner);
    return;
  }
  if (inner && schedule_.row_blocks > 0) return row_blocks(outer, *inner);
  if (inner && schedule_.thread_rows > 1 && !outer.empty()) return thread_rows(outer, *inner);
  for (const Var& var : outer) outer_extent = outer_extent * var.extent;
  const int64_t own = schedule_.block_columns;  // a GPU's
  int64_t block = columns_ ? reduction_lanes : own > 0 ? own : flat_block;
  bool blocked = inner && (columns_ || outer.empty() || !inner->extent.constant() ||
                           *inner->extent.constant() > (own > 0 ? own : unblocked_inner));
  const bool by_row = outer.size() == 1 && !blocked && !overlap_.wanted;
  std::string var = by_row ? outer[0].name : values_.unique("p");
  Sym p = Sym::var(var);
  Sym blocks = blocked ? ceil_div(inner->extent, Sym(block)) : Sym(1);
  Sym extent =
      overlap_.wanted ? ceil_div(outer_extent, Sym(consecutive_rows)) : outer_extent * blocks;
  values_.open(var, extent);
  rows_.vars = outer;
  at_row(blocked && !outer.empty() ? floor_div(p, blocks) : p);
  if (inner && !schedule_.pieces.empty()) {
    pieces(*inner);
  } else if (inner) {
    Sym first = blocked ? Sym(block) * (outer.empty() ? p : mod(p, blocks)) : Sym(0);
    open_vector(*inner, first, blocked ? block : 0);
    body();
    if (reduced_.empty()) prefetch_streams();
    values_.close_loop(loop::LoopKind::vector);
  } else if (overlap_.wanted) {
    overlapped_rows(p, outer_extent);
  } else {
    body();
  }
  int64_t elements = blocked ? block : inner ? inner->extent.constant().value_or(flat_block) : 1;
  for (const DomainVar& r : reduced_) elements *= r.extent.constant().value_or(1024);
  add_phase(var, extent, grain_for(elements));
  phases_.back().blocks = schedule_.blocks;
}

// A loop for all pieces of one length, so that what several of them need is loaded once.
void Nest::pieces(const Var& inner) {
  std::map<int64_t, std::vector<int64_t>> firsts;
  for (const Schedule::Piece& piece : schedule_.pieces) {
    firsts[piece.length].push_back(piece.first);
  }
  for (const auto& [length, pieces] : firsts) {
    values_.restrict_var(inner.name, Sym(length));
    open_vector({inner.name, Sym(length), inner.parts}, Sym(0), 0);
    for (int64_t first : pieces) {
      piece_ = first;
      store_outputs(0, true);
    }
    piece_ = 0;
    prefetch_streams();
    values_.close_loop(loop::LoopKind::vector);
  }
}

// A short inner dimension: all variables as one, so that vectors are full; subscripts by div and
// mod.
void Nest::flat_phase(const std::vector<Var>& outer, const Var& inner) {
  std::vector<Var> vars = outer;
  vars.push_back(inner);
  Sym total(1);
  for (const Var& var : vars) total = total * var.extent;
  std::string p = values_.unique("p"), j = values_.unique("j");
  Sym blocks = ceil_div(total, Sym(flat_block));
  values_.open(p, blocks);
  Sym first = Sym(flat_block) * Sym::var(p);
  values_.open(j, min(Sym(flat_block), total - first));
  bind_outer(vars, first + Sym::var(j));
  body();
  prefetch_streams();
  values_.close_loop(loop::LoopKind::vector);
  add_phase(p, blocks, grain_for(flat_block));
}

// A few rows one after the other in a thread, which loads what is the same in them once. A last
// block of fewer rows repeats the last one.
void Nest::thread_rows(const std::vector<Var>& outer, const Var& inner) {
  Sym rows(1);
  for (const Var& var : outer) rows = rows * var.extent;
  const Sym side(schedule_.thread_rows), block(schedule_.block_columns);
  const Sym blocks = ceil_div(inner.extent, block);
  std::string var = values_.unique("p"), row = values_.unique("q");
  const Sym p = Sym::var(var);
  std::optional<int64_t> count = rows.constant();
  Sym place = side * floor_div(p, blocks) + Sym::var(row);
  if (!count || *count % schedule_.thread_rows != 0) place = min(place, rows - Sym(1));
  values_.open(var, ceil_div(rows, side) * blocks);
  const Sym first = block * mod(p, blocks);
  open_vector(inner, first, schedule_.block_columns);
  values_.open(row, side);
  bind_outer(outer, place);
  body();
  values_.close_loop(loop::LoopKind::serial);
  values_.close_loop(loop::LoopKind::vector);
  add_phase(var, ceil_div(rows, side) * blocks, 1);
}

// Four rows side by side, so that a row vector is loaded once for them. Another four follow some
// way behind, where they find the vectors in the first-level cache, and do not fight for its sets
// with the rows before; at the end of a block they go on at its start. A last block of fewer rows
// repeats the last one; columns that are left over go row by row.
void Nest::row_blocks(const std::vector<Var>& outer, const Var& inner) {
  constexpr int64_t behind = 16;  // of 16 columns each
  Sym rows(1);
  for (const Var& var : outer) rows = rows * var.extent;
  const Sym side(schedule_.row_blocks), width(loop::across_columns);
  const bool followed = schedule_.row_blocks > loop::across_rows;
  const int64_t block = followed ? unblocked_inner : flat_block;
  std::optional<int64_t> length = inner.extent.constant(), count = rows.constant();
  const bool blocked = !length || *length > unblocked_inner;
  Sym blocks = blocked ? ceil_div(inner.extent, Sym(block)) : Sym(1);
  Sym extent = ceil_div(rows, side) * blocks;
  std::string var = values_.unique("p");
  Sym p = Sym::var(var);
  Sym first = blocked ? Sym(block) * mod(p, blocks) : Sym(0);
  Sym columns = blocked ? min(Sym(block), inner.extent - first) : inner.extent;
  if (length && *length % block == 0 && blocked) columns = Sym(block);
  const Sym parts = floor_div(columns, width), whole = width * parts;

  values_.open(var, extent);
  for (const DomainVar& part : inner.parts) values_.bind_var(part.name, Sym(0));
  auto at = [&](const Sym& row, const Sym& column) {
    Sym place = side * (blocked ? floor_div(p, blocks) : p) + row;
    if (!count || *count % schedule_.row_blocks != 0) place = min(place, rows - Sym(1));
    bind_outer(outer, place);
    values_.bind_var(inner.parts.back().name, first + column);
  };
  auto four_rows = [&](int64_t from, const Sym& column, const Sym& many, const std::string& j) {
    const std::string row = values_.unique("q");
    values_.open_across(j, many, row);
    at(Sym(from) + Sym::var(row), column + Sym::var(j));
    body();
    prefetch_streams(true);
    values_.close_loop(loop::LoopKind::vector);
  };
  if (followed) {
    const std::string name = values_.unique("part");
    const Sym part = Sym::var(name);
    const Sym wraps = Sym(1) - min(Sym(1), floor_div(part, Sym(behind)));  // a division is slow
    const Sym later = part - min(Sym(behind), parts) + parts * wraps;
    values_.open(name, parts);
    four_rows(0, width * part, width, values_.unique("j"));
    four_rows(loop::across_rows, width * later, width, values_.unique("j"));
    values_.close_loop(loop::LoopKind::serial);
  } else {
    four_rows(0, Sym(0), whole, blocked ? values_.unique("j") : inner.name);
  }
  if (Sym rest = columns - whole; !rest.is(0)) {
    const std::string row = values_.unique("q"), k = values_.unique("k");
    values_.open(row, side);
    values_.open(k, rest);
    at(Sym::var(row), whole + Sym::var(k));
    body();
    values_.close_loop(loop::LoopKind::vector);
    values_.close_loop(loop::LoopKind::serial);
  }
  add_phase(var, extent, grain_for(schedule_.row_blocks * (blocked ? block : *length)));
}

// Opens the vector loop over `var`, whole or from `first` for `block` elements.
void Nest::open_vector(const Var& var, const Sym& first, int64_t block) {
  for (const DomainVar& part : var.parts) values_.bind_var(part.name, Sym(0));
  std::string name = var.name;
  Sym extent = var.extent;
  if (block > 0) {
    const bool whole = exact_div(extent, Sym(block)).has_value();
    extent = whole ? Sym(block) : min(Sym(block), extent - first);
    name = values_.unique("j");
  }
  values_.open(name, extent);
  values_.bind_var(var.parts.back().name, first + Sym::var(name));
  values_.bind_var(std::string(lane_variable), Sym::var(name));
}

// Few long rows: chunks of all rows in parallel leave partials, then rows combine them in order.
void Nest::split_phases() {
  std::vector<Var> outer = merged(kept_, true);
  Sym rows(1);
  for (const Var& var : outer) rows = rows * var.extent;
  const Sym chunks = chunk_count();
  Sym per_row = chunks;
  for (size_t i = 0; i + 1 < reduced_.size(); ++i) per_row = per_row * reduced_[i].extent;

  std::string p = values_.unique("p");
  Sym part = Sym::var(p);
  values_.open(p, rows * per_row);
  bind_outer(outer, floor_div(part, per_row));
  Sym rest = mod(part, per_row);
  const Sym number = mod(rest, chunks);
  rest = floor_div(rest, chunks);
  for (size_t i = reduced_.size() - 1; i-- > 0;) {
    values_.bind_var(reduced_[i].name, mod(rest, reduced_[i].extent));
    rest = floor_div(rest, reduced_[i].extent);
  }
  std::map<NodeId, std::string> partials = chunk_partials(number, rows * per_row, part);
  add_phase(p, rows * per_row, grain_for(trailing_chunk));

  std::string row = outer.size() == 1 ? outer[0].name : values_.unique("row");
  values_.open(row, rows);
  bind_outer(outer, Sym::var(row));
  combine_partials(partials, Sym::var(row));
  for (int level = 0; level <= levels_; ++level) store_outputs(level, false);
  add_phase(row, rows, 64);
}

}  // namespace ingot::lowering
