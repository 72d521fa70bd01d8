#include "onnx/model.h"

#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "onnx/onnx.pb.h"

namespace ingot::onnx_model {
namespace {

[[noreturn]] void fail(const std::string& path, std::string message) {
  Location location;
  location.file = path;
  fail_input(location, std::move(message));
}

std::vector<int64_t> checked_dims(const onnx::TensorProto& proto, const std::string& path) {
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  int64_t count = 16;  // bytes of the largest element and one bit to spare
  for (int64_t dim : dims) {
    if (dim < 0) {
      fail(path, fmt::format("tensor {}: negative dimension {}", proto.name(), dim));
    }
    if (dim > 0 && __builtin_mul_overflow(count, dim, &count)) {
      fail(path, fmt::format("tensor {}: its byte count overflows 64 bits", proto.name()));
    }
  }
  return dims;
}

int64_t element_count(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

int64_t external_number(const std::string& text, const std::string& name, const std::string& path) {
  int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9' || value > (int64_t{1} << 58)) {
      fail(path, fmt::format("tensor {}: external data: '{}' is no byte count", name, text));
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

// Whether the file, all links followed, lies in the folder of the model or in the one that the
// model's own link leads to.
bool lies_beside(const std::string& file, const std::string& model) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real_file = fs::canonical(file, error);
  if (error) return false;
  const fs::path own = fs::path(model).parent_path();
  for (const fs::path& folder :
       {fs::canonical(own.empty() ? "." : own, error), fs::canonical(model, error).parent_path()}) {
    const fs::path inside = real_file.lexically_relative(folder);
    if (!folder.empty() && !inside.empty() && *inside.begin() != "..") return true;
  }
  return false;
}

// Bytes of a tensor that lie in another file of the model's folder.
std::string external_bytes(const onnx::TensorProto& proto, int64_t bytes, const std::string& path) {
  std::string location;
  int64_t offset = 0, length = bytes;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = external_number(entry.value(), proto.name(), path);
    if (entry.key() == "length") length = external_number(entry.value(), proto.name(), path);
  }
  // A model may not read files from anywhere else, through a link neither.
  if (location.empty() || location.front() == '/' || location.find("..") != std::string::npos) {
    fail(path, fmt::format("tensor {}: external data in '{}': not a file of the model's folder",
                           proto.name(), location));
  }
  size_t slash = path.rfind('/');
  std::string file = (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + location;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) {
    fail(path, fmt::format("tensor {}: its external data is missing: {}", proto.name(), file));
  }
  if (!lies_beside(file, path) || !std::filesystem::is_regular_file(file)) {
    fail(path, fmt::format("tensor {}: external data in '{}': its link leads to no file of the "
                           "model's folder",
                           proto.name(), location));
  }
  if (length != bytes || static_cast<int64_t>(in.tellg()) - offset < bytes) {
    fail(path,
         fmt::format("tensor {}: needs {} bytes of external data; {} has {} from byte {}",
                     proto.name(), bytes, file,
                     std::max<int64_t>(0, static_cast<int64_t>(in.tellg()) - offset), offset));
  }
  std::string data(static_cast<size_t>(bytes), '\0');
  in.seekg(offset);
  in.read(data.data(), bytes);
  if (!in) fail(path, fmt::format("tensor {}: cannot read {}", proto.name(), file));
  return data;
}

template <class Field>
void check_count(const Field& field, int64_t count, const onnx::TensorProto& proto,
                 const std::string& path) {
  if (field.size() != count) {
    fail(path, fmt::format("tensor {}: its shape has {} elements, the file {}", proto.name(), count,
                           field.size()));
  }
}

// A number of int32_data has to be one of the tensor's type, or the bits of one.
void check_range(const onnx::TensorProto& proto, int32_t least, int32_t most,
                 const std::string& path) {
  for (const int32_t value : proto.int32_data()) {
    if (value >= least && value <= most) continue;
    fail(path, fmt::format("tensor {}: {} in its int32_data is no {}: {} to {}", proto.name(),
                           value, type_name_of(proto.data_type()), least, most));
  }
}

// From the typed fields: small types share int32_data, each element in a number of its own.
void copy_fields(const onnx::TensorProto& proto, Tensor& tensor, const std::string& path) {
  int64_t n = tensor.size();
  auto copy = [&](const auto& field, auto* to) {
    check_count(field, n, proto, path);
    for (int64_t i = 0; i < n; ++i) {
      to[i] = static_cast<std::remove_pointer_t<decltype(to)>>(field.Get(static_cast<int>(i)));
    }
  };
  switch (tensor.dtype()) {
    case DType::f32:
      return copy(proto.float_data(), tensor.as<float>());
    case DType::f64:
      return copy(proto.double_data(), tensor.as<double>());
    case DType::i64:
      return copy(proto.int64_data(), tensor.as<int64_t>());
    case DType::i32:
      return copy(proto.int32_data(), tensor.as<int32_t>());
    case DType::i8:
      check_range(proto, INT8_MIN, INT8_MAX, path);
      return copy(proto.int32_data(), tensor.as<uint8_t>());
    case DType::boolean:
      check_range(proto, 0, 1, path);
      return copy(proto.int32_data(), tensor.as<uint8_t>());
    case DType::u8:
    case DType::f8e4m3:
    case DType::f8e5m2:
      check_range(proto, 0, UINT8_MAX, path);
      return copy(proto.int32_data(), tensor.as<uint8_t>());
    case DType::u32:
      for (const uint64_t value : proto.uint64_data()) {
        if (value <= UINT32_MAX) continue;
        fail(path,
             fmt::format("tensor {}: {} in its uint64_data is no UINT32", proto.name(), value));
      }
      return copy(proto.uint64_data(), tensor.as<uint32_t>());
    case DType::u64:
      return copy(proto.uint64_data(), tensor.as<uint64_t>());
    case DType::i16:
      check_range(proto, INT16_MIN, INT16_MAX, path);
      return copy(proto.int32_data(), tensor.as<uint16_t>());
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      check_range(proto, 0, UINT16_MAX, path);
      return copy(proto.int32_data(), tensor.as<uint16_t>());
  }
}

// A tensor's elements stand in one place; with two there is no saying which is meant.
void check_one_place(const onnx::TensorProto& proto, const std::string& path) {
  const std::pair<bool, std::string_view> places[] = {
      {proto.data_location() == onnx::TensorProto::EXTERNAL, "external data"},
      {!proto.raw_data().empty(), "raw_data"},
      {proto.float_data_size() > 0, "float_data"},
      {proto.int32_data_size() > 0, "int32_data"},
      {proto.string_data_size() > 0, "string_data"},
      {proto.int64_data_size() > 0, "int64_data"},
      {proto.double_data_size() > 0, "double_data"},
      {proto.uint64_data_size() > 0, "uint64_data"}};
  std::string_view first;
  for (const auto& [used, name] : places) {
    if (!used) continue;
    if (!first.empty()) {
      fail(path, fmt::format("tensor {}: has elements in {} and in {}; they stand in one place",
                             proto.name(), first, name));
    }
    first = name;
  }
}

FileTensor read_tensor(const onnx::TensorProto& proto, const std::string& path) {
  FileTensor out{proto.name(), nullptr, type_name_of(proto.data_type())};
  std::optional<DType> dtype = dtype_of(proto.data_type());
  std::vector<int64_t> dims = checked_dims(proto, path);
  if (!dtype) return out;
  check_one_place(proto, path);
  if (proto.has_segment()) fail(path, fmt::format("tensor {}: has a segment", proto.name()));
  int64_t bytes = element_count(dims) * byte_size(*dtype);
  bool is_external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  bool is_raw = is_external || proto.has_raw_data();
  std::string external = is_external ? external_bytes(proto, bytes, path) : std::string();
  const std::string& raw = is_external ? external : proto.raw_data();
  if (is_raw && static_cast<int64_t>(raw.size()) != bytes) {
    fail(path, fmt::format("tensor {}: its shape needs {} bytes, the file has {}", proto.name(),
                           bytes, raw.size()));
  }
  // A hostile shape must not make us allocate more than the file can fill.
  int64_t fields =
      std::max({proto.float_data_size(), proto.int32_data_size(), proto.int64_data_size(),
                proto.double_data_size(), proto.uint64_data_size()});
  if (!is_raw && fields != element_count(dims)) {
    fail(path, fmt::format("tensor {}: its shape has {} elements, the file {}", proto.name(),
                           element_count(dims), fields));
  }
  auto tensor = std::make_shared<Tensor>(Tensor(*dtype, std::move(dims)));
  if (is_raw) {
    if (bytes > 0) std::memcpy(tensor->data(), raw.data(), static_cast<size_t>(bytes));
  } else {
    copy_fields(proto, *tensor, path);
  }
  if (*dtype == DType::boolean) {
    auto* values = tensor->as<uint8_t>();
    for (int64_t i = 0; i < tensor->size(); ++i) values[i] = values[i] != 0;
  }
  out.data = std::move(tensor);
  return out;
}

Attribute read_attribute(const onnx::AttributeProto& proto, const std::string& path) {
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      return proto.i();
    case onnx::AttributeProto::FLOAT:
      return static_cast<double>(proto.f());
    case onnx::AttributeProto::STRING:
      return proto.s();
    case onnx::AttributeProto::INTS:
      return std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
    case onnx::AttributeProto::FLOATS:
      return std::vector<double>(proto.floats().begin(), proto.floats().end());
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case onnx::AttributeProto::TENSOR:
      return read_tensor(proto.t(), path);
    default:
      return OtherAttribute{onnx::AttributeProto::AttributeType_Name(proto.type())};
  }
}

FileValue read_value(const onnx::ValueInfoProto& proto) {
  FileValue out{proto.name(), std::nullopt, "no tensor", std::nullopt};
  if (!proto.type().has_tensor_type()) return out;
  const auto& type = proto.type().tensor_type();
  out.dtype = dtype_of(type.elem_type());
  out.type_name = type_name_of(type.elem_type());
  if (!type.has_shape()) return out;
  out.dims.emplace();
  for (const auto& dim : type.shape().dim()) {
    if (dim.has_dim_value()) {
      out.dims->emplace_back(dim.dim_value());
    } else if (dim.has_dim_param() && !dim.dim_param().empty()) {
      out.dims->emplace_back(dim.dim_param());
    } else {
      out.dims->emplace_back(std::monostate{});
    }
  }
  return out;
}

FileNode read_node(const onnx::NodeProto& proto, size_t position, const std::string& path) {
  FileNode out;
  out.op_type = proto.op_type();
  out.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  out.inputs.assign(proto.input().begin(), proto.input().end());
  out.outputs.assign(proto.output().begin(), proto.output().end());
  out.name = proto.name();
  for (const std::string& output : out.outputs) {
    if (out.name.empty()) out.name = output;
  }
  if (out.name.empty()) out.name = fmt::format("{} (node {})", proto.op_type(), position);
  for (const auto& attribute : proto.attribute()) {
    out.attributes.emplace(attribute.name(), read_attribute(attribute, path));
  }
  return out;
}

// Of the standard domain; no domain may stand there with two versions.
int64_t opset_of(const onnx::ModelProto& model, const std::string& path) {
  std::map<std::string, int64_t> versions;
  for (const auto& opset : model.opset_import()) {
    const std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    const auto [found, added] = versions.emplace(domain, opset.version());
    if (added || found->second == opset.version()) continue;
    fail(path, fmt::format("the opset of domain '{}' is imported as {} and as {}",
                           domain.empty() ? "ai.onnx" : domain, found->second, opset.version()));
  }
  return versions[""];
}

}  // namespace

FileModel read_model(std::string_view bytes, const std::string& path) {
  if (bytes.size() > INT_MAX) fail(path, "an ONNX file has at most 2 GiB (without external data)");
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(path, "not an ONNX file, or a truncated one");
  }
  if (!model.has_graph()) fail(path, "not an ONNX file: it holds no graph");
  FileModel out;
  const onnx::GraphProto& graph = model.graph();
  out.graph_name = graph.name();
  out.opset = opset_of(model, path);
  for (const auto& input : graph.input()) out.inputs.push_back(read_value(input));
  for (const auto& output : graph.output()) out.outputs.push_back(read_value(output));
  for (const auto& tensor : graph.initializer()) {
    if (!out.initializers.emplace(tensor.name(), read_tensor(tensor, path)).second) {
      fail(path, fmt::format("initializer {} is defined twice", tensor.name()));
    }
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    out.sparse_initializers.push_back(tensor.values().name());
  }
  for (const auto& node : graph.node()) {
    out.nodes.push_back(read_node(node, out.nodes.size(), path));
  }
  return out;
}

FileTensor read_tensor_file(std::string_view bytes, const std::string& path) {
  if (bytes.size() > INT_MAX) fail(path, "an ONNX tensor file has at most 2 GiB");
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      proto.data_type() == onnx::TensorProto::UNDEFINED) {
    fail(path, "not an ONNX tensor file, or a truncated one");
  }
  return read_tensor(proto, path);
}

// TensorProto's numbers of opset 19, which older headers do not name.
constexpr int64_t float8_e4m3fn = 17, float8_e5m2 = 19;

std::optional<DType> dtype_of(int64_t onnx_type) {
  switch (onnx_type) {
    case onnx::TensorProto::BOOL:
      return DType::boolean;
    case onnx::TensorProto::INT32:
      return DType::i32;
    case onnx::TensorProto::INT64:
      return DType::i64;
    case onnx::TensorProto::UINT8:
      return DType::u8;
    case onnx::TensorProto::INT8:
      return DType::i8;
    case onnx::TensorProto::INT16:
      return DType::i16;
    case onnx::TensorProto::UINT16:
      return DType::u16;
    case onnx::TensorProto::UINT32:
      return DType::u32;
    case onnx::TensorProto::UINT64:
      return DType::u64;
    case float8_e4m3fn:
      return DType::f8e4m3;
    case float8_e5m2:
      return DType::f8e5m2;
    case onnx::TensorProto::FLOAT16:
      return DType::f16;
    case onnx::TensorProto::BFLOAT16:
      return DType::bf16;
    case onnx::TensorProto::FLOAT:
      return DType::f32;
    case onnx::TensorProto::DOUBLE:
      return DType::f64;
    default:
      return std::nullopt;
  }
}

std::string type_name_of(int64_t onnx_type) {
  bool is_known = onnx_type >= INT_MIN && onnx_type <= INT_MAX &&
                  onnx::TensorProto::DataType_IsValid(static_cast<int>(onnx_type));
  if (is_known) {
    return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(onnx_type));
  }
  constexpr std::string_view later[] = {
      // from 17 on, which older headers do not name
      "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",
      "INT4",         "FLOAT4E2M1",     "FLOAT8E8M0", "UINT2",          "INT2"};
  const int64_t place = onnx_type - 17;
  bool is_later = place >= 0 && place < static_cast<int64_t>(std::size(later));
  return is_later ? std::string(later[place]) : fmt::format("number {}", onnx_type);
}

}  // namespace ingot::onnx_model
