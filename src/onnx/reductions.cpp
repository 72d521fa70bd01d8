// Reductions, softmax and normalizations.
#include <algorithm>
#include <numeric>

#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

std::vector<Sym> as_sizes(const std::vector<int>& dims) { return {dims.begin(), dims.end()}; }

struct Reduced {
  std::vector<int> dims;
  bool keepdims;
  Attrs attrs() const { return {{"dims", as_sizes(dims)}, {"keepdims", keepdims}}; }
};

// Axes: an attribute, later an input; none means all, or none at all with noop_with_empty_axes.
Reduced reduced_dims(NodeContext& n, NodeId x) {
  Reduced out{{}, n.int_attr("keepdims", 1) != 0};
  bool noop = n.int_attr("noop_with_empty_axes", 0) != 0;
  std::vector<int64_t> given;
  if (auto axes = n.ints_attr("axes")) {
    given = *axes;
  } else if (n.has_input(1)) {
    given = n.integers_input(1, "axes");
  }
  out.dims = n.axes(given, n.rank(x));
  if (given.empty() && !noop) {
    out.dims.resize(n.shape(x).size());
    std::iota(out.dims.begin(), out.dims.end(), 0);
  }
  return out;
}

void reduce(NodeContext& n, Op op) {
  NodeId x = n.input(0);
  Reduced reduced = reduced_dims(n, x);
  bool is_bool = n.dtype(x) == DType::boolean;
  if (is_bool && op == Op::max) op = Op::any;
  if (is_bool && op == Op::min) op = Op::all;
  // Nothing to reduce: the op's own arithmetic on single elements.
  if (reduced.dims.empty()) {
    if (op == Op::l1_norm || op == Op::l2_norm) {
      n.result(Op::abs, {x});
    } else if (op == Op::sum_square) {
      n.result(Op::mul, {x, x});
    } else {
      n.set(0, x);
    }
    return;
  }
  if (op == Op::mean && is_integer(n.dtype(x))) {  // the quotient truncates
    Sym count = 1;
    for (int dim : reduced.dims) count = count * n.shape(x)[static_cast<size_t>(dim)];
    NodeId sum = n.add("sum", Op::sum, {x}, reduced.attrs());
    n.result(Op::div, {sum, n.size_value("count", count, n.dtype(x))});
    return;
  }
  n.result(op, {x}, reduced.attrs());
}

void reduce_sum(NodeContext& n) { reduce(n, Op::sum); }
void reduce_max(NodeContext& n) { reduce(n, Op::max); }
void reduce_min(NodeContext& n) { reduce(n, Op::min); }
void reduce_prod(NodeContext& n) { reduce(n, Op::prod); }
void reduce_mean(NodeContext& n) { reduce(n, Op::mean); }
void reduce_l1(NodeContext& n) { reduce(n, Op::l1_norm); }
void reduce_l2(NodeContext& n) { reduce(n, Op::l2_norm); }
void reduce_sum_square(NodeContext& n) { reduce(n, Op::sum_square); }
void reduce_log_sum_exp(NodeContext& n) { reduce(n, Op::logsumexp); }

void reduce_log_sum(NodeContext& n) {
  NodeId x = n.input(0);
  Reduced reduced = reduced_dims(n, x);
  NodeId sum = reduced.dims.empty() ? x : n.add("sum", Op::sum, {x}, reduced.attrs());
  n.result(Op::log, {sum});
}

void arg_extreme(NodeContext& n, Op op) {
  NodeId x = n.input(0);
  int64_t axis = n.axis(n.int_attr("axis", 0), n.rank(x));
  bool keepdims = n.int_attr("keepdims", 1) != 0, last = n.int_attr("select_last_index", 0) != 0;
  n.result(op, {x},
           {{"dims", std::vector<Sym>{axis}}, {"keepdims", keepdims}, {"select_last_index", last}});
}

void argmax(NodeContext& n) { arg_extreme(n, Op::argmax); }
void argmin(NodeContext& n) { arg_extreme(n, Op::argmin); }

void cumsum(NodeContext& n) {
  NodeId x = n.input(0);
  std::vector<int64_t> axis = n.integers_input(1, "axis");
  if (axis.size() != 1) n.invalid("axis is one number");
  n.result(Op::cumsum, {x},
           {{"dim", int64_t{n.axis(axis[0], n.rank(x))}},
            {"exclusive", n.int_attr("exclusive", 0) != 0},
            {"reverse", n.int_attr("reverse", 0) != 0}});
}

// k: an attribute before opset 10, then an input. Elements come in order, whatever `sorted` says.
void topk(NodeContext& n) {
  NodeId x = n.input(0);
  n.ignore_attrs({"sorted"});
  int64_t k = n.int_attr("k", -1);
  if (n.has_input(1)) {
    std::vector<int64_t> given = n.integers_input(1, "k");
    if (given.size() != 1) n.invalid("k is one number");
    k = given[0];
  }
  Attrs attrs{{"k", k},
              {"dim", int64_t{n.axis(n.int_attr("axis", -1), n.rank(x))}},
              {"largest", n.int_attr("largest", 1) != 0}};
  if (n.wants_output(1)) n.result(Op::topk_indices, {x}, attrs, 1);
  if (n.wants_output(0)) n.result(Op::topk, {x}, attrs);
}

// 1 at the first largest element along axis, else 0. Before opset 13 as softmax.
void hardmax(NodeContext& n) {
  NodeId x = n.input(0);
  bool flattens = n.opset() < 13;
  int dim = n.axis(n.int_attr("axis", flattens ? 1 : -1), n.rank(x));
  const Shape shape = n.shape(x);
  NodeId rows = x;
  if (flattens && dim != n.rank(x) - 1) {
    Shape head(shape.begin(), shape.begin() + dim), tail(shape.begin() + dim, shape.end());
    rows = n.reshape("rows", x, {element_count(head), element_count(tail)});
    dim = 1;
  }
  Shape counting(n.shape(rows).size(), Sym(1));
  counting[static_cast<size_t>(dim)] = n.shape(rows)[static_cast<size_t>(dim)];
  NodeId places = n.add("places", Op::iota, {},
                        {{"shape", counting}, {"dim", int64_t{dim}}, {"dtype", DType::i64}});
  NodeId first =
      n.add("first", Op::argmax, {rows}, {{"dims", std::vector<Sym>{dim}}, {"keepdims", true}});
  NodeId is_first = n.add("is_first", Op::eq, {places, first});
  DType dtype = n.dtype(x);
  NodeId one = n.add("one", Op::select, {is_first, n.literal(dtype, 1), n.literal(dtype, 0)});
  n.set(0, n.reshape("hardmax", one, shape));
}

// All spatial dimensions, kept as 1.
void global_pool(NodeContext& n, Op op) {
  NodeId x = n.input(0);
  if (n.rank(x) < 3) n.invalid(fmt::format("needs spatial dimensions: {}", n.rank(x)));
  Reduced spatial{std::vector<int>(n.shape(x).size() - 2), true};
  std::iota(spatial.dims.begin(), spatial.dims.end(), 2);
  n.result(op, {x}, spatial.attrs());
}

void global_max_pool(NodeContext& n) { global_pool(n, Op::max); }
void global_average_pool(NodeContext& n) { global_pool(n, Op::mean); }

// The p-norm of everything behind the channels.
void global_lp_pool(NodeContext& n) {
  NodeId x = n.input(0);
  if (n.rank(x) < 3) n.invalid("needs spatial dimensions");
  const auto p = static_cast<double>(n.int_attr("p", 2));
  if (p < 1) n.invalid(fmt::format("p={}", p));
  Reduced spatial{std::vector<int>(n.shape(x).size() - 2), true};
  std::iota(spatial.dims.begin(), spatial.dims.end(), 2);
  if (p <= 2) {
    n.result(p == 1 ? Op::l1_norm : Op::l2_norm, {x}, spatial.attrs());
    return;
  }
  const DType dtype = n.dtype(x);
  NodeId magnitude = n.add("magnitude", Op::abs, {x});
  NodeId powers = n.add("powers", Op::pow, {magnitude, n.literal(dtype, p)});
  NodeId sum = n.add("sum", Op::sum, {powers}, spatial.attrs());
  n.result(Op::pow, {sum, n.literal(dtype, 1 / p)});
}

// Before opset 13 everything from `axis` on is one dimension.
void softmax_like(NodeContext& n, Op op) {
  NodeId x = n.input(0);
  int rank = n.rank(x);
  bool flattens = n.opset() < 13;
  int64_t axis = n.int_attr("axis", flattens ? 1 : -1);
  if (flattens && axis == rank) n.unsupported(fmt::format("axis {} of {} dimensions", axis, rank));
  int dim = n.axis(axis, rank);
  if (!flattens || dim == rank - 1) {
    n.result(op, {x}, {{"dim", int64_t{dim}}});
    return;
  }
  const Shape shape = n.shape(x);
  Shape head(shape.begin(), shape.begin() + dim), tail(shape.begin() + dim, shape.end());
  NodeId rows =
      n.add("rows", Op::reshape, {x}, {{"shape", Shape{element_count(head), element_count(tail)}}});
  NodeId value = n.add("flat", op, {rows}, {{"dim", int64_t{1}}});
  n.result(Op::reshape, {value}, {{"shape", shape}});
}

void softmax(NodeContext& n) { softmax_like(n, Op::softmax); }
void log_softmax(NodeContext& n) { softmax_like(n, Op::log_softmax); }

void layer_norm(NodeContext& n) {
  NodeId x = n.input(0), gamma = n.input(1);
  if (n.int_attr("stash_type", 1) != 1) n.unsupported("stash_type other than FLOAT");
  std::vector<int> dims(n.shape(x).size());
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin(), dims.begin() + n.axis(n.int_attr("axis", -1), n.rank(x)));
  std::vector<NodeId> operands{x, gamma};
  if (n.has_input(2)) operands.push_back(n.input(2));
  double epsilon = n.float_attr("epsilon", 1e-5);
  n.result(Op::layer_norm, operands, {{"dims", as_sizes(dims)}, {"epsilon", epsilon}});
  if (!n.wants_output(1) && !n.wants_output(2)) return;
  NodeId wide = n.dtype(x) == DType::f64 ? x : n.cast("wide", x, DType::f32);
  Attrs kept = Reduced{dims, true}.attrs();
  n.result(Op::mean, {wide}, kept, 1);
  NodeId var = n.add("var", Op::var, {wide}, kept);
  NodeId shifted = n.add("var_epsilon", Op::add, {var, n.literal(n.dtype(wide), epsilon)});
  n.result(Op::rsqrt, {shifted}, {}, 2);
}

void rms_norm(NodeContext& n) {
  NodeId x = n.input(0), gamma = n.input(1);
  if (n.int_attr("stash_type", 1) != 1) n.unsupported("stash_type other than FLOAT");
  if (n.dtype(gamma) != n.dtype(x)) n.unsupported("a scale of another type than X");
  std::vector<int> dims(n.shape(x).size());
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin(), dims.begin() + n.axis(n.int_attr("axis", -1), n.rank(x)));
  n.result(Op::rms_norm, {x, gamma},
           {{"dims", as_sizes(dims)}, {"epsilon", n.float_attr("epsilon", 1e-5)}});
}

// [channels] as [channels, 1, 1…], to stand beside [batch, channels, …].
NodeId per_channel(NodeContext& n, NodeId x, size_t i, std::string_view name) {
  NodeId values = n.input(i);
  Shape shape(n.shape(x).size() - 1, Sym(1));
  if (n.rank(values) != 1 || shape.empty()) n.invalid(fmt::format("{}: not one per channel", name));
  shape[0] = n.shape(values)[0];
  NodeId aligned = n.reshape(fmt::format("{}_aligned", name), values, shape);
  return n.cast(name, aligned, n.dtype(x));
}

// (x − mean) / sqrt(var + epsilon) · scale + bias, in this order.
void normalize(NodeContext& n, NodeId x, NodeId mean, NodeId var, NodeId scale, NodeId bias) {
  NodeId centered = n.add("centered", Op::sub, {x, mean});
  NodeId epsilon = n.literal(n.dtype(x), n.float_attr("epsilon", 1e-5));
  NodeId deviation = n.add("deviation", Op::sqrt, {n.add("var_epsilon", Op::add, {var, epsilon})});
  NodeId unit = n.add("normalized", Op::div, {centered, deviation});
  n.result(Op::add, {n.add("scaled", Op::mul, {unit, scale}), bias});
}

// Statistics of the batch, and outputs 1 and 2: running ones, momentum · old + (1 − momentum) ·
// own.
void batch_norm_in_training(NodeContext& n) {
  NodeId x = n.input(0);
  if (n.rank(x) < 2) n.invalid("needs 2 dimensions");
  Reduced others{{}, true};
  for (int d = 0; d < n.rank(x); ++d) {
    if (d != 1) others.dims.push_back(d);
  }
  const double momentum = n.float_attr("momentum", 0.9);
  NodeId mean = n.add("mean", Op::mean, {x}, others.attrs());
  NodeId var = n.add("var", Op::var, {x}, others.attrs());
  auto running = [&](size_t output, NodeId own, std::string_view name) {
    if (!n.wants_output(output)) return;
    NodeId old = n.input(output + 2);
    const DType dtype = n.dtype(old);
    NodeId flat = n.reshape(fmt::format("own_{}", name), own, n.shape(old));
    NodeId now =
        n.add(fmt::format("new_{}", name), Op::mul,
              {n.cast(fmt::format("cast_{}", name), flat, dtype), n.literal(dtype, 1 - momentum)});
    NodeId before = n.add(fmt::format("old_{}", name), Op::mul, {old, n.literal(dtype, momentum)});
    n.result(Op::add, {before, now}, {}, output);
  };
  running(1, mean, "mean");
  running(2, var, "var");
  normalize(n, x, mean, var, per_channel(n, x, 1, "scale"), per_channel(n, x, 2, "bias"));
}

void batch_norm(NodeContext& n) {
  if (n.int_attr("training_mode", 0) != 0) return batch_norm_in_training(n);
  n.ignore_attrs({"momentum"});
  if (n.int_attr("spatial", 1) != 1) n.unsupported("spatial=0");
  for (size_t i = 1; i < n.node().outputs.size(); ++i) {
    if (n.wants_output(i)) n.unsupported("outputs of training");
  }
  NodeId x = n.input(0);
  NodeId scale = per_channel(n, x, 1, "scale"), bias = per_channel(n, x, 2, "bias");
  NodeId mean = per_channel(n, x, 3, "mean"), var = per_channel(n, x, 4, "var");
  normalize(n, x, mean, var, scale, bias);
}

void instance_norm(NodeContext& n) {
  NodeId x = n.input(0);
  if (n.rank(x) < 3) n.invalid("needs spatial dimensions");
  Reduced spatial{std::vector<int>(n.shape(x).size() - 2), true};
  std::iota(spatial.dims.begin(), spatial.dims.end(), 2);
  NodeId scale = per_channel(n, x, 1, "scale"), bias = per_channel(n, x, 2, "bias");
  NodeId mean = n.add("mean", Op::mean, {x}, spatial.attrs());
  NodeId var = n.add("var", Op::var, {x}, spatial.attrs());
  normalize(n, x, mean, var, scale, bias);
}

// x over its norm along axis; 0 where the norm is 0.
void lp_normalization(NodeContext& n) {
  NodeId x = n.input(0);
  int64_t p = n.int_attr("p", 2), axis = n.axis(n.int_attr("axis", -1), n.rank(x));
  if (p != 1 && p != 2) n.invalid(fmt::format("p={} is neither 1 nor 2", p));
  NodeId norm = n.add("norm", p == 1 ? Op::l1_norm : Op::l2_norm, {x},
                      {{"dims", std::vector<Sym>{axis}}, {"keepdims", true}});
  NodeId zero = n.literal(n.dtype(x), 0);
  NodeId divided = n.add("divided", Op::div, {x, norm});
  n.result(Op::select, {n.add("nothing", Op::eq, {norm, zero}), zero, divided});
}

// (x - mean) / (deviation + 1e-9) over the axes
void mean_variance_normalization(NodeContext& n) {
  NodeId x = n.input(0);
  std::vector<int64_t> given{0, 2, 3};
  if (auto axes = n.ints_attr("axes")) given = *axes;
  Attrs kept = Reduced{n.axes(given, n.rank(x)), true}.attrs();
  NodeId centered = n.add("centered", Op::sub, {x, n.add("mean", Op::mean, {x}, kept)});
  NodeId deviation = n.add("deviation", Op::sqrt, {n.add("var", Op::var, {x}, kept)});
  NodeId divisor = n.add("divisor", Op::add, {deviation, n.literal(n.dtype(x), 1e-9)});
  n.result(Op::div, {centered, divisor});
}

// x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ^ beta
void local_response_normalization(NodeContext& n) {
  NodeId x = n.input(0);
  int64_t size = n.int_attr("size", 0);
  if (size < 1 || n.rank(x) < 2) n.invalid(fmt::format("size {}", size));
  DType dtype = n.dtype(x);
  double alpha = n.float_attr("alpha", 1e-4), beta = n.float_attr("beta", 0.75);
  double bias = n.float_attr("bias", 1);
  const Shape shape = n.shape(x);
  Shape split{shape[0], shape[1], 1};  // everything after the channels as one
  for (size_t d = 2; d < shape.size(); ++d) split[2] = split[2] * shape[d];
  NodeId squares = n.reshape("squares_rows", n.add("squares", Op::mul, {x, x}), split);
  NodeId sideways =
      n.add("channels_last", Op::transpose, {squares}, {{"perm", std::vector<Sym>{0, 2, 1}}});
  NodeId padded = n.add("padded", Op::pad, {sideways},
                        {{"low", std::vector<Sym>{0, 0, (size - 1) / 2}},
                         {"high", std::vector<Sym>{0, 0, size / 2}}});
  NodeId windows = n.add("windows", Op::window, {padded}, {{"sizes", std::vector<Sym>{size}}});
  NodeId sum =
      n.add("sum", Op::sum, {windows}, {{"dims", std::vector<Sym>{2}}, {"keepdims", false}});
  sum = n.add("channels", Op::transpose, {sum}, {{"perm", std::vector<Sym>{0, 2, 1}}});
  sum = n.reshape("sum_rows", sum, shape);
  NodeId scaled =
      n.add("scaled", Op::mul, {sum, n.literal(dtype, alpha / static_cast<double>(size))});
  NodeId base = n.add("base", Op::add, {scaled, n.literal(dtype, bias)});
  n.result(Op::div, {x, n.add("power", Op::pow, {base, n.literal(dtype, beta)})});
}

// Normalized in groups of channels, then scaled a channel (opset 21) or a group (opset 18).
void group_norm(NodeContext& n) {
  if (n.int_attr("stash_type", 1) != 1) n.unsupported("stash_type other than FLOAT");
  NodeId x = n.input(0);
  const Shape shape = n.shape(x);
  int64_t groups = n.int_attr("num_groups", 0);
  if (shape.size() < 3 || groups < 1) n.invalid("needs spatial dimensions and num_groups");
  std::optional<Sym> members = exact_div(shape[1], Sym(groups));
  if (!members) n.invalid(fmt::format("{} channels in {} groups", shape[1].text(), groups));
  Shape grouped{shape[0], groups, *members};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  std::vector<int> dims(grouped.size() - 2);
  std::iota(dims.begin(), dims.end(), 2);
  bool by_channel = n.opset() >= 21;
  auto parameter = [&](size_t i, std::string_view name) {
    Shape aligned(grouped.size() - 1, Sym(1));
    aligned[0] = groups;
    if (by_channel) aligned[1] = *members;
    return n.reshape(name, n.input(i), aligned);
  };
  NodeId parts = n.add("groups", Op::reshape, {x}, {{"shape", grouped}});
  Attrs kept = Reduced{dims, true}.attrs();
  NodeId centered = n.add("centered", Op::sub, {parts, n.add("mean", Op::mean, {parts}, kept)});
  NodeId epsilon = n.literal(n.dtype(x), n.float_attr("epsilon", 1e-5));
  NodeId var = n.add("var_epsilon", Op::add, {n.add("var", Op::var, {parts}, kept), epsilon});
  NodeId unit = n.add("normalized", Op::div, {centered, n.add("deviation", Op::sqrt, {var})});
  NodeId scaled = n.add("scaled", Op::mul, {unit, parameter(1, "scale")});
  NodeId shifted = n.add("shifted", Op::add, {scaled, parameter(2, "bias")});
  n.result(Op::reshape, {shifted}, {{"shape", shape}});
}

}  // namespace

HandlerTable reduction_handlers() {
  return {{"ReduceSum", reduce_sum},
          {"ReduceMax", reduce_max},
          {"ReduceMin", reduce_min},
          {"ReduceProd", reduce_prod},
          {"ReduceMean", reduce_mean},
          {"ReduceL1", reduce_l1},
          {"ReduceL2", reduce_l2},
          {"ReduceSumSquare", reduce_sum_square},
          {"ReduceLogSum", reduce_log_sum},
          {"ReduceLogSumExp", reduce_log_sum_exp},
          {"ArgMax", argmax},
          {"ArgMin", argmin},
          {"CumSum", cumsum},
          {"TopK", topk},
          {"Hardmax", hardmax},
          {"LpNormalization", lp_normalization},
          {"MeanVarianceNormalization", mean_variance_normalization},
          {"LRN", local_response_normalization},
          {"GlobalMaxPool", global_max_pool},
          {"GlobalAveragePool", global_average_pool},
          {"GlobalLpPool", global_lp_pool},
          {"Softmax", softmax},
          {"LogSoftmax", log_softmax},
          {"LayerNormalization", layer_norm},
          {"RMSNormalization", rms_norm},
          {"BatchNormalization", batch_norm},
          {"InstanceNormalization", instance_norm},
          {"GroupNormalization", group_norm}};
}

}  // namespace ingot::onnx_model
