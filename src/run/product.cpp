#include "run/product.h"

#include <algorithm>
#include <future>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "run/gemm.h"
#include "run/product_routines.h"
#include "run/widen.h"

namespace ingot {
namespace {

template <class S>
bool run_typed(PackedConstants* constants, std::string_view name, const long* sizes,
               const void* lhs, const void* rhs, void* dst) {
  const auto* a = static_cast<const S*>(lhs);
  const auto* b = static_cast<const S*>(rhs);
  if (name == "matmul") {
    matmul_product(constants, sizes, a, b, dst);
  } else if (name == "conv") {
    conv_product(constants, sizes, a, b, dst);
  } else {
    return false;
  }
  return true;
}

void dispatch(PackedConstants* constants, std::string_view routine, const long* sizes,
              const void* lhs, const void* rhs, void* dst) {
  const size_t dot = std::min(routine.find('.'), routine.size());
  const std::string_view name = routine.substr(0, dot);
  const std::optional<DType> dtype = parse_dtype(routine.substr(std::min(dot + 1, routine.size())));
  bool known = dtype.has_value();
  if (known) {
    switch (*dtype) {
      case DType::f32:
        known = run_typed<float>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::bf16:
        known = run_typed<Bf16Bits>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::f16:
        known = run_typed<F16Bits>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::f64:
        known = run_typed<double>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::i32:
        known = run_typed<int32_t>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::i64:
      case DType::u64:  // products and sums have the same bits
        known = run_typed<int64_t>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::i8:
        known = run_typed<int8_t>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::i16:
        known = run_typed<int16_t>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::u16:
        known = run_typed<uint16_t>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::u32:
        known = run_typed<uint32_t>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::u8:
        known = run_typed<uint8_t>(constants, name, sizes, lhs, rhs, dst);
        break;
      case DType::boolean:
      case DType::f8e4m3:
      case DType::f8e5m2:
        known = false;
        break;
    }
  }
  INGOT_CHECK(known, "no product routine '{}'", routine);
}

}  // namespace

void run_product(const KernelCall* call, const char* routine, const long* sizes, const void* lhs,
                 const void* rhs, void* dst) {
  // Read-only for the kernel that hands it on; ours.
  auto* const run = static_cast<ProductRun*>(const_cast<void*>(call->runtime));
  if (run == nullptr) return dispatch(nullptr, routine, sizes, lhs, rhs, dst);
  try {
    dispatch(run->constants, routine, sizes, lhs, rhs, dst);
  } catch (...) {
    const std::lock_guard lock(run->mutex);
    if (run->failure == nullptr) run->failure = std::current_exception();
  }
}

MemoryBlock& pack_block(PackRole role) {
  thread_local MemoryBlock blocks[4];
  return blocks[static_cast<size_t>(role)];
}

void PackedConstants::add_constant(const std::byte* begin, int64_t bytes) {
  const Range range{begin, begin + bytes};
  const auto place =
      std::upper_bound(constants_.begin(), constants_.end(), range,
                       [](const Range& a, const Range& b) { return a.begin < b.begin; });
  constants_.insert(place, range);
}

bool PackedConstants::is_constant(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  const auto next = std::upper_bound(
      constants_.begin(), constants_.end(), at,
      [](const std::byte* value, const Range& range) { return value < range.begin; });
  return next != constants_.begin() && at < std::prev(next)->end;
}

std::shared_ptr<void> start_products() {
  // Never destroyed: the library's own static data may be younger, and would be gone before it.
  static const auto* const started =
      new std::shared_future<void>(std::async(std::launch::async, [] {
        // Not 1 × 1: oneDNN has other code for vectors. Each side transposed is code of its own.
        constexpr int64_t side = 4;
        const std::vector<float> ones(side * side, 1.0F);
        std::vector<float> result(side * side);
        for (bool transposed : {false, true}) {
          gemm({side, side, side, side, side, side, false, transposed}, ones.data(), ones.data(),
               result.data());
        }
      }));
  return {nullptr, [](void*) { started->wait(); }};
}

}  // namespace ingot
