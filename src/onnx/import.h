// ONNX file → Graph.
#pragma once

#include "graph/graph.h"

namespace ingot {

// Opsets 7 to 23, each op in the form of its version. Shape arithmetic is folded into named sizes;
// a dynamic dimension keeps the file's name (or INPUT_i). Large initializers become constants named
// like the file's. Error{input}: not an ONNX file, a cycle, a missing input, an op or attribute
// that the file's opset does not have (with the node's name). Error{unsupported}: all unsupported
// ops, dtypes and attributes of the file at once.
Graph import_onnx(const std::string& path);
Graph import_onnx_bytes(std::string_view bytes, const std::string& path);

// A file that holds one TensorProto (.pb). Error{input}: not one; Error{unsupported}: its dtype.
Tensor import_onnx_tensor(const std::string& path);

// The ONNX ops that are imported, in alphabetical order.
std::vector<std::string> imported_onnx_ops();

}  // namespace ingot
