// Writes the parts of one composite node; the definitions stand in decompose.cpp (reductions and
// norms), decompose_selection.cpp (argmax, topk), decompose_windows.cpp (pooling, random) and
// decompose_attention.cpp.
#pragma once

#include "graph/passes/rebuild.h"

namespace ingot {

class Definition {
 public:
  Definition(GraphBuilder& builder, const Node& node, const std::vector<NodeId>& operands);

  // An operand in the inner dtype.
  NodeId operand(size_t i, const std::string& suffix);
  NodeId raw_operand(size_t i) const { return operands_[i]; }
  NodeId add(const std::string& suffix, Op op, std::vector<NodeId> operands, Attrs attrs = {});
  // The last step: gets the node's name, or the rounding to its dtype does.
  NodeId result(const std::string& suffix, Op op, std::vector<NodeId> operands, Attrs attrs = {});
  // The last step as it is, with the node's name.
  NodeId named(Op op, std::vector<NodeId> operands, Attrs attrs = {});
  NodeId cast(NodeId id, DType dtype, const std::string& suffix);

  NodeId literal(double value) { return literal_of(dtype_, value); }
  NodeId literal_of(DType dtype, double value) {
    return builder_.literal(dtype, value, node_.location);
  }
  NodeId integer(DType dtype, int64_t value) {
    return builder_.literal_i64(dtype, value, node_.location);
  }

  const TensorType& type(NodeId id) const { return builder_[id].type; }
  int rank() const { return static_cast<int>(type(operands_[0]).shape.size()); }
  size_t operand_count() const { return operands_.size(); }
  DType inner() const { return dtype_; }

  // The reduced dimensions: `dims`, or the one of softmax and log_softmax.
  std::vector<int> dims() const;
  bool flag(std::string_view name) const { return flag_attr(info_, node_.attrs, name); }
  int64_t number(std::string_view name) const { return integer_attr(info_, node_.attrs, name); }
  double real(std::string_view name) const { return real_attr(info_, node_.attrs, name); }
  bool keepdims() const { return flag("keepdims"); }
  double epsilon() const { return real("epsilon"); }
  const Shape& shape() const { return node_.type.shape; }
  const Node& node() const { return node_; }

  Attrs reduce(bool keepdims) const;
  // A size as a scalar.
  NodeId size_value(const Sym& size, DType dtype, const std::string& suffix);
  // The number of reduced elements in the inner dtype.
  NodeId count();
  // sum / n, kept dimensions, of a value of x's shape.
  NodeId mean_of(const std::string& suffix, NodeId value);
  // A per-feature parameter (gamma, beta): one size for each of `dims`, which need not be trailing.
  NodeId parameter(size_t i, const std::string& suffix);

 private:
  NodeId cast_named(NodeId id, DType dtype, std::string name);

  GraphBuilder& builder_;
  const Node& node_;
  const std::vector<NodeId>& operands_;
  const OpInfo& info_;
  DType dtype_;  // floats in f32 (f64 for f64)
};

using Define = NodeId (*)(Definition&);
// The definition of an op that decompose.cpp does not have; null for others.
Define selection_definition(Op op);
Define window_definition(Op op);
Define attention_definition(Op op);

}  // namespace ingot
