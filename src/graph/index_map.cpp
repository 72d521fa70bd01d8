// One case per op whose access has structure; everything else follows NumPy broadcasting.
#include "graph/index_map.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {
namespace {

using Index = std::vector<Sym>;

// Right-aligned, size-1 dimensions of the operand at 0.
Index broadcast_index(const Shape& operand, const Shape& result, const Index& index) {
  size_t offset = result.size() - operand.size();
  Index out;
  out.reserve(operand.size());
  for (size_t d = 0; d < operand.size(); ++d) {
    out.push_back(operand[d].is(1) ? Sym(0) : index[d + offset]);
  }
  return out;
}

std::vector<size_t> dims_not_one(const Shape& shape) {
  std::vector<size_t> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!shape[d].is(1)) out.push_back(d);
  }
  return out;
}

bool has_zero(const Shape& shape) {
  for (const Sym& size : shape) {
    if (size.is(0)) return true;
  }
  return false;
}

// A smallest run of dimensions on both sides with the same number of elements.
struct FactorGroup {
  size_t from_end, to_end;
};

FactorGroup next_group(const Shape& from, const std::vector<size_t>& from_dims, size_t i,
                       const Shape& to, const std::vector<size_t>& to_dims, size_t j) {
  std::vector<Sym> to_products;
  Sym product = 1;
  for (size_t b = j; b < to_dims.size(); ++b) {
    product = product * to[to_dims[b]];
    to_products.push_back(product);
  }
  Sym from_product = 1;
  for (size_t a = i; a < from_dims.size(); ++a) {
    from_product = from_product * from[from_dims[a]];
    for (size_t b = 0; b < to_products.size(); ++b) {
      if (from_product == to_products[b]) return {a + 1, j + b + 1};
    }
  }
  return {from_dims.size(), to_dims.size()};
}

// The index in shape `to` of the element that stands at `index` in shape `from`, both row-major.
// Runs of dimensions with equal products are treated alone, which keeps the result simple.
Index reshape_index(const Shape& from, const Shape& to, const Index& index, const Ranges& ranges) {
  Index out(to.size(), Sym(0));
  if (has_zero(from) || has_zero(to)) return out;  // no element, so no index to get right
  std::vector<size_t> from_dims = dims_not_one(from), to_dims = dims_not_one(to);
  size_t i = 0, j = 0;
  while (i < from_dims.size() || j < to_dims.size()) {
    FactorGroup group = next_group(from, from_dims, i, to, to_dims, j);
    Sym flat = 0;
    for (; i < group.from_end; ++i) flat = flat * from[from_dims[i]] + index[from_dims[i]];
    Sym stride = 1;
    for (size_t b = group.to_end; b-- > j;) {
      Sym quotient = stride.is(1) ? flat : floor_div(flat, stride, ranges);
      out[to_dims[b]] = b == j ? quotient : mod(quotient, to[to_dims[b]], ranges);
      stride = stride * to[to_dims[b]];
    }
    j = group.to_end;
  }
  return out;
}

// Adds lo ≤ value < hi unless the ranges already imply it.
void add_guard(Access& access, const Sym& value, const Sym& lo, const Sym& hi,
               const Ranges& ranges) {
  if (provably_nonnegative(value - lo, ranges) && provably_nonnegative(hi - 1 - value, ranges)) {
    return;
  }
  access.guards.push_back({value, lo, hi});
}

int dim_attr(const Node& node, std::string_view name, size_t rank) {
  int64_t dim = integer_attr(op_info(node.op), node.attrs, name);
  return static_cast<int>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

Index slice_index(const Node& node, const Shape& operand, const Index& index) {
  std::vector<SliceRange> ranges = slice_ranges(operand, node.attrs);
  Index out;
  for (size_t d = 0; d < operand.size(); ++d) {
    out.push_back(ranges[d].start + ranges[d].step * index[d]);
  }
  return out;
}

// Of the operand that begins at `offset` in a concat's dimension.
Access part_access(const Sym& offset, const Sym& size, size_t dim, const Index& index,
                   const Ranges& ranges) {
  Access access{index, {}, -1};
  access.index[dim] = index[dim] - offset;
  add_guard(access, index[dim], offset, offset + size, ranges);
  return access;
}

const Sym& size_along(const Graph& graph, const Node& node, size_t operand, size_t dim) {
  return graph[node.operands[operand]].type.shape[dim];
}

Access concat_access(const Graph& graph, const Node& node, int operand, const Index& index,
                     const Ranges& ranges) {
  const auto dim = static_cast<size_t>(dim_attr(node, "dim", index.size()));
  const auto place = static_cast<size_t>(operand);
  Sym offset = 0;
  for (size_t k = 0; k < place; ++k) offset = offset + size_along(graph, node, k, dim);
  return part_access(offset, size_along(graph, node, place, dim), dim, index, ranges);
}

// Where element i - low of a dimension of `size` elements lies when it is repeated at its ends.
// Numerators are never negative, as C's % wants them.
Sym repeated(const std::string& mode, const Sym& i, const Sym& low, const Sym& size,
             const Ranges& ranges) {
  if (mode == "wrap") return mod(i + low * (size - 1), size, ranges);
  if (mode == "edge") {
    Sym at_least_first = Sym(0) - min(low - i, Sym(0));
    return min(at_least_first, size - 1);
  }
  if (size.is(1)) return 0;
  Sym period = Sym(2) * (size - 1);
  Sym at = mod(i + low * (period - 1), period, ranges);
  return min(at, period - at);
}

Access pad_access(const Node& node, const Shape& operand, const Index& index,
                  const Ranges& ranges) {
  const OpInfo& info = op_info(node.op);
  std::string mode = text_attr(info, node.attrs, "mode");
  std::vector<Sym> low = sizes_attr(info, node.attrs, "low");
  std::vector<Sym> high = sizes_attr(info, node.attrs, "high");
  Access access{index, {}, -1};
  for (size_t d = 0; d < operand.size(); ++d) {
    if (mode == "constant") {
      access.index[d] = index[d] - low[d];
      add_guard(access, index[d], low[d], low[d] + operand[d], ranges);
    } else if (!low[d].is(0) || !high[d].is(0)) {
      access.index[d] = repeated(mode, index[d], low[d], operand[d], ranges);
      // A named size may be 0: then there is nothing to repeat.
      if (!operand[d].constant()) access.guards.push_back({operand[d], Sym(1), operand[d] + 1});
    }
  }
  return access;
}

Access window_access(const Node& node, const Shape& operand, const Index& index) {
  const OpInfo& info = op_info(node.op);
  size_t rank = sizes_attr(info, node.attrs, "sizes").size(), lead = operand.size() - rank;
  std::vector<Sym> strides = sizes_attr(info, node.attrs, "strides");
  std::vector<Sym> dilations = sizes_attr(info, node.attrs, "dilations");
  Access access{Index(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(lead)), {}, -1};
  for (size_t d = 0; d < rank; ++d) {
    Sym stride = d < strides.size() ? strides[d] : Sym(1);
    Sym dilation = d < dilations.size() ? dilations[d] : Sym(1);
    access.index.push_back(stride * index[lead + rank + d] + dilation * index[lead + d]);
  }
  return access;
}

Access gather_access(const Graph& graph, const Node& node, int operand, const Index& index) {
  const Shape& table = graph[node.operands[0]].type.shape;
  if (node.op == Op::gather_elements) {
    if (operand == 1) return {index, {}, -1};
    Access access{index, {}, dim_attr(node, "dim", table.size())};
    access.index[static_cast<size_t>(access.run_time_dim)] = Sym::var(std::string(run_time_symbol));
    return access;
  }
  auto ids_rank = static_cast<long>(graph[node.operands[1]].type.shape.size());
  int dim = dim_attr(node, "dim", table.size());
  auto ids_begin = index.begin() + dim, ids_end = ids_begin + ids_rank;
  if (operand == 1) return {Index(ids_begin, ids_end), {}, -1};
  Access access{Index(index.begin(), ids_begin), {}, dim};
  access.index.push_back(Sym::var(std::string(run_time_symbol)));
  access.index.insert(access.index.end(), ids_end, index.end());
  return access;
}

Access reduction_access(const Node& node, const Shape& operand, const Index& index,
                        const Index& reduced) {
  std::vector<int> dims =
      dims_attr(op_info(node.op), node.attrs, "dims", static_cast<int>(operand.size()));
  bool keepdims = flag_attr(op_info(node.op), node.attrs, "keepdims");
  INGOT_CHECK(reduced.size() == dims.size(), "{} reduced dimensions, {} expressions", dims.size(),
              reduced.size());
  Access access;
  size_t next_kept = 0, next_reduced = 0;
  for (size_t d = 0; d < operand.size(); ++d) {
    if (next_reduced < dims.size() && static_cast<size_t>(dims[next_reduced]) == d) {
      access.index.push_back(operand[d].is(1) ? Sym(0) : reduced[next_reduced]);
      ++next_reduced;
      if (keepdims) ++next_kept;
    } else {
      access.index.push_back(operand[d].is(1) ? Sym(0) : index[next_kept]);
      ++next_kept;
    }
  }
  return access;
}

std::vector<size_t> permutation(const Node& node) {
  std::vector<size_t> out;
  for (const Sym& dim : sizes_attr(op_info(node.op), node.attrs, "perm")) {
    out.push_back(static_cast<size_t>(dim.constant().value()));
  }
  return out;
}

Access movement_access(const Graph& graph, const Node& node, int operand, const Index& index,
                       const Ranges& ranges) {
  const Shape& shape = graph[node.operands[static_cast<size_t>(operand)]].type.shape;
  switch (node.op) {
    case Op::reshape:
      return {reshape_index(node.type.shape, shape, index, ranges), {}, -1};
    case Op::transpose: {
      Access access{Index(shape.size(), Sym(0)), {}, -1};
      std::vector<size_t> perm = permutation(node);
      for (size_t d = 0; d < perm.size(); ++d) access.index[perm[d]] = index[d];
      return access;
    }
    case Op::broadcast:
      return {broadcast_index(shape, node.type.shape, index), {}, -1};
    case Op::slice:
      return {slice_index(node, shape, index), {}, -1};
    case Op::concat:
      return concat_access(graph, node, operand, index, ranges);
    case Op::pad:
      return pad_access(node, shape, index, ranges);
    case Op::window:
      return window_access(node, shape, index);
    case Op::gather:
    case Op::gather_elements:
      return gather_access(graph, node, operand, index);
    default:
      fail_internal("index_map", fmt::format("{} has no index map", op_name(node.op)));
  }
}

}  // namespace

Access operand_access(const Graph& graph, NodeId id, int operand, const std::vector<Sym>& index,
                      const Ranges& ranges, const std::vector<Sym>& reduced) {
  const Node& node = graph[id];
  INGOT_CHECK(operand >= 0 && static_cast<size_t>(operand) < node.operands.size(),
              "{} has no operand {}", node.name, operand);
  const Shape& shape = graph[node.operands[static_cast<size_t>(operand)]].type.shape;
  Category category = op_info(node.op).category;
  INGOT_CHECK(index.size() == node.type.shape.size(), "{} has {} dimensions, not {}", node.name,
              node.type.shape.size(), index.size());
  switch (category) {
    case Category::elementwise:
      return {broadcast_index(shape, node.type.shape, index), {}, -1};
    case Category::reduction:
      return reduction_access(node, shape, index, reduced);
    case Category::scan:
      return {index, {}, -1};
    case Category::movement:
      return movement_access(graph, node, operand, index, ranges);
    default:
      fail_internal("index_map", fmt::format("{} {} reads more than one element of an operand",
                                             op_name(node.op), node.name));
  }
}

std::vector<Access> operand_accesses(const Graph& graph, NodeId id, const std::vector<Sym>& index,
                                     const Ranges& ranges) {
  const Node& node = graph[id];
  std::vector<Access> accesses;
  if (node.op != Op::concat) {
    for (size_t k = 0; k < node.operands.size(); ++k) {
      accesses.push_back(operand_access(graph, id, static_cast<int>(k), index, ranges));
    }
    return accesses;
  }
  const auto dim = static_cast<size_t>(dim_attr(node, "dim", index.size()));
  Sym offset = 0;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    const Sym& size = size_along(graph, node, k, dim);
    accesses.push_back(part_access(offset, size, dim, index, ranges));
    offset = offset + size;
  }
  return accesses;
}

std::optional<std::vector<Sym>> result_index(const Graph& graph, NodeId id, int operand,
                                             const std::vector<Sym>& operand_index,
                                             const Ranges& ranges) {
  const Node& node = graph[id];
  const Shape& shape = graph[node.operands[static_cast<size_t>(operand)]].type.shape;
  if (node.op == Op::reshape) {
    return reshape_index(shape, node.type.shape, operand_index, ranges);
  }
  if (node.op == Op::transpose) {
    Index out;
    for (size_t dim : permutation(node)) out.push_back(operand_index[dim]);
    return out;
  }
  Category category = op_info(node.op).category;
  bool same_index =
      category == Category::elementwise || category == Category::scan || node.op == Op::broadcast;
  const Shape& result = node.type.shape;
  if (!same_index || result.size() < shape.size()) return std::nullopt;
  // The same shape, but for leading dimensions of size 1.
  const auto own = result.end() - static_cast<std::ptrdiff_t>(shape.size());
  const bool leading_ones =
      std::all_of(result.begin(), own, [](const Sym& size) { return size.is(1); });
  if (!leading_ones || !std::equal(own, result.end(), shape.begin())) return std::nullopt;
  Index out(result.size() - shape.size(), Sym(0));
  out.insert(out.end(), operand_index.begin(), operand_index.end());
  return out;
}

Sym flat_index(const Shape& shape, const std::vector<Sym>& index) {
  Sym flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

std::string map_text(const std::vector<std::string>& variables, const std::vector<Sym>& results) {
  std::vector<std::string> texts;
  for (const Sym& result : results) texts.push_back(result.text());
  return fmt::format("({}) -> ({})", join(variables, ", "), join(texts, ", "));
}

}  // namespace ingot
