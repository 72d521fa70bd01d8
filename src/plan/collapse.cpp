// A chain of functions of one value as one polynomial: Chebyshev interpolation in the range of the
// value, of the least degree that is good enough.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "graph/value_range.h"
#include "op/apply.h"
#include "plan/narrow.h"

namespace ingot {
namespace {

constexpr int samples = 512, few_samples = 32;

// The chain as a function of its base, made once for many values.
class Function {
 public:
  Function(const Graph& graph, const Chain& chain) {
    std::map<NodeId, size_t> places{{chain.base, 0}};
    for (NodeId id : chain.nodes) {
      const Node& node = graph[id];
      Step step{formula<double>(node.op), real_attrs(node), {}, {}};
      step.place.fill(literal_place);
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const auto literal = literal_value(graph[node.operands[i]]);
        step.literal[i] = literal.value_or(0);
        step.place[i] = literal ? literal_place : places.at(node.operands[i]);
      }
      steps_.push_back(step);
      places[id] = steps_.size();
    }
    values_.resize(steps_.size() + 1);
  }
  double operator()(double x) {
    values_[0] = x;
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      std::array<double, 3> at = step.literal;
      for (size_t i = 0; i < 3; ++i) {
        if (step.place[i] != literal_place) at[i] = values_[step.place[i]];
      }
      const auto& [p, q, r] = step.attrs;
      values_[s + 1] = step.formula(at[0], at[1], at[2], p, q, r);
    }
    return values_.back();
  }

 private:
  static constexpr size_t literal_place = static_cast<size_t>(-1);
  struct Step {
    Formula<double> formula;
    std::array<double, 3> attrs, literal;
    std::array<size_t, 3> place;
  };
  std::vector<Step> steps_;
  std::vector<double> values_;
};

// Coefficients in x, highest first, of the polynomial through the chain's values at the zeros of a
// Chebyshev polynomial: Newton's divided differences, multiplied out.
std::vector<double> interpolated(Function& function, double low, double high, int count) {
  std::vector<double> at, difference;
  for (int i = 0; i < count; ++i) {
    const double zero = std::cos(M_PI * (i + 0.5) / count);
    at.push_back((low + high) / 2 + (high - low) / 2 * zero);
    difference.push_back(function(at.back()));
  }
  for (int order = 1; order < count; ++order) {
    for (int i = count - 1; i >= order; --i) {
      const auto k = static_cast<size_t>(i);
      difference[k] =
          (difference[k] - difference[k - 1]) / (at[k] - at[k - static_cast<size_t>(order)]);
    }
  }
  std::vector<double> coefficients;  // lowest first
  for (size_t i = difference.size(); i-- > 0;) {
    coefficients.insert(coefficients.begin(), 0);
    for (size_t k = 0; k + 1 < coefficients.size(); ++k) {
      coefficients[k] -= at[i] * coefficients[k + 1];
    }
    coefficients[0] += difference[i];
  }
  std::ranges::reverse(coefficients);
  return coefficients;
}

// As the kernel computes it.
float horner(const std::vector<double>& coefficients, float x) {
  auto y = static_cast<float>(coefficients[0]);
  for (size_t i = 1; i < coefficients.size(); ++i) {
    y = std::fma(y, x, static_cast<float>(coefficients[i]));
  }
  return y;
}

// The chain at places that divide its range evenly.
struct Samples {
  std::vector<float> at;
  std::vector<double> want;
  double largest = 0;  // magnitude; not finite where one is not

  Samples(Function& function, double low, double high, int parts) {
    for (int i = 0; i <= parts; ++i) {
      at.push_back(static_cast<float>(low + (high - low) * i / parts));
      want.push_back(function(static_cast<double>(at.back())));
      const double magnitude = std::fabs(want.back());
      largest = std::isfinite(magnitude) ? std::max(largest, magnitude) : magnitude;
      if (!std::isfinite(largest)) return;
    }
  }
  // Infinite where the polynomial is not a number, as with coefficients beyond f32.
  double error_of(const std::vector<double>& coefficients) const {
    double error = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      const double got = static_cast<double>(horner(coefficients, at[i]));
      if (!std::isfinite(got)) return std::numeric_limits<double>::infinity();
      error = std::max(error, std::fabs(got - want[i]));
    }
    return error;
  }
};

}  // namespace

std::vector<double> collapse(const Graph& graph, const Chain& chain, double low, double high,
                             double* error) {
  Function function(graph, chain);
  // Most chains that cannot be collapsed are known by a few samples.
  const Samples few(function, low, high, few_samples);
  if (!std::isfinite(few.largest)) return {};
  const std::vector<double> longest = interpolated(function, low, high, most_coefficients);
  if (!(few.error_of(longest) <= collapse_error * few.largest)) return {};
  const Samples all(function, low, high, samples);
  if (!std::isfinite(all.largest)) return {};
  for (int count = 2; count <= most_coefficients; ++count) {
    const std::vector<double> coefficients = interpolated(function, low, high, count);
    if (!(few.error_of(coefficients) <= collapse_error * all.largest)) continue;
    *error = all.error_of(coefficients);
    if (*error <= collapse_error * all.largest) return coefficients;
  }
  return {};
}

}  // namespace ingot
