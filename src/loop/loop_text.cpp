// Text form of the loop IR. The example in loop.h shows the shape; every field has a place:
//   kernel NAME(x: f32[N] in node 3, y: f32[N] out, w: f32[N] workspace) sizes(N) {
//     comment "a line"                      scratch row: f32[8192]
//     report "a run-time error"             (number r of `report r` below, counted from 0)
//     phase p in parallel(N) grain 4 { … }
//   for j in vector(N) prefetch 2048 { … }  and  for k in serial(4) { … }
//   for j in vector(N) across q(4) { … }  and  for c in spread(2) { … }
//   t: f32 = add(x0, 0.5)                   u: bool = lt(2: f32, 3)   v: f32 = elu(t, alpha=1)
//   x0: f32 = load x[j - 3] if 0 <= j - 3 < 8 and 0 <= p < 4 else 0 report 0
//   i: i64 = index 4*j                      m: bool = within 0 <= id < 8 report 0 of id
//   acc s: f32 = sum lanes 64               s sum= t                  r: bf16 = finish s
//   store y[j] = t                          stream y[j] = t           (past the caches)
//   product matmul f32 y[0] = x[0] * w[N] sizes m=8, n=N
#include <algorithm>
#include <map>

#include "base/text.h"
#include "loop/loop.h"

namespace ingot::loop {
namespace {

constexpr std::string_view keywords[] = {"acc", "for",     "store",   "stream", "product", "inf",
                                         "nan", "comment", "scratch", "report", "phase"};

constexpr std::string_view kind_words[] = {"serial", "vector", "spread"};

std::string name_text(std::string_view name) {
  bool keyword = std::ranges::find(keywords, name) != std::end(keywords);
  return keyword ? fmt::format("`{}`", name) : quoted_name(name);
}

std::string literal_text(const Literal& literal, DType dtype) {
  return is_float(dtype) ? number_text(literal.real) : std::to_string(literal.integer);
}

std::vector<std::string_view> real_attr_names(Op op) {
  std::vector<std::string_view> names;
  for (const AttrInfo& attr : op_info(op).attrs) {
    if (attr.type == AttrType::real) names.push_back(attr.name);
  }
  return names;
}

// The dtype a literal operand has when none is written beside it: bool where select takes its mask,
// else that of the first other operand with a name, else the result's.
DType implied_literal_dtype(const Let& let, size_t position) {
  if (let.op == Op::select && position == 0) return DType::boolean;
  for (size_t i = let.op == Op::select ? 1 : 0; i < let.operands.size(); i++) {
    if (std::holds_alternative<std::string>(let.operands[i])) return let.operand_dtypes[i];
  }
  return let.dtype;
}

std::string guards_text(const std::vector<Guard>& guards) {
  std::vector<std::string> parts;
  for (const Guard& guard : guards) {
    parts.push_back(
        fmt::format("{} <= {} < {}", guard.lo.text(), guard.value.text(), guard.hi.text()));
  }
  return join(parts, " and ");
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {
    for (const Param& param : kernel.params) buffers_[param.name] = param.dtype;
    for (const Scratch& scratch : kernel.scratch) buffers_[scratch.name] = scratch.dtype;
  }

  std::string text() {
    std::vector<std::string> params, sizes;
    for (const Param& param : kernel_.params) params.push_back(param_text(param));
    for (const std::string& size : kernel_.sizes) sizes.push_back(name_text(size));
    out_.open(fmt::format("kernel {}({}) sizes({}) {{", name_text(kernel_.name), join(params, ", "),
                          join(sizes, ", ")));
    for (std::string_view rest = kernel_.comment; !rest.empty();) {
      size_t end = std::min(rest.find('\n'), rest.size());
      out_.line("comment " + quoted_string(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    for (const Scratch& scratch : kernel_.scratch) {
      out_.line(fmt::format("scratch {}: {}[{}]", name_text(scratch.name),
                            dtype_name(scratch.dtype), scratch.elements.text()));
    }
    for (const std::string& report : kernel_.reports) out_.line("report " + quoted_string(report));
    for (const Phase& phase : kernel_.phases) {
      out_.open(fmt::format("phase {} in parallel({}) grain {} {{", name_text(phase.var),
                            phase.extent.text(), phase.grain));
      body(phase.body);
      out_.close();
    }
    out_.close();
    return out_.take();
  }

 private:
  static std::string param_text(const Param& param) {
    std::string_view role = param.role == Role::input    ? "in"
                            : param.role == Role::output ? "out"
                                                         : "workspace";
    std::string node = param.value < 0 ? "" : fmt::format(" node {}", param.value);
    return fmt::format("{}: {}[{}] {}{}", name_text(param.name), dtype_name(param.dtype),
                       param.elements.text(), role, node);
  }

  static std::string operand_text(const Operand& operand, DType dtype) {
    if (const auto* name = std::get_if<std::string>(&operand)) return name_text(*name);
    return literal_text(std::get<Literal>(operand), dtype);
  }

  static std::string place(const std::string& buffer, const Sym& index) {
    return fmt::format("{}[{}]", name_text(buffer), index.text());
  }

  static std::string definition(const std::string& name, DType dtype) {
    return fmt::format("{}: {} = ", name_text(name), dtype_name(dtype));
  }

  void body(const std::vector<Stmt>& statements) {
    for (const Stmt& stmt : statements) {
      std::visit([this](const auto& s) { print(s); }, stmt);
    }
  }

  void print(const Let& let) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < let.operands.size(); i++) {
      DType dtype = let.operand_dtypes[i];
      bool stated = std::holds_alternative<Literal>(let.operands[i]) &&
                    dtype != implied_literal_dtype(let, i);
      std::string suffix = stated ? fmt::format(": {}", dtype_name(dtype)) : "";
      parts.push_back(operand_text(let.operands[i], dtype) + suffix);
    }
    std::vector<std::string_view> names = real_attr_names(let.op);
    INGOT_CHECK(names.size() == let.attrs.size(), "{} takes {} real attributes, got {}",
                op_name(let.op), names.size(), let.attrs.size());
    for (size_t i = 0; i < names.size(); i++) {
      parts.push_back(fmt::format("{}={}", names[i], number_text(let.attrs[i])));
    }
    std::string form = let.form == Form::full ? "" : fmt::format(" form {}", form_name(let.form));
    out_.line(fmt::format("{}{}({}){}", definition(let.name, let.dtype), op_name(let.op),
                          join(parts, ", "), form));
  }

  void print(const Load& load) {
    std::string text = definition(load.name, load.dtype) + "load " + place(load.buffer, load.index);
    if (!load.guards.empty()) {
      text += fmt::format(" if {} else {}", guards_text(load.guards),
                          literal_text(load.otherwise, load.dtype));
    }
    out_.line(text + report_text(load.report, load.reported));
  }

  void print(const IndexValue& index) {
    std::string head = definition(index.name, index.dtype);
    std::string report = report_text(index.report, index.reported);
    out_.line(index.guards.empty() ? head + "index " + index.value.text()
                                   : head + "within " + guards_text(index.guards) + report);
  }

  static std::string report_text(int report, const Sym& reported) {
    if (report < 0) return {};
    std::string number = reported.is(0) ? "" : " of " + reported.text();
    return fmt::format(" report {}{}", report, number);
  }

  void print(const Accumulator& acc) {
    accumulators_[acc.name] = acc;
    out_.line(fmt::format("acc {}: {} = {} lanes {}", name_text(acc.name), dtype_name(acc.dtype),
                          op_name(acc.op), acc.lanes));
  }

  void print(const Accumulate& accumulate) {
    auto acc = accumulators_.find(accumulate.accumulator);
    INGOT_CHECK(acc != accumulators_.end(), "no accumulator {}", accumulate.accumulator);
    out_.line(fmt::format("{} {}= {}", name_text(accumulate.accumulator), op_name(acc->second.op),
                          operand_text(accumulate.value, acc->second.dtype)));
  }

  void print(const Finish& finish) {
    out_.line(definition(finish.name, finish.dtype) + "finish " + name_text(finish.accumulator));
  }

  void print(const Store& store) {
    auto buffer = buffers_.find(store.buffer);
    INGOT_CHECK(buffer != buffers_.end(), "no buffer {}", store.buffer);
    out_.line(fmt::format("{} {} = {}", store.mode == StoreMode::streaming ? "stream" : "store",
                          place(store.buffer, store.index),
                          operand_text(store.value, buffer->second)));
  }

  void print(const Product& product) {
    std::vector<std::string> sizes;
    for (const auto& [name, value] : product.sizes) {
      sizes.push_back(fmt::format("{}={}", name_text(name), value.text()));
    }
    out_.line(fmt::format("product {} {} {} = {} * {} sizes {}", name_text(product.routine),
                          dtype_name(product.dtype), place(product.dst, product.dst_index),
                          place(product.lhs, product.lhs_index),
                          place(product.rhs, product.rhs_index), join(sizes, ", ")));
  }

  void print(const std::shared_ptr<Loop>& loop) {
    std::string how;
    if (!loop->across.empty()) {
      how = fmt::format(" across {}({})", name_text(loop->across), across_rows);
    }
    if (loop->prefetch != 0) how += fmt::format(" prefetch {}", loop->prefetch);
    out_.open(fmt::format("for {} in {}({}){} {{", name_text(loop->var),
                          kind_words[static_cast<size_t>(loop->kind)], loop->extent.text(), how));
    body(loop->body);
    out_.close();
  }

  const Kernel& kernel_;
  std::map<std::string, DType> buffers_;
  std::map<std::string, Accumulator> accumulators_;
  Writer out_;
};

class Parser {
 public:
  Parser(const std::string& file, std::string_view text) : in_(file, text) {}

  Kernel kernel() {
    in_.expect("kernel");
    kernel_.name = in_.identifier("the kernel's name");
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!kernel_.params.empty()) in_.expect(",");
      param();
    }
    in_.expect("sizes");
    in_.expect("(");
    while (!in_.accept(")")) {
      if (!kernel_.sizes.empty()) in_.expect(",");
      kernel_.sizes.push_back(in_.identifier("a size"));
    }
    in_.expect("{");
    header();
    while (!in_.accept("}")) phase();
    if (!in_.at_end()) in_.fail(in_.location(), "expected the end after the kernel");
    return std::move(kernel_);
  }

 private:
  DType dtype() {
    Location at = in_.location();
    std::string name = in_.identifier("a dtype");
    std::optional<DType> dtype = parse_dtype(name);
    if (!dtype) in_.fail(at, fmt::format("unknown dtype '{}'", name));
    return *dtype;
  }

  int64_t integer(std::string_view what) {
    Location at = in_.location();
    Cursor::Number number = in_.number(what);
    if (!number.is_integer) in_.fail(at, fmt::format("{} is a whole number", what));
    return number.integer;
  }

  Literal literal(DType dtype) {
    Location at = in_.location();
    Cursor::Number number = in_.number("a literal");
    return checked(number, dtype, at);
  }

  Literal checked(const Cursor::Number& number, DType dtype, const Location& at) {
    if (is_float(dtype)) return {.real = number.real, .integer = 0};
    if (!number.is_integer) {
      in_.fail(at, fmt::format("a literal of dtype {} is a whole number", dtype_name(dtype)));
    }
    return {.real = 0, .integer = number.integer};
  }

  std::pair<std::string, Sym> place() {
    std::string buffer = in_.identifier("a buffer");
    in_.expect("[");
    Sym index = Sym::parse(in_);
    in_.expect("]");
    return {std::move(buffer), std::move(index)};
  }

  std::vector<Guard> guards() {
    std::vector<Guard> guards;
    do {
      Guard guard;
      guard.lo = Sym::parse(in_);
      in_.expect("<=");
      guard.value = Sym::parse(in_);
      in_.expect("<");
      guard.hi = Sym::parse(in_);
      guards.push_back(std::move(guard));
    } while (in_.accept("and"));
    return guards;
  }

  void param() {
    Param param;
    param.name = in_.identifier("a parameter");
    in_.expect(":");
    param.dtype = dtype();
    in_.expect("[");
    param.elements = Sym::parse(in_);
    in_.expect("]");
    Location at = in_.location();
    std::string role = in_.identifier("in, out or workspace");
    if (role != "in" && role != "out" && role != "workspace") {
      in_.fail(at, fmt::format("expected in, out or workspace, got '{}'", role));
    }
    param.role = role == "in" ? Role::input : role == "out" ? Role::output : Role::workspace;
    if (in_.accept("node")) param.value = static_cast<int32_t>(integer("a node's number"));
    buffers_[param.name] = param.dtype;
    kernel_.params.push_back(std::move(param));
  }

  void header() {
    std::vector<std::string> comment;
    while (!in_.peek("phase") && !in_.peek("}")) {
      if (in_.accept("comment")) {
        comment.push_back(in_.string_literal("a comment"));
      } else if (in_.accept("report")) {
        kernel_.reports.push_back(in_.string_literal("a report"));
      } else {
        in_.expect("scratch");
        Scratch scratch;
        scratch.name = in_.identifier("a scratch buffer");
        in_.expect(":");
        scratch.dtype = dtype();
        in_.expect("[");
        scratch.elements = Sym::parse(in_);
        in_.expect("]");
        buffers_[scratch.name] = scratch.dtype;
        kernel_.scratch.push_back(std::move(scratch));
      }
    }
    kernel_.comment = join(comment, "\n");
  }

  void phase() {
    Phase phase;
    in_.expect("phase");
    phase.var = in_.identifier("the phase's variable");
    in_.expect("in");
    in_.expect("parallel");
    in_.expect("(");
    phase.extent = Sym::parse(in_);
    in_.expect(")");
    in_.expect("grain");
    phase.grain = integer("the grain");
    phase.body = body();
    kernel_.phases.push_back(std::move(phase));
  }

  std::vector<Stmt> body() {
    auto outer_values = values_;
    auto outer_accumulators = accumulators_;
    std::vector<Stmt> statements;
    in_.expect("{");
    while (!in_.accept("}")) statements.push_back(statement());
    values_ = std::move(outer_values);
    accumulators_ = std::move(outer_accumulators);
    return statements;
  }

  Stmt statement() {
    if (in_.accept("for")) return loop();
    if (in_.accept("acc")) return accumulator();
    if (in_.accept("store")) return store(StoreMode::normal);
    if (in_.accept("stream")) return store(StoreMode::streaming);
    if (in_.accept("product")) return product();
    Location at = in_.location();
    std::string name = in_.identifier("a statement");
    if (!in_.accept(":")) return accumulate(name, at);
    DType type = dtype();
    in_.expect("=");
    Stmt stmt = definition(name, type);
    values_[name] = type;
    return stmt;
  }

  Stmt definition(const std::string& name, DType type) {
    if (in_.accept("load")) return load(name, type);
    if (in_.accept("index")) return IndexValue{name, type, Sym::parse(in_), {}, -1, {}};
    if (in_.accept("within")) {
      IndexValue index{name, type, Sym(0), guards(), -1, {}};
      report(index);
      return index;
    }
    if (in_.accept("finish")) return Finish{name, type, in_.identifier("an accumulator")};
    return let(name, type);
  }

  Stmt load(const std::string& name, DType type) {
    Load load;
    load.name = name;
    load.dtype = type;
    std::tie(load.buffer, load.index) = place();
    if (in_.accept("if")) {
      load.guards = guards();
      in_.expect("else");
      load.otherwise = literal(type);
    }
    report(load);
    return load;
  }

  template <class Checked>
  void report(Checked& statement) {
    if (!in_.accept("report")) return;
    statement.report = static_cast<int>(integer("a report's number"));
    if (in_.accept("of")) statement.reported = Sym::parse(in_);
  }

  Operand operand(DType literal_dtype, std::string_view what) {
    if (in_.at_number()) return literal(literal_dtype);
    return in_.identifier(what);
  }

  Form form(const OpInfo& info) {
    Location at = in_.location();
    std::string name = in_.identifier("a form: fast, bf16, f16, wide or inner");
    for (Form form : {Form::fast, Form::bf16, Form::f16, Form::wide, Form::inner}) {
      if (has_form(info, form) && form_name(form) == name) return form;
    }
    in_.fail(at, fmt::format("{} has no form '{}'", info.name, name));
  }

  Stmt let(const std::string& name, DType type) {
    Let let;
    let.name = name;
    let.dtype = type;
    Location at = in_.location();
    std::string op = in_.identifier("an op, load, index, within or finish");
    const OpInfo* info = find_op(op);
    if (info == nullptr) {
      in_.fail(at, fmt::format("unknown op '{}'; did you mean '{}'?", op, nearest_op_name(op)));
    }
    let.op = info->op;
    std::vector<std::string_view> attr_names = real_attr_names(let.op);
    struct Pending {
      size_t position;
      Cursor::Number number;
      Location at;
    };
    std::vector<Pending> pending;  // literals without a stated dtype
    in_.expect("(");
    for (bool first = true; !in_.accept(")"); first = false) {
      if (!first) in_.expect(",");
      Location here = in_.location();
      if (!in_.at_number()) {
        std::string word = in_.identifier("an operand");
        if (in_.accept("=")) {
          attribute(let, attr_names, word, here);
          continue;
        }
        auto value = values_.find(word);
        if (value == values_.end()) in_.fail(here, fmt::format("no value '{}' here", word));
        let.operands.emplace_back(word);
        let.operand_dtypes.push_back(value->second);
        continue;
      }
      Cursor::Number number = in_.number("a literal");
      if (in_.accept(":")) {
        let.operand_dtypes.push_back(dtype());
        let.operands.emplace_back(checked(number, let.operand_dtypes.back(), here));
      } else {
        pending.push_back({let.operands.size(), number, here});
        let.operands.emplace_back(Literal{});
        let.operand_dtypes.push_back(type);
      }
    }
    if (let.attrs.size() != attr_names.size()) {
      in_.fail(at, fmt::format("{} needs {}=…", op, attr_names[let.attrs.size()]));
    }
    if (in_.accept("form")) let.form = form(*info);
    for (const Pending& literal : pending) {
      DType implied = implied_literal_dtype(let, literal.position);
      let.operand_dtypes[literal.position] = implied;
      let.operands[literal.position] = checked(literal.number, implied, literal.at);
    }
    return let;
  }

  void attribute(Let& let, const std::vector<std::string_view>& names, const std::string& name,
                 const Location& at) {
    size_t position = let.attrs.size();
    if (position >= names.size() || names[position] != name) {
      in_.fail(at,
               fmt::format("{}: unexpected attribute '{}'; attributes: {}", op_name(let.op), name,
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    }
    let.attrs.push_back(in_.number("the attribute's value").real);
  }

  Stmt accumulator() {
    Accumulator acc;
    acc.name = in_.identifier("an accumulator");
    in_.expect(":");
    acc.dtype = dtype();
    in_.expect("=");
    acc.op = reduction(in_.location());
    in_.expect("lanes");
    acc.lanes = static_cast<int>(integer("lanes"));
    accumulators_[acc.name] = acc;
    return acc;
  }

  Op reduction(const Location& at) {
    std::string name = in_.identifier("a reduction");
    const OpInfo* info = find_op(name);
    if (info == nullptr || info->category != Category::reduction) {
      in_.fail(at, fmt::format("'{}' is no reduction: sum max min prod any all", name));
    }
    return info->op;
  }

  Stmt accumulate(const std::string& name, const Location& at) {
    auto acc = accumulators_.find(name);
    if (acc == accumulators_.end()) in_.fail(at, fmt::format("no accumulator '{}' here", name));
    Location op_at = in_.location();
    Op op = reduction(op_at);
    if (op != acc->second.op) {
      in_.fail(op_at, fmt::format("{} accumulates {}, not {}", name, op_name(acc->second.op),
                                  op_name(op)));
    }
    in_.expect("=");
    return Accumulate{name, operand(acc->second.dtype, "a value")};
  }

  Stmt store(StoreMode mode) {
    Store store;
    store.mode = mode;
    Location at = in_.location();
    std::tie(store.buffer, store.index) = place();
    in_.expect("=");
    auto buffer = buffers_.find(store.buffer);
    if (buffer == buffers_.end()) in_.fail(at, fmt::format("no buffer '{}'", store.buffer));
    store.value = operand(buffer->second, "a value");
    return store;
  }

  Stmt product() {
    Product product;
    product.routine = in_.identifier("a routine");
    product.dtype = dtype();
    std::tie(product.dst, product.dst_index) = place();
    in_.expect("=");
    std::tie(product.lhs, product.lhs_index) = place();
    in_.expect("*");
    std::tie(product.rhs, product.rhs_index) = place();
    in_.expect("sizes");
    do {
      std::string name = in_.identifier("a size's name");
      in_.expect("=");
      product.sizes.emplace_back(std::move(name), Sym::parse(in_));
    } while (in_.accept(","));
    return product;
  }

  Stmt loop() {
    auto loop = std::make_shared<Loop>();
    loop->var = in_.identifier("the loop's variable");
    in_.expect("in");
    loop->kind = in_.accept("vector")   ? LoopKind::vector
                 : in_.accept("spread") ? LoopKind::spread
                                        : LoopKind::serial;
    if (loop->kind == LoopKind::serial) in_.expect("serial");
    in_.expect("(");
    loop->extent = Sym::parse(in_);
    in_.expect(")");
    if (in_.accept("across")) {
      loop->across = in_.identifier("the row variable");
      in_.expect("(");
      Location at = in_.location();
      if (integer("the rows") != across_rows) {
        in_.fail(at, fmt::format("a loop runs across {} rows", across_rows));
      }
      in_.expect(")");
    }
    if (in_.accept("prefetch")) loop->prefetch = integer("the prefetch distance");
    loop->body = body();
    return loop;
  }

  Cursor in_;
  Kernel kernel_;
  std::map<std::string, DType> buffers_, values_;
  std::map<std::string, Accumulator> accumulators_;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).text(); }

Kernel parse_kernel(std::string_view text, const std::string& file) {
  return Parser(file, text).kernel();
}

}  // namespace ingot::loop
