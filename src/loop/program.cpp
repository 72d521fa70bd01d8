#include "loop/program.h"

#include <algorithm>

#include "base/error.h"

namespace ingot::loop {
namespace {

class Preparation {
 public:
  Preparation(const Kernel& kernel, const Bindings& sizes) : kernel_(kernel) {
    for (const std::string& size : kernel.sizes) {
      auto bound = sizes.find(size);
      INGOT_CHECK(bound != sizes.end(), "kernel {}: no value for size {}", kernel.name, size);
      program_.cells[define(size)].i = bound->second;
    }
    for (const Param& param : kernel.params) {
      buffers_[param.name] = program_.buffers.size();
      program_.buffers.push_back({param.name, param.dtype, expression(param.elements), false});
    }
    for (const Scratch& scratch : kernel.scratch) {
      buffers_[scratch.name] = program_.buffers.size();
      program_.buffers.push_back({scratch.name, scratch.dtype, expression(scratch.elements), true});
    }
  }

  Program take() {
    for (const Phase& phase : kernel_.phases) {
      Expression extent = expression(phase.extent);
      size_t var = define(phase.var);
      program_.phases.push_back({var, std::move(extent), body(phase.body)});
    }
    return std::move(program_);
  }

 private:
  size_t define(const std::string& name) {
    names_[name] = program_.cells.size();
    program_.cells.emplace_back();
    return names_[name];
  }

  template <class Map>
  size_t find(const Map& map, const std::string& name, std::string_view what) const {
    auto found = map.find(name);
    INGOT_CHECK(found != map.end(), "kernel {}: no {} '{}'", kernel_.name, what, name);
    return found->second;
  }

  Expression expression(const Sym& sym) const {
    Expression result;
    result.constant = sym.constant_part();
    for (const Sym::Term& term : sym.terms()) {
      Expression::Product product{term.factor, {}};
      for (const auto& atom : term.atoms) {
        Expression::Factor factor{atom->kind, 0, nullptr, nullptr};
        if (atom->kind == Sym::Atom::Kind::variable) {
          factor.cell = find(names_, atom->name, "variable");
        } else {
          factor.left = std::make_shared<Expression>(expression(atom->left));
          factor.right = std::make_shared<Expression>(expression(atom->right));
        }
        product.factors.push_back(std::move(factor));
      }
      result.products.push_back(std::move(product));
    }
    return result;
  }

  std::vector<Bounds> bounds(const std::vector<Guard>& guards) const {
    std::vector<Bounds> result;
    for (const Guard& guard : guards) {
      result.push_back({expression(guard.value), expression(guard.lo), expression(guard.hi)});
    }
    return result;
  }

  static Cell cell_of(const Literal& literal, DType dtype) {
    return to_cell(dtype, round_to(dtype, {literal.real, literal.integer}));
  }

  size_t operand(const Operand& operand, DType dtype) {
    if (const auto* name = std::get_if<std::string>(&operand)) return find(names_, *name, "value");
    program_.cells.push_back(cell_of(std::get<Literal>(operand), dtype));
    return program_.cells.size() - 1;
  }

  std::vector<Step> body(const std::vector<Stmt>& statements) {
    auto names = names_;
    std::vector<Step> steps;
    for (const Stmt& stmt : statements) {
      if (std::holds_alternative<Prefetch>(stmt) || std::holds_alternative<Await>(stmt)) continue;
      steps.push_back(std::visit([this](const auto& s) -> Step { return step(s); }, stmt));
    }
    names_ = std::move(names);
    return steps;
  }

  // The formulas for the operands' compute class; a row may have both a value and a test.
  static void resolve(LetStep& step, DType operand) {
    switch (compute_dtype(operand)) {
      case DType::f32:
        step.f32 = formula<float>(step.op);
        step.f32_test = predicate<float>(step.op);
        break;
      case DType::f64:
        step.f64 = formula<double>(step.op);
        step.f64_test = predicate<double>(step.op);
        break;
      case DType::i32:
        step.i32 = formula<int32_t>(step.op);
        step.i32_test = predicate<int32_t>(step.op);
        break;
      case DType::i64:
        step.i64 = formula<int64_t>(step.op);
        step.i64_test = predicate<int64_t>(step.op);
        break;
      case DType::u64:
        step.u64 = formula<uint64_t>(step.op);
        step.u64_test = predicate<uint64_t>(step.op);
        break;
      default:
        step.test = predicate<bool>(step.op);
    }
  }

  Step step(const Let& let) {
    LetStep step;
    step.op = let.op;
    step.dtype = let.dtype;
    step.operand = let.operand_dtypes.at(let.op == Op::select ? 1 : 0);
    for (size_t i = 0; i < let.operands.size(); i++) {
      step.operands.push_back(operand(let.operands[i], let.operand_dtypes[i]));
    }
    INGOT_CHECK(let.attrs.size() <= 3, "{} has {} real attributes", op_name(let.op),
                let.attrs.size());
    for (size_t i = 0; i < let.attrs.size(); i++) {
      DType type = compute_dtype(step.operand);
      step.attrs[i] = to_cell(type, convert(type, DType::f64, {let.attrs[i], 0}));
    }
    if (let.op != Op::select && let.op != Op::cast) {
      resolve(step, step.operand);
      if (let.form != Form::full) {
        // Approximations of a GPU's hardware: near enough for what is checked within a bound.
        if (auto shorter = shorter_formula(let.op, let.form)) step.f32 = shorter;
      }
      bool any = step.f32 || step.f64 || step.i32 || step.i64 || step.u64 || step.f32_test ||
                 step.f64_test || step.i32_test || step.i64_test || step.u64_test || step.test;
      INGOT_CHECK(any, "kernel {}: {} has no formula for {}", kernel_.name, op_name(let.op),
                  dtype_name(step.operand));
    }
    step.result = define(let.name);
    return step;
  }

  Step step(const Load& load) {
    LoadStep step{load.dtype,
                  0,
                  find(buffers_, load.buffer, "buffer"),
                  expression(load.index),
                  bounds(load.guards),
                  cell_of(load.otherwise, load.dtype),
                  load.report,
                  expression(load.reported)};
    step.result = define(load.name);
    return step;
  }

  Step step(const IndexValue& index) {
    IndexStep step{index.dtype,
                   0,
                   expression(index.value),
                   bounds(index.guards),
                   index.report,
                   expression(index.reported)};
    step.result = define(index.name);
    return step;
  }

  Step step(const Accumulator& acc) {
    AccumulatorState state;
    state.dtype = acc.dtype;
    state.op = acc.op;
    state.identity = cell_of(accumulator_identity(acc.op, acc.dtype), acc.dtype);
    state.lanes.resize(static_cast<size_t>(acc.lanes));
    state.combine.op = acc.op;
    resolve(state.combine, acc.dtype);
    accumulators_[acc.name] = program_.accumulators.size();
    program_.accumulators.push_back(std::move(state));
    AccumulatorStep step{program_.accumulators.size() - 1, {}};
    if (!acc.from.empty()) step.from = find(names_, acc.from, "value");
    return step;
  }

  Step step(const Accumulate& accumulate) {
    size_t acc = find(accumulators_, accumulate.accumulator, "accumulator");
    std::optional<Expression> lane;
    if (accumulate.lane) lane = expression(*accumulate.lane);
    return AccumulateStep{acc, operand(accumulate.value, program_.accumulators[acc].dtype), lane};
  }

  Step step(const Finish& finish) {
    FinishStep step{finish.dtype, 0, find(accumulators_, finish.accumulator, "accumulator")};
    step.result = define(finish.name);
    return step;
  }

  Step step(const Store& store) {
    size_t buffer = find(buffers_, store.buffer, "buffer");
    return StoreStep{buffer, operand(store.value, program_.buffers[buffer].dtype),
                     expression(store.index)};
  }

  Step step(const Product& product) {
    ProductStep step{product.routine,
                     product.dtype,
                     find(buffers_, product.dst, "buffer"),
                     find(buffers_, product.lhs, "buffer"),
                     find(buffers_, product.rhs, "buffer"),
                     expression(product.dst_index),
                     expression(product.lhs_index),
                     expression(product.rhs_index),
                     {}};
    for (const auto& [name, size] : product.sizes) step.sizes.push_back(expression(size));
    return step;
  }

  Step step(const Transpose& t) {
    return TransposeStep{find(buffers_, t.dst, "buffer"),
                         find(buffers_, t.src, "buffer"),
                         expression(t.dst_index),
                         expression(t.src_index),
                         expression(t.dst_stride),
                         expression(t.src_stride),
                         expression(t.rows),
                         expression(t.columns)};
  }

  // At once, which is one of the times at which it may come: a block of one row.
  Step step(const Fetch& fetch) {
    return TransposeStep{find(buffers_, fetch.dst, "buffer"),
                         find(buffers_, fetch.src, "buffer"),
                         expression(fetch.dst_index),
                         expression(fetch.src_index),
                         expression(1),
                         expression(0),
                         expression(1),
                         expression(fetch.count)};
  }

  static Step step(const Await& /*await*/) { fail_internal("prepare", "waiting is no step"); }
  static Step step(const Prefetch& /*prefetch*/) { fail_internal("prepare", "a hint is no step"); }

  Step step(const std::shared_ptr<Loop>& loop) {
    auto step = std::make_shared<LoopStep>();
    step->vector = loop->kind == LoopKind::vector;
    step->extent = expression(loop->extent);
    auto names = names_;
    step->var = define(loop->var);
    if (!loop->across.empty()) step->across = define(loop->across);
    step->body = body(loop->body);
    names_ = std::move(names);
    return step;
  }

  const Kernel& kernel_;
  Program program_;
  std::map<std::string, size_t> names_, buffers_, accumulators_;
};

int64_t factor_value(const Expression::Factor& factor, const std::vector<Cell>& cells) {
  if (factor.kind == Sym::Atom::Kind::variable) return cells[factor.cell].i;
  int64_t left = factor.left->evaluate(cells), right = factor.right->evaluate(cells);
  // As emitted: a size that is 0 divides only what nobody reads, and nor does a negative id count.
  if (factor.kind != Sym::Atom::Kind::min) right = std::max<int64_t>(right, 1);
  switch (factor.kind) {
    case Sym::Atom::Kind::min:
      return left < right ? left : right;
    case Sym::Atom::Kind::floor_div:
      return left / right;
    default:
      return left % right;
  }
}

}  // namespace

int64_t Expression::evaluate(const std::vector<Cell>& cells) const {
  int64_t sum = constant;
  for (const Product& product : products) {
    int64_t value = product.factor;
    for (const Factor& factor : product.factors) value *= factor_value(factor, cells);
    sum += value;
  }
  return sum;
}

Program prepare(const Kernel& kernel, const Bindings& sizes) {
  return Preparation(kernel, sizes).take();
}

Scalar to_scalar(DType dtype, Cell cell) {
  switch (compute_dtype(dtype)) {
    case DType::f32:
      return {cell.f, 0};
    case DType::f64:
      return {cell.d, 0};
    default:
      return {0, cell.i};
  }
}

Cell to_cell(DType dtype, Scalar scalar) {
  Cell cell;
  switch (compute_dtype(dtype)) {
    case DType::f32:
      cell.f = static_cast<float>(scalar.real);
      break;
    case DType::f64:
      cell.d = scalar.real;
      break;
    default:
      cell.i = scalar.integer;
  }
  return cell;
}

}  // namespace ingot::loop
