// A chain of functions of one value as one polynomial: Chebyshev interpolation in the range of the
// value, of the least degree that is good enough.
#include <algorithm>
#include <cmath>
#include <map>

#include "graph/value_range.h"
#include "plan/narrow.h"

namespace ingot {
namespace {

constexpr int samples = 2000;

double value_of(const Graph& graph, const Chain& chain, double x) {
  std::map<NodeId, double> values{{chain.base, x}};
  for (NodeId id : chain.nodes) {
    std::vector<double> operands;
    for (NodeId operand : graph[id].operands) {
      const auto literal = literal_value(graph[operand]);
      operands.push_back(literal ? *literal : values.at(operand));
    }
    values[id] = value_at(graph[id], operands);
  }
  return values.at(chain.nodes.back());
}

// Coefficients in x, highest first, of the polynomial through the chain's values at the zeros of a
// Chebyshev polynomial: Newton's divided differences, multiplied out.
std::vector<double> interpolated(const Graph& graph, const Chain& chain, double low, double high,
                                 int count) {
  std::vector<double> at, difference;
  for (int i = 0; i < count; ++i) {
    const double zero = std::cos(M_PI * (i + 0.5) / count);
    at.push_back((low + high) / 2 + (high - low) / 2 * zero);
    difference.push_back(value_of(graph, chain, at.back()));
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

}  // namespace

std::vector<double> collapse(const Graph& graph, const Chain& chain, double low, double high,
                             double* error) {
  std::vector<double> want;
  double largest = 0;
  const auto sample = [&](int i) { return static_cast<float>(low + (high - low) * i / samples); };
  for (int i = 0; i <= samples; ++i) {
    want.push_back(value_of(graph, chain, static_cast<double>(sample(i))));
    largest = std::max(largest, std::fabs(want.back()));
  }
  if (!std::isfinite(largest)) return {};
  for (int count = 2; count <= most_coefficients; ++count) {
    const std::vector<double> coefficients = interpolated(graph, chain, low, high, count);
    *error = 0;
    for (int i = 0; i <= samples; ++i) {
      const double got = static_cast<double>(horner(coefficients, sample(i)));
      *error = std::max(*error, std::fabs(got - want[static_cast<size_t>(i)]));
    }
    if (*error <= collapse_error * largest) return coefficients;
  }
  return {};
}

}  // namespace ingot
