#include "base/error.h"
#include "base/text.h"
#include "onnx/import.h"
#include "onnx/model.h"

namespace ingot {

Tensor import_onnx_tensor(const std::string& path) {
  const onnx_model::FileTensor tensor = onnx_model::read_tensor_file(read_file(path), path);
  if (tensor.data == nullptr) {
    Location location;
    location.file = path;
    fail_unsupported(location, fmt::format("a tensor of {} is not supported", tensor.type_name));
  }
  return *tensor.data;
}

}  // namespace ingot
