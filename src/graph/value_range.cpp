#include "graph/value_range.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "op/apply.h"

namespace ingot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A function's error and one rounding, relative: more than any function's bound in its own dtype.
double slack(DType dtype) {
  if (dtype == DType::bf16) return 0x1p-7;
  return dtype == DType::f16 ? 0x1p-10 : 0x1p-20;
}

ValueRange widened(ValueRange range, DType dtype) {
  const double more = range.magnitude() * slack(dtype);
  if (!range.bounded() || more == 0) return range;
  return {range.low - more, range.high + more};
}

ValueRange joined(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// The extreme results lie at the corners of the box of operands; where one is NaN nothing is known.
ValueRange of_corners(const Node& node, std::span<const ValueRange> operands) {
  ValueRange range{infinity, -infinity};
  const auto [p, q, r] = real_attrs(node);
  for (unsigned corner = 0; corner < 1U << operands.size(); ++corner) {
    std::array<double, 3> at{};
    for (size_t i = 0; i < operands.size(); ++i) {
      at[i] = (corner >> i & 1) != 0 ? operands[i].high : operands[i].low;
    }
    const double result = formula<double>(node.op)(at[0], at[1], at[2], p, q, r);
    if (std::isnan(result)) return {};
    range = joined(range, {result, result});
  }
  return widened(range, node.type.dtype);
}

ValueRange range_of(const Node& node, std::span<const ValueRange> operands) {
  const OpInfo& info = op_info(node.op);
  if (const auto value = literal_value(node)) {
    return std::isnan(*value) ? ValueRange{} : ValueRange{*value, *value};
  }
  if (!is_float(node.type.dtype) || operands.empty()) return {};
  if ((info.flags & OpFlag::corners) != 0) return of_corners(node, operands);
  if ((info.flags & OpFlag::view) != 0) return operands[0];
  if (node.op == Op::select) return joined(operands[1], operands[2]);
  return {};
}

}  // namespace

bool ValueRange::bounded() const { return std::isfinite(low) && std::isfinite(high); }
double ValueRange::magnitude() const { return std::max(std::fabs(low), std::fabs(high)); }

std::array<double, 3> real_attrs(const Node& node) {
  std::array<double, 3> attrs{};
  size_t count = 0;
  const OpInfo& info = op_info(node.op);
  for (const AttrInfo& attr : info.attrs) {
    if (attr.type == AttrType::real) attrs[count++] = real_attr(info, node.attrs, attr.name);
  }
  return attrs;
}

namespace {

// Whether an elementwise difference takes away the largest element of a row or the like.
bool below_its_maximum(const Graph& graph, const Node& node) {
  if (node.op != Op::sub || !is_float(node.type.dtype)) return false;
  const Node &all = graph[node.operands[0]], &largest = graph[node.operands[1]];
  return largest.op == Op::max && largest.operands[0] == node.operands[0] &&
         largest.type.shape.size() == all.type.shape.size();
}

}  // namespace

std::vector<ValueRange> value_ranges(const Graph& graph) {
  std::vector<ValueRange> ranges;
  ranges.reserve(graph.nodes.size());
  std::vector<ValueRange> operands;
  for (const Node& node : graph.nodes) {
    operands.clear();
    for (NodeId id : node.operands) operands.push_back(ranges[static_cast<size_t>(id)]);
    ranges.push_back(range_of(node, operands));
    if (below_its_maximum(graph, node)) ranges.back().high = std::min(ranges.back().high, 0.0);
  }
  return ranges;
}

}  // namespace ingot
