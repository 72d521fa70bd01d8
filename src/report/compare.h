// Two tensors compared: bits (NaN payload and sign excepted) and errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/tensor.h"

namespace ingot {

struct Comparison {
  bool identical = true;
  int64_t mismatches = 0;       // elements of other bits
  int64_t first_mismatch = -1;  // flat index
  double max_abs_error = 0;     // inf where one is NaN or an infinity and the other is not
  double max_rel_error = 0;     // of |expected|, where that is not 0
};

// Same shape; `expected` of the same dtype, or f64 (then `identical` compares values).
Comparison compare(const Tensor& expected, const Tensor& got);
Comparison worse(const Comparison& a, const Comparison& b);

// First element with |expected - got| > atol + rtol · |expected|; NaN equals NaN.
std::optional<int64_t> first_beyond(const Tensor& expected, const Tensor& got, double rtol,
                                    double atol);

std::string index_text(const std::vector<int64_t>& shape, int64_t flat);  // "[3, 17]"
std::string element_text(const Tensor& tensor, int64_t flat);  // with hex bits for floats

}  // namespace ingot
