// An ONNX file as plain data: what read_model.cpp takes over from the protobuf classes, so that
// nothing else has to know them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tensor.h"

namespace ingot::onnx_model {

// A tensor of the file; without data where its element type is not supported.
struct FileTensor {
  std::string name;
  std::shared_ptr<const Tensor> data;
  std::string type_name;  // "INT8": for messages
};

// An attribute of a type that no supported op has: a graph, a sparse tensor, a type.
struct OtherAttribute {
  std::string type_name;
};

using Attribute =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                 std::vector<std::string>, FileTensor, OtherAttribute>;

struct FileNode {
  std::string op_type;
  std::string domain;  // empty: ONNX's own
  std::string name;    // never empty: the first output's name where the file gives none
  std::vector<std::string> inputs, outputs;  // empty names: left out
  std::map<std::string, Attribute> attributes;
};

// A number, a name, or nothing.
using FileDim = std::variant<std::monostate, int64_t, std::string>;

struct FileValue {
  std::string name;
  std::optional<DType> dtype;
  std::string type_name;
  std::optional<std::vector<FileDim>> dims;
};

struct FileModel {
  std::string graph_name;
  int64_t opset = 0;
  std::vector<FileValue> inputs, outputs;
  std::map<std::string, FileTensor> initializers;
  std::vector<std::string> sparse_initializers;
  std::vector<FileNode> nodes;
};

// Error{input} where the bytes are no ONNX model, or one that contradicts itself. External data is
// read from files beside `path`.
FileModel read_model(std::string_view bytes, const std::string& path);

// A file that holds one TensorProto.
FileTensor read_tensor_file(std::string_view bytes, const std::string& path);

// The element type of ONNX's number for it, e.g. 1 = FLOAT; nullopt if ingot has none like it.
std::optional<DType> dtype_of(int64_t onnx_type);
std::string type_name_of(int64_t onnx_type);

}  // namespace ingot::onnx_model
