// The tensor-level IR: SSA nodes over the op table, in topological order.
//
// Text form (one graph a file; the ops stand in docs/ops.md, their meaning in docs/semantics.md):
//   graph bias_gelu(x: bf16[B, 8192], b: bf16[8192]) {
//     t = add(x, b)                      # operands, then name=value attributes
//     y = gelu(t)                        # calls do not nest: one op a line
//     c = constant(f32[2, 3], [1, 2, 3, 4, 5, 6])     # also (f32, 0.5), (f32, [1, 2]),
//     w = constant(f32[257, 64], base64="…")          # little-endian data, (file="w.npy")
//     return y, logits=t                 # an output under another name than its value's
//   }
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/tensor.h"
#include "op/infer.h"

namespace ingot {

using NodeId = int32_t;

struct Node {
  Op op;
  std::vector<NodeId> operands;  // all smaller than this node's id
  Attrs attrs;
  TensorType type;
  std::string name;  // the user's, unique in the graph; derived from structure otherwise
  Location location;
  // constant: its data. A constant of one element is a literal (0 bytes); more count as weights.
  std::shared_ptr<const Tensor> data;
  // Index into Graph::sources: the op of the program as the user wrote it that this node is
  // (part of). -1 before mark_sources, and for inputs and constants.
  int32_t source = -1;
};

// An op of the user's program, after shape arithmetic and constants are folded and before any
// decomposition: the unit in which ops, separate kernels and separate bytes are counted.
struct SourceOp {
  std::string name;
  Op op;
  std::vector<std::string> operands;
  std::vector<int64_t> literal_operands;  // positions that are literals
  TensorType type;
  Sym bytes;             // read and written by itself; 0 of an index map
  std::string equal_to;  // the value that a pass found to be the same; empty: none
};

// A pass that put another op in the place of one, or saw why it must not.
struct Rewrite {
  std::string name;  // of the node
  bool done;
  std::string detail;
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<NodeId> inputs;   // nodes with Op::input, in signature order
  std::vector<NodeId> outputs;  // may repeat a node or name an input
  std::vector<std::string> output_names;
  std::vector<SourceOp> sources;
  std::vector<Rewrite> rewrites;
  // Names of sizes that had to be equal to something else, and what they became.
  std::map<std::string, Sym, std::less<>> merged_sizes;

  const Node& operator[](NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  Node& operator[](NodeId id) { return nodes[static_cast<size_t>(id)]; }
};

// Builds a graph node by node with inference and name uniqueness. Errors carry the location.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);
  NodeId input(std::string name, DType dtype, Shape shape, Location location = {});
  NodeId constant(Tensor value, std::string name = {}, Location location = {});
  NodeId literal(DType dtype, double value, Location location = {});
  NodeId literal_i64(DType dtype, int64_t value, Location location = {});
  // An empty name is derived by take(): the op's name, made unique ("add", "add_1"), so that it
  // never takes a name that somebody asks for later.
  NodeId add(Op op, std::vector<NodeId> operands, Attrs attrs = {}, std::string name = {},
             Location location = {}, int32_t source = -1);
  // An empty name is the node's; names of outputs are made unique among themselves.
  void output(NodeId id, std::string name = {});
  const Node& operator[](NodeId id) const { return graph_[id]; }
  // Two sizes that have to be equal become one, in all nodes at once: a number beats an expression,
  // an expression a name, the name seen first the later one. Error{input} if they differ, or if
  // neither can be expressed by the other.
  void require_equal(const Sym& left, const Sym& right, const Location& location = {});
  // Derives the missing names. Error{input} if a size is no input's.
  Graph take();

  // For passes: copies a node of another graph, type included, with operands already mapped.
  NodeId copy(const Node& node, std::vector<NodeId> operands);
  Graph& graph() { return graph_; }

 private:
  NodeId append(Node node);
  void replace_size(const std::string& name, const Sym& value, const Location& location);
  Graph graph_;
  std::unordered_map<std::string, int> name_uses_;      // taken names; the last suffix tried
  std::map<std::string, int, std::less<>> size_order_;  // sizes of inputs, as first seen
};

std::string print(const Graph& graph);
// `file` is for messages; constant(file="w.npy") is read relative to its folder.
Graph parse_graph(std::string_view text, const std::string& file);
// Operand order, types re-inferred, names unique, outputs valid. Error{internal} names `where`.
void verify(const Graph& graph, std::string_view where);

// Names of the sizes, in order of first appearance in the inputs.
std::vector<std::string> size_names(const Graph& graph);
// Consumers of every node, graph outputs not counted.
std::vector<std::vector<NodeId>> consumers(const Graph& graph);

// By node: whether it is an input or an output, or one of those needs it.
std::vector<bool> live_nodes(const Graph& graph);

// A literal's value: nullopt unless `node` is a one-element constant.
std::optional<double> literal_value(const Node& node);

// Concrete sizes from the inputs' shapes; checks every one ("x: expected [B, 8], got [4, 9]"), and
// the shapes of live nodes.
Bindings bind_sizes(const Graph& graph, const std::vector<std::vector<int64_t>>& input_shapes);
std::vector<int64_t> evaluate(const Shape& shape, const Bindings& bindings);

}  // namespace ingot
