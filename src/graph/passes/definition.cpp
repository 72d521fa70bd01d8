#include "graph/passes/definition.h"

#include <algorithm>

namespace ingot {

Definition::Definition(GraphBuilder& builder, const Node& node, const std::vector<NodeId>& operands)
    : builder_(builder),
      node_(node),
      operands_(operands),
      info_(op_info(node.op)),
      dtype_(operands.empty() ? node.type.dtype : type(operands[0]).dtype) {
  if (is_float(dtype_)) dtype_ = compute_dtype(dtype_);
}

NodeId Definition::operand(size_t i, const std::string& suffix) {
  if (type(operands_[i]).dtype == dtype_) return operands_[i];
  return cast(operands_[i], dtype_, suffix);
}

NodeId Definition::add(const std::string& suffix, Op op, std::vector<NodeId> operands,
                       Attrs attrs) {
  return builder_.add(op, std::move(operands), std::move(attrs), node_.name + "." + suffix,
                      node_.location, node_.source);
}

NodeId Definition::result(const std::string& suffix, Op op, std::vector<NodeId> operands,
                          Attrs attrs) {
  bool is_last = node_.type.dtype == dtype_;
  NodeId id =
      builder_.add(op, std::move(operands), std::move(attrs),
                   is_last ? node_.name : node_.name + "." + suffix, node_.location, node_.source);
  return is_last ? id : cast_named(id, node_.type.dtype, node_.name);
}

NodeId Definition::named(Op op, std::vector<NodeId> operands, Attrs attrs) {
  return builder_.add(op, std::move(operands), std::move(attrs), node_.name, node_.location,
                      node_.source);
}

NodeId Definition::cast(NodeId id, DType dtype, const std::string& suffix) {
  return cast_named(id, dtype, node_.name + "." + suffix);
}

NodeId Definition::cast_named(NodeId id, DType dtype, std::string name) {
  return builder_.add(Op::cast, {id}, {{"dtype", dtype}}, std::move(name), node_.location,
                      node_.source);
}

std::vector<int> Definition::dims() const {
  for (const AttrInfo& attr : info_.attrs) {
    if (attr.name != "dim") continue;
    int64_t dim = integer_attr(info_, node_.attrs, "dim");
    return {static_cast<int>(dim < 0 ? dim + rank() : dim)};
  }
  return dims_attr(info_, node_.attrs, "dims", rank());
}

Attrs Definition::reduce(bool keepdims) const {
  std::vector<Sym> sizes;
  for (int dim : dims()) sizes.emplace_back(dim);
  return {{"dims", std::move(sizes)}, {"keepdims", keepdims}};
}

NodeId Definition::size_value(const Sym& size, DType dtype, const std::string& suffix) {
  if (auto value = size.constant()) {
    return is_float(dtype) ? literal_of(dtype, static_cast<double>(*value))
                           : integer(dtype, *value);
  }
  return add(suffix, Op::size, {}, {{"value", std::vector<Sym>{size}}, {"dtype", dtype}});
}

NodeId Definition::count() {
  Sym count = 1;
  for (int dim : dims()) count = count * type(operands_[0]).shape[static_cast<size_t>(dim)];
  return size_value(count, dtype_, "count");
}

NodeId Definition::mean_of(const std::string& suffix, NodeId value) {
  return add(suffix, Op::div, {add(suffix + "_sum", Op::sum, {value}, reduce(true)), count()});
}

NodeId Definition::parameter(size_t i, const std::string& suffix) {
  NodeId id = operand(i, suffix);
  std::vector<int> reduced = dims();
  Shape aligned(static_cast<size_t>(rank()), Sym(1));
  for (int dim : reduced) {
    aligned[static_cast<size_t>(dim)] = type(operands_[0]).shape[static_cast<size_t>(dim)];
  }
  bool trailing = !reduced.empty() && reduced.front() == rank() - static_cast<int>(reduced.size());
  if (trailing || type(id).shape.size() != reduced.size()) return id;
  return add(suffix + "_aligned", Op::reshape, {id}, {{"shape", aligned}});
}

}  // namespace ingot
