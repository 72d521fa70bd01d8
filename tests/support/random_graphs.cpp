#include "support/random_graphs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/error.h"
#include "support/random_generator.h"

namespace ingot::testing {
namespace {

bool has_attr(const OpInfo& info, std::string_view name) {
  return std::any_of(info.attrs.begin(), info.attrs.end(),
                     [&](const AttrInfo& attr) { return attr.name == name; });
}

}  // namespace

Graph Generator::run() {
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
Graph Generator::run_long() {
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

Sym Generator::size() {
  static const std::vector<int64_t> common{1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 31, 33, 64, 65, 100};
  static const std::vector<int64_t> long_ones{127, 129, 192, 257, 1000, 4097, 8193};
  if (random_.below(300) == 0) return 0;
  if (random_.chance(20)) return Sym::var(random_.chance(70) ? "B" : "C");
  return random_.pick(random_.chance(6) ? long_ones : common);
}

// Of a value that is no input: a name must be an input's.
Sym Generator::known_size() {
  Sym s = size();
  for (const std::string& name : s.variables()) {
    if (names_.count(name) == 0) return 11;
  }
  return s;
}

DType Generator::any_dtype() {
  static const std::vector<DType> list(std::begin(all_dtypes), std::end(all_dtypes));
  return random_.pick(list);
}

DType Generator::dtype() { return random_.chance(45) ? DType::f32 : any_dtype(); }

size_t Generator::any_dim(NodeId id) {
  return static_cast<size_t>(random_.below(static_cast<int64_t>(rank(id))));
}

std::vector<Sym> Generator::some_dims(NodeId id) {
  std::vector<Sym> dims;
  for (size_t d = 0; d < rank(id); ++d) {
    if (random_.chance(50)) dims.push_back(Sym(static_cast<int64_t>(d)));
  }
  if (dims.empty()) dims.push_back(Sym(static_cast<int64_t>(any_dim(id))));
  return dims;
}

NodeId Generator::input(DType dtype, Shape shape, const char* stem) {
  for (const Sym& s : shape) names_.merge(s.variables());
  return builder_.input(fmt::format("{}{}", stem, inputs_++), dtype, std::move(shape));
}

void Generator::make_inputs() {
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

NodeId Generator::any() {  // recent values are preferred, so that graphs get deep
  if (random_.chance(50)) return pool_.back();
  return random_.pick(pool_);
}

NodeId Generator::literal(DType dtype) {
  static const std::vector<double> reals{0.0, -0.0, 1.0,   -1.0,  0.5,
                                         3.0, 0.1,  -2.75, 100.0, -INFINITY};
  if (is_float(dtype)) return builder_.literal(dtype, random_.pick(reals));
  if (dtype == DType::boolean) return builder_.literal_i64(dtype, random_.below(2));
  if (is_unsigned(dtype)) return builder_.literal_i64(dtype, random_.below(256));
  return builder_.literal_i64(dtype, random_.below(70) - 4);
}

// A value that goes with `id` in one op.
NodeId Generator::like(NodeId id) {
  for (int i = random_.chance(15) ? 8 : 0; i < 8; ++i) {
    NodeId other = any();
    if (other == id && !random_.chance(15)) continue;
    if (type(other).dtype == type(id).dtype) return other;
  }
  return literal(type(id).dtype);
}

void Generator::keep(NodeId id) {
  if (element_count(shape(id)).evaluate(usual_sizes()) <= options_.elements) pool_.push_back(id);
}

NodeId Generator::add(Op op, std::vector<NodeId> operands, Attrs attrs) {
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

void Generator::step() {
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
    // The weights of an attention are no whole numbers.
    if (options_.products && random_.chance(20)) return attention();
    return random_.chance(70) ? matmul() : conv();
  }
  int64_t left = random_.below(132);
  for (const auto& [weight, function] : steps) {
    if ((left -= weight) < 0) return (this->*function)();
  }
}

// ---- elementwise

// Composites with shapes or attributes of their own.
bool Generator::has_own_step(const OpInfo& info) {
  return info.category == Category::composite && !has_attr(info, "dim") && !has_attr(info, "dims");
}

const OpInfo* Generator::row(Category category, DType dtype, int operands) {
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

NodeId Generator::apply(const OpInfo& info, std::vector<NodeId> operands) {
  static const std::vector<double> reals{0.0, 0.5, -1.0, 2.25, 6.0, 1e-3};
  Attrs attrs;
  for (const AttrInfo& attr : info.attrs) {
    if (attr.type == AttrType::real && random_.chance(40)) {
      attrs[std::string(attr.name)] = random_.pick(reals);
    }
  }
  return add(info.op, std::move(operands), std::move(attrs));
}

NodeId Generator::unary(NodeId a) {
  const OpInfo* info = row(Category::elementwise, type(a).dtype, 1);
  return info == nullptr ? a : apply(*info, {a});
}

NodeId Generator::binary(NodeId a, NodeId b) {
  const OpInfo* info = row(Category::elementwise, type(a).dtype, 2);
  INGOT_CHECK(info != nullptr, "eq takes every dtype");
  return apply(*info, {a, b});
}

void Generator::elementwise() {
  NodeId a = any();
  const OpInfo* info = row(Category::elementwise, type(a).dtype);
  std::vector<NodeId> operands{a};
  while (static_cast<int>(operands.size()) < info->min_operands) operands.push_back(like(a));
  if (random_.chance(30)) std::rotate(operands.begin(), operands.end() - 1, operands.end());
  keep(apply(*info, std::move(operands)));
}

void Generator::cast() {
  NodeId there = add(Op::cast, {any()}, {{"dtype", any_dtype()}});
  keep(there);
  if (random_.chance(30)) keep(add(Op::cast, {there}, {{"dtype", any_dtype()}}));
}

void Generator::select() {
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
void Generator::diamond() {
  NodeId a = any();
  NodeId left = unary(a), right = random_.chance(50) ? unary(a) : binary(a, like(a));
  if (random_.chance(40)) keep(left);
  if (type(left).dtype == type(right).dtype) return keep(binary(left, right));
  keep(left);
  keep(right);
}

// ---- reductions

NodeId Generator::reduced(NodeId a, std::vector<Sym> dims, bool keepdims) {
  const OpInfo* info = row(Category::reduction, type(a).dtype);
  if (info == nullptr) fail_input({}, "a dtype that is only stored");
  return add(info->op, {a}, {{"dims", std::move(dims)}, {"keepdims", keepdims}});
}

NodeId Generator::with_dims() {  // a value that is no scalar
  for (int i = 0; i < 8; ++i) {
    NodeId a = any();
    if (rank(a) > 0) return a;
  }
  fail_input({}, "only scalars");
}

void Generator::reduction() {
  NodeId a = with_dims();
  keep(reduced(a, some_dims(a), random_.chance(60)));
}

// x and a reduction of it, joined again: what norms and softmax are made of.
void Generator::around() {
  NodeId a = with_dims();
  NodeId r = reduced(a, some_dims(a), true);
  if (random_.chance(30)) r = unary(r);
  if (random_.chance(25)) keep(r);
  if (type(r).dtype == type(a).dtype) return keep(binary(a, r));
  keep(r);
}

void Generator::twice_reduced() {
  NodeId a = with_dims();
  std::vector<Sym> dims = some_dims(a);
  NodeId r = reduced(a, dims, true);
  if (random_.chance(60)) r = unary(r);
  keep(r);
  keep(reduced(r, random_.chance(50) ? some_dims(r) : dims, random_.chance(50)));
}

void Generator::composite() {
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

void Generator::choose_outputs() {
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
