// Sym: an integer expression over named sizes and loop variables, kept in canonical form, so that
// two equal expressions compare equal. Sizes of tensors, index maps, loop extents and emitted
// subscripts are all Syms.
//
// Form: a constant plus a sum of integer multiples of products of atoms. An atom is a variable,
// floor_div(e, d), mod(e, d) or min(e, d). Every size is assumed to be at least 1 where a proof
// needs it (an empty tensor has no index to prove anything about).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

class Sym;
class Cursor;

// Variables known to lie in [0, extent). Names not listed are sizes: integers ≥ 1. Where a function
// that simplifies is called with no ranges at all, names may be loop variables too: integers ≥ 0.
using Ranges = std::map<std::string, Sym, std::less<>>;
// Values of variables at run time.
using Bindings = std::map<std::string, int64_t, std::less<>>;

class Sym {
 public:
  struct Atom;
  // A product of atoms, sorted by their text; with its integer factor.
  struct Term {
    std::vector<std::shared_ptr<const Atom>> atoms;
    int64_t factor;
  };

  Sym(int64_t constant = 0) : constant_(constant) {}  // NOLINT: implicit on purpose
  static Sym var(std::string name);
  // constant + Σ terms, in any order and with repetitions.
  static Sym sum(int64_t constant, std::vector<Term> terms);

  friend Sym operator+(const Sym& a, const Sym& b);
  friend Sym operator-(const Sym& a, const Sym& b);
  friend Sym operator*(const Sym& a, const Sym& b);
  friend bool operator==(const Sym& a, const Sym& b);
  friend bool operator<(const Sym& a, const Sym& b);  // an order for containers, by text

  std::optional<int64_t> constant() const;  // the value if no variable occurs
  bool is(int64_t value) const { return terms_ == nullptr && constant_ == value; }
  int64_t constant_part() const { return constant_; }
  std::span<const Term> terms() const;
  // The name if the expression is one bare variable.
  std::optional<std::string> variable() const;
  std::set<std::string> variables() const;  // also those inside div, mod and min
  bool uses(std::string_view name) const;
  bool uses_any(const std::function<bool(std::string_view name)>& wanted) const;

  // If e = c·name + rest with neither c nor rest using `name` (not even inside div, mod, min):
  // c, else nullopt. The stride of an access in a loop variable.
  std::optional<Sym> stride(std::string_view name) const;

  // Replaces variables and simplifies under `ranges`.
  Sym substitute(const std::map<std::string, Sym, std::less<>>& values,
                 const Ranges& ranges = {}) const;
  // Throws Error{input} on overflow of int64 and Error{internal} on an unbound variable.
  int64_t evaluate(const Bindings& bindings) const;
  // In real numbers, which overflow nothing; variables that are not bound are `unlisted`.
  double estimate(const Bindings& bindings, double unlisted) const;

  std::string text() const;  // "4*k + j / 64 + min(64, n - 64*i)"; parses back
  static Sym parse(Cursor& cursor);

 private:
  static Sym from_terms(int64_t constant, std::vector<Term> terms);

  int64_t constant_ = 0;
  // Sorted by text, factors non-zero; null: none. Copies share it.
  std::shared_ptr<const std::vector<Term>> terms_;
};

struct Sym::Atom {
  enum class Kind { variable, floor_div, mod, min } kind;
  std::string name;  // variable
  Sym left, right;   // the others
  std::string text;  // canonical
};

inline std::span<const Sym::Term> Sym::terms() const {
  return terms_ == nullptr ? std::span<const Term>{} : std::span<const Term>(*terms_);
}

// a ≥ 0 and b ≥ 1 are the caller's promise; simplified with `ranges`: (i*N + j) / N = i when
// 0 ≤ j < N, parts divisible by b split off, common factors cancelled, nested divisions merged.
Sym floor_div(const Sym& a, const Sym& b, const Ranges& ranges = {});
Sym mod(const Sym& a, const Sym& b, const Ranges& ranges = {});
Sym min(const Sym& a, const Sym& b, const Ranges& ranges = {});
Sym ceil_div(const Sym& a, const Sym& b, const Ranges& ranges = {});

// An exact quotient a / b as a polynomial, if there is one (8*B / 4 = 2*B; 6*B*C / (2*B) = 3*C).
std::optional<Sym> exact_div(const Sym& a, const Sym& b);

// true only if a ≥ 0 holds for every value in the ranges with all sizes ≥ 1.
bool provably_nonnegative(const Sym& a, const Ranges& ranges);

// The largest value over the ranges, as an expression in sizes only; nullopt if not monotone.
std::optional<Sym> upper_bound(const Sym& a, const Ranges& ranges);

using Shape = std::vector<Sym>;

Sym element_count(const Shape& shape);
std::string shape_text(const Shape& shape);  // "[B, 8192]"
// Row-major strides in elements.
std::vector<Sym> row_major_strides(const Shape& shape);

}  // namespace ingot
