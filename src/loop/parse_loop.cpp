// Loop IR from text; loop_text.cpp prints it and says what the text looks like.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "loop/let_text.h"
#include "loop/loop.h"

namespace ingot::loop {
namespace {

class Parser {
 public:
  Parser(const std::string& file, std::string_view text) : in_(file, text) {}

  // Of a text with nothing else.
  Kernel kernel() {
    Kernel kernel = next();
    if (!in_.at_end()) in_.fail(in_.location(), "expected the end after the kernel");
    return kernel;
  }

  std::vector<Kernel> kernels() {
    std::vector<Kernel> kernels;
    do {
      kernels.push_back(next());
    } while (!in_.at_end());
    return kernels;
  }

 private:
  Kernel next() {
    kernel_ = {};
    buffers_.clear();
    values_.clear();
    accumulators_.clear();
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
    return std::move(kernel_);
  }

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

  // x: f32[B*4096]
  template <class Buffer>
  Buffer buffer(std::string_view what) {
    Buffer result;
    result.name = in_.identifier(what);
    in_.expect(":");
    result.dtype = dtype();
    in_.expect("[");
    result.elements = Sym::parse(in_);
    in_.expect("]");
    buffers_[result.name] = result.dtype;
    return result;
  }

  void param() {
    Param param = buffer<Param>("a parameter");
    Location at = in_.location();
    std::string role = in_.identifier("in, out or workspace");
    if (role != "in" && role != "out" && role != "workspace") {
      in_.fail(at, fmt::format("expected in, out or workspace, got '{}'", role));
    }
    param.role = role == "in" ? Role::input : role == "out" ? Role::output : Role::workspace;
    if (in_.accept("node")) param.value = static_cast<int32_t>(integer("a node's number"));
    kernel_.params.push_back(std::move(param));
  }

  void header() {
    std::vector<std::string> comment;
    while (!in_.peek("phase") && !in_.peek("}")) {
      if (in_.accept("comment")) {
        comment.push_back(in_.string_literal("a comment"));
      } else if (in_.accept("report")) {
        kernel_.reports.push_back(in_.string_literal("a report"));
      } else if (in_.accept("thread_elements")) {
        kernel_.thread_elements = integer("a number of elements");
      } else if (in_.accept("all_registers")) {
        kernel_.all_registers = true;
      } else if (in_.accept("most_registers")) {
        kernel_.most_registers = integer("a number of registers");
      } else {
        in_.expect("scratch");
        kernel_.scratch.push_back(buffer<Scratch>("a scratch buffer"));
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
    if (in_.accept("blocks")) phase.blocks = integer("blocks of a cluster");
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
    if (in_.accept("transpose")) return transpose();
    if (in_.accept("prefetch")) return prefetch();
    if (in_.accept("fetch")) return fetch();
    if (in_.accept("await")) return Await{integer("a number of fetches")};
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
    std::string name = in_.identifier("a form");
    std::vector<std::string_view> known;
    for (int i = 0; i < form_count; ++i) {
      const auto form = static_cast<Form>(i);
      if (!has_form(info, form)) continue;
      if (form_name(form) == name) return form;
      known.push_back(form_name(form));
    }
    std::string others = known.empty() ? "" : fmt::format("; it has {}", fmt::join(known, ", "));
    in_.fail(at, fmt::format("{} has no form '{}'{}", info.name, name, others));
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
    if (in_.accept("(")) {
      acc.from = in_.identifier("a value");
      in_.expect(")");
    }
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
    std::optional<Sym> lane;
    if (in_.accept("[")) {
      lane = Sym::parse(in_);
      in_.expect("]");
    }
    Location op_at = in_.location();
    Op op = reduction(op_at);
    if (op != acc->second.op) {
      in_.fail(op_at, fmt::format("{} accumulates {}, not {}", name, op_name(acc->second.op),
                                  op_name(op)));
    }
    in_.expect("=");
    return Accumulate{name, operand(acc->second.dtype, "a value"), lane};
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

  Stmt transpose() {
    Transpose transpose;
    std::tie(transpose.dst, transpose.dst_index) = place();
    in_.expect("by");
    transpose.dst_stride = Sym::parse(in_);
    in_.expect("=");
    std::tie(transpose.src, transpose.src_index) = place();
    in_.expect("by");
    transpose.src_stride = Sym::parse(in_);
    in_.expect("rows");
    transpose.rows = Sym::parse(in_);
    in_.expect("columns");
    transpose.columns = Sym::parse(in_);
    return transpose;
  }

  Stmt fetch() {
    Fetch fetch;
    std::tie(fetch.dst, fetch.dst_index) = place();
    in_.expect("=");
    std::tie(fetch.src, fetch.src_index) = place();
    in_.expect("count");
    fetch.count = Sym::parse(in_);
    return fetch;
  }

  Stmt prefetch() {
    Prefetch prefetch;
    prefetch.level = in_.accept("L2") ? 2 : 1;
    if (prefetch.level == 1) in_.expect("L1");
    std::tie(prefetch.buffer, prefetch.index) = place();
    if (in_.accept("share")) prefetch.share = integer("a share");
    return prefetch;
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
    loop->body = body();
    return loop;
  }

  Cursor in_;
  Kernel kernel_;
  std::map<std::string, DType> buffers_, values_;
  std::map<std::string, Accumulator> accumulators_;
};

}  // namespace

Kernel parse_kernel(std::string_view text, const std::string& file) {
  return Parser(file, text).kernel();
}

std::vector<Kernel> parse_kernels(std::string_view text, const std::string& file) {
  return Parser(file, text).kernels();
}

}  // namespace ingot::loop
