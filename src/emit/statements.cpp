// Statements: every definition of the IR is one line of text.
#include <algorithm>

#include "base/cuda_threads.h"
#include "device/library.h"
#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

namespace {

std::string_view formula_of(const OpInfo& info, Form form, DType dtype, bool cuda) {
  const auto which = static_cast<size_t>(form);
  if (cuda && !info.cuda[which].empty()) return info.cuda[which];
  if (form != Form::full) return info.shorter[which];
  if (dtype == DType::boolean) return info.boolean_formula;
  return is_float(dtype) ? info.float_formula : info.integer_formula;
}

std::string_view element_name(Lanes lanes) {
  constexpr std::string_view names[] = {"f32", "f64", "i32", "i64", "u64", "", ""};
  return names[static_cast<size_t>(lanes)];
}

// A float as an integer: truncated, then within the dtype's range.
std::string saturated_text(const std::string& x, Lanes in, DType to) {
  DType compute = compute_dtype(to);
  std::string text = fmt::format("to_{}({})", element_name(lanes_of(to)), x);
  if (compute == to) return text;
  IntegerLimits limits = integer_limits(to);
  // Before it is an integer, where that holds both ends; then out of range costs nothing more.
  if (in != Lanes::f64 && to == DType::u32) {
    return fmt::format("minimum(maximum({}, 0L), {}L)", text, limits.highest);
  }
  auto end = [&](int64_t value) { return real_text(static_cast<double>(value), in); };
  return fmt::format("to_{}(at_most(at_least({}, {}), {}))", element_name(lanes_of(to)), x,
                     end(limits.lowest), end(limits.highest));
}

// Whether NaN needs no care in rounding: what an op makes of NaN operands of bf16 has the lower
// half of an operand, zeros, or that of a constant.
bool keeps_nan(const Let& let) {
  return let.dtype == DType::bf16 &&
         std::ranges::all_of(let.operand_dtypes, [](DType type) { return type == DType::bf16; });
}

// Loads of several iterations on their way at once; more of them where there is little else, and
// never more than there are: a loop that is too short for that runs one load after the other.
std::string unrolled_text(const Loop& loop) {
  constexpr int64_t two = 2, few = 8, many = 32;
  if (loop.extent.constant() && *loop.extent.constant() <= few) return "#pragma unroll";
  const int64_t work = arithmetic(loop);
  const std::optional<int64_t> most = longest_loop(loop.extent);
  const int64_t unrolled = work > much_arithmetic              ? two
                           : work == 0 && most && *most > many ? many
                                                               : few;
  return fmt::format("#pragma unroll {}", unrolled);
}

}  // namespace

void Emitter::statements(const std::vector<Stmt>& body) {
  for (size_t i = 0; i < body.size(); i++) {
    statement(body[i]);
    const auto fills = [&](size_t k) {
      return k < body.size() && std::holds_alternative<Transpose>(body[k]);
    };
    if (target_.cuda && fills(i) && !fills(i + 1)) line("__syncthreads();");
  }
}

void Emitter::statement(const Stmt& stmt) {
  std::visit([this](const auto& s) { emit(s); }, stmt);
}

void Emitter::define(const std::string& name, DType dtype, Lanes lanes, bool varying,
                     const std::function<std::string(const std::string& text_name)>& expression) {
  EmittedValue value;
  value.dtype = dtype;
  value.lanes = lanes;
  value.varying = varying;
  value.name = names_.unique(name);
  std::string text = expression(value.name);
  std::string head = fmt::format("const {} {} =", vector_type(lanes), value.name);
  if (2 * depth_ + head.size() + text.size() + 2 <= line_width) {
    line(fmt::format("{} {};", head, text));
  } else {
    line(head);
    line(fmt::format("    {};", text));
  }
  if (in_subscripts_.contains(name) && !is_float(dtype)) define_subscript(value);
  values_[name] = std::move(value);
}

// Subscripts need plain integers: the first lane, or an array of all where they differ.
void Emitter::define_subscript(EmittedValue& value) {
  std::string wide = value.lanes == Lanes::i64 ? value.name : fmt::format("to_i64({})", value.name);
  if (value.varying) {
    value.subscript = value.name + "_index[l]";
    line(fmt::format("alignas(64) long {}_index[{}];", value.name, target_.lanes));
    line(fmt::format("store_i64({}_index, {});", value.name, wide));
  } else {
    value.subscript = value.name + "_index";
    line(fmt::format("const long {} = first_lane({});", value.subscript, wide));
  }
}

Lanes Emitter::operand_lanes(const Operand& operand, DType dtype) const {
  const auto* name = std::get_if<std::string>(&operand);
  return name != nullptr ? value(*name).lanes : lanes_of(dtype);
}

std::string Emitter::operand_text(const Operand& operand, DType dtype, bool splat) const {
  if (const auto* name = std::get_if<std::string>(&operand)) return value(*name).name;
  std::string text = literal_text(std::get<Literal>(operand), dtype);
  return splat || dtype == DType::boolean ? splat_text(text, lanes_of(dtype)) : text;
}

void Emitter::note_functions(std::string_view formula, Lanes lanes) {
  std::string_view type = element_name(lanes);
  for (const std::string& word : words_of(formula)) {
    if (!device::has_function(word)) continue;
    if (const std::string setup = word + "_setup"; device::has_function(setup)) {
      setups_.insert(setup);
      source_.functions.insert(setup);
    }
    source_.functions.insert(type.empty() ? word : fmt::format("{}.{}", word, type));
  }
}

std::string Emitter::rounded(std::string text, DType dtype) const {
  if (dtype == DType::bf16) return fmt::format("round_bf16({})", text);
  if (dtype == DType::f16) return fmt::format("round_f16({})", text);
  if (dtype == DType::f8e4m3 || dtype == DType::f8e5m2) {
    return fmt::format("round_{}({})", dtype_name(dtype), text);
  }
  if (!is_integer(dtype) || compute_dtype(dtype) == dtype) return text;
  if (is_compound(text)) text = "(" + text + ")";
  if (dtype == DType::u8) return text + " & 255";
  if (dtype == DType::u16) return text + " & 65535";
  if (dtype == DType::u32) return text + " & 4294967295L";
  return fmt::format("({0} << {1}) >> {1}", text, 32 - 8 * byte_size(dtype));
}

// Stores round by themselves.
bool Emitter::rounded_by_stores(const std::string& name) const {
  auto uses = uses_.find(name);
  return uses != uses_.end() && uses->second == std::set<std::string>{"store"} &&
         !in_subscripts_.contains(name);
}

// A mask is as wide as the operands it comes from; one for a select is made as wide as what it
// selects.
Lanes Emitter::result_lanes(const Let& let) const {
  if (let.dtype != DType::boolean) return lanes_of(let.dtype);
  if (!counted_comparison(let).empty()) return Lanes::m32;
  if (let.op == Op::select || let.op == Op::cast) return Lanes::m32;
  bool wide = false;
  for (size_t i = 0; i < let.operands.size(); i++) {
    Lanes lanes = operand_lanes(let.operands[i], let.operand_dtypes[i]);
    if (lanes == Lanes::m32 && std::holds_alternative<std::string>(let.operands[i])) {
      return Lanes::m32;
    }
    wide = wide || is_wide(lanes) || lanes == Lanes::m64;
  }
  return wide ? Lanes::m64 : Lanes::m32;
}

// Numbers that count from lane to lane, compared with one that is the same in all: the lane where
// they are equal, or an end beyond the lanes, is compared with the lanes' own numbers in 32 bits.
std::string Emitter::counted_comparison(const Let& let) const {
  const bool fits = !target_.cuda && let.dtype == DType::boolean && let.operands.size() == 2 &&
                    let.operand_dtypes[0] == DType::i64 && let.operand_dtypes[1] == DType::i64;
  if (!fits) return {};
  for (size_t counted : {0, 1}) {
    const auto* index = std::get_if<std::string>(&let.operands[counted]);
    const auto* other = std::get_if<std::string>(&let.operands[1 - counted]);
    if (index == nullptr || value(*index).counts_from.empty()) continue;
    if (other != nullptr && value(*other).varying) return {};
    std::string number = operand_text(let.operands[1 - counted], DType::i64, false);
    if (other != nullptr) {
      const std::string& plain = value(*other).subscript;
      number = plain.empty() ? fmt::format("first_lane({})", number) : plain;
    }
    const std::string lane =
        fmt::format("splat_i32(lane_counted({}, {}))", number, value(*index).counts_from);
    const std::string_view formula = formula_of(op_info(let.op), Form::full, DType::i32, false);
    return counted == 0 ? formula_text(formula, {"lane_numbers()", lane}, {})
                        : formula_text(formula, {lane, "lane_numbers()"}, {});
  }
  return {};
}

std::string Emitter::let_text(const Let& let) {
  if (let.op == Op::cast) return cast_text(let);
  if (std::string text = counted_comparison(let); !text.empty()) return text;
  auto operand = [&](size_t i, Lanes mask, bool splat) {
    std::string text = operand_text(let.operands[i], let.operand_dtypes[i], splat);
    Lanes lanes = operand_lanes(let.operands[i], let.operand_dtypes[i]);
    return is_mask(lanes) ? as_lanes(text, lanes, mask) : text;
  };
  Lanes result = result_lanes(let);
  if (let.op == Op::select) {
    return fmt::format("select({}, {}, {})",
                       operand(0, is_wide(result) ? Lanes::m64 : Lanes::m32, false),
                       operand(1, Lanes::m32, false), operand(2, Lanes::m32, false));
  }
  DType dtype = let.operand_dtypes[0];
  std::string_view formula = formula_of(op_info(let.op), let.form, dtype, target_.cuda);
  if (formula.empty()) {  // of loops that were lowered for another device, as a user may give them
    fail_input({}, fmt::format("kernel {}: {} in the form {} has no formula for {} on {}",
                               kernel_.name, op_name(let.op), form_name(let.form),
                               dtype_name(dtype), target_.cuda ? "a GPU" : "a CPU"));
  }
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

std::string Emitter::cast_text(const Let& let) {
  DType from = let.operand_dtypes[0], to = let.dtype;
  Lanes in = operand_lanes(let.operands[0], from), out = lanes_of(to);
  std::string x = operand_text(let.operands[0], from, true);
  if (to == DType::boolean) {
    if (is_mask(in)) return as_lanes(x, in, out);
    std::string test = fmt::format("{} != {}", x, literal_text(Literal{}, compute_dtype(from)));
    return is_wide(in) ? as_lanes(test, Lanes::m64, out) : test;
  }
  if (is_mask(in)) {
    DType type = compute_dtype(to);
    if (target_.cuda && out == Lanes::f32) {
      return fmt::format("one_where({})", as_lanes(x, in, Lanes::m32));
    }
    return fmt::format("select({}, {}, {})",
                       as_lanes(x, in, is_wide(out) ? Lanes::m64 : Lanes::m32),
                       literal_text({1, 1}, type), literal_text({0, 0}, type));
  }
  if (is_integer(to) && is_float(from)) return saturated_text(x, in, to);
  if (!is_float(from) && to == DType::f8e5m2) {
    x = fmt::format("to_f32({})", x);
    in = out;
  }
  if (to == DType::f8e5m2 && from != to) {  // saturates, where rounding gives an infinity
    x = fmt::format("at_most(at_least({}, {}), {})", x, real_text(-57344, in),
                    real_text(57344, in));
  }
  if (in == out) return x;
  bool twice_rounded = in == Lanes::f64 && is_float(to) && to != DType::f32;
  return twice_rounded ? fmt::format("to_f32_odd({})", x)
                       : fmt::format("to_{}({})", element_name(out), x);
}

void Emitter::emit(const Let& let) {
  bool varying =
      chunk_ && std::ranges::any_of(let.operands, [&](const Operand& o) { return is_varying(o); });
  bool exact =
      let.op == Op::select || (let.op == Op::cast && let.operand_dtypes[0] == DType::boolean);
  bool unrounded = exact || rounded_by_stores(let.name);
  define(let.name, let.dtype, result_lanes(let), varying, [&](const std::string&) {
    std::string text = let_text(let);
    if (!unrounded && !target_.cuda && keeps_nan(let)) {
      text = fmt::format("round_number_bf16({})", text);
    } else if (!unrounded) {
      text = rounded(std::move(text), let.dtype);
    }
    // The same in all lanes: a compiler computes it for each that it cannot tell apart.
    const bool once = target_.warps > 0 && target_.lanes > cuda::row_lanes && !chunk_;
    const Lanes lanes = result_lanes(let);
    return once && !is_mask(lanes) ? splat_text(fmt::format("first_lane({})", text), lanes) : text;
  });
  const auto* from = std::get_if<std::string>(&let.operands[0]);
  if (let.op == Op::cast && let.dtype == DType::f32 && from != nullptr) {
    values_.at(let.name).pairs = value(*from).pairs;
  }
}

void Emitter::emit(const IndexValue& index) {
  bool varying = chunk_ && is_varying(Stmt(index));
  Lanes lanes = lanes_of(index.dtype);
  if (index.report >= 0 && !differs_by_lane(index.guards)) {
    line(fmt::format("if (!({})) {}", condition(index.guards), raised(index)));
  }
  define(index.name, index.dtype, lanes, varying, [&](const std::string& name) {
    return index.dtype == DType::boolean ? within_text(index, name) : index_text(index, name);
  });
  const LaneAccess at = access(index.value);
  const bool counts = at.kind == LaneAccess::contiguous && chunk_ && chunk_->across.empty();
  if (index.dtype == DType::i64 && counts && !uses_varying_values(index.value)) {
    values_.at(index.name).counts_from = subscript(at.index);
  }
}

std::string Emitter::within_text(const IndexValue& index, const std::string& name) {
  if (!differs_by_lane(index.guards)) {
    return fmt::format("broadcast_bool({})", condition(index.guards));
  }
  if (index.report >= 0 || !follows_lanes(index.guards)) {
    std::string holds = lane_condition(index.guards);
    std::vector<std::string> body{fmt::format("return {};", holds)};
    if (index.report >= 0) {
      body = {fmt::format("if ({}) return true;", holds), raised(index), "return false;"};
    }
    lane_function(name, "bool", body);
    return gather_text(DType::boolean, name);
  }
  std::vector<std::string> parts;
  for (const Guard& guard : index.guards) {
    if (differs_by_lane({guard})) {
      Sym first = access(guard.value).index;
      parts.push_back(fmt::format("lanes_between({}, {})", subscript(guard.lo - first),
                                  subscript(guard.hi - first)));
    } else if (std::string holds = condition({guard}); holds != "true") {
      parts.push_back(fmt::format("broadcast_bool({})", holds));
    }
  }
  return join(parts, " & ");
}

std::string Emitter::index_text(const IndexValue& index, const std::string& name) {
  DType stored = compute_dtype(index.dtype);
  Lanes lanes = lanes_of(stored);
  LaneAccess at = access(index.value);
  if (at.kind == LaneAccess::uniform) {
    std::string scalar = fmt::format("({})({})", storage_type(stored), subscript(at.index));
    return rounded(splat_text(scalar, lanes), index.dtype);
  }
  bool counts = at.kind == LaneAccess::contiguous;
  std::optional<Sym> stride = counts ? Sym(1) : lane_index(index.value).stride(lane_var);
  if (uses_varying_values(index.value) || !stride) {
    std::string value = subscript(lane_index(index.value));
    lane_function(name, storage_type(stored), {fmt::format("return {};", value)});
    return rounded(gather_text(stored, name), index.dtype);
  }
  // first + stride * lane in 64 bits, then converted once
  std::string numbers = "to_i64(lane_numbers())", step = subscript(*stride);
  if (target_.cuda && stride->constant()) step += "L";  // an int would wrap at 32 bits
  if (is_compound(step)) step = "(" + step + ")";
  if (!stride->is(1)) numbers = fmt::format("{} * {}", step, numbers);
  std::string text = fmt::format("{} + {}", splat_text(subscript(at.index), Lanes::i64), numbers);
  if (lanes == Lanes::i64) return text;
  return rounded(fmt::format("to_{}({})", element_name(lanes), text), index.dtype);
}

std::string Emitter::combine_text(Op op, DType dtype, const std::string& a, const std::string& b) {
  std::string_view formula = formula_of(op_info(op), Form::full, dtype, false);
  note_functions(formula, lanes_of(dtype));
  return formula_text(formula, {a, b}, {});
}

void Emitter::emit(const Accumulator& acc) {
  EmittedValue value;
  value.dtype = acc.dtype;
  value.lanes = lanes_of(acc.dtype);
  value.reduction = acc.op;
  value.lane_accumulator = acc.lanes > 1;
  value.varying = chunk_.has_value();
  value.untouched = target_.cuda && acc.op == Op::sum && acc.from.empty() &&
                    value.lane_accumulator &&
                    (value.lanes == Lanes::f32 || value.lanes == Lanes::f64);
  value.name = names_.unique(acc.name);
  const bool extreme = acc.op == Op::max || acc.op == Op::min;
  if (!extreme || !value.lane_accumulator) in_pairs_.erase(acc.name);
  if (in_pairs_.contains(acc.name)) {
    const std::string_view infinite = acc.op == Op::max ? "0xff80ff80" : "0x7f807f80";
    line(fmt::format("Pack<unsigned short> {} = every_pair({});", value.name, infinite));
    accumulators_[acc.name] = std::move(value);
    return;
  }
  const std::string start =
      acc.from.empty()
          ? splat_text(literal_text(accumulator_identity(acc.op, acc.dtype), acc.dtype),
                       value.lanes)
          : as_lanes(operand_text(acc.from, acc.dtype, true), operand_lanes(acc.from, acc.dtype),
                     value.lanes);
  line(fmt::format("{} {} = {};", vector_type(value.lanes), value.name, start));
  accumulators_[acc.name] = std::move(value);
}

void Emitter::emit(const Accumulate& accumulate) {
  EmittedValue& acc = accumulators_.at(accumulate.accumulator);
  INGOT_CHECK(!acc.folded, "kernel {}: '{}' is complete", kernel_.name, accumulate.accumulator);
  if (auto part = parts_.find(accumulate.accumulator); part != parts_.end()) {
    std::string value = operand_text(accumulate.value, acc.dtype, true);
    if (parts_in_lanes_) {
      return line(fmt::format("{}[{}] = first_lane({});", part->second, part_place_, value));
    }
    if (target_.blocks > 1) {
      return line(fmt::format("share_part<{}>({} + {}, first_lane({}));", target_.blocks,
                              part->second, part_place_, value));
    }
    return line(
        fmt::format("if (thread == 0) {}[{}] = first_lane({});", part->second, part_place_, value));
  }
  if (in_pairs_.contains(accumulate.accumulator)) {
    const std::string& pack = value(std::get<std::string>(accumulate.value)).pairs;
    const std::string now = chunk_->live.empty()
                                ? pack
                                : fmt::format("where({}, {}, {})", chunk_->live, pack, acc.name);
    return line(fmt::format("{0} = {1}_pairs({0}, {2});", acc.name,
                            acc.reduction == Op::max ? "maximum" : "minimum", now));
  }
  std::string operand = as_lanes(operand_text(accumulate.value, acc.dtype, true),
                                 operand_lanes(accumulate.value, acc.dtype), acc.lanes);
  std::string text = combine_text(acc.reduction, acc.dtype, acc.name, operand);
  if (accumulate.lane) {
    text = fmt::format("where(lane_of{}({}), {}, {})", team_argument(), subscript(*accumulate.lane),
                       text, acc.name);
  } else if (acc.lane_accumulator && !chunk_->live.empty()) {
    text = fmt::format("where({}, {}, {})", chunk_->live, text, acc.name);
  } else if (acc.untouched && chunk_ && !chunk_->step.empty() && !chunk_->conditional) {
    acc.from_first = true;
    text = chunk_->step == "0" ? operand
                               : fmt::format("{} == 0 ? {} : {}", chunk_->step, operand, text);
  }
  acc.untouched = false;
  line(fmt::format("{} = {};", acc.name, text));
}

// A reduction's result in its dtype. The extremes that max and min of nothing give are those of the
// wider type that was computed in: they become the dtype's own.
std::string Emitter::finished(const std::string& text, Op op, DType dtype) const {
  if (!is_integer(dtype) || compute_dtype(dtype) == dtype || (op != Op::max && op != Op::min)) {
    return rounded(text, dtype);
  }
  IntegerLimits limits = integer_limits(dtype);
  DType compute = compute_dtype(dtype);
  return fmt::format("minimum(maximum({}, {}), {})", text,
                     literal_text({0, limits.lowest}, compute),
                     literal_text({0, limits.highest}, compute));
}

void Emitter::emit(const Finish& finish) {
  const EmittedValue acc = accumulators_.at(finish.accumulator);
  define(finish.name, finish.dtype, acc.lanes, acc.varying, [&](const std::string&) {
    if (!acc.lane_accumulator || acc.folded) return finished(acc.name, acc.reduction, finish.dtype);
    if (acc.lanes == Lanes::m32) {
      bool any = acc.reduction == Op::any;
      const std::string any_lane = target_.cuda ? "lanes_any" + team_argument() : "any";
      std::string found =
          fmt::format("{}({})", any_lane, any ? acc.name : fmt::format("not_({})", acc.name));
      return fmt::format("broadcast_bool({}{})", any ? "" : "!", found);
    }
    const bool pairs = in_pairs_.contains(finish.accumulator);
    const std::string lanes = pairs ? fmt::format("lanes_bf16({})", acc.name) : acc.name;
    std::string scalar = fmt::format("lanes_{}{}({}){}", op_name(acc.reduction), team_argument(),
                                     lanes, acc.from_first ? " + 0" : "");
    return finished(splat_text(scalar, acc.lanes), acc.reduction, finish.dtype);
  });
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
  call_line("call->product",
            {"call", fmt::format("\"{}.{}\"", product.routine, dtype_name(product.dtype)), "sizes",
             pointer(product.lhs, product.lhs_index), pointer(product.rhs, product.rhs_index),
             pointer(product.dst, product.dst_index)});
  close();
}

// By the size of an element only.
void Emitter::emit(const Transpose& t) {
  if (target_.cuda) return fill_tile(t);
  const int64_t bytes = byte_size(buffer_dtypes_.at(t.dst));
  const auto [name, type] = bytes == 1   ? std::pair("u8", "unsigned char")
                            : bytes == 2 ? std::pair("u16", "unsigned short")
                            : bytes == 4 ? std::pair("i32", "int")
                                         : std::pair("i64", "long");
  auto place = [&](std::string_view words, const std::string& buffer, const Sym& index) {
    return fmt::format("({}{}*)({})", words, type, pointer(buffer, index));
  };
  call_line(
      fmt::format("transpose_{}", name),
      {place("", t.dst, t.dst_index), subscript(t.dst_stride), place("const ", t.src, t.src_index),
       subscript(t.src_stride), subscript(t.rows), subscript(t.columns)});
}

void Emitter::emit(const std::shared_ptr<Loop>& loop) {
  if (loop->kind == LoopKind::vector) return vector_loop(*loop);
  for (auto& [name, acc] : accumulators_) acc.untouched = false;
  if (loop->kind == LoopKind::spread && target_.warps > 1) return spread_loop(*loop);
  ranges_.insert_or_assign(loop->var, loop->extent);
  std::string extent = extent_name(loop->var, loop->extent);
  names_.open();
  std::string var = names_.unique(loop->var);
  variables_[loop->var] = var;
  const bool innermost = std::ranges::none_of(loop->body, [](const Stmt& stmt) {
    return std::holds_alternative<std::shared_ptr<Loop>>(stmt);
  });
  if (target_.cuda && chunk_ && innermost) line(unrolled_text(*loop));
  open(fmt::format("for (long {0} = 0; {0} < {1}; {0}++) {{", var, extent));
  serial_.push_back(var);
  statements(loop->body);
  serial_.pop_back();
  close();
  names_.close();
}

}  // namespace ingot
