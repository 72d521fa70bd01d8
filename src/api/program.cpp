// Program: built op by op, or read from text or ONNX; printed and evaluated.

#include <algorithm>

#include "api/state.h"
#include "base/float_environment.h"
#include "base/tensor_copy.h"
#include "base/text.h"
#include "graph/evaluate.h"
#include "onnx/import.h"

namespace ingot {
namespace {

Sym parse_dim(const std::string& text) {
  Cursor cursor("<dimension>", text);
  Sym size = Sym::parse(cursor);
  if (!cursor.at_end()) {
    throw Error(ErrorKind::input, fmt::format("dimension '{}': expected a number, a name or an "
                                              "expression such as 2*B",
                                              text));
  }
  return size;
}

Shape parse_dims(const Dims& dims) {
  Shape shape;
  for (const Dim& dim : dims) {
    shape.push_back(parse_dim(dim.text));
  }
  return shape;
}

std::string_view type_words(AttrType type) {
  switch (type) {
    case AttrType::boolean:
      return "true or false";
    case AttrType::integer:
      return "an integer";
    case AttrType::real:
      return "a number";
    case AttrType::text:
      return "a text";
    case AttrType::dtype:
      return "a dtype";
    case AttrType::sizes:
      return "a list of dimensions";
  }
  return "";
}

// The attribute in the form that the op's row asks for; nullopt if it is of another type.
std::optional<AttrValue> convert_attribute(AttrType type, const Attribute& value) {
  const int64_t* wide = std::get_if<int64_t>(&value);
  const int* narrow = std::get_if<int>(&value);
  const std::optional<int64_t> integer = wide != nullptr     ? std::optional<int64_t>(*wide)
                                         : narrow != nullptr ? std::optional<int64_t>(*narrow)
                                                             : std::nullopt;
  switch (type) {
    case AttrType::boolean:
      if (const bool* flag = std::get_if<bool>(&value)) return AttrValue(*flag);
      return std::nullopt;
    case AttrType::integer:
      if (integer) return AttrValue(*integer);
      return std::nullopt;
    case AttrType::real:
      if (const double* real = std::get_if<double>(&value)) return AttrValue(*real);
      if (integer) return AttrValue(static_cast<double>(*integer));
      return std::nullopt;
    case AttrType::text:
      if (const std::string* text = std::get_if<std::string>(&value)) return AttrValue(*text);
      return std::nullopt;
    case AttrType::dtype:
      if (const DType* dtype = std::get_if<DType>(&value)) return AttrValue(*dtype);
      return std::nullopt;
    case AttrType::sizes:
      if (const Dims* dims = std::get_if<Dims>(&value)) return AttrValue(parse_dims(*dims));
      return std::nullopt;
  }
  return std::nullopt;
}

Attrs convert_attributes(const OpInfo& info, const Attributes& attributes) {
  Attrs attrs;
  for (const auto& [name, value] : attributes) {
    const auto row = std::find_if(info.attrs.begin(), info.attrs.end(),
                                  [&](const AttrInfo& attr) { return attr.name == name; });
    if (row == info.attrs.end()) {
      std::vector<std::string> known;
      for (const AttrInfo& attr : info.attrs) {
        known.emplace_back(attr.name);
      }
      throw Error(ErrorKind::input,
                  fmt::format("{}: no attribute '{}'; {}", info.name, name,
                              known.empty() ? "it has none" : "it has " + join(known, ", ")));
    }
    std::optional<AttrValue> converted = convert_attribute(row->type, value);
    if (!converted) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: attribute {} takes {}", info.name, name, type_words(row->type)));
    }
    attrs.emplace(name, std::move(*converted));
  }
  return attrs;
}

const OpInfo& require_op(std::string_view name) {
  const OpInfo* info = find_op(name);
  if (info == nullptr) {
    throw Error(ErrorKind::input, fmt::format("no op is named '{}'; did you mean '{}'?", name,
                                              nearest_op_name(name)));
  }
  if (info->op == Op::input || info->op == Op::constant) {
    throw Error(ErrorKind::input,
                fmt::format("'{}' is no op to call: use Program::{}", name, name));
  }
  return *info;
}

GraphBuilder& require_builder(std::optional<GraphBuilder>& builder) {
  if (!builder) {
    throw Error(ErrorKind::input, "a program that was read from a file cannot be extended");
  }
  return *builder;
}

void require_value(GraphBuilder& builder, Value value, std::string_view where) {
  if (value.id < 0 || static_cast<size_t>(value.id) >= builder.graph().nodes.size()) {
    throw Error(ErrorKind::input, fmt::format("{}: the value is not of this program", where));
  }
}

Port port_of(std::string name, const TensorType& type) {
  Port port{std::move(name), type.dtype, {}};
  for (const Sym& size : type.shape) {
    port.shape.push_back(size.text());
  }
  return port;
}

bool ends_with(const std::string& path, std::string_view ending) {
  return path.size() >= ending.size() &&
         path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
}

// A Tensor() has the shape of one element and none, and so has one that was moved from.
void require_data(const Tensor& tensor, std::string_view where) {
  if (tensor.data() == nullptr) {
    throw Error(ErrorKind::input,
                fmt::format("{}: the tensor has no data; Tensor(dtype, shape) makes one", where));
  }
}

}  // namespace

Program::Program(std::string name) : state_(std::make_unique<State>()) {
  state().builder.emplace(std::move(name));
}
Program::Program(Program&&) noexcept = default;
Program::Program(const Program& other) : state_(std::make_unique<State>(other.state())) {}
Program& Program::operator=(Program&&) noexcept = default;

Program::State& Program::state() const {
  if (!state_) throw Error(ErrorKind::input, "a program that was moved from cannot be used");
  return *state_;
}
Program::~Program() = default;

Value Program::input(std::string name, DType dtype, Dims shape) {
  return {require_builder(state().builder).input(std::move(name), dtype, parse_dims(shape))};
}

Value Program::constant(Tensor value, std::string name) {
  require_data(value, "constant");
  return {require_builder(state().builder).constant(own_copy(value), std::move(name))};
}

Value Program::literal(DType dtype, double value) {
  const DefaultFloatEnvironment defaults;
  Tensor held(dtype, {});
  held.set_f64(0, value);
  const bool is_held = is_float(dtype) || held.get_f64(0) == value;
  if (!is_held) {
    throw Error(ErrorKind::input, fmt::format("literal: {} is no {}", value, dtype_name(dtype)));
  }
  return {require_builder(state().builder).literal(dtype, value)};
}

Value Program::op(std::string_view name, std::vector<Value> operands, Attributes attributes,
                  std::string result_name) {
  GraphBuilder& builder = require_builder(state().builder);
  // As in text: gelu's two forms are one name with an attribute.
  if (const auto form = attributes.find("approximate");
      name == "gelu" && form != attributes.end()) {
    const std::string* const word = std::get_if<std::string>(&form->second);
    const std::string form_name = word == nullptr ? "a number" : *word;
    const std::optional<Op> op = gelu_form(form_name);
    if (!op) throw Error(ErrorKind::input, gelu_form_error(form_name));
    name = op_name(*op);
    attributes.erase(form);
  }
  const OpInfo& info = require_op(name);
  std::vector<NodeId> ids;
  for (const Value operand : operands) {
    require_value(builder, operand, name);
    ids.push_back(operand.id);
  }
  return {builder.add(info.op, std::move(ids), convert_attributes(info, attributes),
                      std::move(result_name))};
}

void Program::output(Value value, std::string name) {
  GraphBuilder& builder = require_builder(state().builder);
  require_value(builder, value, "output");
  builder.output(value.id, std::move(name));
}

Program Program::load(const std::string& path) {
  const DefaultFloatEnvironment defaults;
  Program program("");
  program.state().builder.reset();
  if (ends_with(path, ".onnx")) {
    program.state().graph = import_onnx(path);
  } else if (ends_with(path, ".ingot")) {
    program.state().graph = parse_graph(read_file(path), path);
  } else {
    throw Error(ErrorKind::input,
                fmt::format("{}: a program's file ends in .ingot (text) or .onnx", path));
  }
  return program;
}

Program Program::parse(std::string_view text, const std::string& file) {
  const DefaultFloatEnvironment defaults;
  Program program("");
  program.state().builder.reset();
  program.state().graph = parse_graph(text, file);
  return program;
}

std::vector<Tensor> Program::evaluate(const std::vector<Tensor>& inputs, bool float64) const {
  for (const Tensor& input : inputs) require_data(input, "evaluate");
  return ingot::evaluate(state().finished(), inputs, float64 ? Precision::wide : Precision::per_op);
}

std::vector<Port> Program::inputs() const {
  const Graph& graph = state().current();
  std::vector<Port> ports;
  for (const NodeId id : graph.inputs) {
    ports.push_back(port_of(graph[id].name, graph[id].type));
  }
  return ports;
}

std::vector<Port> Program::outputs() const {
  const Graph graph = state().finished();
  std::vector<Port> ports;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    ports.push_back(port_of(graph.output_names[i], graph[graph.outputs[i]].type));
  }
  return ports;
}

std::vector<std::string> Program::size_names() const {
  return ingot::size_names(state().current());
}

std::string Program::name() const { return state().current().name; }

std::string Program::print() const { return ingot::print(state().finished()); }

}  // namespace ingot
