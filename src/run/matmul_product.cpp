#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "run/gemm.h"
#include "run/product_routines.h"
#include "run/widen.h"

namespace ingot {
namespace {

// rows × columns from `source` (a row every `ld` elements), widened and without gaps.
template <class S>
Widened<S>* widened(const S* source, int64_t rows, int64_t columns, int64_t ld,
                    MemoryBlock& block) {
  using C = Widened<S>;
  auto* const to = reinterpret_cast<C*>(
      block.reserve(rows * columns * int64_t{sizeof(C)}, "blocks of a product"));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = widen(source[i * ld + j]);
  }
  return to;
}

// The same transposed: columns × rows. In tiles, because one side is strided.
template <class S>
Widened<S>* transposed(const S* source, int64_t rows, int64_t columns, int64_t ld,
                       MemoryBlock& block) {
  using C = Widened<S>;
  constexpr int64_t tile = 32;
  auto* const to = reinterpret_cast<C*>(
      block.reserve(rows * columns * int64_t{sizeof(C)}, "blocks of a product"));
  for (int64_t i0 = 0; i0 < rows; i0 += tile) {
    for (int64_t j0 = 0; j0 < columns; j0 += tile) {
      for (int64_t i = i0; i < std::min(i0 + tile, rows); ++i) {
        for (int64_t j = j0; j < std::min(j0 + tile, columns); ++j) {
          to[j * rows + i] = widen(source[i * ld + j]);
        }
      }
    }
  }
  return to;
}

// A constant that has to be widened or transposed is so only once. oneDNN is up to a third slower
// on a transposed right operand (measured at m = 64), so a constant one is always turned.
template <class S>
const Widened<S>* constant_rhs(PackedConstants& constants, const S* rhs, GemmSizes& sizes) {
  using C = Widened<S>;
  const PackedConstants::Key key{rhs,
                                 0,
                                 {int64_t{sizeof(S)}, std::is_same_v<S, F16Bits>, sizes.k, sizes.n,
                                  sizes.ldb, sizes.transpose_b}};
  const std::byte* const data = constants.packed(key, [&](MemoryBlock& block) {
    if (sizes.transpose_b) {
      transposed(rhs, sizes.n, sizes.k, sizes.ldb, block);
    } else {
      widened(rhs, sizes.k, sizes.n, sizes.ldb, block);
    }
  });
  sizes.transpose_b = false;
  sizes.ldb = sizes.n;
  return reinterpret_cast<const C*>(data);
}

}  // namespace

template <class S>
void matmul_product(PackedConstants* constants, const long* sizes, const S* lhs, const S* rhs,
                    void* dst) {
  using C = Widened<S>;
  constexpr bool narrow = !std::is_same_v<S, C>;
  GemmSizes s{sizes[0], sizes[1], sizes[2],      sizes[3],
              sizes[4], sizes[5], sizes[6] != 0, sizes[7] != 0};
  INGOT_CHECK(s.m >= 0 && s.n >= 0 && s.k >= 0 && s.ldc >= s.n &&
                  s.lda >= (s.transpose_a ? s.m : s.k) && s.ldb >= (s.transpose_b ? s.k : s.n),
              "matmul m {} n {} k {} strides {} {} {}", s.m, s.n, s.k, s.lda, s.ldb, s.ldc);
  const C* a = nullptr;
  const C* b = nullptr;
  const bool keep = constants != nullptr && (narrow || s.transpose_b) && s.n > 0 && s.k > 0 &&
                    constants->is_constant(rhs);
  if (keep) b = constant_rhs(*constants, rhs, s);
  if constexpr (narrow) {
    const int64_t a_rows = s.transpose_a ? s.k : s.m, a_columns = s.transpose_a ? s.m : s.k;
    a = widened(lhs, a_rows, a_columns, s.lda, pack_block(PackRole::lhs));
    s.lda = a_columns;
    if (!keep) {
      const int64_t b_rows = s.transpose_b ? s.n : s.k, b_columns = s.transpose_b ? s.k : s.n;
      b = widened(rhs, b_rows, b_columns, s.ldb, pack_block(PackRole::rhs));
      s.ldb = b_columns;
    }
  } else {
    a = lhs;
    if (!keep) b = rhs;
  }
  gemm(s, a, b, static_cast<C*>(dst));
}

template void matmul_product(PackedConstants*, const long*, const float*, const float*, void*);
template void matmul_product(PackedConstants*, const long*, const double*, const double*, void*);
template void matmul_product(PackedConstants*, const long*, const Bf16Bits*, const Bf16Bits*,
                             void*);
template void matmul_product(PackedConstants*, const long*, const F16Bits*, const F16Bits*, void*);
template void matmul_product(PackedConstants*, const long*, const int32_t*, const int32_t*, void*);
template void matmul_product(PackedConstants*, const long*, const int64_t*, const int64_t*, void*);
template void matmul_product(PackedConstants*, const long*, const uint8_t*, const uint8_t*, void*);
template void matmul_product(PackedConstants*, const long*, const int8_t*, const int8_t*, void*);
template void matmul_product(PackedConstants*, const long*, const int16_t*, const int16_t*, void*);
template void matmul_product(PackedConstants*, const long*, const uint16_t*, const uint16_t*,
                             void*);
template void matmul_product(PackedConstants*, const long*, const uint32_t*, const uint32_t*,
                             void*);

}  // namespace ingot
