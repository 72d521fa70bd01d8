// Products: a block of rows (or an image) by the library into a tile, then the rest of the group on
// it.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "lower/nest.h"
#include "plan/domain.h"

namespace ingot::lowering {
namespace {

constexpr const char* row_symbol = "@row";
constexpr const char* column_symbol = "@column";
constexpr const char* inner_symbol = "@inner";

// Sizes of a matmul [batch…, m, k] × [batch…, k, n]; 1-D operands have m = 1 or n = 1.
struct MatmulShape {
  Shape batch;
  Sym m, n, k;
  bool transpose_a, transpose_b, vector_a, vector_b;
};

bool has_batch(const Shape& shape) {
  for (size_t d = 0; d + 2 < shape.size(); ++d) {
    if (!shape[d].is(1)) return true;
  }
  return false;
}

MatmulShape matmul_shape(const Graph& graph, const Node& node) {
  const OpInfo& info = op_info(node.op);
  const Shape& a = graph[node.operands[0]].type.shape;
  const Shape& b = graph[node.operands[1]].type.shape;
  MatmulShape s;
  s.vector_a = a.size() == 1;
  s.vector_b = b.size() == 1;
  s.transpose_a = !s.vector_a && flag_attr(info, node.attrs, "transpose_a");
  s.transpose_b = !s.vector_b && flag_attr(info, node.attrs, "transpose_b");
  s.m = s.vector_a ? Sym(1) : a[a.size() - (s.transpose_a ? 1 : 2)];
  s.k = s.vector_a ? a[0] : a[a.size() - (s.transpose_a ? 2 : 1)];
  s.n = s.vector_b ? Sym(1) : b[b.size() - (s.transpose_b ? 2 : 1)];
  const Shape& result = node.type.shape;
  size_t kept = (s.vector_a ? 0u : 1u) + (s.vector_b ? 0u : 1u);
  s.batch.assign(result.begin(), result.end() - static_cast<std::ptrdiff_t>(kept));
  return s;
}

// Index of operand a or b for a batch index and the two matrix indices.
std::vector<Sym> operand_index(const Shape& shape, const std::vector<Sym>& batch, const Sym& first,
                               const Sym& second, bool vector, bool transposed) {
  if (vector) return {first.is(0) ? second : first};
  std::vector<Sym> index(shape.size());
  size_t own = shape.size() - 2;
  for (size_t d = 0; d < own; ++d) {
    size_t from = batch.size() - own + d;
    index[d] = shape[d].is(1) ? Sym(0) : batch[from];
  }
  index[own] = transposed ? second : first;
  index[own + 1] = transposed ? first : second;
  return index;
}

struct Strided {
  Sym offset, first, second;  // flat = offset + first·row + second·column
};

Strided strides_of(const Sym& flat, const char* first, const char* second, const Sym& first_extent,
                   const Sym& second_extent, const std::string& what) {
  std::optional<Sym> a = flat.stride(first), b = flat.stride(second);
  INGOT_CHECK(a && b, "operand of '{}' is not strided: {}", what, flat.text());
  Sym offset = flat.substitute({{first, Sym(0)}, {second, Sym(0)}});
  // A dimension of size 1 has any stride.
  return {offset, first_extent.is(1) ? Sym(0) : *a, second_extent.is(1) ? Sym(0) : *b};
}

// Leading dimension and whether the matrix lies transposed in memory.
std::pair<Sym, bool> leading(const Strided& s, const Sym& rows, const Sym& columns,
                             const std::string& what) {
  if (s.second.is(1) || columns.is(1)) return {rows.is(1) ? columns : s.first, false};
  if (s.first.is(1) || rows.is(1)) return {s.second, true};
  fail_internal("lower", fmt::format("operand of '{}' has no unit stride", what));
}

}  // namespace

// The buffer that a viewed operand is stored in, and the flat index in it.
std::pair<NodeId, Sym> Nest::stored_at(NodeId node, std::vector<Sym> index,
                                       const Ranges& ranges) const {
  while (std::find(group_.inputs.begin(), group_.inputs.end(), node) == group_.inputs.end()) {
    const Node& n = graph_[node];
    INGOT_CHECK((op_info(n.op).flags & OpFlag::view) != 0, "'{}' is not a view of a buffer",
                n.name);
    index = operand_access(graph_, node, 0, index, ranges).index;
    node = n.operands[0];
  }
  return {node, flat_index(graph_[node].type.shape, index)};
}

// Emits the library call for rows [first, first + rows) of one batch element.
void Nest::matmul(const std::string& tile, const Sym& batch, const Sym& first, const Sym& rows,
                  bool whole_batches) {
  const Node& node = graph_[group_.contraction];
  MatmulShape s = matmul_shape(graph_, node);
  Ranges ranges{{row_symbol, s.m}, {column_symbol, s.n}, {inner_symbol, s.k}};
  std::vector<Sym> batch_index(s.batch.size());
  Sym row = Sym::var(row_symbol);
  // Rows may run through all batches: then the batch index follows from the row.
  Sym m_index = row;
  Shape counted = s.batch;
  if (whole_batches) {
    counted.push_back(s.m);
    ranges[row_symbol] = element_count(counted);
  }
  std::vector<size_t> dims(counted.size());
  std::iota(dims.begin(), dims.end(), size_t{0});
  std::vector<Sym> counted_index(counted.size());
  split_index(whole_batches ? row : batch, counted, dims, ranges, &counted_index);
  if (whole_batches) m_index = counted_index.back();
  std::copy_n(counted_index.begin(), s.batch.size(), batch_index.begin());
  const Shape& a_shape = graph_[node.operands[0]].type.shape;
  const Shape& b_shape = graph_[node.operands[1]].type.shape;
  Sym inner = Sym::var(inner_symbol), column = Sym::var(column_symbol);
  auto [a, a_flat] = stored_at(node.operands[0],
                               operand_index(a_shape, batch_index, s.vector_a ? Sym(0) : m_index,
                                             inner, s.vector_a, s.transpose_a),
                               ranges);
  auto [b, b_flat] = stored_at(
      node.operands[1],
      operand_index(b_shape, batch_index, inner, column, s.vector_b, s.transpose_b), ranges);
  Sym all_rows = whole_batches ? ranges[row_symbol] : s.m;
  Strided lhs = strides_of(a_flat, row_symbol, inner_symbol, all_rows, s.k, node.name);
  Strided rhs = strides_of(b_flat, inner_symbol, column_symbol, s.k, s.n, node.name);
  auto [lda, a_transposed] = leading(lhs, all_rows, s.k, node.name);
  auto [ldb, b_transposed] = leading(rhs, s.k, s.n, node.name);
  loop::Product product;
  product.routine = "matmul";
  product.dtype = node.type.dtype;
  product.dst = tile;
  product.lhs = values_.buffer(a);
  product.rhs = values_.buffer(b);
  product.dst_index = Sym(0);
  product.lhs_index = values_.substituted(lhs.offset + lhs.first * first);
  product.rhs_index = values_.substituted(rhs.offset);
  product.sizes = {{"m", rows},
                   {"n", s.n},
                   {"k", s.k},
                   {"lda", lda},
                   {"ldb", ldb},
                   {"ldc", s.n},
                   {"transpose_a", Sym(a_transposed ? 1 : 0)},
                   {"transpose_b", Sym(b_transposed ? 1 : 0)}};
  values_.statements().push_back(std::move(product));
}

// Emits the library call for one image; dst is [outputs, positions…] row-major.
void Nest::convolution(const std::string& tile, const Sym& image) {
  const Node& node = graph_[group_.contraction];
  const OpInfo& info = op_info(node.op);
  const Shape& x = graph_[node.operands[0]].type.shape;
  const Shape& w = graph_[node.operands[1]].type.shape;
  const Shape& y = node.type.shape;
  size_t rank = x.size() - 2;
  Ranges ranges;
  std::vector<Sym> index{image};
  for (size_t d = 1; d < x.size(); ++d) {
    std::string name = "@" + std::to_string(d);
    ranges[name] = x[d];
    index.push_back(Sym::var(name));
  }
  auto [source, flat] = stored_at(node.operands[0], index, ranges);
  std::vector<Sym> weight_index(w.size(), Sym(0));
  auto [weights, weights_flat] = stored_at(node.operands[1], weight_index, {});
  std::map<std::string, Sym, std::less<>> origin;
  std::vector<Sym> source_strides;
  for (size_t d = 1; d < x.size(); ++d) {
    std::string name = "@" + std::to_string(d);
    std::optional<Sym> stride = flat.stride(name);
    INGOT_CHECK(stride.has_value(), "input of '{}' is not strided: {}", node.name, flat.text());
    source_strides.push_back(*stride);
    origin[name] = Sym(0);
  }
  std::vector<Sym> strides = sizes_attr(info, node.attrs, "strides");
  std::vector<Sym> pads = sizes_attr(info, node.attrs, "pads");
  std::vector<Sym> dilations = sizes_attr(info, node.attrs, "dilations");
  auto at = [](const std::vector<Sym>& list, size_t i, int64_t absent) {
    return i < list.size() ? list[i] : Sym(absent);
  };
  loop::Product product;
  product.routine = "conv";
  product.dtype = node.type.dtype;
  auto size = [&](std::string name, Sym value) {
    product.sizes.emplace_back(std::move(name), std::move(value));
  };
  size("channels", x[1]);
  size("groups", Sym(integer_attr(info, node.attrs, "groups")));
  size("outputs", y[1]);
  size("rank", Sym(static_cast<int64_t>(rank)));
  for (size_t r = 0; r < rank; ++r) size(fmt::format("input{}", r), x[2 + r]);
  for (size_t r = 0; r < rank; ++r) size(fmt::format("kernel{}", r), w[2 + r]);
  for (size_t r = 0; r < rank; ++r) size(fmt::format("stride{}", r), at(strides, r, 1));
  for (size_t r = 0; r < rank; ++r) size(fmt::format("dilation{}", r), at(dilations, r, 1));
  for (size_t r = 0; r < rank; ++r) size(fmt::format("low{}", r), at(pads, r, 0));
  for (size_t r = 0; r < rank; ++r) size(fmt::format("high{}", r), at(pads, rank + r, 0));
  for (size_t r = 0; r <= rank; ++r) size(fmt::format("source{}", r), source_strides[r]);
  Shape one_image(y.begin() + 1, y.end());
  std::vector<Sym> tile_strides = row_major_strides(one_image);
  for (size_t r = 0; r <= rank; ++r) size(fmt::format("result{}", r), tile_strides[r]);
  product.dst = tile;
  product.lhs = values_.buffer(source);
  product.rhs = values_.buffer(weights);
  product.dst_index = Sym(0);
  product.lhs_index = values_.substituted(flat.substitute(origin));
  product.rhs_index = weights_flat;
  values_.statements().push_back(std::move(product));
}

void Nest::product_phase() {
  if (graph_[group_.contraction].op == Op::matmul) {
    matmul_phase();
  } else {
    convolution_phase();
  }
}

// Blocks of rows. Batches whose right operand is shared are rows of one long matrix.
void Nest::matmul_phase() {
  NodeId id = group_.contraction;
  const Node& node = graph_[id];
  MatmulShape s = matmul_shape(graph_, node);
  Sym batches = element_count(s.batch);
  bool shared = !has_batch(graph_[node.operands[1]].type.shape) &&
                !flag_attr(op_info(node.op), node.attrs, "transpose_a");
  Sym rows_of_problem = shared ? batches * s.m : s.m;
  Sym problems = shared ? Sym(1) : batches;
  Sym block(std::max<int64_t>(1, schedule_.block_rows));
  Sym blocks = ceil_div(rows_of_problem, block);

  std::string p = values_.unique("p");
  Sym part = Sym::var(p), extent = problems * blocks;
  values_.open(p, extent);
  Sym batch = problems.is(1) ? Sym(0) : floor_div(part, blocks);
  Sym first = block * (problems.is(1) ? part : mod(part, blocks));
  Sym rows = rows_of_problem.is(1) ? Sym(1) : min(block, rows_of_problem - first);
  std::string tile =
      values_.scratch(node.name + "_tile", compute_dtype(node.type.dtype), block * s.n);
  matmul(tile, batch, first, rows, shared);

  std::vector<DomainVar> rest = kept_;
  bool has_rows = !(batches * s.m).is(1);
  Sym start = batch * rows_of_problem + first;
  Sym tile_row(0);
  std::string row_var;
  if (has_rows) {
    INGOT_CHECK(!rest.empty(), "group {} has no variable for the rows of '{}'", group_.name,
                node.name);
    row_var = rest[0].name;
    rest.erase(rest.begin());
    tile_row = Sym::var(row_var) - start;
    std::string r = values_.unique("r");
    values_.open(r, rows);
    values_.bind_var(row_var, start + Sym::var(r));
  }
  Sym column = s.vector_b ? Sym(0) : group_.domain.index.at(id).back();
  values_.bind_element(id, tile, compute_dtype(node.type.dtype), tile_row * s.n + column);
  body_on_tile(rest);
  if (has_rows) values_.close_loop(loop::LoopKind::serial);
  add_phase(p, extent, 1);
}

void Nest::convolution_phase() {
  NodeId id = group_.contraction;
  const Node& node = graph_[id];
  const Shape& shape = node.type.shape;
  INGOT_CHECK(node.operands.size() == 2, "conv '{}' still has a bias", node.name);
  std::vector<DomainVar> rest = kept_;
  std::string p = shape[0].is(1) || rest.empty() ? values_.unique("p") : rest[0].name;
  values_.open(p, shape[0]);
  Sym image(0);
  if (!shape[0].is(1)) {
    image = Sym::var(p);
    rest.erase(rest.begin());
  }
  Shape one_image(shape.begin() + 1, shape.end());
  std::string tile = values_.scratch(node.name + "_tile", compute_dtype(node.type.dtype),
                                     element_count(one_image));
  convolution(tile, image);
  const std::vector<Sym>& index = group_.domain.index.at(id);
  std::vector<Sym> within(index.begin() + 1, index.end());
  values_.bind_element(id, tile, compute_dtype(node.type.dtype), flat_index(one_image, within));
  body_on_tile(rest);
  add_phase(p, shape[0], 1);
}

// The group's other nodes over one row or image: kept variables serial, the last one the vector
// unless the reduced ones are.
void Nest::body_on_tile(std::vector<DomainVar> kept) {
  std::vector<Var> vars = merged(std::move(kept), false);
  std::optional<Var> inner;
  if ((reduced_.empty() || columns_) && !vars.empty()) {
    inner = vars.back();
    vars.pop_back();
  }
  for (const Var& var : vars) values_.open(var.name, var.extent);
  if (inner) open_vector(*inner, Sym(0), 0);
  body();
  if (inner) values_.close_loop(loop::LoopKind::vector);
  for (size_t i = 0; i < vars.size(); ++i) values_.close_loop(loop::LoopKind::serial);
}

}  // namespace ingot::lowering
