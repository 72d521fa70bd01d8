// What composite ops mean. Each formula below is the definition: its steps are taken in this order,
// each rounded to f32 (f64 for f64), and the result is rounded once to its own dtype.
#include <algorithm>
#include <cmath>

#include "graph/passes/definition.h"
#include "graph/passes/passes.h"

namespace ingot {
namespace {

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

// A cast to f8 without saturation: what rounds beyond the largest value is NaN (f8e4m3) or an
// infinity (f8e5m2). Half a step above the largest: of an even one it still rounds down.
NodeId cast_unsaturated(Definition& d) {
  const DType to = d.node().type.dtype;
  const bool e4m3 = to == DType::f8e4m3;
  NodeId x = d.operand(0, "wide");
  if (!is_float(d.type(x).dtype)) x = d.add("real", Op::cast, {x}, {{"dtype", DType::f32}});
  NodeId bound = d.literal_of(d.type(x).dtype, e4m3 ? 464 : 61440);
  NodeId magnitude = d.add("magnitude", Op::abs, {x});
  NodeId beyond = d.add("beyond", e4m3 ? Op::gt : Op::ge, {magnitude, bound});
  NodeId cast = d.add("saturated", Op::cast, {x}, {{"dtype", to}});
  const double out = e4m3 ? std::nan("") : INFINITY;
  NodeId negative = d.add("negative", Op::lt, {x, d.literal_of(d.type(x).dtype, 0)});
  NodeId special =
      d.add("special", Op::select, {negative, d.literal_of(to, -out), d.literal_of(to, out)});
  return d.named(Op::select, {beyond, special, cast});
}

// Parameters of one element a channel beside x[N, C, ...].
NodeId per_channel(Definition& d, size_t i, const std::string& suffix) {
  NodeId id = d.operand(i, suffix);
  Shape aligned(static_cast<size_t>(d.rank()) - 1, Sym(1));
  aligned[0] = d.shape()[1];
  return d.add(suffix + "_aligned", Op::reshape, {id}, {{"shape", aligned}});
}

// (x − mean) / sqrt(var + epsilon) · gamma + beta
// (Ioffe, Szegedy: Batch Normalization, 2015, algorithm 2.)
NodeId batch_norm(Definition& d) {
  NodeId x = d.operand(0, "wide");
  NodeId centered = d.add("centered", Op::sub, {x, per_channel(d, 3, "mean")});
  NodeId var = d.add("var_epsilon", Op::add, {per_channel(d, 4, "var"), d.literal(d.epsilon())});
  NodeId unit = d.add("normalized", Op::div, {centered, d.add("deviation", Op::sqrt, {var})});
  NodeId scaled = d.add("scaled", Op::mul, {unit, per_channel(d, 1, "gamma")});
  return d.result("batch_norm", Op::add, {scaled, per_channel(d, 2, "beta")});
}

// layer_norm's steps over the members of each group (Wu, He: Group Normalization, 2018).
NodeId group_norm(Definition& d) {
  NodeId x = d.operand(0, "wide");
  const Shape& shape = d.shape();
  Sym groups = d.number("groups"), members = *exact_div(shape[1], groups);
  Sym count = members;
  for (size_t i = 2; i < shape.size(); ++i) count = count * shape[i];
  Attrs over{{"dims", std::vector<Sym>{2}}, {"keepdims", true}};
  NodeId parts =
      d.add("groups", Op::reshape, {x}, {{"shape", std::vector<Sym>{shape[0], groups, count}}});
  NodeId number = d.size_value(count, d.inner(), "count");
  auto mean = [&](const std::string& suffix, NodeId value) {
    return d.add(suffix, Op::div, {d.add(suffix + "_sum", Op::sum, {value}, over), number});
  };
  NodeId centered = d.add("centered", Op::sub, {parts, mean("mean", parts)});
  NodeId var = mean("var", d.add("square", Op::mul, {centered, centered}));
  NodeId inverse =
      d.add("rsqrt", Op::rsqrt, {d.add("var_epsilon", Op::add, {var, d.literal(d.epsilon())})});
  NodeId unit = d.add("normalized", Op::mul, {centered, inverse});
  unit = d.add("normalized_channels", Op::reshape, {unit}, {{"shape", shape}});
  NodeId scaled = d.add("scaled", Op::mul, {unit, per_channel(d, 1, "gamma")});
  return d.result("group_norm", Op::add, {scaled, per_channel(d, 2, "beta")});
}

NodeId scatter_add(Definition& d) {
  return d.named(Op::scatter, {d.raw_operand(0), d.raw_operand(1), d.raw_operand(2)},
                 {{"dim", d.number("dim")}, {"mode", std::string("add")}});
}

Define definition_of(Op op) {
  if (Define define = selection_definition(op)) return define;
  if (Define define = window_definition(op)) return define;
  if (Define define = attention_definition(op)) return define;
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
    case Op::batch_norm:
      return batch_norm;
    case Op::group_norm:
      return group_norm;
    case Op::scatter_add:
      return scatter_add;
    case Op::cast:
      return cast_unsaturated;
    case Op::conv:
      return conv_with_bias;
    default:
      fail_internal("decompose", fmt::format("{} has no definition", op_name(op)));
  }
}

bool is_composite(const Node& node) {
  return op_info(node.op).category == Category::composite ||
         (node.op == Op::conv && node.operands.size() > 2) ||
         (node.op == Op::cast && !flag_attr(op_info(node.op), node.attrs, "saturate"));
}

}  // namespace

bool has_composites(const Graph& graph) { return std::ranges::any_of(graph.nodes, is_composite); }

Graph decompose(const Graph& graph) {
  return rebuild(graph, [&](GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
    if (!is_composite(node)) return builder.copy(node, std::move(operands));
    Definition definition(builder, node, operands);
    return definition_of(node.op)(definition);
  });
}

}  // namespace ingot
