// MatMul, Gemm, Conv.
#include <algorithm>

#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

// A vector counts as a matrix of one row (left) or one column (right); the result loses it again.
void matmul(NodeContext& n) {
  NodeId a = n.input(0), b = n.input(1);
  if (n.rank(a) == 0 || n.rank(b) == 0) n.invalid("an operand without dimensions");
  bool a_is_vector = n.rank(a) == 1, b_is_vector = n.rank(b) == 1;
  if (!a_is_vector && !b_is_vector) {
    n.result(Op::matmul, {a, b});
    return;
  }
  if (a_is_vector) a = n.reshape("row", a, {1, n.shape(a)[0]});
  if (b_is_vector) b = n.reshape("column", b, {n.shape(b)[0], 1});
  NodeId product = n.add("matrix", Op::matmul, {a, b});
  Shape shape = n.shape(product);
  if (b_is_vector) shape.pop_back();
  if (a_is_vector) shape.erase(shape.end() - (b_is_vector ? 1 : 2));
  n.result(Op::reshape, {product}, {{"shape", shape}});
}

// alpha · A' · B' + beta · C
void gemm(NodeContext& n) {
  NodeId a = n.input(0), b = n.input(1);
  if (n.rank(a) != 2 || n.rank(b) != 2) n.invalid("A and B need 2 dimensions");
  Attrs attrs{{"transpose_a", n.int_attr("transA", 0) != 0},
              {"transpose_b", n.int_attr("transB", 0) != 0}};
  double alpha = n.float_attr("alpha", 1), beta = n.float_attr("beta", 1);
  bool adds = n.has_input(2) && beta != 0;
  if (alpha == 1 && !adds) {
    n.result(Op::matmul, {a, b}, attrs);
    return;
  }
  NodeId product = n.add("product", Op::matmul, {a, b}, attrs);
  DType dtype = n.dtype(product);
  if (!is_float(dtype) && (alpha != 1 || (adds && beta != 1))) {
    n.unsupported("alpha or beta with integers");
  }
  if (!adds) {
    n.result(Op::mul, {product, n.literal(dtype, alpha)});
    return;
  }
  if (alpha != 1) product = n.add("scaled", Op::mul, {product, n.literal(dtype, alpha)});
  NodeId c = n.input(2);
  if (beta != 1) c = n.add("c", Op::mul, {c, n.literal(dtype, beta)});
  NodeId sum = n.result(Op::add, {product, c});
  if (n.rank(sum) != 2) n.invalid("C has more dimensions than the product");
}

// Pads that auto_pad stands for, low ones first. SAME: as many outputs as strides fit the input.
std::vector<int64_t> automatic_pads(NodeContext& n, const std::string& mode, const Shape& x,
                                    const std::vector<int64_t>& kernel,
                                    const std::vector<int64_t>& strides,
                                    const std::vector<int64_t>& dilations) {
  size_t rank = kernel.size();
  std::vector<int64_t> pads(2 * rank, 0);
  if (mode == "VALID") return pads;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") n.unsupported(fmt::format("auto_pad {}", mode));
  for (size_t d = 0; d < rank; ++d) {
    int64_t reach = (kernel[d] - 1) * dilations[d] + 1, total = 0;
    if (auto size = x[d + 2].constant()) {
      int64_t outputs = (*size + strides[d] - 1) / strides[d];
      total = std::max<int64_t>(0, (outputs - 1) * strides[d] + reach - *size);
    } else if (strides[d] == 1) {
      total = reach - 1;
    } else {
      n.unsupported(
          fmt::format("auto_pad {} with stride {} in size {}", mode, strides[d], x[d + 2].text()));
    }
    int64_t less = total / 2, more = total - less;
    pads[d] = mode == "SAME_LOWER" ? more : less;
    pads[d + rank] = total - pads[d];
  }
  return pads;
}

void conv(NodeContext& n) {
  NodeId x = n.input(0), w = n.input(1);
  if (n.rank(x) < 3 || n.rank(w) != n.rank(x)) {
    n.invalid(fmt::format("{} and {} dimensions", n.rank(x), n.rank(w)));
  }
  const Shape image = n.shape(x), weights = n.shape(w);
  size_t rank = image.size() - 2;
  std::vector<int64_t> kernel;
  for (size_t d = 0; d < rank; ++d) {
    if (!weights[d + 2].constant()) n.unsupported("a kernel of a named size");
    kernel.push_back(*weights[d + 2].constant());
  }
  auto list = [&](std::string_view name, size_t count, int64_t fallback, int64_t least) {
    auto values = n.ints_attr(name).value_or(std::vector<int64_t>(count, fallback));
    bool valid = values.size() == count && std::ranges::all_of(values, [&](int64_t value) {
                   return value >= least && value <= (1 << 30);
                 });
    if (!valid) n.invalid(fmt::format("{} needs {} numbers from {} on", name, count, least));
    return values;
  };
  std::vector<int64_t> strides = list("strides", rank, 1, 1);
  std::vector<int64_t> dilations = list("dilations", rank, 1, 1);
  std::vector<int64_t> pads = list("pads", 2 * rank, 0, 0);
  if (auto shape = n.ints_attr("kernel_shape"); shape && *shape != kernel) {
    n.invalid(fmt::format("kernel_shape differs from the weights' shape {}", shape_text(weights)));
  }
  std::string mode = n.text_attr("auto_pad", "NOTSET");
  if (mode != "NOTSET") pads = automatic_pads(n, mode, image, kernel, strides, dilations);
  std::vector<NodeId> operands{x, w};
  if (n.has_input(2)) operands.push_back(n.input(2));
  auto sizes = [](const std::vector<int64_t>& values) {
    return std::vector<Sym>(values.begin(), values.end());
  };
  n.result(Op::conv, operands,
           {{"strides", sizes(strides)},
            {"pads", sizes(pads)},
            {"dilations", sizes(dilations)},
            {"groups", n.int_attr("group", 1)}});
}

// A pooling op's attributes in the table's form.
Attrs pool_attrs(NodeContext& n, NodeId x) {
  if (n.rank(x) < 3) n.invalid(fmt::format("needs spatial dimensions: {}", n.rank(x)));
  size_t rank = n.shape(x).size() - 2;
  auto list = [&](std::string_view name, size_t count, int64_t fallback) {
    auto values = n.ints_attr(name).value_or(std::vector<int64_t>(count, fallback));
    if (values.size() != count) n.invalid(fmt::format("{} needs {} numbers", name, count));
    return values;
  };
  if (!n.has_attr("kernel_shape")) n.invalid("kernel_shape is missing");
  std::vector<int64_t> kernel = list("kernel_shape", rank, 1), strides = list("strides", rank, 1);
  std::vector<int64_t> dilations = list("dilations", rank, 1), pads = list("pads", 2 * rank, 0);
  std::string mode = n.text_attr("auto_pad", "NOTSET");
  if (mode != "NOTSET") pads = automatic_pads(n, mode, n.shape(x), kernel, strides, dilations);
  auto sizes = [](const std::vector<int64_t>& values) {
    return std::vector<Sym>(values.begin(), values.end());
  };
  return {{"kernel", sizes(kernel)},
          {"strides", sizes(strides)},
          {"pads", sizes(pads)},
          {"dilations", sizes(dilations)},
          {"ceil_mode", n.int_attr("ceil_mode", 0) != 0}};
}

void max_pool(NodeContext& n) {
  NodeId x = n.input(0);
  if (n.wants_output(1)) n.unsupported("the indices");
  n.ignore_attrs({"storage_order"});  // of the indices
  n.result(Op::max_pool, {x}, pool_attrs(n, x));
}

void average_pool(NodeContext& n) {
  NodeId x = n.input(0);
  Attrs attrs = pool_attrs(n, x);
  attrs["count_include_pad"] = n.int_attr("count_include_pad", 0) != 0;
  n.result(Op::avg_pool, {x}, attrs);
}

// x with its padding as zeros, also with what the last windows of ceil_mode reach, so that all
// windows have one size. The attributes lose both.
NodeId with_zeros(NodeContext& n, NodeId x, Attrs& attrs) {
  std::vector<Sym> low(n.shape(x).size(), Sym(0)), high = low;
  size_t d = 2;
  for (const PoolDim& dim : pool_dims(n.shape(x), op_info(Op::avg_pool), attrs)) {
    low[d] = dim.low;
    high[d++] = dim.high + dim.beyond;
  }
  attrs["pads"] = std::vector<Sym>(2 * (d - 2), Sym(0));
  attrs["ceil_mode"] = false;
  return n.add("padded", Op::pad, {x}, {{"low", low}, {"high", high}});
}

// The p-norm of each window: of its mean, times its count, where padding counts and adds 0.
void lp_pool(NodeContext& n) {
  NodeId x = n.input(0);
  int64_t p = n.int_attr("p", 2);
  if (p < 1) n.invalid(fmt::format("p={}", p));
  Attrs attrs = pool_attrs(n, x);
  attrs["count_include_pad"] = true;
  double count = 1;
  for (const Sym& size : std::get<std::vector<Sym>>(attrs["kernel"])) {
    count *= static_cast<double>(*size.constant());
  }
  const DType dtype = n.dtype(x);
  NodeId powers = p == 2 ? n.add("powers", Op::mul, {x, x}) : n.add("magnitude", Op::abs, {x});
  if (p > 2) {
    powers = n.add("powers", Op::pow, {powers, n.literal(dtype, static_cast<double>(p))});
  }
  if (std::get<bool>(attrs["ceil_mode"])) powers = with_zeros(n, powers, attrs);
  NodeId mean = n.add("mean", Op::avg_pool, {powers}, attrs);
  NodeId factor = n.literal(n.dtype(x), count);
  if (p == 1) {
    n.result(Op::mul, {mean, factor});
    return;
  }
  NodeId sum = n.add("sum", Op::mul, {mean, factor});
  if (p == 2) {
    n.result(Op::sqrt, {sum});
  } else {
    n.result(Op::pow, {sum, n.literal(dtype, 1 / static_cast<double>(p))});
  }
}

}  // namespace

HandlerTable product_handlers() {
  return {{"MatMul", matmul},
          {"Gemm", gemm},
          {"Conv", conv},
          {"MaxPool", max_pool},
          {"AveragePool", average_pool},
          {"LpPool", lp_pool}};
}

}  // namespace ingot::onnx_model
