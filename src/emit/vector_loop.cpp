// Vector loops: what is the same for all lanes first, then whole chunks with several vectors
// advanced statement by statement, then the rest a vector at a time.
#include <algorithm>

#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

namespace {

// Bodies longer than this advance two vectors at a time: four would not fit the registers.
constexpr int long_body = 150;

int arithmetic_count(const std::vector<Stmt>& body) {
  int count = 0;
  for (const Stmt& stmt : body) {
    if (std::holds_alternative<Let>(stmt)) count++;
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt)) {
      count += arithmetic_count((*loop)->body);
    }
  }
  return count;
}

template <class F>
void each_name(const std::vector<Guard>& guards, F visit) {
  for (const Guard& guard : guards) {
    for (const Sym* s : {&guard.value, &guard.lo, &guard.hi})
      std::ranges::for_each(s->variables(), visit);
  }
}

// The names that a hoistable statement reads; nullopt for other kinds.
std::optional<std::set<std::string>> names_read(const Stmt& stmt) {
  std::set<std::string> names;
  auto add = [&](const std::string& name) { names.insert(name); };
  if (const auto* let = std::get_if<Let>(&stmt)) {
    for (const Operand& operand : let->operands) {
      if (const auto* name = std::get_if<std::string>(&operand)) names.insert(*name);
    }
  } else if (const auto* load = std::get_if<Load>(&stmt)) {
    names = load->index.variables();
    each_name(load->guards, add);
  } else if (const auto* index = std::get_if<IndexValue>(&stmt)) {
    names = index->value.variables();
    each_name(index->guards, add);
  } else {
    return std::nullopt;
  }
  return names;
}

// Buffers stored to and names defined or accumulated anywhere in a body.
struct Effects {
  std::set<std::string> stored, accumulated;
  explicit Effects(const std::vector<Stmt>& body) { visit(body); }
  void visit(const std::vector<Stmt>& body) {
    for (const Stmt& stmt : body) {
      if (const auto* store = std::get_if<Store>(&stmt)) stored.insert(store->buffer);
      if (const auto* a = std::get_if<Accumulate>(&stmt)) accumulated.insert(a->accumulator);
      if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt)) visit((*loop)->body);
    }
  }
};

std::string defined_name(const Stmt& stmt) {
  if (const auto* let = std::get_if<Let>(&stmt)) return let->name;
  if (const auto* load = std::get_if<Load>(&stmt)) return load->name;
  if (const auto* index = std::get_if<IndexValue>(&stmt)) return index->name;
  if (const auto* finish = std::get_if<Finish>(&stmt)) return finish->name;
  return {};
}

bool multiple_of(const Sym& sym, int64_t n) {
  return sym.constant_part() % n == 0 &&
         std::ranges::all_of(sym.terms(), [&](const Sym::Term& t) { return t.factor % n == 0; });
}

}  // namespace

// How many iterations there are and how they are cut.
struct Emitter::Extent {
  std::string text;
  std::optional<int64_t> constant;
  std::string full;   // end of the whole chunks
  int64_t whole = 0;  // the same, where the extent is constant
  int step = 64;      // elements of a chunk
  int at_once = 4;    // vectors advanced together
  bool main, rest;    // whether there are whole chunks, and a rest
  bool masked;        // the rest ends inside a vector
  bool one_rest() const { return constant && *constant - whole <= 16; }
};

std::vector<Stmt> Emitter::hoist(const Loop& loop, std::vector<Stmt>& rest) const {
  Effects effects(loop.body);
  std::set<std::string> inside{loop.var};
  std::vector<Stmt> hoisted;
  for (const Stmt& stmt : loop.body) {
    std::optional<std::set<std::string>> read = names_read(stmt);
    const auto* load = std::get_if<Load>(&stmt);
    bool fixed =
        read && (load == nullptr || !effects.stored.contains(load->buffer)) &&
        std::ranges::none_of(*read, [&](const std::string& n) { return inside.contains(n); });
    (fixed ? hoisted : rest).push_back(stmt);
    if (!fixed) inside.insert(defined_name(stmt));
  }
  return hoisted;
}

void Emitter::vector_loop(const Loop& loop) {
  std::vector<Stmt> body;
  std::vector<Stmt> hoisted = hoist(loop, body);
  bool lane_accumulators =
      std::ranges::any_of(Effects(loop.body).accumulated, [&](const std::string& name) {
        auto acc = accumulators_.find(name);
        return acc != accumulators_.end() && acc->second.lane_accumulator;
      });
  Extent extent;
  extent.text = subscript(loop.extent);
  extent.constant = loop.extent.constant();
  extent.at_once = arithmetic_count(body) > long_body ? 2 : 4;
  extent.step = lane_accumulators ? 64 : 16 * extent.at_once;
  extent.main = !extent.constant || *extent.constant >= extent.step;
  extent.rest = !multiple_of(loop.extent, extent.step);
  extent.masked = !multiple_of(loop.extent, 16);
  ranges_.insert_or_assign(loop.var, loop.extent);
  // An empty loop must not read what it hoists.
  bool conditional = !extent.constant && std::ranges::any_of(hoisted, [](const Stmt& stmt) {
    return std::holds_alternative<Load>(stmt);
  });
  if (conditional) open(fmt::format("if ({} > 0) {{", extent.text));
  statements(hoisted);
  if (!extent.constant && !loop.extent.variable()) {
    std::string name = names_.unique(loop.var + "_end");
    line(fmt::format("const long {} = {};", name, extent.text));
    extent.text = name;
  }
  if (extent.constant) {
    extent.whole = *extent.constant - *extent.constant % extent.step;
    extent.full = std::to_string(extent.whole);
  } else if (!extent.rest) {
    extent.full = extent.text;
  } else {
    extent.full = full_name(loop.var, fmt::format("{0} - {0} % {1}", extent.text, extent.step));
  }
  if (extent.main) chunks(loop, body, extent);
  if (extent.rest) tail(loop, body, extent);
  if (conditional) close();
}

std::string Emitter::full_name(const std::string& var, const std::string& text) {
  for (const auto& [depth, known, name] : full_names_) {
    if (known == text) return name;
  }
  std::string name = names_.unique(var + "_full");
  line(fmt::format("const long {} = {};", name, text));
  full_names_.emplace_back(depth_, text, name);
  return name;
}

void Emitter::chunks(const Loop& loop, const std::vector<Stmt>& body, const Extent& extent) {
  names_.open();
  Block block;
  block.ir_var = loop.var;
  block.var = names_.unique(loop.var);
  block.step = extent.step;
  block.prefetch_bytes = loop.prefetch_bytes;
  open(fmt::format("for (long {0} = 0; {0} < {1}; {0} += {2}) {{", block.var, extent.full,
                   extent.step));
  int groups = extent.step / 16 / extent.at_once;
  for (int group = 0; group < groups; group++) {
    block.vectors.clear();
    for (int i = 0; i < extent.at_once; i++) block.vectors.push_back(group * extent.at_once + i);
    block_ = block;
    if (groups > 1) open("{");
    statements(body);
    if (groups > 1) close();
  }
  block_.reset();
  close();
  names_.close();
}

void Emitter::tail(const Loop& loop, const std::vector<Stmt>& body, const Extent& extent) {
  names_.open();
  Block block;
  block.ir_var = loop.var;
  block.var = names_.unique(loop.var);
  block.vectors = {0};
  block.step = 16;
  block.masked = extent.masked;
  std::vector<std::string> sums;
  for (const std::string& name : Effects(body).accumulated) {
    auto acc = accumulators_.find(name);
    if (acc != accumulators_.end() && acc->second.lane_accumulator) sums.push_back(name);
  }
  // Which of an accumulator's four vectors a tail vector belongs to is only known at run time, so
  // the four lie in memory meanwhile.
  bool in_memory = !sums.empty() && !extent.one_rest();
  bool braces = in_memory && !extent.constant;
  if (braces) open(fmt::format("if ({} < {}) {{", extent.full, extent.text));
  std::map<std::string, std::string> arrays;
  for (const std::string& name : sums) {
    const Value& acc = accumulators_.at(name);
    if (!in_memory) {
      block.accumulators[name] = acc.name + "_0";
      continue;
    }
    arrays[name] = names_.unique(acc.name + "_rest");
    line(fmt::format("{0} {1}[4] = {{{2}_0, {2}_1, {2}_2, {2}_3}};", vector_type(acc.lanes),
                     arrays[name], acc.name));
  }
  open(fmt::format("for (long {0} = {1}; {0} < {2}; {0} += 16) {{", block.var, extent.full,
                   extent.text));
  if (block.masked) {
    block.lanes = names_.unique("lanes");
    line(fmt::format("const int {0} = {1} - {2} < 16 ? (int)({1} - {2}) : 16;", block.lanes,
                     extent.text, block.var));
    if (!sums.empty()) line(fmt::format("const M32 live = live_lanes({});", block.lanes));
  }
  for (const auto& [name, array] : arrays) {
    const Value& acc = accumulators_.at(name);
    block.accumulators[name] = names_.unique(acc.name + "_part");
    line(fmt::format("{}& {} = {}[{} / 16 % 4];", vector_type(acc.lanes), block.accumulators[name],
                     array, block.var));
  }
  block_ = block;
  statements(body);
  block_.reset();
  close();
  for (const auto& [name, array] : arrays) {
    const std::string& acc = accumulators_.at(name).name;
    line(
        fmt::format("{0}_0 = {1}[0], {0}_1 = {1}[1], {0}_2 = {1}[2], {0}_3 = {1}[3];", acc, array));
  }
  if (braces) close();
  names_.close();
}

bool Emitter::uses_values(const Sym& sym) const {
  return std::ranges::any_of(sym.variables(), [&](const std::string& name) {
    return !ranges_.contains(name) && values_.contains(name);
  });
}

bool Emitter::is_varying(const Sym& sym) const {
  return std::ranges::any_of(sym.variables(), [&](const std::string& name) {
    if (name == block_->ir_var) return true;
    auto found = values_.find(name);
    return !ranges_.contains(name) && found != values_.end() && found->second.varying;
  });
}

bool Emitter::is_varying(const std::vector<Guard>& guards) const {
  return std::ranges::any_of(guards, [&](const Guard& guard) {
    return is_varying(guard.value) || is_varying(guard.lo) || is_varying(guard.hi);
  });
}

bool Emitter::is_varying(const Operand& operand) const {
  const auto* name = std::get_if<std::string>(&operand);
  return name != nullptr && value(*name).varying;
}

bool Emitter::is_varying(const Stmt& stmt) const {
  if (const auto* load = std::get_if<Load>(&stmt)) {
    return is_varying(load->index) || is_varying(load->guards);
  }
  const auto& index = std::get<IndexValue>(stmt);
  return is_varying(index.value) || is_varying(index.guards);
}

// Whether each guard is one condition for all lanes of a vector.
bool Emitter::differs_by_lane(const std::vector<Guard>& guards, int vector) const {
  return block_ && std::ranges::any_of(guards, [&](const Guard& guard) {
           auto differs = [&](const Sym& s) { return access(s, vector).kind != Access::uniform; };
           return differs(guard.value) || differs(guard.lo) || differs(guard.hi);
         });
}

// The subscript of element var + lane_var; the lane counts through the whole chunk.
Sym Emitter::lane_index(const Sym& index) const {
  Sym at = Sym::var(block_->ir_var) + Sym::var(std::string(lane_var));
  return index.substitute({{block_->ir_var, at}});
}

// A loop variable is a multiple of the step at a chunk's start, so that j / 64 or j % 64 may turn
// out to be the same for all lanes, or to follow them.
Access Emitter::access(const Sym& index, int vector) const {
  if (!block_) return {Access::uniform, index};
  bool by_lane = std::ranges::any_of(index.variables(), [&](const std::string& name) {
    auto found = values_.find(name);
    return !ranges_.contains(name) && found != values_.end() && found->second.varying;
  });
  if (by_lane) return {Access::lanes, index};
  auto classify = [&](const Sym& sym) -> std::optional<Access> {
    std::optional<Sym> stride = sym.stride(lane_var);
    if (!stride || (!stride->is(0) && !stride->is(1))) return std::nullopt;
    Sym first = sym.substitute({{std::string(lane_var), Sym(0)}});
    return Access{stride->is(0) ? Access::uniform : Access::contiguous, first};
  };
  Sym plain = Sym::var(block_->ir_var) + Sym(16 * vector) + Sym::var(std::string(lane_var));
  if (std::optional<Access> found = classify(index.substitute({{block_->ir_var, plain}}))) {
    return *found;
  }
  Sym at = Sym(block_->step) * Sym::var(std::string(chunk_var)) + Sym(16 * vector) +
           Sym::var(std::string(lane_var));
  Ranges ranges = uses_values(index) ? Ranges{} : ranges_;
  ranges.insert_or_assign(std::string(lane_var), Sym(16));
  ranges.insert_or_assign(std::string(chunk_var), ranges_.find(block_->ir_var)->second);
  if (std::optional<Access> found = classify(index.substitute({{block_->ir_var, at}}, ranges))) {
    return *found;
  }
  return {Access::lanes, index};
}

std::string Emitter::subscript(const Sym& sym) const {
  return subscript_text(sym, [&](const std::string& name) -> std::string {
    if (name == lane_var) return "l";
    if (block_ && name == chunk_var) return fmt::format("{} / {}", block_->var, block_->step);
    if (block_ && name == block_->ir_var) return block_->var;
    if (auto variable = variables_.find(name); variable != variables_.end())
      return variable->second;
    const Value& v = value(name);
    INGOT_CHECK(!v.subscript.empty(), "kernel {}: '{}' in a subscript is no integer", kernel_.name,
                name);
    return v.subscript;
  });
}

std::string Emitter::condition(const std::vector<Guard>& guards, int vector) const {
  return guards_text(guards, [&](const Sym& s) { return subscript(access(s, vector).index); });
}

std::string Emitter::lane_condition(const std::vector<Guard>& guards) const {
  return guards_text(guards, [&](const Sym& s) { return subscript(lane_index(s)); });
}

std::string Emitter::guards_text(const std::vector<Guard>& guards,
                                 const std::function<std::string(const Sym&)>& text) const {
  std::vector<std::string> parts;
  for (const Guard& guard : guards) {
    bool known = !uses_values(guard.value);
    if (!known || !guard.lo.is(0) || !provably_nonnegative(guard.value, ranges_)) {
      parts.push_back(fmt::format("{} <= {}", text(guard.lo), text(guard.value)));
    }
    if (!known || !provably_nonnegative(guard.hi - guard.value - Sym(1), ranges_)) {
      parts.push_back(fmt::format("{} < {}", text(guard.value), text(guard.hi)));
    }
  }
  return parts.empty() ? "true" : join(parts, " && ");
}

std::string Emitter::lanes_argument() const { return block_->masked ? block_->lanes + ", " : ""; }

// Whether the place of every vector is a multiple of 16 elements, for aligned stores.
bool Emitter::aligned(const Sym& index) const {
  Sym at = Sym(block_->step) * Sym::var(std::string(chunk_var));
  return multiple_of(index.substitute({{block_->ir_var, at}}), 16);
}

}  // namespace ingot
