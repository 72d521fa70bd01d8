// The formulas' tokens, compiled once more as scalar functions.
#include "op/apply.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "device/scalar.h"

namespace ingot {

namespace {

// A scalar in a formula. Literals of any type convert to it, so that `maximum(a, 0.0f)` means the
// same for float and double; integers wrap, which plain C++ leaves undefined.
template <class T>
struct Number {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  T value;
  template <class S>
  requires std::is_arithmetic_v<S> Number(S literal)
      : value(static_cast<T>(literal)) {}  // NOLINT: implicit on purpose

  static constexpr bool floating = std::is_floating_point_v<T>;
  template <class F>
  static Number wrapped(F f, Number a, Number b) {
    if constexpr (floating) {
      return f(a.value, b.value);
    } else {
      return static_cast<T>(f(static_cast<Bits>(a.value), static_cast<Bits>(b.value)));
    }
  }
  friend Number operator+(Number a, Number b) { return wrapped(std::plus<>(), a, b); }
  friend Number operator-(Number a, Number b) { return wrapped(std::minus<>(), a, b); }
  friend Number operator*(Number a, Number b) { return wrapped(std::multiplies<>(), a, b); }
  friend Number operator/(Number a, Number b) { return a.value / b.value; }
  friend Number operator&(Number a, Number b) { return wrapped(std::bit_and<>(), a, b); }
  friend Number operator|(Number a, Number b) { return wrapped(std::bit_or<>(), a, b); }
  friend Number operator^(Number a, Number b) { return wrapped(std::bit_xor<>(), a, b); }
  friend Number operator~(Number a) { return ~a.value; }
  friend Number operator-(Number a) {
    if constexpr (floating) {
      return -a.value;
    } else {
      return scalar::negate(a.value);
    }
  }
  friend bool operator==(Number a, Number b) { return a.value == b.value; }
  friend bool operator!=(Number a, Number b) { return a.value != b.value; }
  friend bool operator<(Number a, Number b) { return a.value < b.value; }
  friend bool operator<=(Number a, Number b) { return a.value <= b.value; }
  friend bool operator>(Number a, Number b) { return a.value > b.value; }
  friend bool operator>=(Number a, Number b) { return a.value >= b.value; }
  friend Number select(bool m, Number a, Number b) { return m ? a : b; }
};

template <>
struct Number<bool> {
  bool value;
  friend bool operator==(Number a, Number b) { return a.value == b.value; }
  friend bool operator&(Number a, Number b) { return a.value && b.value; }
  friend bool operator|(Number a, Number b) { return a.value || b.value; }
  friend bool operator^(Number a, Number b) { return a.value != b.value; }
  friend bool not_(Number a) { return !a.value; }
};

// The device library's functions on Numbers, found by the types of their operands.
template <class T>
Number<T> fma(Number<T> a, std::type_identity_t<Number<T>> b, std::type_identity_t<Number<T>> c) {
  return scalar::fma(a.value, b.value, c.value);
}
// clang-format off
#define FUNCTION1(f) \
  template <class T> \
  Number<T> f(Number<T> a) { return scalar::f(a.value); }
#define FUNCTION2(f) \
  template <class T> \
  Number<T> f(Number<T> a, std::type_identity_t<Number<T>> b) { return scalar::f(a.value, b.value); }
#include "device_functions.inc"  // generated: all of them
#undef FUNCTION1
#undef FUNCTION2
// clang-format on
using scalar::select;  // of literals only

struct None {};
[[maybe_unused]] constexpr None NONE;

// The scalar type as the device library spells it: its 64-bit integers are longs.
template <class T>
using Device = std::conditional_t<std::is_same_v<T, int64_t>, scalar::I64,
                                  std::conditional_t<std::is_same_v<T, uint64_t>, scalar::U64, T>>;

template <class R, class T>
R plain(const Number<T>& result) {
  return static_cast<R>(result.value);
}
template <class R, class S>
requires std::is_arithmetic_v<S> R plain(S result) { return static_cast<R>(result); }

// A formula written as a generic lambda, as a function of T; nullptr where the tokens are NONE.
template <class R, class T, class F>
auto function_of(F) -> R (*)(T, T, T, T, T, T) {
  using N = Number<Device<T>>;
  if constexpr (std::is_same_v<std::invoke_result_t<F, N, N, N, N, N, N>, None>) {
    return nullptr;
  } else {
    return [](T a, T b, T c, T p, T q, T r) {
      return plain<R>(F()(N{a}, N{b}, N{c}, N{p}, N{q}, N{r}));
    };
  }
}

#define FORMULA(tokens)                                   \
  [](auto a, auto b, auto c, auto p, auto q, auto r) {    \
    (void)a, (void)b, (void)c, (void)p, (void)q, (void)r; \
    return tokens;                                        \
  }

// R: what the caller can take. A row of T's class with another kind of result has no function.
template <class R, class T>
auto find_function(Op op) -> R (*)(T, T, T, T, T, T) {
  switch (op) {
#define ROW(name, to_bool, on_floats, on_integers, on_bools)     \
  case Op::name:                                                 \
    if constexpr (std::is_same_v<T, bool>) {                     \
      return function_of<R, T>(FORMULA((on_bools)));             \
    } else if constexpr (std::is_same_v<R, bool> != (to_bool)) { \
      return nullptr;                                            \
    } else if constexpr (std::is_floating_point_v<T>) {          \
      return function_of<R, T>(FORMULA((on_floats)));            \
    } else {                                                     \
      return function_of<R, T>(FORMULA((on_integers)));          \
    }
#define ELEMENTWISE(name, arity, operands, rule, flags, flops, instructions, attrs, on_floats, \
                    on_integers, on_bools, onnx, doc)                                          \
  ROW(name, DTypeRule::rule == DTypeRule::boolean, on_floats, on_integers, on_bools)
#define REDUCTION(name, operands, identity, on_floats, on_integers, on_bools, onnx, doc) \
  ROW(name, false, on_floats, on_integers, on_bools)
#include "op/ops.def"
#undef ROW
    default:
      return nullptr;
  }
}

Formula<float> find_shorter(Op op, Form form) {
#define SHORTER(name, which, tokens) \
  if (op == Op::name && form == Form::which) return function_of<float, float>(FORMULA((tokens)));
#define NARROW(name, form, reach, tokens) SHORTER(name, form, tokens)
#include "op/ops.def"
  return nullptr;
}
#undef FORMULA

}  // namespace

Formula<float> shorter_formula(Op op, Form form) { return find_shorter(op, form); }

template <class T>
Formula<T> formula(Op op) {
  return find_function<T, T>(op);
}

template <class T>
Predicate<T> predicate(Op op) {
  return find_function<bool, T>(op);
}

template Formula<float> formula(Op);
template Formula<double> formula(Op);
template Formula<int32_t> formula(Op);
template Formula<int64_t> formula(Op);
template Formula<uint64_t> formula(Op);
template Formula<bool> formula(Op);
template Predicate<float> predicate(Op);
template Predicate<double> predicate(Op);
template Predicate<int32_t> predicate(Op);
template Predicate<int64_t> predicate(Op);
template Predicate<uint64_t> predicate(Op);
template Predicate<bool> predicate(Op);

namespace {

double round_real(DType dtype, double value) {
  switch (dtype) {
    case DType::f16:
      return f16_value(f16_bits(value));
    case DType::bf16:
      return bf16_value(bf16_bits(value));
    case DType::f32:
      return static_cast<float>(value);
    case DType::f8e4m3:
      return f8e4m3_value(f8e4m3_bits(value));
    case DType::f8e5m2:
      return f8e5m2_value(f8e5m2_bits(value));
    default:
      return value;
  }
}

// As round_real, but what is beyond the largest f8e5m2, an infinity too, becomes that value.
double cast_real(DType dtype, double value) {
  constexpr double largest = 57344;
  if (dtype == DType::f8e5m2 && std::abs(value) > largest) return std::copysign(largest, value);
  return round_real(dtype, value);
}

// Truncated towards zero, NaN as 0, values beyond the range as its ends.
int64_t saturate(DType dtype, double value) {
  if (value != value) return 0;
  if (dtype == DType::boolean) return value != 0;
  if (dtype == DType::u64) return static_cast<int64_t>(scalar::to_u64(value));
  const IntegerLimits limits = integer_limits(dtype);
  return std::clamp<int64_t>(scalar::to_i64(value), limits.lowest, limits.highest);
}

template <class T>
inline constexpr DType dtype_of = DType::boolean;
template <>
inline constexpr DType dtype_of<int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<uint64_t> = DType::u64;

template <class T>
T attr_as(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    return static_cast<T>(saturate(dtype_of<T>, value));
  }
}

template <class T>
T operand_as(const Scalar& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value.real);
  } else {
    return static_cast<T>(value.integer);
  }
}

template <class T>
Scalar apply_formula(Op op, DType result, const Scalar& a, const Scalar& b, const Scalar& c,
                     const std::vector<double>& attrs) {
  INGOT_CHECK(attrs.size() <= 3, "{} real attributes", attrs.size());
  std::array<T, 3> pqr{};
  for (size_t i = 0; i < attrs.size(); i++) pqr[i] = attr_as<T>(attrs[i]);
  const auto call = [&](auto function) {
    return function(operand_as<T>(a), operand_as<T>(b), operand_as<T>(c), pqr[0], pqr[1], pqr[2]);
  };
  if (result == DType::boolean) {
    const Predicate<T> function = predicate<T>(op);
    INGOT_CHECK(function, "{} gives no bool here", op_name(op));
    return {0, call(function)};
  }
  const Formula<T> function = formula<T>(op);
  INGOT_CHECK(function, "{} has no formula here", op_name(op));
  if constexpr (std::is_floating_point_v<T>) {
    return round_to(result, {call(function), 0});
  } else {
    return round_to(result, {0, static_cast<int64_t>(call(function))});
  }
}

}  // namespace

Scalar round_to(DType dtype, Scalar value) {
  return is_float(dtype) ? Scalar{round_real(dtype, value.real), 0}
                         : Scalar{0, wrap_integer(dtype, value.integer)};
}

Scalar convert(DType to, DType from, Scalar value) {
  if (to == from) return value;
  if (is_float(from) && is_float(to)) return {cast_real(to, value.real), 0};
  if (is_float(from)) {
    if (to == DType::boolean) return {0, value.real != 0};
    return {0, saturate(to, value.real)};
  }
  if (!is_float(to)) return {0, wrap_integer(to, value.integer)};
  const auto bits = static_cast<uint64_t>(value.integer);
  if (to == DType::f64) {
    return {from == DType::u64 ? static_cast<double>(bits) : static_cast<double>(value.integer), 0};
  }
  const float nearest =
      from == DType::u64 ? static_cast<float>(bits) : static_cast<float>(value.integer);
  return {cast_real(to, nearest), 0};
}

Scalar apply(Op op, DType result, DType operand, Scalar a, Scalar b, Scalar c,
             const std::vector<double>& attrs) {
  if (op == Op::cast) return convert(result, operand, a);
  if (op == Op::select) return round_to(result, a.integer != 0 ? b : c);
  switch (compute_dtype(operand)) {
    case DType::f32:
      return apply_formula<float>(op, result, a, b, c, attrs);
    case DType::f64:
      return apply_formula<double>(op, result, a, b, c, attrs);
    case DType::i32:
      return apply_formula<int32_t>(op, result, a, b, c, attrs);
    case DType::i64:
      return apply_formula<int64_t>(op, result, a, b, c, attrs);
    case DType::u64:
      return apply_formula<uint64_t>(op, result, a, b, c, attrs);
    default:
      return apply_formula<bool>(op, result, a, b, c, attrs);
  }
}

}  // namespace ingot
