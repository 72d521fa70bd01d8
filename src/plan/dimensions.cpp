// Dimensions of ops as the planner counts them: what is reduced, scanned, or one row.
#include <algorithm>

#include "graph/index_map.h"
#include "plan/domain.h"

namespace ingot {

bool is_view(const Graph& graph, NodeId node) {
  return (op_info(graph[node].op).flags & OpFlag::view) != 0;
}

bool is_reduction(const Graph& graph, NodeId node) {
  return op_info(graph[node].op).category == Category::reduction;
}

bool is_contraction(const Graph& graph, NodeId node) {
  return op_info(graph[node].op).category == Category::contraction;
}

bool is_scan(const Graph& graph, NodeId node) {
  return op_info(graph[node].op).category == Category::scan;
}

bool is_scatter(const Graph& graph, NodeId node) {
  return op_info(graph[node].op).category == Category::scatter;
}

bool reads_memory(const Graph& graph, NodeId node) {
  return is_contraction(graph, node) || is_scatter(graph, node);
}

bool is_literal(const Graph& graph, NodeId node) {
  return graph[node].op == Op::constant && literal_value(graph[node]).has_value();
}

Sym smaller(const Sym& a, const Sym& b) {
  if (a == b) return a;
  if (a.constant() && b.constant()) return *a.constant() < *b.constant() ? a : b;
  if (provably_nonnegative(b - a, {})) return a;
  if (provably_nonnegative(a - b, {})) return b;
  return min(a, b);
}

ReducedRuns reduced_runs(const Graph& graph, NodeId reduction) {
  const Node& node = graph[reduction];
  const Shape& shape = graph[node.operands[0]].type.shape;
  std::vector<int> dims =
      dims_attr(op_info(node.op), node.attrs, "dims", static_cast<int>(shape.size()));
  ReducedRuns result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(1)) continue;
    bool reduced = std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end();
    if (reduced && !result.trailing) {
      result.runs.emplace_back();
      result.extents.emplace_back(1);
    }
    if (reduced) {
      result.runs.back().push_back(d);
      result.extents.back() = result.extents.back() * shape[d];
    }
    result.trailing = reduced;
  }
  return result;
}

std::set<std::string> sizes_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::set<std::string> names;
  auto add = [&](const Sym& size) {
    if (!size.constant()) names.merge(size.variables());
  };
  for (NodeId id : nodes) {
    std::ranges::for_each(graph[id].type.shape, add);
    for (NodeId operand : graph[id].operands) std::ranges::for_each(graph[operand].type.shape, add);
    for (const auto& [name, value] : graph[id].attrs) {
      if (const auto* list = std::get_if<std::vector<Sym>>(&value))
        std::ranges::for_each(*list, add);
    }
  }
  return names;
}

void split_index(const Sym& value, const Shape& shape, const std::vector<size_t>& dims,
                 const Ranges& ranges, std::vector<Sym>* index) {
  Sym rest = value;
  bool outermost = false;
  for (size_t i = dims.size(); i-- > 0;) {
    const Sym& size = shape[dims[i]];
    if (size.is(1)) {
      (*index)[dims[i]] = Sym(0);
      continue;
    }
    outermost = std::all_of(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i),
                            [&](size_t d) { return shape[d].is(1); });
    (*index)[dims[i]] = outermost ? rest : mod(rest, size, ranges);
    if (!outermost) rest = floor_div(rest, size, ranges);
  }
}

ScanLine scan_line(const Graph& graph, NodeId scan, const std::vector<Sym>& index) {
  const Node& node = graph[scan];
  int64_t dim = integer_attr(op_info(node.op), node.attrs, "dim");
  if (dim < 0) dim += static_cast<int64_t>(index.size());
  ScanLine line;
  line.reverse = flag_attr(op_info(node.op), node.attrs, "reverse");
  if (node.type.shape[static_cast<size_t>(dim)].is(1)) {
    line.found = true;
    return line;
  }
  std::optional<std::string> variable = index[static_cast<size_t>(dim)].variable();
  line.found = variable.has_value();
  if (variable) line.variable = *variable;
  return line;
}

Sym row_count(const Domain& domain) {
  Sym count(1);
  for (const DomainVar& var : domain.vars) count = var.reduced ? count : count * var.extent;
  return count;
}

Sym row_number(const Domain& domain) {
  Sym row(0);
  for (const DomainVar& var : domain.vars) {
    if (!var.reduced) row = row * var.extent + Sym::var(var.name);
  }
  return row;
}

bool is_column(const Domain& domain, NodeId reduction) {
  return std::ranges::binary_search(domain.columns, reduction);
}

std::set<NodeId> after(const Graph& graph, const std::vector<NodeId>& nodes,
                       const std::vector<NodeId>& first) {
  std::set<NodeId> found(first.begin(), first.end());
  for (NodeId id : nodes) {
    if (std::ranges::any_of(graph[id].operands, [&](NodeId o) { return found.contains(o); })) {
      found.insert(id);
    }
  }
  return found;
}

Ranges Domain::ranges() const {
  Ranges ranges;
  for (const DomainVar& var : vars) ranges[var.name] = var.extent;
  return ranges;
}

bool Domain::is_empty() const {
  return std::ranges::any_of(vars, [](const DomainVar& var) { return var.extent.is(0); });
}

Sym flat_place(const Graph& graph, NodeId id, std::vector<Sym> index) {
  const Shape& shape = graph[id].type.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].is(1)) index[d] = Sym(0);
  }
  return flat_index(shape, index);
}

bool reads_parts(const Graph& graph, const std::vector<NodeId>& nodes) {
  return std::ranges::any_of(nodes, [&](NodeId id) {
    const Node& node = graph[id];
    if (op_info(node.op).category != Category::movement) return false;
    std::vector<Sym> index;
    Ranges ranges;
    for (const Sym& size : node.type.shape) {
      const std::string name = fmt::format("@{}", index.size());
      index.push_back(Sym::var(name));
      ranges[name] = size;
    }
    return std::ranges::any_of(operand_accesses(graph, id, index, ranges), [](const Access& each) {
      return !each.guards.empty() || each.run_time_dim >= 0;
    });
  });
}

}  // namespace ingot
