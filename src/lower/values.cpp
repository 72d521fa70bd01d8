// Values: see values.h. What a node means as code: loads, movement as index maps, guards of pad and
// concat, run-time indices of gather, arithmetic with its rounding.
#include "lower/values.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "op/apply.h"
#include "plan/domain.h"

namespace ingot::lowering {
namespace {

// The readable end of a user's name as an identifier: "a/b/Mul_5:0" → "Mul_5".
std::string identifier(const std::string& name) {
  std::string text = name;
  if (size_t colon = text.rfind(':'); colon != std::string::npos && colon > 0) text.resize(colon);
  if (size_t slash = text.rfind('/'); slash != std::string::npos && slash + 1 < text.size()) {
    text = text.substr(slash + 1);
  }
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) text = "v" + text;
  return text;
}

std::string index_key(const std::vector<Sym>& index) {
  std::string key;
  for (const Sym& i : index) key += i.text() + ",";
  return key;
}

// x / 2^k is x · 2^-k, bit for bit.
void multiply_instead(loop::Let* let) {
  const auto* divisor = std::get_if<loop::Literal>(&let->operands[1]);
  if (divisor == nullptr || !is_float(let->operand_dtypes[1])) return;
  int exponent = 0;
  if (std::frexp(divisor->real, &exponent) != 0.5 || std::abs(exponent) > 14) return;
  let->op = Op::mul;
  let->operands[1] = loop::Literal{1 / divisor->real};
}

loop::Literal literal_of(const Node& node) {
  return {node.data->get_f64(0), node.data->get_i64(0)};
}

bool raises(const loop::Stmt& statement) {
  const auto* load = std::get_if<loop::Load>(&statement);
  const auto* check = std::get_if<loop::IndexValue>(&statement);
  return (load != nullptr && load->report >= 0) || (check != nullptr && check->report >= 0);
}
}  // namespace

Values::Values(const Graph& graph, const Group& group, Numerics numerics, bool gpu)
    : graph_(graph),
      group_(group),
      numerics_(numerics),
      gpu_(gpu),
      domain_ranges_(group.domain.ranges()) {
  kernel_.name = identifier(group.name);
  std::set<std::string> sizes = sizes_of(graph, group.nodes);
  sizes.merge(sizes_of(graph, group.inputs));
  sizes.merge(sizes_of(graph, group.outputs));
  kernel_.sizes.assign(sizes.begin(), sizes.end());
  names_.insert(kernel_.sizes.begin(), kernel_.sizes.end());
  for (const DomainVar& var : group.domain.vars) names_.insert(var.name);
  auto declare = [&](NodeId id, loop::Role role) {
    const Node& node = graph[id];
    std::string name = unique(node.name);
    buffers_[id] = name;
    kernel_.params.push_back({name, node.type.dtype, element_count(node.type.shape), role, id});
  };
  for (NodeId id : group.inputs) {
    inputs_.insert(id);
    declare(id, loop::Role::input);
  }
  for (NodeId id : group.outputs) {
    if (inputs_.count(id) == 0) declare(id, loop::Role::output);
  }
}

std::string Values::unique(const std::string& wanted) {
  std::string base = identifier(wanted);
  if (names_.insert(base).second) return base;
  std::string separator = std::isdigit(static_cast<unsigned char>(base.back())) != 0 ? "_" : "";
  for (int i = 0;; ++i) {
    std::string name = base + separator + std::to_string(i);
    if (names_.insert(name).second) return name;
  }
}

std::string Values::scratch(const std::string& wanted, DType dtype, Sym elements) {
  std::string name = unique(wanted);
  kernel_.scratch.push_back({name, dtype, std::move(elements)});
  return name;
}

std::string Values::workspace(const std::string& wanted, DType dtype, Sym elements) {
  std::string name = unique(wanted);
  kernel_.params.push_back({name, dtype, std::move(elements), loop::Role::workspace, -1});
  return name;
}

void Values::bind_var(const std::string& domain_var, Sym value) {
  environment_[domain_var] = std::move(value);
}

Sym Values::substituted(const Sym& in_domain_vars) const {
  Ranges ranges = id_ranges_;
  for (const Scope& scope : scopes_) {
    if (!scope.var.empty()) ranges[scope.var] = scope.extent;
    if (!scope.across.empty()) ranges[scope.across] = Sym(loop::across_rows);
  }
  return in_domain_vars.substitute(environment_, ranges);
}

void Values::open(const std::string& var, const Sym& extent) {
  scopes_.push_back({{}, {}, var, extent});
  if (!var.empty()) defined_[var] = scopes_.size() - 1;
}

void Values::open_across(const std::string& var, const Sym& extent, const std::string& row_var) {
  open(var, extent);
  scopes_.back().across = row_var;
  defined_[row_var] = scopes_.size() - 1;
}

std::vector<loop::Stmt> Values::close() {
  std::vector<loop::Stmt> body = std::move(scopes_.back().body);
  scopes_.pop_back();
  return body;
}

bool Values::never_runs(const Scope& scope) { return !scope.var.empty() && scope.extent.is(0); }

// Run-time sizes may be 0.
bool Values::may_not_run(const Scope& scope) {
  return !scope.var.empty() && scope.extent.constant().value_or(0) <= 0;
}

void Values::close_loop(loop::LoopKind kind) {
  if (never_runs(scopes_.back())) {
    close();
    return;
  }
  auto nest = std::make_shared<loop::Loop>();
  nest->var = scopes_.back().var;
  nest->extent = scopes_.back().extent;
  nest->across = scopes_.back().across;
  nest->kind = kind;
  nest->body = close();
  if (!nest->body.empty()) statements().push_back(nest);
}

void Values::note_defined(const std::string& name) { defined_[name] = scopes_.size() - 1; }

void Values::bind_value(NodeId node, const std::string& name, DType dtype) {
  note_defined(name);
  values_[node] = {name, dtype};
}

void Values::bind_element(NodeId node, const std::string& buffer, DType dtype, Sym flat_index) {
  elements_[node] = {buffer, dtype, std::move(flat_index)};
}

Bound Values::exchange(Bound other) {
  for (Scope& scope : scopes_) scope.memo.clear();
  std::swap(values_, other.values);
  std::swap(elements_, other.elements);
  return other;
}

Sym Values::flat(NodeId node, const std::vector<Sym>& index) {
  Sym flat = flat_index(graph_[node].type.shape, index);
  subscripts_.push_back(flat);
  return flat;
}

void Values::unbind() {
  values_.clear();
  elements_.clear();
}

void Values::add_names(const Sym& expression, std::set<std::string>* names) const {
  for (const std::string& name : expression.variables()) names->insert(name);
}

// Whether an expression is made of domain variables and sizes alone.
bool Values::knows(const Sym& expression) const {
  return std::ranges::all_of(expression.variables(), [&](const std::string& name) {
    return std::ranges::find(kernel_.sizes, name) != kernel_.sizes.end() ||
           std::ranges::find(group_.domain.vars, name, &DomainVar::name) !=
               group_.domain.vars.end();
  });
}

size_t Values::depth(const std::set<std::string>& names, bool reports) const {
  size_t deepest = 0;
  // Nothing leaves a loop that never runs: its subscripts may be out of bounds. And no report
  // leaves a loop that may not run: nobody asked for the element then.
  for (size_t i = 0; i < scopes_.size(); ++i) {
    if (reports ? may_not_run(scopes_[i]) : never_runs(scopes_[i])) deepest = i;
  }
  for (const std::string& name : names) {
    if (auto found = defined_.find(name); found != defined_.end()) {
      deepest = std::max(deepest, found->second);
    }
  }
  return deepest;
}

Typed Values::place(loop::Stmt statement, const std::string& name, DType dtype,
                    const std::set<std::string>& needs) {
  size_t where = depth(needs, raises(statement));
  scopes_[where].body.push_back(std::move(statement));
  defined_[name] = where;
  return {name, dtype};
}

DType Values::kept_dtype(NodeId node) const {
  const Node& n = graph_[node];
  if (numerics_ == Numerics::exact || n.op == Op::cast) return n.type.dtype;
  bool half = n.type.dtype == DType::bf16 || n.type.dtype == DType::f16;
  return half ? DType::f32 : n.type.dtype;
}

Form Values::form_in_sum(Op op) const {
  const bool shorter = gpu_ && !op_info(op).cuda[static_cast<size_t>(Form::inner)].empty();
  return shorter ? Form::inner : Form::full;
}

// To a constant of at least 1/2 and nothing else: its error then counts beside that constant.
bool Values::only_added(NodeId node) const {
  if (std::ranges::find(group_.outputs, node) != group_.outputs.end()) return false;
  return std::ranges::all_of(group_.nodes, [&](NodeId user) {
    const Node& n = graph_[user];
    const auto at = std::ranges::find(n.operands, node);
    if (at == n.operands.end()) return true;
    if (n.op != Op::add && n.op != Op::sub) return false;
    const size_t other = at == n.operands.begin() ? 1 : 0;
    const std::optional<double> constant = literal_value(graph_[n.operands[other]]);
    return constant && std::abs(*constant) >= 0.5;
  });
}

Form Values::form(NodeId node) const {
  const Node& n = graph_[node];
  const bool term = std::ranges::any_of(group_.online, [&](const auto& sum) {
    return sum.second.bare && graph_[sum.first].operands[0] == node;
  });
  if (term && n.type.dtype == DType::f32) return form_in_sum(n.op);
  if (const auto known = group_.narrowings.find(node); known != group_.narrowings.end()) {
    return known->second.form;
  }
  const bool exact = numerics_ == Numerics::exact;
  Form form = Form::full;
  if (n.type.dtype == DType::bf16) form = exact ? Form::nearest : Form::bf16;
  if (!exact && n.type.dtype == DType::f16) form = Form::f16;
  if (numerics_ == Numerics::fast && n.type.dtype == DType::f32) form = Form::fast;
  const OpInfo& info = op_info(n.op);
  auto has = [&](Form f) {
    const auto which = static_cast<size_t>(f);
    return !info.shorter[which].empty() || (gpu_ && !info.cuda[which].empty());
  };
  if (has(form)) return form;
  const bool same = has(Form::same) && compute_dtype(n.type.dtype) == DType::f32;
  const Form plain = same ? Form::same : Form::full;
  if (exact || n.type.dtype != DType::f32) return plain;
  if (has(Form::added) && only_added(node)) return Form::added;
  const bool halves = std::ranges::all_of(group_.outputs, [&](NodeId id) {
    return !is_float(graph_[id].type.dtype) || byte_size(graph_[id].type.dtype) <= 2;
  });
  return halves && has(Form::inner) ? Form::inner : has(Form::wide) ? Form::wide : plain;
}

std::string Values::name_of(NodeId node) const { return graph_[node].name; }

Values::Context Values::within(const Context& context, const std::vector<Guard>& guards) const {
  Context inner = context;
  for (const Guard& guard : guards) {
    inner.guards.push_back({guard.value, guard.lo, guard.hi});
    inner.key += guard.value.text() + "@" + guard.lo.text() + ":" + guard.hi.text() + ";";
  }
  return inner;
}

// A size-1 dimension is always at 0, however its index was derived.
std::vector<Sym> Values::resolved_index(NodeId node, const std::vector<Sym>& index) const {
  std::vector<Sym> resolved = index;
  const Shape& shape = graph_[node].type.shape;
  for (size_t d = 0; d < resolved.size(); ++d) {
    if (shape[d].is(1)) resolved[d] = Sym(0);
  }
  return resolved;
}

Typed Values::value(NodeId node, const std::vector<Sym>& index) { return value(node, index, {}); }

Typed Values::value(NodeId node, const std::vector<Sym>& given, const Context& context) {
  if (const Node& n = graph_[node]; n.op == Op::constant && literal_value(n)) {
    return {literal_of(n), n.type.dtype};
  }
  if (auto bound = values_.find(node); bound != values_.end()) return bound->second;
  std::vector<Sym> index = resolved_index(node, given);
  std::string at = index_key(index);
  Demand& demand = demands_[node];
  demand.indices.emplace(at, index);
  demand.everywhere |= context.guards.empty();
  std::string key = std::to_string(node) + "(" + at + context.key;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->memo.find(key); found != scope->memo.end()) return found->second;
  }
  Typed result = compute(node, index, context);
  size_t where = 0;
  if (const auto* name = std::get_if<std::string>(&result.operand)) where = defined_.at(*name);
  scopes_[where].memo[key] = result;
  return result;
}

Typed Values::compute(NodeId node, const std::vector<Sym>& index, const Context& context) {
  const Node& n = graph_[node];
  if (auto element = elements_.find(node); element != elements_.end()) {
    const Element& e = element->second;
    Typed loaded = load(e.buffer, e.dtype, e.flat, {}, {}, name_of(node));
    return {rounded(loaded, kept_dtype(node)), kept_dtype(node)};
  }
  if (is_buffer(node)) {
    // No element is there to be loaded, not even by code that never runs.
    if (element_count(n.type.shape).is(0)) return {loop::Literal{}, n.type.dtype};
    return load(buffers_.at(node), n.type.dtype, flat(node, index), context, {}, name_of(node));
  }
  switch (n.op) {
    case Op::iota: {
      int64_t dim = integer_attr(op_info(n.op), n.attrs, "dim");
      if (dim < 0) dim += static_cast<int64_t>(index.size());
      return index_value(n.type.dtype, index[static_cast<size_t>(dim)], n.name);
    }
    case Op::size:
      return index_value(n.type.dtype, sizes_attr(op_info(n.op), n.attrs, "value")[0], n.name);
    case Op::concat:
      return concat(node, index, context);
    case Op::pad:
      return pad(node, index, context);
    case Op::gather:
    case Op::gather_elements:
      return gather(node, index, context);
    default:
      break;
  }
  Category category = op_info(n.op).category;
  if (category == Category::movement) {
    Access access = operand_access(graph_, node, 0, index, domain_ranges_);
    return value(n.operands[0], access.index, context);
  }
  INGOT_CHECK(category == Category::elementwise, "{} '{}' is not available in group {}",
              op_name(n.op), n.name, group_.name);
  return elementwise(node, index, context);
}

Typed Values::elementwise(NodeId node, const std::vector<Sym>& index, const Context& context) {
  const Node& n = graph_[node];
  if (auto narrowing = group_.narrowings.find(node);
      narrowing != group_.narrowings.end() && !narrowing->second.polynomial.empty()) {
    return polynomial(node, narrowing->second, index, context);
  }
  if (std::optional<Typed> sum = contracted(node, index, context)) return *sum;
  const OpInfo& info = op_info(n.op);
  loop::Let let;
  std::set<std::string> needs;
  for (size_t i = 0; i < n.operands.size(); ++i) {
    Access access = operand_access(graph_, node, static_cast<int>(i), index, domain_ranges_);
    Typed operand = value(n.operands[i], access.index, context);
    if (const auto* name = std::get_if<std::string>(&operand.operand)) needs.insert(*name);
    let.operands.push_back(operand.operand);
    let.operand_dtypes.push_back(operand.dtype);
  }
  // In `wide` values stay in f32, so a narrow literal or load beside one is read as f32 too: both
  // are computed in f32 anyway.
  for (const AttrInfo& attr : info.attrs) {
    if (attr.type == AttrType::real) let.attrs.push_back(real_attr(info, n.attrs, attr.name));
  }
  let.op = n.op;
  let.form = form(node);
  if (n.op == Op::div) multiply_instead(&let);
  let.dtype = kept_dtype(node);
  let.name = unique(n.name);
  std::string name = let.name;
  DType dtype = let.dtype;
  return place(std::move(let), name, dtype, needs);
}

Typed Values::load(const std::string& buffer, DType dtype, const Sym& flat, const Context& context,
                   loop::Literal otherwise, const std::string& name) {
  loop::Load load;
  load.name = unique(name);
  load.dtype = dtype;
  load.buffer = buffer;
  load.index = substituted(flat);
  load.otherwise = otherwise;
  load.report = context.report;
  if (load.report >= 0) load.reported = substituted(context.reported);
  if (context.guards.empty() && knows(flat)) reads_.emplace(buffer, flat);
  std::set<std::string> needs;
  add_names(load.index, &needs);
  add_names(load.reported, &needs);
  for (const loop::Guard& guard : context.guards) {
    loop::Guard placed{substituted(guard.value), substituted(guard.lo), substituted(guard.hi)};
    add_names(placed.value, &needs);
    subscripts_.push_back(guard.value);
    load.guards.push_back(std::move(placed));
  }
  // What a pass stored is read back after it: never hoisted above the current scope.
  for (const auto& [node, element] : elements_) {
    if (element.buffer == buffer) needs.insert(scopes_.back().var);
  }
  std::string loaded = load.name;
  return place(std::move(load), loaded, dtype, needs);
}

Typed Values::index_value(DType dtype, const Sym& value, const std::string& name) {
  subscripts_.push_back(value);
  loop::IndexValue statement;
  statement.value = substituted(value);
  std::set<std::string> needs;
  add_names(statement.value, &needs);
  bool direct = dtype == DType::i32 || dtype == DType::i64;
  statement.dtype = direct ? dtype : DType::i64;
  statement.name = unique(name);
  std::string defined = statement.name;
  Typed result = place(std::move(statement), defined, direct ? dtype : DType::i64, needs);
  return {rounded(result, dtype), dtype};
}

loop::Operand Values::rounded(const Typed& typed, DType to) {
  if (typed.dtype == to || std::holds_alternative<loop::Literal>(typed.operand)) {
    return typed.operand;
  }
  loop::Let let;
  const std::string& from = std::get<std::string>(typed.operand);
  let.op = Op::cast;
  let.dtype = to;
  let.operands = {typed.operand};
  let.operand_dtypes = {typed.dtype};
  let.name = unique(from);
  std::string name = let.name;
  return place(std::move(let), name, to, {from}).operand;
}

Typed Values::choose(const std::vector<Guard>& guards, const Typed& inside, const Typed& outside,
                     DType dtype, const std::string& name) {
  if (guards.empty()) return inside;  // inside everywhere
  loop::IndexValue condition;
  condition.dtype = DType::boolean;
  std::set<std::string> needs;
  for (const Guard& guard : guards) {
    subscripts_.push_back(guard.value);
    loop::Guard placed{substituted(guard.value), substituted(guard.lo), substituted(guard.hi)};
    add_names(placed.value, &needs);
    condition.guards.push_back(std::move(placed));
  }
  condition.name = unique("inside");
  std::string mask = condition.name;
  place(std::move(condition), mask, DType::boolean, needs);
  loop::Let let;
  let.op = Op::select;
  let.dtype = dtype;
  let.operands = {mask, inside.operand, outside.operand};
  let.operand_dtypes = {DType::boolean, inside.dtype, outside.dtype};
  let.name = unique(name);
  std::set<std::string> operands{mask};
  for (const loop::Operand& operand : {inside.operand, outside.operand}) {
    if (const auto* text = std::get_if<std::string>(&operand)) operands.insert(*text);
  }
  std::string result = let.name;
  return place(std::move(let), result, dtype, operands);
}

Typed Values::concat(NodeId node, const std::vector<Sym>& index, const Context& context) {
  const Node& n = graph_[node];
  const std::vector<Access> accesses = operand_accesses(graph_, node, index, domain_ranges_);
  for (size_t i = 0; i < n.operands.size(); ++i) {
    if (accesses[i].guards.empty()) return value(n.operands[i], accesses[i].index, context);
  }
  std::optional<Typed> chosen;
  for (size_t i = n.operands.size(); i-- > 0;) {
    const Access& access = accesses[i];
    Typed part = value(n.operands[i], access.index, within(context, access.guards));
    chosen = chosen ? choose(access.guards, part, *chosen, kept_dtype(node), n.name) : part;
  }
  INGOT_CHECK(chosen.has_value(), "concat '{}' has no operand", n.name);
  return *chosen;
}

Typed Values::pad(NodeId node, const std::vector<Sym>& index, const Context& context) {
  const Node& n = graph_[node];
  Access access = operand_access(graph_, node, 0, index, domain_ranges_);
  double wanted = real_attr(op_info(n.op), n.attrs, "value");
  Scalar fill{wanted, convert(DType::i64, DType::f64, {wanted, 0}).integer};
  if (!is_float(n.type.dtype)) fill = round_to(n.type.dtype, fill);
  Typed padding{loop::Literal{fill.real, fill.integer}, n.type.dtype};
  const bool outside = std::ranges::any_of(access.guards, [&](const Guard& guard) {
    return provably_nonnegative(guard.value - guard.hi, domain_ranges_) ||
           provably_nonnegative(guard.lo - guard.value - 1, domain_ranges_);
  });
  if (outside) return padding;
  Typed inside = value(n.operands[0], access.index, within(context, access.guards));
  return choose(access.guards, inside, padding, kept_dtype(node), n.name);
}

// Raises `report` where the element is wanted (`context`) and its id is not `within`.
void Values::check_id(const std::vector<Guard>& within, const Context& context, int report) {
  const Sym id = within[0].value;
  std::vector<Guard> checked = within;
  if (!context.guards.empty()) {
    Typed one{loop::Literal{1, 1}, DType::i32}, zero{loop::Literal{}, DType::i32};
    Typed good = choose(within, one, zero, DType::i32, "good");
    std::vector<Guard> wanted;
    for (const loop::Guard& guard : context.guards) {
      wanted.push_back({guard.value, guard.lo, guard.hi});
    }
    Typed state = choose(wanted, good, one, DType::i32, "good");
    checked = {{Sym::var(std::get<std::string>(state.operand)), Sym(1), Sym(2)}};
  }
  loop::IndexValue check;
  check.name = unique("checked");
  check.dtype = DType::boolean;
  check.report = report;
  check.reported = substituted(id);
  std::set<std::string> needs;
  add_names(check.reported, &needs);
  for (const Guard& guard : checked) {
    subscripts_.push_back(guard.value);
    check.guards.push_back(
        {substituted(guard.value), substituted(guard.lo), substituted(guard.hi)});
    add_names(check.guards.back().value, &needs);
  }
  std::string name = check.name;
  place(std::move(check), name, DType::boolean, needs);
}

Typed Values::gather(NodeId node, const std::vector<Sym>& index, const Context& context) {
  const Node& n = graph_[node];
  Access ids_access = operand_access(graph_, node, 1, index, domain_ranges_);
  Typed id = value(n.operands[1], ids_access.index, context);
  if (const auto* literal = std::get_if<loop::Literal>(&id.operand)) {
    id = index_value(DType::i64, Sym(literal->integer), n.name + "_id");
  }
  const std::string& id_name = std::get<std::string>(id.operand);
  Access access = operand_access(graph_, node, 0, index, domain_ranges_);
  const Shape& table = graph_[n.operands[0]].type.shape;
  Sym rows = table[static_cast<size_t>(access.run_time_dim)];
  // Inside the guards below; a name without a range would count as a size, which is never 0.
  const Ranges outer = domain_ranges_, outer_ids = id_ranges_;
  domain_ranges_.insert_or_assign(id_name, rows);
  id_ranges_.insert_or_assign(id_name, rows);
  for (Sym& i : access.index) {
    i = i.substitute({{std::string(run_time_symbol), Sym::var(id_name)}}, domain_ranges_);
  }
  std::vector<Guard> guards{{Sym::var(id_name), Sym(0), rows}};
  Context inner = within(context, guards);
  if (text_attr(op_info(n.op), n.attrs, "out_of_range") == "error") {
    int report = static_cast<int>(kernel_.reports.size());
    kernel_.reports.push_back(fmt::format("{} '{}': index {{}} out of range [0, {})", op_name(n.op),
                                          n.name, rows.text()));
    // Of a table without rows nothing is loaded, whose guard could say so.
    bool loaded = is_buffer(n.operands[0]) && !element_count(table).is(0);
    if (loaded && context.guards.empty()) {
      inner.report = report;  // by the load itself
      inner.reported = guards[0].value;
    } else {
      check_id(guards, context, report);
    }
  }
  Typed row = value(n.operands[0], access.index, inner);
  domain_ranges_ = outer;
  id_ranges_ = outer_ids;
  if (is_buffer(n.operands[0])) return row;  // the load itself gives 0 outside
  Typed zero{loop::Literal{}, n.type.dtype};
  return choose(guards, row, zero, kept_dtype(node), n.name);
}

}  // namespace ingot::lowering
