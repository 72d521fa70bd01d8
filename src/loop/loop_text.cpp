// Text form of the loop IR. The example in loop.h shows the shape; every field has a place:
//   kernel NAME(x: f32[N] in node 3, y: f32[N] out, w: f32[N] workspace) sizes(N) {
//     comment "a line"                      scratch row: f32[8192]
//     report "a run-time error"             (number r of `report r` below, counted from 0)
//     thread_elements 2                     all_registers                most_registers 64
//     phase p in parallel(N) grain 4 { … }
//   for j in vector(N) { … }  and  for k in serial(4) { … }
//   for j in vector(N) across q(4) { … }  and  for c in spread(2) { … }
//   t: f32 = add(x0, 0.5)                   u: bool = lt(2: f32, 3)   v: f32 = elu(t, alpha=1)
//   x0: f32 = load x[j - 3] if 0 <= j - 3 < 8 and 0 <= p < 4 else 0 report 0
//   i: i64 = index 4*j                      m: bool = within 0 <= id < 8 report 0 of id
//   acc s: f32 = sum lanes 64               s sum= t                  r: bf16 = finish s
//   store y[j] = t                          stream y[j] = t           (past the caches)
//   prefetch L1 x[j + 512]                  prefetch L2 x[j + N*k + 8*N] share 2
//   transpose tile[0] by 80 = x[64*p] by N rows 64 columns N
//   product matmul f32 y[0] = x[0] * w[N] sizes m=8, n=N
#include <algorithm>
#include <map>

#include "base/text.h"
#include "loop/let_text.h"
#include "loop/loop.h"

namespace ingot::loop {
namespace {

constexpr std::string_view keywords[] = {
    "acc",      "for",     "store",         "stream",          "product",
    "prefetch", "inf",     "nan",           "report",          "transpose",
    "phase",    "comment", "scratch",       "thread_elements", "all_registers",
    "fetch",    "await",   "most_registers"};

constexpr std::string_view kind_words[] = {"serial", "vector", "spread"};

std::string name_text(std::string_view name) {
  bool keyword = std::ranges::find(keywords, name) != std::end(keywords);
  return keyword ? fmt::format("`{}`", name) : quoted_name(name);
}

std::string literal_text(const Literal& literal, DType dtype) {
  return is_float(dtype) ? number_text(literal.real) : std::to_string(literal.integer);
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
    if (kernel_.thread_elements > 0) {
      out_.line(fmt::format("thread_elements {}", kernel_.thread_elements));
    }
    if (kernel_.all_registers) out_.line("all_registers");
    if (kernel_.most_registers > 0) {
      out_.line(fmt::format("most_registers {}", kernel_.most_registers));
    }
    for (const std::string& report : kernel_.reports) out_.line("report " + quoted_string(report));
    for (const Phase& phase : kernel_.phases) {
      const std::string blocks = phase.blocks > 1 ? fmt::format(" blocks {}", phase.blocks) : "";
      out_.open(fmt::format("phase {} in parallel({}) grain {}{} {{", name_text(phase.var),
                            phase.extent.text(), phase.grain, blocks));
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
    const std::string from = acc.from.empty() ? "" : fmt::format("({})", name_text(acc.from));
    out_.line(fmt::format("acc {}: {} = {}{} lanes {}", name_text(acc.name), dtype_name(acc.dtype),
                          op_name(acc.op), from, acc.lanes));
  }

  void print(const Accumulate& accumulate) {
    auto acc = accumulators_.find(accumulate.accumulator);
    INGOT_CHECK(acc != accumulators_.end(), "no accumulator {}", accumulate.accumulator);
    const std::string lane =
        accumulate.lane ? fmt::format("[{}]", accumulate.lane->text()) : std::string();
    out_.line(fmt::format("{}{} {}= {}", name_text(accumulate.accumulator), lane,
                          op_name(acc->second.op),
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

  void print(const Transpose& t) {
    out_.line(fmt::format("transpose {} by {} = {} by {} rows {} columns {}",
                          place(t.dst, t.dst_index), t.dst_stride.text(), place(t.src, t.src_index),
                          t.src_stride.text(), t.rows.text(), t.columns.text()));
  }

  void print(const Fetch& fetch) {
    out_.line(fmt::format("fetch {} = {} count {}", place(fetch.dst, fetch.dst_index),
                          place(fetch.src, fetch.src_index), fetch.count.text()));
  }

  void print(const Await& await) { out_.line(fmt::format("await {}", await.left)); }

  void print(const Prefetch& prefetch) {
    const std::string share = prefetch.share > 1 ? fmt::format(" share {}", prefetch.share) : "";
    out_.line(fmt::format("prefetch L{} {}{}", prefetch.level,
                          place(prefetch.buffer, prefetch.index), share));
  }

  void print(const std::shared_ptr<Loop>& loop) {
    std::string how;
    if (!loop->across.empty()) {
      how = fmt::format(" across {}({})", name_text(loop->across), across_rows);
    }
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

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).text(); }

}  // namespace ingot::loop
