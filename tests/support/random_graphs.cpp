#include "support/random_graphs.h"

#include <algorithm>
#include <set>

#include "base/error.h"

namespace ingot::testing {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  uint64_t state_;
};

const Bindings sample_sizes{{"B", 7}};

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

 private:
  const TensorType& type(NodeId id) { return builder_[id].type; }

  Sym size() {
    static const std::vector<int64_t> sizes{1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 65, 100};
    return random_.chance(20) ? Sym::var("B") : Sym(random_.pick(sizes));
  }

  DType dtype() {
    return random_.chance(50) ? DType::f32 : random_.pick(std::vector<DType>(
                                                 std::begin(all_dtypes), std::end(all_dtypes)));
  }

  void make_inputs() {
    Shape base;
    for (int64_t i = random_.below(3); i >= 0; --i) base.push_back(size());
    DType main = dtype();
    for (int64_t i = 1 + random_.below(4); i > 0; --i) {
      Shape shape = base;
      if (random_.chance(30)) shape.erase(shape.begin(), shape.begin() + random_.below(2));
      for (Sym& s : shape) {
        if (random_.chance(12)) s = Sym(1);
      }
      DType d = random_.chance(75) ? main : dtype();
      pool_.push_back(builder_.input(fmt::format("x{}", pool_.size()), d, shape));
    }
  }

  NodeId any() {  // recent values are preferred, so that graphs get deep
    if (random_.chance(50)) return pool_.back();
    return random_.pick(pool_);
  }

  NodeId like(NodeId id) {
    for (int i = 0; i < 6; ++i) {
      NodeId other = any();
      if (type(other).dtype == type(id).dtype) return other;
    }
    if (is_float(type(id).dtype)) {
      static const std::vector<double> values{0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.75, 100.0};
      return builder_.literal(type(id).dtype, random_.pick(values));
    }
    return builder_.literal_i64(type(id).dtype, random_.below(9) - (is_boolean(id) ? 0 : 4));
  }

  bool is_boolean(NodeId id) { return type(id).dtype == DType::boolean; }

  void keep(NodeId id) {
    if (element_count(type(id).shape).evaluate(sample_sizes) <= options_.elements) {
      pool_.push_back(id);
    }
  }

  NodeId add(Op op, std::vector<NodeId> operands, Attrs attrs = {}) {
    std::vector<TensorType> types;
    for (NodeId id : operands) types.push_back(type(id));
    std::vector<SizeEquality> equalities;
    infer_type(op, types, attrs, &equalities);
    for (const SizeEquality& equality : equalities) {
      if (!(equality.left == equality.right)) fail_input({}, "sizes would have to be equal");
    }
    return builder_.add(op, std::move(operands), std::move(attrs));
  }

  void step() {
    int64_t kind = random_.below(100);
    if (kind < 55) return elementwise();
    if (kind < 70) return reduction();
    if (kind < 92) return movement();
    composite();
  }

  void elementwise() {
    std::vector<const OpInfo*> rows;
    NodeId a = any();
    for (const OpInfo& info : all_ops()) {
      if (info.category == Category::elementwise && accepts(info.operands, type(a).dtype)) {
        rows.push_back(&info);
      }
    }
    if (rows.empty()) return;
    const OpInfo& info = *random_.pick(rows);
    Attrs attrs;
    if (info.op == Op::cast) attrs["dtype"] = dtype();
    if (info.op == Op::select) {
      NodeId x = any();
      for (NodeId mask : pool_) {
        if (is_boolean(mask)) return keep(add(Op::select, {mask, x, like(x)}));
      }
      return;
    }
    std::vector<NodeId> operands{a};
    while (static_cast<int>(operands.size()) < info.min_operands) operands.push_back(like(a));
    keep(add(info.op, operands, attrs));
  }

  Sym random_dim(size_t rank) { return Sym(random_.below(static_cast<int64_t>(rank))); }

  void reduction() {
    NodeId a = any();
    if (type(a).shape.empty()) return;
    std::vector<const OpInfo*> rows;
    for (const OpInfo& info : all_ops()) {
      if (info.category == Category::reduction && accepts(info.operands, type(a).dtype)) {
        rows.push_back(&info);
      }
    }
    if (rows.empty()) return;
    std::vector<Sym> dims;
    for (size_t d = 0; d < type(a).shape.size(); ++d) {
      if (random_.chance(50)) dims.push_back(Sym(static_cast<int64_t>(d)));
    }
    if (dims.empty()) dims.push_back(random_dim(type(a).shape.size()));
    keep(add(random_.pick(rows)->op, {a}, {{"dims", dims}, {"keepdims", random_.chance(60)}}));
  }

  void composite() {
    NodeId a = any();
    if (type(a).shape.empty() || !is_float(type(a).dtype)) return;
    int64_t dim = random_.below(static_cast<int64_t>(type(a).shape.size()));
    if (random_.chance(50)) {
      keep(add(Op::softmax, {a}, {{"dim", dim}}));
    } else {
      keep(add(Op::mean, {a}, {{"dims", std::vector<Sym>{Sym(dim)}}, {"keepdims", true}}));
    }
  }

  void movement() {
    NodeId a = any();
    const Shape shape = type(a).shape;
    if (shape.empty()) return;
    size_t rank = shape.size();
    switch (random_.below(7)) {
      case 0: {
        std::vector<Sym> perm;
        for (size_t d = 0; d < rank; ++d) perm.push_back(Sym(static_cast<int64_t>(d)));
        std::rotate(perm.begin(), perm.begin() + random_.below(static_cast<int64_t>(rank)),
                    perm.end());
        return keep(add(Op::transpose, {a}, {{"perm", perm}}));
      }
      case 1: {  // merge two neighbours, or split off a 1
        Shape next = shape;
        if (rank > 1) {
          next[rank - 2] = next[rank - 2] * next[rank - 1];
          next.pop_back();
        } else {
          next.insert(next.begin(), Sym(1));
        }
        return keep(add(Op::reshape, {a}, {{"shape", next}}));
      }
      case 2: {
        Shape next = shape;
        next.insert(next.begin(), Sym(1 + random_.below(4)));
        return keep(add(Op::broadcast, {a}, {{"shape", next}}));
      }
      case 3:
        return slice(a);
      case 4:
        return keep(add(Op::concat, {a, like(a)}, {{"dim", random_.below(static_cast<int64_t>(rank))}}));
      case 5: {
        std::vector<Sym> low(rank), high(rank);
        size_t d = static_cast<size_t>(random_.below(static_cast<int64_t>(rank)));
        low[d] = Sym(random_.below(3));
        high[d] = Sym(random_.below(3));
        return keep(add(Op::pad, {a}, {{"low", low}, {"high", high}, {"value", 1.5}}));
      }
      default:
        return gather(a);
    }
  }

  void slice(NodeId a) {
    const Shape shape = type(a).shape;
    std::vector<Sym> starts, ends, steps;
    for (const Sym& size : shape) {
      int64_t n = size.constant().value_or(0);
      int64_t step = n > 3 && random_.chance(30) ? 2 : 1;
      bool backwards = n > 1 && random_.chance(15);
      int64_t start = n > 3 ? random_.below(3) : 0;
      starts.push_back(backwards ? Sym(n - 1) : Sym(start));
      ends.push_back(backwards ? Sym(-n - 1) : size);
      steps.push_back(Sym(backwards ? -1 : step));
    }
    keep(add(Op::slice, {a}, {{"starts", starts}, {"ends", ends}, {"steps", steps}}));
  }

  void gather(NodeId a) {
    std::optional<int64_t> rows = type(a).shape[0].constant();
    if (!rows) return;
    NodeId ids = builder_.input(fmt::format("ids{}", pool_.size()),
                                random_.chance(50) ? DType::i32 : DType::i64, {size()});
    keep(add(Op::gather, {a, ids},
             {{"dim", int64_t{0}}, {"out_of_range", std::string("zero")}}));
  }

  void choose_outputs() {
    std::set<NodeId> used;
    for (const Node& node : builder_.graph().nodes) used.insert(node.operands.begin(), node.operands.end());
    int left = 4;
    for (size_t i = pool_.size(); i-- > 0 && left > 0;) {
      if (builder_[pool_[i]].op == Op::input) continue;
      if (used.count(pool_[i]) > 0 && !random_.chance(15)) continue;
      builder_.output(pool_[i], fmt::format("out{}", --left));
    }
    if (builder_.graph().outputs.empty()) builder_.output(pool_.back(), "out");
  }

  Random random_;
  RandomOptions options_;
  GraphBuilder builder_;
  std::vector<NodeId> pool_;
};

// The graph with `replaced` as an input (or as its operand number `operand`) and the given outputs.
Graph rebuild(const Graph& graph, NodeId replaced, int operand, const std::vector<NodeId>& outputs) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (NodeId id : outputs) needed[static_cast<size_t>(id)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes[i];
    if (static_cast<NodeId>(i) == replaced) {
      if (operand >= 0) needed[static_cast<size_t>(node.operands[static_cast<size_t>(operand)])] = true;
      continue;
    }
    for (NodeId o : node.operands) needed[static_cast<size_t>(o)] = true;
  }
  GraphBuilder builder(graph.name);
  std::vector<NodeId> map(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes[i];
    if (static_cast<NodeId>(i) == replaced) {
      map[i] = operand >= 0 ? map[static_cast<size_t>(node.operands[static_cast<size_t>(operand)])]
                            : builder.input(node.name, node.type.dtype, node.type.shape);
      continue;
    }
    if (node.op == Op::input) {
      map[i] = builder.input(node.name, node.type.dtype, node.type.shape);
      continue;
    }
    std::vector<NodeId> operands;
    for (NodeId o : node.operands) operands.push_back(map[static_cast<size_t>(o)]);
    map[i] = builder.copy(node, operands);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    builder.output(map[static_cast<size_t>(outputs[i])], fmt::format("out{}", i));
  }
  return builder.take();
}

bool still(const Graph& candidate, const std::function<bool(const Graph&)>& fails) {
  try {
    return fails(candidate);
  } catch (const Error&) {
    return false;
  }
}

std::optional<Graph> smaller(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  for (NodeId output : graph.outputs) {
    if (graph.outputs.size() == 1) break;
    Graph candidate = rebuild(graph, -1, -1, {output});
    if (still(candidate, fails)) return candidate;
  }
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (node.op == Op::input || node.op == Op::constant) continue;
    NodeId id = static_cast<NodeId>(i);
    for (size_t o = 0; o < node.operands.size(); ++o) {
      if (!(graph[node.operands[o]].type == node.type)) continue;
      Graph candidate = rebuild(graph, id, static_cast<int>(o), graph.outputs);
      if (still(candidate, fails)) return candidate;
    }
    bool is_output = std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
    if (is_output) continue;
    Graph candidate = rebuild(graph, id, -1, graph.outputs);
    if (candidate.nodes.size() < graph.nodes.size() && still(candidate, fails)) return candidate;
  }
  return std::nullopt;
}

}  // namespace

Graph random_graph(uint64_t seed, const RandomOptions& options) {
  return Generator(seed, options).run();
}

Graph shrink(const Graph& graph, const std::function<bool(const Graph&)>& fails) {
  Graph current = graph;
  while (std::optional<Graph> next = smaller(current, fails)) current = std::move(*next);
  return current;
}

}  // namespace ingot::testing
