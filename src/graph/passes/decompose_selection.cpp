// Composites that find positions: argmax, argmin, topk. A position is the least (or greatest) of
// those whose element is the extreme one, so the same row is reduced twice, in one kernel.
#include <cmath>

#include "graph/passes/definition.h"

namespace ingot {
namespace {

// Positions fit i32 where the sizes say so: twice the lanes of i64.
DType position_dtype(const Sym& count) {
  auto number = count.constant();
  return number && *number < INT32_MAX ? DType::i32 : DType::i64;
}

// The row-major position over `dims`, for each element of x.
struct Positions {
  DType dtype;
  Sym count;
  NodeId at;
};
Positions positions(Definition& d, Shape x, const std::vector<int>& dims) {
  Positions result{DType::i64, 1, -1};
  for (int dim : dims) result.count = result.count * x[static_cast<size_t>(dim)];
  result.dtype = position_dtype(result.count);
  Sym stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    auto dim = static_cast<size_t>(dims[i]);
    std::string suffix = "position" + std::to_string(dim);
    Shape shape(x.size(), Sym(1));
    shape[dim] = x[dim];
    NodeId part = d.add(suffix, Op::iota, {},
                        {{"shape", shape}, {"dim", int64_t{dims[i]}}, {"dtype", result.dtype}});
    if (!stride.is(1)) {
      NodeId step = d.size_value(stride, result.dtype, suffix + "_stride");
      part = d.add(suffix + "_flat", Op::mul, {part, step});
    }
    result.at = result.at < 0 ? part : d.add(suffix + "_sum", Op::add, {result.at, part});
    stride = stride * x[dim];
  }
  if (result.at < 0) result.at = d.integer(result.dtype, 0);  // of a scalar
  return result;
}

// Whether x is the extreme element m: equal, or NaN (then m is NaN too).
NodeId is_extreme(Definition& d, NodeId x, NodeId m, const std::string& suffix) {
  NodeId same = d.add(suffix + "_same", Op::eq, {x, m});
  if (!is_float(d.inner())) return same;
  return d.add(suffix + "_found", Op::or_, {same, d.add(suffix + "_nan", Op::isnan, {x})});
}

NodeId arg_extreme(Definition& d, Op extreme) {
  NodeId x = d.operand(0, "wide");
  bool last = d.flag("select_last_index");
  Positions where = positions(d, d.type(x).shape, d.dims());
  NodeId m = d.add("extreme", extreme, {x}, d.reduce(true));
  NodeId found = is_extreme(d, x, m, "here");
  NodeId never = d.integer(where.dtype, last ? -1 : integer_limits(where.dtype).highest);
  NodeId at = d.add("candidate", Op::select, {found, where.at, never});
  NodeId position = d.add("position", last ? Op::max : Op::min, {at}, d.reduce(d.keepdims()));
  if (!where.count.constant()) {  // of nothing: -1
    NodeId end = d.size_value(where.count - 1, where.dtype, "last");
    position = last ? d.add("bounded", Op::maximum, {position, d.integer(where.dtype, -1)})
                    : d.add("bounded", Op::minimum, {position, end});
  }
  return d.named(Op::cast, {position}, {{"dtype", DType::i64}});
}

NodeId argmax(Definition& d) { return arg_extreme(d, Op::max); }
NodeId argmin(Definition& d) { return arg_extreme(d, Op::min); }

// 0, or less where there are fewer than k elements: an error when sizes are bound, which finds this
// minimum (graph.cpp).
NodeId none_short(Definition& d, const Positions& where) {
  NodeId k = d.integer(where.dtype, d.number("k"));
  NodeId count = d.size_value(where.count, where.dtype, "count");
  return d.add("short", Op::sub, {d.add("counted", Op::minimum, {count, k}), k});
}

// The element at a position as it is: the extreme one may be a zero of the other sign.
struct Place {
  NodeId x, at, position, least;
};
NodeId element_at(Definition& d, const Place& place, Op extreme, const std::string& n) {
  NodeId here = d.add("chosen" + n, Op::eq, {place.at, place.position});
  NodeId only = d.add("only" + n, Op::select, {here, place.x, place.least});
  return d.add("element" + n, extreme, {only}, d.reduce(true));
}

// Elements in the order of topk: each one is the extreme of those that come after the one before,
// which are the less extreme ones and equal ones further on.
struct Ranked {
  std::vector<NodeId> values, positions;  // with dim kept as 1
};
Ranked ranked(Definition& d) {
  NodeId x = d.operand(0, "wide");
  bool largest = d.flag("largest");
  Positions where = positions(d, d.type(x).shape, d.dims());
  Attrs reduce = d.reduce(true);
  Op extreme = largest ? Op::max : Op::min;
  bool real = is_float(d.inner());
  NodeId never = d.integer(where.dtype, integer_limits(where.dtype).highest);
  IntegerLimits limits = real ? IntegerLimits{} : integer_limits(d.inner());
  NodeId least = real ? d.literal(largest ? -INFINITY : INFINITY)
                      : d.integer(d.inner(), largest ? limits.lowest : limits.highest);
  NodeId is_nan = real ? d.add("nan", Op::isnan, {x}) : -1;
  Ranked result;
  NodeId left = -1;  // which elements are still to come
  for (int64_t i = 0; i < d.number("k"); ++i) {
    std::string n = std::to_string(i);
    NodeId candidates = left < 0 ? x : d.add("left" + n, Op::select, {left, x, least});
    NodeId m = d.add("extreme" + n, extreme, {candidates}, reduce);
    NodeId found = is_extreme(d, x, m, "here" + n);
    if (left >= 0) found = d.add("found" + n, Op::and_, {found, left});
    NodeId at = d.add("candidate" + n, Op::select, {found, where.at, never});
    NodeId position = d.add("position" + n, Op::min, {at}, reduce);
    if (i + 1 == d.number("k") && !where.count.constant()) {
      NodeId none = none_short(d, where);
      position = d.add("checked", Op::add, {position, none});
      if (!real) m = d.add("checked_value", Op::add, {m, d.cast(none, d.inner(), "none")});
    }
    result.values.push_back(real ? element_at(d, {x, where.at, position, least}, extreme, n) : m);
    result.positions.push_back(position);
    NodeId later = d.add("later" + n, Op::gt, {where.at, position});
    NodeId lesser = d.add("lesser" + n, largest ? Op::lt : Op::gt, {x, m});
    NodeId equal = d.add("equal" + n, Op::and_, {d.add("same" + n, Op::eq, {x, m}), later});
    left = d.add("next" + n, Op::or_, {lesser, equal});
    if (!real) continue;
    // NaN comes first, in its order; after the last one every number is left.
    NodeId number = d.add("number" + n, Op::not_, {is_nan});
    NodeId after_nan = d.add("after_nan" + n, Op::or_, {number, later});
    left = d.add("rest" + n, Op::select, {d.add("at_nan" + n, Op::isnan, {m}), after_nan, left});
  }
  return result;
}

NodeId joined(Definition& d, const std::vector<NodeId>& parts, DType dtype) {
  if (parts.empty()) {
    return d.named(Op::broadcast, {d.literal_of(dtype, 0)}, {{"shape", d.shape()}});
  }
  const Attrs along{{"dim", int64_t{d.dims()[0]}}};
  if (parts.size() > 1 && d.type(parts[0]).dtype == dtype) return d.named(Op::concat, parts, along);
  NodeId all = parts.size() == 1 ? parts[0] : d.add("joined", Op::concat, parts, along);
  return d.named(Op::cast, {all}, {{"dtype", dtype}});
}

NodeId topk(Definition& d) { return joined(d, ranked(d).values, d.node().type.dtype); }
NodeId topk_indices(Definition& d) { return joined(d, ranked(d).positions, DType::i64); }

}  // namespace

Define selection_definition(Op op) {
  switch (op) {
    case Op::argmax:
      return argmax;
    case Op::argmin:
      return argmin;
    case Op::topk:
      return topk;
    case Op::topk_indices:
      return topk_indices;
    default:
      return nullptr;
  }
}

}  // namespace ingot
