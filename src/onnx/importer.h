// What the handlers of ONNX ops work with: the values so far, and one node under import.
#pragma once

#include <set>

#include "graph/graph.h"
#include "onnx/model.h"

namespace ingot::onnx_model {

// An integer or bool tensor whose elements are known during the import, as expressions in sizes:
// shape arithmetic. Few elements (see shape_arithmetic.cpp).
struct Known {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<Sym> values;
};

// A tensor of the file. A known one gets a node when an op needs its data.
struct Value {
  NodeId node = -1;
  std::optional<Known> known;
  bool is_unsupported = false;  // comes out of something that is reported already
};

struct Problem {
  std::string what;  // "ConvTranspose", "Cast: to INT8"
  std::string node;
};

struct Importer {
  explicit Importer(const FileModel& file, std::string path)
      : model(file),
        path(std::move(path)),
        builder(file.graph_name.empty() ? "model" : file.graph_name) {}

  const FileModel& model;
  std::string path;
  GraphBuilder builder;
  std::map<std::string, Value> values;
  std::vector<Problem> problems;
  // Sizes as the inputs declare them; the builder may since have found a better name for one.
  std::vector<std::pair<NodeId, Shape>> declared_inputs;

  NodeId materialize(const std::string& name, const Location& location);
  // The size in today's names.
  Sym current(const Sym& size) const;
};

class NodeContext {
 public:
  NodeContext(Importer& importer, const FileNode& node);

  const FileNode& node() const { return node_; }
  int64_t opset() const { return importer_.model.opset; }

  size_t input_count() const { return node_.inputs.size(); }
  bool has_input(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  NodeId input(size_t i);
  std::vector<NodeId> inputs();  // all, none may be left out
  std::optional<Known> known(size_t i) const;
  // A list of sizes or positions that has to be known during the import.
  std::vector<Sym> sizes_input(size_t i, std::string_view what) const;
  std::vector<int64_t> integers_input(size_t i, std::string_view what) const;
  // The value of a one-element constant.
  std::optional<double> number_input(size_t i);

  bool has_attr(std::string_view name) const;
  int64_t int_attr(std::string_view name, int64_t fallback);
  double float_attr(std::string_view name, double fallback);
  std::string text_attr(std::string_view name, std::string fallback);
  std::optional<std::vector<int64_t>> ints_attr(std::string_view name);
  const Attribute* attr(std::string_view name);  // marks it as read
  void ignore_attrs(std::initializer_list<std::string_view> names);
  std::vector<std::string> unread_attrs() const;

  const TensorType& type(NodeId id) const { return importer_.builder[id].type; }
  const Shape& shape(NodeId id) const { return type(id).shape; }
  DType dtype(NodeId id) const { return type(id).dtype; }
  int rank(NodeId id) const { return static_cast<int>(shape(id).size()); }
  Sym current(const Sym& size) const { return importer_.current(size); }
  // Counts from the end if negative; Error{input} outside [-rank, rank).
  int axis(int64_t value, int rank) const;
  // Each as `axis` says, sorted, none twice.
  std::vector<int> axes(const std::vector<int64_t>& values, int rank) const;

  // A node on the way to the result, named OUTPUT.suffix.
  NodeId add(std::string_view suffix, Op op, std::vector<NodeId> operands, Attrs attrs = {});
  // The node of output `i`, with its name.
  NodeId result(Op op, std::vector<NodeId> operands, Attrs attrs = {}, size_t i = 0);
  NodeId constant(Tensor value, std::string_view suffix);
  NodeId named_constant(Tensor value);  // with the name of output 0
  NodeId literal(DType dtype, double value);
  NodeId size_value(std::string_view suffix, const Sym& size, DType dtype);  // a scalar
  NodeId reshape(std::string_view suffix, NodeId id, Shape shape);  // itself if it has the shape
  NodeId cast(std::string_view suffix, NodeId id, DType dtype);     // itself if it has the dtype
  const Node& graph_node(NodeId id) const { return importer_.builder[id]; }

  void set(size_t output, NodeId id);
  void set(size_t output, Known known);
  bool wants_output(size_t i) const {
    return i < node_.outputs.size() && !node_.outputs[i].empty();
  }
  const std::string& output_name(size_t i) const { return node_.outputs[i]; }

  [[noreturn]] void unsupported(std::string message) const;
  [[noreturn]] void invalid(std::string message) const;
  Location location() const { return location_; }

 private:
  NodeId checked(NodeId id) const;
  void check_dtypes(Op op, const std::vector<NodeId>& operands) const;
  Importer& importer_;
  const FileNode& node_;
  Location location_;
  std::set<std::string, std::less<>> read_attrs_;
};

using Handler = void (*)(NodeContext&);

// Handlers of ops with a structure of their own, a file a kind. Other ops are rows of the op table
// that name them.
using HandlerTable = std::vector<std::pair<std::string_view, Handler>>;
HandlerTable movement_handlers();
HandlerTable gather_scatter_handlers();
HandlerTable creation_handlers();
HandlerTable elementwise_handlers();
HandlerTable reduction_handlers();
HandlerTable product_handlers();
HandlerTable size_handlers();
HandlerTable resize_handlers();
HandlerTable loss_handlers();
HandlerTable attention_handlers();

// A row whose ONNX names have this one, if its operands and attributes are the ONNX op's.
const OpInfo* row_of(std::string_view op_type);
void import_row(NodeContext& n, const OpInfo& row);

// Computes the node during the import if everything it needs is known; false otherwise.
bool fold_shape_arithmetic(NodeContext& n);
std::optional<Known> known_of(const Tensor& tensor);
Tensor tensor_of(const Known& known);  // all values constant

}  // namespace ingot::onnx_model
