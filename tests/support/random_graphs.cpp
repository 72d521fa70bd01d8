#include "support/random_graphs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/error.h"
#include "support/random.h"

namespace ingot::testing {
namespace {

bool has_attr(const OpInfo& info, std::string_view name) {
  return std::any_of(info.attrs.begin(), info.attrs.end(),
                     [&](const AttrInfo& attr) { return attr.name == name; });
}

class Generator {
 public:
  Generator(uint64_t seed, const RandomOptions& options)
      : random_(seed), options_(options), builder_("random") {}

  Graph run() {
    make_inputs();
    for (int i = 0; i < options_.nodes; ++i) {
      try {
        step();
      } catch (const Error&) {  // not a valid program: try something else
      }
    }
    choose_outputs();
    return builder_.take();
  }

  // One value after the other, of which now and then an older one is used again. Or ops side by
  // side on many inputs, whose results are joined here and there and all returned.
  Graph run_long() {
    const bool deep = options_.form == GraphForm::deep;
    const Shape shape{random_.chance(50) ? Sym::var("B") : Sym(1 + random_.below(40))};
    const DType main = dtype();
    const int64_t inputs = deep ? 2 : 1 + options_.nodes / 3;
    for (int64_t i = 0; i < inputs; ++i) keep(input(main, shape));
    for (int i = 0; i < options_.nodes; ++i) {
      const size_t back = deep && random_.chance(80)
                              ? 0
                              : static_cast<size_t>(random_.below(static_cast<int64_t>(
                                    std::min<size_t>(pool_.size(), deep ? 12 : pool_.size()))));
      const NodeId a = pool_[pool_.size() - 1 - back];
      try {
        if (random_.chance(6)) {
          keep(builder_.add(Op::broadcast, {reduced(a, some_dims(a), true)}, {{"shape", shape}}));
        } else if (type(a).dtype != main) {
          keep(add(Op::cast, {a}, {{"dtype", main}}));
        } else {
          keep(random_.chance(55) ? unary(a) : binary(a, like(a)));
        }
      } catch (const Error&) {
      }
    }
    int left = deep ? 4 : 1000;
    std::set<NodeId> used;
    for (const Node& node : builder_.graph().nodes)
      used.insert(node.operands.begin(), node.operands.end());
    for (size_t i = pool_.size(); i-- > 0 && left > 0;) {
      if (used.count(pool_[i]) == 0) builder_.output(pool_[i], fmt::format("out{}", --left));
    }
    if (builder_.graph().outputs.empty()) builder_.output(pool_.back(), "out");
    return builder_.take();
  }

 private:
  const TensorType& type(NodeId id) { return builder_[id].type; }
  const Shape& shape(NodeId id) { return type(id).shape; }
  size_t rank(NodeId id) { return shape(id).size(); }
  bool is_boolean(NodeId id) { return type(id).dtype == DType::boolean; }

  Sym size() {
    static const std::vector<int64_t> common{1, 2,  3,  4,  5,  6,  7,  8,
                                             9, 16, 17, 31, 33, 64, 65, 100};
    static const std::vector<int64_t> long_ones{127, 129, 192, 257, 1000, 4097, 8193};
    if (random_.below(300) == 0) return 0;
    if (random_.chance(20)) return Sym::var(random_.chance(70) ? "B" : "C");
    return random_.pick(random_.chance(6) ? long_ones : common);
  }
  // Of a value that is no input: a name must be an input's.
  Sym known_size() {
    Sym s = size();
    for (const std::string& name : s.variables()) {
      if (names_.count(name) == 0) return 11;
    }
    return s;
  }

  DType any_dtype() {
    static const std::vector<DType> list(std::begin(all_dtypes), std::end(all_dtypes));
    return random_.pick(list);
  }
  DType dtype() { return random_.chance(45) ? DType::f32 : any_dtype(); }

  size_t any_dim(NodeId id) {
    return static_cast<size_t>(random_.below(static_cast<int64_t>(rank(id))));
  }
  std::vector<Sym> some_dims(NodeId id) {
    std::vector<Sym> dims;
    for (size_t d = 0; d < rank(id); ++d) {
      if (random_.chance(50)) dims.push_back(Sym(static_cast<int64_t>(d)));
    }
    if (dims.empty()) dims.push_back(Sym(static_cast<int64_t>(any_dim(id))));
    return dims;
  }

  NodeId input(DType dtype, Shape shape, const char* stem = "x") {
    for (const Sym& s : shape) names_.merge(s.variables());
    return builder_.input(fmt::format("{}{}", stem, inputs_++), dtype, std::move(shape));
  }

  void make_inputs() {
    Shape base;
    for (int64_t i = random_.below(random_.chance(15) ? 4 : 3); i >= 0; --i) base.push_back(size());
    while (element_count(base).evaluate(usual_sizes()) > options_.elements) {
      base[static_cast<size_t>(random_.below(static_cast<int64_t>(base.size())))] =
          Sym(1 + random_.below(5));
    }
    DType main = dtype();
    for (int64_t i = 1 + random_.below(4); i > 0; --i) {
      Shape shape = base;
      if (random_.chance(30)) shape.erase(shape.begin(), shape.begin() + random_.below(2));
      for (Sym& s : shape) {
        if (random_.chance(12)) s = Sym(1);
      }
      keep(input(random_.chance(75) ? main : dtype(), shape));
    }
    if (pool_.empty()) keep(input(main, {Sym(9)}));
  }

  NodeId any() {  // recent values are preferred, so that graphs get deep
    if (random_.chance(50)) return pool_.back();
    return random_.pick(pool_);
  }

  NodeId literal(DType dtype) {
    static const std::vector<double> reals{0.0, -0.0, 1.0,   -1.0,  0.5,
                                           3.0, 0.1,  -2.75, 100.0, -INFINITY};
    if (is_float(dtype)) return builder_.literal(dtype, random_.pick(reals));
    if (dtype == DType::boolean) return builder_.literal_i64(dtype, random_.below(2));
    if (is_unsigned(dtype)) return builder_.literal_i64(dtype, random_.below(256));
    return builder_.literal_i64(dtype, random_.below(70) - 4);
  }

  // A value that goes with `id` in one op.
  NodeId like(NodeId id) {
    for (int i = random_.chance(15) ? 8 : 0; i < 8; ++i) {
      NodeId other = any();
      if (other == id && !random_.chance(15)) continue;
      if (type(other).dtype == type(id).dtype) return other;
    }
    return literal(type(id).dtype);
  }

  void keep(NodeId id) {
    if (element_count(shape(id)).evaluate(usual_sizes()) <= options_.elements) pool_.push_back(id);
  }

  NodeId add(Op op, std::vector<NodeId> operands, Attrs attrs = {}) {
    std::vector<TensorType> types;
    for (NodeId id : operands) types.push_back(type(id));
    std::vector<SizeEquality> equalities;
    const TensorType result = infer_type(op, types, attrs, &equalities);
    for (const SizeEquality& equality : equalities) {
      if (!(equality.left == equality.right)) fail_input({}, "sizes would have to be equal");
    }
    if (element_count(result.shape).evaluate(usual_sizes()) > options_.elements) {
      fail_input({}, "too large");
    }
    return builder_.add(op, std::move(operands), std::move(attrs));
  }

  void step() {
    using Step = void (Generator::*)();
    static constexpr std::pair<int, Step> steps[] = {
        {32, &Generator::elementwise}, {5, &Generator::cast},     {13, &Generator::reduction},
        {8, &Generator::around},       {5, &Generator::diamond},  {4, &Generator::twice_reduced},
        {18, &Generator::movement},    {5, &Generator::concat},   {6, &Generator::gather},
        {8, &Generator::composite},    {3, &Generator::creation}, {2, &Generator::select},
        {6, &Generator::any_row},      {4, &Generator::argument}, {4, &Generator::scan},
        {3, &Generator::scatter},      {4, &Generator::pool},     {1, &Generator::topk},
        {1, &Generator::by_channel},
    };
    if ((options_.products || options_.whole_products) && random_.chance(15)) {
      return random_.chance(70) ? matmul() : conv();
    }
    int64_t left = random_.below(132);
    for (const auto& [weight, function] : steps) {
      if ((left -= weight) < 0) return (this->*function)();
    }
  }

  // ---- elementwise

  // Composites with shapes or attributes of their own.
  static bool has_own_step(const OpInfo& info) {
    return info.category == Category::composite && !has_attr(info, "dim") &&
           !has_attr(info, "dims");
  }

  const OpInfo* row(Category category, DType dtype, int operands = 0) {
    std::vector<const OpInfo*> rows, cheap;
    for (const OpInfo& info : all_ops()) {
      if (info.category != category || !accepts(info.operands, dtype)) continue;
      if ((info.flags & OpFlag::ids) != 0) continue;
      if (info.op == Op::cast || info.op == Op::select || has_own_step(info)) continue;
      if (operands > 0 && info.min_operands != operands) continue;
      rows.push_back(&info);
      if (info.instructions <= 5) cheap.push_back(&info);
    }
    if (!cheap.empty() && random_.chance(45)) return random_.pick(cheap);
    return rows.empty() ? nullptr : random_.pick(rows);
  }

  NodeId apply(const OpInfo& info, std::vector<NodeId> operands) {
    static const std::vector<double> reals{0.0, 0.5, -1.0, 2.25, 6.0, 1e-3};
    Attrs attrs;
    for (const AttrInfo& attr : info.attrs) {
      if (attr.type == AttrType::real && random_.chance(40)) {
        attrs[std::string(attr.name)] = random_.pick(reals);
      }
    }
    return add(info.op, std::move(operands), std::move(attrs));
  }

  NodeId unary(NodeId a) {
    const OpInfo* info = row(Category::elementwise, type(a).dtype, 1);
    return info == nullptr ? a : apply(*info, {a});
  }
  NodeId binary(NodeId a, NodeId b) {
    const OpInfo* info = row(Category::elementwise, type(a).dtype, 2);
    INGOT_CHECK(info != nullptr, "eq takes every dtype");
    return apply(*info, {a, b});
  }

  void elementwise() {
    NodeId a = any();
    const OpInfo* info = row(Category::elementwise, type(a).dtype);
    std::vector<NodeId> operands{a};
    while (static_cast<int>(operands.size()) < info->min_operands) operands.push_back(like(a));
    if (random_.chance(30)) std::rotate(operands.begin(), operands.end() - 1, operands.end());
    keep(apply(*info, std::move(operands)));
  }

  void cast() {
    NodeId there = add(Op::cast, {any()}, {{"dtype", any_dtype()}});
    keep(there);
    if (random_.chance(30)) keep(add(Op::cast, {there}, {{"dtype", any_dtype()}}));
  }

  void select() {
    NodeId a = any();
    std::vector<NodeId> masks;
    for (NodeId id : pool_) {
      if (is_boolean(id)) masks.push_back(id);
    }
    NodeId mask =
        masks.empty() || random_.chance(30) ? add(Op::lt, {a, like(a)}) : random_.pick(masks);
    keep(add(Op::select, {mask, a, like(a)}));
  }

  // Two values of one, joined again; one of them may be needed elsewhere too.
  void diamond() {
    NodeId a = any();
    NodeId left = unary(a), right = random_.chance(50) ? unary(a) : binary(a, like(a));
    if (random_.chance(40)) keep(left);
    if (type(left).dtype == type(right).dtype) return keep(binary(left, right));
    keep(left);
    keep(right);
  }

  // ---- reductions

  NodeId reduced(NodeId a, std::vector<Sym> dims, bool keepdims) {
    const OpInfo* info = row(Category::reduction, type(a).dtype);
    if (info == nullptr) fail_input({}, "a dtype that is only stored");
    return add(info->op, {a}, {{"dims", std::move(dims)}, {"keepdims", keepdims}});
  }

  NodeId with_dims() {  // a value that is no scalar
    for (int i = 0; i < 8; ++i) {
      NodeId a = any();
      if (rank(a) > 0) return a;
    }
    fail_input({}, "only scalars");
  }

  void reduction() {
    NodeId a = with_dims();
    keep(reduced(a, some_dims(a), random_.chance(60)));
  }

  // x and a reduction of it, joined again: what norms and softmax are made of.
  void around() {
    NodeId a = with_dims();
    NodeId r = reduced(a, some_dims(a), true);
    if (random_.chance(30)) r = unary(r);
    if (random_.chance(25)) keep(r);
    if (type(r).dtype == type(a).dtype) return keep(binary(a, r));
    keep(r);
  }

  void twice_reduced() {
    NodeId a = with_dims();
    std::vector<Sym> dims = some_dims(a);
    NodeId r = reduced(a, dims, true);
    if (random_.chance(60)) r = unary(r);
    keep(r);
    keep(reduced(r, random_.chance(50) ? some_dims(r) : dims, random_.chance(50)));
  }

  void composite() {
    NodeId a = with_dims();
    const OpInfo* info = row(Category::composite, type(a).dtype);
    if (info == nullptr) return;
    Attrs attrs;
    std::vector<NodeId> operands{a};
    if (has_attr(*info, "k")) return topk();
    if (has_attr(*info, "dim")) attrs["dim"] = static_cast<int64_t>(any_dim(a));
    if (has_attr(*info, "keepdims")) attrs["keepdims"] = random_.chance(60);
    if (has_attr(*info, "dims")) {
      std::vector<Sym> dims = some_dims(a);
      attrs["dims"] = dims;
      if (info->min_operands > 1) {  // gamma and beta, over the trailing dimensions
        size_t first = any_dim(a);
        Shape last(shape(a).begin() + static_cast<std::ptrdiff_t>(first), shape(a).end());
        for (size_t d = first; d < rank(a); ++d) {
          if (d == first) dims.clear();
          dims.push_back(Sym(static_cast<int64_t>(d)));
        }
        attrs["dims"] = dims;
        int64_t extra = info->min_operands - 1;
        extra += random_.below(info->max_operands - info->min_operands + 1);
        for (int64_t i = 0; i < extra; ++i) operands.push_back(input(type(a).dtype, last, "w"));
      }
    }
    keep(add(info->op, operands, attrs));
  }

  // ---- movement

  void movement() {
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

  void transpose(NodeId a) {
    std::vector<Sym> perm;
    for (size_t d = 0; d < rank(a); ++d) perm.push_back(Sym(static_cast<int64_t>(d)));
    for (size_t d = 0; d + 1 < rank(a); ++d) {
      std::swap(perm[d],
                perm[d + static_cast<size_t>(random_.below(static_cast<int64_t>(rank(a) - d)))]);
    }
    keep(add(Op::transpose, {a}, {{"perm", perm}}));
  }

  void reshape(NodeId a) {
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

  void broadcast(NodeId a) {
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

  NodeId sliced(NodeId a) {
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
  void slice(NodeId a) { keep(sliced(a)); }

  void pad(NodeId a) {
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

  void concat() {
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

  void gather() {
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

  void argument() {
    NodeId a = with_dims();
    keep(add(random_.chance(50) ? Op::argmax : Op::argmin, {a},
             {{"dims", some_dims(a)},
              {"keepdims", random_.chance(50)},
              {"select_last_index", random_.chance(40)}}));
  }

  void scan() {
    NodeId a = with_dims();
    NodeId sum = add(Op::cumsum, {a},
                     {{"dim", static_cast<int64_t>(any_dim(a))},
                      {"exclusive", random_.chance(40)},
                      {"reverse", random_.chance(30)}});
    keep(sum);
    if (random_.chance(50)) keep(unary(sum));
  }

  void scatter() {
    static const std::vector<std::string> modes{"set", "add", "mul", "min", "max"};
    NodeId into = with_dims();
    const size_t d = any_dim(into);
    if (!shape(into)[d].constant()) return;
    const Sym count(1 + random_.below(20));
    Shape updates = shape(into);
    updates[d] = count;
    const bool elements = random_.chance(50);
    NodeId ids = input(random_.chance(50) ? DType::i32 : DType::u16,
                       elements ? updates : Shape{count}, "ids");
    NodeId values = input(type(into).dtype, updates, "w");
    keep(add(elements ? Op::scatter_elements : Op::scatter, {into, ids, values},
             {{"dim", static_cast<int64_t>(d)}, {"mode", random_.pick(modes)}}));
  }

  void topk() {
    NodeId a = with_dims();
    Attrs attrs{{"k", 1 + random_.below(3)},
                {"dim", static_cast<int64_t>(any_dim(a))},
                {"largest", random_.chance(60)}};
    if (!shape(a)[static_cast<size_t>(std::get<int64_t>(attrs["dim"]))].constant()) return;
    keep(add(Op::topk, {a}, attrs));
    keep(add(Op::topk_indices, {a}, attrs));
  }

  // [N, C, D] or [N, C, D, E], a value there is or a new input.
  NodeId image() {
    NodeId x = any();
    bool fits = rank(x) >= 3 && rank(x) <= 4;
    for (size_t d = 2; fits && d < rank(x); ++d) fits = shape(x)[d].constant().value_or(0) >= 4;
    if (fits) return x;
    Shape shape{random_.chance(50) ? Sym::var("B") : Sym(2), Sym(2 * (1 + random_.below(3))),
                Sym(4 + random_.below(9))};
    if (random_.chance(40)) shape.push_back(Sym(4 + random_.below(6)));
    return input(dtype(), shape);
  }

  void pool() {
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

  void by_channel() {
    NodeId x = image();
    auto parameter = [&] { return input(type(x).dtype, {shape(x)[1]}, "w"); };
    if (random_.chance(50)) {
      return keep(add(Op::batch_norm, {x, parameter(), parameter(), parameter(), parameter()}));
    }
    keep(add(Op::group_norm, {x, parameter(), parameter()},
             {{"groups", int64_t{random_.chance(50) ? 1 : 2}}}));
  }

  // ---- any row of the table, with whatever attributes inference takes

  AttrValue any_attr(const AttrInfo& attr, NodeId a) {
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

  void any_row() {
    const OpInfo& info = random_.pick(all_ops());
    const bool product = info.category == Category::contraction;
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

  void creation() {
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
  NodeId whole(NodeId a, bool is_left) {
    if (!options_.whole_products || !is_float(type(a).dtype)) return a;
    NodeId rounded = add(Op::round, {a});
    NodeId small = add(Op::clip, {rounded}, {{"min", is_left ? 1.0 : -8.0}, {"max", 8.0}});
    return is_left ? small : add(Op::add, {small, builder_.literal(type(a).dtype, 0.5)});
  }

  void matmul() {
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

  void conv() {
    NodeId x = any();
    bool fits = rank(x) >= 3 && rank(x) <= 4 && is_float(type(x).dtype) &&
                shape(x)[1].constant().has_value();
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

  void choose_outputs() {
    std::set<NodeId> used;
    for (const Node& node : builder_.graph().nodes)
      used.insert(node.operands.begin(), node.operands.end());
    int left = 4;
    for (size_t i = pool_.size(); i-- > 0 && left > 0;) {
      if (builder_[pool_[i]].op == Op::input && !random_.chance(2)) continue;
      if (used.count(pool_[i]) > 0 && !random_.chance(15)) continue;
      builder_.output(pool_[i], fmt::format("out{}", --left));
      if (left > 0 && random_.chance(2)) builder_.output(pool_[i], fmt::format("out{}", --left));
    }
    if (builder_.graph().outputs.empty()) builder_.output(pool_.back(), "out");
  }

  Random random_;
  RandomOptions options_;
  GraphBuilder builder_;
  std::vector<NodeId> pool_;
  std::set<std::string> names_;  // of sizes that inputs have
  int inputs_ = 0;
};

}  // namespace

Graph random_graph(uint64_t seed, const RandomOptions& options) {
  Generator generator(seed, options);
  return options.form == GraphForm::usual ? generator.run() : generator.run_long();
}

const Bindings& usual_sizes() {
  static const Bindings sizes{{"B", 7}, {"C", 3}};
  return sizes;
}

Bindings other_sizes(uint64_t seed) {
  static const std::vector<int64_t> sizes{0, 1, 1, 2, 8, 33, 64, 65, 131};
  Random random(seed ^ 0x5151);
  return {{"B", random.pick(sizes)}, {"C", random.pick(sizes)}};
}

}  // namespace ingot::testing
