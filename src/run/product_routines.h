// The product routines behind run_product, one overload set a storage type.
#pragma once

#include <cstdint>

#include "run/product_run.h"

namespace ingot {

// This thread's memory for rearranged operands: kept between calls.
enum class PackRole : uint8_t { lhs, rhs, columns, result };
MemoryBlock& pack_block(PackRole role);

// `constants` may be null. Sizes as in run/product.h; S is the storage type of the operands.
template <class S>
void matmul_product(PackedConstants* constants, const long* sizes, const S* lhs, const S* rhs,
                    void* dst);
template <class S>
void conv_product(PackedConstants* constants, const long* sizes, const S* lhs, const S* rhs,
                  void* dst);

}  // namespace ingot
