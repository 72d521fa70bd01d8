// The typed functions of <ingot/ops.h>: operands and attributes arrive where the text form has
// them.
#include <gtest/gtest.h>
#include <ingot/ops.h>

namespace ingot {
namespace {

TEST(Builders, MakeTheSameProgramAsText) {
  Program p("built");
  const Value x = p.input("x", DType::f32, {"B", 8});
  const Value ids = p.input("ids", DType::i64, {3});
  const Value gamma = p.input("gamma", DType::f32, {8});
  const Value n = ops::layer_norm(p, x, gamma, std::nullopt, {-1}, 1e-3, "n");
  const Value c = ops::clip(p, n, -1, 1, "c");
  const Value both = ops::concat(p, {c, x}, 1, "both");
  const Value rows = ops::gather(p, both, ids, 1, "zero", "rows");
  const Value total = ops::sum(p, rows, {1}, true, "total");
  const Value flag = ops::and_(p, ops::lt(p, total, x, "less"), ops::isnan(p, x, "nans"), "flag");
  p.output(ops::reshape(p, ops::cast(p, flag, DType::u8, "bytes"), {"B", 2, 4}, "y"));
  const char* text = R"(graph built(x: f32[B, 8], ids: i64[3], gamma: f32[8]) {
  n = layer_norm(x, gamma, epsilon=0.001)
  c = clip(n, min=-1, max=1)
  both = concat(c, x, dim=1)
  rows = gather(both, ids, dim=1, out_of_range="zero")
  total = sum(rows, dims=[1], keepdims=true)
  less = lt(total, x)
  nans = isnan(x)
  flag = and(less, nans)
  bytes = cast(flag, dtype=u8)
  y = reshape(bytes, shape=[B, 2, 4])
  return y
})";
  const Port port = p.outputs().at(0);
  EXPECT_EQ(port.dtype, DType::u8);
  EXPECT_EQ(port.shape, (std::vector<std::string>{"B", "2", "4"}));
  Tensor x_data = random_tensor(DType::f32, {4, 8}, 1, 1, 0, 0);
  Tensor id_data = random_tensor(DType::i64, {3}, 2, 1, -2, 20);
  Tensor gamma_data = random_tensor(DType::f32, {8}, 3, 1, 0, 0);
  const std::vector<Tensor> inputs = {x_data, id_data, gamma_data};
  const Tensor built = p.evaluate(inputs).at(0);
  const Tensor parsed = Program::parse(text).evaluate(inputs).at(0);
  for (int64_t i = 0; i < built.size(); i++) EXPECT_EQ(built.get_i64(i), parsed.get_i64(i));
}

TEST(Builders, ErrorsNameOpAndShapes) {
  Program p("built");
  const Value a = p.input("a", DType::f32, {4, 3}), b = p.input("b", DType::f32, {2, 5});
  try {
    ops::matmul(p, a, b);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.message(), "matmul: f32[4, 3] × f32[2, 5]: inner sizes 3 and 2 differ");
  }
}

}  // namespace
}  // namespace ingot
