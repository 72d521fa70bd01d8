// Sym as text: valid C for nonnegative operands, and read back by Sym::parse.
#include <algorithm>

#include "base/error.h"
#include "base/sym_form.h"
#include "base/text.h"

namespace ingot {

using namespace sym_form;
using Atom = Sym::Atom;
using Term = Sym::Term;

namespace {

bool is_quotient(const Atom& atom) {
  return atom.kind == Atom::Kind::floor_div || atom.kind == Atom::Kind::mod;
}

// The product without its sign. A quotient stands bare only where it is all of the product.
void append_product(std::string& out, const Term& term) {
  const uint64_t magnitude =
      term.factor < 0 ? 0 - static_cast<uint64_t>(term.factor) : static_cast<uint64_t>(term.factor);
  bool first = true;
  if (magnitude != 1 || term.atoms.empty()) {
    out += std::to_string(magnitude);
    first = false;
  }
  const bool bare = magnitude == 1 && term.atoms.size() == 1;
  for (const auto& atom : term.atoms) {
    if (!first) out += '*';
    first = false;
    const bool parenthesised = is_quotient(*atom) && !(bare && term.factor > 0);
    if (parenthesised) out += '(';
    out += atom->text;
    if (parenthesised) out += ')';
  }
}

// Operand of / or %: the left one may be a product of simple atoms, the right one simple itself.
std::string operand_text(const Sym& a, bool left) {
  const bool constant = a.terms().empty() && a.constant_part() >= 0;
  bool product = a.constant_part() == 0 && a.terms().size() == 1 && a.terms()[0].factor > 0;
  if (product) {
    for (const auto& atom : a.terms()[0].atoms) product = product && !is_quotient(*atom);
    if (!left && (a.terms()[0].factor != 1 || a.terms()[0].atoms.size() != 1)) product = false;
  }
  return constant || product ? a.text() : "(" + a.text() + ")";
}

std::string atom_text(const Atom& atom) {
  switch (atom.kind) {
    case Atom::Kind::variable:
      return quoted_name(atom.name);
    case Atom::Kind::min:
      return fmt::format("min({}, {})", atom.left.text(), atom.right.text());
    case Atom::Kind::floor_div:
      return operand_text(atom.left, true) + " / " + operand_text(atom.right, false);
    case Atom::Kind::mod:
      return operand_text(atom.left, true) + " % " + operand_text(atom.right, false);
  }
  return {};
}

}  // namespace

namespace sym_form {

std::shared_ptr<const Atom> make_atom(Atom::Kind kind, Sym left, Sym right) {
  if (kind == Atom::Kind::min && right.text() < left.text()) std::swap(left, right);
  Atom atom{kind, {}, std::move(left), std::move(right), {}};
  atom.text = atom_text(atom);
  return std::make_shared<const Atom>(std::move(atom));
}

}  // namespace sym_form

std::string Sym::text() const {
  const std::span<const Term> all = terms();
  if (all.empty()) return std::to_string(constant_);
  // A positive term first, so that the text seldom begins with a sign.
  size_t first = 0;
  while (first < all.size() && all[first].factor < 0) first++;
  std::string out;
  const bool constant_first = first == all.size() && constant_ > 0;
  if (constant_first) out = std::to_string(constant_);
  if (first < all.size()) append_product(out, all[first]);
  for (size_t i = 0; i < all.size(); i++) {
    if (i == first) continue;
    const bool negative = all[i].factor < 0;
    out += out.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    append_product(out, all[i]);
  }
  if (!constant_first && constant_ != 0) {
    out += constant_ < 0 ? " - " : " + ";
    append_product(out, {{}, constant_});
  }
  return out;
}

namespace {

// sum := product (("+" | "-") product)*, and so on, as in C. No ranges are known while reading, so
// only what holds for every value ≥ 0 is simplified.
class Parser {
 public:
  explicit Parser(Cursor& cursor) : cursor_(cursor) {}

  Sym sum() {
    const Location at = cursor_.location();
    if (++depth_ > deepest) cursor_.fail(at, "a size expression is nested too deeply");
    Sym result = product();
    while (true) {
      if (cursor_.accept("+")) {
        result = located(at, [&] { return result + product(); });
      } else if (cursor_.peek("-") && !cursor_.peek("->")) {
        cursor_.expect("-");
        result = located(at, [&] { return result - product(); });
      } else {
        break;
      }
    }
    depth_--;
    return result;
  }

 private:
  static constexpr int deepest = 200;

  template <class F>
  Sym located(const Location& at, F f) {
    try {
      return f();
    } catch (const Error& error) {
      throw error.at(at);
    }
  }

  Sym product() {
    const Location at = cursor_.location();
    Sym result = factor();
    while (true) {
      if (cursor_.accept("*")) {
        result = located(at, [&] { return result * factor(); });
      } else if (cursor_.accept("/")) {
        const Sym divisor = positive_divisor();
        const std::optional<Sym> exact = exact_div(result, divisor);
        result = exact ? *exact : located(at, [&] { return floor_div(result, divisor); });
      } else if (cursor_.accept("%")) {
        const Sym divisor = positive_divisor();
        result = located(at, [&] { return mod(result, divisor); });
      } else {
        return result;
      }
    }
  }

  Sym positive_divisor() {
    const Location at = cursor_.location();
    Sym divisor = factor();
    if (divisor.constant().value_or(1) <= 0) {
      cursor_.fail(at, fmt::format("a divisor must be positive, got {}", divisor.text()));
    }
    return divisor;
  }

  Sym factor() {
    const Location at = cursor_.location();
    if (cursor_.at_number()) {
      const Cursor::Number number = cursor_.number("a size");
      if (!number.is_integer) cursor_.fail(at, "a size must be an integer");
      return number.integer;
    }
    if (cursor_.accept("-")) {
      if (++depth_ > deepest) cursor_.fail(at, "a size expression is nested too deeply");
      const Sym negated = Sym(-1) * factor();
      depth_--;
      return negated;
    }
    if (cursor_.accept("(")) {
      Sym inner = sum();
      cursor_.expect(")");
      return inner;
    }
    std::string name = cursor_.identifier("a size (a number, a name or an expression)");
    if (name != "min" || !cursor_.accept("(")) return Sym::var(std::move(name));
    const Sym left = sum();
    cursor_.expect(",");
    const Sym right = sum();
    cursor_.expect(")");
    return min(left, right);
  }

  Cursor& cursor_;
  int depth_ = 0;
};

}  // namespace

Sym Sym::parse(Cursor& cursor) { return Parser(cursor).sum(); }

std::string shape_text(const Shape& shape) {
  std::vector<std::string> parts;
  for (const Sym& size : shape) parts.push_back(size.text());
  return "[" + join(parts, ", ") + "]";
}

}  // namespace ingot
