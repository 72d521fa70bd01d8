#include "base/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <thread>

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/dtype.h"
#include "base/error.h"

namespace ingot {

namespace {

std::string describe(DType dtype, const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return fmt::format("{}[{}]", dtype_name(dtype), text);
}

int64_t checked_size(DType dtype, const std::vector<int64_t>& shape) {
  int64_t count = 1, bytes = 0;
  bool overflow = false, empty = false;
  for (const int64_t size : shape) {
    if (size < 0) fail_input({}, fmt::format("{}: a size is negative", describe(dtype, shape)));
    empty = empty || size == 0;
    overflow = overflow || __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count);
  }
  // Sizes beside a zero must multiply within 64 bits too, because strides are made from them.
  if (overflow || __builtin_mul_overflow(count, byte_size(dtype), &bytes)) {
    fail_input({}, fmt::format("{}: its size overflows 64 bits", describe(dtype, shape)));
  }
  return empty ? 0 : count;
}

// Big tensors stand on 2 MB pages, but for what is left over at their end: thousands of page faults
// less, faster streaming, and no two lines of one tensor that meet by chance in a cache's set.
// Vectors start where big tensors start modulo a page, so that they are read ahead of where those
// are written: a load a line behind seems to depend on the store, and cost a kernel 70 % more time.
constexpr size_t huge_page = size_t{2} << 20, page = 4096;

std::shared_ptr<std::byte> allocate(size_t bytes, DType dtype, const std::vector<int64_t>& shape) {
  const bool big = bytes >= huge_page;
  const size_t alignment = big ? huge_page : bytes >= 2 * page ? page : 64;
  const size_t unit = std::min(alignment, page);
  const size_t rounded = (std::max<size_t>(bytes, 1) + unit - 1) / unit * unit;
  constexpr size_t address_space = size_t{1} << 47;
  void* memory = nullptr;
  if (bytes >= address_space || posix_memalign(&memory, alignment, rounded) != 0) {
    fail_input({}, fmt::format("out of memory: {} bytes for {}", bytes, describe(dtype, shape)));
  }
  if (big) madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: without it all still works
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                    [](std::byte* data) { std::free(data); });
}

}  // namespace

Tensor Tensor::uninitialized(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.size_ = checked_size(dtype, shape);
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = allocate(static_cast<size_t>(tensor.bytes()), dtype, tensor.shape_);
  return tensor;
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape)
    : Tensor(uninitialized(dtype, std::move(shape))) {
  std::memset(data_.get(), 0, static_cast<size_t>(bytes()));
}

double Tensor::get_f64(int64_t index) const {
  switch (dtype_) {
    case DType::f16:
      return f16_value(as<uint16_t>()[index]);
    case DType::bf16:
      return bf16_value(as<uint16_t>()[index]);
    case DType::f32:
      return as<float>()[index];
    case DType::f64:
      return as<double>()[index];
    case DType::f8e4m3:
      return f8e4m3_value(as<uint8_t>()[index]);
    case DType::f8e5m2:
      return f8e5m2_value(as<uint8_t>()[index]);
    case DType::u64:
      return static_cast<double>(as<uint64_t>()[index]);
    default:
      return static_cast<double>(get_i64(index));
  }
}

int64_t Tensor::get_i64(int64_t index) const {
  switch (dtype_) {
    case DType::boolean:
      return as<uint8_t>()[index] != 0;
    case DType::i8:
      return as<int8_t>()[index];
    case DType::i16:
      return as<int16_t>()[index];
    case DType::i32:
      return as<int32_t>()[index];
    case DType::u8:
      return as<uint8_t>()[index];
    case DType::u16:
      return as<uint16_t>()[index];
    case DType::u32:
      return as<uint32_t>()[index];
    case DType::i64:
    case DType::u64:
      return as<int64_t>()[index];
    default:
      break;
  }
  const double value = get_f64(index);
  if (value != value) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return static_cast<int64_t>(value);
}

void Tensor::set_f64(int64_t index, double value) {
  switch (dtype_) {
    case DType::f16:
      as<uint16_t>()[index] = f16_bits(value);
      break;
    case DType::bf16:
      as<uint16_t>()[index] = bf16_bits(value);
      break;
    case DType::f32:
      as<float>()[index] = static_cast<float>(value);
      break;
    case DType::f64:
      as<double>()[index] = value;
      break;
    case DType::f8e4m3:
      as<uint8_t>()[index] = f8e4m3_bits(value);
      break;
    case DType::f8e5m2:
      as<uint8_t>()[index] = f8e5m2_bits(value);
      break;
    case DType::boolean:
      as<uint8_t>()[index] = value != 0;
      break;
    case DType::u64:
      if (value >= 0x1p63) {
        as<uint64_t>()[index] = value < 0x1p64 ? static_cast<uint64_t>(value) : UINT64_MAX;
        break;
      }
      [[fallthrough]];
    default: {
      const bool fits = value >= -0x1p63 && value < 0x1p63;
      set_i64(index, fits ? static_cast<int64_t>(value) : value > 0 ? INT64_MAX : INT64_MIN);
    }
  }
}

void Tensor::set_i64(int64_t index, int64_t value) {
  switch (dtype_) {
    case DType::boolean:
      as<uint8_t>()[index] = value != 0;
      break;
    case DType::i8:
    case DType::u8:
      as<uint8_t>()[index] = static_cast<uint8_t>(value);
      break;
    case DType::i16:
    case DType::u16:
      as<uint16_t>()[index] = static_cast<uint16_t>(value);
      break;
    case DType::i32:
    case DType::u32:
      as<uint32_t>()[index] = static_cast<uint32_t>(value);
      break;
    case DType::u64:
    case DType::i64:
      as<int64_t>()[index] = value;
      break;
    default:
      set_f64(index, static_cast<double>(value));
  }
}

TensorView view(Tensor& tensor) { return {tensor.data(), tensor.dtype(), tensor.shape(), {}}; }

TensorView view(const Tensor& tensor) {
  // Views of inputs are only read; one type serves both directions.
  return {const_cast<std::byte*>(tensor.data()), tensor.dtype(), tensor.shape(), {}};
}

namespace {

// splitmix64 as a function of the position: any element can be made without the ones before.
uint64_t random_bits(uint64_t seed, uint64_t position) {
  uint64_t z = seed * 0xd1342543de82ef95u + (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Two normal values from 64 bits (Box–Muller); f32 is enough for values of at most 6.8.
void normal_pair(uint64_t bits, float pair[2]) {
  const float u = (static_cast<float>(bits >> 32) + 0.5f) * 0x1p-32f;
  const float angle =
      static_cast<float>(bits & 0xffffffffu) * (0x1p-31f * std::numbers::pi_v<float>);
  const float radius = std::sqrt(-2.0f * std::log(u));
  pair[0] = radius * std::cos(angle);
  pair[1] = radius * std::sin(angle);
}

// Elements begin … end - 1; begin is even.
void fill_normal(Tensor& tensor, int64_t begin, int64_t end, uint64_t seed, double scale) {
  float* const f32 = tensor.dtype() == DType::f32 ? tensor.as<float>() : nullptr;
  for (int64_t i = begin; i < end; i += 2) {
    float pair[2];
    normal_pair(random_bits(seed, static_cast<uint64_t>(i)), pair);
    for (int64_t j = i; j < std::min(i + 2, end); j++) {
      if (f32) {
        f32[j] = static_cast<float>(pair[j - i] * scale);
      } else {
        tensor.set_f64(j, pair[j - i] * scale);
      }
    }
  }
}

// A large tensor on several threads: what a GPU computes in a millisecond takes one core seconds.
void fill_normal(Tensor& tensor, uint64_t seed, double scale) {
  constexpr int64_t least_part = 1 << 22;
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const int64_t parts = std::clamp<int64_t>(tensor.size() / least_part, 1, cores);
  const int64_t part = (tensor.size() / parts + 2) / 2 * 2;
  std::vector<std::thread> threads;
  for (int64_t begin = part; begin < tensor.size(); begin += part) {
    threads.emplace_back([&tensor, begin, part, seed, scale] {
      fill_normal(tensor, begin, std::min(begin + part, tensor.size()), seed, scale);
    });
  }
  fill_normal(tensor, 0, std::min(part, tensor.size()), seed, scale);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Tensor random_tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed, double scale,
                     int64_t low, int64_t high) {
  Tensor tensor = Tensor::uninitialized(dtype, std::move(shape));
  if (is_float(dtype)) {
    fill_normal(tensor, seed, scale);
    return tensor;
  }
  if (dtype == DType::boolean) {
    low = 0;
    high = 2;
  }
  if (high <= low) fail_input({}, fmt::format("random: no integer in [{}, {})", low, high));
  const uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  for (int64_t i = 0; i < tensor.size(); i++) {
    const unsigned __int128 scaled =
        static_cast<unsigned __int128>(random_bits(seed, static_cast<uint64_t>(i))) * count;
    tensor.set_i64(
        i, static_cast<int64_t>(static_cast<uint64_t>(low) + static_cast<uint64_t>(scaled >> 64)));
  }
  return tensor;
}

}  // namespace ingot
