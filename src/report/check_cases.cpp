#include "report/check_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "report/report.h"

namespace ingot {
namespace {

constexpr int64_t tail_sizes[] = {0, 1, 3, 17, 65};
constexpr int64_t random_tail = 17;
constexpr double most_tail_elements = 1 << 20;
constexpr int64_t special_step = 3;  // every third element; no divisor of a vector's length

struct FloatLimits {
  double smallest, normal, largest;  // subnormal, normal, finite
};

FloatLimits float_limits(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {std::ldexp(1, -24), std::ldexp(1, -14), 65504};
    case DType::bf16:
      return {std::ldexp(1, -133), std::ldexp(1, -126), std::ldexp(255, 120)};
    case DType::f8e4m3:
      return {std::ldexp(1, -9), std::ldexp(1, -6), 448};
    case DType::f8e5m2:
      return {std::ldexp(1, -16), std::ldexp(1, -14), 57344};
    case DType::f64:
      return {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
              std::numeric_limits<double>::max()};
    default:
      return {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
              std::numeric_limits<float>::max()};
  }
}

std::vector<double> special_floats(DType dtype) {
  const FloatLimits limits = float_limits(dtype);
  const double inf = std::numeric_limits<double>::infinity();
  return {std::nan(""),
          inf,
          -inf,
          0.0,
          -0.0,
          limits.smallest,
          -limits.smallest,
          limits.normal / 2,
          limits.normal,
          1.0,
          -1.0,
          0.5,
          88.8,
          -104.0,
          1e-3,
          limits.largest,
          -limits.largest};
}

std::vector<int64_t> special_integers(DType dtype) {
  if (!is_integer(dtype)) return {0, 1};
  const IntegerLimits limits = integer_limits(dtype);
  const int64_t width = 8 * byte_size(dtype);
  if (is_unsigned(dtype)) {
    const int64_t half = static_cast<int64_t>(uint64_t{1} << (width - 1));
    return {0, 1, 2, width - 1, width, half - 1, half, limits.highest};
  }
  return {0, 1, -1, 2, width - 1, width, limits.lowest, limits.highest};
}

// Special values stand at every third place, shifted by the input, so that they meet ordinary
// values and each other.
void put_special_values(Tensor& tensor, size_t input) {
  const std::vector<double> floats = special_floats(tensor.dtype());
  const std::vector<int64_t> integers = special_integers(tensor.dtype());
  int64_t turn = static_cast<int64_t>(input);
  for (int64_t i = turn % special_step; i < tensor.size(); i += special_step, ++turn) {
    if (is_float(tensor.dtype())) {
      tensor.set_f64(i, floats[static_cast<size_t>(turn) % floats.size()]);
    } else {
      tensor.set_i64(i, integers[static_cast<size_t>(turn) % integers.size()]);
    }
  }
}

void hide_rows(Tensor& mask) {
  const int64_t row = mask.shape().empty() ? 1 : mask.shape().back();
  for (int64_t i = 0; i < mask.size(); ++i) {
    if (i / row % 3 == 0) {
      mask.set_i64(i, 0);
    }
  }
}

std::vector<Tensor> random_inputs(const Graph& graph, const Bindings& sizes) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    inputs.push_back(random_input(graph, i, sizes, 1, 1.0));
  }
  return inputs;
}

std::vector<Tensor> special_inputs(const Graph& graph, const Bindings& sizes) {
  std::vector<Tensor> inputs = random_inputs(graph, sizes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() == DType::boolean) {
      hide_rows(inputs[i]);
    } else if (!input_range(graph, graph.inputs[i], sizes).of_table) {
      put_special_values(inputs[i], i);
    }
  }
  return inputs;
}

std::string sizes_text(const Bindings& sizes) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : sizes) {
    parts.push_back(fmt::format("{} = {}", name, value));
  }
  return join(parts, ", ");
}

// Elements of the largest tensor, as a real number: some sizes together overflow.
double most_elements(const Graph& graph, const Bindings& sizes) {
  double most = 0;
  for (const Node& node : graph.nodes) {
    double elements = 1;
    for (const Sym& size : node.type.shape) {
      elements *= static_cast<double>(size.evaluate(sizes));
    }
    most = std::max(most, elements);
  }
  return most;
}

// All named sizes at once; where that makes tensors too large, one after the other beside small
// ones.
std::vector<Bindings> tails(const Graph& graph, const Bindings& sizes, int64_t size) {
  Bindings all, small;
  for (const auto& [name, value] : sizes) {
    all[name] = size;
    small[name] = std::min<int64_t>(value, 2);
  }
  if (most_elements(graph, all) <= most_tail_elements) return {all};
  std::vector<Bindings> one_by_one;
  for (const auto& [name, value] : sizes) {
    Bindings& tail = one_by_one.emplace_back(small);
    tail[name] = size;
    if (most_elements(graph, tail) > most_tail_elements) one_by_one.pop_back();
  }
  return one_by_one;
}

}  // namespace

std::vector<CheckCase> check_cases(const Graph& graph, const std::vector<Tensor>& given) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Tensor& tensor : given) {
    shapes.push_back(tensor.shape());
  }
  const Bindings sizes = bind_sizes(graph, shapes);
  std::vector<CheckCase> cases = {{"given inputs", sizes, given, false},
                                  {"special values", sizes, special_inputs(graph, sizes), true}};
  if (sizes.empty()) {
    return cases;
  }
  for (const int64_t size : tail_sizes) {
    for (const Bindings& tail : tails(graph, sizes, size)) {
      cases.push_back(
          {"special values, " + sizes_text(tail), tail, special_inputs(graph, tail), true});
    }
  }
  for (const Bindings& tail : tails(graph, sizes, random_tail)) {
    cases.push_back(
        {"random values, " + sizes_text(tail), tail, random_inputs(graph, tail), false});
  }
  return cases;
}

}  // namespace ingot
