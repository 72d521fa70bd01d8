// Tensors of more than 2^31 elements: subscripts, counts and lengths beyond 32 bits.
#include <gtest/gtest.h>
#include <ingot/ingot.h>
#include <unistd.h>

namespace ingot {
namespace {

constexpr int64_t gib = int64_t{1} << 30;

bool has_memory(int64_t bytes) {
  return static_cast<int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE) > bytes;
}

TEST(Large, ElementwiseBeyond31Bits) {
  if (!has_memory(6 * gib)) GTEST_SKIP() << "needs 6 GiB of free memory";
  const int64_t n = 2 * gib + 4099;
  Tensor x = Tensor::uninitialized(DType::u8, {n});
  for (int64_t i = 0; i < n; ++i) x.as<uint8_t>()[i] = static_cast<uint8_t>(i % 251);
  const Program program = Program::parse("graph g(x: u8[N]) {\n  y = add(x, 1)\n  return y\n}\n");
  const Tensor y = program.compile().run({x})[0];
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i) wrong += y.as<uint8_t>()[i] != i % 251 + 1 ? 1 : 0;
  EXPECT_EQ(wrong, 0);
}

TEST(Large, ReductionsBeyond31Bits) {
  if (!has_memory(4 * gib)) GTEST_SKIP() << "needs 4 GiB of free memory";
  const int64_t n = 2 * gib + 7;
  Tensor x(DType::u8, {n});
  x.as<uint8_t>()[n - 1] = 9;
  const Program program = Program::parse(
      "graph g(x: u8[N]) {\n  m = max(x)\n  o = add(x, 1)\n  w = cast(o, dtype=i64)\n"
      "  s = sum(w)\n  p = argmax(x)\n  q = argmin(x, select_last_index=true)\n"
      "  return m, s, p, q\n}\n");
  const std::vector<Tensor> got = program.compile().run({x});
  EXPECT_EQ(got[0].get_i64(0), 9);
  EXPECT_EQ(got[1].get_i64(0), n + 9);
  EXPECT_EQ(got[2].get_i64(0), n - 1);
  EXPECT_EQ(got[3].get_i64(0), n - 2);
}

TEST(Large, RowsThatEndBeyond31Bits) {
  if (!has_memory(4 * gib)) GTEST_SKIP() << "needs 4 GiB of free memory";
  const int64_t rows = 32775, columns = 65536;
  Tensor x(DType::u8, {rows, columns});
  for (int64_t r = 0; r < rows; ++r) {
    x.as<uint8_t>()[r * columns + 6] = 255;  // outside the slice
    x.as<uint8_t>()[r * columns + columns - 1] = static_cast<uint8_t>(r % 251);
  }
  const Program program = Program::parse(
      "graph g(x: u8[R, 65536]) {\n"
      "  t = slice(x, starts=[0, 7], ends=[R, 65536], steps=[1, 1])\n"
      "  m = max(t, dims=[1])\n  return m\n}\n");
  const Tensor got = program.compile().run({x})[0];
  for (int64_t r = 0; r < rows; ++r) ASSERT_EQ(got.get_i64(r), r % 251) << r;
}

}  // namespace
}  // namespace ingot
