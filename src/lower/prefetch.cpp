// Which loads are fetched ahead, and how far: those of operands beyond the caches.
#include <algorithm>

#include "lower/nest.h"

namespace ingot::lowering {
namespace {

constexpr int64_t ahead = 2048;  // bytes: the best of 512 to 8192 on the CPU measured

// Whether the expression grows with the variable, and is not only taken modulo something.
bool advances(const Sym& index, std::string_view variable) {
  for (const Sym::Term& term : index.terms()) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == Sym::Atom::Kind::variable && atom->name == variable) return true;
      if (atom->kind == Sym::Atom::Kind::floor_div && advances(atom->left, variable)) return true;
    }
  }
  return false;
}

// Before each load of the body that counts with the vector loop's variable and whose later place
// `place` tells, a hint for that place.
template <class F>
void insert_hints(std::vector<loop::Stmt>& body, const std::string& lanes, int level,
                  const F& place) {
  std::vector<loop::Stmt> with_hints;
  for (loop::Stmt& stmt : body) {
    const auto* load = std::get_if<loop::Load>(&stmt);
    std::optional<Sym> later;
    if (load != nullptr && load->guards.empty()) {
      std::optional<Sym> stride = load->index.stride(lanes);
      if (stride && stride->is(1)) later = place(*load);
    }
    if (later) with_hints.push_back(loop::Prefetch{load->buffer, *later, level});
    with_hints.push_back(std::move(stmt));
  }
  body = std::move(with_hints);
}

}  // namespace

// Each stream some way further on. What the iterations of the phase read again and again stays in a
// cache by itself, and what does not depend on the row is read once for four rows. Rows side by
// side are many streams, and what they share comes from the second-level cache: they are fetched
// there first, and the short rest of the way holds the first-level cache's miss buffers less long.
void Nest::prefetch_streams(bool side_by_side) {
  constexpr int64_t near = 256;  // bytes
  if (!schedule_.streaming) return;
  const std::string& var = values_.variable();
  const std::string& row = values_.row_variable();
  auto hint = [&](int level, int64_t bytes) {
    insert_hints(
        values_.statements(), var, level, [&](const loop::Load& load) -> std::optional<Sym> {
          const bool moves =
              row.empty() ? advances(load.index, values_.phase_variable()) : load.index.uses(row);
          if (!moves) return {};
          return load.index + Sym(bytes / byte_size(load.dtype));
        });
  };
  if (side_by_side) hint(2, ahead);
  hint(1, side_by_side ? near : ahead);
}

// Whether a row and the next one fit a second-level cache, of passes that come back to a row.
bool Nest::rows_stay_near() const {
  constexpr int64_t room = 768 << 10;
  if (!schedule_.streaming || columns_ || reduced_.size() != 1 || findings_ == nullptr)
    return false;
  const std::optional<int64_t> length = reduced_.back().extent.constant();
  if (!length || *length == 0 || passes() < 2) return false;
  int64_t bytes = 0;  // of a column
  for (const Staged& staged : staged_) bytes += byte_size(staged.dtype);
  for (const NodeId id : group_.inputs) {
    const auto read = findings_->reads.find(values_.buffer(id));
    const bool along = read != findings_->reads.end() && read->second.uses(reduced_.back().name);
    if (along) bytes += 2 * byte_size(graph_[id].type.dtype);
  }
  return *length * bytes <= room;
}

// The next row, or one `ahead` of short rows, is fetched into the second-level cache while this one
// is computed, by several passes a part each: reads that come in one burst wait for the memory
// while the other passes leave it idle. Of two passes it is the one that does not write a row; of
// two that both do not, the last. Lines on their way into the first-level cache would hold up the
// loads of this row, unless it is short.
void Nest::prefetch_rows(int pass, const Sym& first) {
  if (!rows_stay_near()) return;
  const std::string& var = values_.variable();
  const DomainVar& last = reduced_.back();
  const Sym here = rows_.at, place = first + Sym::var(var);
  const bool writes = std::ranges::any_of(group_.outputs, [&](const NodeId id) {
    return std::ranges::any_of(group_.domain.index.at(id),
                               [&](const Sym& index) { return index.uses(last.name); });
  });
  for (const NodeId id : group_.inputs) {
    const auto read = findings_->reads.find(values_.buffer(id));
    if (read == findings_->reads.end()) continue;
    const int64_t most = byte_size(graph_[id].type.dtype);  // lines that 64 iterations take
    const int several = passes() < 4 ? passes() - 1 : 4;
    const int parts = overlap_.wanted ? 1 : static_cast<int>(std::min<int64_t>(most, several));
    const int from = overlap_.wanted           ? overlap_.level - 1
                     : passes() == 2 && writes ? 0
                                               : passes() - parts;
    const int part = pass - from;
    if (part < 0 || part >= parts) continue;
    const Sym now = values_.substituted(read->second);
    const int64_t row_bytes = most * *last.extent.constant();
    at_row(here + Sym((ahead + row_bytes - 1) / row_bytes));
    const bool moves = values_.substituted(read->second) != now;
    values_.bind_var(last.name, floor_div(Sym(part) * last.extent, Sym(parts)) +
                                    floor_div(first, Sym(parts)) + Sym::var(var));
    const Sym later = values_.substituted(read->second);
    at_row(here);
    values_.bind_var(last.name, place);
    const std::optional<Sym> stride = later.stride(var);
    if (!moves || !stride || !stride->is(1)) continue;
    const int level = row_bytes < ahead ? 1 : 2;
    values_.statements().push_back(loop::Prefetch{values_.buffer(id), later, level, parts});
  }
}

// In a serial loop inside a vector loop: so many iterations of it, or of a loop around, further on
// in each stream, into the second-level cache.
void Nest::prefetch_iterations(const std::string& var, int64_t ahead) {
  if (!schedule_.streaming) return;
  const std::string& lanes = values_.variable(1);
  insert_hints(values_.statements(), lanes, 2, [&](const loop::Load& load) -> std::optional<Sym> {
    if (!load.index.uses(var)) return {};
    return load.index.substitute({{var, Sym::var(var) + Sym(ahead)}});
  });
}

}  // namespace ingot::lowering
