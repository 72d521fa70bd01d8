// attention against a plain computation in double precision: the evaluator, and compiled kernels
// in all fusion modes and numerics.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"
#include "support/values.h"

namespace ingot::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr FusionMode modes[] = {FusionMode::off, FusionMode::automatic, FusionMode::all};

// One program: inputs q, k, v and perhaps a mask, with the attributes as text.
struct Sample {
  std::string name;
  std::string q, k, v, mask;
  std::string attrs;
  Bindings sizes = {};

  bool causal() const { return attrs.find("causal=true") != std::string::npos; }
  double scale() const {  // 0: none is given
    const size_t at = attrs.find("scale=");
    return at == std::string::npos ? 0 : std::stod(attrs.substr(at + 6));
  }
};

std::string text_of(const Sample& sample, const std::string& dtype) {
  const bool masked = !sample.mask.empty();
  const bool added = masked && !sample.mask.starts_with("bool");
  return fmt::format(
      "graph g(q: {0}{1}, k: {0}{2}, v: {0}{3}{4}{5}{6}) {{ y = attention(q, k, "
      "v{7}{8}) return y }}",
      dtype, sample.q, sample.k, sample.v, masked ? ", m: " : "", added ? dtype : "", sample.mask,
      masked ? ", m" : "", sample.attrs);
}

// Element [..., i, j] of a tensor that broadcasts to these batch dimensions.
double at(const Tensor& x, const std::vector<int64_t>& batch, int64_t i, int64_t j) {
  std::vector<int64_t> index = batch;
  index.push_back(i);
  index.push_back(j);
  const std::vector<int64_t>& shape = x.shape();
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t place = shape[d] == 1 ? 0 : index[index.size() - shape.size() + d];
    flat = flat * shape[d] + place;
  }
  return is_float(x.dtype()) ? x.get_f64(flat) : static_cast<double>(x.get_i64(flat));
}

// −infinity where the key is hidden.
double score(const Sample& sample, const std::vector<Tensor>& inputs,
             const std::vector<int64_t>& batch, int64_t i, int64_t j) {
  const int64_t depth = inputs[0].shape().back();
  double sum = 0;
  for (int64_t d = 0; d < depth; ++d) {
    sum += at(inputs[0], batch, i, d) * at(inputs[1], batch, j, d);
  }
  const double root = std::sqrt(static_cast<double>(std::max<int64_t>(depth, 1)));
  sum *= sample.scale() != 0 ? sample.scale() : 1 / root;
  bool seen = !sample.causal() || j <= i;
  if (inputs.size() > 3) {
    const double mask = at(inputs[3], batch, i, j);
    if (is_float(inputs[3].dtype())) {
      sum += mask;
    } else {
      seen = seen && mask != 0;
    }
  }
  return seen ? sum : -infinity;
}

// The weight of each key for one query; all 0 where it sees none.
std::vector<double> weights(const Sample& sample, const std::vector<Tensor>& inputs,
                            const std::vector<int64_t>& batch, int64_t i) {
  const int64_t keys = inputs[1].shape()[inputs[1].shape().size() - 2];
  std::vector<double> result;
  double largest = -infinity, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    result.push_back(score(sample, inputs, batch, i, j));
    largest = std::max(largest, result.back());
  }
  for (double& weight : result) {
    weight = largest == -infinity ? 0 : std::exp(weight - largest);
    sum += weight;
  }
  for (double& weight : result) weight = sum == 0 ? 0 : weight / sum;
  return result;
}

std::vector<double> oracle(const Sample& sample, const std::vector<Tensor>& inputs,
                           const std::vector<int64_t>& shape) {
  std::vector<double> result;
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  std::vector<int64_t> batch(shape.size() - 2, 0);
  int64_t count = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d) count *= shape[d];
  for (int64_t b = 0; b < count; ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<double> of_keys = weights(sample, inputs, batch, i);
      for (int64_t e = 0; e < columns; ++e) {
        double sum = 0;
        for (size_t j = 0; j < of_keys.size(); ++j) {
          if (of_keys[j] != 0) sum += of_keys[j] * at(inputs[2], batch, static_cast<int64_t>(j), e);
        }
        result.push_back(sum);
      }
    }
    for (size_t d = batch.size(); d-- > 0 && ++batch[d] == shape[d];) batch[d] = 0;
  }
  return result;
}

// Every third row of a mask hides all keys, if the mask has rows.
void hide_rows(Tensor& mask) {
  const int64_t row = mask.shape().back();
  const bool rows = mask.shape().size() > 1 && mask.shape()[mask.shape().size() - 2] > 1;
  for (int64_t i = 0; i < mask.size(); ++i) {
    const bool hidden = rows ? i / row % 3 == 1 : i % 4 == 1;
    if (!hidden) continue;
    if (is_float(mask.dtype())) {
      mask.set_f64(i, -infinity);
    } else {
      mask.set_i64(i, 0);
    }
  }
}

const std::vector<Sample>& samples() {
  static const std::vector<Sample> list = {
      {"matrices", "[5, 8]", "[7, 8]", "[7, 3]", "", ""},
      {"heads", "[2, 3, 17, 16]", "[2, 3, 33, 16]", "[2, 3, 33, 20]", "", ""},
      {"causal, fewer queries", "[2, 5, 8]", "[2, 9, 8]", "[2, 9, 4]", "", ", causal=true"},
      {"causal, more queries", "[2, 9, 8]", "[2, 5, 8]", "[2, 5, 4]", "", ", causal=true"},
      {"scaled", "[6, 8]", "[6, 8]", "[6, 8]", "", ", scale=0.25, causal=true"},
      {"bool", "[2, 2, 9, 8]", "[2, 2, 7, 8]", "[2, 2, 7, 8]", "bool[9, 7]", ""},
      {"bool of each head", "[2, 2, 9, 8]", "[2, 2, 7, 8]", "[2, 2, 7, 8]", "bool[2, 2, 9, 7]",
       ", causal=true"},
      {"added", "[2, 2, 9, 8]", "[2, 2, 7, 8]", "[2, 2, 7, 8]", "[2, 1, 9, 7]", ""},
      {"keys hidden for all", "[3, 9, 8]", "[3, 7, 8]", "[3, 7, 8]", "[7]", ", causal=true"},
      {"batches broadcast", "[3, 1, 4, 8]", "[1, 2, 5, 8]", "[5, 6]", "bool[2, 4, 5]", ""},
      {"values in more batches", "[4, 8]", "[5, 8]", "[3, 5, 6]", "bool[4, 5]", ""},
      {"one key", "[3, 8]", "[1, 8]", "[1, 4]", "bool[3, 1]", ""},
      {"no queries", "[2, 0, 8]", "[2, 5, 8]", "[2, 5, 4]", "", ""},
      {"no keys", "[2, 3, 8]", "[2, 0, 8]", "[2, 0, 4]", "", ""},
      {"no depth", "[3, 0]", "[4, 0]", "[4, 5]", "bool[3, 4]", ""},
      {"no features", "[3, 8]", "[4, 8]", "[4, 0]", "", ""},
      {"names",
       "[B, 2, L, D]",
       "[B, 2, S, D]",
       "[B, 2, S, E]",
       "bool[L, S]",
       ", causal=true",
       {{"B", 2}, {"L", 9}, {"S", 6}, {"D", 12}, {"E", 5}}},
      {"names of ones",
       "[B, L, D]",
       "[B, S, D]",
       "[B, S, E]",
       "[L, S]",
       "",
       {{"B", 3}, {"L", 1}, {"S", 1}, {"D", 1}, {"E", 1}}},
      {"names of nothing",
       "[B, L, D]",
       "[B, S, D]",
       "[B, S, E]",
       "bool[L, S]",
       "",
       {{"B", 2}, {"L", 3}, {"S", 0}, {"D", 4}, {"E", 2}}},
      {"no named depth",
       "[L, D]",
       "[S, D]",
       "[S, E]",
       "bool[L, S]",
       "",
       {{"L", 3}, {"S", 4}, {"D", 0}, {"E", 2}}},
  };
  return list;
}

// Scores of f32 are wrong by a few units of 2^-24, and so are their exponentials.
double bound_of(DType dtype, Numerics numerics) {
  switch (dtype) {
    case DType::f64:
      return 1e-13;
    case DType::bf16:
      return 0x1.1p-8;
    case DType::f16:
      return 0x1.1p-11;
    default:
      return numerics == Numerics::fast ? 1e-5 : 2e-6;
  }
}

void expect_near(const Tensor& got, const std::vector<double>& wanted, double bound,
                 const std::string& where) {
  ASSERT_EQ(static_cast<size_t>(got.size()), wanted.size()) << where;
  double largest = 0;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (int64_t i = 0; i < got.size(); ++i) {
    const double value = wanted[static_cast<size_t>(i)];
    ASSERT_TRUE(std::isfinite(value)) << where;
    // What is stored is rounded to half a unit, of an f16 perhaps a subnormal one.
    ASSERT_LE(std::abs(got.get_f64(i) - value), bound * largest)
        << where << ", element " << i << ": " << got.get_f64(i) << " instead of " << value;
  }
}

class Attention : public ::testing::TestWithParam<DType> {};

TEST_P(Attention, IsThePlainComputation) {
  const DType dtype = GetParam();
  std::vector<PlannedProgram> programs;
  std::vector<Numerics> numerics_of;
  std::vector<std::vector<Tensor>> inputs;
  std::vector<std::vector<double>> wanted;
  for (const Sample& sample : samples()) {
    const Graph source = parse_graph(text_of(sample, std::string(dtype_name(dtype))), sample.name);
    inputs.push_back(random_inputs(source, sample.sizes, 11));
    if (inputs.back().size() > 3) hide_rows(inputs.back()[3]);
    const Tensor evaluated = evaluate(source, inputs.back(), Precision::per_op)[0];
    wanted.push_back(oracle(sample, inputs.back(), evaluated.shape()));
    expect_near(evaluated, wanted.back(), bound_of(dtype, Numerics::exact),
                sample.name + ", evaluator");
    expect_near(evaluate(source, inputs.back(), Precision::wide)[0], wanted.back(), 1e-13,
                sample.name + ", float64");
    const Graph graph = run_graph_passes(source);
    for (const FusionMode mode : modes) {
      for (const Numerics numerics : {Numerics::exact, Numerics::wide, Numerics::fast}) {
        PlanOptions options;
        options.fusion = mode;
        options.numerics = numerics;
        options.sizes = sample.sizes;
        programs.push_back({graph, make_plan(graph, device_model("cpu"), options)});
        numerics_of.push_back(numerics);
      }
    }
  }
  const std::vector<CompiledProgram> compiled = compile_programs(programs, "");
  const size_t each = programs.size() / samples().size();
  for (size_t i = 0; i < compiled.size(); ++i) {
    const std::string where = fmt::format("{}, program {}", samples()[i / each].name, i % each);
    expect_near(run(compiled[i].executable(2), inputs[i / each])[0], wanted[i / each],
                bound_of(dtype, numerics_of[i]), where);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, Attention,
                         ::testing::Values(DType::f32, DType::f64, DType::bf16, DType::f16),
                         [](const ::testing::TestParamInfo<DType>& dtype) {
                           return std::string(dtype_name(dtype.param));
                         });

}  // namespace
}  // namespace ingot::testing
