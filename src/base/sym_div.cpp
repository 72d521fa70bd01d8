// floor_div, mod and min of Syms, with their simplification rules.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/sym_form.h"

namespace ingot {

using namespace sym_form;
using Atom = Sym::Atom;
using Term = Sym::Term;

namespace {

struct Parts {
  Sym quotient, rest;  // a = quotient·b + rest
};

const Term* leading(const std::vector<Term>& terms) {
  const auto most = std::max_element(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return compare_monomials(a, b) < 0;
  });
  return most == terms.end() ? nullptr : &*most;
}

// Polynomial long division: what the leading term of b does not divide goes to the rest.
Parts long_division(const Sym& a, const Sym& b) {
  const std::vector<Term> divisor_terms = all_terms(b);
  const Term& divisor = *leading(divisor_terms);
  Parts parts;
  Sym left = a;
  while (!left.is(0)) {
    const std::vector<Term> terms = all_terms(left);
    const Term& lead = *leading(terms);
    if (const std::optional<Term> factor = divide_terms(lead, divisor)) {
      const Sym quotient = from_term(*factor);
      parts.quotient = parts.quotient + quotient;
      left = left - quotient * b;
    } else {
      parts.rest = parts.rest + from_term(lead);
      left = left - from_term(lead);
    }
  }
  return parts;
}

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// Splits off what is divisible by b, so that the rest is provably not negative.
Parts split(const Sym& a, const Sym& b, const Assumptions& known) {
  Parts parts = long_division(a, b);
  if (proves_nonnegative(parts.rest, known)) {
    if (const auto divisor = b.constant()) {
      const Sym whole = floor_quotient(parts.rest.constant_part(), *divisor);
      const Sym rest = parts.rest - whole * b;
      if (!whole.is(0) && proves_nonnegative(rest, known)) {
        return {parts.quotient + whole, rest};
      }
    }
    return parts;
  }
  // A negative constant may have gone with too little: 64·k + (64 − 1 − i) keeps its 64.
  if (const auto divisor = b.constant()) {
    const Sym whole = floor_quotient(parts.rest.constant_part(), *divisor);
    parts = {parts.quotient + whole, parts.rest - whole * b};
    if (!whole.is(0) && proves_nonnegative(parts.rest, known)) return parts;
  }
  return {0, a};
}

Term common_factor(const Term& a, const Term& b) {
  Term common{{}, std::gcd(a.factor, b.factor)};
  for (size_t i = 0, j = 0; i < a.atoms.size() && j < b.atoms.size();) {
    const int order = a.atoms[i]->text.compare(b.atoms[j]->text);
    if (order == 0) common.atoms.push_back(a.atoms[i]);
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return common;
}

// a = g·outer + inner, b = g·divisor with 0 ≤ inner < g: then floor(a / b) = floor(outer /
// divisor).
struct Cancelled {
  Sym outer, divisor, inner, factor;
};
std::optional<Cancelled> cancel(const Sym& a, const Sym& b, const Assumptions& known) {
  const std::vector<Term> divisor_terms = all_terms(b);
  Term content = divisor_terms[0];
  for (const Term& term : divisor_terms) content = common_factor(content, term);
  std::vector<Sym> tried;
  for (const Term& term : a.terms()) {
    const Sym g = from_term(common_factor(term, content));
    if (g.is(1) || std::find(tried.begin(), tried.end(), g) != tried.end()) continue;
    tried.push_back(g);
    Parts parts = long_division(a, g);
    if (const auto divisor = g.constant()) {
      const Sym whole = floor_quotient(parts.rest.constant_part(), *divisor);
      parts = {parts.quotient + whole, parts.rest - whole * g};
    }
    if (proves_nonnegative(parts.rest, known) && proves_nonnegative(g - 1 - parts.rest, known)) {
      return Cancelled{parts.quotient, *exact_div(b, g), parts.rest, g};
    }
  }
  return std::nullopt;
}

// Whether a divisor may be 0 where elements are asked for, as B - 1 may: then the remainder is 0,
// by definition. A product of sizes that is 0 has no elements.
bool may_vanish(const Sym& divisor, const Assumptions& known) {
  const bool product = divisor.constant_part() == 0 && divisor.terms().size() == 1;
  return !product && !proves_nonnegative(divisor - 1, known);
}

// The atom if the expression is one bare atom of this kind.
const Atom* sole_atom(const Sym& a, Atom::Kind kind) {
  if (a.constant_part() != 0 || a.terms().size() != 1 || a.terms()[0].factor != 1) return nullptr;
  const Term& term = a.terms()[0];
  return term.atoms.size() == 1 && term.atoms[0]->kind == kind ? term.atoms[0].get() : nullptr;
}

// floor_div without any proof: only nested divisions merge.
Sym bare_quotient(const Sym& a, const Sym& b) {
  if (const Atom* inner = sole_atom(a, Atom::Kind::floor_div)) {
    return from_atom(make_atom(Atom::Kind::floor_div, inner->left, inner->right * b));
  }
  return from_atom(make_atom(Atom::Kind::floor_div, a, b));
}

// Takes the first mod(x, m) inside a sum apart where m is a multiple of b: it is x then, modulo b.
// One at a time: what is left may combine with another.
Sym without_inner_mod(const Sym& a, const Sym& b) {
  for (const Term& term : a.terms()) {
    if (term.factor < 0) continue;
    for (size_t i = 0; i < term.atoms.size(); i++) {
      if (term.atoms[i]->kind != Atom::Kind::mod) continue;
      Term others = term;
      others.atoms.erase(others.atoms.begin() + static_cast<std::ptrdiff_t>(i));
      const Sym outer = from_term(others);
      if (!exact_div(outer * term.atoms[i]->right, b)) continue;
      return a - from_term(term) + outer * term.atoms[i]->left;
    }
  }
  return a;
}

}  // namespace

namespace sym_form {

Sym divide(const Sym& a, const Sym& b, const Assumptions& known) {
  if (b.is(1) || a.is(0)) return a;
  const auto left = a.constant(), right = b.constant();
  if (b.is(0)) return 0;  // a size of 0: nobody asks for an element there
  if (right && *right < 0) return from_atom(make_atom(Atom::Kind::floor_div, a, b));
  if (left && right) return floor_quotient(*left, *right);
  const Parts parts = split(a, b, known);
  // Where nothing was split off, rest = a ≥ 0 is the caller's promise; else split proved it.
  if (parts.rest.is(0) || proves_nonnegative(b - 1 - parts.rest, known)) return parts.quotient;
  if (const auto cancelled = cancel(parts.rest, b, known)) {
    return parts.quotient + divide(cancelled->outer, cancelled->divisor, known);
  }
  if (const Atom* inner = sole_atom(parts.rest, Atom::Kind::floor_div)) {
    return parts.quotient + divide(inner->left, inner->right * b, known);
  }
  if (const Atom* inner = sole_atom(parts.rest, Atom::Kind::mod)) {
    if (const auto multiple = exact_div(inner->right, b)) {
      return parts.quotient + remainder(divide(inner->left, b, known), *multiple, known);
    }
  }
  return parts.quotient + from_atom(make_atom(Atom::Kind::floor_div, parts.rest, b));
}

Sym remainder(const Sym& a, const Sym& b, const Assumptions& known) {
  if (b.is(1) || a.is(0)) return 0;
  const auto left = a.constant(), right = b.constant();
  if (b.is(0)) return 0;
  if (right && *right < 0) return from_atom(make_atom(Atom::Kind::mod, a, b));
  if (left && right) return *left - floor_quotient(*left, *right) * *right;
  const Sym plain = has_mod(a) ? without_inner_mod(a, b) : a;
  if (!(plain == a)) return remainder(plain, b, known);
  const Sym rest = split(a, b, known).rest;
  if (rest.is(0)) return 0;
  if (proves_nonnegative(b - 1 - rest, known)) return rest;
  const auto cancelled = cancel(rest, b, known);
  if (cancelled && (cancelled->inner.is(0) || !may_vanish(cancelled->divisor, known))) {
    return cancelled->factor * remainder(cancelled->outer, cancelled->divisor, known) +
           cancelled->inner;
  }
  return from_atom(make_atom(Atom::Kind::mod, rest, b));
}

Sym minimum(const Sym& a, const Sym& b, const Assumptions& known) {
  const Sym difference = b - a;
  if (proves_nonnegative(difference, known)) return a;
  if (proves_nonnegative(Sym(-1) * difference, known)) return b;
  return from_atom(make_atom(Atom::Kind::min, a, b));
}

Sym recombine(Sym a) {
  if (a.terms().size() < 2) return a;
  for (const Term& term : a.terms()) {
    for (size_t i = 0; i < term.atoms.size(); i++) {
      const Atom& atom = *term.atoms[i];
      if (atom.kind != Atom::Kind::mod) continue;
      Term others = term;
      others.atoms.erase(others.atoms.begin() + static_cast<std::ptrdiff_t>(i));
      const Sym outer = from_term(others);
      const Sym whole = outer * atom.right * bare_quotient(atom.left, atom.right);
      const bool present =
          std::all_of(whole.terms().begin(), whole.terms().end(), [&](const Term& wanted) {
            return std::any_of(a.terms().begin(), a.terms().end(), [&](const Term& have) {
              return have.factor == wanted.factor && compare_monomials(have, wanted) == 0;
            });
          });
      if (present) return (a - from_term(term) - whole) + outer * atom.left;
    }
  }
  return a;
}

}  // namespace sym_form

Sym floor_div(const Sym& a, const Sym& b, const Ranges& ranges) {
  return divide(a, b, assumptions(ranges));
}

Sym mod(const Sym& a, const Sym& b, const Ranges& ranges) {
  return remainder(a, b, assumptions(ranges));
}

Sym min(const Sym& a, const Sym& b, const Ranges& ranges) {
  return minimum(a, b, assumptions(ranges));
}

Sym ceil_div(const Sym& a, const Sym& b, const Ranges& ranges) {
  return floor_div(a + b - 1, b, ranges);
}

std::optional<Sym> exact_div(const Sym& a, const Sym& b) {
  if (b.is(0)) return std::nullopt;
  if (a == b) return Sym(1);
  const Parts parts = long_division(a, b);
  if (!parts.rest.is(0)) return std::nullopt;
  return parts.quotient;
}

}  // namespace ingot
