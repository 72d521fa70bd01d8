#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"

namespace ingot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool same_bits(const Tensor& a, const Tensor& b, int64_t i) {
  const size_t size = static_cast<size_t>(byte_size(a.dtype()));
  const size_t at = static_cast<size_t>(i) * size;
  if (std::memcmp(a.data() + at, b.data() + at, size) == 0) {
    return true;
  }
  return is_float(a.dtype()) && std::isnan(a.get_f64(i)) && std::isnan(b.get_f64(i));
}

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double difference(double expected, double got) {
  if (same_value(expected, got)) {
    return 0;
  }
  const double error = std::abs(expected - got);
  return std::isnan(error) ? infinity : error;
}

double number_at(const Tensor& tensor, int64_t i) {
  return is_float(tensor.dtype()) ? tensor.get_f64(i) : static_cast<double>(tensor.get_i64(i));
}

bool all_bits_equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.bytes() == b.bytes() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

}  // namespace

Comparison compare(const Tensor& expected, const Tensor& got) {
  Comparison result;
  if (all_bits_equal(expected, got)) {
    return result;
  }
  const bool same_type = expected.dtype() == got.dtype();
  for (int64_t i = 0; i < got.size(); ++i) {
    const double want = number_at(expected, i), have = number_at(got, i);
    const bool equal = same_type ? same_bits(expected, got, i) : same_value(want, have);
    if (equal) {
      continue;
    }
    result.identical = false;
    if (result.mismatches++ == 0) {
      result.first_mismatch = i;
    }
    const double error = difference(want, have);
    result.max_abs_error = std::max(result.max_abs_error, error);
    if (want != 0 && !std::isnan(want)) {
      result.max_rel_error =
          std::max(result.max_rel_error, std::isinf(want) ? error : error / std::abs(want));
    }
  }
  return result;
}

Comparison worse(const Comparison& a, const Comparison& b) {
  Comparison result = a.identical ? b : a;
  result.identical = a.identical && b.identical;
  result.mismatches = a.mismatches + b.mismatches;
  result.max_abs_error = std::max(a.max_abs_error, b.max_abs_error);
  result.max_rel_error = std::max(a.max_rel_error, b.max_rel_error);
  return result;
}

std::optional<int64_t> first_beyond(const Tensor& expected, const Tensor& got, double rtol,
                                    double atol) {
  if (all_bits_equal(expected, got)) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < got.size(); ++i) {
    const double want = number_at(expected, i);
    const double bound = std::isfinite(want) ? atol + rtol * std::abs(want) : 0;
    if (difference(want, number_at(got, i)) > bound) {
      return i;
    }
  }
  return std::nullopt;
}

std::string index_text(const std::vector<int64_t>& shape, int64_t flat) {
  std::vector<std::string> parts(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    parts[d] = std::to_string(flat % shape[d]);
    flat /= shape[d];
  }
  return "[" + join(parts, ", ") + "]";
}

std::string element_text(const Tensor& tensor, int64_t flat) {
  if (!is_float(tensor.dtype())) {
    return std::to_string(tensor.get_i64(flat));
  }
  uint64_t bits = 0;
  const size_t size = static_cast<size_t>(byte_size(tensor.dtype()));
  std::memcpy(&bits, tensor.data() + static_cast<size_t>(flat) * size, size);
  return fmt::format("{} (0x{:0{}x})", number_text(tensor.get_f64(flat)), bits, 2 * size);
}

}  // namespace ingot
