#include "op/op.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace ingot {

namespace {

// Stringized tokens; NONE stands for a formula that does not exist.
constexpr std::string_view formula_of(std::string_view tokens) {
  return tokens == "NONE" ? std::string_view() : tokens;
}

// Enumerators that would be C++ keywords carry a trailing underscore.
constexpr std::string_view name_of(std::string_view enumerator) {
  if (enumerator.ends_with('_')) enumerator.remove_suffix(1);
  return enumerator;
}

std::vector<OpInfo> make_table() {
  using enum Category;
  using enum OpFlag::Bits;
  constexpr unsigned no_flags = 0;
  const std::vector<AttrInfo> reduction_attrs = {{"dims", AttrType::sizes, "[]"},
                                                 {"keepdims", AttrType::boolean, "false"}};
  std::vector<OpInfo> table;
// clang-format off
#define ATTRS(...) {__VA_ARGS__}
#define ELEMENTWISE(name, arity, operands, rule, flags, flops, instructions, attrs, on_floats,   \
                    on_integers, on_bools, onnx, doc)                                            \
  table.push_back({Op::name, name_of(#name), elementwise, arity, arity, DTypeSet::operands,      \
                   DTypeRule::rule, no_flags | flags, flops, instructions, attrs,                \
                   formula_of(#on_floats), formula_of(#on_integers), formula_of(#on_bools), {},  \
                   {}, {}, 0.0,                                                                  \
                   onnx, doc});
#define REDUCTION(name, operands, identity, on_floats, on_integers, on_bools, onnx, doc)         \
  table.push_back({Op::name, name_of(#name), reduction, 1, 1, DTypeSet::operands,                \
                   DTypeRule::same, no_flags, 1, 1, reduction_attrs, formula_of(#on_floats),     \
                   formula_of(#on_integers), formula_of(#on_bools), {}, {}, {}, identity,  \
                   onnx, doc});
#define STRUCTURED(name, category, fewest, most, operands, rule, flags, flops, attrs, onnx, doc) \
  table.push_back({Op::name, name_of(#name), category, fewest, most, DTypeSet::operands,         \
                   DTypeRule::rule, no_flags | flags, flops, 0, attrs, {}, {}, {}, {}, {}, {}, 0.0,    \
                   onnx, doc});
// clang-format on
#include "op/ops.def"
#undef ATTRS
#define SHORTER(name, form, formula) \
  table[static_cast<size_t>(Op::name)].shorter[static_cast<size_t>(Form::form)] = #formula;
#define CUDA(name, form, formula) \
  table[static_cast<size_t>(Op::name)].cuda[static_cast<size_t>(Form::form)] = #formula;
#define NARROW(name, form, magnitude, formula) \
  SHORTER(name, form, formula)                 \
  table[static_cast<size_t>(Op::name)].reach[static_cast<size_t>(Form::form)] = magnitude;
#define COUNTED(name, ...)                                                                        \
  for (size_t at = 0; const GpuInstructions& count : std::vector<GpuInstructions>{__VA_ARGS__}) { \
    table[static_cast<size_t>(Op::name)].gpu[at / 2][at % 2] = count;                             \
    ++at;                                                                                         \
  }
#include "op/ops.def"
  return table;
}

const std::vector<OpInfo>& table() {
  static const std::vector<OpInfo> rows = make_table();
  return rows;
}

// Edits (insert, delete, replace, swap of neighbours) between two words.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) above[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

const OpInfo& op_info(Op op) { return table()[static_cast<size_t>(op)]; }
std::span<const OpInfo> all_ops() { return table(); }
std::string_view op_name(Op op) { return op_info(op).name; }

std::string_view form_name(Form form) {
  constexpr std::array<std::string_view, form_count> names = {
      "full",    "fast", "bf16",  "f16",    "wide",     "inner",
      "nearest", "same", "below", "narrow", "narrower", "added"};
  return names[static_cast<size_t>(form)];
}

bool has_form(const OpInfo& info, Form form) {
  const auto which = static_cast<size_t>(form);
  return !info.shorter[which].empty() || !info.cuda[which].empty();
}

std::optional<Op> gelu_form(std::string_view approximate) {
  if (approximate == "none") return Op::gelu;
  if (approximate == "tanh") return Op::gelu_tanh;
  return std::nullopt;
}

std::string gelu_form_error(std::string_view approximate) {
  return fmt::format("gelu: approximate is \"none\" or \"tanh\", not \"{}\"", approximate);
}

const OpInfo* find_op(std::string_view name) {
  const auto found = std::find_if(table().begin(), table().end(),
                                  [&](const OpInfo& info) { return info.name == name; });
  return found == table().end() ? nullptr : &*found;
}

std::string nearest_op_name(std::string_view name) {
  std::string_view nearest;
  size_t least = std::max<size_t>(name.size() / 3, 2) + 1;
  if (name.size() > 40) return {};
  for (const OpInfo& info : table()) {
    const size_t distance = edit_distance(name, info.name);
    if (distance < least && distance < std::max(name.size(), info.name.size())) {
      least = distance;
      nearest = info.name;
    }
  }
  return std::string(nearest);
}

bool accepts(DTypeSet set, DType dtype) {
  // Cast, moved, chosen and compared, but not computed with.
  const bool is_f8 = is_float(dtype) && byte_size(dtype) == 1;
  switch (set) {
    case DTypeSet::any:
      return true;
    case DTypeSet::number:
      return dtype != DType::boolean && !is_f8;
    case DTypeSet::floating:
      return is_float(dtype) && !is_f8;
    case DTypeSet::integer:
      return is_integer(dtype);
    case DTypeSet::boolean:
      return dtype == DType::boolean;
    case DTypeSet::u64:
      return dtype == DType::u64;
    case DTypeSet::integer_or_boolean:
      return !is_float(dtype);
  }
  return false;
}

namespace {

const AttrInfo& attr_info(const OpInfo& info, std::string_view name) {
  for (const AttrInfo& attr : info.attrs) {
    if (attr.name == name) return attr;
  }
  fail_internal("op table", fmt::format("{} has no attribute '{}'", info.name, name));
}

AttrValue default_value(const OpInfo& info, const AttrInfo& attr) {
  if (attr.default_text.empty()) {
    fail_input({}, fmt::format("{}: attribute '{}' is missing", info.name, attr.name));
  }
  Cursor cursor("op table", attr.default_text);
  switch (attr.type) {
    case AttrType::boolean:
      return cursor.accept("true");
    case AttrType::integer:
      return cursor.number("an integer").integer;
    case AttrType::real:
      return cursor.number("a number").real;
    case AttrType::text:
      return std::string(attr.default_text);
    case AttrType::dtype:
      return *parse_dtype(attr.default_text);
    case AttrType::sizes:
      break;
  }
  std::vector<Sym> sizes;
  cursor.expect("[");
  while (!cursor.accept("]")) {
    sizes.push_back(Sym::parse(cursor));
    cursor.accept(",");
  }
  return sizes;
}

template <class T>
T attr_value(const OpInfo& info, const Attrs& attrs, std::string_view name) {
  const AttrInfo& attr = attr_info(info, name);
  const auto found = attrs.find(name);
  const AttrValue value = found == attrs.end() ? default_value(info, attr) : found->second;
  if (const T* typed = std::get_if<T>(&value)) return *typed;
  // Programs built in C++ give a whole number for a real, and one size for a list of them.
  const int64_t* integer = std::get_if<int64_t>(&value);
  if constexpr (std::is_same_v<T, double>) {
    if (integer) return static_cast<double>(*integer);
  }
  if constexpr (std::is_same_v<T, std::vector<Sym>>) {
    if (integer) return {Sym(*integer)};
  }
  constexpr std::array kinds = {"true or false", "an integer", "a number",
                                "a text",        "a dtype",    "a list of sizes"};
  fail_input({}, fmt::format("{}: attribute '{}' must be {}", info.name, name,
                             kinds[static_cast<size_t>(attr.type)]));
}

}  // namespace

bool flag_attr(const OpInfo& info, const Attrs& attrs, std::string_view name) {
  return attr_value<bool>(info, attrs, name);
}

int64_t integer_attr(const OpInfo& info, const Attrs& attrs, std::string_view name) {
  return attr_value<int64_t>(info, attrs, name);
}

double real_attr(const OpInfo& info, const Attrs& attrs, std::string_view name) {
  return attr_value<double>(info, attrs, name);
}

std::string text_attr(const OpInfo& info, const Attrs& attrs, std::string_view name) {
  return attr_value<std::string>(info, attrs, name);
}

DType dtype_attr(const OpInfo& info, const Attrs& attrs, std::string_view name) {
  return attr_value<DType>(info, attrs, name);
}

std::vector<Sym> sizes_attr(const OpInfo& info, const Attrs& attrs, std::string_view name) {
  return attr_value<std::vector<Sym>>(info, attrs, name);
}

std::vector<int> dims_attr(const OpInfo& info, const Attrs& attrs, std::string_view name,
                           int rank) {
  std::vector<int> dims;
  for (const Sym& each : sizes_attr(info, attrs, name)) {
    const auto dim = each.constant();
    if (!dim || *dim < -rank || *dim >= rank) {
      fail_input(
          {}, fmt::format("{}: {} names dimension {} of {}", info.name, name, each.text(), rank));
    }
    dims.push_back(static_cast<int>(*dim < 0 ? *dim + rank : *dim));
  }
  std::sort(dims.begin(), dims.end());
  const auto twice = std::adjacent_find(dims.begin(), dims.end());
  if (twice != dims.end()) {
    fail_input({}, fmt::format("{}: {} names dimension {} twice", info.name, name, *twice));
  }
  if (dims.empty()) {
    for (int dim = 0; dim < rank; dim++) dims.push_back(dim);
  }
  return dims;
}

}  // namespace ingot
