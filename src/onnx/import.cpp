// Walks the file's nodes in an order in which every input is there, and lists what is unsupported.
#include "onnx/import.h"

#include <algorithm>
#include <queue>
#include <set>
#include <sstream>

#include "base/text.h"
#include "graph/passes/rebuild.h"
#include "onnx/importer.h"
#include "onnx/op_forms.h"

namespace ingot {

using namespace onnx_model;

namespace {

Location place(const std::string& path, std::string node = {}) {
  return {.file = path, .line = 0, .column = 0, .source_line = {}, .node = std::move(node)};
}

constexpr int64_t first_opset = 7, last_opset = 23;

const std::map<std::string_view, Handler>& all_handlers() {
  static const std::map<std::string_view, Handler> handlers = [] {
    std::map<std::string_view, Handler> out;
    for (const HandlerTable& table :
         {movement_handlers(), gather_scatter_handlers(), creation_handlers(),
          elementwise_handlers(), reduction_handlers(), product_handlers(), size_handlers(),
          resize_handlers(), loss_handlers(), attention_handlers()}) {
      out.insert(table.begin(), table.end());
    }
    return out;
  }();
  return handlers;
}

Handler find_handler(std::string_view op_type) {
  auto found = all_handlers().find(op_type);
  return found == all_handlers().end() ? nullptr : found->second;
}

// --- order of nodes

// Who defines each name: a position in `nodes`, or -1 for inputs and initializers.
std::map<std::string, int> definitions(const FileModel& model, const std::string& path) {
  std::map<std::string, int> out;
  for (const FileValue& input : model.inputs) {
    if (!out.emplace(input.name, -1).second) {
      fail_input(place(path), fmt::format("input {} is defined twice", input.name));
    }
  }
  for (const auto& [name, tensor] : model.initializers) out.emplace(name, -1);
  for (const std::string& name : model.sparse_initializers) out.emplace(name, -1);
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& output : model.nodes[i].outputs) {
      if (output.empty() || out.emplace(output, static_cast<int>(i)).second) continue;
      fail_input(place(path, model.nodes[i].name),
                 fmt::format("tensor {} is defined twice", output));
    }
  }
  return out;
}

// Follows unfinished producers until one comes again.
[[noreturn]] void fail_cycle(const FileModel& model, const std::map<std::string, int>& defined,
                             const std::vector<int>& waiting, size_t start,
                             const std::string& path) {
  std::vector<size_t> walk;
  std::vector<std::string> tensors;
  size_t at = start;
  while (std::ranges::find(walk, at) == walk.end()) {
    walk.push_back(at);
    for (const std::string& input : model.nodes[at].inputs) {
      int producer = input.empty() ? -1 : defined.at(input);
      if (producer < 0 || waiting[static_cast<size_t>(producer)] == 0) continue;
      tensors.push_back(input);
      at = static_cast<size_t>(producer);
      break;
    }
  }
  auto first = std::ranges::find(walk, at);
  std::vector<std::string> names;
  for (auto it = first; it != walk.end(); ++it) names.push_back(model.nodes[*it].name);
  names.push_back(model.nodes[at].name);
  std::string tensor = tensors[static_cast<size_t>(first - walk.begin())];
  fail_input(place(path, model.nodes[at].name),
             fmt::format("the graph has a cycle: {} needs tensor {}, through: {}",
                         model.nodes[at].name, tensor, join(names, " <- ")));
}

std::vector<size_t> node_order(const FileModel& model, const std::string& path) {
  std::map<std::string, int> defined = definitions(model, path);
  std::vector<std::vector<size_t>> readers(model.nodes.size());
  std::vector<int> waiting(model.nodes.size(), 0);
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& input : model.nodes[i].inputs) {
      if (input.empty()) continue;
      auto found = defined.find(input);
      if (found == defined.end()) {
        fail_input(place(path, model.nodes[i].name),
                   fmt::format("{} {}: its input {} is no input, initializer or output of a node",
                               model.nodes[i].op_type, model.nodes[i].name, input));
      }
      if (found->second < 0) continue;
      readers[static_cast<size_t>(found->second)].push_back(i);
      ++waiting[i];
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (size_t reader : readers[i]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] > 0) fail_cycle(model, defined, waiting, i, path);
  }
  return order;
}

// --- inputs, nodes, outputs

void declare_input(Importer& importer, const FileValue& input) {
  Location location = place(importer.path, input.name);
  Value& value = importer.values[input.name];
  if (!input.dtype || !input.dims) {
    std::string what = input.dtype ? "an input without a shape"
                                   : fmt::format("an input of type {}", input.type_name);
    importer.problems.push_back({what, input.name});
    value.is_unsupported = true;
    return;
  }
  Shape shape;
  for (size_t d = 0; d < input.dims->size(); ++d) {
    const FileDim& dim = (*input.dims)[d];
    if (const auto* size = std::get_if<int64_t>(&dim)) {
      if (*size < 0) {
        fail_input(location, fmt::format("input {}: negative dimension {}", input.name, *size));
      }
      shape.emplace_back(*size);
    } else if (const auto* name = std::get_if<std::string>(&dim)) {
      shape.push_back(Sym::var(*name));
    } else {
      shape.push_back(Sym::var(fmt::format("{}_{}", input.name, d)));
    }
  }
  try {
    (void)(element_count(shape) * Sym(byte_size(DType::f64)));
  } catch (const Error& error) {
    throw error.at(location);
  }
  value.node = importer.builder.input(input.name, *input.dtype, shape, location);
  importer.declared_inputs.emplace_back(value.node, std::move(shape));
}

void declare_initializer(Importer& importer, const FileTensor& tensor) {
  Value& value = importer.values[tensor.name];
  if (!tensor.data) {
    importer.problems.push_back(
        {fmt::format("an initializer of type {}", tensor.type_name), tensor.name});
    value.is_unsupported = true;
    return;
  }
  value.known = known_of(*tensor.data);
}

void mark_unsupported(Importer& importer, const FileNode& node) {
  for (const std::string& output : node.outputs) {
    if (!output.empty()) importer.values[output] = {-1, std::nullopt, true};
  }
}

// A large initializer gets its node when the first op reads it, so that unused ones vanish.
void need(Importer& importer, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty()) continue;
    Value& value = importer.values[name];
    if (value.node >= 0 || value.known || value.is_unsupported) continue;
    const FileTensor& tensor = importer.model.initializers.at(name);
    Location location = place(importer.path, name);
    value.node = importer.builder.constant(*tensor.data, name, location);
  }
}

void import_node(Importer& importer, const FileNode& node) {
  auto problem = [&](std::string what) {
    importer.problems.push_back({std::move(what), node.name});
    mark_unsupported(importer, node);
  };
  if (node.outputs.empty()) {
    fail_input(place(importer.path, node.name), fmt::format("{} has no output", node.op_type));
  }
  if (std::optional<std::string> why = contradiction(node, importer.model.opset)) {
    fail_input(place(importer.path, node.name), *why);
  }
  std::string full_name = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  Handler handler = node.domain.empty() ? find_handler(node.op_type) : nullptr;
  const OpInfo* row = node.domain.empty() && !handler ? row_of(node.op_type) : nullptr;
  if (!handler && !row) return problem(full_name);
  bool input_is_unsupported = std::ranges::any_of(node.inputs, [&](const std::string& name) {
    return !name.empty() && importer.values[name].is_unsupported;
  });
  if (input_is_unsupported) return mark_unsupported(importer, node);
  need(importer, node.inputs);
  NodeContext context(importer, node);
  try {
    if (fold_shape_arithmetic(context)) return;
    handler ? handler(context) : import_row(context, *row);
    for (const std::string& attr : context.unread_attrs()) {
      problem(fmt::format("{}: attribute {}", full_name, attr));
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw error.at(context.location());
    problem(error.message());
  }
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    const Value& value = importer.values[output];
    if (value.node < 0 && !value.known && !value.is_unsupported) {
      problem(fmt::format("{}: output {}", full_name, output));
    }
  }
}

// What the file declares of an output must be what comes out; it may leave out what it does not
// know, and call a size by any name.
void check_declared(const Importer& importer, const FileValue& output, const TensorType& type,
                    const Location& location) {
  auto differs = [&](const std::string& declared) {
    fail_input(location, fmt::format("output {} is declared as {}, but it is {}", output.name,
                                     declared, type_text(type)));
  };
  if (output.dtype && *output.dtype != type.dtype) {
    differs(std::string(dtype_name(*output.dtype)));
  }
  if (!output.dims) return;
  std::vector<std::string> sizes;
  bool same = output.dims->size() == type.shape.size();
  for (size_t d = 0; d < output.dims->size(); ++d) {
    const FileDim& dim = (*output.dims)[d];
    const auto* size = std::get_if<int64_t>(&dim);
    const auto* name = std::get_if<std::string>(&dim);
    sizes.push_back(size ? fmt::format("{}", *size) : name ? *name : "?");
    std::optional<int64_t> inferred =
        d < type.shape.size() ? importer.current(type.shape[d]).constant() : std::nullopt;
    same = same && (!size || !inferred || *size == *inferred);
  }
  if (!same) differs(fmt::format("[{}]", join(sizes, ", ")));
}

void declare_output(Importer& importer, const FileValue& output) {
  Location location = place(importer.path);  // the messages name the output
  auto found = importer.values.find(output.name);
  if (found == importer.values.end()) {
    fail_input(location, fmt::format("output {} is no output of a node", output.name));
  }
  if (found->second.is_unsupported) return;
  need(importer, {output.name});
  NodeId node = importer.materialize(output.name, location);
  check_declared(importer, output, importer.builder[node].type, location);
  importer.builder.output(node, output.name);
}

// All of them in one message: "ConvTranspose (2: up1, up2); Cast: to INT8 (1: c)".
[[noreturn]] void fail_problems(const Importer& importer) {
  std::vector<std::pair<std::string, std::vector<std::string>>> grouped;
  std::map<std::string, size_t> position;
  for (const Problem& problem : importer.problems) {
    auto [it, is_new] = position.emplace(problem.what, grouped.size());
    if (is_new) grouped.push_back({problem.what, {}});
    std::vector<std::string>& nodes = grouped[it->second].second;
    if (std::ranges::find(nodes, problem.node) == nodes.end()) nodes.push_back(problem.node);
  }
  std::vector<std::string> parts;
  for (auto& [what, nodes] : grouped) {
    size_t count = nodes.size();
    if (count > 5) {
      nodes.resize(5);
      nodes.push_back("…");
    }
    parts.push_back(fmt::format("{} ({}: {})", what, count, join(nodes, ", ")));
  }
  throw Error(ErrorKind::unsupported,
              fmt::format("the file uses what ingot does not support: {}", join(parts, "; ")),
              place(importer.path), {"`ingot ops` lists the supported ops with their ONNX names"});
}

}  // namespace

Graph import_onnx_bytes(std::string_view bytes, const std::string& path) {
  FileModel model = read_model(bytes, path);
  if (model.opset < first_opset || model.opset > last_opset) {
    fail_unsupported(place(path), fmt::format("ONNX opset {}; supported: {} to {}", model.opset,
                                              first_opset, last_opset));
  }
  Importer importer(model, path);
  std::vector<size_t> order = node_order(model, path);
  for (const auto& [name, tensor] : model.initializers) declare_initializer(importer, tensor);
  for (const FileValue& input : model.inputs) {
    // Before IR version 4 initializers stood among the inputs; later this is a default value.
    if (!model.initializers.contains(input.name)) declare_input(importer, input);
  }
  for (const std::string& name : model.sparse_initializers) {
    importer.problems.push_back({"a sparse initializer", name});
    importer.values[name].is_unsupported = true;
  }
  for (size_t i : order) import_node(importer, model.nodes[i]);
  if (model.outputs.empty()) fail_input(place(path), "the graph has no outputs");
  for (const FileValue& output : model.outputs) declare_output(importer, output);
  if (!importer.problems.empty()) fail_problems(importer);
  // Without what only served shape arithmetic.
  return without_dead_nodes(importer.builder.take());
}

std::vector<std::string> imported_onnx_ops() {
  std::set<std::string> names;
  for (const auto& [name, handler] : all_handlers()) names.emplace(name);
  for (const OpInfo& info : all_ops()) {
    std::istringstream words{std::string(info.onnx)};
    for (std::string name; words >> name;) {
      if (row_of(name) != nullptr) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

Graph import_onnx(const std::string& path) { return import_onnx_bytes(read_file(path), path); }

}  // namespace ingot
