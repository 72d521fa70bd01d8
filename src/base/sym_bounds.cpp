// Bounds and proofs about Syms.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/sym_form.h"

namespace ingot {

using namespace sym_form;
using Atom = Sym::Atom;
using Term = Sym::Term;

namespace {

// Numeric bounds; |x| ≥ unbounded means no bound. Products of two stay within __int128.
using Wide = __int128;
constexpr Wide unbounded = Wide{1} << 62;
struct Interval {
  Wide low, high;
};

Wide clamp(Wide value) { return std::clamp(value, -unbounded, unbounded); }

Interval product(const Interval& a, const Interval& b) {
  const Wide corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {clamp(*std::min_element(corners, corners + 4)),
          clamp(*std::max_element(corners, corners + 4))};
}

Wide floor_wide(Wide a, Wide b) { return a / b - (a % b < 0); }

constexpr int deepest = 24;  // of extents that use other loop variables

// What was found of atoms, at each depth: a nested expression uses the same ones again and again.
using Found = std::map<std::pair<const Atom*, int>, Interval>;

Interval interval(const Sym& a, const Assumptions& known, Found& found, int depth);
Interval bounds_of(const Atom& atom, const Assumptions& known, Found& found, int depth);

Interval atom_interval(const Atom& atom, const Assumptions& known, Found& found, int depth) {
  if (depth > deepest) return {-unbounded, unbounded};
  const auto place = found.find({&atom, depth});
  if (place != found.end()) return place->second;
  const Interval result = bounds_of(atom, known, found, depth);
  found.emplace(std::pair(&atom, depth), result);
  return result;
}

Interval bounds_of(const Atom& atom, const Assumptions& known, Found& found, int depth) {
  if (is_variable(atom)) {
    const auto extent = known.ranges.find(atom.name);
    if (extent == known.ranges.end()) return {known.least, unbounded};
    const Wide high = interval(extent->second, known, found, depth + 1).high;
    return {0, high >= unbounded ? unbounded : std::max<Wide>(high - 1, 0)};
  }
  const Interval left = interval(atom.left, known, found, depth + 1);
  const Interval right = interval(atom.right, known, found, depth + 1);
  if (atom.kind == Atom::Kind::min) {
    return {std::min(left.low, right.low), std::min(left.high, right.high)};
  }
  const Wide least_divisor = std::max<Wide>(right.low, 1);
  const Wide top = right.high >= unbounded ? unbounded : right.high - 1;
  if (atom.kind == Atom::Kind::mod) {
    return {0, left.low >= 0 ? std::min(left.high, top) : top};
  }
  if (left.low < 0) return {-unbounded, unbounded};
  const Wide low =
      right.high >= unbounded ? 0 : floor_wide(left.low, std::max<Wide>(right.high, 1));
  const Wide high = left.high >= unbounded ? unbounded : floor_wide(left.high, least_divisor);
  return {left.low >= unbounded ? 0 : low, high};
}

Interval interval(const Sym& a, const Assumptions& known, Found& found, int depth) {
  Interval total{a.constant_part(), a.constant_part()};
  for (const Term& term : a.terms()) {
    Interval part{term.factor, term.factor};
    for (const auto& atom : term.atoms) {
      part = product(part, atom_interval(*atom, known, found, depth));
    }
    // A sum with an unbounded part is unbounded, whatever the finite parts say.
    total.low = total.low <= -unbounded || part.low <= -unbounded ? -unbounded
                                                                  : clamp(total.low + part.low);
    total.high = total.high >= unbounded || part.high >= unbounded ? unbounded
                                                                   : clamp(total.high + part.high);
  }
  return total;
}

Interval interval(const Sym& a, const Assumptions& known) {
  Found found;
  return interval(a, known, found, 0);
}

// a = coefficient·atom + rest, neither with that atom; nullopt if it occurs in powers.
struct Linear {
  Sym coefficient, rest;
};
std::optional<Linear> linear_in(const Sym& a, const Atom& atom) {
  std::vector<Term> coefficient, rest;
  for (const Term& term : a.terms()) {
    Term others{{}, term.factor};
    for (const auto& each : term.atoms) {
      if (each->text != atom.text) others.atoms.push_back(each);
    }
    const size_t uses = term.atoms.size() - others.atoms.size();
    if (uses > 1) return std::nullopt;
    (uses == 1 ? coefficient : rest).push_back(std::move(others));
  }
  return Linear{Sym::sum(0, std::move(coefficient)), Sym::sum(a.constant_part(), std::move(rest))};
}

// The first atom that is no bare variable, if any satisfies `wanted`.
template <class F>
std::shared_ptr<const Atom> find_compound(const Sym& a, F wanted) {
  for (const Term& term : a.terms()) {
    for (const auto& atom : term.atoms) {
      if (!is_variable(*atom) && wanted(*atom)) return atom;
    }
  }
  return nullptr;
}

// A ranged variable of `a` that no other one's extent depends on: it has to go first.
std::optional<std::string> innermost(const Sym& a, const Ranges& ranges) {
  std::vector<std::string> ranged;
  for (const std::string& name : a.variables()) {
    if (ranges.contains(name)) ranged.push_back(name);
  }
  for (const std::string& name : ranged) {
    const bool free = std::none_of(ranged.begin(), ranged.end(), [&](const std::string& other) {
      return ranges.find(other)->second.uses(name);
    });
    if (free) return name;
  }
  return std::nullopt;
}

bool uses_ranged(const Sym& a, const Ranges& ranges) {
  const std::set<std::string> names = a.variables();
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return ranges.contains(name); });
}

// Every use of `name` replaced by its greatest value in terms of one sign, 0 in the others.
Sym replace_by_sign(const Sym& a, const std::string& name, const Sym& greatest, bool in_positive) {
  Sym result = a.constant_part();
  for (const Term& term : a.terms()) {
    const bool take = (term.factor > 0) == in_positive;
    result = result + from_term(term).substitute({{name, take ? greatest : Sym(0)}});
  }
  return result;
}

class Prover {
 public:
  explicit Prover(const Assumptions& known) : known_(known) {}

  // e ≥ 0 everywhere. Gives up (false) when its budget of steps is used.
  bool prove(const Sym& e) {
    if (const auto value = e.constant()) return *value >= 0;
    if (--budget_ < 0) return false;
    const Interval range = interval(e, known_);
    if (range.low >= 0) return true;
    if (range.high < 0) return false;
    if (const auto atom = find_compound(e, [](const Atom&) { return true; })) {
      return prove_without(e, *atom);
    }
    if (const auto name = innermost(e, known_.ranges)) return prove_at_ends(e, *name);
    return !uses_ranged(e, known_.ranges) && prove_polynomial(e);
  }

 private:
  // All factors of one sign and all atoms known to be ≥ 0: +1 or −1, else 0.
  int sign(const Sym& coefficient) {
    const Interval range = interval(coefficient, known_);
    return range.low >= 0 ? 1 : range.high <= 0 ? -1 : 0;
  }

  bool prove_without(const Sym& e, const Atom& atom) {
    const std::optional<Linear> linear = linear_in(e, atom);
    if (!linear) return false;
    const auto& [c, rest] = *linear;
    const int direction = sign(c);
    if (direction == 0) return false;
    const Sym& x = atom.left;
    const Sym& d = atom.right;
    if (direction > 0) {
      Found found;
      const Wide low = atom_interval(atom, known_, found, 0).low;
      if (low > 0 && low < unbounded && prove(rest + c * static_cast<int64_t>(low))) return true;
    }
    switch (atom.kind) {
      case Atom::Kind::min: {
        const bool first = prove(rest + c * x);
        if (first != (direction > 0)) return first;
        return prove(rest + c * d);
      }
      // d·q lies between x − d + 1 and x.
      case Atom::Kind::floor_div:
        if (direction < 0) return prove(d * rest + c * x);
        return prove(rest) || prove(d * rest + c * (x - d + 1));
      case Atom::Kind::mod:
        if (direction > 0) return prove(rest);
        return prove(rest + c * (d - 1)) || prove(rest + c * x);
      case Atom::Kind::variable:
        break;
    }
    return false;
  }

  // Linear in a loop variable: the least value stands at one of its ends.
  bool prove_at_ends(const Sym& e, const std::string& name) {
    const Sym greatest = known_.ranges.find(name)->second - 1;
    const std::optional<Sym> slope = e.stride(name);
    if (!slope) return prove(replace_by_sign(e, name, greatest, false));
    const int direction = sign(*slope);
    if (direction >= 0 && !prove(e.substitute({{name, 0}}))) return false;
    return direction > 0 || prove(e.substitute({{name, greatest}}));
  }

  // Sizes only: with every size s written as s + least, no coefficient may be negative.
  bool prove_polynomial(const Sym& e) {
    // A product of n sizes becomes 2^n terms: too many are no proof.
    constexpr double most_terms = 4096;
    double terms = 0;
    for (const Term& term : e.terms()) terms += std::exp2(static_cast<double>(term.atoms.size()));
    if (terms > most_terms) return false;
    std::map<std::string, Sym, std::less<>> shifted;
    for (const std::string& name : e.variables()) shifted[name] = Sym::var(name) + known_.least;
    const Sym polynomial = known_.least == 0 ? e : e.substitute(shifted);
    return polynomial.constant_part() >= 0 &&
           std::all_of(polynomial.terms().begin(), polynomial.terms().end(),
                       [](const Term& term) { return term.factor > 0; });
  }

  const Assumptions& known_;
  int budget_ = 200;
};

class UpperBound {
 public:
  explicit UpperBound(const Assumptions& known) : known_(known) {}

  // Not less than any value of e over the ranges; free of ranged variables.
  std::optional<Sym> of(const Sym& e) {
    if (!uses_ranged(e, known_.ranges)) return e;
    if (--budget_ < 0) return std::nullopt;
    const auto atom = find_compound(e, [&](const Atom& each) {
      return uses_ranged(each.left, known_.ranges) || uses_ranged(each.right, known_.ranges);
    });
    if (atom) return without(e, *atom);
    const auto name = innermost(e, known_.ranges);
    if (!name) return std::nullopt;
    const Sym greatest = known_.ranges.find(*name)->second - 1;
    const std::optional<Sym> slope = e.stride(*name);
    if (!slope) return of(replace_by_sign(e, *name, greatest, true));
    if (nonnegative(*slope)) return of(e.substitute({{*name, greatest}}));
    if (nonnegative(Sym(-1) * *slope)) return of(e.substitute({{*name, 0}}));
    return std::nullopt;
  }

 private:
  bool nonnegative(const Sym& e) { return Prover(known_).prove(e); }

  std::optional<Sym> without(const Sym& e, const Atom& atom) {
    const std::optional<Linear> linear = linear_in(e, atom);
    if (!linear) return std::nullopt;
    const auto& [c, rest] = *linear;
    const bool up = nonnegative(c);
    if (!up && !nonnegative(Sym(-1) * c)) return std::nullopt;
    if (atom.kind == Atom::Kind::min)
      return of_min(rest + c * atom.left, rest + c * atom.right, up);
    const std::optional<Sym> end = atom_end(atom, up);
    if (!end) return std::nullopt;
    return of(rest + c * *end);
  }

  // c·min(x, y) is the smaller of both choices for c ≥ 0, the larger for c ≤ 0.
  std::optional<Sym> of_min(const Sym& first, const Sym& second, bool up) {
    const std::optional<Sym> a = of(first), b = of(second);
    if (!a || !b) return up ? (a ? a : b) : std::nullopt;
    if (nonnegative(*b - *a)) return up ? a : b;
    if (nonnegative(*a - *b)) return up ? b : a;
    return up ? std::optional<Sym>(minimum(*a, *b, known_)) : std::nullopt;
  }

  // The greatest (`up`) or least value of a quotient or remainder.
  std::optional<Sym> atom_end(const Atom& atom, bool up) {
    if (atom.kind == Atom::Kind::mod) {
      if (!up) return Sym(0);
      const std::optional<Sym> left = of(atom.left), right = of(atom.right);
      if (left && (!right || nonnegative(*right - 1 - *left))) return left;
      return right ? std::optional<Sym>(*right - 1) : std::nullopt;
    }
    if (uses_ranged(atom.right, known_.ranges)) return std::nullopt;
    if (up) {
      const std::optional<Sym> left = of(atom.left);
      return left ? std::optional<Sym>(divide(*left, atom.right, known_)) : std::nullopt;
    }
    const std::optional<Sym> negated = of(Sym(-1) * atom.left);
    if (!negated || !nonnegative(Sym(-1) * *negated)) return Sym(0);
    return divide(Sym(-1) * *negated, atom.right, known_);
  }

  const Assumptions& known_;
  int budget_ = 100;
};

}  // namespace

namespace sym_form {

bool proves_nonnegative(const Sym& a, const Assumptions& known) {
  try {
    return Prover(known).prove(a);
  } catch (const Error&) {  // a number beyond 64 bits on the way: no proof
    return false;
  }
}

}  // namespace sym_form

bool provably_nonnegative(const Sym& a, const Ranges& ranges) {
  return proves_nonnegative(a, {ranges, 1});
}

std::optional<Sym> upper_bound(const Sym& a, const Ranges& ranges) {
  const Assumptions known{ranges, 1};
  try {
    return UpperBound(known).of(a);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace ingot
