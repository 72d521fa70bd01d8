// Which loads are fetched ahead, and how far: those of operands beyond the caches.
#include "lower/nest.h"

namespace ingot::lowering {
namespace {

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
// cache by itself, and what does not depend on the row is read once for four rows.
void Nest::prefetch_streams(int64_t streams) {
  constexpr int64_t ahead = 2048;  // bytes: the best of 512 to 8192 on the CPU measured
  if (!schedule_.streaming) return;
  const std::string& var = values_.variable();
  const std::string& row = values_.row_variable();
  insert_hints(values_.statements(), var, 1, [&](const loop::Load& load) -> std::optional<Sym> {
    const bool moves =
        row.empty() ? advances(load.index, values_.phase_variable()) : load.index.uses(row);
    if (!moves) return {};
    return load.index + Sym(ahead / streams / byte_size(load.dtype));
  });
}

// The next row is fetched while this one is computed: in the second pass of several, for rows that
// fit the first-level cache.
void Nest::prefetch_rows(int level) {
  constexpr int64_t longest = 4096;
  if (!schedule_.streaming) return;
  std::optional<int64_t> length = reduced_.back().extent.constant();
  if (!length || *length > longest || *length == 0) {
    if (level == 1) prefetch_streams();
    return;
  }
  if (level != std::min(2, levels_)) return;
  const std::string& var = values_.variable();
  insert_hints(values_.statements(), var, 1, [&](const loop::Load& load) -> std::optional<Sym> {
    if (!advances(load.index, values_.phase_variable())) return {};
    return load.index + Sym(*length);
  });
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
