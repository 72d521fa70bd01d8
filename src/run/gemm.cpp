#include "run/gemm.h"

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "run/openmp_threads.h"

namespace ingot {
namespace {

template <class T>
void clear(const GemmSizes& sizes, T* c) {
  for (int64_t i = 0; i < sizes.m; ++i) std::fill_n(c + i * sizes.ldc, sizes.n, T{0});
}

// Wrapping arithmetic for integers.
template <class T>
struct Wrapping {
  using Type = T;
};
template <>
struct Wrapping<int32_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using Type = uint64_t;
};

// A row of c at a time over blocks of k, so that a block of b stays in the cache; every element
// still adds its products in order of k.
template <class T>
void loops(const GemmSizes& s, const T* a, const T* b, T* c) {
  using U = typename Wrapping<T>::Type;
  constexpr int64_t block = 64;
  clear(s, c);
  for (int64_t begin = 0; begin < s.k; begin += block) {
    const int64_t end = std::min(begin + block, s.k);
    for (int64_t i = 0; i < s.m; ++i) {
      T* const row = c + i * s.ldc;
      for (int64_t p = begin; p < end; ++p) {
        const U left = static_cast<U>(s.transpose_a ? a[p * s.lda + i] : a[i * s.lda + p]);
        const T* const line = s.transpose_b ? b + p : b + p * s.ldb;
        const int64_t step = s.transpose_b ? s.ldb : 1;
        for (int64_t j = 0; j < s.n; ++j) {
          row[j] = static_cast<T>(static_cast<U>(row[j]) + left * static_cast<U>(line[j * step]));
        }
      }
    }
  }
}

}  // namespace

void gemm(const GemmSizes& s, const float* a, const float* b, float* c) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) return clear(s, c);
  const OpenMpThreads one(1);  // the threads are ours, and its bits may depend on how many it uses
  const dnnl_status_t status = dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m,
                                          s.n, s.k, 1.0F, a, s.lda, b, s.ldb, 0.0F, c, s.ldc);
  INGOT_CHECK(status == dnnl_success,
              "oneDNN status {} for m {} n {} k {} strides {} {} {} transposed {} {}",
              static_cast<int>(status), s.m, s.n, s.k, s.lda, s.ldb, s.ldc, s.transpose_a,
              s.transpose_b);
}

void gemm(const GemmSizes& s, const double* a, const double* b, double* c) { loops(s, a, b, c); }
void gemm(const GemmSizes& s, const int32_t* a, const int32_t* b, int32_t* c) { loops(s, a, b, c); }
void gemm(const GemmSizes& s, const int64_t* a, const int64_t* b, int64_t* c) { loops(s, a, b, c); }

}  // namespace ingot
