// Products on tiles: the routines that emitted kernels call back.
#pragma once

#include "base/dtype.h"
#include "emit/kernel_source.h"

namespace ingot {

// The callback of KernelCall::product. Single-threaded, re-entrant. `routine` is "NAME.dtype":
//  matmul.f32 sizes [m, n, k, lda, ldb, ldc, transpose_a, transpose_b]: dst[m, n] f32 = a · b,
//  row-major.
//    f32 by oneDNN; bf16 and f16 widened to f32 first; f64, i32, i64, u8 by our own loops
//    (wrapping; u8 gives i32).
//  conv.f32 sizes [channels, groups, outputs, spatial rank r (1..3), then r each of: input size,
//  kernel,
//    stride, dilation, pad low, pad high; then strides of lhs: channel, then r spatial; strides of
//    dst: output channel, then r spatial]: one image. rhs is row-major [outputs, channels/groups,
//    kernel…].
void run_product(const KernelCall* call, const char* routine, const long* sizes, const void* lhs,
                 const void* rhs, void* dst);

}  // namespace ingot
