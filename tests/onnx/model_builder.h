// ONNX models for tests, built in memory.
#pragma once

#include <cstring>
#include <string>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "onnx/import.h"
#include "onnx/onnx.pb.h"

namespace ingot::testing {

inline int onnx_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return onnx::TensorProto::BOOL;
    case DType::i32:
      return onnx::TensorProto::INT32;
    case DType::i64:
      return onnx::TensorProto::INT64;
    case DType::u8:
      return onnx::TensorProto::UINT8;
    case DType::i8:
      return onnx::TensorProto::INT8;
    case DType::i16:
      return onnx::TensorProto::INT16;
    case DType::u16:
      return onnx::TensorProto::UINT16;
    case DType::u32:
      return onnx::TensorProto::UINT32;
    case DType::u64:
      return onnx::TensorProto::UINT64;
    case DType::f8e4m3:
      return 17;  // FLOAT8E4M3FN, which older headers do not name
    case DType::f8e5m2:
      return 19;
    case DType::f16:
      return onnx::TensorProto::FLOAT16;
    case DType::bf16:
      return onnx::TensorProto::BFLOAT16;
    case DType::f32:
      return onnx::TensorProto::FLOAT;
    case DType::f64:
      return onnx::TensorProto::DOUBLE;
  }
  return 0;
}

inline onnx::TensorProto tensor_proto(const Tensor& value, const std::string& name = {}) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx_type(value.dtype()));
  for (int64_t size : value.shape()) proto.add_dims(size);
  proto.set_raw_data(value.data(), static_cast<size_t>(value.bytes()));
  return proto;
}

// An attribute of the type of its value.
struct Attr {
  onnx::AttributeProto proto;
  Attr(const std::string& name, int value) : Attr(name, onnx::AttributeProto::INT) {
    proto.set_i(value);
  }
  Attr(const std::string& name, double value) : Attr(name, onnx::AttributeProto::FLOAT) {
    proto.set_f(static_cast<float>(value));
  }
  Attr(const std::string& name, const char* value) : Attr(name, onnx::AttributeProto::STRING) {
    proto.set_s(value);
  }
  Attr(const std::string& name, const std::vector<int64_t>& values)
      : Attr(name, onnx::AttributeProto::INTS) {
    for (int64_t value : values) proto.add_ints(value);
  }
  Attr(const std::string& name, const Tensor& value) : Attr(name, onnx::AttributeProto::TENSOR) {
    *proto.mutable_t() = tensor_proto(value);
  }

 private:
  Attr(const std::string& name, onnx::AttributeProto::AttributeType type) {
    proto.set_name(name);
    proto.set_type(type);
  }
};

using Dim = std::variant<int, const char*>;  // a size, a name, or "" for neither

struct Model {
  onnx::ModelProto proto;

  explicit Model(int opset) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }
  onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  Model& input(const std::string& name, DType dtype, const std::vector<Dim>& dims) {
    auto* info = graph().add_input();
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx_type(dtype));
    auto* shape = type->mutable_shape();
    for (const Dim& dim : dims) {
      auto* added = shape->add_dim();
      if (const int* size = std::get_if<int>(&dim)) added->set_dim_value(*size);
      if (const char* const* text = std::get_if<const char*>(&dim)) added->set_dim_param(*text);
    }
    return *this;
  }
  Model& initializer(const std::string& name, const Tensor& value) {
    *graph().add_initializer() = tensor_proto(value, name);
    return *this;
  }
  Model& integers(const std::string& name, const std::vector<int64_t>& values) {
    Tensor value(DType::i64, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) value.set_i64(static_cast<int64_t>(i), values[i]);
    return initializer(name, value);
  }
  Model& node(const std::string& op, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs, const std::vector<Attr>& attrs = {},
              const std::string& name = {}) {
    auto* added = graph().add_node();
    added->set_op_type(op);
    added->set_name(name);
    for (const std::string& input : inputs) added->add_input(input);
    for (const std::string& output : outputs) added->add_output(output);
    for (const Attr& attr : attrs) *added->add_attribute() = attr.proto;
    return *this;
  }
  Model& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  Model& output(const std::string& name, DType dtype, const std::vector<Dim>& dims) {
    input(name, dtype, dims);
    graph().mutable_output()->AddAllocated(graph().mutable_input()->ReleaseLast());
    return *this;
  }
  Graph import(const std::string& path = "test.onnx") const {
    return import_onnx_bytes(proto.SerializeAsString(), path);
  }
};

}  // namespace ingot::testing
