// Facts of the op table that any row must keep, and the formulas against libm.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "base/text.h"
#include "device/scalar_conversions.h"
#include "op/apply.h"

namespace ingot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

std::vector<double> default_attrs(const OpInfo& info) {
  std::vector<double> values;
  for (const AttrInfo& attr : info.attrs) {
    if (attr.type == AttrType::real) values.push_back(real_attr(info, {}, attr.name));
  }
  return values;
}

double on_double(std::string_view op, double a, double b = 0, double c = 0) {
  const OpInfo& info = *find_op(op);
  return apply(info.op, DType::f64, DType::f64, {a, 0}, {b, 0}, {c, 0}, default_attrs(info)).real;
}

float on_float(std::string_view op, float a, float b = 0, float c = 0) {
  const OpInfo& info = *find_op(op);
  return static_cast<float>(
      apply(info.op, DType::f32, DType::f32, {a, 0}, {b, 0}, {c, 0}, default_attrs(info)).real);
}

int64_t on_integer(std::string_view op, DType dtype, int64_t a, int64_t b = 0, int64_t c = 0) {
  const OpInfo& info = *find_op(op);
  const DType result = info.rule == DTypeRule::boolean ? DType::boolean : dtype;
  return apply(info.op, result, dtype, {0, a}, {0, b}, {0, c}, default_attrs(info)).integer;
}

TEST(OpTable, RowsStandInTheOrderOfTheEnum) {
  int index = 0;
  for (const OpInfo& info : all_ops()) {
    EXPECT_EQ(static_cast<int>(info.op), index++) << info.name;
    EXPECT_EQ(find_op(info.name), &info);
    EXPECT_EQ(op_name(info.op), info.name);
    EXPECT_FALSE(info.doc.empty()) << info.name;
  }
  EXPECT_EQ(op_name(Op::and_), "and");
  EXPECT_EQ(find_op("nothing"), nullptr);
}

template <class T>
bool has_function(Op op, bool to_bool) {
  return to_bool ? predicate<T>(op) != nullptr : formula<T>(op) != nullptr;
}

TEST(OpTable, EveryDTypeThatARowTakesHasItsFormula) {
  for (const OpInfo& info : all_ops()) {
    const bool computed =
        info.category == Category::elementwise || info.category == Category::reduction;
    if (!computed || info.op == Op::cast || info.op == Op::select) continue;
    const bool to_bool = info.rule == DTypeRule::boolean;
    for (const DType dtype : all_dtypes) {
      const bool wanted = accepts(info.operands, dtype);
      bool found = false;
      std::string_view text = info.float_formula;
      // f8 is compared in f32, which other ops of floats have a formula for too.
      if (is_float(dtype) && byte_size(dtype) == 1 && !wanted) continue;
      // The formulas of integers are there for all; a row may be of one of them.
      if (is_integer(dtype) && info.operands == DTypeSet::u64 && !wanted) continue;
      switch (compute_dtype(dtype)) {
        case DType::f32:
          found = has_function<float>(info.op, to_bool);
          break;
        case DType::f64:
          found = has_function<double>(info.op, to_bool);
          break;
        case DType::i32:
          found = has_function<int32_t>(info.op, to_bool);
          text = info.integer_formula;
          break;
        case DType::i64:
          found = has_function<int64_t>(info.op, to_bool);
          text = info.integer_formula;
          break;
        case DType::u64:
          found = has_function<uint64_t>(info.op, to_bool);
          text = info.integer_formula;
          break;
        default:
          found = predicate<bool>(info.op) != nullptr;
          text = info.boolean_formula;
          break;
      }
      EXPECT_EQ(found, wanted) << info.name << " of " << dtype_name(dtype);
      EXPECT_EQ(!text.empty(), wanted) << info.name << " of " << dtype_name(dtype);
    }
  }
}

TEST(OpTable, ResultOfTheOtherKindHasNoFunction) {
  EXPECT_EQ(formula<float>(Op::lt), nullptr);
  EXPECT_EQ(predicate<float>(Op::add), nullptr);
  EXPECT_EQ(formula<float>(Op::cast), nullptr);
  EXPECT_EQ(formula<float>(Op::matmul), nullptr);
}

TEST(OpTable, NearestName) {
  EXPECT_EQ(nearest_op_name("soft_max"), "softmax");
  EXPECT_EQ(nearest_op_name("layernorm"), "layer_norm");
  EXPECT_EQ(nearest_op_name("sgn"), "sign");
  EXPECT_EQ(nearest_op_name("quantize_everything"), "");
  EXPECT_EQ(nearest_op_name(""), "");
}

TEST(OpTable, DefaultsParse) {
  for (const OpInfo& info : all_ops()) {
    for (const AttrInfo& attr : info.attrs) {
      if (attr.default_text.empty()) continue;
      switch (attr.type) {
        case AttrType::boolean:
          EXPECT_NO_THROW(flag_attr(info, {}, attr.name));
          break;
        case AttrType::integer:
          EXPECT_NO_THROW(integer_attr(info, {}, attr.name));
          break;
        case AttrType::real:
          EXPECT_NO_THROW(real_attr(info, {}, attr.name));
          break;
        case AttrType::text:
          EXPECT_NO_THROW(text_attr(info, {}, attr.name));
          break;
        case AttrType::dtype:
          EXPECT_NO_THROW(dtype_attr(info, {}, attr.name));
          break;
        case AttrType::sizes:
          EXPECT_NO_THROW(sizes_attr(info, {}, attr.name));
          break;
      }
    }
  }
  EXPECT_EQ(real_attr(op_info(Op::clip), {}, "min"), -infinity);
}

TEST(OpTable, AttributeAccess) {
  const OpInfo& sum = op_info(Op::sum);
  const Attrs attrs = {{"dims", std::vector<Sym>{-1, 0}}};
  EXPECT_EQ(dims_attr(sum, attrs, "dims", 3), (std::vector<int>{0, 2}));
  EXPECT_EQ(dims_attr(sum, {}, "dims", 2), (std::vector<int>{0, 1}));
  EXPECT_THROW(dims_attr(sum, attrs, "dims", 1), Error) << "-1 and 0 are the same";
  EXPECT_THROW(dims_attr(sum, {{"dims", std::vector<Sym>{3}}}, "dims", 3), Error);
  EXPECT_THROW(flag_attr(sum, {{"keepdims", std::string("yes")}}, "keepdims"), Error);
  EXPECT_EQ(real_attr(op_info(Op::elu), {{"alpha", int64_t{2}}}, "alpha"), 2.0);
}

double gelu(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

struct Reference {
  std::function<double(double)> f;
  double low, high;
  double ulps;  // of f32, where f32 runs
};

const std::map<std::string, Reference, std::less<>>& unary_references() {
  using L = double (*)(double);
  static const std::map<std::string, Reference, std::less<>> all = {
      {"abs", {L(std::fabs), -9, 9, 0}},
      {"floor", {L(std::floor), -9, 9, 0}},
      {"ceil", {L(std::ceil), -9, 9, 0}},
      {"round", {L(std::nearbyint), -9, 9, 0}},
      {"trunc", {L(std::trunc), -9, 9, 0}},
      {"exp", {L(std::exp), -80, 80, 2}},
      {"exp2", {L(std::exp2), -120, 120, 2}},
      {"expm1", {L(std::expm1), -20, 80, 3}},
      {"log", {L(std::log), 1e-30, 1e3, 2}},
      {"log2", {L(std::log2), 1e-30, 1e3, 2}},
      {"log1p", {L(std::log1p), -0.999, 1e3, 3}},
      {"sqrt", {L(std::sqrt), 0, 1e6, 0.51}},
      {"rsqrt", {[](double x) { return 1 / std::sqrt(x); }, 1e-6, 1e6, 1.5}},
      {"reciprocal", {[](double x) { return 1 / x; }, 1e-3, 1e3, 0.51}},
      {"sin", {L(std::sin), -30, 30, 4}},
      {"cos", {L(std::cos), -30, 30, 4}},
      {"tan", {L(std::tan), -1.4, 1.4, 6}},
      {"asin", {L(std::asin), -1, 1, 4}},
      {"acos", {L(std::acos), -1, 1, 4}},
      {"atan", {L(std::atan), -100, 100, 4}},
      {"sinh", {L(std::sinh), -80, 80, 4}},
      {"cosh", {L(std::cosh), -80, 80, 4}},
      {"tanh", {L(std::tanh), -10, 10, 4}},
      {"asinh", {L(std::asinh), -1e6, 1e6, 5}},
      {"acosh", {L(std::acosh), 1, 1e6, 5}},
      {"atanh", {L(std::atanh), -0.99, 0.99, 6}},
      {"erf", {L(std::erf), -5, 5, 4}},
      {"sigmoid", {sigmoid, -60, 60, 4}},
      {"relu", {[](double x) { return std::max(x, 0.0); }, -9, 9, 0}},
      {"leaky_relu", {[](double x) { return x < 0 ? 0.01 * x : x; }, -9, 9, 1.5}},
      {"elu", {[](double x) { return x > 0 ? x : std::expm1(x); }, -9, 9, 3}},
      {"celu", {[](double x) { return x > 0 ? x : std::expm1(x); }, -9, 9, 3}},
      {"gelu", {gelu, -6, 9, 16}},
      {"silu", {[](double x) { return x * sigmoid(x); }, -60, 60, 5}},
      {"mish", {[](double x) { return x * std::tanh(softplus(x)); }, -30, 30, 8}},
      {"softplus", {softplus, -60, 60, 5}},
      {"softsign", {[](double x) { return x / (1 + std::abs(x)); }, -99, 99, 2}},
      {"hard_sigmoid", {[](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }, -9, 9, 8}},
      {"hard_swish", {[](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, -2.5, 9, 8}},
      {"clip", {[](double x) { return x; }, -9, 9, 0}},
  };
  return all;
}

TEST(Formulas, UnaryAgainstLibm) {
  for (const auto& [name, reference] : unary_references()) {
    ASSERT_NE(find_op(name), nullptr) << name;
    double worst64 = 0, worst32 = 0;
    for (int i = 0; i <= 2000; i++) {
      const double x = reference.low + (reference.high - reference.low) * i / 2000;
      const float narrow = static_cast<float>(x);
      const double want64 = reference.f(x), want32 = reference.f(static_cast<double>(narrow));
      // Relative, but near zeros of the function absolute. That the formula is the right one is
      // the question here; tight bounds are tests/device's.
      const double zero = 0x1p-6;
      worst64 = std::max(worst64,
                         std::abs(on_double(name, x) - want64) / std::max(std::abs(want64), zero));
      worst32 = std::max(
          worst32, std::abs(on_float(name, narrow) - want32) / std::max(std::abs(want32), zero));
    }
    EXPECT_LT(worst64, 0x1p-40) << name;
    EXPECT_LE(worst32, std::max(reference.ulps, 0.5) * 0x1p-22) << name;
  }
}

TEST(Formulas, BinaryAgainstLibm) {
  for (int i = -20; i <= 20; i++) {
    for (int j = -20; j <= 20; j++) {
      const double a = i * 0.37, b = j * 0.73;
      EXPECT_EQ(on_double("add", a, b), a + b);
      EXPECT_EQ(on_double("sub", a, b), a - b);
      EXPECT_EQ(on_double("mul", a, b), a * b);
      EXPECT_EQ(on_double("fma", a, b, 0.1), std::fma(a, b, 0.1));
      EXPECT_EQ(on_double("minimum", a, b), std::min(a, b));
      EXPECT_EQ(on_double("maximum", a, b), std::max(a, b));
      EXPECT_NEAR(on_double("atan2", a, b), std::atan2(a, b), 1e-14);
      if (b != 0) {
        EXPECT_EQ(on_double("div", a, b), a / b);
        EXPECT_NEAR(on_double("mod", a, b), a - std::floor(a / b) * b, 1e-12);
      }
      if (a > 0) {
        EXPECT_NEAR(on_double("pow", a, b) / std::pow(a, b), 1, 1e-12);
      }
    }
  }
}

TEST(Formulas, NaNPropagates) {
  for (const OpInfo& info : all_ops()) {
    if (info.category != Category::elementwise || info.float_formula.empty()) continue;
    if (info.rule == DTypeRule::boolean || info.op == Op::pow) continue;
    for (int operand = 0; operand < info.max_operands; operand++) {
      const double a = operand == 0 ? nan_value : 1, b = operand == 1 ? nan_value : 2;
      const double c = operand == 2 ? nan_value : 3;
      EXPECT_TRUE(std::isnan(on_double(info.name, a, b, c))) << info.name;
      EXPECT_TRUE(std::isnan(
          on_float(info.name, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))))
          << info.name;
    }
  }
}

TEST(Formulas, ZerosAndInfinities) {
  EXPECT_FALSE(std::signbit(on_float("relu", -0.0f)));
  EXPECT_TRUE(std::signbit(on_float("sign", -0.0f)));
  EXPECT_TRUE(std::signbit(on_float("minimum", 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(on_float("maximum", -0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(on_float("round", -0.4f)));
  EXPECT_EQ(on_float("round", 2.5f), 2.0f);
  EXPECT_EQ(on_float("round", -3.5f), -4.0f);
  for (const double infinite : {infinity, -infinity}) {
    const double sign = infinite > 0 ? 1 : -1;
    EXPECT_EQ(on_double("softsign", infinite), sign);
    EXPECT_EQ(on_double("hard_swish", infinite), infinite > 0 ? infinity : 0);
    EXPECT_EQ(on_double("silu", infinite), infinite > 0 ? infinity : 0);
    EXPECT_EQ(on_double("gelu", infinite), infinite > 0 ? infinity : 0);
    EXPECT_EQ(on_double("tanh", infinite), sign);
  }
  EXPECT_EQ(on_float("exp", -infinity), 0.0f);
  EXPECT_EQ(on_float("log", 0.0f), -infinity);
  EXPECT_TRUE(std::isnan(on_float("log", -1.0f)));
}

TEST(Formulas, IntegersWrapAndNeverTrap) {
  constexpr int64_t low32 = INT32_MIN, low64 = INT64_MIN;
  for (const DType dtype : {DType::i32, DType::i64}) {
    const int64_t low = dtype == DType::i32 ? low32 : low64;
    const int64_t high = dtype == DType::i32 ? INT32_MAX : INT64_MAX;
    EXPECT_EQ(on_integer("add", dtype, high, 1), low);
    EXPECT_EQ(on_integer("sub", dtype, low, 1), high);
    EXPECT_EQ(on_integer("mul", dtype, low, -1), low);
    EXPECT_EQ(on_integer("neg", dtype, low), low);
    EXPECT_EQ(on_integer("abs", dtype, low), low);
    EXPECT_EQ(on_integer("div", dtype, low, -1), low);
    EXPECT_EQ(on_integer("div", dtype, 7, 0), 0);
    EXPECT_EQ(on_integer("div", dtype, -7, 2), -3);
    EXPECT_EQ(on_integer("mod", dtype, -7, 2), 1);
    EXPECT_EQ(on_integer("mod", dtype, 7, -2), -1);
    EXPECT_EQ(on_integer("mod", dtype, 7, 0), 0);
    EXPECT_EQ(on_integer("mod", dtype, low, -1), 0);
    EXPECT_EQ(on_integer("fma", dtype, high, 2, 2), 0);
    EXPECT_EQ(on_integer("sign", dtype, low), -1);
    EXPECT_EQ(on_integer("relu", dtype, -5), 0);
    EXPECT_EQ(on_integer("clip", dtype, low), low);
    EXPECT_EQ(on_integer("shift_left", dtype, 1, 100), 0);
    EXPECT_EQ(on_integer("shift_left", dtype, 1, -1), 0);
    EXPECT_EQ(on_integer("shift_right", dtype, -8, 1), -4);
    EXPECT_EQ(on_integer("shift_right", dtype, -8, 100), -1);
    EXPECT_EQ(on_integer("bit_not", dtype, 0), -1);
    EXPECT_EQ(on_integer("lt", dtype, low, high), 1);
  }
  EXPECT_EQ(on_integer("add", DType::u8, 200, 100), 44);
  EXPECT_EQ(on_integer("neg", DType::u8, 1), 255);
  EXPECT_EQ(on_integer("bit_not", DType::u8, 0), 255);
}

TEST(Formulas, Bools) {
  for (int a = 0; a < 2; a++) {
    EXPECT_EQ(on_integer("not", DType::boolean, a), !a);
    EXPECT_EQ(on_integer("bit_not", DType::boolean, a), !a);
    for (int b = 0; b < 2; b++) {
      EXPECT_EQ(on_integer("and", DType::boolean, a, b), a && b);
      EXPECT_EQ(on_integer("or", DType::boolean, a, b), a || b);
      EXPECT_EQ(on_integer("xor", DType::boolean, a, b), a != b);
      EXPECT_EQ(on_integer("eq", DType::boolean, a, b), a == b);
      EXPECT_EQ(on_integer("ne", DType::boolean, a, b), a != b);
    }
  }
}

TEST(Formulas, ReductionsStartFromTheirIdentity) {
  for (const OpInfo& info : all_ops()) {
    if (info.category != Category::reduction || info.float_formula.empty()) continue;
    const auto combine = formula<double>(info.op);
    for (const double x : {-2.5, 0.0, 3.0, infinity, -infinity}) {
      EXPECT_EQ(combine(info.identity, x, 0, 0, 0, 0), x) << info.name;
    }
    EXPECT_TRUE(std::isnan(combine(info.identity, nan_value, 0, 0, 0, 0))) << info.name;
  }
}

TEST(Convert, FloatsToIntegersTruncateAndSaturate) {
  const auto to = [](DType dtype, double value) {
    return convert(dtype, DType::f64, {value, 0}).integer;
  };
  EXPECT_EQ(to(DType::i32, 2.9), 2);
  EXPECT_EQ(to(DType::i32, -2.9), -2);
  EXPECT_EQ(to(DType::i32, 3e9), INT32_MAX);
  EXPECT_EQ(to(DType::i32, -infinity), INT32_MIN);
  EXPECT_EQ(to(DType::i64, 1e19), INT64_MAX);
  EXPECT_EQ(to(DType::i64, -1e19), INT64_MIN);
  EXPECT_EQ(to(DType::u8, 300), 255);
  EXPECT_EQ(to(DType::u8, -0.5), 0);
  EXPECT_EQ(to(DType::u8, -1), 0);
  for (const DType dtype : {DType::i32, DType::i64, DType::u8}) EXPECT_EQ(to(dtype, nan_value), 0);
  EXPECT_EQ(to(DType::boolean, nan_value), 1);
  EXPECT_EQ(to(DType::boolean, -0.0), 0);
  EXPECT_EQ(to(DType::boolean, 0.25), 1);
}

TEST(Convert, OthersWrapOrRoundOnce) {
  EXPECT_EQ(convert(DType::u8, DType::i64, {0, 257}).integer, 1);
  EXPECT_EQ(convert(DType::i32, DType::i64, {0, int64_t{1} << 32}).integer, 0);
  EXPECT_EQ(convert(DType::boolean, DType::i64, {0, int64_t{1} << 32}).integer, 1);
  EXPECT_EQ(convert(DType::f32, DType::boolean, {0, 1}).real, 1.0);
  EXPECT_EQ(convert(DType::f32, DType::i64, {0, (1 << 24) + 1}).real, 1 << 24);
  // A double just above the middle of two bf16 values: two roundings would fall to the even one.
  const double above = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(convert(DType::bf16, DType::f64, {above, 0}).real, 1 + 0x1p-7);
  EXPECT_EQ(convert(DType::f16, DType::f64, {1 + 0x1p-11 + 0x1p-40, 0}).real, 1 + 0x1p-10);
}

TEST(Apply, SelectAndCast) {
  EXPECT_EQ(apply(Op::select, DType::f32, DType::boolean, {0, 1}, {2, 0}, {3, 0}, {}).real, 2);
  EXPECT_EQ(apply(Op::select, DType::i32, DType::boolean, {0, 0}, {0, 2}, {0, 3}, {}).integer, 3);
  EXPECT_EQ(apply(Op::cast, DType::i32, DType::f32, {-7.5, 0}, {}, {}, {}).integer, -7);
}

// `exact` promises the bits of the full formula, rounded.
TEST(OpTable, NearestFormulasHaveTheBitsOfTheFullOnesForEveryBfloat) {
  int formulas = 0;
  for (const OpInfo& info : all_ops()) {
    const Formula<float> nearest = shorter_formula(info.op, Form::nearest);
    if (nearest == nullptr) continue;
    ++formulas;
    const Formula<float> full = formula<float>(info.op);
    for (int h = 0; h < 0x10000; ++h) {
      const float x = scalar::bf16_to_f32(static_cast<uint16_t>(h));
      const float got = scalar::round_bf16(nearest(x, 0, 0, 0, 0, 0));
      const float want = scalar::round_bf16(full(x, 0, 0, 0, 0, 0));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << info.name << "(" << x << ")";
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want))
            << info.name << "(" << x << ")";
      }
    }
  }
  EXPECT_EQ(formulas, 2);
}

// Kernels round what ops make of bf16 operands without a test for NaN.
TEST(OpTable, NaNOfBfloatOperandsStaysNaNWhenItIsRoundedLikeANumber) {
  const uint16_t others[] = {0x0000, 0x8000, 0x3f80, 0xc2f7, 0x7f80, 0xff80,
                             0x7fc0, 0xffff, 0x7f81, 0x7fff, 0x0001};
  auto check = [](Op op, float result) {
    if (!std::isnan(result)) return;
    const uint32_t bits = std::bit_cast<uint32_t>(result);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    ASSERT_TRUE(std::isnan(std::bit_cast<float>(rounded))) << op_name(op) << std::hex << bits;
  };
  int formulas = 0;
  for (const OpInfo& info : all_ops()) {
    const Op op = info.op;
    const Formula<float> full = formula<float>(op);
    if (full == nullptr || info.category != Category::elementwise) continue;
    ++formulas;
    for (int h = 0; h < 0x10000; ++h) {
      if ((h & 0x7fff) <= 0x7f80) continue;
      const float x = scalar::bf16_to_f32(static_cast<uint16_t>(h));
      for (const uint16_t second : others) {
        const float y = scalar::bf16_to_f32(second);
        for (const uint16_t third : {others[2], others[7]}) {
          const float z = scalar::bf16_to_f32(third);
          check(op, full(x, y, z, 0.5F, 2, 1));
          check(op, full(y, x, z, 0.5F, 2, 1));
          check(op, full(z, y, x, 0.5F, 2, 1));
        }
      }
      const Formula<float> nearest = shorter_formula(op, Form::nearest);
      if (nearest != nullptr) check(op, nearest(x, 0, 0, 0, 0, 0));
    }
  }
  EXPECT_GT(formulas, 50);
}

}  // namespace
}  // namespace ingot
