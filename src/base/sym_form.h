// What the files of Sym share: terms as monomials, and assumptions for proofs.
#pragma once

#include "base/sym.h"

namespace ingot::sym_form {

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);

std::shared_ptr<const Sym::Atom> make_atom(Sym::Atom::Kind kind, Sym left, Sym right);
Sym from_atom(std::shared_ptr<const Sym::Atom> atom);
Sym from_term(const Sym::Term& term);
bool is_variable(const Sym::Atom& atom);

// An order of monomials that products keep: by degree, then by the atoms' texts. > 0: a leads b.
int compare_monomials(const Sym::Term& a, const Sym::Term& b);
// a / b as a monomial, factors included, if it is exact.
std::optional<Sym::Term> divide_terms(const Sym::Term& a, const Sym::Term& b);
// All terms, the constant as one without atoms.
std::vector<Sym::Term> all_terms(const Sym& a);

// What a proof may take for granted: variables in [0, extent), other names ≥ least.
struct Assumptions {
  const Ranges& ranges;
  int64_t least;
};
// Ranges given: other names are sizes. No ranges: a name may be a loop variable.
inline Assumptions assumptions(const Ranges& ranges) { return {ranges, ranges.empty() ? 0 : 1}; }

bool proves_nonnegative(const Sym& a, const Assumptions& known);
Sym divide(const Sym& a, const Sym& b, const Assumptions& known);
Sym remainder(const Sym& a, const Sym& b, const Assumptions& known);
Sym minimum(const Sym& a, const Sym& b, const Assumptions& known);

// d·floor_div(x, d) + mod(x, d) becomes x, in a sum that is canonical otherwise.
Sym recombine(Sym a);
bool has_mod(const Sym& a);

}  // namespace ingot::sym_form
