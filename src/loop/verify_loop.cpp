// What every kernel must satisfy before it is interpreted or emitted.
#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "loop/loop.h"

namespace ingot::loop {
namespace {

constexpr int outside = -1;  // not in a vector loop

struct Definition {
  DType dtype;
  bool varying;  // defined in a vector loop from something that differs between its iterations
};

struct AccumulatorInfo {
  Accumulator acc;
  bool in_spread;
  int vector_loop;  // number of the vector loop around it, or `outside`
};

// Where a buffer is loaded and stored: its subscript with everything inside the phase (or the
// vector loop) set to 0, so that what is left tells the iterations apart.
struct Accesses {
  std::map<std::string, std::vector<Sym>> loads, stores;
};

class Verifier {
 public:
  Verifier(const Kernel& kernel, std::string_view where) : kernel_(kernel), where_(where) {}

  void run() {
    for (const std::string& size : kernel_.sizes) {
      check(sizes_.insert(size).second, "size '{}' stands twice", size);
    }
    for (const Param& p : kernel_.params)
      buffer(p.name, p.dtype, p.elements, p.role == Role::input);
    const int64_t elements = kernel_.thread_elements;
    check(elements == 0 || elements == 2 || elements == 4 || elements == 8, "{} elements a thread",
          elements);
    for (const Scratch& s : kernel_.scratch) {
      buffer(s.name, s.dtype, s.elements, false);
      scratch_.insert(s.name);
    }
    check(!kernel_.phases.empty(), "no phase");
    for (const Phase& p : kernel_.phases) phase(p);
  }

 private:
  struct Buffer {
    DType dtype;
    bool read_only;
  };

  template <class... T>
  void check(bool condition, fmt::format_string<T...> format, T&&... args) const {
    if (condition) return;
    fail_internal(where_, fmt::format("kernel {}: {}", kernel_.name,
                                      fmt::format(format, std::forward<T>(args)...)));
  }

  void buffer(const std::string& name, DType dtype, const Sym& elements, bool read_only) {
    check(buffers_.emplace(name, Buffer{dtype, read_only}).second, "buffer '{}' stands twice",
          name);
    for (const std::string& variable : elements.variables()) {
      check(sizes_.contains(variable), "buffer '{}': '{}' in its element count is no size", name,
            variable);
    }
  }

  void phase(const Phase& phase) {
    for (const std::string& variable : phase.extent.variables()) {
      check(sizes_.contains(variable), "phase {}: '{}' in its extent is no size", phase.var,
            variable);
    }
    check(phase.grain >= 1, "phase {}: grain {}", phase.var, phase.grain);
    check(phase.blocks == 1 || phase.blocks == 2 || phase.blocks == 4 || phase.blocks == 8,
          "phase {}: {} blocks, not 1, 2, 4 or 8", phase.var, phase.blocks);
    check(phase.blocks == kernel_.phases[0].blocks, "phases of {} and of {} blocks in one kernel",
          kernel_.phases[0].blocks, phase.blocks);
    values_.clear();
    accumulators_.clear();
    loop_vars_.clear();
    phase_accesses_ = {};
    phase_extent_is_one_ = phase.extent.is(1);
    phase_var_ = phase.var;
    declare_loop_var(phase.var);
    body(phase.body);
    if (!phase_extent_is_one_) compare(phase_accesses_, "phase " + phase.var);
  }

  // A buffer that is stored may be loaded only by the iteration that stored it.
  void compare(const Accesses& accesses, const std::string& what) const {
    for (const auto& [name, stores] : accesses.stores) {
      auto loads = accesses.loads.find(name);
      if (loads == accesses.loads.end()) continue;
      for (const Sym& load : loads->second) {
        for (const Sym& store : stores) {
          check(load == store, "{}: buffer '{}' is stored at {} + … and loaded at {} + …", what,
                name, store.text(), load.text());
        }
      }
    }
  }

  bool visible(const std::string& name) const {
    return values_.contains(name) || accumulators_.contains(name) || loop_vars_.contains(name) ||
           sizes_.contains(name);
  }

  void declare_loop_var(const std::string& name) {
    check(!visible(name), "'{}' is defined twice", name);
    loop_vars_.insert(name);
  }

  void define(const std::string& name, DType dtype, bool varying) {
    check(!name.empty(), "a value has no name");
    check(!visible(name), "'{}' is defined twice", name);
    values_[name] = {dtype, varying};
  }

  void body(const std::vector<Stmt>& statements) {
    auto values = values_;
    auto accumulators = accumulators_;
    for (const Stmt& stmt : statements) {
      std::visit([this](const auto& s) { verify(s); }, stmt);
    }
    values_ = std::move(values);
    accumulators_ = std::move(accumulators);
  }

  // Checks the names in an index expression; true if it differs between iterations of the vector
  // loop.
  bool subscript(const Sym& sym, const std::string& what) const {
    bool varying = false;
    for (const std::string& name : sym.variables()) {
      if (auto value = values_.find(name); value != values_.end()) {
        check(is_integer(value->second.dtype), "{}: '{}' in {} is {}, no integer", what, name,
              sym.text(), dtype_name(value->second.dtype));
        varying = varying || value->second.varying;
        continue;
      }
      check(loop_vars_.contains(name) || sizes_.contains(name),
            "{}: '{}' in {} is not defined here", what, name, sym.text());
      varying = varying || name == vector_var_ || (!row_var_.empty() && name == row_var_);
    }
    linear(sym, what);
    return varying;
  }

  void linear(const Sym& sym, const std::string& what) const {
    for (const Sym::Term& term : sym.terms()) {
      int variable_factors = 0;
      for (const auto& atom : term.atoms) {
        if (atom->kind == Sym::Atom::Kind::variable) {
          variable_factors += sizes_.contains(atom->name) ? 0 : 1;
          continue;
        }
        linear(atom->left, what);
        linear(atom->right, what);
        std::set<std::string> names = atom->left.variables();
        variable_factors +=
            std::ranges::all_of(names, [&](const std::string& n) { return sizes_.contains(n); })
                ? 0
                : 1;
      }
      check(variable_factors <= 1, "{}: {} multiplies variables", what, sym.text());
    }
  }

  bool guards(const std::vector<Guard>& guards, const std::string& what) const {
    bool varying = false;
    for (const Guard& guard : guards) {
      for (const Sym* sym : {&guard.value, &guard.lo, &guard.hi}) {
        varying = subscript(*sym, what) || varying;
      }
    }
    return varying;
  }

  const Buffer& find_buffer(const std::string& name, const std::string& what) const {
    auto found = buffers_.find(name);
    check(found != buffers_.end(), "{}: no buffer '{}'", what, name);
    return found->second;
  }

  // `stated` is the dtype the statement gives the operand. Returns whether it varies.
  bool operand(const Operand& operand, DType stated, const std::string& what) const {
    const auto* name = std::get_if<std::string>(&operand);
    if (name == nullptr) return false;
    auto value = values_.find(*name);
    check(value != values_.end(), "{}: no value '{}' here", what, *name);
    check(value->second.dtype == stated, "{}: '{}' is {}, not {}", what, *name,
          dtype_name(value->second.dtype), dtype_name(stated));
    return value->second.varying;
  }

  void verify(const Let& let) {
    const OpInfo& info = op_info(let.op);
    std::string what = fmt::format("{} = {}", let.name, info.name);
    check(info.category == Category::elementwise, "{}: {} is not elementwise", what, info.name);
    auto count = static_cast<int>(let.operands.size());
    check(count == info.min_operands && let.operand_dtypes.size() == let.operands.size(),
          "{}: {} operands, {} dtypes; expected {}", what, count, let.operand_dtypes.size(),
          info.min_operands);
    auto reals = std::ranges::count_if(
        info.attrs, [](const AttrInfo& attr) { return attr.type == AttrType::real; });
    check(reals == static_cast<int64_t>(let.attrs.size()), "{}: {} attributes, expected {}", what,
          let.attrs.size(), reals);
    check(let.form == Form::full ||
              (has_form(info, let.form) && compute_dtype(let.dtype) == DType::f32 &&
               (let.form != Form::nearest || let.dtype == DType::bf16)),
          "{}: no form {} of {}", what, form_name(let.form), dtype_name(let.dtype));
    bool varying = false;
    for (size_t i = 0; i < let.operands.size(); i++) {
      varying = operand(let.operands[i], let.operand_dtypes[i], what) || varying;
    }
    dtypes(let, info, what);
    define(let.name, let.dtype, varying);
  }

  void dtypes(const Let& let, const OpInfo& info, const std::string& what) const {
    if (let.op == Op::cast) return;
    size_t first = let.op == Op::select ? 1 : 0;
    check(first == 0 || let.operand_dtypes[0] == DType::boolean, "{}: select by {}, not by bool",
          what, dtype_name(let.operand_dtypes[0]));
    DType dtype = let.operand_dtypes[first];
    for (size_t i = first; i < let.operand_dtypes.size(); i++) {
      check(accepts(info.operands, let.operand_dtypes[i]), "{} does not take {}", what,
            dtype_name(let.operand_dtypes[i]));
      check(compute_dtype(let.operand_dtypes[i]) == compute_dtype(dtype), "{} of {} and {}", what,
            dtype_name(dtype), dtype_name(let.operand_dtypes[i]));
    }
    if (info.rule == DTypeRule::boolean) {
      check(let.dtype == DType::boolean, "{} gives bool, not {}", what, dtype_name(let.dtype));
    } else {
      check(compute_dtype(let.dtype) == compute_dtype(dtype), "{} of {} gives no {}", what,
            dtype_name(dtype), dtype_name(let.dtype));
    }
  }

  void verify(const Load& load) {
    std::string what = fmt::format("{} = load {}", load.name, load.buffer);
    const Buffer& from = find_buffer(load.buffer, what);
    check(load.dtype == from.dtype, "{}: {} from a buffer of {}", what, dtype_name(load.dtype),
          dtype_name(from.dtype));
    check(load.report < static_cast<int>(kernel_.reports.size()), "{}: no report {}", what,
          load.report);
    check(load.report < 0 || !load.guards.empty(), "{}: a report without a guard", what);
    bool varying = subscript(load.index, what);
    varying = guards(load.guards, what) || varying;
    varying = subscript(load.reported, what) || varying;
    note(load.buffer, load.index, false);
    define(load.name, load.dtype, varying);
  }

  void verify(const IndexValue& index) {
    check((index.dtype == DType::boolean) == !index.guards.empty(),
          "{}: a bool has guards, a number has none", index.name);
    check(index.report < static_cast<int>(kernel_.reports.size()), "{}: no report {}", index.name,
          index.report);
    check(index.report < 0 || !index.guards.empty(), "{}: a report without a guard", index.name);
    bool varying = subscript(index.value, index.name);
    varying = guards(index.guards, index.name) || varying;
    varying = subscript(index.reported, index.name) || varying;
    define(index.name, index.dtype, varying);
  }

  void verify(const Accumulator& acc) {
    const OpInfo& info = op_info(acc.op);
    check(info.category == Category::reduction, "acc {}: {} is no reduction", acc.name, info.name);
    check(acc.lanes == 1 || acc.lanes == 64 || acc.lanes == 128 || acc.lanes == 256,
          "acc {}: {} lanes", acc.name, acc.lanes);
    check(acc.dtype == compute_dtype(acc.dtype), "acc {}: {} is no compute dtype", acc.name,
          dtype_name(acc.dtype));
    check(accepts(info.operands, acc.dtype), "acc {}: {} does not take {}", acc.name, info.name,
          dtype_name(acc.dtype));
    check(acc.lanes == 1 || vector_loop_ == outside, "acc {}: lanes inside a vector loop",
          acc.name);
    check(!visible(acc.name), "'{}' is defined twice", acc.name);
    if (!acc.from.empty()) {
      check(acc.lanes == 1, "acc {}: from a value, in {} lanes", acc.name, acc.lanes);
      operand(acc.from, acc.dtype, "acc " + acc.name);
    }
    accumulators_[acc.name] = {acc, in_spread_, vector_loop_};
  }

  const AccumulatorInfo& find_accumulator(const std::string& name) const {
    auto found = accumulators_.find(name);
    check(found != accumulators_.end(), "no accumulator '{}' here", name);
    return found->second;
  }

  void verify(const Accumulate& accumulate) {
    const AccumulatorInfo& info = find_accumulator(accumulate.accumulator);
    const std::string& name = accumulate.accumulator;
    if (const auto* value = std::get_if<std::string>(&accumulate.value)) {
      auto found = values_.find(*value);
      check(found != values_.end(), "{}: no value '{}' here", name, *value);
      check(compute_dtype(found->second.dtype) == info.acc.dtype, "{} is {}, '{}' is {}", name,
            dtype_name(info.acc.dtype), *value, dtype_name(found->second.dtype));
    }
    check(accumulate.lane || !in_spread_ || info.in_spread,
          "{}: iterations of a spread loop share it, so a lane has to be named", name);
    if (accumulate.lane) {
      check(info.acc.lanes > 1, "{}: a lane of an accumulator of one", name);
      check(vector_loop_ == outside, "{}: lanes of a vector loop are its iterations", name);
      subscript(*accumulate.lane, name);
    } else if (info.acc.lanes > 1) {
      check(vector_loop_ != outside, "{}: outside of vector loops a lane has to be named", name);
    } else {
      check(vector_loop_ == info.vector_loop,
            "{}: iterations of a vector loop share an accumulator of one lane", name);
    }
  }

  void verify(const Finish& finish) {
    const AccumulatorInfo& info = find_accumulator(finish.accumulator);
    check(compute_dtype(finish.dtype) == info.acc.dtype, "{}: {} from an accumulator of {}",
          finish.name, dtype_name(finish.dtype), dtype_name(info.acc.dtype));
    check(vector_loop_ == info.vector_loop, "{}: finished in another loop than declared",
          finish.name);
    define(finish.name, finish.dtype, vector_loop_ != outside);
  }

  void verify(const Store& store) {
    std::string what = "store " + store.buffer;
    const Buffer& to = find_buffer(store.buffer, what);
    check(!to.read_only, "{}: an input is not stored to", what);
    if (scratch_.contains(store.buffer)) stored_scratch_.insert(store.buffer);
    check(!fetched_.contains(store.buffer), "{}: it is fetched as well", what);
    operand(store.value, to.dtype, what);
    subscript(store.index, what);
    if (vector_loop_ != outside && !vector_once_) {
      check(store.index.uses(vector_var_), "{}[{}]: all iterations over {} store one element", what,
            store.index.text(), vector_var_);
    }
    if (!phase_extent_is_one_ && !vector_empty_ && !scratch_.contains(store.buffer)) {
      check(store.index.uses(phase_var_), "{}[{}]: all iterations over {} store one element", what,
            store.index.text(), phase_var_);
    }
    note(store.buffer, store.index, true);
  }

  void verify(const Product& product) {
    std::string what = "product " + product.routine;
    check(vector_loop_ == outside, "{}: inside a vector loop", what);
    check(product.routine == "conv" || (product.routine == "matmul" && product.sizes.size() == 8),
          "{}: conv, or matmul with m n k lda ldb ldc transpose_a transpose_b", what);
    const Buffer& dst = find_buffer(product.dst, what);
    check(!dst.read_only, "{}: into the input '{}'", what, product.dst);
    check(dst.dtype == compute_dtype(product.dtype), "{}: {} gives {}, '{}' is {}", what,
          dtype_name(product.dtype), dtype_name(compute_dtype(product.dtype)), product.dst,
          dtype_name(dst.dtype));
    for (const std::string& name : {product.lhs, product.rhs}) {
      check(find_buffer(name, what).dtype == product.dtype, "{}: '{}' is not {}", what, name,
            dtype_name(product.dtype));
    }
    for (const Sym& sym : {product.dst_index, product.lhs_index, product.rhs_index}) {
      subscript(sym, what);
    }
    for (const auto& [name, size] : product.sizes) subscript(size, what + " " + name);
    note(product.dst, product.dst_index, true);
    note(product.lhs, product.lhs_index, false);
    note(product.rhs, product.rhs_index, false);
  }

  void verify(const Transpose& t) {
    std::string what = fmt::format("transpose {} = {}", t.dst, t.src);
    check(vector_loop_ == outside, "{}: inside a vector loop", what);
    const Buffer& dst = find_buffer(t.dst, what);
    const Buffer& src = find_buffer(t.src, what);
    check(scratch_.contains(t.dst), "{}: '{}' is no scratch buffer", what, t.dst);
    check(t.dst != t.src, "{}: onto itself", what);
    check(dst.dtype == src.dtype, "{}: {} from {}", what, dtype_name(dst.dtype),
          dtype_name(src.dtype));
    for (const Sym* sym :
         {&t.dst_index, &t.src_index, &t.dst_stride, &t.src_stride, &t.rows, &t.columns}) {
      subscript(*sym, what);
    }
    note(t.dst, t.dst_index, true);
    note(t.src, t.src_index, false);
  }

  void verify(const Fetch& fetch) {
    const std::string what = fmt::format("fetch {} = {}", fetch.dst, fetch.src);
    check(vector_loop_ == outside, "{}: inside a vector loop", what);
    const Buffer& dst = find_buffer(fetch.dst, what);
    const Buffer& src = find_buffer(fetch.src, what);
    check(scratch_.contains(fetch.dst), "{}: '{}' is no scratch buffer", what, fetch.dst);
    check(src.read_only, "{}: '{}' is no input", what, fetch.src);
    check(dst.dtype == src.dtype, "{}: {} from {}", what, dtype_name(dst.dtype),
          dtype_name(src.dtype));
    check(!stored_scratch_.contains(fetch.dst), "{}: '{}' is stored to as well", what, fetch.dst);
    fetched_.insert(fetch.dst);
    for (const Sym* sym : {&fetch.dst_index, &fetch.src_index, &fetch.count}) subscript(*sym, what);
  }

  void verify(const Await& await) const {
    check(vector_loop_ == outside, "await inside a vector loop");
    check(await.left >= 0, "await {}", await.left);
  }

  void verify(const Prefetch& prefetch) {
    std::string what = "prefetch " + prefetch.buffer;
    find_buffer(prefetch.buffer, what);
    check(prefetch.level == 1 || prefetch.level == 2, "{}: level {}", what, prefetch.level);
    check(prefetch.share >= 1, "{}: share {}", what, prefetch.share);
    subscript(prefetch.index, what);
    if (vector_loop_ == outside) return;
    std::optional<Sym> stride = prefetch.index.stride(vector_var_);
    check(stride && (stride->is(0) || stride->is(1)), "{}: [{}] does not count with {}", what,
          prefetch.index.text(), vector_var_);
  }

  void verify(const std::shared_ptr<Loop>& loop) {
    check(loop != nullptr, "a loop is missing");
    bool varying = subscript(loop->extent, "loop " + loop->var);
    check(!varying, "loop {}: its extent {} differs between iterations of a vector loop", loop->var,
          loop->extent.text());
    declare_loop_var(loop->var);
    if (loop->kind != LoopKind::vector) {
      const bool spread = loop->kind == LoopKind::spread;
      check(!spread || (vector_loop_ == outside && !in_spread_),
            "spread loop {} inside a vector or spread loop", loop->var);
      in_spread_ = in_spread_ || spread;
      inner_vars_.push_back(loop->var);
      body(loop->body);
      inner_vars_.pop_back();
      if (spread) in_spread_ = false;
      loop_vars_.erase(loop->var);
      return;
    }
    check(vector_loop_ == outside, "vector loop {} inside a vector loop", loop->var);
    if (!loop->across.empty()) {
      declare_loop_var(loop->across);
      row_var_ = loop->across;
      rows(*loop);
    }
    vector_loop_ = next_vector_loop_++;
    vector_var_ = loop->var;
    vector_empty_ = loop->extent.is(0);
    vector_once_ = loop->extent.is(1) || vector_empty_;
    vector_accesses_ = {};
    auto outer = std::move(inner_vars_);
    inner_vars_.clear();
    body(loop->body);
    inner_vars_ = std::move(outer);
    compare(vector_accesses_, "vector loop " + loop->var);
    vector_loop_ = outside;
    vector_empty_ = false;
    vector_var_.clear();
    loop_vars_.erase(loop->var);
    loop_vars_.erase(row_var_);
    row_var_.clear();
  }

  // A loop across rows: what the emitter can run 4 rows by 16 columns at a time.
  void rows(const Loop& loop) const {
    const std::string what = fmt::format("loop {} across {}", loop.var, loop.across);
    const Sym& n = loop.extent;
    check(n.constant_part() % across_columns == 0 &&
              std::ranges::all_of(
                  n.terms(), [](const Sym::Term& t) { return t.factor % across_columns == 0; }),
          "{}: {} is no multiple of {}", what, n.text(), across_columns);
    auto counts = [&](const Sym& index) {
      std::optional<Sym> stride = index.stride(loop.var);
      check(stride && (stride->is(0) || stride->is(1)), "{}: [{}] does not count with {}", what,
            index.text(), loop.var);
      for (const std::string& name : index.variables()) {
        auto value = values_.find(name);
        check(name == loop.var || name == loop.across || sizes_.contains(name) ||
                  loop_vars_.contains(name) || (value != values_.end() && !value->second.varying),
              "{}: [{}] depends on '{}'", what, index.text(), name);
      }
      return stride->is(1);
    };
    std::set<std::string> stored;
    for (const Stmt& stmt : loop.body) {
      if (const auto* store = std::get_if<Store>(&stmt)) {
        stored.insert(store->buffer);
        check(counts(store->index) && store->index.uses(loop.across),
              "{}: store {}[{}]: not an element for each iteration", what, store->buffer,
              store->index.text());
      }
    }
    for (const Stmt& stmt : loop.body) {
      const auto* load = std::get_if<Load>(&stmt);
      check(load != nullptr || std::holds_alternative<Let>(stmt) ||
                std::holds_alternative<Store>(stmt) || std::holds_alternative<Prefetch>(stmt),
            "{}: loads, arithmetic, stores and hints only", what);
      if (load == nullptr) continue;
      check(load->guards.empty(), "{}: {} is loaded with a guard", what, load->name);
      // An iteration may run twice, so what it reads has to stay.
      check(!stored.contains(load->buffer), "{}: loads from '{}', which it stores to", what,
            load->buffer);
      counts(load->index);
    }
  }

  // Remembers an access for `compare`.
  void note(const std::string& buffer, const Sym& index, bool store) {
    if (vector_loop_ != outside) {
      std::map<std::string, Sym, std::less<>> zero;
      for (const std::string& var : inner_vars_) zero[var] = 0;
      (store ? vector_accesses_.stores : vector_accesses_.loads)[buffer].push_back(
          index.substitute(zero));
    }
    if (scratch_.contains(buffer)) return;
    std::map<std::string, Sym, std::less<>> zero;
    for (const std::string& name : index.variables()) {
      if (name != phase_var_ && !sizes_.contains(name)) zero[name] = 0;
    }
    (store ? phase_accesses_.stores : phase_accesses_.loads)[buffer].push_back(
        index.substitute(zero));
  }

  const Kernel& kernel_;
  std::string_view where_;
  std::set<std::string> sizes_, scratch_, loop_vars_, stored_scratch_, fetched_;
  std::map<std::string, Buffer> buffers_;
  std::map<std::string, Definition> values_;
  std::map<std::string, AccumulatorInfo> accumulators_;
  std::string phase_var_, vector_var_, row_var_;
  bool phase_extent_is_one_ = false, vector_once_ = false, vector_empty_ = false;
  bool in_spread_ = false;
  int vector_loop_ = outside, next_vector_loop_ = 0;
  std::vector<std::string> inner_vars_;  // of serial loops inside the vector loop
  Accesses phase_accesses_, vector_accesses_;
};

}  // namespace

void verify(const Kernel& kernel, std::string_view where) { Verifier(kernel, where).run(); }

}  // namespace ingot::loop
