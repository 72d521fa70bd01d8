// What ONNX says of each op of its own domain: since which opset it exists, and how many inputs and
// outputs and which attributes each version has.
#pragma once

#include <optional>
#include <string>

#include "onnx/model.h"

namespace ingot::onnx_model {

// Why this opset has no such node: the op, an attribute, or the number of inputs or outputs.
// Nothing of ops that ONNX does not know.
std::optional<std::string> contradiction(const FileNode& node, int64_t opset);

}  // namespace ingot::onnx_model
