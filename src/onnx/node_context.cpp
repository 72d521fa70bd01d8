#include <algorithm>

#include "base/text.h"
#include "onnx/importer.h"

namespace ingot::onnx_model {

Sym Importer::current(const Sym& size) const {
  if (size.constant()) return size;
  std::map<std::string, Sym, std::less<>> renamed;
  for (const auto& [id, shape] : declared_inputs) {
    for (size_t d = 0; d < shape.size(); ++d) {
      std::optional<std::string> name = shape[d].variable();
      const Sym& now = builder[id].type.shape[d];
      if (name && !(now == shape[d])) renamed.emplace(*name, now);
    }
  }
  return renamed.empty() ? size : size.substitute(renamed);
}

// A node with the data of a value that so far was only known: a constant, or sizes put together.
NodeId Importer::materialize(const std::string& name, const Location& location) {
  Value& value = values.at(name);
  if (value.node >= 0) return value.node;
  const Known& known = *value.known;
  bool is_constant =
      std::ranges::all_of(known.values, [](const Sym& s) { return s.constant().has_value(); });
  if (is_constant) return value.node = builder.constant(tensor_of(known), name, location);
  std::vector<NodeId> parts;
  bool is_scalar = known.shape.empty();
  for (size_t i = 0; i < known.values.size(); ++i) {
    std::string part = is_scalar ? name : fmt::format("{}.{}", name, i);
    NodeId id = builder.add(Op::size, {},
                            {{"value", std::vector<Sym>{known.values[i]}}, {"dtype", known.dtype}},
                            part, location);
    if (is_scalar) return value.node = id;
    parts.push_back(
        builder.add(Op::reshape, {id}, {{"shape", Shape{1}}}, part + ".element", location));
  }
  NodeId joined = builder.add(Op::concat, parts, {{"dim", int64_t{0}}}, name, location);
  if (known.shape.size() == 1) return value.node = joined;
  Shape shape(known.shape.begin(), known.shape.end());
  return value.node =
             builder.add(Op::reshape, {joined}, {{"shape", shape}}, name + ".shaped", location);
}

NodeContext::NodeContext(Importer& importer, const FileNode& node)
    : importer_(importer),
      node_(node),
      location_{.file = importer.path, .source_line = {}, .node = node.name} {}

void NodeContext::unsupported(std::string message) const {
  fail_unsupported(location_, fmt::format("{}: {}", node_.op_type, message));
}

void NodeContext::invalid(std::string message) const {
  fail_input(location_, fmt::format("{}: {}", node_.op_type, message));
}

NodeId NodeContext::input(size_t i) {
  if (!has_input(i)) invalid(fmt::format("input {} is missing", i));
  return importer_.materialize(node_.inputs[i], location_);
}

std::vector<NodeId> NodeContext::inputs() {
  std::vector<NodeId> out;
  for (size_t i = 0; i < input_count(); ++i) out.push_back(input(i));
  return out;
}

std::optional<Known> NodeContext::known(size_t i) const {
  if (!has_input(i)) return std::nullopt;
  const Value& value = importer_.values.at(node_.inputs[i]);
  if (value.known) {
    Known known = *value.known;
    for (Sym& element : known.values) element = importer_.current(element);
    return known;
  }
  const Node& node = importer_.builder[value.node];
  return node.data ? known_of(*node.data) : std::nullopt;
}

std::vector<Sym> NodeContext::sizes_input(size_t i, std::string_view what) const {
  if (!has_input(i)) invalid(fmt::format("{} is missing (input {})", what, i));
  std::optional<Known> known = this->known(i);
  if (!known) unsupported(fmt::format("{} computed at run time ({})", what, node_.inputs[i]));
  if (known->shape.size() > 1) invalid(fmt::format("{} is no list of numbers", what));
  return known->values;
}

std::vector<int64_t> NodeContext::integers_input(size_t i, std::string_view what) const {
  std::vector<int64_t> out;
  for (const Sym& value : sizes_input(i, what)) {
    if (!value.constant()) unsupported(fmt::format("{} that is {}", what, value.text()));
    out.push_back(*value.constant());
  }
  return out;
}

std::optional<double> NodeContext::number_input(size_t i) {
  return literal_value(graph_node(input(i)));
}

bool NodeContext::has_attr(std::string_view name) const {
  return node_.attributes.contains(std::string(name));
}

const Attribute* NodeContext::attr(std::string_view name) {
  read_attrs_.emplace(name);
  auto found = node_.attributes.find(std::string(name));
  return found == node_.attributes.end() ? nullptr : &found->second;
}

int64_t NodeContext::int_attr(std::string_view name, int64_t fallback) {
  const Attribute* found = attr(name);
  if (!found) return fallback;
  if (const auto* value = std::get_if<int64_t>(found)) return *value;
  invalid(fmt::format("attribute {} is no integer", name));
}

double NodeContext::float_attr(std::string_view name, double fallback) {
  const Attribute* found = attr(name);
  if (!found) return fallback;
  if (const auto* value = std::get_if<double>(found)) return *value;
  if (const auto* value = std::get_if<int64_t>(found)) return static_cast<double>(*value);
  invalid(fmt::format("attribute {} is no number", name));
}

std::string NodeContext::text_attr(std::string_view name, std::string fallback) {
  const Attribute* found = attr(name);
  if (!found) return fallback;
  if (const auto* value = std::get_if<std::string>(found)) return *value;
  invalid(fmt::format("attribute {} is no string", name));
}

std::optional<std::vector<int64_t>> NodeContext::ints_attr(std::string_view name) {
  const Attribute* found = attr(name);
  if (!found) return std::nullopt;
  if (const auto* values = std::get_if<std::vector<int64_t>>(found)) return *values;
  invalid(fmt::format("attribute {} is no list of integers", name));
}

void NodeContext::ignore_attrs(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) read_attrs_.emplace(name);
}

std::vector<std::string> NodeContext::unread_attrs() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : node_.attributes) {
    if (!read_attrs_.contains(name)) out.push_back(name);
  }
  return out;
}

int NodeContext::axis(int64_t value, int rank) const {
  if (value < -rank || value >= rank) {
    invalid(fmt::format("axis {} of a tensor with {} dimensions", value, rank));
  }
  return static_cast<int>(value < 0 ? value + rank : value);
}

std::vector<int> NodeContext::axes(const std::vector<int64_t>& values, int rank) const {
  std::set<int> out;
  for (int64_t value : values) {
    if (!out.insert(axis(value, rank)).second) invalid(fmt::format("axis {} stands twice", value));
  }
  return {out.begin(), out.end()};
}

// A size beyond 64 bits is an error here, where the node is known.
NodeId NodeContext::checked(NodeId id) const {
  try {
    (void)(element_count(shape(id)) * Sym(byte_size(DType::f64)));
  } catch (const Error& error) {
    throw error.at(location_);
  }
  return id;
}

// What the file asks for may be well formed and yet not in the op table.
void NodeContext::check_dtypes(Op op, const std::vector<NodeId>& operands) const {
  const OpInfo& info = op_info(op);
  for (size_t i = 0; i < operands.size(); ++i) {
    const DType own = dtype(operands[i]);
    if (accepts(info.operands, own) || has_own_dtype(info, i, own)) continue;
    unsupported(fmt::format("of {}", dtype_name(own)));
  }
}

NodeId NodeContext::add(std::string_view suffix, Op op, std::vector<NodeId> operands, Attrs attrs) {
  check_dtypes(op, operands);
  std::string base = node_.outputs.empty() ? node_.name : node_.outputs[0];
  return checked(importer_.builder.add(op, std::move(operands), std::move(attrs),
                                       fmt::format("{}.{}", base, suffix), location_));
}

NodeId NodeContext::result(Op op, std::vector<NodeId> operands, Attrs attrs, size_t i) {
  check_dtypes(op, operands);
  NodeId id = checked(
      importer_.builder.add(op, std::move(operands), std::move(attrs), output_name(i), location_));
  set(i, id);
  return id;
}

NodeId NodeContext::constant(Tensor value, std::string_view suffix) {
  return importer_.builder.constant(std::move(value), fmt::format("{}.{}", output_name(0), suffix),
                                    location_);
}

NodeId NodeContext::named_constant(Tensor value) {
  return importer_.builder.constant(std::move(value), output_name(0), location_);
}

NodeId NodeContext::literal(DType dtype, double value) {
  return importer_.builder.literal(dtype, value, location_);
}

NodeId NodeContext::size_value(std::string_view suffix, const Sym& size, DType dtype) {
  if (size.constant()) return importer_.builder.literal_i64(dtype, *size.constant(), location_);
  return add(suffix, Op::size, {}, {{"value", std::vector<Sym>{size}}, {"dtype", dtype}});
}

NodeId NodeContext::reshape(std::string_view suffix, NodeId id, Shape shape) {
  if (this->shape(id) == shape) return id;
  return add(suffix, Op::reshape, {id}, {{"shape", std::move(shape)}});
}

NodeId NodeContext::cast(std::string_view suffix, NodeId id, DType dtype) {
  if (this->dtype(id) == dtype) return id;
  return add(suffix, Op::cast, {id}, {{"dtype", dtype}});
}

void NodeContext::set(size_t output, NodeId id) {
  if (wants_output(output)) importer_.values[node_.outputs[output]].node = id;
}

void NodeContext::set(size_t output, Known known) {
  if (wants_output(output)) importer_.values[node_.outputs[output]].known = std::move(known);
}

}  // namespace ingot::onnx_model
