// Steps with shapes, positions or attributes of their own, and products.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/error.h"
#include "support/random_generator.h"

namespace ingot::testing {

// ---- movement

void Generator::movement() {
  NodeId a = with_dims();
  switch (random_.below(6)) {
    case 0:
      return transpose(a);
    case 1:
    case 2:
      return reshape(a);
    case 3:
      return broadcast(a);
    case 4:
      return slice(a);
    default:
      return pad(a);
  }
}

void Generator::transpose(NodeId a) {
  std::vector<Sym> perm;
  for (size_t d = 0; d < rank(a); ++d) perm.push_back(Sym(static_cast<int64_t>(d)));
  for (size_t d = 0; d + 1 < rank(a); ++d) {
    std::swap(perm[d],
              perm[d + static_cast<size_t>(random_.below(static_cast<int64_t>(rank(a) - d)))]);
  }
  keep(add(Op::transpose, {a}, {{"perm", perm}}));
}

void Generator::reshape(NodeId a) {
  Shape next = shape(a);
  size_t d = any_dim(a);
  const auto at = next.begin() + static_cast<std::ptrdiff_t>(d);
  std::optional<int64_t> n = next[d].constant();
  if (random_.chance(15)) {
    next = {element_count(next)};
  } else if (n && *n > 3 && random_.chance(50)) {  // split into two
    for (int64_t factor : {2, 3, 4, 5, 11}) {
      if (*n % factor != 0) continue;
      *at = Sym(*n / factor);
      next.insert(at, Sym(factor));
      break;
    }
  } else if (d + 1 < next.size()) {  // merge two neighbours
    next[d] = next[d] * next[d + 1];
    next.erase(at + 1);
  } else {
    next.insert(at, Sym(1));
  }
  keep(add(Op::reshape, {a}, {{"shape", next}}));
}

void Generator::broadcast(NodeId a) {
  Shape next = shape(a);
  bool grown = false;
  for (Sym& s : next) {
    if (!s.is(1) || !random_.chance(60)) continue;
    s = known_size();
    grown = true;
  }
  if (!grown)
    next.insert(next.begin(), random_.chance(30) ? known_size() : Sym(1 + random_.below(4)));
  keep(add(Op::broadcast, {a}, {{"shape", next}}));
}

NodeId Generator::sliced(NodeId a) {
  std::vector<Sym> starts, ends, steps;
  for (const Sym& s : shape(a)) {
    int64_t n = s.constant().value_or(0);
    bool backwards = n > 1 && random_.chance(15);
    int64_t step = n > 3 && random_.chance(30) ? 1 + random_.below(3) : 1;
    int64_t start = n > 3 && random_.chance(60) ? random_.below(3) : 0;
    starts.push_back(backwards ? Sym(n - 1 - start) : Sym(start));
    ends.push_back(backwards ? Sym(-n - 1) : n > 6 && random_.chance(30) ? Sym(n - 2) : s);
    steps.push_back(Sym(backwards ? -step : step));
  }
  return add(Op::slice, {a}, {{"starts", starts}, {"ends", ends}, {"steps", steps}});
}

void Generator::slice(NodeId a) { keep(sliced(a)); }

void Generator::pad(NodeId a) {
  static const std::vector<double> values{0.0, 1.5, -3.0, 7.0, -INFINITY};
  static const std::vector<std::string> modes{"constant", "constant", "edge", "reflect", "wrap"};
  std::vector<Sym> low(rank(a)), high(rank(a));
  for (size_t d = 0; d < rank(a); ++d) {
    if (!random_.chance(rank(a) == 1 ? 100 : 50)) continue;
    low[d] = Sym(random_.below(3));
    high[d] = Sym(random_.below(3));
  }
  keep(add(Op::pad, {a},
           {{"low", low},
            {"high", high},
            {"value", random_.pick(values)},
            {"mode", random_.pick(modes)}}));
}

void Generator::concat() {
  NodeId a = with_dims();
  size_t dim = any_dim(a);
  std::vector<NodeId> parts{a};
  for (int64_t i = 1 + random_.below(3); i > 0; --i) {
    NodeId other = like(a);
    bool fits = rank(other) == rank(a);
    for (size_t d = 0; fits && d < rank(a); ++d) {
      fits = d == dim || shape(a)[d] == shape(other)[d];
    }
    if (!fits) other = unary(a);
    if (type(other).dtype != type(a).dtype) other = a;
    parts.push_back(other);
  }
  if (random_.chance(40)) std::rotate(parts.begin(), parts.begin() + 1, parts.end());
  keep(add(Op::concat, parts, {{"dim", static_cast<int64_t>(dim)}}));
}

void Generator::gather() {
  NodeId table = with_dims();
  auto dim = static_cast<int64_t>(any_dim(table));
  // Some id has to be in range.
  bool fixed = shape(table)[static_cast<size_t>(dim)].constant().value_or(0) > 0;
  std::vector<NodeId> computed;  // ids made by other ops
  for (NodeId id : pool_) {
    DType dtype = type(id).dtype;
    if ((dtype == DType::i32 || dtype == DType::i64) && rank(id) < 3) computed.push_back(id);
  }
  NodeId ids;
  std::string mode = "zero";
  if (!computed.empty() && random_.chance(30)) {
    ids = random_.pick(computed);
  } else {
    Shape shape;
    for (int64_t i = random_.below(3); i > 0; --i) shape.push_back(size());
    ids = input(random_.chance(50) ? DType::i32 : DType::i64, shape, "ids");
    if (fixed && random_.chance(50)) mode = "error";
  }
  keep(add(Op::gather, {table, ids}, {{"dim", dim}, {"out_of_range", mode}}));
  if (!fixed || !random_.chance(40)) return;
  Shape one_each = shape(table);
  one_each[static_cast<size_t>(dim)] = Sym(1 + random_.below(6));
  ids = input(random_.chance(50) ? DType::u8 : DType::i64, one_each, "ids");
  keep(add(Op::gather_elements, {table, ids}, {{"dim", dim}}));
}

// ---- positions, order, windows

void Generator::argument() {
  NodeId a = with_dims();
  keep(add(random_.chance(50) ? Op::argmax : Op::argmin, {a},
           {{"dims", some_dims(a)},
            {"keepdims", random_.chance(50)},
            {"select_last_index", random_.chance(40)}}));
}

void Generator::scan() {
  NodeId a = with_dims();
  NodeId sum = add(Op::cumsum, {a},
                   {{"dim", static_cast<int64_t>(any_dim(a))},
                    {"exclusive", random_.chance(40)},
                    {"reverse", random_.chance(30)}});
  keep(sum);
  if (random_.chance(50)) keep(unary(sum));
}

void Generator::scatter() {
  static const std::vector<std::string> modes{"set", "add", "mul", "min", "max"};
  NodeId into = with_dims();
  const size_t d = any_dim(into);
  if (!shape(into)[d].constant()) return;
  const Sym count(1 + random_.below(20));
  Shape updates = shape(into);
  updates[d] = count;
  const bool elements = random_.chance(50);
  NodeId ids =
      input(random_.chance(50) ? DType::i32 : DType::u16, elements ? updates : Shape{count}, "ids");
  NodeId values = input(type(into).dtype, updates, "w");
  keep(add(elements ? Op::scatter_elements : Op::scatter, {into, ids, values},
           {{"dim", static_cast<int64_t>(d)}, {"mode", random_.pick(modes)}}));
}

void Generator::topk() {
  NodeId a = with_dims();
  Attrs attrs{{"k", 1 + random_.below(3)},
              {"dim", static_cast<int64_t>(any_dim(a))},
              {"largest", random_.chance(60)}};
  if (!shape(a)[static_cast<size_t>(std::get<int64_t>(attrs["dim"]))].constant()) return;
  keep(add(Op::topk, {a}, attrs));
  keep(add(Op::topk_indices, {a}, attrs));
}

// [N, C, D] or [N, C, D, E], a value there is or a new input.
NodeId Generator::image() {
  NodeId x = any();
  bool fits = rank(x) >= 3 && rank(x) <= 4;
  for (size_t d = 2; fits && d < rank(x); ++d) fits = shape(x)[d].constant().value_or(0) >= 4;
  if (fits) return x;
  Shape shape{random_.chance(50) ? Sym::var("B") : Sym(2), Sym(2 * (1 + random_.below(3))),
              Sym(4 + random_.below(9))};
  if (random_.chance(40)) shape.push_back(Sym(4 + random_.below(6)));
  return input(dtype(), shape);
}

void Generator::pool() {
  NodeId x = image();
  std::vector<Sym> kernel, strides, dilations, low, high;
  for (size_t d = 2; d < rank(x); ++d) {
    int64_t taps = 1 + random_.below(3), dilation = taps == 3 ? 1 : 1 + random_.below(2);
    kernel.push_back(Sym(taps));
    strides.push_back(Sym(1 + random_.below(3)));
    dilations.push_back(Sym(dilation));
    low.push_back(Sym(random_.below(taps)));
    high.push_back(Sym(random_.below(taps)));
  }
  low.insert(low.end(), high.begin(), high.end());
  Attrs attrs{{"kernel", kernel},
              {"strides", strides},
              {"pads", low},
              {"dilations", dilations},
              {"ceil_mode", random_.chance(30)}};
  if (random_.chance(50)) return keep(add(Op::max_pool, {x}, attrs));
  attrs["count_include_pad"] = random_.chance(30);
  keep(add(Op::avg_pool, {x}, attrs));
}

void Generator::by_channel() {
  NodeId x = image();
  auto parameter = [&] { return input(type(x).dtype, {shape(x)[1]}, "w"); };
  if (random_.chance(50)) {
    return keep(add(Op::batch_norm, {x, parameter(), parameter(), parameter(), parameter()}));
  }
  keep(add(Op::group_norm, {x, parameter(), parameter()},
           {{"groups", int64_t{random_.chance(50) ? 1 : 2}}}));
}

// ---- any row of the table, with whatever attributes inference takes

AttrValue Generator::any_attr(const AttrInfo& attr, NodeId a) {
  const auto dims = static_cast<int64_t>(rank(a));
  switch (attr.type) {
    case AttrType::boolean:
      return random_.chance(50);
    case AttrType::integer:
      return random_.below(dims + 2) - 1;
    case AttrType::real:
      return random_.chance(50) ? 0.5 : 2.0;
    case AttrType::dtype:
      return any_dtype();
    case AttrType::sizes: {
      std::vector<Sym> sizes;
      const int64_t most = attr.name == "dims" ? std::max<int64_t>(dims, 1) : 4;
      const int64_t count = random_.chance(60) ? dims : random_.below(2 * dims + 2);
      for (int64_t i = 0; i < count; ++i) sizes.push_back(Sym(random_.below(most)));
      if (attr.name == "shape" && random_.chance(60)) return std::vector<Sym>(shape(a));
      return sizes;
    }
    case AttrType::text:
      break;  // what it may be stands in the op's own code: its default
  }
  return std::string(attr.default_text);
}

void Generator::any_row() {
  const OpInfo& info = random_.pick(all_ops());
  const bool product = info.category == Category::contraction || info.op == Op::attention;
  // Ids out of range are errors; the steps of these ops choose theirs.
  const bool picks = (info.flags & OpFlag::ids) != 0 && info.op != Op::gather;
  if (info.op == Op::input || info.op == Op::constant || product || picks) return;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const NodeId a = any();
    std::vector<NodeId> operands;
    const int most = info.max_operands < 0 ? info.min_operands + 2 : info.max_operands;
    const int count = info.min_operands +
                      static_cast<int>(random_.below(std::max(most - info.min_operands, 0) + 1));
    for (int i = 0; i < count; ++i) {
      operands.push_back(i == 0 ? a : random_.chance(60) ? like(a) : any());
    }
    try {
      Attrs attrs;
      for (const AttrInfo& attr : info.attrs) {
        if (!attr.default_text.empty() && random_.chance(40)) continue;
        if (attr.type != AttrType::text) attrs[std::string(attr.name)] = any_attr(attr, a);
      }
      return keep(add(info.op, std::move(operands), std::move(attrs)));
    } catch (const Error&) {
    }
  }
}

// ---- creation and products

void Generator::creation() {
  NodeId a = with_dims();
  int64_t kind = random_.below(4);
  if (kind == 3) {
    static const std::vector<DType> reals{DType::f32, DType::f64, DType::f16, DType::bf16};
    return keep(add(Op::random, {},
                    {{"shape", std::vector<Sym>(shape(a))},
                     {"dtype", random_.pick(reals)},
                     {"seed", random_.below(1000)},
                     {"distribution", std::string(random_.chance(50) ? "normal" : "uniform")}}));
  }
  if (kind == 0) {
    return keep(add(Op::iota, {},
                    {{"shape", std::vector<Sym>(shape(a))},
                     {"dim", static_cast<int64_t>(any_dim(a))},
                     {"dtype", any_dtype()}}));
  }
  if (kind == 1) {
    std::set<std::string> names;
    for (const Sym& s : shape(a)) names.merge(s.variables());
    if (names.empty()) return;
    Sym value = Sym::var(*names.begin()) * Sym(1 + random_.below(3)) + Sym(random_.below(2));
    return keep(add(Op::size, {}, {{"value", std::vector<Sym>{value}}, {"dtype", any_dtype()}}));
  }
  std::vector<int64_t> fixed;
  for (const Sym& s : shape(a)) fixed.push_back(s.constant().value_or(1));
  Tensor data = random_tensor(type(a).dtype, fixed, random_.next(), 1.0, 0, 20);
  if (data.size() <= 2000) keep(builder_.constant(data));
}

// Numbers of which products and sums are exact in every order. One factor is never 0, nor the
// other: a product -0 would tell the order.
NodeId Generator::whole(NodeId a, bool is_left) {
  if (!options_.whole_products || !is_float(type(a).dtype)) return a;
  NodeId rounded = add(Op::round, {a});
  NodeId small = add(Op::clip, {rounded}, {{"min", is_left ? 1.0 : -8.0}, {"max", 8.0}});
  return is_left ? small : add(Op::add, {small, builder_.literal(type(a).dtype, 0.5)});
}

void Generator::matmul() {
  NodeId a = with_dims();
  bool transpose_a = rank(a) > 1 && random_.chance(25), transpose_b = random_.chance(30);
  Sym k = shape(a)[rank(a) - (transpose_a ? 2 : 1)];
  NodeId b = any();
  bool fits = rank(b) > 0 && type(b).dtype == type(a).dtype &&
              shape(b)[rank(b) - (rank(b) == 1 || transpose_b ? 1 : 2)] == k;
  if (!fits) {
    Shape other;
    if (rank(a) > 2 && random_.chance(50)) {
      other.assign(shape(a).begin(), shape(a).end() - 2);
      if (random_.chance(30)) other[0] = Sym(1);
    }
    other.push_back(k);
    if (other.size() > 1 || random_.chance(85)) {
      other.insert(other.end() - (transpose_b ? 1 : 0), size());
    }
    b = input(type(a).dtype, other, "w");
  }
  keep(add(Op::matmul, {whole(a, true), whole(b, false)},
           {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}));
}

void Generator::conv() {
  NodeId x = any();
  bool fits =
      rank(x) >= 3 && rank(x) <= 4 && is_float(type(x).dtype) && shape(x)[1].constant().has_value();
  for (size_t d = 2; fits && d < rank(x); ++d) fits = shape(x)[d].constant().value_or(0) >= 5;
  if (!fits) {
    Shape shape{random_.chance(50) ? Sym::var("B") : Sym(2), Sym(1 + random_.below(6)),
                Sym(5 + random_.below(20))};
    if (random_.chance(40)) shape.push_back(Sym(5 + random_.below(8)));
    static const std::vector<DType> dtypes{DType::f32, DType::f32, DType::bf16, DType::f16,
                                           DType::f64};
    x = input(random_.pick(dtypes), shape);
  }
  int64_t channels = *shape(x)[1].constant();
  int64_t groups = channels % 2 == 0 && random_.chance(30) ? 2 : 1;
  Shape weights{Sym(groups * (1 + random_.below(7))), Sym(channels / groups)};
  std::vector<Sym> strides, dilations, low, high;
  for (size_t d = 2; d < rank(x); ++d) {
    int64_t taps = 1 + random_.below(3), dilation = 1 + random_.below(2);
    weights.push_back(Sym(taps));
    strides.push_back(Sym(1 + random_.below(2)));
    dilations.push_back(Sym(dilation));
    low.push_back(Sym(random_.below(1 + (taps - 1) * dilation)));
    high.push_back(Sym(random_.below(1 + (taps - 1) * dilation)));
  }
  low.insert(low.end(), high.begin(), high.end());
  std::vector<NodeId> operands{whole(x, true), whole(input(type(x).dtype, weights, "w"), false)};
  if (random_.chance(50)) {
    operands.push_back(whole(input(type(x).dtype, {weights[0]}, "w"), false));
  }
  keep(add(Op::conv, operands,
           {{"strides", strides}, {"pads", low}, {"dilations", dilations}, {"groups", groups}}));
}

// q of what there is, or all new.
void Generator::attention() {
  NodeId q = any();
  if (rank(q) < 2 || !is_float(type(q).dtype)) {
    static const std::vector<DType> dtypes{DType::f32, DType::f32, DType::bf16, DType::f16,
                                           DType::f64};
    Shape shape{size(), size()};
    if (random_.chance(50)) shape.insert(shape.begin(), size());
    q = input(random_.pick(dtypes), shape);
  }
  const Shape queries = shape(q);
  Shape batch(queries.begin(), queries.end() - 2);
  if (!batch.empty() && random_.chance(40)) batch[0] = Sym(1);
  if (random_.chance(20)) batch.clear();
  const Sym keys = size();
  auto rows_of = [&](const Sym& columns) {
    Shape shape = batch;
    shape.insert(shape.end(), {keys, columns});
    return input(type(q).dtype, shape, "w");
  };
  std::vector<NodeId> operands{q, rows_of(queries.back()), rows_of(size())};
  if (random_.chance(50)) {
    Shape mask{random_.chance(30) ? Sym(1) : queries[queries.size() - 2], keys};
    if (random_.chance(30)) mask.erase(mask.begin());
    operands.push_back(input(random_.chance(60) ? DType::boolean : type(q).dtype, mask, "m"));
  }
  keep(add(Op::attention, operands,
           {{"causal", random_.chance(40)}, {"scale", random_.chance(50) ? 0.0 : 0.25}}));
}

}  // namespace ingot::testing
