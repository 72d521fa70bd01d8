// What attention means, step by step.
#include <cmath>
#include <optional>

#include "graph/passes/definition.h"

namespace ingot {
namespace {

// q's rows by k's: which key a query may see. Null where it may see all.
std::optional<NodeId> visible_keys(Definition& d, const Shape& scores) {
  const Sym queries = scores[scores.size() - 2], keys = scores.back();
  std::optional<NodeId> visible;
  if (d.operand_count() > 3 && d.type(d.raw_operand(3)).dtype == DType::boolean) {
    visible = d.raw_operand(3);
  }
  if (!d.flag("causal")) return visible;
  auto places = [&](const std::string& suffix, const Shape& shape, int64_t dim) {
    return d.add(suffix, Op::iota, {}, {{"shape", shape}, {"dim", dim}, {"dtype", DType::i64}});
  };
  const NodeId earlier = d.add(
      "earlier", Op::le, {places("key", {Sym(1), keys}, 1), places("query", {queries, Sym(1)}, 0)});
  return visible ? d.add("visible", Op::and_, {*visible, earlier}) : earlier;
}

// 1 / sqrt(D) where no scale is given. Scores of D = 0 are 0 at any scale.
NodeId scale_of(Definition& d, const Sym& depth) {
  if (d.real("scale") != 0) return d.literal(d.real("scale"));
  const NodeId size = d.size_value(depth, d.inner(), "depth");
  const NodeId root =
      d.add("root", Op::sqrt, {d.add("depth_or_one", Op::maximum, {size, d.literal(1)})});
  return d.add("scale", Op::reciprocal, {root});
}

// s = q·kᵀ · scale (+ mask), −inf where a key is hidden; m = max(s), e = exp(s − m);
// (e · (1 / sum(e)))·v, 0 where m is −inf: no key is seen.
// (Vaswani et al.: Attention Is All You Need, 2017, equation 1.)
NodeId attention(Definition& d) {
  const NodeId q = d.operand(0, "q"), k = d.operand(1, "k"), v = d.operand(2, "v");
  const NodeId product = d.add("product", Op::matmul, {q, k}, {{"transpose_b", true}});
  NodeId scores = d.add("scores", Op::mul, {product, scale_of(d, d.type(q).shape.back())});
  const bool adds = d.operand_count() > 3 && d.type(d.raw_operand(3)).dtype != DType::boolean;
  if (adds) scores = d.add("biased", Op::add, {scores, d.operand(3, "bias")});
  if (const std::optional<NodeId> visible = visible_keys(d, d.type(scores).shape)) {
    scores = d.add("masked", Op::select, {*visible, scores, d.literal(-INFINITY)});
  }
  const Attrs over{{"dims", std::vector<Sym>{Sym(-1)}}, {"keepdims", true}};
  const NodeId max = d.add("max", Op::max, {scores}, over);
  const NodeId none = d.add("none", Op::eq, {max, d.literal(-INFINITY)});
  const NodeId exp = d.add("exp", Op::exp, {d.add("shifted", Op::sub, {scores, max})});
  const NodeId sum = d.add("sum", Op::sum, {exp}, over);
  const NodeId weights = d.add("weights", Op::mul, {exp, d.add("inverse", Op::reciprocal, {sum})});
  const NodeId mixed = d.add("mixed", Op::matmul, {weights, v});
  return d.result("attention", Op::select, {none, d.literal(0), mixed});
}

}  // namespace

Define attention_definition(Op op) { return op == Op::attention ? attention : nullptr; }

}  // namespace ingot
