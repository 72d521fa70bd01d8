// Sym as a polynomial over atoms: construction, arithmetic, substitution, evaluation.
#include "base/sym.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/sym_form.h"
#include "base/text.h"

namespace ingot {

using Atom = Sym::Atom;
using Term = Sym::Term;

namespace sym_form {

int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) {
    fail_input({}, fmt::format("size arithmetic overflows 64 bits: {} + {}", a, b));
  }
  return result;
}

int64_t checked_mul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) {
    fail_input({}, fmt::format("size arithmetic overflows 64 bits: {} * {}", a, b));
  }
  return result;
}

bool is_variable(const Atom& atom) { return atom.kind == Atom::Kind::variable; }

Sym from_atom(std::shared_ptr<const Atom> atom) {
  Term term{{}, 1};
  term.atoms.push_back(std::move(atom));
  return from_term(term);
}

Sym from_term(const Term& term) {
  if (term.atoms.empty()) return term.factor;
  std::vector<Term> terms;
  terms.push_back(term);
  return Sym::sum(0, std::move(terms));
}

std::vector<Term> all_terms(const Sym& a) {
  std::vector<Term> terms(a.terms().begin(), a.terms().end());
  if (a.constant_part() != 0) terms.push_back({{}, a.constant_part()});
  return terms;
}

bool has_mod(const Sym& a) {
  for (const Term& term : a.terms()) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == Atom::Kind::mod) return true;
    }
  }
  return false;
}

}  // namespace sym_form

using namespace sym_form;

namespace {

int compare_atoms(const Atom& a, const Atom& b) { return &a == &b ? 0 : a.text.compare(b.text); }

// By text, atom after atom: the order in which terms stand.
int compare_products(const Term& a, const Term& b) {
  const size_t n = std::min(a.atoms.size(), b.atoms.size());
  for (size_t i = 0; i < n; i++) {
    const int order = compare_atoms(*a.atoms[i], *b.atoms[i]);
    if (order != 0) return order;
  }
  return static_cast<int>(a.atoms.size()) - static_cast<int>(b.atoms.size());
}

bool before(const Term& a, const Term& b) { return compare_products(a, b) < 0; }

bool atom_before(const std::shared_ptr<const Atom>& a, const std::shared_ptr<const Atom>& b) {
  return compare_atoms(*a, *b) < 0;
}

// Adds what is equal and drops zeros; `terms` is sorted.
void merge_equal(std::vector<Term>& terms) {
  size_t kept = 0;
  for (size_t i = 0; i < terms.size(); i++) {
    if (kept > 0 && compare_products(terms[kept - 1], terms[i]) == 0) {
      terms[kept - 1].factor = checked_add(terms[kept - 1].factor, terms[i].factor);
    } else {
      if (kept > 0 && terms[kept - 1].factor == 0) kept--;
      if (kept != i) terms[kept] = std::move(terms[i]);
      kept++;
    }
  }
  if (kept > 0 && terms[kept - 1].factor == 0) kept--;
  terms.resize(kept);
}

Term multiply(const Term& a, const Term& b) {
  Term product{{}, checked_mul(a.factor, b.factor)};
  product.atoms.reserve(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
             std::back_inserter(product.atoms), atom_before);
  return product;
}

}  // namespace

namespace sym_form {

int compare_monomials(const Term& a, const Term& b) {
  if (a.atoms.size() != b.atoms.size()) return a.atoms.size() > b.atoms.size() ? 1 : -1;
  return -compare_products(a, b);
}

std::optional<Term> divide_terms(const Term& a, const Term& b) {
  if (a.factor % b.factor != 0) return std::nullopt;
  Term quotient{{}, a.factor / b.factor};
  size_t next = 0;
  for (const auto& atom : a.atoms) {
    if (next < b.atoms.size() && compare_atoms(*atom, *b.atoms[next]) == 0) {
      next++;
    } else {
      quotient.atoms.push_back(atom);
    }
  }
  if (next != b.atoms.size()) return std::nullopt;
  return quotient;
}

}  // namespace sym_form

Sym Sym::var(std::string name) {
  Atom atom{Atom::Kind::variable, std::move(name), {}, {}, {}};
  atom.text = quoted_name(atom.name);
  return from_atom(std::make_shared<const Atom>(std::move(atom)));
}

// The terms are sorted and without equals.
Sym Sym::from_terms(int64_t constant, std::vector<Term> terms) {
  Sym result(constant);
  if (terms.empty()) return result;
  result.terms_ = std::make_shared<const std::vector<Term>>(std::move(terms));
  return has_mod(result) ? recombine(std::move(result)) : result;
}

Sym Sym::sum(int64_t constant, std::vector<Term> terms) {
  std::erase_if(terms, [&](const Term& term) {
    if (term.atoms.empty()) constant = checked_add(constant, term.factor);
    return term.atoms.empty();
  });
  std::sort(terms.begin(), terms.end(), before);
  merge_equal(terms);
  return from_terms(constant, std::move(terms));
}

Sym operator+(const Sym& a, const Sym& b) {
  const int64_t constant = checked_add(a.constant_, b.constant_);
  if (a.terms_ == nullptr || b.terms_ == nullptr) {
    Sym result(constant);
    result.terms_ = a.terms_ == nullptr ? b.terms_ : a.terms_;
    return result;
  }
  std::vector<Term> terms;
  terms.reserve(a.terms_->size() + b.terms_->size());
  std::merge(a.terms_->begin(), a.terms_->end(), b.terms_->begin(), b.terms_->end(),
             std::back_inserter(terms), before);
  merge_equal(terms);
  return Sym::from_terms(constant, std::move(terms));
}

Sym operator-(const Sym& a, const Sym& b) { return b.is(0) ? a : a + Sym(-1) * b; }

Sym operator*(const Sym& a, const Sym& b) {
  if (a.terms_ == nullptr && b.terms_ == nullptr) return checked_mul(a.constant_, b.constant_);
  if (a.is(0) || b.is(0)) return 0;
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (a.terms_ == nullptr || b.terms_ == nullptr) {  // the order of the terms stays
    const int64_t factor = a.terms_ == nullptr ? a.constant_ : b.constant_;
    const Sym& scaled = a.terms_ == nullptr ? b : a;
    std::vector<Term> terms(scaled.terms_->begin(), scaled.terms_->end());
    for (Term& term : terms) term.factor = checked_mul(term.factor, factor);
    return Sym::from_terms(checked_mul(scaled.constant_, factor), std::move(terms));
  }
  std::vector<Term> terms;
  for (const Term& left : all_terms(a)) {
    for (const Term& right : all_terms(b)) terms.push_back(multiply(left, right));
  }
  return Sym::sum(0, std::move(terms));
}

bool operator==(const Sym& a, const Sym& b) {
  if (a.constant_ != b.constant_) return false;
  if (a.terms_ == b.terms_) return true;
  const auto same = [](const Term& x, const Term& y) {
    return x.factor == y.factor && compare_products(x, y) == 0;
  };
  return std::ranges::equal(a.terms(), b.terms(), same);
}

bool operator<(const Sym& a, const Sym& b) {
  const std::span<const Term> left = a.terms(), right = b.terms();
  for (size_t i = 0; i < std::min(left.size(), right.size()); i++) {
    const int order = compare_products(left[i], right[i]);
    if (order != 0) return order < 0;
    if (left[i].factor != right[i].factor) return left[i].factor < right[i].factor;
  }
  if (left.size() != right.size()) return left.size() < right.size();
  return a.constant_ < b.constant_;
}

std::optional<int64_t> Sym::constant() const {
  if (terms_ != nullptr) return std::nullopt;
  return constant_;
}

std::optional<std::string> Sym::variable() const {
  if (constant_ != 0 || terms().size() != 1 || terms()[0].factor != 1) return std::nullopt;
  const Term& term = terms()[0];
  if (term.atoms.size() != 1 || !is_variable(*term.atoms[0])) return std::nullopt;
  return term.atoms[0]->name;
}

std::set<std::string> Sym::variables() const {
  std::set<std::string> names;
  for (const Term& term : terms()) {
    for (const auto& atom : term.atoms) {
      if (is_variable(*atom)) {
        names.insert(atom->name);
      } else {
        names.merge(atom->left.variables());
        names.merge(atom->right.variables());
      }
    }
  }
  return names;
}

bool Sym::uses(std::string_view name) const {
  for (const Term& term : terms()) {
    for (const auto& atom : term.atoms) {
      if (is_variable(*atom) ? atom->name == name
                             : atom->left.uses(name) || atom->right.uses(name)) {
        return true;
      }
    }
  }
  return false;
}

bool Sym::uses_any(const std::function<bool(std::string_view name)>& wanted) const {
  for (const Term& term : terms()) {
    for (const auto& atom : term.atoms) {
      if (is_variable(*atom) ? wanted(atom->name)
                             : atom->left.uses_any(wanted) || atom->right.uses_any(wanted)) {
        return true;
      }
    }
  }
  return false;
}

std::optional<Sym> Sym::stride(std::string_view name) const {
  std::vector<Term> coefficient;
  for (const Term& term : terms()) {
    int uses = 0;
    Term rest{{}, term.factor};
    for (const auto& atom : term.atoms) {
      if (is_variable(*atom) && atom->name == name) {
        uses++;
        continue;
      }
      if (!is_variable(*atom) && (atom->left.uses(name) || atom->right.uses(name))) {
        return std::nullopt;
      }
      rest.atoms.push_back(atom);
    }
    if (uses > 1) return std::nullopt;
    if (uses == 1) coefficient.push_back(std::move(rest));
  }
  return Sym::sum(0, std::move(coefficient));
}

Sym Sym::substitute(const std::map<std::string, Sym, std::less<>>& values,
                    const Ranges& ranges) const {
  if (terms_ == nullptr) return *this;
  const Assumptions known = assumptions(ranges);
  Sym result = constant_;
  std::vector<Term> unchanged;
  for (const Term& term : terms()) {
    Term kept{{}, term.factor};
    Sym product = 1;
    for (const auto& atom : term.atoms) {
      if (is_variable(*atom)) {
        const auto found = values.find(atom->name);
        if (found == values.end()) {
          kept.atoms.push_back(atom);
        } else {
          product = product * found->second;
        }
        continue;
      }
      const Sym left = atom->left.substitute(values, ranges);
      const Sym right = atom->right.substitute(values, ranges);
      if (ranges.empty() && left == atom->left && right == atom->right) {
        kept.atoms.push_back(atom);
      } else if (atom->kind == Atom::Kind::floor_div) {
        product = product * divide(left, right, known);
      } else if (atom->kind == Atom::Kind::mod) {
        product = product * remainder(left, right, known);
      } else {
        product = product * minimum(left, right, known);
      }
    }
    if (product.is(1)) {
      unchanged.push_back(std::move(kept));
    } else {
      result = result + from_term(kept) * product;
    }
  }
  return Sym::sum(0, std::move(unchanged)) + result;
}

namespace {

// `unlisted` (may be null): the value of names that are not bound.
int64_t evaluate_sum(const Sym& sym, const Bindings& bindings);

int64_t evaluate_atom(const Atom& atom, const Bindings& bindings) {
  if (is_variable(atom)) {
    const auto found = bindings.find(atom.name);
    if (found != bindings.end()) return found->second;
    fail_internal("Sym::evaluate", fmt::format("'{}' has no value", atom.name));
  }
  const int64_t left = evaluate_sum(atom.left, bindings);
  const int64_t right = evaluate_sum(atom.right, bindings);
  if (atom.kind == Atom::Kind::min) return std::min(left, right);
  if (right <= 0) {
    fail_input({}, fmt::format("{}: the divisor is {}, must be positive", atom.text, right));
  }
  const int64_t quotient = left / right - (left % right < 0);
  return atom.kind == Atom::Kind::floor_div ? quotient : left - quotient * right;
}

int64_t evaluate_sum(const Sym& sym, const Bindings& bindings) {
  int64_t total = sym.constant_part();
  for (const Term& term : sym.terms()) {
    int64_t product = term.factor;
    for (const auto& atom : term.atoms) {
      product = checked_mul(product, evaluate_atom(*atom, bindings));
    }
    total = checked_add(total, product);
  }
  return total;
}

}  // namespace

int64_t Sym::evaluate(const Bindings& bindings) const { return evaluate_sum(*this, bindings); }

double Sym::estimate(const Bindings& bindings, double unlisted) const {
  double total = static_cast<double>(constant_part());
  for (const Term& term : terms()) {
    double product = static_cast<double>(term.factor);
    for (const auto& atom : term.atoms) {
      if (is_variable(*atom)) {
        const auto found = bindings.find(atom->name);
        product *= found == bindings.end() ? unlisted : static_cast<double>(found->second);
        continue;
      }
      const double left = atom->left.estimate(bindings, unlisted);
      const double right = atom->right.estimate(bindings, unlisted);
      const double quotient = right > 0 ? std::floor(left / right) : 0;
      if (atom->kind == Atom::Kind::min) {
        product *= std::min(left, right);
      } else {
        product *= atom->kind == Atom::Kind::floor_div ? quotient : left - quotient * right;
      }
    }
    total += product;
  }
  return total;
}

Sym element_count(const Shape& shape) {
  Sym count = 1;
  for (const Sym& size : shape) count = count * size;
  return count;
}

std::vector<Sym> row_major_strides(const Shape& shape) {
  std::vector<Sym> strides(shape.size(), Sym(1));
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace ingot
