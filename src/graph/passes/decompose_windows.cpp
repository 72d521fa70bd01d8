// Composites over windows (pooling) and over positions (random).
#include <cmath>
#include <limits>
#include <numbers>

#include "base/tensor.h"
#include "graph/passes/definition.h"

namespace ingot {
namespace {

// x with its padding, as [N, C, K..., O...]; the window's dimensions are not the last ones, so that
// reductions over them run beside each other.
NodeId windows(Definition& d, NodeId x, const std::vector<PoolDim>& dims, double padding) {
  std::vector<Sym> low(2), high(2), sizes, strides, dilations;
  bool padded = false;
  for (const PoolDim& dim : dims) {
    low.emplace_back(dim.low);
    high.emplace_back(dim.high + dim.beyond);
    padded = padded || dim.low > 0 || dim.high + dim.beyond > 0;
    sizes.emplace_back(dim.kernel);
    strides.emplace_back(dim.stride);
    dilations.emplace_back(dim.dilation);
  }
  if (padded) {
    x = d.add("padded", Op::pad, {x}, {{"low", low}, {"high", high}, {"value", padding}});
  }
  return d.add("windows", Op::window, {x},
               {{"sizes", sizes}, {"strides", strides}, {"dilations", dilations}});
}

Attrs over_windows(size_t rank) {
  std::vector<Sym> dims;
  for (size_t i = 0; i < rank; ++i) dims.emplace_back(static_cast<int64_t>(2 + i));
  return {{"dims", std::move(dims)}, {"keepdims", false}};
}

std::vector<PoolDim> dims_of(Definition& d, NodeId x) {
  return pool_dims(d.type(x).shape, op_info(d.node().op), d.node().attrs);
}

NodeId max_pool(Definition& d) {
  NodeId x = d.operand(0, "wide");
  std::vector<PoolDim> dims = dims_of(d, x);
  double lowest =
      is_float(d.inner()) ? -INFINITY : static_cast<double>(integer_limits(d.inner()).lowest);
  return d.result("max", Op::max, {windows(d, x, dims, lowest)}, over_windows(dims.size()));
}

// How many of a window's taps lie in [first, end) of the padded dimension, for each output.
NodeId taps_inside(Definition& d, const PoolDim& dim, const Sym& first, const Sym& end,
                   size_t number, size_t rank) {
  std::string n = std::to_string(number);
  auto value = [&](const Sym& size, const std::string& suffix) {
    return d.size_value(size, DType::i64, suffix + n);
  };
  auto apply = [&](const std::string& suffix, Op op, NodeId a, NodeId b) {
    return d.add(suffix + n, op, {a, b});
  };
  Shape shape(rank, Sym(1));
  shape[number] = dim.outputs;
  NodeId output =
      d.add("output" + n, Op::iota, {},
            {{"shape", shape}, {"dim", static_cast<int64_t>(number)}, {"dtype", DType::i64}});
  NodeId start = apply("start", Op::mul, output, value(dim.stride, "stride"));
  NodeId zero = d.integer(DType::i64, 0);
  // Taps before `limit`: of the distance, rounded up, at most all.
  auto before = [&](const std::string& what, const Sym& limit) {
    NodeId distance = apply(what + "_distance", Op::sub, value(limit, what), start);
    distance = apply(what + "_positive", Op::maximum, distance, zero);
    NodeId taps = distance;
    if (dim.dilation > 1) {
      taps = apply(what + "_up", Op::add, taps, value(dim.dilation - 1, what + "_less"));
      taps = apply(what + "_taps", Op::div, taps, value(dim.dilation, "dilation"));
    }
    return apply(what + "_bounded", Op::minimum, taps, value(dim.kernel, "taps"));
  };
  return apply("inside", Op::sub, before("end", end), before("first", first));
}

// sum / count, where only elements inside count (or, with count_include_pad, padding too).
NodeId avg_pool(Definition& d) {
  NodeId x = d.operand(0, "wide");
  std::vector<PoolDim> dims = dims_of(d, x);
  NodeId sum = d.add("sum", Op::sum, {windows(d, x, dims, 0)}, over_windows(dims.size()));
  bool with_padding = d.flag("count_include_pad");
  NodeId count = -1;
  int64_t whole = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const PoolDim& dim = dims[i];
    bool all_inside = dim.beyond == 0 && (with_padding || (dim.low == 0 && dim.high == 0));
    if (all_inside) {
      whole *= dim.kernel;
      continue;
    }
    Sym first = with_padding ? 0 : dim.low;
    Sym end = Sym(dim.low) + dim.size + Sym(with_padding ? dim.high : 0);
    NodeId taps = taps_inside(d, dim, first, end, i, dims.size());
    count = count < 0 ? taps : d.add("count" + std::to_string(i), Op::mul, {count, taps});
  }
  if (count < 0) return d.result("mean", Op::div, {sum, d.literal(static_cast<double>(whole))});
  if (whole > 1) count = d.add("count", Op::mul, {count, d.integer(DType::i64, whole)});
  return d.result("mean", Op::div, {sum, d.cast(count, d.inner(), "divisor")});
}

// The largest number of the dtype below `limit`, which is finite.
double largest_below(DType dtype, double limit) {
  Tensor number(dtype, {});
  number.set_f64(0, limit);
  if (number.get_f64(0) < limit) return number.get_f64(0);
  if (dtype == DType::f64) return std::nextafter(limit, -HUGE_VAL);
  if (dtype == DType::f32) return std::nextafter(static_cast<float>(number.get_f64(0)), -HUGE_VALF);
  // Ordered by their bits, negative ones the other way round.
  uint16_t& bits = *number.as<uint16_t>();
  const double rounded = number.get_f64(0);
  bits = rounded > 0 ? bits - 1 : rounded < 0 ? bits + 1 : 0x8001;
  return number.get_f64(0);
}

// Of numbers in [0, 1): those in [low, high). Rounding may reach high, and is taken back.
NodeId uniform(Definition& d, NodeId unit) {
  const double low = d.real("low"), high = d.real("high");
  const bool is_double = d.inner() == DType::f64;
  const double widest =
      is_double ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  // A width beyond the dtype: halves, doubled at the end.
  const bool is_wide = std::abs(high / 2 - low / 2) > widest / 2;
  const double part = is_wide ? 0.5 : 1;
  NodeId range = d.literal(is_wide ? high / 2 - low / 2 : high - low);
  NodeId scaled = d.add("scaled", Op::mul, {unit, range});
  NodeId low_part = d.literal(low * part);
  if (!(low < high)) return d.result("random", Op::add, {scaled, low_part});
  NodeId number = d.add("shifted", Op::add, {scaled, low_part});
  if (is_wide) number = d.add("doubled", Op::mul, {number, d.literal(2)});
  NodeId most = d.literal(largest_below(d.node().type.dtype, high));
  return d.result("random", Op::minimum, {number, most});
}

// The bits of each element: its position is the counter, the seed the key. Uniform numbers have 24
// bits (53 for f64); normal ones are made of two of 24 (32) by Box and Muller's formula.
NodeId random(Definition& d) {
  const DType dtype = d.inner();
  const bool is_double = dtype == DType::f64;
  NodeId counter = d.add("counter", Op::iota, {},
                         {{"shape", std::vector<Sym>{element_count(d.shape())}},
                          {"dim", int64_t{0}},
                          {"dtype", DType::u64}});
  counter = d.add("position", Op::reshape, {counter}, {{"shape", d.shape()}});
  NodeId bits = d.add("bits", Op::random_bits, {counter, d.integer(DType::u64, d.number("seed"))});
  auto shifted = [&](NodeId value, int64_t by, const std::string& suffix) {
    return d.add(suffix, Op::shift_right, {value, d.integer(DType::u64, by)});
  };
  if (text_attr(op_info(Op::random), d.node().attrs, "distribution") == "uniform") {
    NodeId whole = d.cast(shifted(bits, is_double ? 11 : 40, "upper"), dtype, "whole");
    NodeId unit = d.add("unit", Op::mul, {whole, d.literal(is_double ? 0x1p-53 : 0x1p-24)});
    return uniform(d, unit);
  }
  const int64_t width = is_double ? 32 : 24;
  const double step = std::ldexp(1.0, -static_cast<int>(width));
  NodeId mask = d.integer(DType::u64, (int64_t{1} << width) - 1);
  NodeId upper = shifted(bits, 64 - width, "upper");
  NodeId first = d.cast(d.add("above", Op::add, {upper, d.integer(DType::u64, 1)}), dtype, "first");
  NodeId second = d.cast(d.add("lower", Op::bit_and, {bits, mask}), dtype, "second");
  NodeId log = d.add("log", Op::log, {d.add("unit", Op::mul, {first, d.literal(step)})});
  NodeId radius = d.add("radius", Op::sqrt, {d.add("square", Op::mul, {log, d.literal(-2)})});
  NodeId angle = d.add("angle", Op::mul, {second, d.literal(2 * std::numbers::pi * step)});
  NodeId normal = d.add("normal", Op::mul, {radius, d.add("cos", Op::cos, {angle})});
  NodeId scaled = d.add("scaled", Op::mul, {normal, d.literal(d.real("scale"))});
  return d.result("random", Op::add, {scaled, d.literal(d.real("mean"))});
}

}  // namespace

Define window_definition(Op op) {
  switch (op) {
    case Op::max_pool:
      return max_pool;
    case Op::avg_pool:
      return avg_pool;
    case Op::random:
      return random;
    default:
      return nullptr;
  }
}

}  // namespace ingot
