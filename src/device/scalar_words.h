// The words of the device library for one value on the host: bits, comparisons, rounding,
// powers of two. scalar.h has the functions written in them.
#pragma once

#include <bit>
#include <cstdint>

namespace ingot::scalar {

using F32 = float;
using F64 = double;
using I32 = int;
using I64 = long;
using U64 = unsigned long;
using M32 = bool;
using M64 = bool;

inline I32 bits(F32 a) { return std::bit_cast<I32>(a); }
inline I64 bits(F64 a) { return std::bit_cast<I64>(a); }
inline F32 from_bits(I32 a) { return std::bit_cast<F32>(a); }
inline F64 from_bits(I64 a) { return std::bit_cast<F64>(a); }
inline F32 splat_f32(float a) { return a; }
inline F64 splat_f64(double a) { return a; }
inline I32 splat_i32(int a) { return a; }
inline I64 splat_i64(long a) { return a; }
inline U64 splat_u64(unsigned long a) { return a; }
inline bool not_(bool m) { return !m; }
inline bool any(bool m) { return m; }
inline bool any_below(F32 a, float limit) { return a < limit; }
// table[i mod 16]: in lanes a permutation of a register
inline F32 lookup16(const float* table, I32 i) { return table[i & 15]; }
template <class T>
int lanes_of(T) {
  return 1;
}
template <class T>
T lane(T a, int) {
  return a;
}
template <class T>
void set_lane(T& a, int, T s) {
  a = s;
}
inline M64 to_m64(M32 m) { return m; }
inline M32 to_m32(M64 m) { return m; }
// C division; b neither 0 nor -1
inline I64 divide(I64 a, I64 b) { return a / b; }
inline U64 divide(U64 a, U64 b) { return a / b; }

inline F32 fma(F32 a, F32 b, F32 c) { return __builtin_fmaf(a, b, c); }
inline F64 fma(F64 a, F64 b, F64 c) { return __builtin_fma(a, b, c); }
inline F32 sqrt(F32 a) { return __builtin_sqrtf(a); }
inline F64 sqrt(F64 a) { return __builtin_sqrt(a); }
inline F32 abs(F32 a) { return __builtin_fabsf(a); }
inline F64 abs(F64 a) { return __builtin_fabs(a); }
// the most negative integer has no positive twin and stays
inline I32 negate(I32 a) { return static_cast<I32>(0u - static_cast<unsigned>(a)); }
inline I64 negate(I64 a) { return static_cast<I64>(0ul - static_cast<unsigned long>(a)); }
inline I32 abs(I32 a) { return a < 0 ? negate(a) : a; }
inline I64 abs(I64 a) { return a < 0 ? negate(a) : a; }
inline U64 negate(U64 a) { return 0ul - a; }
inline U64 abs(U64 a) { return a; }
inline F32 copysign(F32 a, F32 s) { return __builtin_copysignf(a, s); }
inline F64 copysign(F64 a, F64 s) { return __builtin_copysign(a, s); }
inline F32 floor(F32 a) { return __builtin_floorf(a); }
inline F64 floor(F64 a) { return __builtin_floor(a); }
inline F32 ceil(F32 a) { return __builtin_ceilf(a); }
inline F64 ceil(F64 a) { return __builtin_ceil(a); }
inline F32 trunc(F32 a) { return __builtin_truncf(a); }
inline F64 trunc(F64 a) { return __builtin_trunc(a); }

// Adding 1.5 * 2^(mantissa bits) would lose the sign of zero and depends on no flags but the mode.
inline F32 round_even(F32 a) {
  F32 big = copysign(8388608.0f, a);
  return abs(a) < 8388608.0f ? copysign((a + big) - big, a) : a;
}
inline F64 round_even(F64 a) {
  F64 big = copysign(0x1p52, a);
  return abs(a) < 0x1p52 ? copysign((a + big) - big, a) : a;
}

inline F32 select(bool m, F32 a, F32 b) { return m ? a : b; }
inline F64 select(bool m, F64 a, F64 b) { return m ? a : b; }
inline I32 select(bool m, I32 a, I32 b) { return m ? a : b; }
inline I64 select(bool m, I64 a, I64 b) { return m ? a : b; }
inline U64 select(bool m, U64 a, U64 b) { return m ? a : b; }

// NaN stays NaN, whichever operand holds it is irrelevant: bounds are constants.
inline F32 at_least(F32 a, F32 lo) { return lo > a ? lo : a; }
inline F64 at_least(F64 a, F64 lo) { return lo > a ? lo : a; }
inline F32 at_most(F32 a, F32 hi) { return hi < a ? hi : a; }
inline F32 within(F32 a, F32 limit) { return at_most(at_least(a, -limit), limit); }
inline F64 at_most(F64 a, F64 hi) { return hi < a ? hi : a; }

// NaN propagates; +0 is larger than -0.
inline F32 maximum(F32 a, F32 b) {
  F32 m = a == b ? from_bits(bits(a) & bits(b)) : (a > b ? a : b);
  return a != a ? a : m;
}
inline F64 maximum(F64 a, F64 b) {
  F64 m = a == b ? from_bits(bits(a) & bits(b)) : (a > b ? a : b);
  return a != a ? a : m;
}
inline F32 minimum(F32 a, F32 b) {
  F32 m = a == b ? from_bits(bits(a) | bits(b)) : (a < b ? a : b);
  return a != a ? a : m;
}
inline F64 minimum(F64 a, F64 b) {
  F64 m = a == b ? from_bits(bits(a) | bits(b)) : (a < b ? a : b);
  return a != a ? a : m;
}
inline I32 maximum(I32 a, I32 b) { return a > b ? a : b; }
inline I64 maximum(I64 a, I64 b) { return a > b ? a : b; }
inline U64 maximum(U64 a, U64 b) { return a > b ? a : b; }
inline I32 minimum(I32 a, I32 b) { return a < b ? a : b; }
inline I64 minimum(I64 a, I64 b) { return a < b ? a : b; }
inline U64 minimum(U64 a, U64 b) { return a < b ? a : b; }

// a * 2^floor(k) rounded once, for a of moderate size or NaN
inline F32 scale(F32 a, F32 k) {
  k = at_most(at_least(floor(k), -250.0f), 250.0f);
  I32 whole = static_cast<I32>(k), half = whole / 2;
  return a * from_bits((half + 127) << 23) * from_bits((whole - half + 127) << 23);
}
inline F64 scale(F64 a, F64 k) {
  k = at_most(at_least(floor(k), -2000.0), 2000.0);
  I64 whole = static_cast<I64>(k), half = whole / 2;
  return a * from_bits((half + 1023) << 52) * from_bits((whole - half + 1023) << 52);
}
// x = mantissa * 2^exponent with 0.75 <= mantissa < 1.5; both NaN for a negative number, so that a
// logarithm needs no test of its own. Zero: its sign times 1, and -inf. Infinity: 1 and inf.
F32 mantissa(F32 a);
F64 mantissa(F64 a);
F32 exponent(F32 a);
F64 exponent(F64 a);

}  // namespace ingot::scalar
