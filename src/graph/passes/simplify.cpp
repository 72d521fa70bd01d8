// A table of rules, each of which keeps every bit in `exact`. What is missing here is missing on
// purpose: x + 0 (changes −0), x · 0 and x − x (hide NaN), x / c → x · (1/c), merged down-casts.
#include <algorithm>
#include <limits>
#include <span>

#include "graph/passes/passes.h"
#include "graph/passes/rebuild.h"

namespace ingot {
namespace {

// What a rule sees: a node about to be built, its operands already simplified. It gives the value
// that replaces the node, or -1; it may also change op, operands and attributes and give
// `rewritten`.
constexpr NodeId no_match = -1;
constexpr NodeId rewritten = -2;
struct Subject {
  const GraphBuilder& builder;
  Node node;

  const Node& operand(size_t i) const { return builder[node.operands[i]]; }
  const Shape& shape(size_t i) const { return operand(i).type.shape; }
  std::vector<Sym> sizes(const Node& of, std::string_view name) const {
    return sizes_attr(op_info(of.op), of.attrs, name);
  }
};

NodeId same_shape_view(Subject& s) {
  bool same = s.shape(0) == s.node.type.shape;
  return same && (s.node.op != Op::slice ||
                  std::ranges::all_of(s.sizes(s.node, "steps"),
                                      [](const Sym& x) { return x.is(1); }))
             ? s.node.operands[0]
             : no_match;
}

// The inner view's operand becomes this one's.
NodeId view_of_same_view(Subject& s) {
  if (s.operand(0).op != s.node.op) return no_match;
  s.node.operands[0] = s.operand(0).operands[0];
  return rewritten;
}

NodeId identity_transpose(Subject& s) {
  std::vector<Sym> perm = s.sizes(s.node, "perm");
  for (size_t d = 0; d < perm.size(); ++d) {
    if (!perm[d].is(static_cast<int64_t>(d))) return no_match;
  }
  return s.node.operands[0];
}

NodeId transpose_of_transpose(Subject& s) {
  if (s.operand(0).op != Op::transpose) return no_match;
  std::vector<Sym> inner = s.sizes(s.operand(0), "perm"), perm = s.sizes(s.node, "perm");
  for (Sym& dim : perm) dim = inner[static_cast<size_t>(dim.constant().value())];
  s.node.attrs["perm"] = perm;
  s.node.operands[0] = s.operand(0).operands[0];
  return rewritten;
}

NodeId single_concat(Subject& s) {
  return s.node.operands.size() == 1 ? s.node.operands[0] : no_match;
}

NodeId empty_pad(Subject& s) {
  for (std::string_view side : {"low", "high"}) {
    for (const Sym& size : s.sizes(s.node, side)) {
      if (!size.is(0)) return no_match;
    }
  }
  return s.node.operands[0];
}

NodeId same_dtype_cast(Subject& s) {
  return s.operand(0).type.dtype == s.node.type.dtype ? s.node.operands[0] : no_match;
}

// Bits of a float's significand: whole numbers of as many are exact.
int64_t precision(DType dtype) {
  switch (dtype) {
    case DType::f8e5m2:
      return 3;
    case DType::f8e4m3:
      return 4;
    case DType::bf16:
      return 8;
    case DType::f16:
      return 11;
    case DType::f32:
      return 24;
    default:
      return 53;
  }
}

bool holds_every_value(DType wide, DType narrow) {
  switch (narrow) {
    case DType::boolean:
      return true;
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::i32:
    case DType::u32:
    case DType::i64:
    case DType::u64:
      if (is_float(wide)) return 8 * byte_size(narrow) - !is_unsigned(narrow) <= precision(wide);
      if (!is_integer(wide)) return false;
      return is_unsigned(wide) ? is_unsigned(narrow) && byte_size(wide) >= byte_size(narrow)
                               : byte_size(wide) > byte_size(narrow) - !is_unsigned(narrow);
    case DType::f8e4m3:  // not f8e5m2: back from infinity a cast saturates
      return is_float(wide) && byte_size(wide) > 1;
    case DType::f16:
    case DType::bf16:
      return wide == DType::f32 || wide == DType::f64;
    case DType::f32:
      return wide == DType::f64;
    default:
      return false;
  }
}

// There and back through a wider dtype. (Through a narrower one is a rounding that was asked for.)
NodeId cast_and_back(Subject& s) {
  const Node& wide = s.operand(0);
  if (wide.op != Op::cast) return no_match;
  const Node& origin = s.builder[wide.operands[0]];
  bool keeps = origin.type.dtype == s.node.type.dtype &&
               holds_every_value(wide.type.dtype, origin.type.dtype);
  return keeps ? wide.operands[0] : no_match;
}

NodeId done_twice(Subject& s) {
  return s.operand(0).op == s.node.op ? s.operand(0).operands[0] : no_match;
}

// Operand `x` if the other one is the literal `neutral` (its sign counts) and shapes stay.
NodeId neutral_operand(Subject& s, size_t x, double neutral) {
  std::optional<double> literal = literal_value(s.operand(1 - x));
  bool is_neutral =
      literal && *literal == neutral && std::signbit(*literal) == std::signbit(neutral);
  return is_neutral && s.shape(x) == s.node.type.shape ? s.node.operands[x] : no_match;
}

NodeId either_neutral(Subject& s, double neutral) {
  NodeId left = neutral_operand(s, 0, neutral);
  return left != no_match ? left : neutral_operand(s, 1, neutral);
}

NodeId times_one(Subject& s) { return either_neutral(s, 1); }
NodeId over_one(Subject& s) { return neutral_operand(s, 0, 1); }
NodeId plus_zero(Subject& s) { return either_neutral(s, is_float(s.node.type.dtype) ? -0.0 : 0.0); }
NodeId minus_zero(Subject& s) { return neutral_operand(s, 0, 0.0); }
NodeId at_least_lowest(Subject& s) {
  if (!is_float(s.node.type.dtype)) return no_match;
  return either_neutral(s, -std::numeric_limits<double>::infinity());
}
NodeId at_most_highest(Subject& s) {
  if (!is_float(s.node.type.dtype)) return no_match;
  return either_neutral(s, std::numeric_limits<double>::infinity());
}

// Whether elementwise operands of these shapes still give `result`.
bool broadcasts_to(const Subject& s, size_t replaced, const Shape& replacement) {
  const Shape& result = s.node.type.shape;
  size_t rank = 0;
  std::vector<bool> covered(result.size());
  for (size_t i = 0; i < s.node.operands.size(); ++i) {
    const Shape& shape = i == replaced ? replacement : s.shape(i);
    rank = std::max(rank, shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!shape[d].is(1)) covered[result.size() - shape.size() + d] = true;
    }
  }
  if (rank != result.size()) return false;
  for (size_t d = 0; d < result.size(); ++d) {
    if (!covered[d] && !result[d].is(1)) return false;
  }
  return true;
}

// An elementwise op broadcasts by itself, if another operand has the full shape.
NodeId broadcast_operand(Subject& s) {
  bool changed = false;
  for (size_t i = 0; i < s.node.operands.size(); ++i) {
    if (s.operand(i).op != Op::broadcast) continue;
    NodeId inner = s.operand(i).operands[0];
    if (!broadcasts_to(s, i, s.builder[inner].type.shape)) continue;
    s.node.operands[i] = inner;
    changed = true;
  }
  return changed ? rewritten : no_match;
}

struct Rule {
  std::string_view what;
  bool (*applies)(Op op);
  NodeId (*apply)(Subject& subject);
};

template <Op... ops>
bool any_of(Op op) {
  return ((op == ops) || ...);
}
bool is_elementwise(Op op) { return op_info(op).category == Category::elementwise; }

constexpr Rule rules[] = {
    {"a view that changes nothing", any_of<Op::reshape, Op::broadcast, Op::slice>, same_shape_view},
    {"reshape(reshape(x)), broadcast(broadcast(x))", any_of<Op::reshape, Op::broadcast>,
     view_of_same_view},
    {"transpose with perm 0, 1, 2…", any_of<Op::transpose>, identity_transpose},
    {"transpose(transpose(x))", any_of<Op::transpose>, transpose_of_transpose},
    {"concat(x)", any_of<Op::concat>, single_concat},
    {"pad by nothing", any_of<Op::pad>, empty_pad},
    {"cast to the same dtype", any_of<Op::cast>, same_dtype_cast},
    {"cast to a wider dtype and back", any_of<Op::cast>, cast_and_back},
    {"neg(neg(x)), not(not(x)), bit_not(bit_not(x))", any_of<Op::neg, Op::not_, Op::bit_not>,
     done_twice},
    {"x * 1", any_of<Op::mul>, times_one},
    {"x / 1", any_of<Op::div>, over_one},
    {"x + (-0); x + 0 for integers", any_of<Op::add>, plus_zero},
    {"x - 0", any_of<Op::sub>, minus_zero},
    {"maximum(x, -inf)", any_of<Op::maximum>, at_least_lowest},
    {"minimum(x, inf)", any_of<Op::minimum>, at_most_highest},
    {"broadcast into an elementwise op", is_elementwise, broadcast_operand},
};

// Applies rules until none fits. Each one removes an operand's node from the chain, so that there
// are few rounds; the bound keeps the pass linear whatever happens.
NodeId simplify_node(GraphBuilder& builder, const Node& node, std::vector<NodeId> operands) {
  Subject subject{builder, node};
  subject.node.operands = std::move(operands);
  bool changed = true;
  for (int round = 0; changed && round < 8; ++round) {
    changed = false;
    for (const Rule& rule : rules) {
      if (!rule.applies(subject.node.op)) continue;
      NodeId result = rule.apply(subject);
      if (result >= 0) return result;
      changed |= result == rewritten;
    }
  }
  std::vector<NodeId> final_operands = subject.node.operands;
  return builder.copy(subject.node, std::move(final_operands));
}

}  // namespace

Graph simplify(const Graph& graph) { return without_dead_nodes(rebuild(graph, simplify_node)); }

}  // namespace ingot
