// Text → Graph. The form stands in graph.h; graph_text.cpp prints it.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "graph/constant_text.h"
#include "graph/graph.h"

namespace ingot {
namespace {

constexpr size_t longest_text = size_t{64} << 20;

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

// What stands between the parentheses of a call.
struct Call {
  std::string op;
  Location location;             // of the op's name
  std::vector<NodeId> operands;  // -1: a number, in `numbers` at the same position
  std::vector<Tensor> numbers;   // as bool, i64 or f64 until the other operands are known
  std::vector<Location> places;  // of the operands
  Attrs attrs;
  bool has_form = false;  // gelu: `approximate` was given
};

class GraphParser {
 public:
  GraphParser(std::string_view text, const std::string& file) : cursor_(file, text), builder_("") {
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) folder_ = file.substr(0, slash == 0 ? 1 : slash);
  }

  Graph parse() {
    cursor_.expect("graph");
    builder_.graph().name = cursor_.identifier("the graph's name");
    parse_inputs();
    cursor_.expect("{");
    while (!cursor_.accept("return")) {
      if (cursor_.at_end()) cursor_.fail(cursor_.location(), "expected 'return', got end of text");
      parse_statement();
    }
    do {
      parse_output();
    } while (cursor_.accept(","));
    cursor_.expect("}");
    if (!cursor_.at_end()) {
      cursor_.fail(cursor_.location(), fmt::format("expected end of text after the graph, got {}",
                                                   cursor_.next_token_text()));
    }
    return builder_.take();
  }

 private:
  struct Definition {
    NodeId id;
    int line;
  };

  void parse_inputs();
  void parse_output();
  void parse_statement();
  Call parse_call();
  void parse_operand_or_attribute(Call& call);
  Tensor parse_number();
  Shape parse_sizes();
  AttrValue parse_attribute(AttrType type);
  const std::vector<AttrInfo>& attributes(const std::string& op) const;
  void require_attributes(const Call& call) const;
  void number_operands(const Call& call, Op op, std::vector<NodeId>& operands);
  NodeId add_literal(const Tensor& number, DType dtype, const Location& location);
  void add_split(const Call& call, const std::vector<std::pair<std::string, Location>>& names);
  NodeId lookup(const std::string& name, const Location& at);
  void define(const std::string& name, NodeId id, const Location& at);
  std::string new_name(std::string_view what);
  void check_free(const std::string& name, const Location& at);

  Cursor cursor_;
  GraphBuilder builder_;
  std::string folder_;
  std::unordered_map<std::string, Definition> values_;
  std::unordered_map<std::string, NodeId> literals_;  // by dtype and bits: a number is one node
  std::unordered_set<std::string> sizes_;             // names in the inputs' shapes
};

// split is no op: it becomes a slice for each result.
const std::vector<AttrInfo>& split_attributes() {
  static const std::vector<AttrInfo> attributes = {{"dim", AttrType::integer, ""},
                                                   {"sizes", AttrType::sizes, ""}};
  return attributes;
}

// Of a value that is defined here. Words that are numbers would be numbers where it is used.
std::string GraphParser::new_name(std::string_view what) {
  const Location at = cursor_.location();
  for (const std::string_view word : {"inf", "nan", "true", "false"}) {
    if (!cursor_.peek(word)) continue;
    cursor_.fail(at, fmt::format("'{}' is a value by itself; a name that is written so stands in "
                                 "backquotes, here and where it is used: `{}`",
                                 word, word));
  }
  std::string name = cursor_.identifier(what);
  check_free(name, at);
  return name;
}

void GraphParser::check_free(const std::string& name, const Location& at) {
  const auto found = values_.find(name);
  if (found == values_.end()) return;
  cursor_.fail(at, fmt::format("'{}' is defined already, in line {}", name, found->second.line));
}

void GraphParser::define(const std::string& name, NodeId id, const Location& at) {
  values_.emplace(name, Definition{id, at.line});
}

NodeId GraphParser::lookup(const std::string& name, const Location& at) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second.id;
  // The nearest name; of equally near ones the first in the alphabet, not in the hash table.
  const size_t limit = std::min(1 + name.size() / 3, name.size() - 1);
  std::pair<size_t, std::string> nearest;
  for (const auto& [known, definition] : values_) {
    if (std::max(known.size(), name.size()) > 64) continue;
    std::pair<size_t, std::string> candidate(edit_distance(name, known), known);
    if (candidate.first <= limit && (nearest.second.empty() || candidate < nearest))
      nearest = std::move(candidate);
  }
  std::string message = fmt::format("'{}' is not defined", name);
  if (!nearest.second.empty()) message += fmt::format("; did you mean '{}'?", nearest.second);
  cursor_.fail(at, std::move(message));
}

void GraphParser::parse_inputs() {
  cursor_.expect("(");
  while (!accept_end(cursor_, ")", values_.empty())) {
    const Location at = cursor_.location();
    const std::string name = new_name("an input's name");
    cursor_.expect(":");
    const DType dtype = parse_dtype_word(cursor_);
    Shape shape;
    if (cursor_.peek("[")) {
      cursor_.expect("[");
      while (!accept_end(cursor_, "]", shape.empty())) {
        const Location size_at = cursor_.location();
        shape.push_back(Sym::parse(cursor_));
        if (shape.back().constant() && *shape.back().constant() < 0) {
          cursor_.fail(size_at, fmt::format("size {} is negative", shape.back().text()));
        }
        for (const std::string& variable : shape.back().variables()) sizes_.insert(variable);
      }
    }
    define(name, builder_.input(name, dtype, std::move(shape), at), at);
  }
}

void GraphParser::parse_output() {
  const Location at = cursor_.location();
  const std::string name = cursor_.identifier("a value's name");
  if (!cursor_.accept("=")) {
    builder_.output(lookup(name, at), name);
    return;
  }
  const Location value_at = cursor_.location();
  builder_.output(lookup(cursor_.identifier("a value's name"), value_at), name);
}

const std::vector<AttrInfo>& GraphParser::attributes(const std::string& op) const {
  if (op == "split") return split_attributes();
  return find_op(op)->attrs;
}

Shape GraphParser::parse_sizes() {
  Shape sizes;
  const auto parse_size = [&] {
    const Location at = cursor_.location();
    sizes.push_back(Sym::parse(cursor_));
    for (const std::string& name : sizes.back().variables()) {
      if (!sizes_.contains(name)) {
        cursor_.fail(at, fmt::format("size '{}' stands in no input's shape", name));
      }
    }
  };
  if (!cursor_.accept("[")) {
    parse_size();
    return sizes;
  }
  while (!accept_end(cursor_, "]", sizes.empty())) parse_size();
  return sizes;
}

AttrValue GraphParser::parse_attribute(AttrType type) {
  const Location at = cursor_.location();
  switch (type) {
    case AttrType::boolean:
      if (cursor_.accept("true")) return true;
      if (cursor_.accept("false")) return false;
      cursor_.fail(at, fmt::format("expected true or false, got {}", cursor_.next_token_text()));
    case AttrType::integer: {
      const Cursor::Number number = cursor_.number("an integer");
      if (!number.is_integer) cursor_.fail(at, "expected an integer");
      return number.integer;
    }
    case AttrType::real:
      return cursor_.number("a number").real;
    case AttrType::text:
      return cursor_.string_literal("a text in quotes");
    case AttrType::dtype:
      return parse_dtype_word(cursor_);
    case AttrType::sizes:
      return parse_sizes();
  }
  fail_internal("parse", "attribute of no type");
}

// A number keeps its widest form until the dtype of the other operands is known.
Tensor GraphParser::parse_number() {
  if (cursor_.peek("true") || cursor_.peek("false")) {
    Tensor value(DType::boolean, {});
    parse_element(cursor_, value, 0);
    return value;
  }
  const Cursor::Number number = cursor_.number("a number");
  Tensor value(number.is_integer ? DType::i64 : DType::f64, {});
  if (number.is_integer) {
    // A negative zero is a float's: as an integer it would lose its sign.
    if (number.integer == 0 && std::signbit(number.real)) value = Tensor(DType::f64, {});
    value.dtype() == DType::f64 ? value.set_f64(0, -0.0) : value.set_i64(0, number.integer);
  } else {
    value.set_f64(0, number.real);
  }
  return value;
}

void GraphParser::parse_operand_or_attribute(Call& call) {
  const Location at = cursor_.location();
  if (cursor_.at_number() || cursor_.peek("true") || cursor_.peek("false")) {
    call.operands.push_back(-1);
    call.numbers.push_back(parse_number());
    call.places.push_back(at);
    return;
  }
  const std::string name = cursor_.identifier("an operand or an attribute");
  if (!cursor_.accept("=")) {
    if (cursor_.peek("(")) {
      cursor_.fail(
          at, fmt::format("calls do not nest; give {}(...) a line and a name of its own", name));
    }
    call.operands.push_back(lookup(name, at));
    call.numbers.emplace_back();
    call.places.push_back(at);
    return;
  }
  // In text gelu's two forms are one name with an attribute.
  if (name == "approximate" && call.has_form) {
    cursor_.fail(at, "attribute 'approximate' stands twice");
  }
  if (name == "approximate" && call.op == "gelu") {
    const Location value_at = cursor_.location();
    const std::string form = cursor_.string_literal("a text in quotes");
    const std::optional<Op> op = gelu_form(form);
    if (!op) cursor_.fail(value_at, gelu_form_error(form));
    call.op = op_name(*op);
    call.has_form = true;
    return;
  }
  const std::vector<AttrInfo>& known = attributes(call.op);
  const auto found = std::ranges::find(known, name, &AttrInfo::name);
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const AttrInfo& info : known) names.emplace_back(info.name);
    if (call.op == "gelu") names.emplace_back("approximate");
    cursor_.fail(at, names.empty()
                         ? fmt::format("{} has no attribute '{}'; it has none", call.op, name)
                         : fmt::format("{} has no attribute '{}'; it has {}", call.op, name,
                                       join(names, ", ")));
  }
  if (call.attrs.contains(name)) {
    cursor_.fail(at, fmt::format("attribute '{}' stands twice", name));
  }
  call.attrs.emplace(name, parse_attribute(found->type));
}

Call GraphParser::parse_call() {
  Call call;
  call.location = cursor_.location();
  call.op = cursor_.identifier("an op");
  if (call.op != "split" && call.op != "constant" &&
      (find_op(call.op) == nullptr || find_op(call.op)->op == Op::input)) {
    if (values_.contains(call.op) && !cursor_.peek("(")) {
      cursor_.fail(call.location,
                   fmt::format("'{}' is a value; expected an op, as in exp({})", call.op, call.op));
    }
    std::string message = fmt::format("unknown op '{}'", call.op);
    const std::string nearest = nearest_op_name(call.op);
    if (!nearest.empty()) message += fmt::format("; did you mean '{}'?", nearest);
    throw Error(ErrorKind::input, std::move(message), call.location, {"`ingot ops` lists all ops"});
  }
  cursor_.expect("(");
  if (call.op == "constant") return call;
  for (bool is_first = true; !accept_end(cursor_, ")", is_first); is_first = false) {
    parse_operand_or_attribute(call);
  }
  require_attributes(call);
  return call;
}

void GraphParser::require_attributes(const Call& call) const {
  for (const AttrInfo& info : attributes(call.op)) {
    if (info.default_text.empty() && !call.attrs.contains(info.name)) {
      fail_input(call.location, fmt::format("{}: attribute '{}' is missing", call.op, info.name));
    }
  }
}

NodeId GraphParser::add_literal(const Tensor& number, DType dtype, const Location& location) {
  const bool is_bool = number.dtype() == DType::boolean;
  if (is_bool != (dtype == DType::boolean)) {
    cursor_.fail(location, is_bool
                               ? fmt::format("true and false are bool, not {}", dtype_name(dtype))
                               : "a bool is true or false");
  }
  Tensor value(dtype, {});
  if (is_float(dtype)) {
    value.set_f64(0, number.get_f64(0));
  } else {
    if (number.dtype() == DType::f64) {
      cursor_.fail(location,
                   fmt::format("{} is no {}", number_text(number.get_f64(0)), dtype_name(dtype)));
    }
    value.set_i64(0, number.get_i64(0));
    if (value.get_i64(0) != number.get_i64(0)) {
      cursor_.fail(location,
                   fmt::format("{} is out of {}'s range", number.get_i64(0), dtype_name(dtype)));
    }
  }
  std::string key(1, static_cast<char>(dtype));
  key.append(reinterpret_cast<const char*>(value.data()), static_cast<size_t>(value.bytes()));
  const auto [entry, is_new] = literals_.try_emplace(key, -1);
  if (is_new) entry->second = builder_.constant(std::move(value), {}, location);
  return entry->second;
}

void GraphParser::number_operands(const Call& call, Op op, std::vector<NodeId>& operands) {
  std::vector<std::optional<DType>> dtypes;
  for (NodeId id : operands) {
    dtypes.push_back(id < 0 ? std::nullopt : std::optional(builder_[id].type.dtype));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] >= 0) continue;
    const auto dtype = number_operand_dtype(op, dtypes, i);
    if (!dtype) {
      cursor_.fail(call.places[i],
                   fmt::format("{}: no other operand gives this number a dtype; define it first, "
                               "as in c = constant(f32, 0.5)",
                               call.op));
    }
    operands[i] = add_literal(call.numbers[i], *dtype, call.places[i]);
  }
}

void GraphParser::add_split(const Call& call,
                            const std::vector<std::pair<std::string, Location>>& names) {
  if (call.operands.size() != 1 || call.operands[0] < 0) {
    cursor_.fail(call.location, "split takes one value");
  }
  const TensorType& type = builder_[call.operands[0]].type;
  const int64_t rank = static_cast<int64_t>(type.shape.size());
  int64_t dim = std::get<int64_t>(call.attrs.find("dim")->second);
  if (dim < -rank || dim >= rank) {
    cursor_.fail(call.location, fmt::format("split: {} has no dimension {}", type_text(type), dim));
  }
  if (dim < 0) dim += rank;
  const size_t d = static_cast<size_t>(dim);
  const Shape& sizes = std::get<Shape>(call.attrs.find("sizes")->second);
  if (sizes.size() != names.size()) {
    cursor_.fail(call.location,
                 fmt::format("split: {} sizes for {} results", sizes.size(), names.size()));
  }
  Sym total = 0;
  for (const Sym& size : sizes) {
    if (size.constant().value_or(0) < 0) {
      cursor_.fail(call.location, fmt::format("split: {}: sizes {} along dimension {}: a size is "
                                              "negative",
                                              type_text(type), shape_text(sizes), dim));
    }
  }
  try {
    for (const Sym& size : sizes) total = total + size;
    builder_.require_equal(type.shape[d], total);
  } catch (const Error& error) {
    cursor_.fail(call.location,
                 fmt::format("split: {}: sizes {} along dimension {}: {}", type_text(type),
                             shape_text(sizes), dim, error.message()));
  }
  Sym start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Shape& shape = builder_[call.operands[0]].type.shape;
    Shape starts(shape.size()), ends = shape;
    starts[d] = start;
    ends[d] = start + sizes[i];
    start = ends[d];
    const NodeId id = builder_.add(Op::slice, call.operands, {{"starts", starts}, {"ends", ends}},
                                   names[i].first, call.location);
    define(names[i].first, id, names[i].second);
  }
}

void GraphParser::parse_statement() {
  std::vector<std::pair<std::string, Location>> names;
  std::unordered_set<std::string> own;
  do {
    const Location at = cursor_.location();
    names.emplace_back(new_name("a value's name or return"), at);
    if (!own.insert(names.back().first).second) {
      cursor_.fail(at, fmt::format("'{}' stands twice", names.back().first));
    }
  } while (cursor_.accept(","));
  cursor_.expect("=");
  const Call call = parse_call();
  if (call.op == "split") return add_split(call, names);
  const bool is_pair = call.op == "topk" && names.size() == 2;
  if (names.size() > 1 && !is_pair) {
    cursor_.fail(names[1].second, fmt::format("{} gives one result, not {}; split gives several, "
                                              "topk two",
                                              call.op, names.size()));
  }
  const auto& [name, at] = names[0];
  if (call.op == "constant") {
    Tensor value = parse_constant(cursor_, folder_);
    cursor_.expect(")");
    return define(name, builder_.constant(std::move(value), name, at), at);
  }
  const Op op = find_op(call.op)->op;
  std::vector<NodeId> operands = call.operands;
  number_operands(call, op, operands);
  if (is_pair) {
    const auto& [positions, place] = names[1];
    define(positions,
           builder_.add(Op::topk_indices, operands, call.attrs, positions, call.location), place);
  }
  define(name, builder_.add(op, std::move(operands), call.attrs, name, call.location), at);
}

}  // namespace

Graph parse_graph(std::string_view text, const std::string& file) {
  if (text.size() > longest_text) {
    Location at;
    at.file = file;
    fail_input(at, fmt::format("a text of {} bytes; the limit is {} (keep weights in .npy files: "
                               "constant(file=\"w.npy\"))",
                               text.size(), longest_text));
  }
  return GraphParser(text, file).parse();
}

}  // namespace ingot
