#pragma GCC diagnostic ignored "-Wpsabi"
#define INLINE static inline __attribute__((always_inline))
#define SLOW static __attribute__((noinline, unused))
#define TABLE alignas(64) static const
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__) && !defined(__clang__)
#define INGOT_AVX512 1
#define INGOT_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#define INGOT_AVX2 1
#define INGOT_BYTES 32
#else
#define INGOT_BYTES 16
#endif
#define INGOT_VECTOR(T, bytes) __attribute__((vector_size(bytes))) T
typedef INGOT_VECTOR(float, INGOT_BYTES) f32v;
typedef INGOT_VECTOR(int, INGOT_BYTES) i32v;
typedef INGOT_VECTOR(double, INGOT_BYTES) f64v;
typedef INGOT_VECTOR(long, INGOT_BYTES) i64v;
#define INGOT_REGISTERS(bytes) (INGOT_LANES * bytes / INGOT_BYTES)
// clang calls 64-bit comparisons long long
template <class V, class M>
INLINE M mask_of(V, M m) {
  return m;
}
#if defined(__clang__)
template <class V>
INLINE i64v mask_of(V, INGOT_VECTOR(long long, INGOT_BYTES) m) {
  return (i64v)m;
}
#endif
typedef unsigned long Live;  // bit l: lane l
typedef INGOT_VECTOR(unsigned long, INGOT_BYTES) u64v;

INLINE i32v bits(f32v a) { return (i32v)a; }
INLINE f32v from_bits(i32v a) { return (f32v)a; }
INLINE f32v abs(f32v a) { return (f32v)((i32v)a & 0x7fffffff); }
INLINE i32v not_(i32v m) { return ~m; }
INLINE f32v select(i32v m, f32v a, f32v b) { return m ? a : b; }
INLINE i32v select(i32v m, i32v a, i32v b) { return m ? a : b; }
INLINE f32v to_f32(i32v a) { return __builtin_convertvector(a, f32v); }
#if defined(INGOT_AVX512)
#define INGOT_ALL16 ((unsigned short)-1)
#define INGOT_F32_1(f, ...) return __builtin_ia32_##f##_mask(a, __VA_ARGS__ a, INGOT_ALL16, 4)
INLINE f32v fma(f32v a, f32v b, f32v c) {
  return __builtin_ia32_vfmaddps512_mask(a, b, c, INGOT_ALL16, 4);
}
INLINE f32v sqrt(f32v a) { INGOT_F32_1(sqrtps512, ); }
INLINE f32v round_even(f32v a) { INGOT_F32_1(rndscaleps, 8,); }
INLINE f32v floor(f32v a) { INGOT_F32_1(rndscaleps, 9,); }
INLINE f32v ceil(f32v a) { INGOT_F32_1(rndscaleps, 10,); }
INLINE f32v trunc(f32v a) { INGOT_F32_1(rndscaleps, 11,); }
// the two instructions give their second operand where one is NaN
INLINE f32v at_least(f32v a, f32v lo) {
  return __builtin_ia32_maxps512_mask(lo, a, a, INGOT_ALL16, 4);
}
INLINE f32v at_most(f32v a, f32v hi) {
  return __builtin_ia32_minps512_mask(hi, a, a, INGOT_ALL16, 4);
}
// the range instruction orders the zeros; a NaN operand comes back by adding
INLINE f32v maximum(f32v a, f32v b) {
  unsigned short nan = __builtin_ia32_cmpps512_mask(a, b, 3, INGOT_ALL16, 4);
  f32v m = __builtin_ia32_rangeps512_mask(a, b, 5, a, INGOT_ALL16, 4);
  return __builtin_ia32_addps512_mask(a, b, m, nan, 4);
}
INLINE f32v minimum(f32v a, f32v b) {
  unsigned short nan = __builtin_ia32_cmpps512_mask(a, b, 3, INGOT_ALL16, 4);
  f32v m = __builtin_ia32_rangeps512_mask(a, b, 4, a, INGOT_ALL16, 4);
  return __builtin_ia32_addps512_mask(a, b, m, nan, 4);
}
INLINE i32v maximum(i32v a, i32v b) {
  return (i32v)__builtin_ia32_pmaxsd512_mask(a, b, a, INGOT_ALL16);
}
INLINE i32v minimum(i32v a, i32v b) {
  return (i32v)__builtin_ia32_pminsd512_mask(a, b, a, INGOT_ALL16);
}
INLINE f32v copysign(f32v a, f32v s) {
  i32v sign = (i32v){} + (-0x7fffffff - 1);
  return (f32v)__builtin_ia32_pternlogd512_mask((i32v)a, (i32v)s, sign, 0xd8, INGOT_ALL16);
}
INLINE i32v truncated(f32v a) {
  return (i32v)__builtin_ia32_cvttps2dq512_mask(a, (i32v){}, INGOT_ALL16, 4);
}
INLINE f32v scale(f32v a, f32v k) {
  return __builtin_ia32_scalefps512_mask(a, k, a, INGOT_ALL16, 4);
}
INLINE f32v mantissa(f32v a) { INGOT_F32_1(getmantps512, 11,); }
INLINE f32v exponent(f32v a) {
  f32v e = __builtin_ia32_getexpps512_mask(a, a, INGOT_ALL16, 4), m = mantissa(a);
  return e - __builtin_ia32_getexpps512_mask(m, m, INGOT_ALL16, 4);
}
INLINE bool any(i32v m) { return __builtin_ia32_cmpd512_mask(m, (i32v){}, 4, INGOT_ALL16) != 0; }
// the negative number of the largest magnitude has the largest bits without sign
INLINE f32v lower(f32v a, f32v b) {
  return (f32v)__builtin_ia32_pmaxud512_mask((i32v)a, (i32v)b, (i32v)a, INGOT_ALL16);
}
INLINE bool any_below(f32v a, float limit) {
  i32v bits = (i32v)((f32v){} + limit);
  return __builtin_expect(__builtin_ia32_ucmpd512_mask((i32v)a, bits, 6, INGOT_ALL16), 0);
}
INLINE f32v lookup16(const float* table, i32v i) {
  f32v t = *(const f32v*)table;
  return __builtin_ia32_permvarsf512_mask(t, i, t, INGOT_ALL16);
}
#else
INLINE f32v copysign(f32v a, f32v s) {
  return (f32v)(((i32v)a & 0x7fffffff) | ((i32v)s & (-0x7fffffff - 1)));
}
#if defined(INGOT_AVX2)
INLINE f32v fma(f32v a, f32v b, f32v c) { return __builtin_ia32_vfmaddps256(a, b, c); }
INLINE f32v sqrt(f32v a) { return __builtin_ia32_sqrtps256(a); }
INLINE f32v round_even(f32v a) { return __builtin_ia32_roundps256(a, 8); }
INLINE f32v floor(f32v a) { return __builtin_ia32_roundps256(a, 9); }
INLINE f32v ceil(f32v a) { return __builtin_ia32_roundps256(a, 10); }
INLINE f32v trunc(f32v a) { return __builtin_ia32_roundps256(a, 11); }
INLINE f32v at_least(f32v a, f32v lo) { return __builtin_ia32_maxps256(lo, a); }
INLINE f32v at_most(f32v a, f32v hi) { return __builtin_ia32_minps256(hi, a); }
INLINE i32v truncated(f32v a) { return (i32v)__builtin_ia32_cvttps2dq256(a); }
INLINE f32v lookup16(const float* table, i32v i) {
  const f32v* t = (const f32v*)table;
  f32v low = __builtin_ia32_permvarsf256(t[0], i), high = __builtin_ia32_permvarsf256(t[1], i);
  return __builtin_ia32_blendvps256(low, high, (f32v)(i << 28));
}
#else
INLINE f32v lookup16(const float* table, i32v i) {
  i = i & 15;
  return (f32v){table[i[0]], table[i[1]], table[i[2]], table[i[3]]};
}
INLINE f32v fma(f32v a, f32v b, f32v c) {
  return (f32v){__builtin_fmaf(a[0], b[0], c[0]), __builtin_fmaf(a[1], b[1], c[1]),
                __builtin_fmaf(a[2], b[2], c[2]), __builtin_fmaf(a[3], b[3], c[3])};
}
INLINE f32v sqrt(f32v a) { return __builtin_ia32_sqrtps(a); }
INLINE f32v at_least(f32v a, f32v lo) { return __builtin_ia32_maxps(lo, a); }
INLINE f32v at_most(f32v a, f32v hi) { return __builtin_ia32_minps(hi, a); }
INLINE i32v truncated(f32v a) { return (i32v)__builtin_ia32_cvttps2dq(a); }
INLINE f32v round_even(f32v a) {
  f32v big = copysign((f32v){} + 8388608.0f, a);
  f32v t = copysign((a + big) - big, a);
  return abs(a) < 8388608.0f ? t : a;
}
INLINE f32v trunc(f32v a) {
  f32v t = copysign(to_f32(truncated(a)), a);
  return abs(a) < 8388608.0f ? t : a;
}
INLINE f32v floor(f32v a) {
  f32v t = trunc(a);
  return copysign(t > a ? t - 1.0f : t, a);
}
INLINE f32v ceil(f32v a) {
  f32v t = trunc(a);
  return copysign(t < a ? t + 1.0f : t, a);
}
#endif
// equal operands: zeros of either sign are told apart by their bits
INLINE f32v maximum(f32v a, f32v b) {
  f32v m = a > b ? a : b;
  m = a == b ? (f32v)((i32v)a & (i32v)b) : m;
  return a != a ? a : m;
}
INLINE f32v minimum(f32v a, f32v b) {
  f32v m = a < b ? a : b;
  m = a == b ? (f32v)((i32v)a | (i32v)b) : m;
  return a != a ? a : m;
}
INLINE i32v maximum(i32v a, i32v b) { return a > b ? a : b; }
INLINE i32v minimum(i32v a, i32v b) { return a < b ? a : b; }
INLINE f32v power_of_two(f32v k) { return (f32v)((truncated(k) + 127) << 23); }
INLINE f32v scale(f32v a, f32v k) {
  k = at_most(at_least(floor(k), (f32v){} - 250.0f), (f32v){} + 250.0f);
  f32v half = trunc(k * 0.5f);
  return a * power_of_two(half) * power_of_two(k - half);
}
INLINE f32v mantissa(f32v a) {
  f32v n = abs(a) < 0x1p-126f ? a * 0x1p24f : a;
  i32v b = (i32v)n & 0x7fffff;
  f32v m = (f32v)((b | 0x3f800000) - ((b & 0x400000) << 1));
  m = ((abs(a) == __builtin_inff()) | (a == 0.0f)) ? copysign((f32v){} + 1.0f, a) : m;
  return ((a < 0.0f) | (a != a)) ? (f32v){} + __builtin_nanf("") : m;
}
INLINE f32v exponent(f32v a) {
  i32v tiny = abs(a) < 0x1p-126f;
  f32v n = tiny ? a * 0x1p24f : a;
  i32v b = (((i32v)n & 0x7fffffff) + 0x400000) >> 23;
  f32v k = to_f32(b - 127 - (tiny & 24));
  k = abs(a) == __builtin_inff() ? abs(a) : k;
  k = a == 0.0f ? (f32v){} - __builtin_inff() : k;
  return ((a < 0.0f) | (a != a)) ? (f32v){} + __builtin_nanf("") : k;
}
INLINE bool any(i64v m) {
#if defined(INGOT_AVX2)
  return ((m[0] | m[1]) | (m[2] | m[3])) != 0;
#else
  return (m[0] | m[1]) != 0;
#endif
}
INLINE bool any(i32v m) { return any((i64v)m); }
INLINE f32v lower(f32v a, f32v b) { return (a < b) | (b != b) ? a : b; }
INLINE bool any_below(f32v a, float limit) { return __builtin_expect(any(a < limit), 0); }
#endif
INLINE i32v to_i32(f32v a) {
  i32v t = truncated(a);
  t = a >= 2147483648.0f ? (i32v){} + 0x7fffffff : t;
  return a == a ? t : (i32v){};
}
INLINE f32v round_bf16_bits(f32v a) {
  i32v u = (i32v)a, r = (u + 0x7fff + ((u >> 16) & 1)) & -0x10000;
  return (f32v)(a == a ? r : (u | 0x400000) & -0x10000);
}
// `now` in the live lanes, else `before`
#if defined(INGOT_AVX512)
INLINE f32v where(Live live, f32v now, f32v before) {
  return __builtin_ia32_blendmps_512_mask(before, now, (unsigned short)live);
}
INLINE i32v where(Live live, i32v now, i32v before) {
  return (i32v)__builtin_ia32_blendmd_512_mask(before, now, (unsigned short)live);
}
#else
INLINE i32v lanes_in(Live live, i32v) {
  i32v bit = {1, 2, 4, 8};
#if INGOT_BYTES == 32
  bit = (i32v){1, 2, 4, 8, 16, 32, 64, 128};
#endif
  return (((i32v){} + (int)live) & bit) != 0;
}
INLINE f32v where(Live live, f32v now, f32v before) {
  return select(lanes_in(live, (i32v){}), now, before);
}
INLINE i32v where(Live live, i32v now, i32v before) {
  return select(lanes_in(live, (i32v){}), now, before);
}
#endif

INLINE i64v bits(f64v a) { return (i64v)a; }
INLINE f64v from_bits(i64v a) { return (f64v)a; }
INLINE f64v abs(f64v a) { return (f64v)((i64v)a & 0x7fffffffffffffff); }
INLINE i64v not_(i64v m) { return ~m; }
INLINE f64v select(i64v m, f64v a, f64v b) { return m ? a : b; }
INLINE i64v select(i64v m, i64v a, i64v b) { return m ? a : b; }
#if defined(INGOT_AVX512)
#define INGOT_ALL8 ((unsigned char)-1)
#define INGOT_F64_1(f, ...) return __builtin_ia32_##f##_mask(a, __VA_ARGS__ a, INGOT_ALL8, 4)
typedef INGOT_VECTOR(long long, 64) i64w;  // what the builtins call 64-bit integers
typedef INGOT_VECTOR(float, 32) f32h;
typedef INGOT_VECTOR(int, 32) i32h;
INLINE f64v fma(f64v a, f64v b, f64v c) {
  return __builtin_ia32_vfmaddpd512_mask(a, b, c, INGOT_ALL8, 4);
}
INLINE f64v sqrt(f64v a) { INGOT_F64_1(sqrtpd512, ); }
INLINE f64v round_even(f64v a) { INGOT_F64_1(rndscalepd, 8,); }
INLINE f64v floor(f64v a) { INGOT_F64_1(rndscalepd, 9,); }
INLINE f64v ceil(f64v a) { INGOT_F64_1(rndscalepd, 10,); }
INLINE f64v trunc(f64v a) { INGOT_F64_1(rndscalepd, 11,); }
INLINE f64v at_least(f64v a, f64v lo) {
  return __builtin_ia32_maxpd512_mask(lo, a, a, INGOT_ALL8, 4);
}
INLINE f64v at_most(f64v a, f64v hi) {
  return __builtin_ia32_minpd512_mask(hi, a, a, INGOT_ALL8, 4);
}
INLINE f64v maximum(f64v a, f64v b) {
  unsigned char nan = __builtin_ia32_cmppd512_mask(a, b, 3, INGOT_ALL8, 4);
  f64v m = __builtin_ia32_rangepd512_mask(a, b, 5, a, INGOT_ALL8, 4);
  return __builtin_ia32_addpd512_mask(a, b, m, nan, 4);
}
INLINE f64v minimum(f64v a, f64v b) {
  unsigned char nan = __builtin_ia32_cmppd512_mask(a, b, 3, INGOT_ALL8, 4);
  f64v m = __builtin_ia32_rangepd512_mask(a, b, 4, a, INGOT_ALL8, 4);
  return __builtin_ia32_addpd512_mask(a, b, m, nan, 4);
}
INLINE f64v copysign(f64v a, f64v s) {
  i64w sign = (i64w){} + (-0x7fffffffffffffff - 1);
  return (f64v)__builtin_ia32_pternlogq512_mask((i64w)a, (i64w)s, sign, 0xd8, INGOT_ALL8);
}
INLINE f64v to_f64(i64v a) { return __builtin_convertvector(a, f64v); }
INLINE i64v truncated(f64v a) {
  return (i64v)__builtin_ia32_cvttpd2qq512_mask(a, (i64w){}, INGOT_ALL8, 4);
}
INLINE f64v scale(f64v a, f64v k) {
  return __builtin_ia32_scalefpd512_mask(a, k, a, INGOT_ALL8, 4);
}
INLINE f64v mantissa(f64v a) { INGOT_F64_1(getmantpd512, 11,); }
INLINE f64v exponent(f64v a) {
  f64v e = __builtin_ia32_getexppd512_mask(a, a, INGOT_ALL8, 4), m = mantissa(a);
  return e - __builtin_ia32_getexppd512_mask(m, m, INGOT_ALL8, 4);
}
INLINE bool any(i64v m) { return any((i32v)m); }
#else
INLINE f64v copysign(f64v a, f64v s) {
  return (f64v)(((i64v)a & 0x7fffffffffffffff) | ((i64v)s & (-0x7fffffffffffffff - 1)));
}
#if defined(INGOT_AVX2)
INLINE f64v fma(f64v a, f64v b, f64v c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
INLINE f64v sqrt(f64v a) { return __builtin_ia32_sqrtpd256(a); }
INLINE f64v round_even(f64v a) { return __builtin_ia32_roundpd256(a, 8); }
INLINE f64v floor(f64v a) { return __builtin_ia32_roundpd256(a, 9); }
INLINE f64v ceil(f64v a) { return __builtin_ia32_roundpd256(a, 10); }
INLINE f64v trunc(f64v a) { return __builtin_ia32_roundpd256(a, 11); }
INLINE f64v at_least(f64v a, f64v lo) { return __builtin_ia32_maxpd256(lo, a); }
INLINE f64v at_most(f64v a, f64v hi) { return __builtin_ia32_minpd256(hi, a); }
#else
INLINE f64v fma(f64v a, f64v b, f64v c) {
  return (f64v){__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
}
INLINE f64v sqrt(f64v a) { return __builtin_ia32_sqrtpd(a); }
INLINE f64v at_least(f64v a, f64v lo) { return __builtin_ia32_maxpd(lo, a); }
INLINE f64v at_most(f64v a, f64v hi) { return __builtin_ia32_minpd(hi, a); }
INLINE f64v round_even(f64v a) {
  f64v big = copysign((f64v){} + 0x1p52, a);
  f64v t = copysign((a + big) - big, a);
  return abs(a) < 0x1p52 ? t : a;
}
INLINE f64v trunc(f64v a) {
  f64v m = abs(a), t = abs(round_even(a));
  return copysign(t > m ? t - 1.0 : t, a);
}
INLINE f64v floor(f64v a) {
  f64v t = round_even(a);
  return copysign(t > a ? t - 1.0 : t, a);
}
INLINE f64v ceil(f64v a) {
  f64v t = round_even(a);
  return copysign(t < a ? t + 1.0 : t, a);
}
#endif
INLINE f64v maximum(f64v a, f64v b) {
  f64v m = a > b ? a : b;
  m = a == b ? (f64v)((i64v)a & (i64v)b) : m;
  return a != a ? a : m;
}
INLINE f64v minimum(f64v a, f64v b) {
  f64v m = a < b ? a : b;
  m = a == b ? (f64v)((i64v)a | (i64v)b) : m;
  return a != a ? a : m;
}
INLINE f64v to_f64(i64v a) { return __builtin_convertvector(a, f64v); }
// what the instruction gives out of range, spelled out: C++ leaves it undefined
INLINE i64v truncated(f64v a) {
  i64v in = abs(a) < 0x1p63;
  i64v t = __builtin_convertvector(in ? a : (f64v){}, i64v);
  return in ? t : (i64v){} + (-0x7fffffffffffffff - 1);
}
// k whole and small: adding 1.5 * 2^52 leaves it in the low bits
INLINE f64v power_of_two(f64v k) { return (f64v)(((i64v)(k + (0x1.8p52 + 1023.0))) << 52); }
INLINE f64v scale(f64v a, f64v k) {
  k = at_most(at_least(floor(k), (f64v){} - 2000.0), (f64v){} + 2000.0);
  f64v half = trunc(k * 0.5);
  return a * power_of_two(half) * power_of_two(k - half);
}
INLINE f64v mantissa(f64v a) {
  f64v n = abs(a) < 0x1p-1022 ? a * 0x1p54 : a;
  i64v b = (i64v)n & 0xfffffffffffff;
  f64v m = (f64v)((b | 0x3ff0000000000000) - ((b & 0x8000000000000) << 1));
  m = ((abs(a) == __builtin_inf()) | (a == 0.0)) ? copysign((f64v){} + 1.0, a) : m;
  return ((a < 0.0) | (a != a)) ? (f64v){} + __builtin_nan("") : m;
}
INLINE f64v exponent(f64v a) {
  i64v tiny = abs(a) < 0x1p-1022;
  f64v n = tiny ? a * 0x1p54 : a;
  i64v b = (((i64v)n & 0x7fffffffffffffff) + 0x8000000000000) >> 52;
  b = b - 1023 - (tiny & 54);
  f64v k = (f64v)(b + 0x4338000000000000) - 0x1.8p52;
  k = abs(a) == __builtin_inf() ? abs(a) : k;
  k = a == 0.0 ? (f64v){} - __builtin_inf() : k;
  return ((a < 0.0) | (a != a)) ? (f64v){} + __builtin_nan("") : k;
}
#endif
INLINE i64v maximum(i64v a, i64v b) { return a > b ? a : b; }
INLINE i64v minimum(i64v a, i64v b) { return a < b ? a : b; }
INLINE i64v to_i64(f64v a) {
  i64v t = truncated(a);
  t = a >= 0x1p63 ? (i64v){} + 0x7fffffffffffffff : t;
  return a == a ? t : (i64v){};
}
#if defined(INGOT_AVX512)
INLINE f64v where(Live live, f64v now, f64v before) {
  return __builtin_ia32_blendmpd_512_mask(before, now, (unsigned char)live);
}
INLINE i64v where(Live live, i64v now, i64v before) {
  return (i64v)__builtin_ia32_blendmq_512_mask((i64w)before, (i64w)now, (unsigned char)live);
}
#else
INLINE i64v lanes_in(Live live, i64v) {
  i64v bit = {1, 2};
#if INGOT_BYTES == 32
  bit = (i64v){1, 2, 4, 8};
#endif
  return (i64v)((((i64v){} + (long)live) & bit) != 0);
}
INLINE f64v where(Live live, f64v now, f64v before) {
  return select(lanes_in(live, (i64v){}), now, before);
}
INLINE i64v where(Live live, i64v now, i64v before) {
  return select(lanes_in(live, (i64v){}), now, before);
}
#endif

INLINE u64v select(i64v m, u64v a, u64v b) { return m ? a : b; }
INLINE u64v maximum(u64v a, u64v b) { return a > b ? a : b; }
INLINE u64v minimum(u64v a, u64v b) { return a < b ? a : b; }
INLINE f64v to_f64(u64v a) { return __builtin_convertvector(a, f64v); }
INLINE u64v where(Live live, u64v now, u64v before) {
  return (u64v)where(live, (i64v)now, (i64v)before);
}
// halves of the range each by its own conversion; NaN gives 0
INLINE u64v to_u64(f64v a) {
  i64v large = a >= 0x1p63;
  u64v t = (u64v)to_i64(large ? a - 0x1p63 : at_least(a, (f64v){}));
  t = large ? t + 0x8000000000000000 : t;
  return a >= 0x1p64 ? ~(u64v){} : t;
}
#if !defined(INGOT_LANES)
#define INGOT_LANES 16
#endif
template <class H>
struct Two {
  H lo, hi;
};
template <class V, int registers>
struct Lanes {
  typedef Two<typename Lanes<V, registers / 2>::type> type;
};
template <class V>
struct Lanes<V, 1> {
  typedef V type;
};
typedef Lanes<f32v, INGOT_REGISTERS(4)>::type F32;
typedef Lanes<i32v, INGOT_REGISTERS(4)>::type I32;
typedef Lanes<f64v, INGOT_REGISTERS(8)>::type F64;
typedef Lanes<i64v, INGOT_REGISTERS(8)>::type I64;
typedef Lanes<u64v, INGOT_REGISTERS(8)>::type U64;
typedef I32 M32;
typedef I64 M64;
template <class H>
INLINE Two<H> both(H lo, H hi) {
  return Two<H>{lo, hi};
}

// ---- every operator and function works on both halves
// mask_of(x, c): the comparison c of a register like x, as lanes of 0 or -1
// INGOT_SAME, INGOT_WRAP: integers wrap (a CUDA compiler takes it that signed ones never do)
#if !defined(INGOT_WRAP)
#define INGOT_WRAP(x) x
#define INGOT_SAME(x, value) value
#endif
#define INGOT_PLAIN(x, value) value
#define INGOT_AS_IT_IS(x) x
#define INGOT_OPERATOR(op, result, is)                                                     \
  template <class H>                                                                       \
  INLINE auto operator op(Two<H> a, Two<H> b) {                                            \
    return both(result(a.lo, is(a.lo) op is(b.lo)), result(a.hi, is(a.hi) op is(b.hi)));   \
  }                                                                                        \
  template <class H, class S>                                                              \
  INLINE auto operator op(Two<H> a, S b)->Two<decltype(result(a.lo, is(a.lo) op is(b)))> { \
    return both(result(a.lo, is(a.lo) op is(b)), result(a.hi, is(a.hi) op is(b)));         \
  }                                                                                        \
  template <class H, class S>                                                              \
  INLINE auto operator op(S a, Two<H> b)->Two<decltype(result(b.lo, is(a) op is(b.lo)))> { \
    return both(result(b.lo, is(a) op is(b.lo)), result(b.hi, is(a) op is(b.hi)));         \
  }
#define INGOT_WRAPS(op) INGOT_OPERATOR(op, INGOT_SAME, INGOT_WRAP)
#define INGOT_PLAINLY(op) INGOT_OPERATOR(op, INGOT_PLAIN, INGOT_AS_IT_IS)
#define INGOT_COMPARES(op) INGOT_OPERATOR(op, mask_of, INGOT_AS_IT_IS)
INGOT_WRAPS(+) INGOT_WRAPS(-) INGOT_WRAPS(*) INGOT_WRAPS(<<) INGOT_PLAINLY(/) INGOT_PLAINLY(&)
INGOT_PLAINLY(|) INGOT_PLAINLY(^) INGOT_PLAINLY(>>) INGOT_COMPARES(<) INGOT_COMPARES(<=)
INGOT_COMPARES(>) INGOT_COMPARES(>=) INGOT_COMPARES(==) INGOT_COMPARES(!=)
template <class H>
INLINE Two<H> operator-(Two<H> a) {
  return both(INGOT_SAME(a.lo, -INGOT_WRAP(a.lo)), INGOT_SAME(a.hi, -INGOT_WRAP(a.hi)));
}
template <class H>
INLINE Two<H> operator~(Two<H> a) {
  return both(~a.lo, ~a.hi);
}
#define INGOT_EACH1(f)             \
  template <class H>               \
  INLINE auto f(Two<H> a) {        \
    return both(f(a.lo), f(a.hi)); \
  }
#define INGOT_EACH2(f)                         \
  template <class H>                           \
  INLINE auto f(Two<H> a, Two<H> b) {          \
    return both(f(a.lo, b.lo), f(a.hi, b.hi)); \
  }
INGOT_EACH1(bits) INGOT_EACH1(from_bits) INGOT_EACH1(abs) INGOT_EACH1(not_) INGOT_EACH1(sqrt)
INGOT_EACH1(floor) INGOT_EACH1(ceil) INGOT_EACH1(trunc) INGOT_EACH1(round_even)
INGOT_EACH1(mantissa) INGOT_EACH1(exponent) INGOT_EACH1(to_i32) INGOT_EACH1(to_f32)
INGOT_EACH2(copysign) INGOT_EACH2(at_least) INGOT_EACH2(at_most) INGOT_EACH2(minimum)
INGOT_EACH2(maximum) INGOT_EACH2(scale)
template <class H>
INLINE Two<H> fma(Two<H> a, Two<H> b, Two<H> c) {
  return both(fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi));
}
template <class M, class H>
INLINE Two<H> select(Two<M> m, Two<H> a, Two<H> b) {
  return both(select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi));
}
template <class H>
INLINE bool any(Two<H> m) {
  return any(m.lo | m.hi);
}
template <class H>
INLINE Two<H> lower(Two<H> a, Two<H> b) {
  return both(lower(a.lo, b.lo), lower(a.hi, b.hi));
}
template <class H>
INLINE bool any_below(Two<H> a, float limit) {
  return any_below(lower(a.lo, a.hi), limit);
}
template <class H>
INLINE auto lookup16(const float* table, Two<H> i) {
  return both(lookup16(table, i.lo), lookup16(table, i.hi));
}

// ---- scalars as operands
template <class V, class S>
INLINE void fill(V& v, S s) {
  v = s - V{};  // adding would lose the sign of -0
}
template <class H, class S>
INLINE void fill(Two<H>& v, S s) {
  fill(v.lo, s);
  v.hi = v.lo;
}
#define INGOT_SCALARS(T, S, M, splat)                                     \
  INLINE T splat(S s) {                                                   \
    T v;                                                                  \
    fill(v, s);                                                           \
    return v;                                                             \
  }                                                                       \
  INLINE T minimum(T a, S b) { return minimum(a, splat(b)); }             \
  INLINE T maximum(T a, S b) { return maximum(a, splat(b)); }             \
  INLINE T select(M m, T a, S b) { return select(m, a, splat(b)); }       \
  INLINE T select(M m, S a, T b) { return select(m, splat(a), b); }       \
  INLINE T select(M m, S a, S b) { return select(m, splat(a), splat(b)); }
#define INGOT_REALS(T, S, splat)                                          \
  INLINE T fma(T a, T b, S c) { return fma(a, b, splat(c)); }             \
  INLINE T fma(T a, S b, T c) { return fma(a, splat(b), c); }             \
  INLINE T fma(T a, S b, S c) { return fma(a, splat(b), splat(c)); }      \
  INLINE T at_least(T a, S b) { return at_least(a, splat(b)); }           \
  INLINE T at_most(T a, S b) { return at_most(a, splat(b)); }             \
  INLINE T copysign(S a, T b) { return copysign(splat(a), b); }           \
  INLINE T scale(S a, T b) { return scale(splat(a), b); }
INGOT_SCALARS(F32, float, M32, splat_f32)
INGOT_SCALARS(I32, int, M32, splat_i32)
INGOT_REALS(F32, float, splat_f32)
// the most negative integer stays
INLINE I32 negate(I32 a) { return 0 - a; }
INLINE I32 abs(I32 a) { return maximum(a, 0 - a); }

// ---- memory. The forms with `live` touch these lanes only; others read as 0.
const Live all_lanes = (Live)-1 >> (64 - INGOT_LANES);
INLINE Live first_lanes(long n) { return n >= INGOT_LANES ? all_lanes : ((Live)1 << n) - 1; }
INLINE Live lane_of(long n) { return (Live)1 << n % 64; }
INLINE int count(Live first) { return first == 0 ? 0 : 64 - __builtin_clzl(first); }
template <int n, int near = 3>  // near 2: into the second-level cache
INLINE void prefetch_lines(const void* p) {
  __builtin_prefetch(p, 0, near);
  if constexpr (n > 1) prefetch_lines<n - 1, near>((const char*)p + 64);
}
// U: V without alignment. A register, then halves.
#define INGOT_UNALIGNED(V, S, U) \
  typedef S U __attribute__((vector_size(INGOT_BYTES), aligned(sizeof(S)), may_alias));
#define INGOT_PLAIN_MEMORY(name, V, S, U)                           \
  INGOT_UNALIGNED(V, S, U)                                          \
  INLINE void read_##name(V& v, const S* p) { v = *(const U*)p; }   \
  INLINE void write_##name(S* p, V v) { *(U*)p = v; }
#define INGOT_TAIL_BY_LANES(name, V, S, E)                          \
  INLINE void read_##name(V& v, const S* p, Live live) {                \
    v = (V){};                                                      \
    for (int i = 0; i < (int)(sizeof(V) / sizeof(E)) && (live >> i & 1); i++) v[i] = (E)p[i]; \
  }                                                                 \
  INLINE void write_##name(S* p, V v, Live live) {                      \
    for (int i = 0; i < (int)(sizeof(V) / sizeof(E)) && (live >> i & 1); i++) p[i] = (S)v[i]; \
  }
// A chunk that is not full goes through a whole one in memory: choosing between two pointers costs
// the compiler less than choosing between two vectors, and full ones nothing.
#define INGOT_WHOLE(live) __builtin_expect(live == all_lanes, 1)
// E: the element type of the lanes, S: of the memory
#define INGOT_MEMORY(name, T, S, E)                                 \
  template <class H>                                                \
  INLINE void read_##name(Two<H>& v, const S* p) {                  \
    read_##name(v.lo, p);                                           \
    read_##name(v.hi, p + sizeof(H) / sizeof(E));                   \
  }                                                                 \
  template <class H>                                                \
  INLINE void read_##name(Two<H>& v, const S* p, Live live) {           \
    read_##name(v.lo, p, live);                                        \
    read_##name(v.hi, p + sizeof(H) / sizeof(E), live >> sizeof(H) / sizeof(E)); \
  }                                                                 \
  template <class H>                                                \
  INLINE void write_##name(S* p, Two<H> v) {                        \
    write_##name(p, v.lo);                                          \
    write_##name(p + sizeof(H) / sizeof(E), v.hi);                  \
  }                                                                 \
  template <class H>                                                \
  INLINE void write_##name(S* p, Two<H> v, Live live) {                 \
    write_##name(p, v.lo, live);                                       \
    write_##name(p + sizeof(H) / sizeof(E), v.hi, live >> sizeof(H) / sizeof(E)); \
  }                                                                 \
  INLINE T load_##name(const S* p) {                                \
    T v;                                                            \
    read_##name(v, p);                                              \
    return v;                                                       \
  }                                                                 \
  INLINE T load_##name(const S* p, Live live) {                     \
    T v;                                                            \
    alignas(64) S rest[INGOT_LANES];                                \
    if (!INGOT_WHOLE(live)) {                                       \
      read_##name(v, p, live);                                      \
      write_##name(rest, v);                                        \
      p = rest;                                                     \
    }                                                               \
    read_##name(v, p);                                              \
    return v;                                                       \
  }                                                                 \
  INLINE void store_##name(S* p, T v) { write_##name(p, v); }       \
  INLINE void store_##name(S* p, T v, Live live) {                  \
    if (INGOT_WHOLE(live)) write_##name(p, v); else write_##name(p, v, live); \
  }
INGOT_PLAIN_MEMORY(f32, f32v, float, f32u)
INGOT_PLAIN_MEMORY(i32, i32v, int, i32u)
#if defined(INGOT_AVX512)
INLINE void read_f32(f32v& v, const float* p, Live live) {
  v = __builtin_ia32_loadups512_mask(p, (f32v){}, (unsigned short)live);
}
INLINE void write_f32(float* p, f32v v, Live live) {
  __builtin_ia32_storeups512_mask(p, v, (unsigned short)live);
}
INLINE void read_i32(i32v& v, const int* p, Live live) {
  v = (i32v)__builtin_ia32_loaddqusi512_mask(p, (i32v){}, (unsigned short)live);
}
INLINE void write_i32(int* p, i32v v, Live live) {
  __builtin_ia32_storedqusi512_mask(p, v, (unsigned short)live);
}
#else
INGOT_TAIL_BY_LANES(f32, f32v, float, float)
INGOT_TAIL_BY_LANES(i32, i32v, int, int)
#endif
INGOT_MEMORY(f32, F32, float, float)
INGOT_MEMORY(i32, I32, int, int)

// ---- `now` in the live lanes, else `before`
template <class V>
struct Count {
  enum { lanes = sizeof(V) / sizeof((*(V*)nullptr)[0]) };
};
template <class H>
struct Count<Two<H>> {
  enum { lanes = 2 * Count<H>::lanes };
};
template <class H>
INLINE Two<H> where(Live live, Two<H> now, Two<H> before) {
  if (INGOT_WHOLE(live)) return now;
  return both(where(live, now.lo, before.lo), where(live >> Count<H>::lanes, now.hi, before.hi));
}

// ---- one vector to one number, halves combined: lane l with l + 8, then 4, 2, 1
#define INGOT_TURN(...) __builtin_shufflevector(v, v, __VA_ARGS__)
#define INGOT_FOLD2(f) v = f(v, INGOT_TURN(1, 0));
#define INGOT_FOLD4(f) v = f(v, INGOT_TURN(2, 3, 0, 1)), v = f(v, INGOT_TURN(1, 0, 3, 2));
#define INGOT_FOLD8(f)                                                                     \
  v = f(v, INGOT_TURN(4, 5, 6, 7, 0, 1, 2, 3)), v = f(v, INGOT_TURN(2, 3, 0, 1, 6, 7, 4, 5)), \
  v = f(v, INGOT_TURN(1, 0, 3, 2, 5, 4, 7, 6));
#define INGOT_FOLD16(f)                                                       \
  v = f(v, INGOT_TURN(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)), \
  v = f(v, INGOT_TURN(4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)), \
  v = f(v, INGOT_TURN(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)), \
  v = f(v, INGOT_TURN(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
#define INGOT_PLUS(a, b) (a) + (b)
#define INGOT_TIMES(a, b) (a) * (b)
#define INGOT_LANES_FOLD(name, V, S, fold, f) \
  INLINE S name(V v) {                        \
    fold(f) return v[0];                      \
  }
#define INGOT_LANES_FOLDS(V, S, fold)                     \
  INGOT_LANES_FOLD(lanes_sum, V, S, fold, INGOT_PLUS)     \
  INGOT_LANES_FOLD(lanes_prod, V, S, fold, INGOT_TIMES)   \
  INGOT_LANES_FOLD(lanes_max, V, S, fold, maximum)        \
  INGOT_LANES_FOLD(lanes_min, V, S, fold, minimum)
#if INGOT_BYTES == 64
INGOT_LANES_FOLDS(f32v, float, INGOT_FOLD16)
INGOT_LANES_FOLDS(i32v, int, INGOT_FOLD16)
#elif INGOT_BYTES == 32
INGOT_LANES_FOLDS(f32v, float, INGOT_FOLD8)
INGOT_LANES_FOLDS(i32v, int, INGOT_FOLD8)
#else
INGOT_LANES_FOLDS(f32v, float, INGOT_FOLD4)
INGOT_LANES_FOLDS(i32v, int, INGOT_FOLD4)
#endif
template <class H>
INLINE auto lanes_sum(Two<H> v) {
  return lanes_sum(v.lo + v.hi);
}
template <class H>
INLINE auto lanes_prod(Two<H> v) {
  return lanes_prod(v.lo * v.hi);
}
template <class H>
INLINE auto lanes_max(Two<H> v) {
  return lanes_max(maximum(v.lo, v.hi));
}
template <class H>
INLINE auto lanes_min(Two<H> v) {
  return lanes_min(minimum(v.lo, v.hi));
}

// ---- single lanes, for slow paths only
INLINE long bits(double a) { return __builtin_bit_cast(long, a); }
INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
template <class V>
INLINE int lanes_of(const V&) {
  return INGOT_LANES;
}
template <class V>
INLINE auto lane(const V& v, int i) {
  auto* lanes = (const decltype(lanes_sum(v))*)&v;
  return lanes[i];
}
template <class V, class S>
INLINE void set_lane(V& v, int i, S s) {
  ((S*)&v)[i] = s;
}
#if !defined(INGOT_AVX512)
typedef INGOT_VECTOR(float, INGOT_BYTES / 2) f32h;
typedef INGOT_VECTOR(int, INGOT_BYTES / 2) i32h;
#endif
#if INGOT_BYTES == 64
#define INGOT_LOWER 0, 1, 2, 3, 4, 5, 6, 7
#define INGOT_UPPER 8, 9, 10, 11, 12, 13, 14, 15
#elif INGOT_BYTES == 32
#define INGOT_LOWER 0, 1, 2, 3
#define INGOT_UPPER 4, 5, 6, 7
#else
#define INGOT_LOWER 0, 1
#define INGOT_UPPER 2, 3
#endif
#define INGOT_HALVES(a, f)                              \
  both(f(__builtin_shufflevector(a, a, INGOT_LOWER)),   \
       f(__builtin_shufflevector(a, a, INGOT_UPPER)))
#define INGOT_JOIN(a, b) __builtin_shufflevector(a, b, INGOT_LOWER, INGOT_UPPER)
#if defined(INGOT_AVX512)
INLINE f64v wide(f32h a) { return __builtin_ia32_cvtps2pd512_mask(a, (f64v){}, INGOT_ALL8, 4); }
INLINE f64v wide_f64(i32h a) { return __builtin_ia32_cvtdq2pd512_mask(a, (f64v){}, INGOT_ALL8); }
INLINE i64v wide(i32h a) {
  return (i64v)__builtin_ia32_pmovsxdq512_mask(a, (i64w){}, INGOT_ALL8);
}
INLINE f32h narrow(f64v a) {
  return __builtin_ia32_cvtpd2ps512_mask(a, (f32h){}, INGOT_ALL8, 4);
}
INLINE f32h narrow_f32(i64v a) {
  return __builtin_ia32_cvtqq2ps512_mask((i64w)a, (f32h){}, INGOT_ALL8, 4);
}
INLINE i32h narrow(i64v a) {
  return (i32h)__builtin_ia32_pmovqd512_mask((i64w)a, (i32h){}, INGOT_ALL8);
}
#else
INLINE f64v wide(f32h a) { return __builtin_convertvector(a, f64v); }
INLINE f64v wide_f64(i32h a) { return __builtin_convertvector(a, f64v); }
INLINE i64v wide(i32h a) { return __builtin_convertvector(a, i64v); }
INLINE f32h narrow(f64v a) { return __builtin_convertvector(a, f32h); }
INLINE f32h narrow_f32(i64v a) { return __builtin_convertvector(a, f32h); }
INLINE i32h narrow(i64v a) { return __builtin_convertvector(a, i32h); }
#endif
INLINE Two<f64v> to_f64(f32v a) { return INGOT_HALVES(a, wide); }
INLINE Two<f64v> to_f64(i32v a) { return INGOT_HALVES(a, wide_f64); }
INLINE Two<i64v> to_i64(i32v a) { return INGOT_HALVES(a, wide); }
INLINE f32v to_f32(Two<f64v> a) { return INGOT_JOIN(narrow(a.lo), narrow(a.hi)); }
INLINE f32v to_f32(Two<i64v> a) { return INGOT_JOIN(narrow_f32(a.lo), narrow_f32(a.hi)); }
INLINE i32v to_i32(Two<i64v> a) { return INGOT_JOIN(narrow(a.lo), narrow(a.hi)); }
INLINE Two<f64v> to_f64(Two<i64v> a) { return both(to_f64(a.lo), to_f64(a.hi)); }
INLINE Two<i64v> to_i64(Two<f64v> a) { return both(to_i64(a.lo), to_i64(a.hi)); }
INLINE Two<i64v> to_i64(f32v a) { return to_i64(to_f64(a)); }
INLINE i32v to_i32(Two<f64v> a) {
  f64v lo = (f64v){} - 2147483648.0, hi = (f64v){} + 2147483647.0;
  a = both(at_most(at_least(a.lo, lo), hi), at_most(at_least(a.hi, lo), hi));
  return to_i32(to_i64(a));
}
INGOT_EACH1(to_f64) INGOT_EACH1(to_i64)
INLINE M64 to_m64(M32 m) { return to_i64(m); }
INLINE M32 to_m32(M64 m) { return to_i32(m); }
INGOT_SCALARS(F64, double, M64, splat_f64)
INGOT_SCALARS(I64, long, M64, splat_i64)
INGOT_REALS(F64, double, splat_f64)
INLINE I64 negate(I64 a) { return 0L - a; }
INLINE I64 abs(I64 a) { return maximum(a, 0L - a); }
INGOT_PLAIN_MEMORY(f64, f64v, double, f64u)
INGOT_PLAIN_MEMORY(i64, i64v, long, i64u)
#if defined(INGOT_AVX512)
INLINE void read_f64(f64v& v, const double* p, Live live) {
  v = __builtin_ia32_loadupd512_mask(p, (f64v){}, (unsigned char)live);
}
INLINE void write_f64(double* p, f64v v, Live live) {
  __builtin_ia32_storeupd512_mask(p, v, (unsigned char)live);
}
INLINE void read_i64(i64v& v, const long* p, Live live) {
  v = (i64v)__builtin_ia32_loaddqudi512_mask((const long long*)p, (i64w){},
                                             (unsigned char)live);
}
INLINE void write_i64(long* p, i64v v, Live live) {
  __builtin_ia32_storedqudi512_mask((long long*)p, (i64w)v, (unsigned char)live);
}
#else
INGOT_TAIL_BY_LANES(f64, f64v, double, double)
INGOT_TAIL_BY_LANES(i64, i64v, long, long)
#endif
INGOT_MEMORY(f64, F64, double, double)
INGOT_MEMORY(i64, I64, long, long)
#if INGOT_BYTES == 64
INGOT_LANES_FOLDS(f64v, double, INGOT_FOLD8)
INGOT_LANES_FOLDS(i64v, long, INGOT_FOLD8)
#elif INGOT_BYTES == 32
INGOT_LANES_FOLDS(f64v, double, INGOT_FOLD4)
INGOT_LANES_FOLDS(i64v, long, INGOT_FOLD4)
#else
INGOT_LANES_FOLDS(f64v, double, INGOT_FOLD2)
INGOT_LANES_FOLDS(i64v, long, INGOT_FOLD2)
#endif
INLINE double lanes_sum(Two<f64v> v) { return lanes_sum(v.lo + v.hi); }
INLINE double lanes_prod(Two<f64v> v) { return lanes_prod(v.lo * v.hi); }
INLINE double lanes_max(Two<f64v> v) { return lanes_max(maximum(v.lo, v.hi)); }
INLINE double lanes_min(Two<f64v> v) { return lanes_min(minimum(v.lo, v.hi)); }
INLINE long lanes_sum(Two<i64v> v) { return lanes_sum(v.lo + v.hi); }
INLINE long lanes_prod(Two<i64v> v) { return lanes_prod(v.lo * v.hi); }
INLINE long lanes_max(Two<i64v> v) { return lanes_max(maximum(v.lo, v.hi)); }
INLINE long lanes_min(Two<i64v> v) { return lanes_min(minimum(v.lo, v.hi)); }
// C division of each lane; b neither 0 nor -1
INLINE I64 divide(I64 a, I64 b) {
  alignas(64) long t[INGOT_LANES], u[INGOT_LANES];
  store_i64(t, a);
  store_i64(u, b);
  for (int i = 0; i < INGOT_LANES; i++) t[i] /= u[i];
  return load_i64((const long*)t);
}

#if defined(INGOT_AVX512)
INLINE f32h narrow_f32(u64v a) {
  return __builtin_ia32_cvtuqq2ps512_mask((i64w)a, (f32h){}, INGOT_ALL8, 4);
}
#else
INLINE f32h narrow_f32(u64v a) { return __builtin_convertvector(a, f32h); }
#endif
INLINE Two<u64v> to_u64(Two<f64v> a) { return both(to_u64(a.lo), to_u64(a.hi)); }
INLINE Two<u64v> to_u64(f32v a) { return to_u64(to_f64(a)); }
INLINE Two<f64v> to_f64(Two<u64v> a) { return both(to_f64(a.lo), to_f64(a.hi)); }
INLINE f32v to_f32(Two<u64v> a) { return INGOT_JOIN(narrow_f32(a.lo), narrow_f32(a.hi)); }
INLINE u64v to_u64(i64v a) { return (u64v)a; }
INLINE i64v to_i64(u64v a) { return (i64v)a; }
INLINE Two<u64v> to_u64(Two<i64v> a) { return both(to_u64(a.lo), to_u64(a.hi)); }
INLINE Two<i64v> to_i64(Two<u64v> a) { return both(to_i64(a.lo), to_i64(a.hi)); }
INLINE Two<u64v> to_u64(i32v a) { return to_u64(to_i64(a)); }
INLINE i32v to_i32(Two<u64v> a) { return to_i32(to_i64(a)); }
INGOT_EACH1(to_u64)
INGOT_SCALARS(U64, unsigned long, M64, splat_u64)
INLINE U64 negate(U64 a) { return 0UL - a; }
INLINE U64 abs(U64 a) { return a; }
INGOT_PLAIN_MEMORY(u64, u64v, unsigned long, u64u)
INGOT_TAIL_BY_LANES(u64, u64v, unsigned long, unsigned long)
INGOT_MEMORY(u64, U64, unsigned long, unsigned long)
#if INGOT_BYTES == 64
INGOT_LANES_FOLDS(u64v, unsigned long, INGOT_FOLD8)
#elif INGOT_BYTES == 32
INGOT_LANES_FOLDS(u64v, unsigned long, INGOT_FOLD4)
#else
INGOT_LANES_FOLDS(u64v, unsigned long, INGOT_FOLD2)
#endif
INLINE unsigned long lanes_sum(Two<u64v> v) { return lanes_sum(v.lo + v.hi); }
INLINE unsigned long lanes_prod(Two<u64v> v) { return lanes_prod(v.lo * v.hi); }
INLINE unsigned long lanes_max(Two<u64v> v) { return lanes_max(maximum(v.lo, v.hi)); }
INLINE unsigned long lanes_min(Two<u64v> v) { return lanes_min(minimum(v.lo, v.hi)); }
// b not 0
INLINE U64 divide(U64 a, U64 b) {
  alignas(64) unsigned long t[INGOT_LANES], u[INGOT_LANES];
  store_u64(t, a);
  store_u64(u, b);
  for (int i = 0; i < INGOT_LANES; i++) t[i] /= u[i];
  return load_u64((const unsigned long*)t);
}

// zero-extended in 64-bit lanes
typedef unsigned u32u __attribute__((vector_size(INGOT_BYTES / 2), aligned(4), may_alias));
INLINE void read_u32(i64v& v, const unsigned* p) {
  v = __builtin_convertvector(*(const u32u*)p, i64v);
}
INLINE void write_u32(unsigned* p, i64v v) { *(u32u*)p = __builtin_convertvector(v, u32u); }
INGOT_TAIL_BY_LANES(u32, i64v, unsigned, long)
INGOT_MEMORY(u32, I64, unsigned, long)

// 8- and 16-bit integers in memory, zero-extended in lanes, low bits kept in stores
#if defined(INGOT_AVX512)
typedef INGOT_VECTOR(char, 16) i8q;
typedef INGOT_VECTOR(short, 32) i16h;
typedef char i8u __attribute__((vector_size(16), aligned(1), may_alias));
typedef short i16u __attribute__((vector_size(32), aligned(2), may_alias));
INLINE i32v widen_u8(i8q a) {
  return (i32v)__builtin_ia32_pmovzxbd512_mask(a, (i32v){}, INGOT_ALL16);
}
INLINE i32v widen_u16(i16h a) {
  return (i32v)__builtin_ia32_pmovzxwd512_mask(a, (i32v){}, INGOT_ALL16);
}
INLINE i16h narrow_u16(i32v a) {
  return (i16h)__builtin_ia32_pmovdw512_mask(a, (i16h){}, INGOT_ALL16);
}
INLINE void read_u8(i32v& v, const unsigned char* p) { v = widen_u8(*(const i8u*)p); }
INLINE void read_u8(i32v& v, const unsigned char* p, Live live) {
  v = widen_u8((i8q)__builtin_ia32_loaddquqi128_mask((const char*)p, (i8q){},
                                                     (unsigned short)live));
}
INLINE void write_u8(unsigned char* p, i32v v) {
  *(i8u*)p = (i8q)__builtin_ia32_pmovdb512_mask(v, (i8q){}, INGOT_ALL16);
}
INLINE void write_u8(unsigned char* p, i32v v, Live live) {
  __builtin_ia32_pmovdb512mem_mask((i8q*)p, v, (unsigned short)live);
}
INLINE void read_u16(i32v& v, const unsigned short* p) { v = widen_u16(*(const i16u*)p); }
INLINE void read_u16(i32v& v, const unsigned short* p, Live live) {
  v = widen_u16((i16h)__builtin_ia32_loaddquhi256_mask((const short*)p, (i16h){},
                                                       (unsigned short)live));
}
INLINE void write_u16(unsigned short* p, i32v v) { *(i16u*)p = narrow_u16(v); }
INLINE void write_packed(unsigned short* p, i16h v) { *(i16u*)p = v; }
INLINE void write_u16(unsigned short* p, i32v v, Live live) {
  __builtin_ia32_pmovdw512mem_mask((i16h*)p, v, (unsigned short)live);
}
#else
typedef unsigned char u8u __attribute__((vector_size(INGOT_BYTES / 4), aligned(1), may_alias));
typedef unsigned short u16u __attribute__((vector_size(INGOT_BYTES / 2), aligned(2), may_alias));
INLINE void read_u8(i32v& v, const unsigned char* p) {
  v = __builtin_convertvector(*(const u8u*)p, i32v);
}
INLINE void write_u8(unsigned char* p, i32v v) { *(u8u*)p = __builtin_convertvector(v, u8u); }
INLINE void read_u16(i32v& v, const unsigned short* p) {
  v = __builtin_convertvector(*(const u16u*)p, i32v);
}
INLINE u16u narrow_u16(i32v v) { return __builtin_convertvector(v, u16u); }
INLINE void write_u16(unsigned short* p, i32v v) { *(u16u*)p = narrow_u16(v); }
INLINE void write_packed(unsigned short* p, u16u v) { *(u16u*)p = v; }
INGOT_TAIL_BY_LANES(u8, i32v, unsigned char, int)
INGOT_TAIL_BY_LANES(u16, i32v, unsigned short, int)
#endif
INGOT_MEMORY(u8, I32, unsigned char, int)
INGOT_MEMORY(u16, I32, unsigned short, int)
INLINE void read_i8(i32v& v, const signed char* p) {
  read_u8(v, (const unsigned char*)p);
  v = (v << 24) >> 24;
}
INLINE void read_i8(i32v& v, const signed char* p, Live live) {
  read_u8(v, (const unsigned char*)p, live);
  v = (v << 24) >> 24;
}
INLINE void write_i8(signed char* p, i32v v) { write_u8((unsigned char*)p, v); }
INLINE void write_i8(signed char* p, i32v v, Live live) {
  write_u8((unsigned char*)p, v, live);
}
INGOT_MEMORY(i8, I32, signed char, int)
INLINE void read_i16(i32v& v, const short* p) {
  read_u16(v, (const unsigned short*)p);
  v = (v << 16) >> 16;
}
INLINE void read_i16(i32v& v, const short* p, Live live) {
  read_u16(v, (const unsigned short*)p, live);
  v = (v << 16) >> 16;
}
INLINE void write_i16(short* p, i32v v) { write_u16((unsigned short*)p, v); }
INLINE void write_i16(short* p, i32v v, Live live) {
  write_u16((unsigned short*)p, v, live);
}
INGOT_MEMORY(i16, I32, short, int)
// An 8-bit float with `m` bits of mantissa in the low bits of a lane.
template <int m, int bias>
INLINE f32v widen_f8(i32v h) {
  i32v t = h & 0x7f, wide = (t << (23 - m)) + ((127 - bias) << 23);
  f32v tiny = to_f32(t) * __builtin_bit_cast(float, (128 - bias - m) << 23);
  return (f32v)((t < (1 << m) ? (i32v)tiny : wide) | ((h & 0x80) << 24));
}
// Below the smallest normal value adding a large one leaves the rounded multiple of the step.
template <int m, int bias>
INLINE i32v narrow_f8(f32v a, int most, int nan) {
  i32v t = (i32v)abs(a), u = (t + ((1 << (22 - m)) - 1) + ((t >> (23 - m)) & 1)) >> (23 - m);
  u = u - ((127 - bias) << m);
  constexpr int big = (151 - bias - m) << 23;
  i32v tiny = (i32v)(abs(a) + __builtin_bit_cast(float, big)) - big;
  u = t < ((128 - bias) << 23) ? tiny : minimum(u, (i32v){} + most);
  return (a == a ? u : (i32v){} + nan) | (((i32v)a >> 24) & 0x80);
}
#define INGOT_F8(name)                                                                        \
  INLINE f32v round_##name(f32v a) { return widen_##name(narrow_##name(a)); }                 \
  INLINE void read_##name(f32v& v, const unsigned char* p) {                                  \
    i32v t;                                                                                   \
    read_u8(t, p);                                                                            \
    v = widen_##name(t);                                                                      \
  }                                                                                           \
  INLINE void read_##name(f32v& v, const unsigned char* p, Live live) {                        \
    i32v t;                                                                                   \
    read_u8(t, p, live);                                                                         \
    v = widen_##name(t);                                                                      \
  }                                                                                           \
  INLINE void write_##name(unsigned char* p, f32v v) { write_u8(p, narrow_##name(v)); }       \
  INLINE void write_##name(unsigned char* p, f32v v, Live live) {                             \
    write_u8(p, narrow_##name(v), live);                                                      \
  }                                                                                           \
  INGOT_EACH1(round_##name)                                                                   \
  INGOT_MEMORY(name, F32, unsigned char, float)
INLINE f32v widen_f8e4m3(i32v h) {
  i32v nan = 0x7fc00000 | ((h & 0x80) << 24);
  return (f32v)((h & 0x7f) == 0x7f ? nan : (i32v)widen_f8<3, 7>(h));
}
INLINE i32v narrow_f8e4m3(f32v a) { return narrow_f8<3, 7>(a, 0x7e, 0x7f); }
INGOT_F8(f8e4m3)
INLINE f32v widen_f8e5m2(i32v h) {
  i32v t = h & 0x7f, special = (t << 21) | 0x7f800000;
  special = t > 0x7c ? special | 0x400000 : special;
  return (f32v)(t >= 0x7c ? special | ((h & 0x80) << 24) : (i32v)widen_f8<2, 15>(h));
}
INLINE i32v narrow_f8e5m2(f32v a) { return narrow_f8<2, 15>(a, 0x7c, 0x7e); }
INGOT_F8(f8e5m2)
INLINE M32 load_bool(const unsigned char* p) { return load_u8(p) != 0; }
INLINE M32 load_bool(const unsigned char* p, Live live) { return load_u8(p, live) != 0; }
INLINE void store_bool(unsigned char* p, M32 m) { store_u8(p, m & 1); }
INLINE void store_bool(unsigned char* p, M32 m, Live live) { store_u8(p, m & 1, live); }

INLINE void read_bf16(f32v& v, const unsigned short* p) {
  i32v t;
  read_u16(t, p);
  v = (f32v)(t << 16);
}
INLINE void read_bf16(f32v& v, const unsigned short* p, Live live) {
  i32v t;
  read_u16(t, p, live);
  v = (f32v)(t << 16);
}
INLINE void write_bf16(unsigned short* p, f32v v, Live live) {
  write_u16(p, (i32v)((i32v)round_bf16_bits(v) >> 16), live);
}
#if defined(INGOT_AVX512) && defined(__AVX512BF16__)
// the instruction takes subnormal numbers for zero: they go the long way
INLINE bool has_subnormal(f32v a) {
  return __builtin_ia32_fpclassps512_mask(a, 0x20, INGOT_ALL16) != 0;
}
INLINE i16h pack_bf16(f32v a) {
  if (__builtin_expect(has_subnormal(a), 0)) return narrow_u16((i32v)round_bf16_bits(a) >> 16);
  return (i16h)__builtin_ia32_cvtneps2bf16_v16sf(a);
}
#else
INLINE auto pack_bf16(f32v a) { return narrow_u16((i32v)round_bf16_bits(a) >> 16); }
#endif
INLINE void write_bf16(unsigned short* p, f32v v) { write_packed(p, pack_bf16(v)); }
// A value that stays in registers: NaN is rare, and one test does for a whole vector.
#if defined(INGOT_AVX512)
INLINE unsigned nan_lanes(f32v a) { return __builtin_ia32_fpclassps512_mask(a, 0x81, INGOT_ALL16); }
INLINE bool any(unsigned lanes) { return lanes != 0; }
#else
INLINE i32v nan_lanes(f32v a) { return a != a; }
#endif
template <class H>
INLINE auto nan_lanes(Two<H> a) { return nan_lanes(a.lo) | nan_lanes(a.hi); }
INLINE f32v round_number_bf16(f32v a) {
  i32v u = (i32v)a;
  return (f32v)((u + 0x7fff + ((u >> 16) & 1)) & -0x10000);
}
INGOT_EACH1(round_number_bf16) INGOT_EACH1(round_bf16_bits)
template <class V>
INLINE V round_bf16(V a) {
  if (__builtin_expect(any(nan_lanes(a)), 0)) return round_bf16_bits(a);
  return round_number_bf16(a);
}
INGOT_MEMORY(bf16, F32, unsigned short, float)

#if defined(INGOT_AVX512)
INLINE f32v widen_f16(i32v h) {
  return __builtin_ia32_vcvtph2ps512_mask(narrow_u16(h), (f32v){}, INGOT_ALL16, 4);
}
INLINE i16h pack_f16(f32v a) {
  return (i16h)__builtin_ia32_vcvtps2ph512_mask(a, 8, (i16h){}, INGOT_ALL16);
}
INLINE i32v narrow_f16(f32v a) { return widen_u16(pack_f16(a)); }
#else
// f16 in the low 16 bits of a lane
INLINE f32v widen_f16(i32v h) {
  i32v m = h & 0x7fff, wide = (m << 13) + 0x38000000;
  f32v tiny = to_f32(m) * 0x1p-24f;
  i32v r = m < 0x400 ? (i32v)tiny : wide;
  r = m >= 0x7c00 ? (m << 13) | 0x7f800000 : r;
  r = m > 0x7c00 ? r | 0x400000 : r;
  return (f32v)(r | ((h & 0x8000) << 16));
}
// below 2^-14 adding 0.5 leaves the rounded multiple of 2^-24; from 65520 on infinity
INLINE i32v narrow_f16(f32v a) {
  i32v u = (i32v)a, m = u & 0x7fffffff;
  i32v r = (m - 0x38000000 + 0xfff + ((m >> 13) & 1)) >> 13;
  i32v tiny = (i32v)((f32v)m + 0.5f) - 0x3f000000;
  r = m < 0x38800000 ? tiny : r;
  r = m >= 0x477ff000 ? (i32v){} + 0x7c00 : r;
  r = m > 0x7f800000 ? ((m >> 13) & 0x3ff) | 0x7e00 : r;
  return r | ((u >> 16) & 0x8000);
}
INLINE auto pack_f16(f32v a) { return narrow_u16(narrow_f16(a)); }
#endif
INLINE f32v round_f16(f32v a) { return widen_f16(narrow_f16(a)); }
INLINE void read_f16(f32v& v, const unsigned short* p) {
  i32v t;
  read_u16(t, p);
  v = widen_f16(t);
}
INLINE void read_f16(f32v& v, const unsigned short* p, Live live) {
  i32v t;
  read_u16(t, p, live);
  v = widen_f16(t);
}
INLINE void write_f16(unsigned short* p, f32v v) { write_packed(p, pack_f16(v)); }
INLINE void write_f16(unsigned short* p, f32v v, Live live) { write_u16(p, narrow_f16(v), live); }
INGOT_EACH1(round_f16)
INGOT_MEMORY(f16, F32, unsigned short, float)

// Stores past the caches; p aligned to the bytes of a whole vector, at least to 64.
// stream_fence() before the data are handed to another thread.
INLINE void write_stream(float* p, f32v v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, (f32v*)p);
#elif defined(INGOT_AVX512)
  __builtin_ia32_movntps512(p, v);
#elif defined(INGOT_AVX2)
  __builtin_ia32_movntps256(p, v);
#else
  __builtin_ia32_movntps(p, v);
#endif
}
template <class H>
INLINE void write_stream(float* p, Two<H> v) {
  write_stream(p, v.lo);
  write_stream(p + sizeof(H) / sizeof(float), v.hi);
}
INLINE void stream_f32(float* p, F32 v) { write_stream(p, v); }
INLINE void stream_i32(int* p, I32 v) { write_stream((float*)p, from_bits(v)); }
INLINE void stream_fence() { __builtin_ia32_sfence(); }
INLINE void write_stream(double* p, f64v v) { write_stream((float*)p, (f32v)v); }
template <class H>
INLINE void write_stream(double* p, Two<H> v) {
  write_stream(p, v.lo);
  write_stream(p + sizeof(H) / sizeof(double), v.hi);
}
INLINE void stream_f64(double* p, F64 v) { write_stream(p, v); }
INLINE void stream_i64(long* p, I64 v) { write_stream((double*)p, from_bits(v)); }
template <class V>
INLINE void write_stream_packed(unsigned short* p, V v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, (V*)p);
#elif defined(INGOT_AVX512)
  typedef long long quad __attribute__((vector_size(32)));
  __builtin_ia32_movntdq256((quad*)p, (quad)v);
#elif defined(INGOT_AVX2)
  typedef long long pair __attribute__((vector_size(16)));
  __builtin_ia32_movntdq((pair*)p, (pair)v);
#else
  __builtin_ia32_movnti64((long long*)p, (long long)v);
#endif
}
#define INGOT_STREAM_PACKED(name)                                  \
  INLINE void write_stream_##name(unsigned short* p, f32v v) {     \
    write_stream_packed(p, pack_##name(v));                        \
  }                                                                \
  template <class H>                                               \
  INLINE void write_stream_##name(unsigned short* p, Two<H> v) {   \
    write_stream_##name(p, v.lo);                                  \
    write_stream_##name(p + sizeof(H) / sizeof(float), v.hi);      \
  }                                                                \
  INLINE void stream_##name(unsigned short* p, F32 v) { write_stream_##name(p, v); }
INGOT_STREAM_PACKED(bf16)
INGOT_STREAM_PACKED(f16)

INLINE void tile_read(i32v& v, const int* p) { read_i32(v, p); }
INLINE void tile_write(int* p, i32v v) { write_i32(p, v); }
INLINE void tile_read(i32v& v, const unsigned char* p) { read_u8(v, p); }
INLINE void tile_write(unsigned char* p, i32v v) { write_u8(p, v); }
INLINE void tile_read(i32v& v, const unsigned short* p) { read_u16(v, p); }
INLINE void tile_write(unsigned short* p, i32v v) { write_u16(p, v); }
INLINE void tile_read(i32v& v, const long* p) { read_i32(v, (const int*)p); }
INLINE void tile_write(long* p, i32v v) { write_i32((int*)p, v); }
#if INGOT_BYTES == 64
#define INGOT_LANE_BITS 2  // of the number of a 128-bit lane
#define INGOT_UNPACK_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define INGOT_UNPACK_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define INGOT_PAIRS_LOW 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define INGOT_PAIRS_HIGH 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define INGOT_LANES_EVEN 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define INGOT_LANES_ODD 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#elif INGOT_BYTES == 32
#define INGOT_LANE_BITS 1
#define INGOT_UNPACK_LOW 0, 8, 1, 9, 4, 12, 5, 13
#define INGOT_UNPACK_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#define INGOT_PAIRS_LOW 0, 1, 8, 9, 4, 5, 12, 13
#define INGOT_PAIRS_HIGH 2, 3, 10, 11, 6, 7, 14, 15
#define INGOT_LANES_EVEN 0, 1, 2, 3, 8, 9, 10, 11
#define INGOT_LANES_ODD 4, 5, 6, 7, 12, 13, 14, 15
#else
#define INGOT_LANE_BITS 0
#define INGOT_UNPACK_LOW 0, 4, 1, 5
#define INGOT_UNPACK_HIGH 2, 6, 3, 7
#define INGOT_PAIRS_LOW 0, 1, 4, 5
#define INGOT_PAIRS_HIGH 2, 3, 6, 7
#endif
// A stage interleaves the first half of the registers with the second, inside 128-bit lanes by
// elements of 32 or 64 bits, then by lanes: each moves one bit of the element's place in a register
// into the register's number.
#define INGOT_STAGE(name, low, high)                                                      \
  INLINE Two<i32v> name(i32v a, i32v b) {                                                 \
    return both(__builtin_shufflevector(a, b, low), __builtin_shufflevector(a, b, high)); \
  }                                                                                       \
  template <class H>                                                                      \
  INLINE auto name(Two<H> a, Two<H> b) {                                                  \
    return both(name(a.lo, b.lo), name(a.hi, b.hi));                                      \
  }
INGOT_STAGE(unpacked, INGOT_UNPACK_LOW, INGOT_UNPACK_HIGH)
INGOT_STAGE(unpacked_pairs, INGOT_PAIRS_LOW, INGOT_PAIRS_HIGH)
#if INGOT_LANE_BITS > 0
INGOT_STAGE(lanes_parted, INGOT_LANES_EVEN, INGOT_LANES_ODD)
#endif
template <class T>
INLINE T lanes_turned(T v) {
#if INGOT_LANE_BITS > 0
  v = lanes_parted(v.lo, v.hi);
#endif
#if INGOT_LANE_BITS > 1
  v = lanes_parted(v.lo, v.hi);
#endif
  return v;
}
// `bits` of the place inside a lane: 2 with elements of 32 bits, 1 of 64.
template <int bits, class T>
INLINE T turned(T v) {
  if constexpr (bits == 2) {
    v = unpacked(v.lo, v.hi);
    v = unpacked(v.lo, v.hi);
  } else {
    v = unpacked_pairs(v.lo, v.hi);
  }
  return lanes_turned(v);
}
// The row that stands in a register before the stages, and the column that does after them.
constexpr int turned_row(int slot, int bits) {
  int lane = INGOT_LANE_BITS == 2 ? (slot & 1) << 1 | (slot >> 1 & 1) : slot & INGOT_LANE_BITS;
  return lane << bits | slot >> INGOT_LANE_BITS;
}
template <int n, int slot, int bits, class S>
INLINE auto tile_rows(const S* p, long stride) {
  if constexpr (n == 1) {
    const S* row = p + turned_row(slot, bits) * stride;
    i32v v;
    tile_read(v, row);
    return v;
  } else {
    return both(tile_rows<n / 2, slot, bits>(p, stride),
                tile_rows<n / 2, slot + n / 2, bits>(p, stride));
  }
}
template <int slot, int bits, class S>
INLINE void tile_columns(S* p, long stride, i32v v) {
  tile_write(p + turned_row(slot, bits) * stride, v);
}
template <int slot, int bits, class S, class H>
INLINE void tile_columns(S* p, long stride, Two<H> v) {
  tile_columns<slot, bits>(p, stride, v.lo);
  tile_columns<slot + sizeof(H) / sizeof(i32v), bits>(p, stride, v.hi);
}
template <int n, int bits, class S>
INLINE void transpose_tile(S* d, long across, const S* s, long down, long rows, long columns) {
  const long whole_rows = rows - rows % n, whole_columns = columns - columns % n;
  for (long r = 0; r < whole_rows; r += n) {
    for (long c = 0; c < whole_columns; c += n) {
      auto block = turned<bits>(tile_rows<n, 0, bits>(s + r * down + c, down));
      tile_columns<0, bits>(d + c * across + r, across, block);
    }
  }
  for (long r = 0; r < rows; r++) {
    for (long c = r < whole_rows ? whole_columns : 0; c < columns; c++) {
      d[c * across + r] = s[r * down + c];
    }
  }
}
#define INGOT_TRANSPOSE(name, S, n, bits)                                                         \
  SLOW void transpose_##name(S* d, long across, const S* s, long down, long rows, long columns) { \
    transpose_tile<n, bits>(d, across, s, down, rows, columns);                                   \
  }
INGOT_TRANSPOSE(i32, int, INGOT_BYTES / 4, 2)
INGOT_TRANSPOSE(u8, unsigned char, INGOT_BYTES / 4, 2)
INGOT_TRANSPOSE(u16, unsigned short, INGOT_BYTES / 4, 2)
INGOT_TRANSPOSE(i64, long, INGOT_BYTES / 8, 1)

// ---- exponentials: e^x = 2^k e^r, |r| <= 0.347
// Adding 1.5 * 2^52 + 1023 rounds x / ln 2 to the whole number k and leaves k + 1023, the exponent
// field of 2^k, in the low bits.
INLINE F64 exp_shifted(F64 x) { return fma(x, 0x1.71547652b82fep+0, 0x1.80000000003ffp+52); }

INLINE F64 exp_steps(F64 shifted) { return shifted - 0x1.80000000003ffp+52; }

// 2^k, where that is a normal number
INLINE F64 exp_power(F64 shifted) { return from_bits(bits(shifted) << 52); }

// r = x - k ln 2, in two parts of ln 2
INLINE F64 exp_rest(F64 x, F64 k) {
  return fma(k, -0x1.abc9e3b39803fp-56, fma(k, -0x1.62e42fefa39efp-1, x));
}

// (e^r - 1 - r) / r^2, so that e^r is good to 2^-63
INLINE F64 exp_tail(F64 r) {
  F64 p = fma(splat_f64(0x1.1ee75bcbc16f8p-29), r, 0x1.af6eab63f99cbp-26);
  p = fma(p, r, 0x1.27e537a87a8dfp-22);
  p = fma(p, r, 0x1.71ddee5f2cc6p-19);
  p = fma(p, r, 0x1.a01a017b3e6bdp-16);
  p = fma(p, r, 0x1.a01a01b44a47p-13);
  p = fma(p, r, 0x1.6c16c16c1ec9dp-10);
  p = fma(p, r, 0x1.111111110e9f3p-7);
  p = fma(p, r, 0x1.5555555555543p-5);
  p = fma(p, r, 0x1.555555555555cp-3);
  p = fma(p, r, 0x1p-1);
  return p;
}

INLINE F64 exp_near_zero(F64 r) { return fma(fma(exp_tail(r), r, 1.0), r, 1.0); }

INLINE F64 expm1_near_zero(F64 r) { return fma(exp_tail(r), r * r, r); }


// e^x: two-part reduction, degree 12, one rounding into subnormal results
INLINE F64 exp(F64 x) {
  x = at_most(at_least(x, -746.0), 710.0);
  F64 k = exp_steps(exp_shifted(x));
  return scale(exp_near_zero(exp_rest(x, k)), k);
}


// e^-|x|, for the logistic family
INLINE F64 exp_of_minus(F64 x) { return exp(-abs(x)); }


// 2^x: as exp, the reduction is exact; exact for whole x
INLINE F64 exp2(F64 x) {
  x = at_most(at_least(x, -1076.0), 1025.0);
  F64 k = (x + 0x1.8p+52) - 0x1.8p+52;
  return scale(exp_near_zero((x - k) * 0x1.62e42fefa39efp-1), k);
}


// e^x - 1: 2^k (e^r - 1) + (2^k - 1), halved so that 2^k does not overflow
INLINE F64 expm1(F64 x) {
  F64 c = at_most(at_least(x, -40.0), 710.0);
  F64 m = fma(c, 0x1.71547652b82fep+0, 0x1.80000000003fep+52), half = exp_power(m);
  F64 y = fma(expm1_near_zero(exp_rest(c, m - 0x1.80000000003fep+52)), half, half - 0.5);
  return copysign(y + y, x);
}


// ---- logarithms: x = 2^k (1 + f), -0.25 <= f <= 0.5
// f - log(1 + f) by s = f / (2 + f), degree 17 in s (2^-62)
INLINE F64 log_loss(F64 f) {
  F64 s = f / (2.0 + f), w = s * s, h = 0.5 * f * f;
  F64 p = fma(splat_f64(0x1.1b859c933e066p-3), w, 0x1.0dcaff6e93f49p-3);
  p = fma(p, w, 0x1.3b35c98b444c5p-3);
  p = fma(p, w, 0x1.745c4a994ccf4p-3);
  p = fma(p, w, 0x1.c71c7490cae15p-3);
  p = fma(p, w, 0x1.24924921e340ep-2);
  p = fma(p, w, 0x1.999999999c186p-2);
  p = fma(p, w, 0x1.555555555554fp-1);
  return fma(-s, fma(p, w, h), h);
}

INLINE F64 log_join(F64 k, F64 f) {
  F64 y = fma(k, 0x1.a39ef35793c76p-33, -log_loss(f)) + f;
  return fma(k, 0x1.62e42feep-1, y);
}

// the same of 2^k (1 + f) + low, given low / (1 + f)
INLINE F64 log_join_low(F64 k, F64 f, F64 low) {
  F64 y = fma(k, 0x1.a39ef35793c76p-33, low - log_loss(f)) + f;
  return fma(k, 0x1.62e42feep-1, y);
}


// natural logarithm
INLINE F64 log(F64 x) { return log_join(exponent(x), mantissa(x) - 1.0); }


// logarithm to base 2: log(1 + f) times 1 / ln 2 in two parts; exact for powers of 2
INLINE F64 log2(F64 x) {
  F64 k = exponent(x), f = mantissa(x) - 1.0;
  F64 y = fma(f, 0x1.777d0ffda0d24p-56, log_loss(f) * -0x1.71547652b82fep+0);
  return fma(f, 0x1.71547652b82fep+0, y) + k;
}


// f of u + lost, k being the exponent of u: lost, what the sum u has rounded away, is put back
INLINE F64 log_fraction(F64 u, F64 lost, F64 k) {
  return (mantissa(u) - 1.0) + select(u < 0x1p+900, scale(lost, -at_least(k, -99.0)), 0.0);
}


// log(1 + x)
INLINE F64 log1p(F64 x) {
  F64 u = 1.0 + x, k = exponent(u);
  return copysign(log_join(k, log_fraction(u, x - (u - 1.0), k)), x);
}


// ---- logistic family
// 1 / (1 + e^-x), as e^x / (1 + e^x) below 0; what 1 + e rounds away is put back
INLINE F64 sigmoid(F64 x) {
  F64 e = exp_of_minus(x), d = 1.0 + e, lost = e - (d - 1.0);
  M64 below = x < 0.0;
  F64 q = select(below, e, 1.0) / d;
  return fma(-q * lost, select(below, 1.0 - q, q), q);
}


// x sigmoid(x); -inf gives -0
INLINE F64 silu(F64 x) { return at_least(x, -760.0) * sigmoid(x); }


// x / 2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid of twice that argument
INLINE F64 gelu_tanh(F64 x) {
  F64 c = at_most(at_least(x, -22.0), 22.0);
  F64 u = c * fma(c * c, 0x1.2444f2a4d8b4bp-4, 0x1.9884533d43651p+0);
  return select(x < -22.0, -0.0, x) * sigmoid(u);
}


// log(1 + e^x)
INLINE F64 softplus(F64 x) { return at_least(x, 0.0) + log1p(exp_of_minus(x)); }


// x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2); -inf gives -0
INLINE F64 mish(F64 x) {
  F64 e = exp(at_most(x, 50.0)), n = e * (e + 2.0);
  return at_least(x, -760.0) * (n / (n + 2.0));
}


// ---- hyperbolic functions
// hyperbolic tangent: q = m / (2 + m), m = e^(-2|x|) - 1, and one correction of q by all that was
// rounded away; 1 / (2 + m) = (1 - q) / 2
INLINE F64 tanh(F64 x) {
  F64 c = at_most(abs(x), 20.0) * -2.0;
  F64 shifted = exp_shifted(c), k = exp_steps(shifted), s = exp_power(shifted);
  F64 r = fma(k, -0x1.62e42fefa39efp-1, c);
  F64 t = fma(exp_tail(r), r * r, k * -0x1.abc9e3b39803fp-56);
  F64 e = r + t, e_low = (r - e) + t;
  F64 m = fma(e, s, s - 1.0), m_low = fma(e_low, s, fma(e, s, (s - 1.0) - m));
  F64 d = 2.0 + m, lost = m - (d - 2.0), q = m / d;
  F64 rest = fma(-q, lost, fma(-q, d, m) + m_low);
  return copysign(fma(rest, fma(q, -0.5, 0.5), q), x);
}


// hyperbolic sine: odd polynomial below 1, else h - 1 / 4h with h = e^|x| / 2
INLINE F64 sinh(F64 x) {
  F64 a = abs(x), w = a * a;
  F64 p = fma(splat_f64(0x1.b260b8b057402p-41), w, 0x1.612234504ec3p-33);
  p = fma(p, w, 0x1.ae645336ffbc6p-26);
  p = fma(p, w, 0x1.71de3a5e9b752p-19);
  p = fma(p, w, 0x1.a01a01a00b9c2p-13);
  p = fma(p, w, 0x1.1111111111198p-7);
  p = fma(p, w, 0x1.5555555555555p-3);
  F64 c = at_most(a, 712.0), k = exp_steps(exp_shifted(c));
  F64 h = scale(exp_near_zero(exp_rest(c, k)), k - 1.0);
  return copysign(select(a < 1.0, fma(p * w, a, a), h - 0.25 / h), x);
}


// hyperbolic cosine: h + 1 / 4h with h = e^|x| / 2
INLINE F64 cosh(F64 x) {
  F64 c = at_most(abs(x), 712.0), k = exp_steps(exp_shifted(c));
  F64 h = scale(exp_near_zero(exp_rest(c, k)), k - 1.0);
  return h + 0.25 / h;
}


// inverse hyperbolic sine: log(1 + t), t = a + a^2 / (1 + sqrt(1 + a^2)), or log 2a
INLINE F64 asinh(F64 x) {
  F64 a = abs(x), w = a * a, t = a + w / (1.0 + sqrt(1.0 + w)), u = 1.0 + t;
  M64 large = a > 0x1p+60;
  F64 v = select(large, a, u), k = exponent(v);
  F64 f = log_fraction(v, select(large, 0.0, t - (u - 1.0)), k);
  return copysign(log_join(select(large, k + 1.0, k), f), x);
}


// inverse hyperbolic cosine: log(1 + t), t = b + sqrt(2b + b^2), b = x - 1, or log 2x
INLINE F64 acosh(F64 x) {
  F64 b = x - 1.0, root = sqrt(fma(b, b, 2.0 * b)), t = b + root, u = 1.0 + t;
  M64 large = x > 0x1p+60;
  F64 v = select(large, x, u), k = exponent(v);
  F64 f = log_fraction(v, select(large, 0.0, t - (u - 1.0)), k);
  F64 low = (root - t) + b;  // counts where the logarithm is not large beside t
  low = select(k == 0.0, fma(low, -f, low), 0.0);
  F64 y = log_join_low(select(large, k + 1.0, k), f, low);
  return select(x < 1.0, __builtin_nan(""), y);
}


// inverse hyperbolic tangent: log(1 + 2a / (1 - a)) / 2
INLINE F64 atanh(F64 x) {
  F64 a = abs(x);
  return copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
}


// ---- error function family
// error function: odd polynomial below 1, else 1 - e^P(|x|)
INLINE F64 erf(F64 x) {
  F64 t = at_most(abs(x), 6.0), w = t * t;
  F64 p = fma(splat_f64(0x1.06327ce76e6f1p-34), w, -0x1.38b06d96a23f1p-30);
  p = fma(p, w, 0x1.f7bb117b15a1ep-27);
  p = fma(p, w, -0x1.5f1f654cb7e63p-23);
  p = fma(p, w, 0x1.b9df34e206726p-20);
  p = fma(p, w, -0x1.f4d1e4948054dp-17);
  p = fma(p, w, 0x1.f9a321ea0ca35p-14);
  p = fma(p, w, -0x1.c02db3db7bf7ep-11);
  p = fma(p, w, 0x1.565bcd0dbec5cp-8);
  p = fma(p, w, -0x1.b82ce31284fc5p-6);
  p = fma(p, w, 0x1.ce2f21a042b36p-4);
  p = fma(p, w, -0x1.812746b0379e6p-2);
  p = fma(p, w, 0x1.189f1303abcffp-56);
  F64 h = t * 0x1.20dd750429b6dp0;
  F64 near = h + fma(p, t, fma(t, 0x1.20dd750429b6dp0, -h));
  F64 q = fma(splat_f64(0x1.247b85ffb267fp-40), t, -0x1.a1fc8cce57394p-35);
  q = fma(q, t, 0x1.1793e1931a732p-30);
  q = fma(q, t, -0x1.d0a43fc34cac1p-27);
  q = fma(q, t, 0x1.0c1561aaf124ep-23);
  q = fma(q, t, -0x1.c5c6e3878875cp-21);
  q = fma(q, t, 0x1.20b29ae9fb266p-18);
  q = fma(q, t, -0x1.138408c7893bbp-16);
  q = fma(q, t, 0x1.7791de098fbbfp-15);
  q = fma(q, t, -0x1.249178372b167p-14);
  q = fma(q, t, -0x1.8175762172c2dp-15);
  q = fma(q, t, 0x1.51069eed5b34bp-11);
  q = fma(q, t, -0x1.d03c35398582bp-10);
  q = fma(q, t, 0x1.27ee20fb95a1ap-12);
  q = fma(q, t, 0x1.388e9261d4f2cp-6);
  q = fma(q, t, -0x1.a4d9aa902fe1fp-4);
  q = fma(q, t, -0x1.45f432847bbacp-1);
  q = fma(q, t, -0x1.20dd55664f90ap0);
  q = fma(q, t, -0x1.8beba79532264p-23);
  return copysign(select(t < 1.0, near, 1.0 - exp(q)), x);
}


// x Phi(x), the erf form: max(x, 0) - t Phi(-t), t = |x|, Phi(-t) = e^(-t^2 / 2) p(u) / (t + 5),
// u = (t - 5) / (t + 5), degree 21 (2^-55); the square is carried in two parts
INLINE F64 gelu(F64 x) {
  F64 t = at_most(abs(x), 39.0), v = 1.0 / (t + 5.0), u = (t - 5.0) * v;
  F64 p = fma(splat_f64(0x1.3a0842271642fp-29), u, 0x1.0801b71f0461p-27);
  p = fma(p, u, -0x1.76686986738e1p-27);
  p = fma(p, u, -0x1.1f720e613e503p-24);
  p = fma(p, u, 0x1.7c5be3ab07d2dp-25);
  p = fma(p, u, 0x1.d2f8b9873aef9p-22);
  p = fma(p, u, -0x1.6af4f255b6cf6p-22);
  p = fma(p, u, -0x1.73e2f22cca32fp-19);
  p = fma(p, u, 0x1.0b31f280813bdp-18);
  p = fma(p, u, 0x1.17e078b1310c5p-16);
  p = fma(p, u, -0x1.a17133e669213p-15);
  p = fma(p, u, -0x1.f214e4212feeep-15);
  p = fma(p, u, 0x1.1daf1e6e377e4p-11);
  p = fma(p, u, -0x1.a2503659e7606p-11);
  p = fma(p, u, -0x1.88590eb431b75p-9);
  p = fma(p, u, 0x1.54b4d4f38136ap-6);
  p = fma(p, u, -0x1.1b1c254c9437p-4);
  p = fma(p, u, 0x1.51f6329f03956p-3);
  p = fma(p, u, -0x1.410ed5f875b79p-2);
  p = fma(p, u, 0x1.fb31653876f3ap-2);
  p = fma(p, u, -0x1.54ad03f27ca15p-1);
  p = fma(p, u, 0x1.89d3abe1f95aep-1);
  F64 h = t * t * -0.5, h_low = fma(t * -0.5, t, -h);
  F64 k = exp_steps(exp_shifted(h)), e = exp_near_zero(exp_rest(h, k));
  e = fma(e, h_low, e);
  return fma(-t, scale(p * v * e, k), at_least(x, -0.0));
}


// ---- powers
// square root of the reciprocal, by IEEE square root and division
INLINE F64 rsqrt(F64 x) { return 1.0 / sqrt(x); }


// x^y as in C: log2 |x| and its product with y in pairs high + low (2^-65), then 2^e
INLINE F64 pow(F64 x, F64 y) {
  F64 a = abs(x), k = exponent(a), f = mantissa(a) - 1.0;
  F64 d = 2.0 + f, s = f / d;
  F64 s_low = fma(-s, f - (d - 2.0), fma(-s, d, f)) / d;
  F64 z = s * s, z_low = fma(s, s, -z) + 2.0 * s * s_low;
  F64 p = fma(splat_f64(0x1.019398e413a73p-3), z, 0x1.dac93cb9e64cp-4);
  p = fma(p, z, 0x1.113a55a6b47ccp-3);
  p = fma(p, z, 0x1.3b12963b952e1p-3);
  p = fma(p, z, 0x1.745d1bd154e48p-3);
  p = fma(p, z, 0x1.c71c71bc4ee86p-3);
  p = fma(p, z, 0x1.2492492498f15p-2);
  p = fma(p, z, 0x1.9999999999967p-2);
  F64 h = z * 0x1.5555555555555p-1, h_low = fma(z, 0x1.5555555555555p-1, -h);
  // z_low counts in h and, by 2 z p, in z^2 p
  h_low = h_low + fma(z_low, fma(z, 0.8, 0x1.5555555555555p-1), z * 0x1.5555555555555p-55);
  F64 v = 2.0 + h, v_low = fma(z * z, p, ((2.0 - v) + h) + h_low);
  F64 u = v + v_low, u_low = (v - u) + v_low;
  F64 l = s * u, l_low = fma(s, u, -l) + fma(s, u_low, s_low * u);  // log(1 + f)
  F64 g = l * 0x1.71547652b82fep+0, g_low = fma(l, 0x1.71547652b82fep+0, -g);
  g_low = g_low + fma(l, 0x1.777d0ffda0d24p-56, l_low * 0x1.71547652b82fep+0);
  F64 t = k + g, t_low = ((k - t) + g) + g_low;  // log2 |x|
  F64 e = y * t, e_low = fma(y, t, -e) + y * t_low;
  e_low = select(abs(e) < 1100.0, e_low, 0.0);
  e = at_most(at_least(e, -1100.0), 1030.0);
  F64 n = (e + 0x1.8p+52) - 0x1.8p+52;
  // 2^(e - n) = 1 + r + c, r = (e - n) ln 2: so near to the exact result that one which f64 holds
  // comes out
  F64 r = (e - n) * 0x1.62e42fefa39efp-1, r_low = fma(e - n, 0x1.62e42fefa39efp-1, -r);
  r_low = r_low + fma(e - n, 0x1.abc9e3b39803fp-56, e_low * 0x1.62e42fefa39efp-1);
  F64 c = exp_tail(r) * (r * r), sum = 1.0 + r;
  c = fma(r_low, sum + c, c);
  r = scale(sum + (((1.0 - sum) + r) + c), n);
  F64 half = y * 0.5;
  M64 whole = trunc(y) == y, odd = whole & (trunc(half) != half);
  r = select((x < 0.0) & not_(whole) & (a < __builtin_inf()), __builtin_nan(""), r);
  r = select(odd, copysign(r, x), r);
  M64 one = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (abs(y) == __builtin_inf()));
  return select(one, 1.0, r);
}


// x - floor(x / y) y, Python's floored remainder: the sign of y; exact, or rounded once where x has
// the other sign. NaN for y = 0 or infinite x. A pass takes up to 2^50 y away.
INLINE F64 mod(F64 x, F64 y) {
  F64 r = abs(x), d = abs(y);
  M64 bad = not_(r < __builtin_inf()) | not_(d > 0.0);
  r = select(bad, 0.0, r);
  d = select(bad, 1.0, d);
  while (any(r >= d)) {
    F64 step = at_least(exponent(r) - exponent(d) - 50.0, 0.0), half = trunc(step * 0.5);
    F64 s = select(r >= d, scale(scale(d, half), step - half), 1.0);
    F64 q = select(r >= d, trunc(r / s), 0.0);
    r = fma(-q, s, r);
    r = select(r < 0.0, r + s, r);
  }
  r = copysign(r, x);
  r = select((r != 0.0) & ((r < 0.0) != (y < 0.0)), r + y, r);
  return select(bad, __builtin_nan(""), select(r == 0.0, copysign(0.0, y), r));
}


// ---- sine, cosine, tangent: x = n pi/2 + r, |r| <= 0.79
INLINE F64 trig_shifted(F64 x) { return fma(x, 0x1.45f306dc9c883p-1, 0x1.8p+52); }

// r by pi/2 in three parts: the first step is exact, the others round once each
INLINE F64 trig_rest(F64 x, F64 n) {
  F64 r = fma(n, -0x1.921fb54442d18p+0, x);
  return fma(n, -0x1.c1cd129024e09p-107, fma(n, -0x1.1a62633145c06p-54, r));
}

INLINE F64 sin_near_zero(F64 r) {
  F64 w = r * r;
  F64 p = fma(splat_f64(-0x1.a172879532e3ep-41), w, 0x1.610c4d9ee4872p-33);
  p = fma(p, w, -0x1.ae642fadbfbacp-26);
  p = fma(p, w, 0x1.71de3a35a7c8p-19);
  p = fma(p, w, -0x1.a01a019fff61ep-13);
  p = fma(p, w, 0x1.111111111106cp-7);
  p = fma(p, w, -0x1.5555555555555p-3);
  return fma(p * w, r, r);
}

INLINE F64 cos_near_zero(F64 r) {
  F64 w = r * r;
  F64 p = fma(splat_f64(-0x1.8f859223e6353p-37), w, 0x1.1ee99dd88e97cp-29);
  p = fma(p, w, -0x1.27e4f79932534p-22);
  p = fma(p, w, 0x1.a01a019c1925cp-16);
  p = fma(p, w, -0x1.6c16c16c14b8dp-10);
  p = fma(p, w, 0x1.5555555555549p-5);
  return fma(w * w, p, fma(w, -0.5, 1.0));
}


// 2/pi in digits of 27 bits, after three zero digits
TABLE long two_over_pi[47] = {
    0x0, 0x0, 0x0, 0x517cc1b, 0x3939105, 0x253f84e, 0x57d1f53, 0x26ee06d, 0x58a5664,
    0x7887208, 0x1fe5163, 0x55ef5de, 0x1586dc9, 0xdc7484, 0x4dd2e00, 0x3249775, 0x274648,
    0x39fc3bd, 0x31cb129, 0x539f744, 0x8d7d4b, 0x5768909, 0x699c702, 0x35a2fbf, 0x104e647,
    0x2c7306a, 0x339f49c, 0x422fc5d, 0x77e4a0e, 0x63ff12f, 0x7fde059, 0x407f797, 0x4462d68,
    0x14da3ed, 0x5367ecf, 0x13e584d, 0x5d3d18f, 0x6cd3cbf, 0x6a2d752, 0x3dd63f5, 0x797c5ec,
    0x7a0e73e, 0x78a5292, 0x7535fda, 0x7ec47e3, 0x2ba10ac, 0x33046f,
};


// x = quarter pi/2 + r + low for 1 <= x < inf: the product of the 53-bit mantissa with the digits
// of 2/pi that matter, modulo 4. The exponent picks eight digits: those before give multiples of
// 4, those after are below 2^-118. NaN for inf.
SLOW void trig_far(double x, double& r, double& low, long& quarter) {
  long b = bits(x), e = (b >> 52) - (1075 - 54), at = e / 27, shift = 27 - e % 27;
  long m = (b & 0xfffffffffffff) | 0x10000000000000, m_low = m & 0x7ffffff, m_high = m >> 27;
  long digit[8], column[7];
  for (int j = 0; j < 8; j++) {
    digit[j] = ((two_over_pi[at + j] << 27 | two_over_pi[at + j + 1]) >> shift) & 0x7ffffff;
  }
  for (int j = 0; j < 7; j++) column[j] = m_low * digit[j] + m_high * digit[j + 1];
  for (int j = 6; j > 0; j--) {
    column[j - 1] += column[j] >> 27;
    column[j] &= 0x7ffffff;
  }
  long up = column[1] >> 26;  // the nearest multiple of pi/2 may be the next one
  quarter = column[0] + up;
  double f = (double)((column[1] - (up << 27)) * 0x8000000 + column[2]) * 0x1p-54;
  double g = (double)((column[3] << 27) + column[4]) * 0x1p-108;
  double h = f + g, h_low = ((f - h) + g) + (double)((column[5] << 27) + column[6]) * 0x1p-162;
  double t = h + h_low, t_low = (h - t) + h_low;
  double p = t * 0x1.921fb54442d18p+0, p_low = fma(t, 0x1.921fb54442d18p+0, -p);
  p_low = fma(t_low, 0x1.921fb54442d18p+0, fma(t, 0x1.1a62633145c07p-54, p_low));
  r = x < __builtin_inf() ? p + p_low : __builtin_nan("");
  low = (p - r) + p_low;
}

// the same lane by lane where |x| is beyond 2^30, for either sign; q = quarter + turn
SLOW void trig_replace(F64 x, F64& r, F64& low, I64& q, long turn) {
  for (int i = 0; i < lanes_of(x); i++) {
    double sign = lane(x, i) < 0.0 ? -1.0 : 1.0, far, far_low;
    long quarter;
    if (!(lane(x, i) * sign > 0x1p+30)) continue;
    trig_far(lane(x, i) * sign, far, far_low, quarter);
    set_lane(r, i, far * sign);
    set_lane(low, i, far_low * sign);
    set_lane(q, i, (sign < 0.0 ? -quarter : quarter) + turn);
  }
}


// sine: two polynomials, chosen by the quarter
INLINE F64 sin(F64 x) {
  F64 m = trig_shifted(x), r = trig_rest(x, m - 0x1.8p+52);
  F64 low = r;
  I64 q = bits(m);
  if (any(abs(x) > 0x1p+30)) trig_replace(x, r, low, q, 0);
  F64 y = select((q & 1L) != 0L, cos_near_zero(r), copysign(sin_near_zero(r), r));
  return from_bits(bits(y) ^ ((q & 2L) << 62));
}


// cosine: as sine
// The quarter is taken one further, for the sake of the sign.
INLINE F64 cos(F64 x) {
  F64 m = fma(x, 0x1.45f306dc9c883p-1, 0x1.8000000000001p+52), r = trig_rest(x, m - 0x1.8000000000001p+52);
  F64 low = r;
  I64 q = bits(m);
  if (any(abs(x) > 0x1p+30)) trig_replace(x, r, low, q, 1);
  F64 y = select((q & 1L) != 0L, cos_near_zero(r), sin_near_zero(r));
  return from_bits(bits(y) ^ ((q & 2L) << 62));
}


// tangent: odd polynomial t of degree 31, odd quarters -1 / t; what the reduction rounded away
// adds low (1 + t^2)
INLINE F64 tan(F64 x) {
  F64 m = trig_shifted(x), n = m - 0x1.8p+52;
  F64 a = fma(n, -0x1.921fb54442d18p+0, x), b = n * -0x1.1a62633145c06p-54;
  F64 c = fma(n, -0x1.c1cd129024e09p-107, fma(n, -0x1.1a62633145c06p-54, -b));
  F64 sum = a + b, part = sum - a;  // sum and what it loses, exactly
  c = c + ((a - (sum - part)) + (b - part));
  F64 r = sum + c, low = (sum - r) + c;
  I64 q = bits(m);
  if (any(abs(x) > 0x1p+30)) trig_replace(x, r, low, q, 0);
  F64 w = r * r;
  F64 p = fma(splat_f64(0x1.5d6a2b53596f7p-17), w, -0x1.c6121e05cbf28p-16);
  p = fma(p, w, 0x1.c7c93b00cfd6cp-15);
  p = fma(p, w, -0x1.10f576c1104a7p-15);
  p = fma(p, w, 0x1.3120b8d0cf136p-14);
  p = fma(p, w, 0x1.5194479776e72p-14);
  p = fma(p, w, 0x1.00de5f33b6c37p-12);
  p = fma(p, w, 0x1.348d89ecaad69p-11);
  p = fma(p, w, 0x1.7db64c28c3f1ap-10);
  p = fma(p, w, 0x1.d6d290e87147ap-9);
  p = fma(p, w, 0x1.226e3c9e2ffc9p-7);
  p = fma(p, w, 0x1.664f484c26229p-6);
  p = fma(p, w, 0x1.ba1ba1bb1000ep-5);
  p = fma(p, w, 0x1.111111110ffc9p-3);
  p = fma(p, w, 0x1.5555555555563p-2);
  F64 tail = p * w * r, near = r + tail;
  F64 t = r + (tail + fma(near * near, low, low));
  M64 odd = (q & 1L) != 0L;
  t = select(x == 0.0, x, t);  // -0
  return select(odd, -1.0, t) / select(odd, t, 1.0);
}


// ---- inverses
// (asin(b) - b) / b for w = b^2 <= 1/4
INLINE F64 asin_tail(F64 w) {
  F64 p = fma(splat_f64(0x1.dc181a1e43fdap-6), w, -0x1.f58c4e797bf33p-7);
  p = fma(p, w, 0x1.22053f1b0db7dp-6);
  p = fma(p, w, 0x1.5e2919d3753a9p-8);
  p = fma(p, w, 0x1.532a90dc073eep-7);
  p = fma(p, w, 0x1.7801022f1be58p-7);
  p = fma(p, w, 0x1.c9d30ac27c391p-7);
  p = fma(p, w, 0x1.1c4d112cf67d3p-6);
  p = fma(p, w, 0x1.6e8bb3752168fp-6);
  p = fma(p, w, 0x1.f1c71c11deeadp-6);
  p = fma(p, w, 0x1.6db6db6e48603p-5);
  p = fma(p, w, 0x1.3333333332da2p-4);
  p = fma(p, w, 0x1.5555555555556p-3);
  return p * w;
}


// arc sine: above 1/2 pi/2 - 2 asin(sqrt((1 - |x|) / 2))
INLINE F64 asin(F64 x) {
  F64 a = abs(x);
  M64 far = a > 0.5;
  F64 w = select(far, fma(a, -0.5, 0.5), a * a), b = select(far, sqrt(w), a);
  F64 tail = b * asin_tail(w);
  F64 y = fma(b + (tail - 0x1.1a62633145c07p-55), -2.0, 0x1.921fb54442d18p+0);  // pi/2 in two parts
  return copysign(select(far, y, b + tail), x);
}


// arc cosine: pi/2 - asin(x), above 1/2 from 2 asin(sqrt((1 - |x|) / 2))
INLINE F64 acos(F64 x) {
  F64 a = abs(x);
  M64 far = a > 0.5;
  F64 w = select(far, fma(a, -0.5, 0.5), a * a), b = select(far, sqrt(w), a);
  F64 y = fma(asin_tail(w), b, b);
  F64 outer = select(x < 0.0, fma(y, -2.0, 0x1.921fb54442d18p+1), y + y);
  return select(far, outer, 0x1.921fb54442d18p+0 - copysign(y, x));
}


// arc tangent of n / d, 0 <= n <= d, d > 0: above tan(pi/8) pi/4 + atan((n - d) / (n + d))
INLINE F64 atan_ratio(F64 n, F64 d) {
  M64 upper = n > 0x1.a827999fcef32p-2 * d;
  F64 t = select(upper, n - d, n) / select(upper, n + d, d), w = t * t;
  F64 p = fma(splat_f64(-0x1.3b6fe9b1e1032p-6), w, 0x1.41eda3affb6d1p-5);
  p = fma(p, w, -0x1.a0cd5186f9416p-5);
  p = fma(p, w, 0x1.dff0fee370e8fp-5);
  p = fma(p, w, -0x1.10fb2462e10cdp-4);
  p = fma(p, w, 0x1.3b12709f8dc44p-4);
  p = fma(p, w, -0x1.745d0bd21e554p-4);
  p = fma(p, w, 0x1.c71c718a1a809p-4);
  p = fma(p, w, -0x1.249249243faa8p-3);
  p = fma(p, w, 0x1.9999999999452p-3);
  p = fma(p, w, -0x1.5555555555555p-2);
  F64 low = fma(p * w, t, select(upper, 0x1.1a62633145c07p-55, 0.0));
  return select(upper, 0x1.921fb54442d18p-1, 0.0) + (t + low);
}


// arc tangent: above 1 pi/2 - atan(1 / |x|)
INLINE F64 atan(F64 x) {
  F64 a = abs(x);
  M64 far = a > 1.0;
  F64 y = atan_ratio(select(far, 1.0, a), select(far, a, 1.0));
  return copysign(select(far, 0x1.921fb54442d18p+0 - (y - 0x1.1a62633145c07p-54), y), x);
}


// angle of the point (x, y) as in C, signs of zeros included
INLINE F64 atan2(F64 y, F64 x) {
  F64 n = abs(y), d = abs(x);
  M64 far = n > d;
  F64 small = select(far, d, n), large = select(far, n, d);
  M64 equal = small == large;  // both 0 or both inf give no ratio
  F64 up = select(large < 0x1p-900, 0x1p+100, splat_f64(1.0));
  F64 by = select(large > 0x1p+1000, 0x1p-100, up);
  small = select(equal, select(large == 0.0, splat_f64(0.0), 1.0), small * by);
  F64 a = atan_ratio(small, select(equal, 1.0, large * by));
  a = select(far, 0x1.921fb54442d18p+0 - (a - 0x1.1a62633145c07p-54), a);
  a = select(bits(x) < 0L, 0x1.921fb54442d18p+1 - (a - 0x1.1a62633145c07p-53), a);
  return copysign(a, y);
}


// 2^(j / 16)
TABLE float sixteenths[16] = {
    0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f,
    0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
    0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f,
};


// log(1 + e^-t) in steps of 1
TABLE float softplus_c0[16] = {
    0x1.62e43p-1f, 0x1.40c7acp-2f, 0x1.03f2d6p-3f, 0x1.8e071p-5f, 0x1.295e5p-6f, 0x1.b818dap-8f,
    0x1.447e36p-9f, 0x1.dddef6p-11f, 0x1.5fb2f6p-12f, 0x1.02cb0cp-13f, 0x1.7cd566p-15f,
    0x1.1834aap-16f, 0x1.9c547p-18f, 0x1.2f603ep-19f, 0x1.be6c64p-21f, 0x1.4875c8p-22f,
};


TABLE float softplus_c1[16] = {
    -0x1.000008p-1f, -0x1.136566p-2f, -0x1.e84154p-4f, -0x1.84834p-5f, -0x1.26afa2p-6f,
    -0x1.b69f6cp-8f, -0x1.441778p-9f, -0x1.dda73ap-11f, -0x1.5fa3e2p-12f, -0x1.02c6fap-13f,
    -0x1.7cd33p-15f, -0x1.18341p-16f, -0x1.9c542p-18f, -0x1.2f6028p-19f, -0x1.be6c6p-21f,
    -0x1.4875c4p-22f,
};


TABLE float softplus_c2[16] = {
    0x1.0002b4p-3f, 0x1.92a92cp-4f, 0x1.ae0d94p-5f, 0x1.72165ap-6f, 0x1.216312p-7f, 0x1.b3afd6p-9f,
    0x1.434a22p-10f, 0x1.dd377ep-12f, 0x1.5f85aep-13f, 0x1.02bebp-14f, 0x1.7cce5p-16f,
    0x1.18325ep-17f, 0x1.9c5378p-19f, 0x1.2f5fc2p-20f, 0x1.be6c14p-22f, 0x1.48754cp-23f,
};


TABLE float softplus_c3[16] = {
    -0x1.5a7ee2p-15f, -0x1.f01d9ap-7f, -0x1.b4b81ap-7f, -0x1.beaaf6p-8f, -0x1.73f812p-9f,
    -0x1.1e8f6p-10f, -0x1.ace826p-12f, -0x1.3d8d9cp-13f, -0x1.d45b8ap-15f, -0x1.58e358p-16f,
    -0x1.fbad5ep-18f, -0x1.7592ecp-19f, -0x1.12de56p-20f, -0x1.947b0ap-22f, -0x1.2998bap-23f,
    -0x1.b5ee5ep-25f,
};


TABLE float softplus_c4[16] = {
    -0x1.4b8aaep-8f, -0x1.81a37ap-10f, 0x1.a85ceep-10f, 0x1.67ab42p-10f, 0x1.58cac4p-11f,
    0x1.16e52ep-12f, 0x1.a8c796p-14f, 0x1.3c7f4ep-15f, 0x1.d3c7c2p-17f, 0x1.58cbdp-18f,
    0x1.fbd934p-20f, 0x1.75d7f6p-21f, 0x1.12e556p-22f, 0x1.949ceap-24f, 0x1.29aa1cp-25f,
    0x1.b630f4p-27f,
};


TABLE float softplus_c5[16] = {
    -0x1.008492p-12f, 0x1.07ab46p-10f, 0x1.7a505p-13f, -0x1.4072e2p-13f, -0x1.d4eb1ep-14f,
    -0x1.a8ba4cp-15f, -0x1.4fa258p-16f, -0x1.fae8b4p-18f, -0x1.78c1a4p-19f, -0x1.164a0ap-20f,
    -0x1.998572p-22f, -0x1.2d43a8p-23f, -0x1.bbd15ap-25f, -0x1.468d06p-26f, -0x1.e1075ap-28f,
    -0x1.61557p-29f,
};


TABLE float softplus_c6[16] = {
    0x1.ffa318p-12f, -0x1.22be98p-14f, -0x1.f3a0a2p-14f, -0x1.dd4136p-18f, 0x1.b62e46p-17f,
    0x1.ef7ae6p-18f, 0x1.a31858p-19f, 0x1.446a74p-20f, 0x1.eda33ap-22f, 0x1.6b85a2p-23f,
    0x1.064432p-24f, 0x1.7a15dap-26f, 0x1.23badcp-27f, 0x1.a810fap-29f, 0x1.3ab994p-30f,
    0x1.c23ebep-32f,
};


// log2 Phi(-t) = power + polynomial, Phi the normal distribution, in steps of 1: absolute 2^-25
TABLE float gelu_power[16] = {
    -0x1p+0f, -0x1.8p+1f, -0x1.4p+2f, -0x1.4p+3f, -0x1.ep+3f, -0x1.6p+4f, -0x1.ep+4f, -0x1.4p+5f,
    -0x1.98p+5f, -0x1.f8p+5f, -0x1.34p+6f, -0x1.7p+6f, -0x1.b4p+6f, -0x1.fcp+6f, -0x1.26p+7f,
    -0x1.5p+7f,
};


TABLE float gelu_c0[16] = {
    0x0p+0f, 0x1.6038fp-2f, -0x1.d4f90ap-2f, 0x1.de4698p-2f, 0x1.b68ac4p-5f, 0x1.102e46p-2f,
    0x1.54a628p-4f, 0x1.f89f5ap-2f, 0x1.f1f57p-2f, 0x1.da32f8p-5f, 0x1.a0bec8p-3f, -0x1.4755e6p-4f,
    0x1.a4a6acp-3f, 0x1.d86932p-5f, 0x1.e6ed2p-2f, 0x1.d4d09ap-2f,
};


TABLE float gelu_c1[16] = {
    -0x1.26aec4p+0f, -0x1.19a398p+1f, -0x1.b63ffp+1f, -0x1.2f22fcp+2f, -0x1.86292ap+2f,
    -0x1.dee1fep+2f, -0x1.1c5062p+3f, -0x1.49837ep+3f, -0x1.76eedcp+3f, -0x1.a4819cp+3f,
    -0x1.d230e6p+3f, -0x1.fff57cp+3f, -0x1.16e52cp+4f, -0x1.2dd5f6p+4f, -0x1.44cbccp+4f,
    -0x1.5bc5b4p+4f,
};


TABLE float gelu_c2[16] = {
    -0x1.d63ddcp-2f, -0x1.27cc1ap-1f, -0x1.471fb8p-1f, -0x1.574558p-1f, -0x1.6017a8p-1f,
    -0x1.65410ap-1f, -0x1.687878p-1f, -0x1.6a95dap-1f, -0x1.6c0a02p-1f, -0x1.6d13c2p-1f,
    -0x1.6dd764p-1f, -0x1.6e6b5ap-1f, -0x1.6eddbcp-1f, -0x1.6f37f2p-1f, -0x1.6f805p-1f,
    -0x1.6fb8p-1f,
};


TABLE float gelu_c3[16] = {
    -0x1.adbf2p-5f, -0x1.ccaecp-6f, -0x1.d3aecep-7f, -0x1.efc55ap-8f, -0x1.196498p-8f,
    -0x1.55503ep-9f, -0x1.b6278ep-10f, -0x1.29056ap-10f, -0x1.9e0faap-11f, -0x1.2a84ecp-11f,
    -0x1.c232a6p-12f, -0x1.56515p-12f, -0x1.12607ep-12f, -0x1.999da8p-13f, -0x1.497bbp-13f,
    -0x1.167118p-19f,
};


TABLE float gelu_c4[16] = {
    0x1.cf242p-8f, 0x1.38308cp-8f, 0x1.388b9ep-9f, 0x1.2cd14p-10f, 0x1.2d684p-11f, 0x1.40df74p-12f,
    0x1.6e6e3ap-13f, 0x1.bd1bb6p-14f, 0x1.0f3bb2p-14f, 0x1.703f56p-15f, 0x1.e9e168p-16f,
    0x1.5f4ba2p-16f, 0x1.e55afcp-17f, 0x1.7d966ap-17f, 0x1.75387ep-17f, 0x1.499f76p-12f,
};


TABLE float gelu_c5[16] = {
    -0x1.32dc96p-12f, -0x1.2e784p-11f, -0x1.6e872p-12f, -0x1.66e962p-13f, -0x1.3aacf4p-14f,
    -0x1.1c099ap-15f, -0x1.51f6b2p-16f, 0x1.feae86p-18f, -0x1.6682b4p-17f, -0x1.5fd5bp-16f,
    -0x1.6bd116p-19f, -0x1.26f56ap-17f, 0x1.c6d4d2p-17f, -0x1.f1d31p-16f, -0x1.99e0b4p-16f,
    0x1.039c7ap-12f,
};


// erf(t) - d in steps of 1/4: constant terms, linear ones, …; one table, so that a GPU finds all of
// them behind one address
TABLE float erf_terms[96] = {
    0x0p+0f, 0x1.1af54ep-2f, 0x1.0a7ef6p-1f, 0x1.6c1c98p-1f, 0x1.af767ap-1f, 0x1.d8865ep-1f,
    0x1.eea556p-1f, 0x1.f92d08p-1f, 0x1.fd9ae2p-1f, 0x1.ff4048p-1f, 0x1.ffcaa8p-1f, 0x1.fff2dp-1f,
    0x1.fffd1ap-1f, 0x1.ffff7p-1f, 0x1.ffffe8p-1f, 0x1.fffffcp-1f,
    0x1.06eba8p-3f, 0x1.eba2eep-5f, -0x1.f081a2p-4f, -0x1.6da37ap-2f, -0x1.2b7708p-1f,
    -0x1.86e6b4p-1f, -0x1.c31b92p-1f, -0x1.e4faacp-1f, -0x1.f56b24p-1f, -0x1.fc57d8p-1f,
    -0x1.fee27cp-1f, -0x1.ffb328p-1f, -0x1.ffedcp-1f, -0x1.fffc2cp-1f, -0x1.ffff4ap-1f,
    -0x1.ffffe2p-1f,
    0x1.176846p-22f, -0x1.0f5bd6p-2f, -0x1.c1ef04p-2f, -0x1.edc6ep-2f, -0x1.a91064p-2f,
    -0x1.2ec15ep-2f, -0x1.6d5ff2p-3f, -0x1.7a533ap-4f, -0x1.52b21p-5f, -0x1.076f76p-6f,
    -0x1.63f7a6p-8f, -0x1.a7c334p-10f, -0x1.aa6c34p-12f, -0x1.a482c2p-14f, -0x1.0f0304p-15f,
    0x1.6f6332p-20f,
    -0x1.812afcp-2f, -0x1.3c9cc8p-2f, -0x1.2bfd4cp-3f, 0x1.b6c214p-6f, 0x1.1b622ap-3f,
    0x1.571c16p-3f, 0x1.1c2af8p-3f, 0x1.71430ep-4f, 0x1.8b16dcp-5f, 0x1.63fa56p-6f, 0x1.117192p-7f,
    0x1.69f204p-9f, 0x1.9f5a58p-11f, 0x1.93b8bcp-13f, 0x1.3b76b2p-15f, 0x1.0dac6ep-15f,
    0x1.19459cp-12f, 0x1.023406p-3f, 0x1.74fc06p-3f, 0x1.3478f6p-3f, 0x1.1a253ep-4f,
    -0x1.5c49d2p-8f, -0x1.6594cap-5f, -0x1.849cp-5f, -0x1.149262p-5f, -0x1.3080c2p-6f,
    -0x1.391fbep-7f, -0x1.8b2b14p-9f, -0x1.cc7f72p-10f, 0x1.a4275p-15f, 0x1.97fbe8p-11f,
    -0x1.0aee88p-12f,
    0x1.c6de52p-4f, 0x1.4b507ep-4f, 0x1.0f88eap-7f, -0x1.aca83ap-5f, -0x1.1acd3cp-4f,
    -0x1.811b54p-5f, -0x1.ebec66p-7f, 0x1.bb1812p-8f, 0x1.a31394p-7f, 0x1.594144p-7f,
    0x1.a032b6p-8f, 0x1.650b74p-9f, 0x1.d30348p-11f, 0x1.df4966p-12f, 0x1.2837cep-12f,
    -0x1.2810dp-10f,
};


// tanh(t); intervals [0, 1/16), [1/16, 3/32), [3/32, 1/8), ... [8, 9.02]: half an octave each.
// The centres are numbers near the middle whose tanh is nearly an f32.
TABLE float tanh_at[16] = {
    0x0p+0f, 0x1.400216p-4f, 0x1.c00162p-4f, 0x1.40023ap-3f, 0x1.bffda6p-3f, 0x1.3ffd5cp-2f,
    0x1.c0023cp-2f, 0x1.3ffe2ep-1f, 0x1.bfff6p-1f, 0x1.40015ep+0f, 0x1.bfff9p+0f, 0x1.3ffdeep+1f,
    0x1.bffdcp+1f, 0x1.40019cp+2f, 0x1.bffcep+2f, 0x1.10550ap+3f,
};


TABLE float tanh_c0[16] = {
    0x0p+0f, 0x1.3f5bdp-4f, 0x1.be3a36p-4f, 0x1.3d6df4p-3f, 0x1.b8fac6p-3f, 0x1.35f724p-2f,
    0x1.a5747ap-2f, 0x1.1bf33cp-1f, 0x1.6866p-1f, 0x1.b253p-1f, 0x1.e1fbep-1f, 0x1.f9254ap-1f,
    0x1.ff1124p-1f, 0x1.fff41ap-1f, 0x1.ffffc8p-1f, 0x1.fffffep-1f,
};


TABLE float tanh_c1[16] = {
    0x1p+0f, 0x1.fce334p-1f, 0x1.f9ec62p-1f, 0x1.f3b334p-1f, 0x1.e84308p-1f, 0x1.d1162ep-1f,
    0x1.a944f6p-1f, 0x1.62862ap-1f, 0x1.02507cp-1f, 0x1.1f2272p-2f, 0x1.d22e14p-4f, 0x1.b3be2ep-6f,
    0x1.dd4ae6p-9f, 0x1.7d44a6p-13f, 0x1.be97c8p-19f, 0x1.5f32aap-23f,
};


TABLE float tanh_c2[16] = {
    -0x1.599ef4p-30f, -0x1.3d6b86p-4f, -0x1.b8eeb4p-4f, -0x1.35cddap-3f, -0x1.a488c2p-3f,
    -0x1.199068p-2f, -0x1.5e0ff4p-2f, -0x1.893b24p-2f, -0x1.6ba81cp-2f, -0x1.e72588p-3f,
    -0x1.b6d99ap-4f, -0x1.ade796p-6f, -0x1.dc6b42p-9f, -0x1.7d19bp-13f, -0x1.b46aap-19f,
    -0x1.9841a2p-20f,
};


TABLE float tanh_c3[16] = {
    -0x1.555542p-2f, -0x1.4d02b8p-2f, -0x1.45276ap-2f, -0x1.351d3ep-2f, -0x1.1839dep-2f,
    -0x1.c19f1p-3f, -0x1.16db8p-3f, -0x1.2472a2p-6f, 0x1.4f0ff2p-4f, 0x1.bbb254p-4f, 0x1.01c1a2p-4f,
    0x1.16d9bp-6f, 0x1.3c27dap-9f, 0x1.f293bep-14f, 0x1.282bc8p-19f, 0x1.0a8368p-22f,
};


TABLE float tanh_c4[16] = {
    -0x1.64561cp-16f, 0x1.da568ep-5f, 0x1.2c0802p-4f, 0x1.8fe058p-4f, 0x1.04ef66p-3f,
    0x1.43f88cp-3f, 0x1.5c2c5p-3f, 0x1.1a6424p-3f, 0x1.f21212p-5f, -0x1.9c7e56p-7f, -0x1.816ea6p-6f,
    -0x1.07de8cp-7f, -0x1.39eda2p-10f, -0x1.f38cfcp-15f, -0x1.574d82p-20f, 0x1.d80492p-17f,
};


TABLE float tanh_c5[16] = {
    0x1.127682p-3f, -0x1.2e0f3cp-4f, -0x1.0b6fb4p-2f, 0x1.95528ap-4f, 0x1.461488p-4f, 0x1.5833bp-5f,
    -0x1.e09e22p-8f, -0x1.bb37dep-5f, -0x1.def398p-5f, -0x1.427374p-6f, 0x1.c88128p-9f,
    0x1.7a6b26p-9f, 0x1.01198ap-11f, 0x1.dce6e4p-16f, 0x1.09dc58p-21f, -0x1.21618cp-22f,
};


TABLE float tanh_c6[16] = {
    -0x1.4589d4p-7f, -0x1.113be8p+4f, -0x1.dfa2d2p+2f, -0x1.420efp-2f, -0x1.7f3486p-4f,
    -0x1.611e0ep-4f, -0x1.0604d2p-4f, -0x1.7fd26cp-6f, 0x1.a61b6p-7f, 0x1.ef14ap-7f, 0x1.136d4ap-9f,
    -0x1.6d128p-11f, -0x1.4a7832p-13f, -0x1.3a9786p-17f, -0x1.002c58p-24f, -0x1.2db64cp-15f,
};


// Phi(-t) of the normal distribution in steps of 13/32, 0 in the last, for the absolute error
TABLE float gelu_short_c0[16] = {
    0x1p-1f, 0x1.5e7e82p-2f, 0x1.aa803cp-3f, 0x1.c8944cp-4f, 0x1.aaa65ap-5f, 0x1.59f1f6p-6f,
    0x1.e49ce6p-8f, 0x1.2432ecp-9f, 0x1.2e870cp-11f, 0x1.0c5d56p-13f, 0x1.9744e6p-16f,
    0x1.0800d6p-18f, 0x1.24168ep-21f, 0x1.138beep-24f, 0x1.baf974p-28f, 0x0p+0f,
};


TABLE float gelu_short_c1[16] = {
    -0x1.988452p-2f, -0x1.7828dcp-2f, -0x1.25ab66p-2f, -0x1.84c6cap-3f, -0x1.b46178p-4f,
    -0x1.9f4b4p-5f, -0x1.4f18bap-6f, -0x1.ca7fdcp-8f, -0x1.09f388p-9f, -0x1.0596dcp-11f,
    -0x1.b44ebcp-14f, -0x1.348104p-16f, -0x1.71e676p-19f, -0x1.780a76p-22f, -0x1.44202p-25f,
    0x0p+0f,
};


TABLE float gelu_short_c2[16] = {
    -0x1.013f06p-20f, 0x1.319ec8p-4f, 0x1.dd33a8p-4f, 0x1.d9d0c4p-4f, 0x1.62909ap-4f,
    0x1.a5cb2ap-5f, 0x1.9868a8p-6f, 0x1.45f704p-7f, 0x1.b025a8p-9f, 0x1.de2464p-11f,
    0x1.bafaccp-13f, 0x1.587516p-15f, 0x1.c2653ep-18f, 0x1.efca14p-21f, 0x1.cbebc2p-24f, 0x0p+0f,
};


TABLE float gelu_short_c3[16] = {
    0x1.106986p-4f, 0x1.a2b42ep-5f, 0x1.0a1abcp-6f, -0x1.f725acp-7f, -0x1.dd4c36p-6f,
    -0x1.b0bb0ep-6f, -0x1.13fad2p-6f, -0x1.0ec998p-7f, -0x1.a7deeap-9f, -0x1.0d9c8ap-10f,
    -0x1.19d2aap-12f, -0x1.e78e62p-15f, -0x1.5eb1ecp-17f, -0x1.a4fb6cp-20f, -0x1.a6c8bep-23f,
    0x0p+0f,
};


TABLE float gelu_short_c4[16] = {
    -0x1.fd63f8p-14f, -0x1.1e2558p-6f, -0x1.715086p-6f, -0x1.dc4a08p-7f, -0x1.5d9f3ep-9f,
    0x1.3736cep-8f, 0x1.8dddfap-8f, 0x1.144d94p-8f, 0x1.11e772p-9f, 0x1.a21bf4p-11f,
    0x1.fc011cp-13f, 0x1.f4289cp-15f, 0x1.93729ep-17f, 0x1.0c95p-19f, 0x1.28a4dp-22f, 0x0p+0f,
};


TABLE float gelu_short_c5[16] = {
    -0x1.3b563ap-7f, -0x1.8c17acp-8f, 0x1.4e98d6p-10f, 0x1.7c2fc4p-8f, 0x1.556b18p-8f,
    0x1.066b6ep-9f, -0x1.c764fcp-12f, -0x1.2cd2ep-10f, -0x1.c4a55cp-11f, -0x1.bc1bc4p-12f,
    -0x1.43e3d4p-13f, -0x1.70befap-15f, -0x1.4fe5f8p-17f, -0x1.f0c5cep-20f, -0x1.2d0af8p-22f,
    0x0p+0f,
};


// ---- exponentials: e^x = 2^k e^r, |r| <= 0.347
// Adding 1.5 * 2^23 + 127 rounds x / ln 2 to the whole number k and leaves k + 127, the exponent
// field of 2^k, in the low bits.
INLINE F32 exp_shifted(F32 x) { return fma(x, 0x1.715476p+0f, 12583039.0f); }

INLINE F32 exp_steps(F32 shifted) { return shifted - 12583039.0f; }

// 2^k, where that is a normal number
INLINE F32 exp_power(F32 shifted) { return from_bits(bits(shifted) << 23); }

// r = x - k ln 2, in two parts of ln 2
INLINE F32 exp_rest(F32 x, F32 k) { return fma(k, 0x1.05c61p-29f, fma(k, -0x1.62e43p-1f, x)); }

// (e^r - 1 - r) / r^2, so that e^r is good to 2^-28.2
INLINE F32 exp_tail(F32 r) {
  F32 p = fma(splat_f32(0x1.6a5e34p-10f), r, 0x1.123adp-7f);
  p = fma(p, r, 0x1.5558a2p-5f);
  p = fma(p, r, 0x1.55549p-3f);
  return fma(p, r, 0x1.fffffcp-2f);
}

INLINE F32 exp_near_zero(F32 r) { return fma(fma(exp_tail(r), r, 1.0f), r, 1.0f); }

INLINE F32 expm1_near_zero(F32 r) { return fma(exp_tail(r), r * r, r); }


// e^x in two factors: 2^floor(k), and the number returned. x = k ln 2 + r, k a multiple of 1/16:
// 2^k's fraction stands in a table, |r| <= 0.022
INLINE F32 exp_factors(F32 x, F32& k) {
  F32 m = fma(x, 0x1.715476p+0f, 786432.0f);
  k = m - 786432.0f;
  F32 r = exp_rest(x, k), t = lookup16(sixteenths, bits(m));
  return fma(t, fma(fma(splat_f32(0x1.555746p-3f), r, 0x1.00022ap-1f), r * r, r), t);
}


// e^x: one rounding into subnormal results; 1.1 ulp
INLINE F32 exp(F32 x) {
  F32 k, f = exp_factors(at_most(at_least(x, -104.0f), 89.0f), k);
  return scale(f, k);
}


// 2^x: as exp, the reduction is exact; 0.9 ulp, exact for whole x
INLINE F32 exp2(F32 x) {
  x = at_most(at_least(x, -151.0f), 129.0f);
  F32 k = (x + 12582912.0f) - 12582912.0f;
  return scale(exp_near_zero((x - k) * 0x1.62e43p-1f), k);
}


// e^x - 1: 2^k (e^r - 1) + (2^k - 1), halved so that 2^k does not overflow; 1.5 ulp
INLINE F32 expm1(F32 x) {
  F32 c = at_most(at_least(x, -18.0f), 89.0f);
  F32 m = fma(c, 0x1.715476p+0f, 12583038.0f), half = exp_power(m);
  F32 y = fma(expm1_near_zero(exp_rest(c, m - 12583038.0f)), half, half - 0.5f);
  return copysign(y + y, x);
}


// ---- logarithms: x = 2^k (1 + f), -0.25 <= f <= 0.5
// (log(1 + f) - f) / f^2, so that log(1 + f) is good to 2^-30
INLINE F32 log_tail(F32 f) {
  F32 p = fma(splat_f32(0x1.33c87p-5f), f, -0x1.74d5dp-4f);
  p = fma(p, f, 0x1.df10fcp-4f);
  p = fma(p, f, -0x1.04af5p-3f);
  p = fma(p, f, 0x1.246456p-3f);
  p = fma(p, f, -0x1.5519ccp-3f);
  p = fma(p, f, 0x1.99975ep-3f);
  p = fma(p, f, -0x1.00006ep-2f);
  p = fma(p, f, 0x1.55555ap-2f);
  return fma(p, f, -0.5f);
}

INLINE F32 log_join(F32 k, F32 f) {
  F32 y = fma(log_tail(f), f * f, fma(k, 0x1.7f7d1cp-20f, f));
  return fma(k, 0x1.62e4p-1f, y);
}


// the same of 2^k (1 + f) + low, given low / (1 + f)
INLINE F32 log_join_low(F32 k, F32 f, F32 low) {
  F32 y = fma(log_tail(f), f * f, fma(k, 0x1.7f7d1cp-20f, low)) + f;
  return fma(k, 0x1.62e4p-1f, y);
}


// natural logarithm: degree 11; 1 ulp
INLINE F32 log(F32 x) { return log_join(exponent(x), mantissa(x) - 1.0f); }


// logarithm to base 2: log(1 + f) times 1 / ln 2 in two parts; 1.95 ulp, exact for powers of 2
INLINE F32 log2(F32 x) {
  F32 k = exponent(x), f = mantissa(x) - 1.0f;
  F32 y = fma(f, 0x1.4ae0cp-26f, log_tail(f) * (f * f) * 0x1.715476p+0f);
  return fma(f, 0x1.715476p+0f, y) + k;
}


// f of u + lost, k being the exponent of u: lost, what the sum u has rounded away, is put back
INLINE F32 log_fraction(F32 u, F32 lost, F32 k) {
  return (mantissa(u) - 1.0f) + select(u < 0x1p+100f, scale(lost, -at_least(k, -99.0f)), 0.0f);
}


// log(1 + x); 1.3 ulp
INLINE F32 log1p(F32 x) {
  F32 u = 1.0f + x, k = exponent(u);
  return copysign(log_join(k, log_fraction(u, x - (u - 1.0f), k)), x);
}


// ---- logistic family
// 1 / (1 + e^-x), as e^x / (1 + e^x) below 0; what 1 + e rounds away is put back; 2 ulp
INLINE F32 sigmoid(F32 x) {
  F32 c = at_least(-abs(x), -104.0f), k = exp_steps(exp_shifted(c));
  F32 e = scale(exp_near_zero(exp_rest(c, k)), k), d = 1.0f + e, lost = e - (d - 1.0f);
  F32 q = select(x < 0.0f, e, 1.0f) / d;
  return fma(-q, lost, q);
}


// e^-x, right for x >= -87
INLINE F32 exp_of_minus(F32 x) {
  x = at_most(at_least(x, -87.0f), 87.0f);
  F32 m = fma(x, -0x1.715476p+0f, 786432.0f), k = m - 786432.0f, r = exp_rest(x, -k);
  F32 t = lookup16(sixteenths, bits(m));
  F32 p = fma(fma(splat_f32(-0x1.555746p-3f), r, 0x1.00022ap-1f), r * r, -r);
  return scale(fma(t, p, t), k);
}

// x < -87, where e^x comes near the subnormal numbers: e^x times that, rounded once
INLINE F32 exp_far(F32 x, F32 times, F32 y) {
  F32 k, f = exp_factors(at_least(x, -120.0f), k);
  return select(x < -87.0f, scale(f * times, k), y);
}


// x sigmoid(x); 2.5 ulp; -inf gives -0
INLINE F32 silu(F32 x) {
  F32 y = x / (1.0f + exp_of_minus(x));
  if (any_below(x, -87.0f)) y = exp_far(x, at_least(x, -120.0f), y);
  return y;
}


// x / 2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(u), u twice that argument. For
// x < -9.75: u in two parts
INLINE F32 gelu_tanh_far(F32 x, F32 y) {
  F32 t = at_most(abs(x), 11.0f), w = t * t, w_low = fma(t, t, -w);
  F32 b = w * 0x1.2444f2p-4f, b_low = fma(w, 0x1.2444f2p-4f, -b) + w_low * 0x1.2444f2p-4f;
  F32 v = b + 0x1.988454p+0f, v_low = (b - v) + 0x1.988454p+0f;
  F32 u = t * v, u_low = fma(t, v, -u) + t * (v_low + (b_low - 0x1.857936p-25f));
  F32 k, f = exp_factors(-u, k);
  return select(x < -9.75f, -scale(fma(-f, u_low, f) * t, k), y);
}

// an error of u counts |u| times: 2.9 ulp for x > -1, relative 2^-19 for x > -5, 2^-16.2 below
INLINE F32 gelu_tanh(F32 x) {
  F32 c = at_most(at_least(x, -11.0f), 11.0f);
  F32 u = c * fma(c * c, 0x1.2444f2p-4f, 0x1.988454p+0f), y = x / (1.0f + exp_of_minus(u));
  if (any_below(x, -9.75f)) y = gelu_tanh_far(x, y);
  return y;
}


// log(1 + e^x) = log(1 + e) = e (1 - e / 2), e = e^x, for x < -15.484375
INLINE F32 softplus_far(F32 x, F32 y) {
  F32 k, f = exp_factors(at_least(x, -120.0f), k);
  return select(x < -15.484375f, scale(fma(f * -0.5f, scale(f, k), f), k), y);
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|); 1.7 ulp
INLINE F32 softplus(F32 x) {
  F32 t = at_most(abs(x), 15.484375f), m = t + 12582912.0f, d = t - (m - 12582912.0f);
  I32 i = bits(m);
  F32 q = fma(lookup16(softplus_c6, i), d, lookup16(softplus_c5, i));
  q = fma(q, d, lookup16(softplus_c4, i));
  q = fma(q, d, lookup16(softplus_c3, i));
  q = fma(q, d, lookup16(softplus_c2, i));
  q = fma(q, d, lookup16(softplus_c1, i));
  F32 y = at_least(x, 0.0f) + fma(q, d, lookup16(softplus_c0, i));
  if (any_below(x, -15.484375f)) y = softplus_far(x, y);
  return y;
}


// x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2), n / (n + 2) = 1 - 2 / (n + 2) and
// below -87 e^x; 4.5 ulp; -inf gives -0
INLINE F32 mish(F32 x) {
  F32 e = exp(at_most(x, 30.0f)), n = e * (e + 2.0f);
  F32 y = at_least(x, -120.0f) * (n / (n + 2.0f));
  if (any_below(x, -87.0f)) y = exp_far(x, at_least(x, -120.0f), y);
  return y;
}


// ---- hyperbolic functions
// hyperbolic tangent: a polynomial for each half octave from 1/16 to 9; 1.6 ulp
INLINE F32 tanh(F32 x) {
  F32 t = at_most(abs(x), 9.015625f);
  I32 i = (maximum(bits(t), 0x3d400000) >> 22) - 245;
  F32 d = t - lookup16(tanh_at, i);
  F32 q = fma(lookup16(tanh_c6, i), d, lookup16(tanh_c5, i));
  q = fma(q, d, lookup16(tanh_c4, i));
  q = fma(q, d, lookup16(tanh_c3, i));
  q = fma(q, d, lookup16(tanh_c2, i));
  q = fma(q, d, lookup16(tanh_c1, i));
  return copysign(fma(q, d, lookup16(tanh_c0, i)), x);
}


// hyperbolic sine: odd polynomial below 1, else h - 1 / 4h with h = e^|x| / 2; 1.7 ulp
INLINE F32 sinh(F32 x) {
  F32 a = abs(x), w = a * a;
  F32 p = fma(splat_f32(0x1.725236p-19f), w, 0x1.a03554p-13f);
  p = fma(p, w, 0x1.1110c6p-7f);
  p = fma(p, w, 0x1.555556p-3f);
  F32 c = at_most(a, 90.0f), k = exp_steps(exp_shifted(c));
  F32 h = scale(exp_near_zero(exp_rest(c, k)), k - 1.0f);
  return copysign(select(a < 1.0f, fma(p * w, a, a), h - 0.25f / h), x);
}


// hyperbolic cosine: h + 1 / 4h with h = e^|x| / 2; 1.4 ulp
INLINE F32 cosh(F32 x) {
  F32 c = at_most(abs(x), 90.0f), k = exp_steps(exp_shifted(c));
  F32 h = scale(exp_near_zero(exp_rest(c, k)), k - 1.0f);
  return h + 0.25f / h;
}


// inverse hyperbolic sine: log(1 + t), t = a + a^2 / (1 + sqrt(1 + a^2)), or log 2a; 1.8 ulp
INLINE F32 asinh(F32 x) {
  F32 a = abs(x), w = a * a, t = a + w / (1.0f + sqrt(1.0f + w)), u = 1.0f + t;
  M32 large = a > 0x1p+30f;
  F32 v = select(large, a, u), k = exponent(v);
  F32 f = log_fraction(v, select(large, 0.0f, t - (u - 1.0f)), k);
  return copysign(log_join(select(large, k + 1.0f, k), f), x);
}


// inverse hyperbolic cosine: log(1 + t), t = b + sqrt(2b + b^2), b = x - 1, or log 2x; 1.75 ulp
INLINE F32 acosh(F32 x) {
  F32 b = x - 1.0f, root = sqrt(fma(b, b, 2.0f * b)), t = b + root, u = 1.0f + t;
  M32 large = x > 0x1p+30f;
  F32 v = select(large, x, u), k = exponent(v);
  F32 f = log_fraction(v, select(large, 0.0f, t - (u - 1.0f)), k);
  F32 low = (root - t) + b;  // counts where the logarithm is not large beside t
  low = select(k == 0.0f, fma(low, -f, low), 0.0f);
  F32 y = log_join_low(select(large, k + 1.0f, k), f, low);
  return select(x < 1.0f, __builtin_nanf(""), y);
}


// inverse hyperbolic tangent: log(1 + 2a / (1 - a)) / 2; 2 ulp
INLINE F32 atanh(F32 x) {
  F32 a = abs(x);
  return copysign(0.5f * log1p(2.0f * a / (1.0f - a)), x);
}


// ---- error function family
// error function: a polynomial for each quarter; 1.4 ulp
INLINE F32 erf(F32 x) {
  F32 t = at_most(abs(x), 3.859375f), m = t + 3145728.0f, d = t - (m - 3145728.0f);
  I32 i = bits(m);
  F32 q = fma(lookup16(erf_terms + 80, i), d, lookup16(erf_terms + 64, i));
  q = fma(q, d, lookup16(erf_terms + 48, i));
  q = fma(q, d, lookup16(erf_terms + 32, i));
  q = fma(q, d, lookup16(erf_terms + 16, i));
  return copysign(lookup16(erf_terms, i) + fma(q, d, d), x);
}


// x Phi(x), the erf form: max(x, 0) - t Phi(-t), t = |x|; log2 Phi(-t) by a polynomial for each
// unit, 2^ of it as in exp. 1.8 ulp above 0, relative 2^-22.3 to -1, 2^-20 below
INLINE F32 gelu(F32 x) {
  F32 t = at_most(abs(x), 14.75f), m = t + 12582912.0f, d = t - (m - 12582912.0f);
  I32 i = bits(m);
  F32 q = fma(lookup16(gelu_c5, i), d, lookup16(gelu_c4, i));
  q = fma(q, d, lookup16(gelu_c3, i));
  q = fma(q, d, lookup16(gelu_c2, i));
  q = fma(q, d, lookup16(gelu_c1, i));
  q = fma(q, d, lookup16(gelu_c0, i));
  F32 n = q + 786432.0f, k = n - 786432.0f, f = q - k, u = lookup16(sixteenths, bits(n));
  F32 p = fma(splat_f32(0x1.c6ae3ap-5f), f, 0x1.ebfff4p-3f);
  p = fma(u * f, fma(p, f, 0x1.62e43p-1f), u);
  return fma(-t, scale(p, k + lookup16(gelu_power, i)), at_least(x, -0.0f));
}


// ---- powers
// square root of the reciprocal, by IEEE square root and division; 1.5 ulp
INLINE F32 rsqrt(F32 x) { return 1.0f / sqrt(x); }


// x^y as in C: 2^(y log2 |x|), the exponent in f64 (2^-32); 1.1 ulp
INLINE F32 pow(F32 x, F32 y) {
  F32 a = abs(x);
  F64 f = to_f64(mantissa(a) - 1.0f);
  F64 p = fma(splat_f64(-0x1.47c24ec23d71cp-5), f, 0x1.c0dd80b575cffp-4);
  p = fma(p, f, -0x1.3658cbd3a7e3ap-3);
  p = fma(p, f, 0x1.52ca23eabd43fp-3);
  p = fma(p, f, -0x1.71e11841cb754p-3);
  p = fma(p, f, 0x1.a574969f0cbap-3);
  p = fma(p, f, -0x1.ec5c8dc75a796p-3);
  p = fma(p, f, 0x1.2778bd1c61354p-2);
  p = fma(p, f, -0x1.7154b7f959713p-2);
  p = fma(p, f, 0x1.ec70992398fd7p-2);
  p = fma(p, f, -0x1.7154762098083p-1);
  p = fma(p, f, 0x1.715476533c058p+0);
  F64 e = to_f64(y) * fma(p, f, to_f64(exponent(a)));
  e = at_most(at_least(e, -160.0), 140.0);
  F64 k = (e + 0x1.8p+52) - 0x1.8p+52;
  F32 r = scale(exp_near_zero(to_f32(e - k) * 0x1.62e43p-1f), to_f32(k));
  F32 half = y * 0.5f;
  M32 whole = trunc(y) == y, odd = whole & (trunc(half) != half);
  r = select((x < 0.0f) & not_(whole) & (a < __builtin_inff()), __builtin_nanf(""), r);
  r = select(odd, copysign(r, x), r);
  M32 one = (y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (abs(y) == __builtin_inff()));
  return select(one, 1.0f, r);
}


// x - floor(x / y) y, Python's floored remainder: the sign of y; exact, or rounded once where x has
// the other sign. NaN for y = 0 or infinite x. A pass takes up to 2^21 y away.
INLINE F32 mod(F32 x, F32 y) {
  F32 r = abs(x), d = abs(y);
  M32 bad = not_(r < __builtin_inff()) | not_(d > 0.0f);
  r = select(bad, 0.0f, r);
  d = select(bad, 1.0f, d);
  while (any(r >= d)) {
    F32 step = at_least(exponent(r) - exponent(d) - 21.0f, 0.0f), half = trunc(step * 0.5f);
    F32 s = select(r >= d, scale(scale(d, half), step - half), 1.0f);
    F32 q = select(r >= d, trunc(r / s), 0.0f);
    r = fma(-q, s, r);
    r = select(r < 0.0f, r + s, r);
  }
  r = copysign(r, x);
  r = select((r != 0.0f) & ((r < 0.0f) != (y < 0.0f)), r + y, r);
  return select(bad, __builtin_nanf(""), select(r == 0.0f, copysign(0.0f, y), r));
}


// ---- exponential family: relative 2^-20, one step of the reduction, two terms
INLINE F32 exp_moderate(F32 x) {
  F32 m = fma(x, 0x1.715476p+0f, 786432.0f), k = m - 786432.0f;
  F32 r = fma(k, -0x1.62e43p-1f, x), t = lookup16(sixteenths, bits(m));
  return scale(fma(t * r, fma(r, 0x1.000264p-1f, 0x1.0003ecp+0f), t), k);
}

INLINE F32 exp_short(F32 x) { return exp_moderate(at_most(at_least(x, -104.0f), 89.0f)); }

INLINE F32 exp_short_of_minus(F32 x) { return exp_moderate(at_most(at_least(-x, -87.0f), 87.0f)); }

// 1 / (1 + e^-x); below -87 it stays at 1.6e-38
INLINE F32 sigmoid_short(F32 x) { return 1.0f / (1.0f + exp_short_of_minus(x)); }

// x / (1 + e^-x); below -87 it stays at -1.4e-36
INLINE F32 silu_short(F32 x) { return at_least(x, -87.0f) / (1.0f + exp_short_of_minus(x)); }

// x sigmoid(u); below -9.75 it stays above -1.8e-37
INLINE F32 gelu_tanh_short(F32 x) {
  F32 c = at_most(at_least(x, -11.0f), 11.0f);
  F32 u = c * fma(c * c, 0x1.2444f2p-4f, 0x1.988454p+0f);
  return at_least(x, -11.0f) / (1.0f + exp_short_of_minus(u));
}


// ---- gelu: max(x, 0) - t Phi(-t), t = |x|: an absolute error, whatever is left of the tail
INLINE F32 gelu_short(F32 x) {
  F32 t = at_most(abs(x), 6.09375f), m = fma(t, 0x1.3b13b2p+1f, 12582912.0f);
  F32 d = fma(m - 12582912.0f, -0.40625f, t);
  I32 i = bits(m);
  F32 q = fma(lookup16(gelu_short_c5, i), d, lookup16(gelu_short_c4, i));
  q = fma(q, d, lookup16(gelu_short_c3, i));
  q = fma(q, d, lookup16(gelu_short_c2, i));
  q = fma(q, d, lookup16(gelu_short_c1, i));
  q = fma(q, d, lookup16(gelu_short_c0, i));
  return fma(-t, q, at_least(x, -0.0f));
}


// gelu for a result that is rounded to bf16: the same with fewer terms, relative 2^-14.8. Of all
// bf16 numbers x one, -0.3359375, gives the neighbour of the nearest result
INLINE F32 gelu_bf16(F32 x) {
  F32 t = at_most(abs(x), 14.75f);
  F32 q = fma(splat_f32(-0x1.138ef8p-29f), t, 0x1.375ddp-23f);
  q = fma(q, t, -0x1.35a374p-18f);
  q = fma(q, t, 0x1.66cef4p-14f);
  q = fma(q, t, -0x1.0f58fep-10f);
  q = fma(q, t, 0x1.1e117ap-7f);
  q = fma(q, t, -0x1.bb59f8p-5f);
  q = fma(q, t, -0x1.d591d6p-2f);
  q = fma(q, t, -0x1.26b04p+0f);
  F32 k = fma(q, t, 12582912.0f) - 12582912.0f, f = fma(q, t, -k);
  F32 p = fma(splat_f32(0x1.5cbfa8p-11f), f, 0x1.3cf41cp-8f);
  p = fma(p, f, 0x1.c6b596p-6f);
  p = fma(p, f, 0x1.ebf9a4p-4f);
  p = fma(p, f, 0x1.62e42ap-2f);
  p = fma(p, f, 0.5f);
  return fma(-t, scale(p, k), at_least(x, -0.0f));
}


// ---- sine, cosine, tangent: x = n pi/2 + r, |r| <= 0.79
INLINE F32 trig_shifted(F32 x) { return fma(x, 0x1.45f306p-1f, 12582912.0f); }

// r by pi/2 in three parts: the first step is exact, the others round once each
INLINE F32 trig_rest(F32 x, F32 n) {
  F32 r = fma(n, -0x1.921fb4p+0f, x);
  return fma(n, -0x1.84698ap-48f, fma(n, -0x1.4442dp-24f, r));
}

INLINE F32 sin_near_zero(F32 r) {
  F32 w = r * r;
  F32 p = fma(splat_f32(-0x1.99122ap-13f), w, 0x1.1106b4p-7f);
  p = fma(p, w, -0x1.555544p-3f);
  return fma(p * w, r, r);
}

INLINE F32 cos_near_zero(F32 r) {
  F32 w = r * r;
  F32 p = fma(splat_f32(0x1.99d83ap-16f), w, -0x1.6c0c08p-10f);
  p = fma(p, w, 0x1.55554ap-5f);
  return fma(w * w, p, fma(w, -0.5f, 1.0f));
}

// beyond 2^17 the reduction of f64 takes over, lane by lane; q = quarter + turn
SLOW void trig_replace(F32 x, F32& r, F32& low, I32& q, int turn) {
  for (int i = 0; i < lanes_of(x); i++) {
    double sign = lane(x, i) < 0.0f ? -1.0 : 1.0, far, far_low;
    long quarter;
    if (!(lane(x, i) * sign > 131072.0)) continue;
    trig_far(lane(x, i) * sign, far, far_low, quarter);
    float turned = (float)(far * sign);
    set_lane(r, i, turned);
    set_lane(low, i, (float)(far * sign - turned));
    set_lane(q, i, (int)(sign < 0.0 ? -quarter : quarter) + turn);
  }
}


// sine: two polynomials, chosen by the quarter; 1.6 ulp
INLINE F32 sin(F32 x) {
  F32 m = trig_shifted(x), r = trig_rest(x, m - 12582912.0f);
  F32 low = r;
  I32 q = bits(m);
  if (any(abs(x) > 131072.0f)) trig_replace(x, r, low, q, 0);
  F32 y = select((q & 1) != 0, cos_near_zero(r), copysign(sin_near_zero(r), r));
  return from_bits(bits(y) ^ ((q & 2) << 30));
}


// cosine: as sine; 1.6 ulp
// The quarter is taken one further, for the sake of the sign.
INLINE F32 cos(F32 x) {
  F32 m = fma(x, 0x1.45f306p-1f, 12582913.0f), r = trig_rest(x, m - 12582913.0f);
  F32 low = r;
  I32 q = bits(m);
  if (any(abs(x) > 131072.0f)) trig_replace(x, r, low, q, 1);
  F32 y = select((q & 1) != 0, cos_near_zero(r), sin_near_zero(r));
  return from_bits(bits(y) ^ ((q & 2) << 30));
}


// tangent: odd polynomial t of degree 15, odd quarters -1 / t; what the reduction rounded away
// adds low (1 + t^2); 1.9 ulp
INLINE F32 tan(F32 x) {
  F32 m = trig_shifted(x), n = m - 12582912.0f;
  F32 a = fma(n, -0x1.921fb4p+0f, x), b = n * -0x1.4442dp-24f;
  F32 c = fma(n, -0x1.84698ap-48f, fma(n, -0x1.4442dp-24f, -b));
  F32 sum = a + b, part = sum - a;  // sum and what it loses, exactly
  c = c + ((a - (sum - part)) + (b - part));
  F32 r = sum + c, low = (sum - r) + c;
  I32 q = bits(m);
  if (any(abs(x) > 131072.0f)) trig_replace(x, r, low, q, 0);
  F32 w = r * r;
  F32 p = fma(splat_f32(0x1.2a1b8cp-8f), w, -0x1.11efccp-12f);
  p = fma(p, w, 0x1.6c2b88p-7f);
  p = fma(p, w, 0x1.5aec66p-6f);
  p = fma(p, w, 0x1.bb07d4p-5f);
  p = fma(p, w, 0x1.110c94p-3f);
  p = fma(p, w, 0x1.555564p-2f);
  F32 tail = p * w * r, near = r + tail;
  F32 t = r + (tail + fma(near * near, low, low));
  M32 odd = (q & 1) != 0;
  t = select(x == 0.0f, x, t);  // -0
  return select(odd, -1.0f, t) / select(odd, t, 1.0f);
}


// ---- inverses
// (asin(b) - b) / b for w = b^2 <= 1/4
INLINE F32 asin_tail(F32 w) {
  F32 p = fma(splat_f32(0x1.39fbbcp-5f), w, 0x1.b1164ap-6f);
  p = fma(p, w, 0x1.70ce26p-5f);
  p = fma(p, w, 0x1.332638p-4f);
  p = fma(p, w, 0x1.55555ep-3f);
  return p * w;
}


// arc sine: above 1/2 pi/2 - 2 asin(sqrt((1 - |x|) / 2)); 1.9 ulp
INLINE F32 asin(F32 x) {
  F32 a = abs(x);
  M32 far = a > 0.5f;
  F32 w = select(far, fma(a, -0.5f, 0.5f), a * a), b = select(far, sqrt(w), a);
  F32 tail = b * asin_tail(w);
  F32 y = fma(b + (tail + 0x1.777a5cp-26f), -2.0f, 0x1.921fb6p+0f);  // pi/2 in two parts
  return copysign(select(far, y, b + tail), x);
}


// arc cosine: pi/2 - asin(x), above 1/2 from 2 asin(sqrt((1 - |x|) / 2)); 1.4 ulp
INLINE F32 acos(F32 x) {
  F32 a = abs(x);
  M32 far = a > 0.5f;
  F32 w = select(far, fma(a, -0.5f, 0.5f), a * a), b = select(far, sqrt(w), a);
  F32 y = fma(asin_tail(w), b, b);
  F32 outer = select(x < 0.0f, fma(y, -2.0f, 0x1.921fb6p+1f), y + y);
  return select(far, outer, 0x1.921fb6p+0f - copysign(y, x));
}


// arc tangent of 0 <= t <= 1, degree 19 (2^-28.7)
INLINE F32 atan_near_zero(F32 t) {
  F32 w = t * t;
  F32 p = fma(splat_f32(-0x1.dcc644p-10f), w, 0x1.69667ep-7f);
  p = fma(p, w, -0x1.012f26p-5f);
  p = fma(p, w, 0x1.dc9854p-5f);
  p = fma(p, w, -0x1.58bcfep-4f);
  p = fma(p, w, 0x1.c0c8e2p-4f);
  p = fma(p, w, -0x1.24262ap-3f);
  p = fma(p, w, 0x1.999266p-3f);
  p = fma(p, w, -0x1.55554p-2f);
  return fma(p * w, t, t);
}


// arc tangent: above 1 pi/2 - atan(1 / |x|); 1.4 ulp
INLINE F32 atan(F32 x) {
  F32 a = abs(x);
  M32 far = a > 1.0f;
  F32 y = atan_near_zero(select(far, 1.0f, a) / select(far, a, 1.0f));
  return copysign(select(far, 0x1.921fb6p+0f - (y + 0x1.777a5cp-25f), y), x);
}


// angle of the point (x, y) as in C, signs of zeros included: atan of the smaller over the larger;
// 1.5 ulp
INLINE F32 atan2(F32 y, F32 x) {
  F32 n = abs(y), d = abs(x);
  M32 far = n > d;
  F32 small = select(far, d, n), large = select(far, n, d);
  F32 t = select(small == large, select(large == 0.0f, splat_f32(0.0f), 1.0f), small / large);
  F32 a = atan_near_zero(t);
  a = select(far, 0x1.921fb6p+0f - (a + 0x1.777a5cp-25f), a);
  a = select(bits(x) < 0, 0x1.921fb6p+1f - (a + 0x1.777a5cp-24f), a);
  return copysign(a, y);
}


// a / b toward zero; b = 0 gives 0, the most negative number by -1 wraps to itself. f64 division is
// exact enough: a fraction is at least 2^-31 away from a whole quotient.
INLINE I32 div_trunc(I32 a, I32 b) {
  I32 q = to_i32(to_i64(to_f64(a) / to_f64(b)));
  return select(b == 0, 0, q);
}


// a / b toward zero; b = 0 gives 0, the most negative number by -1 wraps to itself
INLINE I64 div_trunc(I64 a, I64 b) {
  M64 special = (b == 0L) | (b == -1L);
  I64 q = divide(a, select(special, 1L, b));
  return select(b == 0L, 0L, select(b == -1L, negate(a), q));
}


// a - floor(a / b) b, with the sign of b; b = 0 gives 0
INLINE I32 mod_floor(I32 a, I32 b) {
  F64 x = to_f64(a), y = to_f64(b);
  F64 r = fma(trunc(x / y), -y, x);
  r = select((r != 0.0) & ((r < 0.0) != (y < 0.0)), r + y, r);
  return select(b == 0, 0, to_i32(r));
}


// a - floor(a / b) b, with the sign of b; b = 0 gives 0
INLINE I64 mod_floor(I64 a, I64 b) {
  M64 special = (b == 0L) | (b == -1L);
  I64 d = select(special, 1L, b);
  I64 r = a - divide(a, d) * d;
  r = r + select((r != 0L) & ((r < 0L) != (d < 0L)), d, 0L);
  return select(special, 0L, r);
}


// a * 2^n; 0 where n is not in 0..31
INLINE I32 shift_left(I32 a, I32 n) { return select((n & ~31) == 0, a << (n & 31), 0); }


// a * 2^n; 0 where n is not in 0..63
INLINE I64 shift_left(I64 a, I64 n) { return select((n & ~63L) == 0L, a << (n & 63L), 0L); }


// floor(a / 2^n); n outside 0..31 fills with the sign
INLINE I32 shift_right(I32 a, I32 n) { return a >> select((n & ~31) == 0, n, 31); }


// floor(a / 2^n); n outside 0..63 fills with the sign
INLINE I64 shift_right(I64 a, I64 n) { return a >> select((n & ~63L) == 0L, n, 63L); }


// a / b; b = 0 gives 0
INLINE U64 div_trunc(U64 a, U64 b) {
  M64 zero = b == 0UL;
  return select(zero, 0UL, divide(a, select(zero, 1UL, b)));
}


// a - floor(a / b) b; b = 0 gives 0
INLINE U64 mod_floor(U64 a, U64 b) {
  M64 zero = b == 0UL;
  U64 d = select(zero, 1UL, b);
  return select(zero, 0UL, a - divide(a, d) * d);
}


// a * 2^n; 0 where n is above 63
INLINE U64 shift_left(U64 a, U64 n) { return select((n & ~63UL) == 0UL, a << (n & 63UL), 0UL); }


// floor(a / 2^n)
INLINE U64 shift_right(U64 a, U64 n) { return select((n & ~63UL) == 0UL, a >> (n & 63UL), 0UL); }

extern "C" void f32_exp(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, exp(load_f32(a + i)));
}
extern "C" void f64_exp(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, exp(load_f64(a + i)));
}
extern "C" void f32_exp2(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, exp2(load_f32(a + i)));
}
extern "C" void f64_exp2(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, exp2(load_f64(a + i)));
}
extern "C" void f32_expm1(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, expm1(load_f32(a + i)));
}
extern "C" void f64_expm1(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, expm1(load_f64(a + i)));
}
extern "C" void f32_log(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, log(load_f32(a + i)));
}
extern "C" void f64_log(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, log(load_f64(a + i)));
}
extern "C" void f32_log2(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, log2(load_f32(a + i)));
}
extern "C" void f64_log2(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, log2(load_f64(a + i)));
}
extern "C" void f32_log1p(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, log1p(load_f32(a + i)));
}
extern "C" void f64_log1p(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, log1p(load_f64(a + i)));
}
extern "C" void f32_sigmoid(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, sigmoid(load_f32(a + i)));
}
extern "C" void f64_sigmoid(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, sigmoid(load_f64(a + i)));
}
extern "C" void f32_silu(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, silu(load_f32(a + i)));
}
extern "C" void f64_silu(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, silu(load_f64(a + i)));
}
extern "C" void f32_gelu(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, gelu(load_f32(a + i)));
}
extern "C" void f64_gelu(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, gelu(load_f64(a + i)));
}
extern "C" void f32_gelu_tanh(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, gelu_tanh(load_f32(a + i)));
}
extern "C" void f64_gelu_tanh(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, gelu_tanh(load_f64(a + i)));
}
extern "C" void f32_softplus(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, softplus(load_f32(a + i)));
}
extern "C" void f64_softplus(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, softplus(load_f64(a + i)));
}
extern "C" void f32_mish(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, mish(load_f32(a + i)));
}
extern "C" void f64_mish(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, mish(load_f64(a + i)));
}
extern "C" void f32_tanh(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, tanh(load_f32(a + i)));
}
extern "C" void f64_tanh(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, tanh(load_f64(a + i)));
}
extern "C" void f32_sinh(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, sinh(load_f32(a + i)));
}
extern "C" void f64_sinh(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, sinh(load_f64(a + i)));
}
extern "C" void f32_cosh(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, cosh(load_f32(a + i)));
}
extern "C" void f64_cosh(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, cosh(load_f64(a + i)));
}
extern "C" void f32_asinh(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, asinh(load_f32(a + i)));
}
extern "C" void f64_asinh(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, asinh(load_f64(a + i)));
}
extern "C" void f32_acosh(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, acosh(load_f32(a + i)));
}
extern "C" void f64_acosh(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, acosh(load_f64(a + i)));
}
extern "C" void f32_atanh(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, atanh(load_f32(a + i)));
}
extern "C" void f64_atanh(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, atanh(load_f64(a + i)));
}
extern "C" void f32_erf(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, erf(load_f32(a + i)));
}
extern "C" void f64_erf(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, erf(load_f64(a + i)));
}
extern "C" void f32_rsqrt(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, rsqrt(load_f32(a + i)));
}
extern "C" void f64_rsqrt(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, rsqrt(load_f64(a + i)));
}
extern "C" void f32_sin(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, sin(load_f32(a + i)));
}
extern "C" void f64_sin(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, sin(load_f64(a + i)));
}
extern "C" void f32_cos(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, cos(load_f32(a + i)));
}
extern "C" void f64_cos(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, cos(load_f64(a + i)));
}
extern "C" void f32_tan(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, tan(load_f32(a + i)));
}
extern "C" void f64_tan(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, tan(load_f64(a + i)));
}
extern "C" void f32_asin(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, asin(load_f32(a + i)));
}
extern "C" void f64_asin(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, asin(load_f64(a + i)));
}
extern "C" void f32_acos(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, acos(load_f32(a + i)));
}
extern "C" void f64_acos(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, acos(load_f64(a + i)));
}
extern "C" void f32_atan(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, atan(load_f32(a + i)));
}
extern "C" void f64_atan(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, atan(load_f64(a + i)));
}
extern "C" void f32_pow(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, pow(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_pow(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, pow(load_f64(a + i), load_f64(b + i)));
}
extern "C" void f32_atan2(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, atan2(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_atan2(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, atan2(load_f64(a + i), load_f64(b + i)));
}
extern "C" void f32_mod(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, mod(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_mod(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, mod(load_f64(a + i), load_f64(b + i)));
}
extern "C" void f32_exp_short(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, exp_short(load_f32(a + i)));
}
extern "C" void f32_sigmoid_short(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, sigmoid_short(load_f32(a + i)));
}
extern "C" void f32_silu_short(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, silu_short(load_f32(a + i)));
}
extern "C" void f32_gelu_tanh_short(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, gelu_tanh_short(load_f32(a + i)));
}
extern "C" void f32_gelu_short(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, gelu_short(load_f32(a + i)));
}
extern "C" void f32_gelu_bf16(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, gelu_bf16(load_f32(a + i)));
}
extern "C" void f32_floor(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, floor(load_f32(a + i)));
}
extern "C" void f64_floor(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, floor(load_f64(a + i)));
}
extern "C" void f32_ceil(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, ceil(load_f32(a + i)));
}
extern "C" void f64_ceil(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, ceil(load_f64(a + i)));
}
extern "C" void f32_trunc(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, trunc(load_f32(a + i)));
}
extern "C" void f64_trunc(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, trunc(load_f64(a + i)));
}
extern "C" void f32_round_even(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, round_even(load_f32(a + i)));
}
extern "C" void f64_round_even(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, round_even(load_f64(a + i)));
}
extern "C" void f32_abs(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, abs(load_f32(a + i)));
}
extern "C" void f64_abs(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, abs(load_f64(a + i)));
}
extern "C" void f32_sqrt(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, sqrt(load_f32(a + i)));
}
extern "C" void f64_sqrt(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, sqrt(load_f64(a + i)));
}
extern "C" void f32_mantissa(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, mantissa(load_f32(a + i)));
}
extern "C" void f64_mantissa(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, mantissa(load_f64(a + i)));
}
extern "C" void f32_exponent(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, exponent(load_f32(a + i)));
}
extern "C" void f64_exponent(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, exponent(load_f64(a + i)));
}
extern "C" void f32_minimum(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, minimum(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_minimum(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, minimum(load_f64(a + i), load_f64(b + i)));
}
extern "C" void f32_maximum(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, maximum(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_maximum(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, maximum(load_f64(a + i), load_f64(b + i)));
}
extern "C" void f32_at_least(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, at_least(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_at_least(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, at_least(load_f64(a + i), load_f64(b + i)));
}
extern "C" void f32_at_most(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, at_most(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_at_most(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, at_most(load_f64(a + i), load_f64(b + i)));
}
extern "C" void f32_copysign(const float* a, const float* b, float* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, copysign(load_f32(a + i), load_f32(b + i)));
}
extern "C" void f64_copysign(const double* a, const double* b, double* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, copysign(load_f64(a + i), load_f64(b + i)));
}
extern "C" void i32_div_trunc(const int* a, const int* b, int* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, div_trunc(load_i32(a + i), load_i32(b + i)));
}
extern "C" void i64_div_trunc(const long* a, const long* b, long* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, div_trunc(load_i64(a + i), load_i64(b + i)));
}
extern "C" void i32_mod_floor(const int* a, const int* b, int* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, mod_floor(load_i32(a + i), load_i32(b + i)));
}
extern "C" void i64_mod_floor(const long* a, const long* b, long* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, mod_floor(load_i64(a + i), load_i64(b + i)));
}
extern "C" void i32_shift_left(const int* a, const int* b, int* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, shift_left(load_i32(a + i), load_i32(b + i)));
}
extern "C" void i64_shift_left(const long* a, const long* b, long* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, shift_left(load_i64(a + i), load_i64(b + i)));
}
extern "C" void i32_shift_right(const int* a, const int* b, int* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, shift_right(load_i32(a + i), load_i32(b + i)));
}
extern "C" void i64_shift_right(const long* a, const long* b, long* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, shift_right(load_i64(a + i), load_i64(b + i)));
}
extern "C" void i32_minimum(const int* a, const int* b, int* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, minimum(load_i32(a + i), load_i32(b + i)));
}
extern "C" void i64_minimum(const long* a, const long* b, long* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, minimum(load_i64(a + i), load_i64(b + i)));
}
extern "C" void i32_maximum(const int* a, const int* b, int* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, maximum(load_i32(a + i), load_i32(b + i)));
}
extern "C" void i64_maximum(const long* a, const long* b, long* y, long n) {
  (void)b;
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, maximum(load_i64(a + i), load_i64(b + i)));
}
extern "C" void f32_to_f64(const float* a, const void*, double* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, to_f64(load_f32(a + i)));
}
extern "C" void f32_to_i32(const float* a, const void*, int* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, to_i32(load_f32(a + i)));
}
extern "C" void f32_to_i64(const float* a, const void*, long* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, to_i64(load_f32(a + i)));
}
extern "C" void f64_to_f32(const double* a, const void*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, to_f32(load_f64(a + i)));
}
extern "C" void f64_to_i32(const double* a, const void*, int* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, to_i32(load_f64(a + i)));
}
extern "C" void f64_to_i64(const double* a, const void*, long* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, to_i64(load_f64(a + i)));
}
extern "C" void i32_to_f32(const int* a, const void*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, to_f32(load_i32(a + i)));
}
extern "C" void i32_to_f64(const int* a, const void*, double* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, to_f64(load_i32(a + i)));
}
extern "C" void i32_to_i64(const int* a, const void*, long* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_i64(y + i, to_i64(load_i32(a + i)));
}
extern "C" void i64_to_f32(const long* a, const void*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, to_f32(load_i64(a + i)));
}
extern "C" void i64_to_f64(const long* a, const void*, double* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f64(y + i, to_f64(load_i64(a + i)));
}
extern "C" void i64_to_i32(const long* a, const void*, int* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_i32(y + i, to_i32(load_i64(a + i)));
}

TABLE float table16[16] = {1, -2, 3.5f, 0, 5, 6, 7e-40f, 8, -9, 10, 1e30f, -1e-30f, 13, -0.0f, 15, 16};
extern "C" void round_bf16_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, round_bf16(load_f32(a + i)));
}
extern "C" void lookup16_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, lookup16(table16, bits(load_f32(a + i))));
}
extern "C" void scale_f32(const float* a, const float* b, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) {
    F32 x = from_bits((bits(load_f32(a + i)) & 0x7fffff) | 0x3f800000);
    F32 k = load_f32(b + i);
    store_f32(y + i, scale(x, select(k == k, k, 0.0f)));
  }
}
extern "C" void any_below_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) {
    store_f32(y + i, splat_f32(any_below(load_f32(a + i), -87.0f) ? 1.0f : 0.0f));
  }
}
extern "C" void round_f16_f32(const float* a, const float*, float* y, long n) {
  for (long i = 0; i < n; i += INGOT_LANES) store_f32(y + i, round_f16(load_f32(a + i)));
}
extern "C" void copy_all(const unsigned char* from, unsigned char* to, int n) {
  const Live live = first_lanes(n);
#define COPY(T, name) store_##name((T*)to, load_##name((const T*)from, live), live), from += 16 * 64, to += 16 * 64;
  COPY(float, f32) COPY(int, i32) COPY(double, f64) COPY(long, i64)
  COPY(unsigned char, u8) COPY(unsigned short, bf16) COPY(unsigned short, f16) COPY(unsigned char, bool)
}
extern "C" void copy_streamed(const unsigned char* from, unsigned char* to) {
#define STREAM(T, name) stream_##name((T*)to, load_##name((const T*)from)), from += 1024, to += 1024;
  STREAM(float, f32) STREAM(int, i32) STREAM(double, f64) STREAM(long, i64)
  STREAM(unsigned short, bf16) STREAM(unsigned short, f16)
  stream_fence();
}
extern "C" void fold_f32(const float* a, float* y) {
  F32 v = load_f32(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
extern "C" void fold_f64(const double* a, double* y) {
  F64 v = load_f64(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
extern "C" void fold_i32(const int* a, int* y) {
  I32 v = load_i32(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
extern "C" void fold_i64(const long* a, long* y) {
  I64 v = load_i64(a);
  y[0] = lanes_sum(v), y[1] = lanes_prod(v), y[2] = lanes_max(v), y[3] = lanes_min(v);
}
