// c = a · b on one thread, row-major with leading strides: oneDNN for float, plain loops for the
// rest.
#pragma once

#include <cstdint>

namespace ingot {

struct GemmSizes {
  int64_t m, n, k, lda, ldb, ldc;
  bool transpose_a, transpose_b;
};

// Integers wrap; sums run over k in order. k = 0 gives zeros.
void gemm(const GemmSizes& sizes, const float* a, const float* b, float* c);
void gemm(const GemmSizes& sizes, const double* a, const double* b, double* c);
void gemm(const GemmSizes& sizes, const int32_t* a, const int32_t* b, int32_t* c);
void gemm(const GemmSizes& sizes, const int64_t* a, const int64_t* b, int64_t* c);

}  // namespace ingot
