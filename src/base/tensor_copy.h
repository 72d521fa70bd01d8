// A tensor's copy shares its data; this one does not.
#pragma once

#include <cstring>

#include "base/tensor.h"

namespace ingot {

inline Tensor own_copy(const Tensor& tensor) {
  Tensor copy = Tensor::uninitialized(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0) {
    std::memcpy(copy.data(), tensor.data(), static_cast<size_t>(tensor.bytes()));
  }
  return copy;
}

}  // namespace ingot
