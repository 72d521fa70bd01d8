// A kernel prepared for the interpreter: names resolved to cells, subscripts to expressions over
// cells, formulas to function pointers.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "loop/loop.h"
#include "op/apply.h"

namespace ingot::loop {

// One value: f32 class in f, f64 in d, integers and bool in i. Bits pass through unchanged.
union Cell {
  float f;
  double d;
  int64_t i = 0;
};

struct Expression {
  struct Factor {
    Sym::Atom::Kind kind;
    size_t cell = 0;  // variable
    std::shared_ptr<const Expression> left, right;
  };
  struct Product {
    int64_t factor;
    std::vector<Factor> factors;
  };
  int64_t constant = 0;
  std::vector<Product> products;
  int64_t evaluate(const std::vector<Cell>& cells) const;
};

struct Bounds {
  Expression value, lo, hi;
};

struct LetStep {
  Op op = {};
  DType dtype = {}, operand = {};  // operand: of operand 0 (select: of operand 1)
  size_t result = 0;
  std::vector<size_t> operands;
  Cell attrs[3];
  Formula<float> f32 = nullptr;
  Formula<double> f64 = nullptr;
  Formula<int32_t> i32 = nullptr;
  Formula<int64_t> i64 = nullptr;
  Formula<uint64_t> u64 = nullptr;
  Predicate<float> f32_test = nullptr;
  Predicate<double> f64_test = nullptr;
  Predicate<int32_t> i32_test = nullptr;
  Predicate<int64_t> i64_test = nullptr;
  Predicate<uint64_t> u64_test = nullptr;
  Predicate<bool> test = nullptr;
};
struct LoadStep {
  DType dtype;
  size_t result, buffer;
  Expression index;
  std::vector<Bounds> guards;
  Cell otherwise;
  int report;
  Expression reported;
};
struct IndexStep {
  DType dtype;
  size_t result;
  Expression value;
  std::vector<Bounds> guards;
  int report;
  Expression reported;
};
struct AccumulatorStep {
  size_t accumulator;
  std::optional<size_t> from;
};
struct AccumulateStep {
  size_t accumulator, value;
  std::optional<Expression> lane;
};
struct FinishStep {
  DType dtype;
  size_t result, accumulator;
};
struct StoreStep {
  size_t buffer, value;
  Expression index;
};
struct ProductStep {
  std::string routine;
  DType dtype;
  size_t dst, lhs, rhs;
  Expression dst_index, lhs_index, rhs_index;
  std::vector<Expression> sizes;
};
struct TransposeStep {
  size_t dst, src;
  Expression dst_index, src_index, dst_stride, src_stride, rows, columns;
};
struct LoopStep;
using Step = std::variant<LetStep, LoadStep, IndexStep, AccumulatorStep, AccumulateStep, FinishStep,
                          StoreStep, ProductStep, TransposeStep, std::shared_ptr<LoopStep>>;
struct LoopStep {
  size_t var;
  bool vector;
  std::optional<size_t> across;  // the row variable
  Expression extent;
  std::vector<Step> body;
};

struct AccumulatorState {
  DType dtype;
  Op op;
  Cell identity;
  std::vector<Cell> lanes;
  LetStep combine;  // its formulas
};

struct Program {
  struct Phase {
    size_t var;
    Expression extent;
    std::vector<Step> body;
  };
  struct Buffer {
    std::string name;
    DType dtype;
    Expression elements;
    bool scratch;
  };
  std::vector<Phase> phases;
  std::vector<Buffer> buffers;  // params, then scratch
  std::vector<Cell> cells;      // literals hold their values, sizes are bound
  std::vector<AccumulatorState> accumulators;
};

// Sizes not bound are Error{internal}.
Program prepare(const Kernel& kernel, const Bindings& sizes);

// Conversions between cells and Scalar for a value of `dtype`.
Scalar to_scalar(DType dtype, Cell cell);
Cell to_cell(DType dtype, Scalar scalar);

}  // namespace ingot::loop
