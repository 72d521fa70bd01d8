// Tensors, 16-bit conversions, random data, .npy files whole and damaged.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/dtype.h"
#include "base/error.h"
#include "base/tensor.h"
#include "base/text.h"

namespace ingot {
namespace {

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST(DTypes, NamesAndSizes) {
  for (const DType dtype : all_dtypes) EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  EXPECT_FALSE(parse_dtype("float"));
  EXPECT_EQ(byte_size(DType::bf16), 2);
  EXPECT_EQ(compute_dtype(DType::u8), DType::i32);
  EXPECT_EQ(compute_dtype(DType::f16), DType::f32);
}

// The nearest of all finite f16 (or bf16) values, ties to the even bit pattern, by looking at all.
uint16_t nearest(double value, float (*widen)(uint16_t), int infinity_bits, int spacing_bits) {
  int low = 0, high = infinity_bits;  // magnitudes are ordered as their bits
  const double magnitude = std::abs(value);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (static_cast<double>(widen(static_cast<uint16_t>(middle))) <= magnitude ? low : high) = middle;
  }
  const double below = widen(static_cast<uint16_t>(low));
  const double above = high == infinity_bits
                           ? below + std::ldexp(1.0, spacing_bits)
                           : static_cast<double>(widen(static_cast<uint16_t>(high)));
  const double middle = (below + above) / 2;
  const bool up = magnitude > middle || (magnitude == middle && (low & 1) != 0);
  return static_cast<uint16_t>((up ? high : low) | (std::signbit(value) ? 0x8000 : 0));
}

TEST(HalfPrecision, WidenAndNarrowAllPatterns) {
  for (int bits = 0; bits < 65536; bits++) {
    const auto pattern = static_cast<uint16_t>(bits);
    const float f16 = f16_value(pattern), bf16 = bf16_value(pattern);
    if (f16 == f16) {
      ASSERT_EQ(f16_bits(f16), pattern);
    } else {
      ASSERT_EQ(f16_bits(f16), pattern | 0x200);
    }
    if (bf16 == bf16) {
      ASSERT_EQ(bf16_bits(bf16), pattern);
    } else {
      ASSERT_EQ(bf16_bits(bf16), pattern | 0x40);
    }
  }
}

TEST(HalfPrecision, RoundsOnceToTheNearestEven) {
  uint64_t state = 1;
  for (int i = 0; i < 200000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // Near f16's range: random bits below a random exponent, often exactly halfway.
    const double fraction = static_cast<double>(state >> 40 << (state % 24)) * 0x1p-48;
    const double value = std::ldexp(1 + fraction, static_cast<int>(state >> 20 & 63) - 40) *
                         ((state >> 19 & 1) != 0 ? -1 : 1);
    ASSERT_EQ(f16_bits(value), nearest(value, f16_value, 0x7c00, 5)) << value;
    ASSERT_EQ(bf16_bits(value), nearest(value, bf16_value, 0x7f80, 120)) << value;
  }
  for (const double value : {65519.99, 65520.0, 1e300, -1e300, 0x1p-25, 0x1.0001p-25, 1e-300,
                             0x1.fep127, 0x1.ffp127, 0x1.feffffffp127}) {
    EXPECT_EQ(f16_bits(value), nearest(value, f16_value, 0x7c00, 5)) << value;
    EXPECT_EQ(bf16_bits(value), nearest(value, bf16_value, 0x7f80, 120)) << value;
  }
}

TEST(Tensors, AccessConverts) {
  Tensor t(DType::u8, {2});
  EXPECT_EQ(t.get_i64(1), 0) << "zero-filled";
  t.set_i64(0, 300);
  EXPECT_EQ(t.get_i64(0), 44);
  Tensor b(DType::bf16, {1});
  b.set_f64(0, 1 + 0x1p-8 + 0x1p-40);
  EXPECT_EQ(b.get_f64(0), 1 + 0x1p-7) << "one rounding";
  EXPECT_EQ(Tensor(DType::f32, {}).size(), 1);
  EXPECT_EQ(Tensor(DType::f32, {3, 0}).bytes(), 0);
  EXPECT_NE(Tensor(DType::f32, {0}).data(), nullptr);
}

TEST(Tensors, AlignedAndChecked) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor(DType::u8, {3}).data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Tensor(DType::f32, {3 << 20}).data()) % (2 << 20), 0u);
  EXPECT_EQ(message([] { Tensor(DType::f32, {2, -1}); }), "f32[2, -1]: a size is negative");
  EXPECT_EQ(message([] {
              Tensor(DType::f64, {int64_t{1} << 40, int64_t{1} << 21});
            }),
            "f64[1099511627776, 2097152]: its size overflows 64 bits");
  EXPECT_EQ(message([] {
              Tensor(DType::f64, {0, int64_t{1} << 40, int64_t{1} << 40});
            }),
            "f64[0, 1099511627776, 1099511627776]: its size overflows 64 bits");
  EXPECT_EQ(message([] { Tensor(DType::f64, {int64_t{1} << 55}); }),
            "out of memory: 288230376151711744 bytes for f64[36028797018963968]");
}

TEST(RandomTensors, DeterministicAndDistributed) {
  const Tensor a = random_tensor(DType::f32, {10001}, 7, 2.0, 0, 0);
  const Tensor b = random_tensor(DType::f32, {10001}, 7, 2.0, 0, 0);
  const Tensor other = random_tensor(DType::f32, {10001}, 8, 2.0, 0, 0);
  double sum = 0, squares = 0;
  int equal = 0;
  for (int64_t i = 0; i < a.size(); i++) {
    ASSERT_EQ(a.as<float>()[i], b.as<float>()[i]);
    equal += a.as<float>()[i] == other.as<float>()[i];
    sum += a.get_f64(i);
    squares += a.get_f64(i) * a.get_f64(i);
  }
  EXPECT_LT(equal, 5);
  EXPECT_NEAR(sum / 10001, 0, 0.1);
  EXPECT_NEAR(squares / 10001, 4, 0.3);
  const Tensor ids = random_tensor(DType::i32, {5000}, 1, 1, -3, 4);
  int64_t low = 9, high = -9;
  for (int64_t i = 0; i < ids.size(); i++) {
    low = std::min(low, ids.get_i64(i));
    high = std::max(high, ids.get_i64(i));
  }
  EXPECT_EQ(low, -3);
  EXPECT_EQ(high, 3);
  int64_t yes = 0;
  const Tensor bools = random_tensor(DType::boolean, {4000}, 1, 1, 0, 0);
  for (int64_t i = 0; i < 4000; i++) yes += bools.get_i64(i);
  EXPECT_NEAR(static_cast<double>(yes), 2000, 200);
  EXPECT_EQ(message([] { random_tensor(DType::i64, {1}, 1, 1, 5, 5); }),
            "random: no integer in [5, 5)");
}

class Npy : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "ingot_tensor_test.npy"; }
  void TearDown() override { std::filesystem::remove(path_); }

  // Version 1 with this header and data.
  std::string read(const std::string& header, const std::string& data) {
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size() & 255);
    file += static_cast<char>(header.size() >> 8);
    return read_bytes(file + header + data);
  }
  std::string read_bytes(const std::string& bytes) {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary) << bytes;  // unlike write_file, without an fsync
    std::string text = message([&] { tensor_ = read_npy(path_); });
    const size_t name = text.find(path_);
    return name == std::string::npos ? text : text.replace(name, path_.size(), "FILE");
  }
  std::string path_;
  Tensor tensor_;
};

TEST_F(Npy, RoundTrip) {
  for (const DType dtype : all_dtypes) {
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {5}, {2, 3}, {0, 4}, {1, 2, 1, 3}}) {
      const Tensor t = random_tensor(dtype, shape, 3, 1, 0, 100);
      write_npy(path_, t);
      const Tensor back = read_npy(path_);
      const bool named = dtype != DType::bf16 && dtype != DType::f8e4m3 && dtype != DType::f8e5m2;
      EXPECT_EQ(back.dtype(), named ? dtype : DType::f32);
      EXPECT_EQ(back.shape(), shape);
      for (int64_t i = 0; i < t.size(); i++) EXPECT_EQ(back.get_f64(i), t.get_f64(i));
      EXPECT_EQ((std::filesystem::file_size(path_) - static_cast<size_t>(back.bytes())) % 64, 0u);
    }
  }
}

TEST_F(Npy, FortranOrderAndOtherWritings) {
  const std::string data = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(read("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", data), "no error");
  const uint8_t wanted[] = {0, 2, 4, 1, 3, 5};
  for (int64_t i = 0; i < 6; i++) EXPECT_EQ(tensor_.as<uint8_t>()[i], wanted[i]);
  EXPECT_EQ(read("{\"shape\": (3L,), \"descr\": \"|b1\", \"fortran_order\": False,}\n", data),
            "no error");
  EXPECT_EQ(tensor_.as<uint8_t>()[2], 1) << "a bool is 0 or 1";
}

TEST_F(Npy, HostileHeaders) {
  const auto shape = [](const std::string& text) {
    return "{'descr': '<f4', 'fortran_order': False, 'shape': " + text + "}";
  };
  EXPECT_EQ(read_bytes(""), "cannot read 'FILE': too short for an .npy file");
  EXPECT_EQ(read_bytes("not NumPy at all"), "cannot read 'FILE': not an .npy file");
  EXPECT_EQ(read_bytes(std::string("\x93NUMPY\x09\x00xx", 10)),
            "cannot read 'FILE': .npy version 9; 1 to 3 are supported");
  EXPECT_EQ(read_bytes(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
            "cannot read 'FILE': its header length is wrong");
  EXPECT_EQ(read_bytes(std::string("\x93NUMPY\x02\x00\xff\xff", 10)),
            "cannot read 'FILE': it ends 2 bytes too early");
  EXPECT_EQ(read(shape("(4,)"), "abc"),
            "cannot read 'FILE': it holds less data than its shape says");
  EXPECT_EQ(read(shape("(4000000000, 4000000000, 4000000000)"), "abc"),
            "cannot read 'FILE': it holds less data than its shape says");
  EXPECT_EQ(read(shape("(0, 4611686018427387904, 8)"), ""),
            "f32[0, 4611686018427387904, 8]: its size overflows 64 bits");
  EXPECT_EQ(read(shape("(99999999999999999999,)"), "abc"),
            "cannot read 'FILE': a size in its shape does not fit in 64 bits");
  EXPECT_EQ(read(shape("(-1,)"), "abc"),
            "cannot read 'FILE': malformed header: expected a size in shape");
  EXPECT_EQ(read(shape("(1,"), "abc"),
            "cannot read 'FILE': malformed header: expected a size in shape");
  EXPECT_EQ(read("{'descr': '<f4", ""),
            "cannot read 'FILE': malformed header: a string has no end");
  EXPECT_EQ(read("{}", ""), "cannot read 'FILE': its header needs descr, fortran_order and shape");
  EXPECT_EQ(read("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "abcd"),
            "cannot read 'FILE': dtype '>f4'; supported: |b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f2 "
            "<f4 <f8");
  EXPECT_EQ(read("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "abcd"),
            "cannot read 'FILE': dtype '<c8'; supported: |b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8 <f2 "
            "<f4 <f8");
  EXPECT_EQ(message([] { read_npy("/dev/null"); }), "cannot read '/dev/null': not a regular file");
}

TEST_F(Npy, EveryTruncationIsAnError) {
  write_npy(path_, random_tensor(DType::f32, {3, 5}, 1, 1, 0, 0));
  const std::string whole = read_file(path_);
  for (size_t n = 0; n < whole.size(); n++) {
    ASSERT_NE(read_bytes(whole.substr(0, n)), "no error") << n << " bytes";
  }
  // Any single damaged byte of the header: an error or a tensor, never a crash.
  for (size_t n = 0; n < 128; n++) {
    std::string damaged = whole;
    damaged[n] = static_cast<char>(damaged[n] ^ 0x15);
    read_bytes(damaged);
  }
}

}  // namespace
}  // namespace ingot
