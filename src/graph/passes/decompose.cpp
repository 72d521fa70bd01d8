// What composite ops mean. Each formula below is the definition: its steps are taken in this order,
// each rounded to f32 (f64 for f64), and the result is rounded once to its own dtype.
#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

DType inner_dtype(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

// Writes the parts of one composite node; their names are the node's with a suffix.
class Definition {
 public:
  Definition(GraphBuilder& builder, const Node& node, const std::vector<NodeId>& operands)
      : builder_(builder), node_(node), operands_(operands), info_(op_info(node.op)) {
    dtype_ = inner_dtype(type(operands[0]).dtype);
  }

  // An operand in the inner dtype.
  NodeId operand(size_t i, const std::string& suffix) {
    if (type(operands_[i]).dtype == dtype_) return operands_[i];
    return cast(operands_[i], dtype_, node_.name + "." + suffix);
  }

  NodeId add(const std::string& suffix, Op op, std::vector<NodeId> operands, Attrs attrs = {}) {
    return builder_.add(op, std::move(operands), std::move(attrs), node_.name + "." + suffix,
                        node_.location, node_.source);
  }

  // The last step: gets the node's name, or the rounding to its dtype does.
  NodeId result(const std::string& suffix, Op op, std::vector<NodeId> operands, Attrs attrs = {}) {
    bool is_last = node_.type.dtype == dtype_;
    NodeId id = builder_.add(op, std::move(operands), std::move(attrs),
                             is_last ? node_.name : node_.name + "." + suffix, node_.location,
                             node_.source);
    return is_last ? id : cast(id, node_.type.dtype, node_.name);
  }

  NodeId literal(double value) { return builder_.literal(dtype_, value, node_.location); }

  const TensorType& type(NodeId id) const { return builder_[id].type; }
  int rank() const { return static_cast<int>(type(operands_[0]).shape.size()); }
  size_t operand_count() const { return operands_.size(); }

  // The reduced dimensions: `dims`, or the one of softmax and log_softmax.
  std::vector<int> dims() const {
    for (const AttrInfo& attr : info_.attrs) {
      if (attr.name != "dim") continue;
      int64_t dim = integer_attr(info_, node_.attrs, "dim");
      return {static_cast<int>(dim < 0 ? dim + rank() : dim)};
    }
    return dims_attr(info_, node_.attrs, "dims", rank());
  }
  bool keepdims() const { return flag_attr(info_, node_.attrs, "keepdims"); }
  double epsilon() const { return real_attr(info_, node_.attrs, "epsilon"); }
  const Shape& shape() const { return node_.type.shape; }
  const Node& node() const { return node_; }

  Attrs reduce(bool keepdims) const {
    std::vector<Sym> sizes;
    for (int dim : dims()) sizes.emplace_back(dim);
    return {{"dims", std::move(sizes)}, {"keepdims", keepdims}};
  }

  // The number of reduced elements in the inner dtype.
  NodeId count() {
    Sym count = 1;
    for (int dim : dims()) count = count * type(operands_[0]).shape[static_cast<size_t>(dim)];
    if (auto value = count.constant()) {
      return is_float(dtype_) ? literal(static_cast<double>(*value))
                              : builder_.literal_i64(dtype_, *value, node_.location);
    }
    return add("count", Op::size, {}, {{"value", std::vector<Sym>{count}}, {"dtype", dtype_}});
  }

  // sum / n, kept dimensions, of a value of x's shape.
  NodeId mean_of(const std::string& suffix, NodeId value) {
    return add(suffix, Op::div, {add(suffix + "_sum", Op::sum, {value}, reduce(true)), count()});
  }

  // A per-feature parameter (gamma, beta): one size for each of `dims`, which need not be trailing.
  NodeId parameter(size_t i, const std::string& suffix) {
    NodeId id = operand(i, suffix);
    std::vector<int> reduced = dims();
    Shape aligned(static_cast<size_t>(rank()), Sym(1));
    for (int dim : reduced) {
      aligned[static_cast<size_t>(dim)] = type(operands_[0]).shape[static_cast<size_t>(dim)];
    }
    bool trailing =
        !reduced.empty() && reduced.front() == rank() - static_cast<int>(reduced.size());
    if (trailing || type(id).shape.size() != reduced.size()) return id;
    return add(suffix + "_aligned", Op::reshape, {id}, {{"shape", aligned}});
  }

 private:
  NodeId cast(NodeId id, DType dtype, std::string name) {
    return builder_.add(Op::cast, {id}, {{"dtype", dtype}}, std::move(name), node_.location,
                        node_.source);
  }

  GraphBuilder& builder_;
  const Node& node_;
  const std::vector<NodeId>& operands_;
  const OpInfo& info_;
  DType dtype_;
};

// sum(x) / n
NodeId mean(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId sum = d.add("sum", Op::sum, {x}, d.reduce(d.keepdims()));
  return d.result("mean", Op::div, {sum, d.count()});
}

// sum(|x|)
NodeId l1_norm(Definition& d) {
  NodeId magnitude = d.add("abs", Op::abs, {d.operand(0, "wide")});
  return d.result("sum", Op::sum, {magnitude}, d.reduce(d.keepdims()));
}

// sum(x·x)
NodeId sum_square(Definition& d) {
  NodeId x = d.operand(0, "wide");
  return d.result("sum", Op::sum, {d.add("square", Op::mul, {x, x})}, d.reduce(d.keepdims()));
}

// sqrt(sum(x·x))
NodeId l2_norm(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId square = d.add("square", Op::mul, {x, x});
  return d.result("sqrt", Op::sqrt, {d.add("sum", Op::sum, {square}, d.reduce(d.keepdims()))});
}

// d = x − sum(x)/n; sum(d·d) / n
NodeId var(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId centered = d.add("centered", Op::sub, {x, d.mean_of("mean", x)});
  NodeId square = d.add("square", Op::mul, {centered, centered});
  NodeId sum = d.add("sum", Op::sum, {square}, d.reduce(d.keepdims()));
  return d.result("var", Op::div, {sum, d.count()});
}

// m = max(x), s = m where m is finite or NaN, else 0; s + log(sum(exp(x − s))).
// With s instead of m a row of −inf gives −inf and a row with +inf gives +inf, not NaN.
NodeId logsumexp(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId max = d.add("max", Op::max, {x}, d.reduce(true));
  NodeId shift =
      d.add("shift", Op::select, {d.add("infinite", Op::isinf, {max}), d.literal(0), max});
  NodeId exp = d.add("exp", Op::exp, {d.add("shifted", Op::sub, {x, shift})});
  NodeId log = d.add("log", Op::log, {d.add("sum", Op::sum, {exp}, d.reduce(d.keepdims()))});
  if (!d.keepdims()) {
    shift = d.add("shift_row", Op::reshape, {shift}, {{"shape", d.type(log).shape}});
  }
  return d.result("logsumexp", Op::add, {shift, log});
}

// e = exp(x − max(x)); e · (1 / sum(e))
NodeId softmax(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId max = d.add("max", Op::max, {x}, d.reduce(true));
  NodeId exp = d.add("exp", Op::exp, {d.add("shifted", Op::sub, {x, max})});
  NodeId sum = d.add("sum", Op::sum, {exp}, d.reduce(true));
  // One division a row: a division of each element costs as much as its exponential.
  return d.result("softmax", Op::mul, {exp, d.add("inverse", Op::reciprocal, {sum})});
}

// d = x − max(x); d − log(sum(exp(d)))
NodeId log_softmax(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId max = d.add("max", Op::max, {x}, d.reduce(true));
  NodeId shifted = d.add("shifted", Op::sub, {x, max});
  NodeId exp = d.add("exp", Op::exp, {shifted});
  NodeId log = d.add("log", Op::log, {d.add("sum", Op::sum, {exp}, d.reduce(true))});
  return d.result("log_softmax", Op::sub, {shifted, log});
}

// d = x − sum(x)/n; v = sum(d·d)/n; d · rsqrt(v + epsilon) · gamma + beta
// (Ba, Kiros, Hinton: Layer Normalization, 2016, equations 3 and 4.)
NodeId layer_norm(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId centered = d.add("centered", Op::sub, {x, d.mean_of("mean", x)});
  NodeId var = d.mean_of("var", d.add("square", Op::mul, {centered, centered}));
  NodeId inverse =
      d.add("rsqrt", Op::rsqrt, {d.add("var_epsilon", Op::add, {var, d.literal(d.epsilon())})});
  NodeId scaled = d.add("normalized", Op::mul, {centered, inverse});
  NodeId gamma = d.parameter(1, "gamma");
  if (d.operand_count() < 3) return d.result("scaled", Op::mul, {scaled, gamma});
  scaled = d.add("scaled", Op::mul, {scaled, gamma});
  return d.result("layer_norm", Op::add, {scaled, d.parameter(2, "beta")});
}

// x · rsqrt(sum(x·x)/n + epsilon) · gamma
// (Zhang, Sennrich: Root Mean Square Layer Normalization, 2019, equation 4.)
NodeId rms_norm(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId mean = d.mean_of("mean", d.add("square", Op::mul, {x, x}));
  NodeId inverse =
      d.add("rsqrt", Op::rsqrt, {d.add("mean_epsilon", Op::add, {mean, d.literal(d.epsilon())})});
  NodeId normalized = d.add("normalized", Op::mul, {x, inverse});
  return d.result("rms_norm", Op::mul, {normalized, d.parameter(1, "gamma")});
}

// conv(x, w) + bias, so that the product runs alone and the bias is added to it like anything else.
NodeId conv_with_bias(Definition& d) {
  NodeId product =
      d.add("product", Op::conv, {d.operand(0, "wide"), d.operand(1, "weights")}, d.node().attrs);
  NodeId bias = d.operand(2, "bias");
  Shape channels(d.shape().size() - 1, Sym(1));
  channels[0] = d.type(bias).shape[0];
  bias = d.add("bias_aligned", Op::reshape, {bias}, {{"shape", channels}});
  return d.result("biased", Op::add, {product, bias});
}

using Define = NodeId (*)(Definition&);

Define definition_of(Op op) {
  switch (op) {
    case Op::mean:
      return mean;
    case Op::l1_norm:
      return l1_norm;
    case Op::l2_norm:
      return l2_norm;
    case Op::sum_square:
      return sum_square;
    case Op::var:
      return var;
    case Op::logsumexp:
      return logsumexp;
    case Op::softmax:
      return softmax;
    case Op::log_softmax:
      return log_softmax;
    case Op::layer_norm:
      return layer_norm;
    case Op::rms_norm:
      return rms_norm;
    case Op::conv:
      return conv_with_bias;
    default:
      fail_internal("decompose", fmt::format("{} has no definition", op_name(op)));
  }
}

}  // namespace

Graph decompose(const Graph& graph) {
  auto is_composite = [](const Node& node) {
    return op_info(node.op).category == Category::composite ||
           (node.op == Op::conv && node.operands.size() > 2);
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_composite)) {
    return without_dead_nodes(graph);
  }
  return rebuild(graph, [&](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
    if (!is_composite(node)) return builder.copy(node, std::move(operands));
    Definition definition(builder, node, operands);
    return definition_of(node.op)(definition);
  });
}

}  // namespace ingot
