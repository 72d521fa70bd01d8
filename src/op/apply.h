// The op table's formulas as scalar functions: what the evaluator and the loop interpreter run. The
// text is the one that kernels are generated from.
#pragma once

#include "op/op.h"

namespace ingot {

// Operands a, b, c (unused ones are ignored) and real attributes p, q, r.
template <class T>
using Formula = T (*)(T a, T b, T c, T p, T q, T r);
template <class T>
using Predicate = bool (*)(T a, T b, T c, T p, T q, T r);

// T: float, double, int32_t, int64_t, uint64_t, or bool (where both give the row's bool formula).
// Other integers run in a wider one (compute_dtype) and are wrapped by the caller. nullptr where
// the row has no formula for T, or another kind of result. Reductions: the combine formula. select
// and cast are not formulas: see below.
template <class T>
Formula<T> formula(Op op);
// The shorter formula of that form; nullptr where the row has none.
Formula<float> shorter_formula(Op op, Form form);
template <class T>
Predicate<T> predicate(Op op);

// A value of any dtype in transit: floats in `real`, integers and bool in `integer`.
struct Scalar {
  double real = 0;
  int64_t integer = 0;  // of u64: its bits
};

// Rounds (float dtypes: once, to nearest even) or wraps (integers) a computed value to `dtype`.
Scalar round_to(DType dtype, Scalar value);
// The one answer for every conversion: float → integer truncates, saturates, NaN gives 0; integer →
// integer wraps; anything → bool is ≠ 0 (NaN is true); bool → number is 0 or 1; float → float
// rounds once; integer → f16 or bf16 goes through f32, where such values are computed.
Scalar convert(DType to, DType from, Scalar value);
// Applies an elementwise op (select and cast too) to operands of one compute class and rounds to
// `result`. Slow and general; loops over many elements take `formula` once instead.
Scalar apply(Op op, DType result, DType operand, Scalar a, Scalar b, Scalar c,
             const std::vector<double>& attrs);

}  // namespace ingot
