// Statements: every definition is one line that holds it for all vectors of the block.
#include <algorithm>

#include "device/library.h"
#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

namespace {

constexpr size_t line_width = 100;

// The vocabulary stores past the caches in this type only.
bool can_stream(DType dtype) { return dtype == DType::f32; }

std::string_view formula_of(const OpInfo& info, DType dtype) {
  if (dtype == DType::boolean) return info.boolean_formula;
  return is_float(dtype) ? info.float_formula : info.integer_formula;
}

}  // namespace

void Emitter::statements(const std::vector<Stmt>& body) {
  for (const Stmt& stmt : body) statement(stmt);
}

void Emitter::statement(const Stmt& stmt) {
  std::visit([this](const auto& s) { emit(s); }, stmt);
}

std::string Emitter::vector_name(const Value& value, int vector) const {
  bool several = value.varying && block_ && block_->vectors.size() > 1;
  return several ? fmt::format("{}_{}", value.name, vector) : value.name;
}

// `head` and the parts on one line where that fits, else a part a line.
void Emitter::row(std::string_view head, const std::vector<std::string>& parts,
                  std::string_view separator) {
  std::string joined = fmt::format("{}{};", head, join(parts, fmt::format("{} ", separator)));
  if (parts.size() == 1 || 2 * depth_ + joined.size() <= line_width) return line(joined);
  for (size_t i = 0; i < parts.size(); i++) {
    std::string start =
        i == 0 || separator == ";" ? std::string(head) : std::string(head.size(), ' ');
    line(fmt::format("{}{}{}", start, parts[i], i + 1 < parts.size() ? separator : ";"));
  }
}

// `expression(vector, name)` is the value for one vector; name: of the text, for lane functions.
template <class F>
void Emitter::define(const std::string& name, DType dtype, Lanes lanes, bool varying,
                     F expression) {
  Value value;
  value.dtype = dtype;
  value.lanes = lanes;
  value.varying = varying;
  value.name = names_.unique(name);
  std::vector<std::string> parts;
  for (int vector : varying ? block_->vectors : std::vector<int>{0}) {
    parts.push_back(
        fmt::format("{} = {}", vector_name(value, vector), expression(vector, value.name)));
  }
  row(fmt::format("const {} ", vector_type(lanes)), parts, ",");
  if (in_subscripts_.contains(name) && !is_float(dtype)) define_subscript(value);
  values_[name] = std::move(value);
}

// Subscripts need plain integers: the first lane, or an array of all where they differ.
void Emitter::define_subscript(Value& value) {
  auto wide = [&](int vector) {
    std::string name = vector_name(value, vector);
    return value.lanes == Lanes::i64 ? name : fmt::format("to_i64({})", name);
  };
  if (!value.varying) {
    value.subscript = value.name + "_at";
    return line(fmt::format("const long {} = first_lane({});", value.subscript, wide(0)));
  }
  value.subscript = value.name + "_at[l]";
  size_t count = 16 * (static_cast<size_t>(block_->vectors.back()) + 1);
  line(fmt::format("alignas(64) long {}_at[{}];", value.name, count));
  std::vector<std::string> parts;
  for (int vector : block_->vectors) {
    std::string place = value.name + "_at" + (vector == 0 ? "" : fmt::format(" + {}", 16 * vector));
    parts.push_back(fmt::format("store_i64({}, {})", place, wide(vector)));
  }
  row("", parts, ";");
}

std::string Emitter::as_lanes(const std::string& text, Lanes from, Lanes to) const {
  if (from == Lanes::m32 && to == Lanes::m64) return fmt::format("to_m64({})", text);
  if (from == Lanes::m64 && to == Lanes::m32) return fmt::format("to_m32({})", text);
  return text;
}

Lanes Emitter::operand_lanes(const Operand& operand, DType dtype) const {
  const auto* name = std::get_if<std::string>(&operand);
  return name != nullptr ? value(*name).lanes : lanes_of(dtype);
}

std::string Emitter::operand_text(const Operand& operand, DType dtype, int vector, bool splat) {
  if (const auto* name = std::get_if<std::string>(&operand)) {
    return vector_name(value(*name), vector);
  }
  std::string text = literal_text(std::get<Literal>(operand), dtype);
  return splat || dtype == DType::boolean ? splat_text(text, lanes_of(dtype)) : text;
}

void Emitter::note_functions(std::string_view formula, Lanes lanes) {
  constexpr std::string_view suffixes[] = {"f32", "f64", "i32", "i64", "", ""};
  for (const std::string& word : words_of(formula)) {
    if (!device::has_function(word)) continue;
    std::string_view suffix = suffixes[static_cast<size_t>(lanes)];
    source_.functions.insert(suffix.empty() ? word : fmt::format("{}.{}", word, suffix));
  }
}

std::string Emitter::rounded(std::string text, DType dtype) {
  if (dtype == DType::bf16) return fmt::format("round_bf16({})", text);
  if (dtype == DType::f16) return fmt::format("round_f16({})", text);
  if (dtype == DType::u8) return (is_compound(text) ? "(" + text + ")" : text) + " & 255";
  return text;
}

// Stores round by themselves.
bool Emitter::rounded_by_stores(const std::string& name) const {
  auto uses = uses_.find(name);
  return uses != uses_.end() && uses->second == std::set<std::string>{"store"} &&
         !in_subscripts_.contains(name);
}

Lanes Emitter::result_lanes(const Let& let) const {
  if (let.dtype != DType::boolean) return lanes_of(let.dtype);
  if (let.op == Op::select) return Lanes::m32;
  bool wide = true;
  for (size_t i = 0; i < let.operands.size(); i++) {
    Lanes lanes = operand_lanes(let.operands[i], let.operand_dtypes[i]);
    bool literal_mask =
        std::holds_alternative<Literal>(let.operands[i]) && let.operand_dtypes[i] == DType::boolean;
    wide =
        wide && (lanes == Lanes::f64 || lanes == Lanes::i64 || lanes == Lanes::m64 || literal_mask);
  }
  return wide && !let.operands.empty() ? Lanes::m64 : Lanes::m32;
}

// What a mask operand has to be as wide as.
std::string Emitter::let_text(const Let& let, int vector) {
  if (let.op == Op::cast) return cast_text(let, vector);
  auto operand = [&](size_t i, Lanes mask, bool splat) {
    std::string text = operand_text(let.operands[i], let.operand_dtypes[i], vector, splat);
    Lanes lanes = operand_lanes(let.operands[i], let.operand_dtypes[i]);
    return is_mask(lanes) ? as_lanes(text, lanes, mask) : text;
  };
  Lanes result = result_lanes(let);
  if (let.op == Op::select) {
    bool wide = result == Lanes::f64 || result == Lanes::i64;
    return fmt::format("select({}, {}, {})", operand(0, wide ? Lanes::m64 : Lanes::m32, false),
                       operand(1, Lanes::m32, false), operand(2, Lanes::m32, false));
  }
  DType dtype = let.operand_dtypes[0];
  std::string_view formula = formula_of(op_info(let.op), dtype);
  INGOT_CHECK(!formula.empty(), "kernel {}: {} has no formula for {}", kernel_.name,
              op_name(let.op), dtype_name(dtype));
  note_functions(formula, lanes_of(dtype));
  bool all_literals = std::ranges::none_of(
      let.operands, [](const Operand& o) { return std::holds_alternative<std::string>(o); });
  std::vector<std::string> operands, attrs;
  for (size_t i = 0; i < let.operands.size(); i++) {
    bool splat = all_literals || is_call_argument(formula, static_cast<char>('a' + i));
    operands.push_back(operand(i, result, splat));
  }
  for (double attr : let.attrs) attrs.push_back(attr_text(attr, compute_dtype(dtype)));
  return formula_text(formula, operands, attrs);
}

std::string Emitter::cast_text(const Let& let, int vector) {
  DType from = let.operand_dtypes[0], to = let.dtype;
  Lanes in = operand_lanes(let.operands[0], from), out = lanes_of(to);
  std::string x = operand_text(let.operands[0], from, vector, true);
  if (to == DType::boolean) {
    return is_mask(in) ? as_lanes(x, in, out)
                       : fmt::format("{} != {}", x, literal_text(Literal{}, compute_dtype(from)));
  }
  if (is_mask(in)) {
    bool wide = out == Lanes::f64 || out == Lanes::i64;
    DType type = compute_dtype(to);
    return fmt::format("select({}, {}, {})", as_lanes(x, in, wide ? Lanes::m64 : Lanes::m32),
                       literal_text({1, 1}, type), literal_text({0, 0}, type));
  }
  if (to == DType::u8 && is_float(from)) {
    x = fmt::format("at_most(at_least({}, {}), {})", x, real_text(0, in), real_text(255, in));
  }
  if (in == out) return x;
  constexpr std::string_view names[] = {"f32", "f64", "i32", "i64", "", ""};
  bool narrow_float = to == DType::bf16 || to == DType::f16;
  if (narrow_float && in == Lanes::f64) return fmt::format("to_f32_odd({})", x);
  return fmt::format("to_{}({})", names[static_cast<size_t>(out)], x);
}

void Emitter::emit(const Let& let) {
  bool varying =
      block_ && std::ranges::any_of(let.operands, [&](const Operand& o) { return is_varying(o); });
  bool exact =
      let.op == Op::select || (let.op == Op::cast && let.operand_dtypes[0] == DType::boolean);
  bool unrounded = exact || rounded_by_stores(let.name);
  define(let.name, let.dtype, result_lanes(let), varying, [&](int vector, const std::string&) {
    std::string text = let_text(let, vector);
    return unrounded ? text : rounded(std::move(text), let.dtype);
  });
}

void Emitter::emit(const Load& load) {
  bool varying = block_ && is_varying(Stmt(load));
  if (load.report >= 0) report_failed_guard(load, varying);
  if (!varying && in_subscripts_.contains(load.name) && !is_float(load.dtype)) {
    return emit_subscript_load(load);
  }
  if (varying && block_->prefetch_bytes > 0 && load.guards.empty()) prefetch(load);
  bool lane_function = false;
  define(load.name, load.dtype, lanes_of(load.dtype), varying,
         [&](int vector, const std::string& name) {
           if (!by_lane(load, vector)) return load_text(load, vector);
           if (!lane_function) emit_lane_load(load, name);
           lane_function = true;
           return gather_text(load.dtype, name, vector);
         });
}

bool Emitter::by_lane(const Load& load, int vector) const {
  return block_ &&
         (access(load.index, vector).kind == Access::lanes || differs_by_lane(load.guards, vector));
}

std::string Emitter::gather_text(DType dtype, const std::string& name, int vector) const {
  return fmt::format("gather_{}({}_at, {}{})", dtype_name(dtype), name, 16 * vector,
                     lanes_argument());
}

// A function of the place in the chunk, called for every lane.
void Emitter::emit_lane_function(const std::string& name, std::string_view result,
                                 const std::vector<std::string>& body) {
  std::string head =
      fmt::format("const auto {}_at = [&](long l) ALWAYS_INLINE -> {} {{", name, result);
  std::string joined = fmt::format("{} {} }};", head, join(body, " "));
  if (2 * depth_ + joined.size() <= line_width) return line(joined);
  open(head);
  for (const std::string& text : body) line(text);
  close("};");
}

void Emitter::emit_lane_load(const Load& load, const std::string& name) {
  std::string element =
      fmt::format("{}[{}]", buffers_.at(load.buffer), subscript(lane_index(load.index)));
  std::string otherwise = stored_text(load.otherwise, load.dtype);
  std::vector<std::string> body;
  if (load.guards.empty()) {
    body.push_back(fmt::format("return {};", element));
  } else if (load.report >= 0) {
    body.push_back(fmt::format("if ({}) return {};", lane_condition(load.guards), element));
    body.push_back(fmt::format("*call->report = {};", load.report + 1));
    body.push_back(fmt::format("return {};", otherwise));
  } else {
    body.push_back(
        fmt::format("return {} ? {} : {};", lane_condition(load.guards), element, otherwise));
  }
  emit_lane_function(name, storage_type(load.dtype), body);
}

// Guards that are the same for all lanes; others are reported lane by lane where they are tested.
void Emitter::report_failed_guard(const Load& load, bool varying) {
  std::set<std::string> written;
  for (int vector : varying ? block_->vectors : std::vector<int>{0}) {
    if (differs_by_lane(load.guards, vector)) continue;
    std::string text = fmt::format("if (!({})) *call->report = {};", condition(load.guards, vector),
                                   load.report + 1);
    if (written.insert(text).second) line(text);
  }
}

// An integer that is the same for all lanes and stands in subscripts is a plain `long`.
void Emitter::emit_subscript_load(const Load& load) {
  std::string at = fmt::format("{}[{}]", buffers_.at(load.buffer), subscript(load.index));
  if (!load.guards.empty()) {
    at = fmt::format("{} ? {} : {}", condition(load.guards, 0), at,
                     stored_text(load.otherwise, load.dtype));
  }
  Value value;
  value.dtype = load.dtype;
  value.lanes = lanes_of(load.dtype);
  value.subscript = names_.unique(load.name);
  line(fmt::format("const long {} = {};", value.subscript, at));
  if (uses_.contains(load.name)) {
    value.name = names_.unique(load.name + "_lanes");
    std::string scalar = value.lanes == Lanes::i64 ? value.subscript : "(int)" + value.subscript;
    line(fmt::format("const {} {} = {};", vector_type(value.lanes), value.name,
                     splat_text(scalar, value.lanes)));
  }
  values_[load.name] = std::move(value);
}

void Emitter::prefetch(const Load& load) {
  int first = block_->vectors.front();
  // What every iteration of the phase reads again stays in a cache by itself.
  if (!load.index.uses(phase_var_) || access(load.index, first).kind != Access::contiguous) return;
  int64_t bytes = 16 * byte_size(load.dtype) * static_cast<int64_t>(block_->vectors.size());
  line(fmt::format("prefetch_lines<{}>((const char*)({}) + {});", std::max<int64_t>(bytes / 64, 1),
                   pointer(load.buffer, access(load.index, first).index), block_->prefetch_bytes));
}

std::string Emitter::load_text(const Load& load, int vector) {
  std::string_view name = dtype_name(load.dtype);
  const std::string& buffer = buffers_.at(load.buffer);
  std::string otherwise = stored_text(load.otherwise, load.dtype);
  Access at = block_ ? access(load.index, vector) : Access{Access::uniform, load.index};
  std::string holds = load.guards.empty() ? "" : condition(load.guards, vector);
  if (at.kind == Access::uniform) {
    std::string element = fmt::format("{}[{}]", buffer, subscript(at.index));
    if (!holds.empty()) element = fmt::format("{} ? {} : {}", holds, element, otherwise);
    bool plain = load.dtype == compute_dtype(load.dtype) && load.dtype != DType::boolean;
    return fmt::format("{}_{}({})", plain ? "splat" : "broadcast", name, element);
  }
  std::string text =
      fmt::format("load_{}({}{})", name, pointer(load.buffer, at.index), lanes_argument());
  if (holds.empty()) return text;
  Operand other = load.otherwise;
  return fmt::format("{} ? {} : {}", holds, text, operand_text(other, load.dtype, vector, true));
}

void Emitter::emit(const IndexValue& index) {
  bool varying = block_ && is_varying(Stmt(index));
  Lanes lanes = lanes_of(index.dtype);
  if (index.dtype == DType::boolean) {
    bool lane_function = false;
    return define(index.name, index.dtype, lanes, varying,
                  [&](int vector, const std::string& name) {
                    if (!differs_by_lane(index.guards, vector)) {
                      return fmt::format("broadcast_bool({})", condition(index.guards, vector));
                    }
                    if (!lane_function) {
                      emit_lane_function(name, "bool",
                                         {fmt::format("return {};", lane_condition(index.guards))});
                    }
                    lane_function = true;
                    return gather_text(DType::boolean, name, vector);
                  });
  }
  DType stored = compute_dtype(index.dtype);
  bool lane_function = false;
  define(index.name, index.dtype, lanes, varying, [&](int vector, const std::string& name) {
    Access at = access(index.value, vector);
    if (at.kind == Access::uniform) {
      std::string scalar = fmt::format("({})({})", storage_type(stored), subscript(at.index));
      return rounded(splat_text(scalar, lanes), index.dtype);
    }
    if (!lane_function) {
      std::string value = subscript(lane_index(index.value));
      emit_lane_function(name, storage_type(stored), {fmt::format("return {};", value)});
    }
    lane_function = true;
    return rounded(gather_text(stored, name, vector), index.dtype);
  });
}

std::string Emitter::combine_text(Op op, DType dtype, const std::string& a, const std::string& b) {
  std::string_view formula = formula_of(op_info(op), dtype);
  note_functions(formula, lanes_of(dtype));
  return formula_text(formula, {a, b}, {});
}

void Emitter::emit(const Accumulator& acc) {
  Value value;
  value.dtype = acc.dtype;
  value.lanes = lanes_of(acc.dtype);
  value.reduction = acc.op;
  value.lane_accumulator = acc.lanes == 64;
  value.varying = block_.has_value();
  value.name = names_.unique(acc.name);
  std::string identity =
      splat_text(literal_text(accumulator_identity(acc.op, acc.dtype), acc.dtype), value.lanes);
  std::vector<std::string> names;
  if (value.lane_accumulator) {
    for (int i = 0; i < 4; i++) names.push_back(fmt::format("{}_{}", value.name, i));
  } else if (block_) {
    for (int vector : block_->vectors) names.push_back(vector_name(value, vector));
  } else {
    names.push_back(value.name);
  }
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    parts.push_back(fmt::format("{} = {}", name, parts.empty() ? identity : names[0]));
  }
  row(fmt::format("{} ", vector_type(value.lanes)), parts, ",");
  accumulators_[acc.name] = std::move(value);
}

void Emitter::emit(const Accumulate& accumulate) {
  const Value& acc = accumulators_.at(accumulate.accumulator);
  std::vector<std::string> parts;
  for (int vector : block_ ? block_->vectors : std::vector<int>{0}) {
    std::string target = vector_name(acc, vector);
    if (acc.lane_accumulator) {
      auto stand_in = block_->accumulators.find(accumulate.accumulator);
      target = stand_in != block_->accumulators.end() ? stand_in->second
                                                      : fmt::format("{}_{}", acc.name, vector);
    }
    std::string operand = as_lanes(operand_text(accumulate.value, acc.dtype, vector, true),
                                   operand_lanes(accumulate.value, acc.dtype), acc.lanes);
    std::string text = combine_text(acc.reduction, acc.dtype, target, operand);
    if (acc.lane_accumulator && block_->masked) {
      bool wide = acc.lanes == Lanes::f64 || acc.lanes == Lanes::i64;
      text = fmt::format("select({}, {}, {})", wide ? "to_m64(live)" : "live", text, target);
    }
    parts.push_back(fmt::format("{} = {}", target, text));
  }
  row("", parts, ";");
}

void Emitter::emit(const Finish& finish) {
  const Value acc = accumulators_.at(finish.accumulator);
  bool varying = acc.varying;
  define(finish.name, finish.dtype, lanes_of(finish.dtype), varying,
         [&](int vector, const std::string&) {
           if (!acc.lane_accumulator) return rounded(vector_name(acc, vector), finish.dtype);
           auto part = [&](int i) { return fmt::format("{}_{}", acc.name, i); };
           auto combine = [&](const std::string& a, const std::string& b) {
             return combine_text(acc.reduction, acc.dtype, a, b);
           };
           std::string tree = combine(combine(part(0), part(2)), combine(part(1), part(3)));
           if (acc.lanes == Lanes::m32) {
             bool any = acc.reduction == Op::any;
             return fmt::format("broadcast_bool({})", any ? fmt::format("any({})", tree)
                                                          : fmt::format("!any(not_({}))", tree));
           }
           std::string scalar = fmt::format("lanes_{}({})", op_name(acc.reduction), tree);
           return rounded(splat_text(scalar, acc.lanes), finish.dtype);
         });
}

void Emitter::emit(const Store& store) {
  DType dtype = buffer_dtypes_.at(store.buffer);
  std::string_view name = dtype_name(dtype);
  std::string lane_function;
  std::vector<std::string> parts;
  for (int vector : block_ ? block_->vectors : std::vector<int>{0}) {
    std::string text =
        as_lanes(operand_text(store.value, dtype, vector, true), operand_lanes(store.value, dtype),
                 dtype == DType::boolean ? Lanes::m32 : lanes_of(dtype));
    Access at = access(store.index, vector);
    std::string place = at.kind == Access::lanes ? "" : pointer(store.buffer, at.index);
    if (!block_) {
      parts.push_back(fmt::format("store_{}({}, {}, 1)", name, place, text));
    } else if (at.kind != Access::contiguous) {
      if (lane_function.empty()) {
        lane_function = names_.unique(buffers_.at(store.buffer) + "_place");
        std::string lane_place = pointer(store.buffer, lane_index(store.index));
        emit_lane_function(lane_function, fmt::format("{}*", storage_type(dtype)),
                           {fmt::format("return {};", lane_place)});
      }
      parts.push_back(fmt::format("scatter_{}({}_at, {}, {}{})", name, lane_function, 16 * vector,
                                  text, lanes_argument()));
    } else if (store.mode == StoreMode::streaming && can_stream(dtype) && !block_->masked &&
               aligned(store.index)) {
      streams_ = source_.needs_alignment = true;
      parts.push_back(fmt::format("stream_{}({}, {})", name, place, text));
    } else {
      parts.push_back(fmt::format("store_{}({}, {}{})", name, place, text, lanes_argument()));
    }
  }
  row("", parts, ";");
}

void Emitter::emit(const Product& product) {
  std::vector<std::string> sizes, names;
  for (const auto& [name, size] : product.sizes) {
    names.push_back(name);
    sizes.push_back(subscript(size));
  }
  open("{");
  line(fmt::format("// {}", join(names, ", ")));
  line(fmt::format("const long sizes[] = {{{}}};", join(sizes, ", ")));
  line(fmt::format("call->product(call, \"{}.{}\", sizes, {}, {}, {});", product.routine,
                   dtype_name(product.dtype), pointer(product.lhs, product.lhs_index),
                   pointer(product.rhs, product.rhs_index),
                   pointer(product.dst, product.dst_index)));
  close();
}

void Emitter::emit(const std::shared_ptr<Loop>& loop) {
  if (loop->kind == LoopKind::vector) return vector_loop(*loop);
  ranges_.insert_or_assign(loop->var, loop->extent);
  std::string extent = subscript(loop->extent);
  names_.open();
  std::string var = names_.unique(loop->var);
  variables_[loop->var] = var;
  open(fmt::format("for (long {0} = 0; {0} < {1}; {0}++) {{", var, extent));
  statements(loop->body);
  close();
  names_.close();
}

std::string Emitter::pointer(const std::string& buffer, const Sym& index) const {
  std::string text = subscript(index);
  return text == "0" ? buffers_.at(buffer) : fmt::format("{} + {}", buffers_.at(buffer), text);
}

}  // namespace ingot
