// Vector loops: what is the same for all lanes first, then chunks of 64 elements, one vector each;
// of the last one only some lanes may be live. A vector is as many registers as it takes, so that
// every line advances several of them side by side.
#include <algorithm>
#include <array>

#include "emit/cpp_emitter.h"

namespace ingot {

using namespace loop;

namespace {

// The names that a hoistable statement reads; nullopt for other kinds.
std::optional<std::set<std::string>> names_read(const Stmt& stmt) {
  std::set<std::string> names;
  auto add_guards = [&](const std::vector<Guard>& guards) {
    for (const Guard& guard : guards) {
      for (const Sym* s : {&guard.value, &guard.lo, &guard.hi}) names.merge(s->variables());
    }
  };
  if (const auto* let = std::get_if<Let>(&stmt)) {
    for (const Operand& operand : let->operands) {
      if (const auto* name = std::get_if<std::string>(&operand)) names.insert(*name);
    }
  } else if (const auto* load = std::get_if<Load>(&stmt)) {
    names = load->index.variables();
    add_guards(load->guards);
    names.merge(load->reported.variables());
  } else if (const auto* index = std::get_if<IndexValue>(&stmt)) {
    names = index->value.variables();
    add_guards(index->guards);
    names.merge(index->reported.variables());
  } else {
    return std::nullopt;
  }
  return names;
}

// Buffers stored to, and accumulators that are added to, anywhere in a body.
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

void add_defined(const std::vector<Stmt>& body, std::set<std::string>& names) {
  for (const Stmt& stmt : body) {
    names.insert(defined_name(stmt));
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt)) {
      names.insert((*loop)->var);
      add_defined((*loop)->body, names);
    }
  }
}

template <class F>
void each_access(const std::vector<Stmt>& body, const F& visit) {
  for (const Stmt& stmt : body) {
    if (const auto* load = std::get_if<Load>(&stmt)) visit(load->buffer, load->index);
    if (const auto* store = std::get_if<Store>(&stmt)) visit(store->buffer, store->index);
    if (const auto* hint = std::get_if<Prefetch>(&stmt)) visit(hint->buffer, hint->index);
    if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&stmt)) {
      each_access((*loop)->body, visit);
    }
  }
}

constexpr size_t long_place = 32;  // characters

// The statements that do not depend on what is `inside`.
std::vector<Stmt> hoist(const std::vector<Stmt>& body, std::set<std::string> inside,
                        std::vector<Stmt>& rest) {
  Effects effects(body);
  std::vector<Stmt> hoisted;
  for (const Stmt& stmt : body) {
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

}  // namespace

void Emitter::vector_loop(const Loop& loop) {
  const bool across = !loop.across.empty();
  INGOT_CHECK(!across || !target_.cuda, "kernel {}: rows side by side on a GPU", kernel_.name);
  std::set<std::string> variables{loop.var};
  if (across) variables.insert(loop.across);
  std::vector<Stmt> inner, body, by_row;
  std::vector<Stmt> hoisted = hoist(loop.body, variables, inner);
  if (across) {
    by_row = hoist(inner, {loop.var}, body);
    ranges_.insert_or_assign(loop.across, Sym(across_rows));
  } else {
    body = std::move(inner);
  }
  std::string extent = extent_name(loop.var, loop.extent);
  std::optional<int64_t> constant = loop.extent.constant();
  ranges_.insert_or_assign(loop.var, loop.extent);
  // An empty loop must not read what it hoists, nor report.
  auto reads = [](const Stmt& stmt) {
    const auto* index = std::get_if<IndexValue>(&stmt);
    return std::holds_alternative<Load>(stmt) || (index != nullptr && index->report >= 0);
  };
  bool conditional =
      !constant && (std::ranges::any_of(hoisted, reads) || std::ranges::any_of(by_row, reads));
  if (conditional) open(fmt::format("if ({} > 0) {{", extent));
  if (!constant || *constant > 0) statements(hoisted);
  Chunk chunk;
  chunk.ir_var = loop.var;
  chunk.across = loop.across;
  chunk.inside = {loop.var};
  add_defined(body, chunk.inside);
  chunk_ = chunk;
  declare_rows(body);
  if (!constant || *constant > 0) statements(by_row);
  chunk_.reset();
  const int64_t step = across ? across_columns : target_.lanes;
  const bool whole = multiple_of(loop.extent, step);
  std::optional<std::string> packs;
  if (target_.cuda && !whole && !constant) packs = packs_condition(body, chunk, extent);
  if (packs) {
    const std::string fits = names_.unique("whole_packs");
    line(fmt::format("const bool {} =", fits));
    line(fmt::format("    {};", *packs));
    chunk.whole_packs = true;
    open(fmt::format("if ({}) {{", fits));
    chunks(loop, body, chunk, extent, true);
    close();
    chunk.whole_packs = false;
    open(fmt::format("if (!{}) {{", fits));
  }
  if (std::optional<Sym> block = usual_length(loop)) {
    // Of a row in blocks, all but the last: without a condition around each load.
    Loop usual = loop;
    usual.extent = *block;
    open(fmt::format("if ({} == {}) {{", extent, block->text()));
    ranges_.insert_or_assign(loop.var, usual.extent);
    chunks(usual, body, chunk, block->text(), true);
    ranges_.insert_or_assign(loop.var, loop.extent);
    close();
    open(fmt::format("if ({} != {}) {{", extent, block->text()));
    chunks(loop, body, chunk, extent, whole);
    close();
  } else {
    chunks(loop, body, chunk, extent, whole);
  }
  if (packs) close();
  rows_.clear();
  if (conditional) close();
}

void Emitter::chunks(const Loop& loop, const std::vector<Stmt>& body, Chunk chunk,
                     const std::string& extent, bool whole) {
  const int64_t step = chunk.across.empty() ? target_.lanes : across_columns;
  const std::optional<int64_t> constant = loop.extent.constant();
  names_.open();
  chunk.var = names_.unique(loop.var);
  if (target_.cuda) {
    open_thread_chunks(loop, chunk, extent, whole);
  } else if (!whole && constant && *constant < target_.lanes) {
    open("{");
    line(fmt::format("const long {} = 0;", chunk.var));
  } else {
    open(fmt::format("for (long {0} = 0; {0} < {1}; {0} += {2}) {{", chunk.var, extent, step));
  }
  if (!whole) {
    chunk.live = names_.unique("live");
    line(fmt::format("const Live {} = first_lanes({} - {});", chunk.live, extent, chunk.var));
  }
  chunk_ = chunk;
  statements(body);
  chunk_.reset();
  if (chunk.conditional) close();
  close();
  names_.close();
}

// Of a loop whose length or places are known at run time only: that each chunk is a whole pack in
// memory. Nothing where that cannot be told before the loop.
std::optional<std::string> Emitter::packs_condition(const std::vector<Stmt>& body,
                                                    const Chunk& chunk, const std::string& extent) {
  std::vector<std::string> conditions = {fmt::format("{} % {} == 0", extent, target_.lanes)};
  bool known = true;
  chunk_ = chunk;
  each_access(body, [&](const std::string& buffer, const Sym& index) {
    if (is_thread_row(buffer) || access(index).kind != LaneAccess::contiguous) return;
    const Sym first = index.substitute({{chunk.ir_var, Sym(0)}}, ranges_);
    const auto [fixed, moving] = split(first);
    known = known && multiple_of(moving, target_.lanes);
    if (!known || aligned(index)) return;
    std::string place = fmt::format("on_pack({})", pointer(buffer, fixed));
    if (std::ranges::find(conditions, place) == conditions.end()) conditions.push_back(place);
  });
  chunk_.reset();
  if (!known) return std::nullopt;
  const std::string indent(2 * depth_ + 4, ' ');
  return join(conditions, " &&\n" + indent);
}

// The part of a subscript that is the same in the whole loop, and the rest.
std::pair<Sym, Sym> Emitter::split(const Sym& index) const {
  Sym fixed = 0;
  for (const Sym::Term& term : index.terms()) {
    Sym product = Sym::sum(0, {term});
    bool moves = std::ranges::any_of(product.variables(), [&](const std::string& name) {
      return name == chunk_var || chunk_->inside.contains(name);
    });
    if (!moves) fixed = fixed + product;
  }
  return {fixed, index - fixed};
}

// A pointer of its own for a place that takes divisions, or many words, to find.
void Emitter::declare_rows(const std::vector<Stmt>& body) {
  each_access(body, [&](const std::string& buffer, const Sym& index) {
    for (const std::string& name : index.variables()) {
      if (chunk_->inside.contains(name) && name != chunk_->ir_var) return;
    }
    if (differs_by_row(index)) {
      rows_name(index);
    } else {
      declare_row(buffer, index);
    }
  });
}

void Emitter::declare_row(const std::string& buffer, const Sym& index) {
  LaneAccess at = access(index);
  if (at.kind == LaneAccess::lanes) return;
  const Sym fixed = split(at.index).first;
  std::string place = subscript(fixed);
  bool divides = std::ranges::any_of(fixed.terms(), [](const Sym::Term& term) {
    return std::ranges::any_of(
        term.atoms, [](const auto& atom) { return atom->kind != Sym::Atom::Kind::variable; });
  });
  if (!divides && place.size() < long_place) return;
  std::string text = fmt::format("{} + {}", buffers_.at(buffer), place);
  if (rows_.contains(text)) return;
  std::string type = fmt::format("{}{}*", written_.contains(buffer) ? "" : "const ",
                                 storage_type(buffer_dtypes_.at(buffer)));
  rows_[text] = shared_name(buffer + "_row", type, text);
}

// Where the four rows start: a variable for what the subscript has besides the loop's own variable.
std::string Emitter::rows_name(const Sym& index) {
  std::vector<std::string> starts;
  Sym fixed = split(access(index).index).first;
  for (int64_t row = 0; row < across_rows; row++) {
    starts.push_back(subscript(fixed.substitute({{chunk_->across, Sym(row)}}, ranges_)));
  }
  std::string text = fmt::format("{{{{{}}}}}", join(starts, ", "));
  if (2 * depth_ + text.size() + 24 > line_width) {
    std::string indent(2 * depth_ + 6, ' ');
    text = fmt::format("{{{{{}}}}}", join(starts, ",\n" + indent));
  }
  return shared_name("rows", "Rows", text);
}

// Buffer, starts of the rows, place in the row.
std::string Emitter::rows_arguments(const std::string& buffer, const Sym& index) {
  Sym moving = split(access(index).index).second;
  return fmt::format("{}, {}, {}", buffers_.at(buffer), rows_name(index), subscript(moving));
}

// A variable for `text`, unless one is there already.
std::string Emitter::shared_name(const std::string& wanted, std::string_view type,
                                 const std::string& text) {
  for (const Shared& shared : shared_) {
    if (shared.text == text) return shared.name;
  }
  std::string name = names_.unique(wanted);
  std::string head =
      type.ends_with('*') ? fmt::format("{} const ", type) : fmt::format("const {} ", type);
  if (2 * depth_ + head.size() + name.size() + text.size() + 4 <= line_width) {
    line(fmt::format("{}{} = {};", head, name, text));
  } else {
    line(fmt::format("{}{} =", head, name));
    line(fmt::format("    {};", text));
  }
  shared_.push_back({depth_, text, name});
  return name;
}

std::string Emitter::extent_name(const std::string& var, const Sym& extent) {
  std::string text = subscript(extent);
  if (extent.constant() || extent.variable()) return text;
  return shared_name(var + "_end", "long", text);
}

// Guards that follow the lanes, for the first and the last lane.
std::string Emitter::all_lanes_condition(const std::vector<Guard>& guards) const {
  std::vector<std::string> parts;
  for (const Guard& guard : guards) {
    LaneAccess value = access(guard.value);
    if (value.kind == LaneAccess::uniform) {
      parts.push_back(condition({guard}));
      continue;
    }
    std::string lo = subscript(access(guard.lo).index), hi = subscript(access(guard.hi).index);
    std::string first = subscript(value.index);
    std::string end = chunk_->live.empty() ? subscript(value.index + Sym(target_.lanes))
                                           : fmt::format("{} + count({})", first, chunk_->live);
    if (!guard.lo.is(0) || !provably_nonnegative(value.index, ranges_)) {
      parts.push_back(fmt::format("{} <= {}", lo, first));
    }
    parts.push_back(fmt::format("{} <= {}", end, hi));
  }
  return join(parts, " && ");
}

std::string Emitter::subscript(const Sym& sym) const {
  return subscript_text(sym, [&](const Sym::Atom& atom) -> std::string {
    if (atom.kind != Sym::Atom::Kind::variable) {
      auto quotient = quotients_.find(atom.text);
      return quotient == quotients_.end() ? "" : quotient->second;
    }
    const std::string& name = atom.name;
    if (name == lane_var) return "l";
    if (chunk_ && name == chunk_var) return fmt::format("{} / {}", chunk_->var, target_.lanes);
    if (chunk_ && name == chunk_->ir_var) return chunk_->var;
    if (auto variable = variables_.find(name); variable != variables_.end())
      return variable->second;
    const EmittedValue& v = value(name);
    INGOT_CHECK(!v.subscript.empty(), "kernel {}: '{}' in a subscript is no integer", kernel_.name,
                name);
    return v.subscript;
  });
}

std::string Emitter::condition(const std::vector<Guard>& guards) const {
  return guards_text(guards, [&](const Sym& s) { return subscript(access(s).index); });
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

}  // namespace ingot
