// Result types and the full text of errors.
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "op/infer.h"

namespace ingot {
namespace {

// "f32[B, 8]" → a type.
TensorType type(const std::string& text) {
  Cursor cursor("type", text);
  TensorType result{*parse_dtype(cursor.identifier("a dtype")), {}};
  cursor.expect("[");
  while (!cursor.accept("]")) {
    result.shape.push_back(Sym::parse(cursor));
    cursor.accept(",");
  }
  return result;
}

std::vector<Sym> sizes(const std::string& text) { return type("f32[" + text + "]").shape; }

// The result's text, or the error's message; with the equalities found, as " {B = C}".
std::string infer(Op op, const std::vector<std::string>& operands, const Attrs& attrs = {}) {
  std::vector<TensorType> types;
  for (const std::string& each : operands) types.push_back(type(each));
  std::vector<SizeEquality> equalities;
  try {
    std::string text = type_text(infer_type(op, types, attrs, &equalities));
    for (const SizeEquality& each : equalities) {
      text += fmt::format(" {{{} = {}}}", each.left.text(), each.right.text());
    }
    return text;
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(Infer, Broadcasting) {
  EXPECT_EQ(infer(Op::add, {"f32[4, 3]", "f32[3]"}), "f32[4, 3]");
  EXPECT_EQ(infer(Op::add, {"f32[]", "f32[2]"}), "f32[2]");
  EXPECT_EQ(infer(Op::add, {"f32[B, 1]", "f32[1, 8]"}), "f32[B, 8]");
  EXPECT_EQ(infer(Op::add, {"f32[B]", "f32[C]"}), "f32[B] {B = C}");
  EXPECT_EQ(infer(Op::add, {"f32[B]", "f32[8]"}), "f32[8] {B = 8}");
  EXPECT_EQ(infer(Op::add, {"f32[0, 4]", "f32[1, 4]"}), "f32[0, 4]");
  EXPECT_EQ(infer(Op::fma, {"f32[4]", "f32[3, 1]", "f32[2, 1, 1]"}), "f32[2, 3, 4]");
  EXPECT_EQ(infer(Op::add, {"f32[4, 3]", "f32[4]"}),
            "add: f32[4, 3], f32[4]: sizes 3 and 4 differ");
  EXPECT_EQ(infer(Op::add, {"f32[4]", "f32[2, 3]"}),
            "add: f32[4], f32[2, 3]: sizes 4 and 3 differ");
  EXPECT_EQ(infer(Op::add, {"f32[N]", "f32[N + 1]"}),
            "add: f32[N], f32[N + 1]: sizes N and N + 1 differ");
}

TEST(Infer, NamesMustAgreeWhereEqualitiesAreNotWanted) {
  const TensorType types[] = {type("f32[B]"), type("f32[C]")};
  EXPECT_THROW(infer_type(Op::add, types, {}, nullptr), Error);
  EXPECT_EQ(broadcast_shapes(sizes("B, 1"), sizes("C"), nullptr), sizes("B, C"));
}

TEST(Infer, DTypes) {
  EXPECT_EQ(infer(Op::lt, {"i32[4]", "i32[4]"}), "bool[4]");
  EXPECT_EQ(infer(Op::select, {"bool[2, 1]", "bf16[3]", "bf16[]"}), "bf16[2, 3]");
  EXPECT_EQ(infer(Op::cast, {"f32[B]"}, {{"dtype", DType::u8}}), "u8[B]");
  EXPECT_EQ(infer(Op::add, {"f32[4]", "bf16[4]"}),
            "add: f32[4], bf16[4]: dtypes f32 and bf16 differ; cast one of them, as in "
            "cast(x, dtype=f32)");
  EXPECT_EQ(infer(Op::exp, {"i32[4]"}),
            "exp: i32[4]: does not take i32, only f16 bf16 f32 f64; cast first, as in "
            "cast(x, dtype=f32)");
  EXPECT_EQ(infer(Op::sum, {"bool[4]"}),
            "sum: bool[4]: does not take bool, only i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 "
            "f64; cast first, as in "
            "cast(x, dtype=f32)");
  EXPECT_EQ(infer(Op::select, {"f32[4]", "f32[4]", "f32[4]"}),
            "select: f32[4], f32[4], f32[4]: the mask must be bool; compare first, as in "
            "ne(mask, 0)");
  EXPECT_EQ(infer(Op::cast, {"f32[4]"}), "cast: f32[4]: attribute 'dtype' is missing");
}

TEST(Infer, OperandsAndAttributes) {
  EXPECT_EQ(infer(Op::add, {"f32[4]"}), "add: f32[4]: takes 2 operands, got 1");
  EXPECT_EQ(infer(Op::relu, {}), "relu: takes 1 operand, got 0");
  EXPECT_EQ(infer(Op::conv, {"f32[1, 1, 1]"}), "conv: f32[1, 1, 1]: takes 2 or 3 operands, got 1");
  EXPECT_EQ(infer(Op::concat, {}, {{"dim", int64_t{0}}}),
            "concat: takes at least 1 operands, got 0");
  EXPECT_EQ(infer(Op::elu, {"f32[4]"}, {{"beta", 1.0}}),
            "elu: f32[4]: has no attribute 'beta'; it has alpha");
  EXPECT_EQ(infer(Op::elu, {"f32[4]"}, {{"alpha", std::string("one")}}),
            "elu: f32[4]: attribute 'alpha' must be a number");
  EXPECT_EQ(infer(Op::clip, {"i32[4]"}, {{"min", 0.5}}),
            "clip: i32[4]: min=0.5 is no whole number");
  EXPECT_EQ(infer(Op::clip, {"u8[4]"}, {{"max", std::nan("")}}),
            "clip: u8[4]: max=nan is no whole number");
  EXPECT_EQ(infer(Op::clip, {"u8[4]"}, {{"max", 300.0}}), "u8[4]");
  const auto pad = [](const char* type, double value) {
    return infer(Op::pad, {type}, {{"low", Shape{1}}, {"high", Shape{0}}, {"value", value}});
  };
  EXPECT_EQ(pad("u8[4]", 300), "pad: u8[4]: value=300 is no u8 value");
  EXPECT_EQ(pad("i32[4]", 0.5), "pad: i32[4]: value=0.5 is no i32 value");
  EXPECT_EQ(pad("i64[4]", std::nan("")), "pad: i64[4]: value=nan is no i64 value");
  EXPECT_EQ(pad("bool[4]", 2), "pad: bool[4]: value=2 is no bool value");
  EXPECT_EQ(pad("bool[4]", 1), "bool[5]");
}

TEST(Infer, Reductions) {
  const auto dims = [](std::vector<Sym> list, bool keep = false) {
    return Attrs{{"dims", std::move(list)}, {"keepdims", keep}};
  };
  EXPECT_EQ(infer(Op::sum, {"f32[B, 4]"}), "f32[]");
  EXPECT_EQ(infer(Op::sum, {"f32[B, 4]"}, dims({-1})), "f32[B]");
  EXPECT_EQ(infer(Op::sum, {"f32[B, 4]"}, dims({0}, true)), "f32[1, 4]");
  EXPECT_EQ(infer(Op::mean, {"bf16[B, 4, 5]"}, dims({0, 2})), "bf16[4]");
  EXPECT_EQ(infer(Op::any, {"bool[3]"}), "bool[]");
  EXPECT_EQ(infer(Op::sum, {"f32[]"}), "f32[]");
  EXPECT_EQ(infer(Op::sum, {"f32[B, 4]"}, dims({2})),
            "sum: f32[B, 4]: dims names dimension 2 of 2");
  EXPECT_EQ(infer(Op::softmax, {"f32[B, 4]"}), "f32[B, 4]");
  EXPECT_EQ(infer(Op::softmax, {"f32[B, 4]"}, {{"dim", int64_t{2}}}),
            "softmax: f32[B, 4]: dim=2 names no dimension of 2");
  EXPECT_EQ(infer(Op::softmax, {"f32[]"}), "softmax: f32[]: dim=-1 names no dimension of 0");
}

TEST(Infer, Norms) {
  EXPECT_EQ(infer(Op::layer_norm, {"f32[B, 8]", "f32[8]", "f32[8]"}), "f32[B, 8]");
  EXPECT_EQ(infer(Op::layer_norm, {"f32[B, 8]", "f32[8]"}), "f32[B, 8]");
  EXPECT_EQ(infer(Op::rms_norm, {"f32[B, C, 8]", "f32[D]"}, {{"dims", std::vector<Sym>{1}}}),
            "f32[B, C, 8] {C = D}");
  EXPECT_EQ(infer(Op::rms_norm, {"f32[B, 8]", "f32[4]"}),
            "rms_norm: f32[B, 8], f32[4]: sizes 8 and 4 differ");
  EXPECT_EQ(infer(Op::rms_norm, {"f32[B, 1]", "f32[4]"}),
            "rms_norm: f32[B, 1], f32[4]: gamma and beta of shape [4] do not broadcast to [B, 1]");
  EXPECT_EQ(infer(Op::rms_norm, {"f32[]", "f32[3]"}, {{"dims", std::vector<Sym>{}}}),
            "rms_norm: f32[], f32[3]: gamma and beta of shape [3] do not broadcast to []");
}

TEST(Infer, Attention) {
  EXPECT_EQ(infer(Op::attention, {"bf16[B, 8, L, 64]", "bf16[B, 1, S, 64]", "bf16[S, 32]"}),
            "bf16[B, 8, L, 32]");
  EXPECT_EQ(infer(Op::attention, {"f32[L, 64]", "f32[S, 64]", "f32[S, 32]", "bool[L, S]"}),
            "f32[L, 32]");
  EXPECT_EQ(infer(Op::attention, {"f32[L, D]", "f32[S, 64]", "f32[T, 32]", "f32[S]"}),
            "f32[L, 32] {D = 64} {S = T}");
  EXPECT_EQ(infer(Op::attention, {"f32[4]", "f32[5, 4]", "f32[5, 4]"}),
            "attention: f32[4], f32[5, 4], f32[5, 4]: takes q[..., L, D], k[..., S, D] and v[..., "
            "S, E]");
  EXPECT_EQ(infer(Op::attention, {"f32[3, 4]", "f32[5, 6]", "f32[5, 4]"}),
            "attention: f32[3, 4], f32[5, 6], f32[5, 4]: inner sizes 4 and 6 differ");
  EXPECT_EQ(infer(Op::attention, {"f32[3, 4]", "f32[5, 4]", "f32[6, 4]"}),
            "attention: f32[3, 4], f32[5, 4], f32[6, 4]: keys and values 5 and 6 differ");
  EXPECT_EQ(infer(Op::attention, {"f32[3, 4]", "f32[5, 4]", "f32[5, 4]", "bool[4, 5]"}),
            "attention: f32[3, 4], f32[5, 4], f32[5, 4], bool[4, 5]: sizes 3 and 4 differ");
  EXPECT_EQ(infer(Op::attention, {"f32[1, 4]", "f32[5, 4]", "f32[5, 4]", "bool[3, 5]"}),
            "attention: f32[1, 4], f32[5, 4], f32[5, 4], bool[3, 5]: a mask of shape [3, 5] does "
            "not broadcast to [1, 5]");
  EXPECT_EQ(infer(Op::attention, {"f32[3, 4]", "f32[5, 4]", "f32[5, 4]", "bool[2, 3, 5]"}),
            "attention: f32[3, 4], f32[5, 4], f32[5, 4], bool[2, 3, 5]: a mask of shape [2, 3, 5] "
            "does not broadcast to [3, 5]");
  for (const char* mask : {"i32[5]", "bf16[5]"}) {
    EXPECT_EQ(infer(Op::attention, {"f32[3, 4]", "f32[5, 4]", "f32[5, 4]", mask}),
              std::string("attention: f32[3, 4], f32[5, 4], f32[5, 4], ") + mask +
                  ": the mask must be bool, true where seen, or f32, added to the scores");
  }
  EXPECT_EQ(infer(Op::attention, {"f32[3, 4]", "bf16[5, 4]", "bf16[5, 4]"}),
            "attention: f32[3, 4], bf16[5, 4], bf16[5, 4]: dtypes f32 and bf16 differ; cast one of "
            "them, as in cast(x, dtype=f32)");
}

TEST(Infer, Reshape) {
  const auto to = [](const std::string& shape) { return Attrs{{"shape", sizes(shape)}}; };
  EXPECT_EQ(infer(Op::reshape, {"f32[B, 12]"}, to("B, 3, 4")), "f32[B, 3, 4]");
  EXPECT_EQ(infer(Op::reshape, {"f32[B, 12]"}, to("-1, 6")), "f32[2*B, 6]");
  EXPECT_EQ(infer(Op::reshape, {"f32[B, C, 12]"}, to("B*C, -1")), "f32[B*C, 12]");
  EXPECT_EQ(infer(Op::reshape, {"f32[1]"}, to("")), "f32[]");
  EXPECT_EQ(infer(Op::reshape, {"f32[0, 3]"}, to("3, 0")), "f32[3, 0]");
  EXPECT_EQ(infer(Op::reshape, {"f32[B, 12]"}, to("B, 13")),
            "reshape: f32[B, 12]: shape [B, 13] has 13*B elements, the operand has 12*B");
  EXPECT_EQ(infer(Op::reshape, {"f32[B]"}, to("-1, 4")),
            "reshape: f32[B]: B elements do not divide evenly into shape [-1, 4]");
  EXPECT_EQ(infer(Op::reshape, {"f32[4]"}, to("-1, -1")),
            "reshape: f32[4]: shape [-1, -1] has more than one -1");
  EXPECT_EQ(infer(Op::reshape, {"f32[0]"}, to("-1, 0")),
            "reshape: f32[0]: 0 elements do not divide evenly into shape [-1, 0]");
  EXPECT_EQ(infer(Op::reshape, {"f32[6]"}, to("-2, -3")),
            "reshape: f32[6]: the result's shape [-2, -3] has a negative size");
}

TEST(Infer, TransposeAndBroadcast) {
  const auto perm = [](const std::string& order) { return Attrs{{"perm", sizes(order)}}; };
  EXPECT_EQ(infer(Op::transpose, {"f32[B, 3, 4]"}, perm("2, 0, 1")), "f32[4, B, 3]");
  EXPECT_EQ(infer(Op::transpose, {"f32[]"}, perm("")), "f32[]");
  EXPECT_EQ(infer(Op::transpose, {"f32[3, 4]"}, perm("0, 0")),
            "transpose: f32[3, 4]: perm=[0, 0] is no order of 2 dimensions");
  EXPECT_EQ(infer(Op::broadcast, {"f32[3, 1]"}, {{"shape", sizes("B, 3, 4")}}), "f32[B, 3, 4]");
  EXPECT_EQ(infer(Op::broadcast, {"f32[3]"}, {{"shape", sizes("1")}}),
            "broadcast: f32[3]: does not broadcast to [1]: size 3 becomes 1");
  EXPECT_EQ(infer(Op::broadcast, {"f32[3, 1]"}, {{"shape", sizes("3")}}),
            "broadcast: f32[3, 1]: shape [3] has fewer dimensions");
}

std::string sliced(const std::string& operand, const std::string& start, const std::string& end,
                   const std::string& step = "1") {
  return infer(Op::slice, {operand},
               {{"starts", sizes(start)}, {"ends", sizes(end)}, {"steps", sizes(step)}});
}

TEST(Infer, Slice) {
  EXPECT_EQ(sliced("f32[10]", "2", "8", "3"), "f32[2]");
  EXPECT_EQ(sliced("f32[10]", "-3", "9223372036854775807"), "f32[3]");
  EXPECT_EQ(sliced("f32[10]", "-30", "-20"), "f32[0]");
  EXPECT_EQ(sliced("f32[10]", "8", "2"), "f32[0]");
  EXPECT_EQ(sliced("f32[10]", "12", "20"), "f32[0]");
  EXPECT_EQ(sliced("f32[0]", "0", "5"), "f32[0]");
  EXPECT_EQ(sliced("f32[N]", "0", "9223372036854775807"), "f32[N]");
  EXPECT_EQ(sliced("f32[N]", "1", "2147483647"), "f32[N - 1]");
  EXPECT_EQ(sliced("f32[N]", "0", "-1"), "f32[N - 1]");
  EXPECT_EQ(sliced("f32[N]", "0", "64"), "f32[min(64, N)]");
  EXPECT_EQ(sliced("f32[N]", "2", "1"), "f32[0]");
  EXPECT_EQ(sliced("f32[N]", "-1", "-2"), "f32[0]");
  EXPECT_EQ(sliced("f32[N]", "1", "2", "-1"), "f32[0]");
  EXPECT_EQ(sliced("f32[2*N]", "N", "2*N"), "f32[N]");
  EXPECT_EQ(sliced("f32[2*N]", "0", "2*N", "2"), "f32[N]");
  EXPECT_EQ(sliced("f32[10]", "-1", "-9223372036854775807", "-1"), "f32[10]");
  EXPECT_EQ(sliced("f32[10]", "8", "2", "-4"), "f32[2]");
  for (const char* longest : {"10", "11", "4611686018427387904", "9223372036854775807"}) {
    EXPECT_EQ(sliced("f32[10]", "0", "10", longest), "f32[1]");
    EXPECT_EQ(sliced("f32[10]", "9", "-11", std::string("-") + longest), "f32[1]");
  }
  EXPECT_EQ(sliced("f32[10]", "9", "-11", "-9223372036854775808"), "f32[1]");
  EXPECT_EQ(sliced("f32[0]", "0", "10", "9223372036854775807"), "f32[0]");
  EXPECT_EQ(sliced("f32[N]", "-9223372036854775808", "N", "-1"), "f32[0]");
  EXPECT_EQ(sliced("f32[10]", "2", "8", "-1"), "f32[0]");
  EXPECT_EQ(sliced("f32[N]", "2147483647", "-2147483647", "-1"), "f32[N]");
  EXPECT_EQ(sliced("f32[N]", "-1", "0", "-1"), "f32[N - 1]");
  EXPECT_EQ(sliced("f32[10]", "0", "5", "0"),
            "slice: f32[10]: a step is 0; it is a number other than 0");
  EXPECT_EQ(sliced("f32[10, 2]", "0", "5"),
            "slice: f32[10, 2]: starts=[0], ends=[5] and steps=[1] need one number for each of 2 "
            "dimensions");
}

TEST(Infer, ConcatPadGather) {
  EXPECT_EQ(infer(Op::concat, {"f32[B, 3]", "f32[B, 4]"}, {{"dim", int64_t{-1}}}), "f32[B, 7]");
  EXPECT_EQ(infer(Op::concat, {"f32[B]", "f32[C]", "f32[2]"}, {{"dim", int64_t{0}}}),
            "f32[B + C + 2]");
  EXPECT_EQ(infer(Op::concat, {"f32[2, 3]", "f32[4, 3]"}, {{"dim", int64_t{1}}}),
            "concat: f32[2, 3], f32[4, 3]: sizes 2 and 4 differ");
  EXPECT_EQ(infer(Op::concat, {"f32[2]", "f32[2, 2]"}, {{"dim", int64_t{0}}}),
            "concat: f32[2], f32[2, 2]: numbers of dimensions differ");
  EXPECT_EQ(infer(Op::pad, {"f32[B, 3]"}, {{"low", sizes("1, 0")}, {"high", sizes("0, 2")}}),
            "f32[B + 1, 5]");
  EXPECT_EQ(infer(Op::pad, {"f32[3]"}, {{"low", sizes("-1")}, {"high", sizes("0")}}),
            "pad: f32[3]: low=[-1] and high=[0] must not be negative; slice cuts away");
  EXPECT_EQ(infer(Op::gather, {"f32[9, 4]", "i64[B, 2]"}), "f32[B, 2, 4]");
  EXPECT_EQ(infer(Op::gather, {"f32[9, 4]", "i32[]"}, {{"dim", int64_t{1}}}), "f32[9]");
  EXPECT_EQ(
      infer(Op::gather, {"f32[9, 4]", "f32[2]"}),
      "gather: f32[9, 4], f32[2]: the ids must be integers; cast first: cast(ids, dtype=i64)");
  EXPECT_EQ(infer(Op::iota, {}, {{"shape", sizes("B, 4")}, {"dtype", DType::i32}}), "i32[B, 4]");
  EXPECT_EQ(infer(Op::iota, {}, {{"shape", sizes("4")}, {"dtype", DType::boolean}}),
            "iota: makes no bool, only i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64");
}

TEST(Infer, Matmul) {
  const Attrs transpose_b = {{"transpose_b", true}};
  EXPECT_EQ(infer(Op::matmul, {"f32[M, K]", "f32[K, N]"}), "f32[M, N]");
  EXPECT_EQ(infer(Op::matmul, {"f32[M, K]", "f32[N, K]"}, transpose_b), "f32[M, N]");
  EXPECT_EQ(infer(Op::matmul, {"f32[B, 1, M, 4]", "f32[H, 4, 5]"}), "f32[B, H, M, 5]");
  EXPECT_EQ(infer(Op::matmul, {"f32[4]", "f32[4]"}), "f32[]");
  EXPECT_EQ(infer(Op::matmul, {"f32[4]", "f32[B, 4, 5]"}), "f32[B, 5]");
  EXPECT_EQ(infer(Op::matmul, {"f32[B, 5, 4]", "f32[4]"}), "f32[B, 5]");
  EXPECT_EQ(infer(Op::matmul, {"f32[M, K]", "f32[64, N]"}), "f32[M, N] {K = 64}");
  EXPECT_EQ(infer(Op::matmul, {"f32[4, 3]", "f32[2, 5]"}),
            "matmul: f32[4, 3] × f32[2, 5]: inner sizes 3 and 2 differ");
  EXPECT_EQ(infer(Op::matmul, {"f32[]", "f32[2]"}),
            "matmul: f32[] × f32[2]: a scalar is no matrix; mul multiplies by one");
}

TEST(Infer, Conv) {
  EXPECT_EQ(infer(Op::conv, {"f32[N, 3, 32, 32]", "f32[8, 3, 3, 3]", "f32[8]"},
                  {{"pads", sizes("1, 1, 1, 1")}, {"strides", sizes("2, 2")}}),
            "f32[N, 8, 16, 16]");
  EXPECT_EQ(infer(Op::conv, {"f32[1, 4, L]", "f32[4, 2, 3]"}, {{"groups", int64_t{2}}}),
            "f32[1, 4, L - 2]");
  EXPECT_EQ(infer(Op::conv, {"f32[1, 4, 9]", "f32[4, 4, 3]"}, {{"dilations", sizes("4")}}),
            "f32[1, 4, 1]");
  EXPECT_EQ(infer(Op::conv, {"f32[1, 4, 8]", "f32[4, 4, 9]"}),
            "conv: f32[1, 4, 8] × f32[4, 4, 9]: the window 9 is larger than the padded size 8");
  EXPECT_EQ(infer(Op::conv, {"f32[1, 4, 8]", "f32[4, 3, 1]"}),
            "conv: f32[1, 4, 8] × f32[4, 3, 1]: input channels 4 and 3 differ");
  EXPECT_EQ(infer(Op::conv, {"f32[1, 4, 8]", "f32[4, 4, 1]"}, {{"pads", sizes("1")}}),
            "conv: f32[1, 4, 8] × f32[4, 4, 1]: pads needs 2 numbers, got 1");
}

TEST(Infer, TooManyElements) {
  EXPECT_EQ(infer(Op::mul, {"f32[4294967296, 1]", "f32[1, 4294967296]"}),
            "mul: f32[4294967296, 1], f32[1, 4294967296]: the result's shape [4294967296, "
            "4294967296] has too many elements");
  EXPECT_EQ(infer(Op::broadcast, {"f32[]"}, {{"shape", sizes("0, 4294967296, 4294967296")}}),
            "broadcast: f32[]: the result's shape [0, 4294967296, 4294967296] has too many "
            "elements");
}

}  // namespace
}  // namespace ingot
