// Products on tiles: the routines that emitted kernels call back.
#pragma once

#include <memory>

#include "base/dtype.h"
#include "emit/kernel_source.h"

namespace ingot {

// The callback of KernelCall::product. Single-threaded, re-entrant; the same bits on every thread.
// `routine` is "NAME.dtype" with the dtype of both operands; dst has its compute dtype. f32 runs in
// oneDNN, bf16 and f16 are widened to f32 first; f64 and integers run in loops of our own, and
// integers wrap.
//
// matmul: sizes [m, n, k, lda, ldb, ldc, transpose_a, transpose_b]: dst[m, n] = a · b, row-major.
//
// conv: one image. sizes [channels, groups, outputs, spatial rank r (1..3), then r each of: input
// size, kernel, stride, dilation, pad low, pad high; then strides of lhs: channel, then r spatial;
// strides of dst: output channel, then r spatial]. rhs is row-major [outputs, channels/groups,
// kernel…]. The bits do not depend on the strides.
void run_product(const KernelCall* call, const char* routine, const long* sizes, const void* lhs,
                 const void* rhs, void* dst);

// ingot::start_products of <ingot/program.h>, for the code of this library.
std::shared_ptr<void> start_products();

}  // namespace ingot
