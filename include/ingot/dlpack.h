// Tensors of other libraries, in place, by DLPack's DLManagedTensor (the struct without a version,
// as in a capsule "dltensor").
#pragma once

#include <ingot/tensor.h>

#include <vector>

struct DLManagedTensor;  // <dlpack/dlpack.h>

namespace ingot {

// The memory of a tensor on the CPU (or pinned for CUDA), which stays the other library's: its
// shape and strides in elements. Error{input}: another device, or a dtype that ingot has not.
TensorView view_of(const DLManagedTensor& tensor);

// The tensor's own memory, row-major on the CPU, for another library, which calls the deleter when
// it is done. Error{input} for f8e4m3 and f8e5m2, which DLPack before 1.1 has no code for.
DLManagedTensor* to_dlpack(Tensor tensor);

}  // namespace ingot
