// A typed function for every op: ingot::ops::add(program, a, b). More: docs/ops.md.
// Made from src/op/ops.def; tests/op/op_docs_test.cpp compares and rewrites it.
// clang-format off
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ingot/ingot.h>

namespace ingot::ops {

// a + b; integers wrap.
inline Value add(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("add", {a, b}, {}, std::move(name));
}

// a - b; integers wrap.
inline Value sub(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("sub", {a, b}, {}, std::move(name));
}

// a * b; integers wrap.
inline Value mul(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("mul", {a, b}, {}, std::move(name));
}

// a / b; integers truncate, x / 0 = 0 and the lowest integer / -1 is itself.
inline Value div(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("div", {a, b}, {}, std::move(name));
}

// Remainder with the divisor's sign; integers: x mod 0 = 0.
inline Value mod(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("mod", {a, b}, {}, std::move(name));
}

// a to the power b, as C's pow.
inline Value pow(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("pow", {a, b}, {}, std::move(name));
}

// a * b + c, rounded once.
inline Value fma(Program& program, Value a, Value b, Value c, std::string name = {}) {
  return program.op("fma", {a, b, c}, {}, std::move(name));
}

// -a; integers wrap.
inline Value neg(Program& program, Value a, std::string name = {}) {
  return program.op("neg", {a}, {}, std::move(name));
}

// |a|; the lowest integer is itself.
inline Value abs(Program& program, Value a, std::string name = {}) {
  return program.op("abs", {a}, {}, std::move(name));
}

// -1, 0 or 1; a zero keeps its sign, NaN stays NaN.
inline Value sign(Program& program, Value a, std::string name = {}) {
  return program.op("sign", {a}, {}, std::move(name));
}

// The largest whole number not above a.
inline Value floor(Program& program, Value a, std::string name = {}) {
  return program.op("floor", {a}, {}, std::move(name));
}

// The smallest whole number not below a.
inline Value ceil(Program& program, Value a, std::string name = {}) {
  return program.op("ceil", {a}, {}, std::move(name));
}

// The nearest whole number; halves go to the even one.
inline Value round(Program& program, Value a, std::string name = {}) {
  return program.op("round", {a}, {}, std::move(name));
}

// a without its fraction.
inline Value trunc(Program& program, Value a, std::string name = {}) {
  return program.op("trunc", {a}, {}, std::move(name));
}

// The smaller one; NaN if either is NaN, -0 is below +0.
inline Value minimum(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("minimum", {a, b}, {}, std::move(name));
}

// The larger one; NaN if either is NaN, -0 is below +0.
inline Value maximum(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("maximum", {a, b}, {}, std::move(name));
}

// e^a.
inline Value exp(Program& program, Value a, std::string name = {}) {
  return program.op("exp", {a}, {}, std::move(name));
}

// 2^a.
inline Value exp2(Program& program, Value a, std::string name = {}) {
  return program.op("exp2", {a}, {}, std::move(name));
}

// e^a - 1.
inline Value expm1(Program& program, Value a, std::string name = {}) {
  return program.op("expm1", {a}, {}, std::move(name));
}

// Natural logarithm; of 0 it is -inf, of a negative number NaN.
inline Value log(Program& program, Value a, std::string name = {}) {
  return program.op("log", {a}, {}, std::move(name));
}

// Logarithm to base 2.
inline Value log2(Program& program, Value a, std::string name = {}) {
  return program.op("log2", {a}, {}, std::move(name));
}

// log(1 + a).
inline Value log1p(Program& program, Value a, std::string name = {}) {
  return program.op("log1p", {a}, {}, std::move(name));
}

// Square root, correctly rounded.
inline Value sqrt(Program& program, Value a, std::string name = {}) {
  return program.op("sqrt", {a}, {}, std::move(name));
}

// 1 / sqrt(a).
inline Value rsqrt(Program& program, Value a, std::string name = {}) {
  return program.op("rsqrt", {a}, {}, std::move(name));
}

// 1 / a.
inline Value reciprocal(Program& program, Value a, std::string name = {}) {
  return program.op("reciprocal", {a}, {}, std::move(name));
}

// Sine.
inline Value sin(Program& program, Value a, std::string name = {}) {
  return program.op("sin", {a}, {}, std::move(name));
}

// Cosine.
inline Value cos(Program& program, Value a, std::string name = {}) {
  return program.op("cos", {a}, {}, std::move(name));
}

// Tangent.
inline Value tan(Program& program, Value a, std::string name = {}) {
  return program.op("tan", {a}, {}, std::move(name));
}

// Arc sine.
inline Value asin(Program& program, Value a, std::string name = {}) {
  return program.op("asin", {a}, {}, std::move(name));
}

// Arc cosine.
inline Value acos(Program& program, Value a, std::string name = {}) {
  return program.op("acos", {a}, {}, std::move(name));
}

// Arc tangent.
inline Value atan(Program& program, Value a, std::string name = {}) {
  return program.op("atan", {a}, {}, std::move(name));
}

// The angle of the point with y = a and x = b.
inline Value atan2(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("atan2", {a, b}, {}, std::move(name));
}

// Hyperbolic sine.
inline Value sinh(Program& program, Value a, std::string name = {}) {
  return program.op("sinh", {a}, {}, std::move(name));
}

// Hyperbolic cosine.
inline Value cosh(Program& program, Value a, std::string name = {}) {
  return program.op("cosh", {a}, {}, std::move(name));
}

// Hyperbolic tangent.
inline Value tanh(Program& program, Value a, std::string name = {}) {
  return program.op("tanh", {a}, {}, std::move(name));
}

// Inverse hyperbolic sine.
inline Value asinh(Program& program, Value a, std::string name = {}) {
  return program.op("asinh", {a}, {}, std::move(name));
}

// Inverse hyperbolic cosine.
inline Value acosh(Program& program, Value a, std::string name = {}) {
  return program.op("acosh", {a}, {}, std::move(name));
}

// Inverse hyperbolic tangent.
inline Value atanh(Program& program, Value a, std::string name = {}) {
  return program.op("atanh", {a}, {}, std::move(name));
}

// Error function.
inline Value erf(Program& program, Value a, std::string name = {}) {
  return program.op("erf", {a}, {}, std::move(name));
}

// 1 / (1 + e^-a).
inline Value sigmoid(Program& program, Value a, std::string name = {}) {
  return program.op("sigmoid", {a}, {}, std::move(name));
}

// max(a, 0); NaN stays NaN, -0 becomes +0.
inline Value relu(Program& program, Value a, std::string name = {}) {
  return program.op("relu", {a}, {}, std::move(name));
}

// a, times alpha where negative.
inline Value leaky_relu(Program& program, Value a, double alpha = 0.01, std::string name = {}) {
  return program.op("leaky_relu", {a}, {{"alpha", alpha}}, std::move(name));
}

// a where positive, else alpha * (e^a - 1).
inline Value elu(Program& program, Value a, double alpha = 1, std::string name = {}) {
  return program.op("elu", {a}, {{"alpha", alpha}}, std::move(name));
}

// gamma * (a where positive, else alpha * (e^a - 1)).
inline Value selu(Program& program, Value a, double alpha = 1.6732632423543772,
                  double gamma = 1.0507009873554805, std::string name = {}) {
  return program.op("selu", {a}, {{"alpha", alpha}, {"gamma", gamma}}, std::move(name));
}

// a where positive, else alpha * (e^(a / alpha) - 1).
inline Value celu(Program& program, Value a, double alpha = 1, std::string name = {}) {
  return program.op("celu", {a}, {{"alpha", alpha}}, std::move(name));
}

// a * Phi(a) with the normal distribution Phi, in the erf form.
inline Value gelu(Program& program, Value a, std::string name = {}) {
  return program.op("gelu", {a}, {}, std::move(name));
}

// a / 2 * (1 + tanh(sqrt(2 / pi) * (a + 0.044715 * a^3))).
inline Value gelu_tanh(Program& program, Value a, std::string name = {}) {
  return program.op("gelu_tanh", {a}, {}, std::move(name));
}

// a * sigmoid(a).
inline Value silu(Program& program, Value a, std::string name = {}) {
  return program.op("silu", {a}, {}, std::move(name));
}

// a * tanh(log(1 + e^a)).
inline Value mish(Program& program, Value a, std::string name = {}) {
  return program.op("mish", {a}, {}, std::move(name));
}

// log(1 + e^a).
inline Value softplus(Program& program, Value a, std::string name = {}) {
  return program.op("softplus", {a}, {}, std::move(name));
}

// a / (1 + |a|), of infinities 1 and -1.
inline Value softsign(Program& program, Value a, std::string name = {}) {
  return program.op("softsign", {a}, {}, std::move(name));
}

// alpha * a + beta, clipped to [0, 1].
inline Value hard_sigmoid(Program& program, Value a, double alpha = 0.2, double beta = 0.5,
                          std::string name = {}) {
  return program.op("hard_sigmoid", {a}, {{"alpha", alpha}, {"beta", beta}}, std::move(name));
}

// a * (a / 6 + 0.5 clipped to [0, 1]).
inline Value hard_swish(Program& program, Value a, std::string name = {}) {
  return program.op("hard_swish", {a}, {}, std::move(name));
}

// minimum(maximum(a, min), max); a NaN operand or bound gives NaN.
inline Value clip(Program& program, Value a,
                  double min = -std::numeric_limits<double>::infinity(),
                  double max = std::numeric_limits<double>::infinity(), std::string name = {}) {
  return program.op("clip", {a}, {{"min", min}, {"max", max}}, std::move(name));
}

// a = b; NaN equals nothing.
inline Value eq(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("eq", {a, b}, {}, std::move(name));
}

// Not eq.
inline Value ne(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("ne", {a, b}, {}, std::move(name));
}

// a < b; false if either is NaN.
inline Value lt(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("lt", {a, b}, {}, std::move(name));
}

// a <= b; false if either is NaN.
inline Value le(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("le", {a, b}, {}, std::move(name));
}

// a > b; false if either is NaN.
inline Value gt(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("gt", {a, b}, {}, std::move(name));
}

// a >= b; false if either is NaN.
inline Value ge(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("ge", {a, b}, {}, std::move(name));
}

// Both.
inline Value and_(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("and", {a, b}, {}, std::move(name));
}

// At least one.
inline Value or_(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("or", {a, b}, {}, std::move(name));
}

// Exactly one.
inline Value xor_(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("xor", {a, b}, {}, std::move(name));
}

// The opposite.
inline Value not_(Program& program, Value a, std::string name = {}) {
  return program.op("not", {a}, {}, std::move(name));
}

// Whether a is NaN.
inline Value isnan(Program& program, Value a, std::string name = {}) {
  return program.op("isnan", {a}, {}, std::move(name));
}

// Whether a is an infinity.
inline Value isinf(Program& program, Value a, std::string name = {}) {
  return program.op("isinf", {a}, {}, std::move(name));
}

// Bitwise and.
inline Value bit_and(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("bit_and", {a, b}, {}, std::move(name));
}

// Bitwise or.
inline Value bit_or(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("bit_or", {a, b}, {}, std::move(name));
}

// Bitwise exclusive or.
inline Value bit_xor(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("bit_xor", {a, b}, {}, std::move(name));
}

// Bitwise complement.
inline Value bit_not(Program& program, Value a, std::string name = {}) {
  return program.op("bit_not", {a}, {}, std::move(name));
}

// a * 2^b, wrapping; 0 where b is negative or at least 32 (i64: 64).
inline Value shift_left(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("shift_left", {a, b}, {}, std::move(name));
}

// floor(a / 2^b); where b is negative or at least 32 (i64: 64), 0 or -1 by a's sign.
inline Value shift_right(Program& program, Value a, Value b, std::string name = {}) {
  return program.op("shift_right", {a, b}, {}, std::move(name));
}

// The first two words of Philox 4x32-10 for counter a and key b.
inline Value random_bits(Program& program, Value counter, Value key, std::string name = {}) {
  return program.op("random_bits", {counter, key}, {}, std::move(name));
}

// Conversion: floats to integers truncate and saturate (NaN gives 0), integers wrap; to f8 beyond
// the largest value it is the largest, or NaN (f8e5m2: infinity) without saturate.
inline Value cast(Program& program, Value a, DType dtype, bool saturate = true,
                  std::string name = {}) {
  return program.op("cast", {a}, {{"dtype", dtype}, {"saturate", saturate}}, std::move(name));
}

// a where the mask is true, else b.
inline Value select(Program& program, Value mask, Value a, Value b, std::string name = {}) {
  return program.op("select", {mask, a, b}, {}, std::move(name));
}

// Sum; of nothing 0.
inline Value sum(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                 std::string name = {}) {
  return program.op("sum", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// Largest element; NaN if one is NaN, of nothing the lowest value.
inline Value max(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                 std::string name = {}) {
  return program.op("max", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// Smallest element; NaN if one is NaN, of nothing the highest value.
inline Value min(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                 std::string name = {}) {
  return program.op("min", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// Product; of nothing 1.
inline Value prod(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                  std::string name = {}) {
  return program.op("prod", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// Whether at least one is true.
inline Value any(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                 std::string name = {}) {
  return program.op("any", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// Whether all are true.
inline Value all(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                 std::string name = {}) {
  return program.op("all", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// The same elements in row-major order under another shape; one size may be -1.
inline Value reshape(Program& program, Value x, Dims shape, std::string name = {}) {
  return program.op("reshape", {x}, {{"shape", shape}}, std::move(name));
}

// Dimension d of the result is dimension perm[d] of the operand.
inline Value transpose(Program& program, Value x, Dims perm, std::string name = {}) {
  return program.op("transpose", {x}, {{"perm", perm}}, std::move(name));
}

// Repeated to a shape, by NumPy's rules.
inline Value broadcast(Program& program, Value x, Dims shape, std::string name = {}) {
  return program.op("broadcast", {x}, {{"shape", shape}}, std::move(name));
}

// Elements starts to ends (excluded) of every dimension; negative counts from the end, and a
// negative step counts down.
inline Value slice(Program& program, Value x, Dims starts, Dims ends, Dims steps = {},
                   std::string name = {}) {
  return program.op("slice", {x}, {{"starts", starts}, {"ends", ends}, {"steps", steps}},
                    std::move(name));
}

// Operands one after the other along dim.
inline Value concat(Program& program, std::vector<Value> operands, int64_t dim,
                    std::string name = {}) {
  return program.op("concat", std::move(operands), {{"dim", dim}}, std::move(name));
}

// low and high more elements around every dimension: value, or with mode "edge", "reflect" or
// "wrap" the operand's own.
inline Value pad(Program& program, Value x, Dims low, Dims high, double value = 0,
                 std::string mode = "constant", std::string name = {}) {
  return program.op("pad", {x}, {{"low", low}, {"high", high}, {"value", value}, {"mode", mode}},
                    std::move(name));
}

// Windows over the last dimensions: [..., K..., O...], element k of window o is the operand's at o
// * stride + k * dilation.
inline Value window(Program& program, Value x, Dims sizes, Dims strides = {}, Dims dilations = {},
                    std::string name = {}) {
  return program.op("window", {x}, {{"sizes", sizes}, {"strides", strides},
                    {"dilations", dilations}}, std::move(name));
}

// Slices of the table along dim at the ids; an id out of range is an "error" or "zero".
inline Value gather(Program& program, Value table, Value ids, int64_t dim = 0,
                    std::string out_of_range = "error", std::string name = {}) {
  return program.op("gather", {table, ids}, {{"dim", dim}, {"out_of_range", out_of_range}},
                    std::move(name));
}

// One element of the table for each id: its position along dim, the other positions are the id's
// own.
inline Value gather_elements(Program& program, Value table, Value ids, int64_t dim = 0,
                             std::string out_of_range = "error", std::string name = {}) {
  return program.op("gather_elements", {table, ids}, {{"dim", dim},
                    {"out_of_range", out_of_range}}, std::move(name));
}

// Sums of the elements up to each one along dim; exclusive: of those before it.
inline Value cumsum(Program& program, Value x, int64_t dim, bool exclusive = false,
                    bool reverse = false, std::string name = {}) {
  return program.op("cumsum", {x}, {{"dim", dim}, {"exclusive", exclusive}, {"reverse", reverse}},
                    std::move(name));
}

// The first operand with slices along dim at the ids replaced by the updates, in their order; mode
// "add", "mul", "min" or "max" combines them.
inline Value scatter(Program& program, Value into, Value ids, Value updates, int64_t dim = 0,
                     std::string mode = "set", std::string name = {}) {
  return program.op("scatter", {into, ids, updates}, {{"dim", dim}, {"mode", mode}},
                    std::move(name));
}

// As scatter, with an id of its own for each element of the updates.
inline Value scatter_elements(Program& program, Value into, Value ids, Value updates,
                              int64_t dim = 0, std::string mode = "set", std::string name = {}) {
  return program.op("scatter_elements", {into, ids, updates}, {{"dim", dim}, {"mode", mode}},
                    std::move(name));
}

// The index along dim: 0, 1, 2, ...
inline Value iota(Program& program, Dims shape, DType dtype, int64_t dim = 0,
                  std::string name = {}) {
  return program.op("iota", {}, {{"shape", shape}, {"dim", dim}, {"dtype", dtype}},
                    std::move(name));
}

// The value of one size expression, as a scalar.
inline Value size(Program& program, Dims value, DType dtype, std::string name = {}) {
  return program.op("size", {}, {{"value", value}, {"dtype", dtype}}, std::move(name));
}

// Matrix product of the last two dimensions; batch dimensions broadcast.
inline Value matmul(Program& program, Value a, Value b, bool transpose_a = false,
                    bool transpose_b = false, std::string name = {}) {
  return program.op("matmul", {a, b}, {{"transpose_a", transpose_a},
                    {"transpose_b", transpose_b}}, std::move(name));
}

// Convolution of [N, C, D...] with [M, C / groups, K...], plus a bias [M]; pads: all low, then all
// high.
inline Value conv(Program& program, Value x, Value w, std::optional<Value> bias = std::nullopt,
                  Dims strides = {}, Dims pads = {}, Dims dilations = {}, int64_t groups = 1,
                  std::string name = {}) {
  std::vector<Value> operands = {x, w};
  if (bias) operands.push_back(*bias);
  return program.op("conv", std::move(operands), {{"strides", strides}, {"pads", pads},
                    {"dilations", dilations}, {"groups", groups}}, std::move(name));
}

// sum / count.
inline Value mean(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                  std::string name = {}) {
  return program.op("mean", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// log(sum(e^x)), shifted by the maximum.
inline Value logsumexp(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                       std::string name = {}) {
  return program.op("logsumexp", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// sum(x * x).
inline Value sum_square(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                        std::string name = {}) {
  return program.op("sum_square", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// sum(|x|).
inline Value l1_norm(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                     std::string name = {}) {
  return program.op("l1_norm", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// sqrt(sum(x * x)).
inline Value l2_norm(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                     std::string name = {}) {
  return program.op("l2_norm", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// Mean of (x - mean(x))^2.
inline Value var(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                 std::string name = {}) {
  return program.op("var", {x}, {{"dims", dims}, {"keepdims", keepdims}}, std::move(name));
}

// Row-major position over dims of the first (or last) largest element, or of the first (last) NaN;
// of nothing -1.
inline Value argmax(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                    bool select_last_index = false, std::string name = {}) {
  return program.op("argmax", {x}, {{"dims", dims}, {"keepdims", keepdims},
                    {"select_last_index", select_last_index}}, std::move(name));
}

// Row-major position over dims of the first (or last) smallest element, or of the first (last) NaN;
// of nothing -1.
inline Value argmin(Program& program, Value x, Dims dims = {}, bool keepdims = false,
                    bool select_last_index = false, std::string name = {}) {
  return program.op("argmin", {x}, {{"dims", dims}, {"keepdims", keepdims},
                    {"select_last_index", select_last_index}}, std::move(name));
}

// The k largest (or smallest) elements along dim in order, equal ones as they stand, NaN first; v,
// i = topk(x, k=2) gives their positions too.
inline Value topk(Program& program, Value x, int64_t k, int64_t dim = -1, bool largest = true,
                  std::string name = {}) {
  return program.op("topk", {x}, {{"k", k}, {"dim", dim}, {"largest", largest}}, std::move(name));
}

// The positions along dim of topk's elements.
inline Value topk_indices(Program& program, Value x, int64_t k, int64_t dim = -1,
                          bool largest = true, std::string name = {}) {
  return program.op("topk_indices", {x}, {{"k", k}, {"dim", dim}, {"largest", largest}},
                    std::move(name));
}

// e^(x - max(x)) / its sum along dim.
inline Value softmax(Program& program, Value x, int64_t dim = -1, std::string name = {}) {
  return program.op("softmax", {x}, {{"dim", dim}}, std::move(name));
}

// log(softmax(x)) along dim.
inline Value log_softmax(Program& program, Value x, int64_t dim = -1, std::string name = {}) {
  return program.op("log_softmax", {x}, {{"dim", dim}}, std::move(name));
}

// (x - mean) * rsqrt(var + epsilon) * gamma + beta over dims; beta may be left out.
inline Value layer_norm(Program& program, Value x, Value gamma,
                        std::optional<Value> beta = std::nullopt, Dims dims = {-1},
                        double epsilon = 1e-05, std::string name = {}) {
  std::vector<Value> operands = {x, gamma};
  if (beta) operands.push_back(*beta);
  return program.op("layer_norm", std::move(operands), {{"dims", dims}, {"epsilon", epsilon}},
                    std::move(name));
}

// x * rsqrt(mean(x * x) + epsilon) * gamma over dims.
inline Value rms_norm(Program& program, Value x, Value gamma, Dims dims = {-1},
                      double epsilon = 1e-06, std::string name = {}) {
  return program.op("rms_norm", {x, gamma}, {{"dims", dims}, {"epsilon", epsilon}},
                    std::move(name));
}

// softmax(q k^T * scale) v of q[..., L, D], k[..., S, D] and v[..., S, E]; a query that sees no key
// gives 0. scale=0: 1 / sqrt(D). mask, broadcast to [..., L, S]: bool, true where a key is seen, or
// q's dtype, added to the scores. causal: query i sees keys 0 to i.
inline Value attention(Program& program, Value q, Value k, Value v,
                       std::optional<Value> mask = std::nullopt, double scale = 0,
                       bool causal = false, std::string name = {}) {
  std::vector<Value> operands = {q, k, v};
  if (mask) operands.push_back(*mask);
  return program.op("attention", std::move(operands), {{"scale", scale}, {"causal", causal}},
                    std::move(name));
}

// layer_norm over each of the groups of channels (dimension 1) and all dimensions after them; gamma
// and beta have one element a channel.
inline Value group_norm(Program& program, Value x, Value gamma, Value beta, int64_t groups,
                        double epsilon = 1e-05, std::string name = {}) {
  return program.op("group_norm", {x, gamma, beta}, {{"groups", groups}, {"epsilon", epsilon}},
                    std::move(name));
}

// (x - mean) / sqrt(var + epsilon) * gamma + beta with operands x, gamma, beta, mean, var, one
// element a channel (dimension 1).
inline Value batch_norm(Program& program, Value x, Value gamma, Value beta, Value mean, Value var,
                        double epsilon = 1e-05, std::string name = {}) {
  return program.op("batch_norm", {x, gamma, beta, mean, var}, {{"epsilon", epsilon}},
                    std::move(name));
}

// Largest element of each window over [N, C, D...]; pads: all low, then all high, and never chosen.
inline Value max_pool(Program& program, Value x, Dims kernel, Dims strides = {}, Dims pads = {},
                      Dims dilations = {}, bool ceil_mode = false, std::string name = {}) {
  return program.op("max_pool", {x}, {{"kernel", kernel}, {"strides", strides}, {"pads", pads},
                    {"dilations", dilations}, {"ceil_mode", ceil_mode}}, std::move(name));
}

// Mean of each window over [N, C, D...], of its elements inside the operand.
inline Value avg_pool(Program& program, Value x, Dims kernel, Dims strides = {}, Dims pads = {},
                      Dims dilations = {}, bool ceil_mode = false, bool count_include_pad = false,
                      std::string name = {}) {
  return program.op("avg_pool", {x}, {{"kernel", kernel}, {"strides", strides}, {"pads", pads},
                    {"dilations", dilations}, {"ceil_mode", ceil_mode},
                    {"count_include_pad", count_include_pad}}, std::move(name));
}

// The first operand plus the updates' slices at the ids along dim, in the order of the updates.
inline Value scatter_add(Program& program, Value into, Value ids, Value updates, int64_t dim = 0,
                         std::string name = {}) {
  return program.op("scatter_add", {into, ids, updates}, {{"dim", dim}}, std::move(name));
}

// Numbers that follow from the seed and an element's row-major position alone: "uniform" in [low,
// high), or "normal".
inline Value random(Program& program, Dims shape, DType dtype = DType::f32, int64_t seed = 0,
                    std::string distribution = "uniform", double low = 0, double high = 1,
                    double mean = 0, double scale = 1, std::string name = {}) {
  return program.op("random", {}, {{"shape", shape}, {"dtype", dtype}, {"seed", seed},
                    {"distribution", distribution}, {"low", low}, {"high", high}, {"mean", mean},
                    {"scale", scale}}, std::move(name));
}

}  // namespace ingot::ops
