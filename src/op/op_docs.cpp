#include "op/op_docs.h"

#include <algorithm>

#include "base/text.h"
#include "op/op.h"

namespace ingot {

namespace {

struct Section {
  Category category;
  std::string_view title, text;
};
constexpr Section sections[] = {
    {Category::elementwise, "Elementwise",
     "One result for each element, operands broadcast by NumPy's rules. The formula is the one "
     "that "
     "runs: `a`, `b`, `c` are the operands, `p`, `q`, `r` the attributes; functions are those of "
     "`src/device`. f16 and bf16 are computed in f32 and rounded once, narrow integers in i32 "
     "(u32 in i64) and wrapped."},
    {Category::reduction, "Reductions",
     "Over the dimensions `dims` (none named: all of them), in the order that docs/semantics.md "
     "states. The formula combines two partial results; the identity is the start."},
    {Category::movement, "Movement",
     "Other indices for the same elements. Views cost no bytes and no kernel."},
    {Category::scan, "In order along a dimension",
     "Each element follows from the one before it, from the first to the last: f32 inside (f64 for "
     "f64), each result rounded once. What runs over the same elements shares the kernel."},
    {Category::scatter, "Updates",
     "Update by update, each rounded, so that equal ids have one answer. A kernel of its own."},
    {Category::contraction, "Products", "A library routine computes blocks of the result."},
    {Category::creation, "Creation", "Values without operands."},
    {Category::composite, "Composites",
     "Defined in terms of the others, computed in f32 (f64 for f64), rounded once at the end."},
};

bool is_graph_only(const OpInfo& info) { return info.op == Op::input || info.op == Op::constant; }

std::vector<std::string> operand_names(const OpInfo& info) {
  switch (info.op) {
    case Op::select:
      return {"mask", "a", "b"};
    case Op::gather:
    case Op::gather_elements:
      return {"table", "ids"};
    case Op::scatter:
    case Op::scatter_elements:
    case Op::scatter_add:
      return {"into", "ids", "updates"};
    case Op::random_bits:
      return {"counter", "key"};
    case Op::group_norm:
      return {"x", "gamma", "beta"};
    case Op::batch_norm:
      return {"x", "gamma", "beta", "mean", "var"};
    case Op::matmul:
      return {"a", "b"};
    case Op::attention:
      return {"q", "k", "v", "mask"};
    case Op::conv:
      return {"x", "w", "bias"};
    case Op::layer_norm:
      return {"x", "gamma", "beta"};
    case Op::rms_norm:
      return {"x", "gamma"};
    default:
      break;
  }
  if (info.max_operands == 1 && info.category != Category::elementwise) return {"x"};
  std::vector<std::string> names;
  for (int i = 0; i < info.max_operands; i++) names.emplace_back(1, static_cast<char>('a' + i));
  return names;
}

std::string default_of(const AttrInfo& attr) {
  if (attr.default_text.empty()) return {};
  return attr.type == AttrType::text ? quoted_string(attr.default_text)
                                     : std::string(attr.default_text);
}

// "leaky_relu(a, alpha=0.01)", as a program is written; [optional] operands in brackets.
std::string signature(const OpInfo& info) {
  std::vector<std::string> parts = operand_names(info);
  for (size_t i = static_cast<size_t>(info.min_operands); i < parts.size(); i++) {
    parts[i] = "[" + parts[i] + "]";
  }
  if (info.max_operands < 0) parts = {"a", "..."};
  for (const AttrInfo& attr : info.attrs) {
    parts.push_back(fmt::format("{}={}", attr.name, default_of(attr)));
  }
  return fmt::format("{}({})", info.name, join(parts, ", "));
}

std::string_view set_text(DTypeSet set) {
  switch (set) {
    case DTypeSet::any:
      return "any";
    case DTypeSet::number:
      return "numbers";
    case DTypeSet::floating:
      return "floats";
    case DTypeSet::integer:
      return "integers";
    case DTypeSet::boolean:
      return "bool";
    case DTypeSet::integer_or_boolean:
      return "integers, bool";
    case DTypeSet::u64:
      return "u64";
  }
  return {};
}

// Each distinct formula once: floats first.
std::string formulas_text(const OpInfo& info) {
  std::vector<std::string> parts;
  const std::pair<std::string_view, std::string_view> all[] = {{"", info.float_formula},
                                                               {"integers: ", info.integer_formula},
                                                               {"bool: ", info.boolean_formula}};
  for (const auto& [prefix, formula] : all) {
    if (formula.empty()) continue;
    const bool repeated = formula == info.float_formula && !prefix.empty();
    const bool only_bool = prefix == "bool: " && formula == info.integer_formula;
    if (!repeated && !only_bool) {
      parts.push_back(fmt::format("{}`{}`", parts.empty() ? "" : prefix, formula));
    }
  }
  return join(parts, "; ");
}

// A cell of a Markdown table: the bar would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string row_text(const OpInfo& info) {
  std::vector<std::string> cells = {fmt::format("`{}`", cell(signature(info))),
                                    std::string(set_text(info.operands)), cell(info.doc)};
  const bool computed =
      info.category == Category::elementwise || info.category == Category::reduction;
  if (computed) cells.push_back(cell(formulas_text(info)));
  if (info.category == Category::reduction) cells.push_back(number_text(info.identity));
  if (info.category == Category::elementwise) {
    cells.push_back(number_text(info.flops));
    cells.push_back(number_text(info.instructions));
  }
  cells.push_back(std::string(info.onnx));
  return "| " + join(cells, " | ") + " |";
}

std::string heading(Category category) {
  switch (category) {
    case Category::elementwise:
      return "| op | takes | meaning | formula | FLOPs | instructions | ONNX |\n"
             "|---|---|---|---|---|---|---|";
    case Category::reduction:
      return "| op | takes | meaning | formula | identity | ONNX |\n|---|---|---|---|---|---|";
    default:
      return "| op | takes | meaning | ONNX |\n|---|---|---|---|";
  }
}

}  // namespace

std::string ops_text() {
  Writer out;
  for (const Section& section : sections) {
    out.line(section.title);
    size_t widest = 0;
    for (const OpInfo& info : all_ops()) {
      if (info.category == section.category) {
        widest = std::max(widest, std::min<size_t>(signature(info).size(), 44));
      }
    }
    for (const OpInfo& info : all_ops()) {
      if (info.category != section.category || is_graph_only(info)) continue;
      out.line(fmt::format("  {:<{}}  {:<14}  {}", signature(info), widest, set_text(info.operands),
                           info.doc));
    }
    out.line("");
  }
  return out.take();
}

std::string ops_markdown() {
  Writer out;
  out.line("<!-- Made from src/op/ops.def; tests/op/op_docs_test.cpp compares and rewrites. -->");
  out.line("# Ops");
  out.line("");
  out.line(
      "Every op, with its signature in the text form. `name=` without a value has to be given. "
      "Dtypes are never promoted: `cast` is written. A shape or a list of dimensions is "
      "written in brackets: `[B, 64]`.");
  for (const Section& section : sections) {
    out.line("");
    out.line(fmt::format("## {}", section.title));
    out.line("");
    out.line(section.text);
    out.line("");
    out.line(heading(section.category));
    for (const OpInfo& info : all_ops()) {
      if (info.category == section.category) out.line(row_text(info));
    }
  }
  return out.take();
}

namespace {

std::string_view parameter_type(AttrType type) {
  switch (type) {
    case AttrType::boolean:
      return "bool";
    case AttrType::integer:
      return "int64_t";
    case AttrType::real:
      return "double";
    case AttrType::text:
      return "std::string";
    case AttrType::dtype:
      return "DType";
    case AttrType::sizes:
      return "Dims";
  }
  return {};
}

std::string cpp_default(const AttrInfo& attr) {
  if (attr.type == AttrType::sizes) {
    std::string text(attr.default_text);
    text.front() = '{';
    text.back() = '}';
    return text;
  }
  if (attr.type == AttrType::text) return quoted_string(attr.default_text);
  if (attr.type == AttrType::dtype) return fmt::format("DType::{}", attr.default_text);
  if (attr.default_text == "inf") return "std::numeric_limits<double>::infinity()";
  if (attr.default_text == "-inf") return "-std::numeric_limits<double>::infinity()";
  return std::string(attr.default_text);
}

// Lines no longer than the code's own: `head`, then the parts, comma-separated, indented.
void wrapped(Writer& out, const std::string& head, const std::vector<std::string>& parts,
             const std::string& tail, const std::string& indent) {
  std::string line = head;
  for (size_t i = 0; i < parts.size(); i++) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? "," : tail);
    const bool first_in_line = i == 0 || line.find_first_not_of(' ') == std::string::npos;
    if (!first_in_line && line.size() + 1 + part.size() > 98) {
      out.line(line);
      line = indent + part;
    } else {
      line += (i == 0 ? "" : " ") + part;
    }
  }
  out.line(parts.empty() ? head + tail : line);
}

void comment(Writer& out, std::string_view text) {
  while (text.size() > 97) {
    const size_t end = text.rfind(' ', 97);
    out.line(fmt::format("// {}", text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  out.line(fmt::format("// {}", text));
}

void builder(Writer& out, const OpInfo& info) {
  // A keyword gets the underscore that the enumerator has.
  constexpr std::string_view keywords[] = {"and", "or", "xor", "not"};
  std::string name(info.name);
  if (std::find(std::begin(keywords), std::end(keywords), info.name) != std::end(keywords)) {
    name += '_';
  }
  const std::vector<std::string> operands = operand_names(info);
  std::vector<std::string> parameters = {"Program& program"}, listed, attributes, defaulted;
  const size_t required = static_cast<size_t>(info.min_operands);
  if (info.max_operands < 0) parameters.emplace_back("std::vector<Value> operands");
  for (size_t i = 0; i < operands.size(); i++) {
    if (i < required) {
      parameters.push_back("Value " + operands[i]);
      listed.push_back(operands[i]);
    } else {
      defaulted.push_back(fmt::format("std::optional<Value> {} = std::nullopt", operands[i]));
    }
  }
  for (const AttrInfo& attr : info.attrs) {
    const std::string declared = fmt::format("{} {}", parameter_type(attr.type), attr.name);
    if (attr.default_text.empty()) {
      parameters.push_back(declared);
    } else {
      defaulted.push_back(declared + " = " + cpp_default(attr));
    }
    attributes.push_back(fmt::format("{{\"{0}\", {0}}}", attr.name));
  }
  parameters.insert(parameters.end(), defaulted.begin(), defaulted.end());
  parameters.emplace_back("std::string name = {}");
  comment(out, info.doc);
  const std::string head = fmt::format("inline Value {}(", name);
  wrapped(out, head, parameters, ") {", std::string(head.size(), ' '));
  std::string list = info.max_operands < 0 ? "std::move(operands)" : "{" + join(listed, ", ") + "}";
  if (operands.size() > required) {
    out.line(fmt::format("  std::vector<Value> operands = {};", list));
    for (size_t i = required; i < operands.size(); i++) {
      out.line(fmt::format("  if ({0}) operands.push_back(*{0});", operands[i]));
    }
    list = "std::move(operands)";
  }
  std::vector<std::string> arguments = {quoted_string(info.name), list};
  if (attributes.empty()) {
    arguments.emplace_back("{}");
  } else {
    attributes.front().insert(0, "{");
    attributes.back() += '}';
    arguments.insert(arguments.end(), attributes.begin(), attributes.end());
  }
  arguments.emplace_back("std::move(name)");
  const std::string call = "  return program.op(";
  wrapped(out, call, arguments, ");", std::string(call.size(), ' '));
  out.line("}");
}

}  // namespace

std::string ops_header() {
  Writer out;
  out.line("// A typed function for every op: ingot::ops::add(program, a, b). More: docs/ops.md.");
  out.line("// Made from src/op/ops.def; tests/op/op_docs_test.cpp compares and rewrites it.");
  out.line("// clang-format off");
  out.line("#pragma once");
  out.line("");
  out.line("#include <limits>");
  out.line("#include <optional>");
  out.line("#include <string>");
  out.line("#include <utility>");
  out.line("#include <vector>");
  out.line("");
  out.line("#include <ingot/ingot.h>");
  out.line("");
  out.line("namespace ingot::ops {");
  out.line("");
  for (const OpInfo& info : all_ops()) {
    if (is_graph_only(info)) continue;
    builder(out, info);
    out.line("");
  }
  out.line("}  // namespace ingot::ops");
  return out.take();
}

}  // namespace ingot
