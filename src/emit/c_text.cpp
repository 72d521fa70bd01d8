#include "emit/c_text.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "op/apply.h"

namespace ingot {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

using Rename = std::function<std::string(const Sym::Atom&)>;

std::string atom_text(const Sym::Atom& atom, const Rename& rename);

std::string product_text(const Sym::Term& term, const Rename& rename) {
  int64_t factor = term.factor < 0 ? -term.factor : term.factor;
  std::vector<std::string> parts;
  if (factor != 1 || term.atoms.empty()) parts.push_back(std::to_string(factor));
  for (const auto& atom : term.atoms) parts.push_back(atom_text(*atom, rename));
  if (parts.size() > 1) {
    for (std::string& part : parts) {
      if (is_compound(part)) part = "(" + part + ")";
    }
  }
  return join(parts, " * ");
}

std::string atom_text(const Sym::Atom& atom, const Rename& rename) {
  if (std::string known = rename(atom); !known.empty()) return known;
  std::string left = subscript_text(atom.left, rename), right = subscript_text(atom.right, rename);
  if (atom.kind == Sym::Atom::Kind::min) return fmt::format("min({}, {})", left, right);
  if (is_compound(left)) left = "(" + left + ")";
  // A size may be 0; its quotients are then computed, but no element of them is wanted.
  if (!atom.right.constant()) right = fmt::format("divisor({})", right);
  return fmt::format("{} {} {}", left, atom.kind == Sym::Atom::Kind::floor_div ? "/" : "%", right);
}

std::string float_text(std::string text, std::string_view suffix, std::string_view builtin) {
  bool negative = text[0] == '-';
  std::string_view magnitude = std::string_view(text).substr(negative ? 1 : 0);
  std::string sign = negative ? "-" : "";
  if (magnitude == "inf") return fmt::format("{}__builtin_inf{}()", sign, builtin);
  if (magnitude == "nan") return fmt::format("{}__builtin_nan{}(\"\")", sign, builtin);
  if (magnitude.find_first_of(".e") == std::string_view::npos) text += ".0";
  return text + std::string(suffix);
}

}  // namespace

Lanes lanes_of(DType dtype) {
  switch (compute_dtype(dtype)) {
    case DType::boolean:
      return Lanes::m32;
    case DType::i32:
      return Lanes::i32;
    case DType::i64:
      return Lanes::i64;
    case DType::u64:
      return Lanes::u64;
    case DType::f64:
      return Lanes::f64;
    default:
      return Lanes::f32;
  }
}

std::string_view vector_type(Lanes lanes) {
  constexpr std::string_view names[] = {"F32", "F64", "I32", "I64", "U64", "M32", "M64"};
  return names[static_cast<size_t>(lanes)];
}

std::string_view storage_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
    case DType::f8e4m3:
    case DType::f8e5m2:
      return "unsigned char";
    case DType::i8:
      return "signed char";
    case DType::i16:
      return "short";
    case DType::i32:
      return "int";
    case DType::i64:
      return "long";
    case DType::u32:
      return "unsigned";
    case DType::u64:
      return "unsigned long";
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return "unsigned short";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
  }
  return "";
}

bool is_wide(Lanes lanes) {
  return lanes == Lanes::f64 || lanes == Lanes::i64 || lanes == Lanes::u64;
}
bool is_mask(Lanes lanes) { return lanes == Lanes::m32 || lanes == Lanes::m64; }

std::string as_lanes(const std::string& text, Lanes from, Lanes to) {
  if (from == Lanes::m32 && to == Lanes::m64) return fmt::format("to_m64({})", text);
  if (from == Lanes::m64 && to == Lanes::m32) return fmt::format("to_m32({})", text);
  return text;
}

std::string real_text(double value, Lanes lanes) {
  if (lanes == Lanes::f64) return float_text(number_text(value), "", "");
  return float_text(number_text(static_cast<float>(value)), "f", "f");
}

std::string literal_text(const loop::Literal& literal, DType dtype) {
  Scalar value = round_to(dtype, {literal.real, literal.integer});
  switch (lanes_of(dtype)) {
    case Lanes::f32:
      return real_text(value.real, Lanes::f32);
    case Lanes::f64:
      return real_text(value.real, Lanes::f64);
    case Lanes::m32:
      return value.integer != 0 ? "-1" : "0";
    case Lanes::i32:
      return value.integer == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(value.integer);
    case Lanes::u64:
      return std::to_string(static_cast<uint64_t>(value.integer)) + "UL";
    default:
      return value.integer == INT64_MIN ? "(-9223372036854775807L - 1)"
                                        : std::to_string(value.integer) + "L";
  }
}

std::string attr_text(double value, DType compute) {
  Scalar converted = convert(compute, DType::f64, {value, 0});
  return literal_text({converted.real, converted.integer}, compute);
}

std::string splat_text(const std::string& scalar, Lanes lanes) {
  constexpr std::string_view names[] = {"f32", "f64", "i32", "i64", "u64", "i32", "i64"};
  return fmt::format("splat_{}({})", names[static_cast<size_t>(lanes)], scalar);
}

std::string stored_text(const loop::Literal& literal, DType dtype) {
  if (dtype == DType::bf16) return fmt::format("0x{:04x}", bf16_bits(literal.real));
  if (dtype == DType::f16) return fmt::format("0x{:04x}", f16_bits(literal.real));
  if (dtype == DType::f8e4m3) return fmt::format("0x{:02x}", f8e4m3_bits(literal.real));
  if (dtype == DType::f8e5m2) return fmt::format("0x{:02x}", f8e5m2_bits(literal.real));
  if (dtype == DType::boolean) return literal.integer != 0 ? "1" : "0";
  return literal_text(literal, dtype);
}

std::string subscript_text(const Sym& sym, const Rename& rename) {
  if (sym.terms().empty()) return std::to_string(sym.constant_part());
  std::string out;
  auto is_positive = [](const Sym::Term& t) { return t.factor > 0; };
  bool constant_first =
      sym.constant_part() > 0 && std::ranges::none_of(sym.terms(), is_positive);  // 3 - j
  if (constant_first) out = std::to_string(sym.constant_part());
  auto add = [&](bool negative, const std::string& product) {
    if (out.empty()) {
      bool grouped = negative && product.find_first_of("/%") != std::string::npos;
      out = grouped ? fmt::format("-({})", product) : (negative ? "-" : "") + product;
    } else {
      out += (negative ? " - " : " + ") + product;
    }
  };
  auto is_product = [](const Sym::Term& t) { return t.atoms.size() > 1 || t.factor != 1; };
  for (bool negative : {false, true}) {  // positive terms first, products before plain variables
    for (bool product : {true, false}) {
      std::string lane;  // after the other variables: j + l
      for (const Sym::Term& term : sym.terms()) {
        if ((term.factor < 0) != negative || is_product(term) != product) continue;
        std::string text = product_text(term, rename);
        if (text == "l") {
          lane = text;
        } else {
          add(negative, text);
        }
      }
      if (!lane.empty()) add(negative, lane);
    }
    if (negative && sym.constant_part() != 0 && !constant_first) {
      int64_t constant = sym.constant_part();
      add(constant < 0, std::to_string(constant < 0 ? -constant : constant));
    }
  }
  return out;
}

std::string formula_text(std::string_view formula, const std::vector<std::string>& operands,
                         const std::vector<std::string>& attrs) {
  std::string out;
  for (size_t i = 0; i < formula.size();) {
    size_t begin = i;
    while (i < formula.size() && is_word(formula[i])) i++;
    std::string_view word = formula.substr(begin, i - begin);
    if (word.empty()) {
      out += formula[i++];
      continue;
    }
    bool letter = word.size() == 1;
    size_t operand = letter ? static_cast<size_t>(word[0] - 'a') : SIZE_MAX;
    size_t attr = letter ? static_cast<size_t>(word[0] - 'p') : SIZE_MAX;
    std::string text(word);
    if (operand < operands.size()) text = operands[operand];
    if (attr < attrs.size()) text = attrs[attr];
    bool sign_meets_sign = text[0] == '-' && !out.empty() && out.back() == '-';
    bool grouped = sign_meets_sign || (is_compound(text) && formula != word);
    out += grouped ? "(" + text + ")" : text;
  }
  return out;
}

bool is_call_argument(std::string_view formula, char operand) {
  for (size_t i = 0; i < formula.size(); i++) {
    if (formula[i] != operand) continue;
    if ((i > 0 && is_word(formula[i - 1])) || (i + 1 < formula.size() && is_word(formula[i + 1]))) {
      continue;
    }
    size_t before = i, after = i + 1;
    while (before > 0 && formula[before - 1] == ' ') before--;
    while (after < formula.size() && formula[after] == ' ') after++;
    bool opens = before == 0 || formula[before - 1] == '(' || formula[before - 1] == ',';
    bool closes = after == formula.size() || formula[after] == ')' || formula[after] == ',';
    if (opens && closes) return true;
  }
  return false;
}

bool is_compound(std::string_view expression) {
  int depth = 0;
  for (size_t i = 0; i < expression.size(); i++) {
    if (expression[i] == '(') depth++;
    if (expression[i] == ')') depth--;
    if (depth == 0 && expression[i] == ' ') return true;
  }
  return false;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (i < text.size() && is_word(text[i])) i++;
    if (i == begin) {
      i++;
    } else if (std::isdigit(static_cast<unsigned char>(text[begin])) == 0) {
      words.emplace_back(text.substr(begin, i - begin));
    }
  }
  return words;
}

bool multiple_of(const Sym& sym, int64_t n) {
  auto smaller = [&](const auto& atom) {
    return atom->kind == Sym::Atom::Kind::min && multiple_of(atom->left, n) &&
           multiple_of(atom->right, n);
  };
  return sym.constant_part() % n == 0 && std::ranges::all_of(sym.terms(), [&](const Sym::Term& t) {
           return t.factor % n == 0 || std::ranges::any_of(t.atoms, smaller);
         });
}

}  // namespace ingot
