// Attention of opset 23, without a cache of keys: heads and their groups become batch dimensions.
#include "onnx/importer.h"

namespace ingot::onnx_model {
namespace {

constexpr int64_t type_double = 11;  // TensorProto.DOUBLE

// [batch, sequence, heads · size] → [batch, heads, sequence, size]
NodeId split_heads(NodeContext& n, NodeId x, int64_t heads, std::string_view name) {
  const Shape shape = n.shape(x);
  const std::optional<Sym> size = exact_div(shape[2], Sym(heads));
  if (!size) n.invalid(fmt::format("{} of size {} in {} heads", name, shape[2].text(), heads));
  NodeId parts = n.reshape(fmt::format("{}_parts", name), x, {shape[0], shape[1], heads, *size});
  return n.add(fmt::format("{}_heads", name), Op::transpose, {parts},
               {{"perm", std::vector<Sym>{0, 2, 1, 3}}});
}

// Queries, keys and values as [batch, heads, sequence, size].
struct Heads {
  NodeId q, k, v;
  bool joined;  // in the file they are [batch, sequence, heads · size]
};

Heads heads_of(NodeContext& n) {
  Heads heads{n.input(0), n.input(1), n.input(2), false};
  const int rank = n.rank(heads.q);
  const bool same = rank == n.rank(heads.k) && rank == n.rank(heads.v);
  if (!same || (rank != 3 && rank != 4)) {
    n.invalid(fmt::format("Q, K and V have {}, {} and {} dimensions, not all 3 or all 4", rank,
                          n.rank(heads.k), n.rank(heads.v)));
  }
  const int64_t q_heads = n.int_attr("q_num_heads", 0), kv_heads = n.int_attr("kv_num_heads", 0);
  if (rank == 4) return heads;
  if (q_heads < 1 || kv_heads < 1) n.invalid("3 dimensions need q_num_heads and kv_num_heads");
  return {split_heads(n, heads.q, q_heads, "q"), split_heads(n, heads.k, kv_heads, "k"),
          split_heads(n, heads.v, kv_heads, "v"), true};
}

// How many query heads share a head of keys; 1 where broadcasting does it.
int64_t group_size(NodeContext& n, const Heads& heads) {
  const Sym q = n.shape(heads.q)[1], kv = n.shape(heads.k)[1];
  if (q == kv || kv.is(1)) return 1;
  const std::optional<int64_t> q_count = q.constant(), kv_count = kv.constant();
  if (!q_count || !kv_count) {
    n.unsupported(fmt::format("{} query heads for {} heads of keys: both have to be numbers",
                              q.text(), kv.text()));
  }
  if (*kv_count == 0 || *q_count % *kv_count != 0) {
    n.invalid(fmt::format("{} query heads for {} heads of keys", *q_count, *kv_count));
  }
  return *q_count / *kv_count;
}

// [batch, heads, …] → [batch, heads / group, group, …]
NodeId grouped(NodeContext& n, NodeId x, int64_t group, std::string_view name) {
  Shape shape = n.shape(x);
  shape[1] = Sym(*shape[1].constant() / group);
  shape.insert(shape.begin() + 2, Sym(group));
  return n.reshape(fmt::format("{}_groups", name), x, shape);
}

NodeId grouped_mask(NodeContext& n, NodeId mask, int64_t group) {
  Shape shape = n.shape(mask);
  if (shape.size() < 3) return mask;  // the same for all heads
  if (shape.size() == 3) mask = n.reshape("mask_batch", mask, {1, shape[0], shape[1], shape[2]});
  return grouped(n, mask, n.shape(mask)[1].is(1) ? 1 : group, "mask");
}

void refuse_others(NodeContext& n, DType dtype) {
  if (n.has_input(4) || n.has_input(5)) n.unsupported("past keys and values");
  if (n.wants_output(3)) n.unsupported("the output qk_matmul_output");
  n.ignore_attrs({"qk_matmul_output_mode"});  // of that output
  if (n.float_attr("softcap", 0) != 0) n.unsupported("softcap");
  const bool in_f64 = n.int_attr("softmax_precision", 0) == type_double;
  if (in_f64 && dtype != DType::f64) n.unsupported("softmax_precision DOUBLE");  // f32 is ours
  if (n.has_attr("scale") && n.float_attr("scale", 0) == 0) n.unsupported("scale 0");
}

std::optional<NodeId> mask_of(NodeContext& n, DType dtype) {
  if (!n.has_input(3)) return std::nullopt;
  const NodeId mask = n.input(3);
  if (n.dtype(mask) != DType::boolean && n.dtype(mask) != dtype) {
    n.unsupported(fmt::format("a mask of {} for {}", dtype_name(n.dtype(mask)), dtype_name(dtype)));
  }
  return mask;
}

void attention(NodeContext& n) {
  const DType dtype = n.dtype(n.input(0));
  refuse_others(n, dtype);
  if (n.dtype(n.input(2)) != dtype) n.unsupported("V of another type than Q");
  Heads heads = heads_of(n);
  n.set(1, heads.k);  // the present keys and values: there are no past ones
  n.set(2, heads.v);
  std::optional<NodeId> mask = mask_of(n, dtype);
  const Shape q = n.shape(heads.q);
  const int64_t group = group_size(n, heads);
  if (group > 1) {
    heads.q = grouped(n, heads.q, group, "q");
    heads.k = grouped(n, heads.k, 1, "k");
    heads.v = grouped(n, heads.v, 1, "v");
    if (mask) mask = grouped_mask(n, *mask, group);
  }
  std::vector<NodeId> operands{heads.q, heads.k, heads.v};
  if (mask) operands.push_back(*mask);
  const Attrs attrs{{"scale", n.float_attr("scale", 0)},
                    {"causal", n.int_attr("is_causal", 0) != 0}};
  if (group == 1 && !heads.joined) {
    n.result(Op::attention, operands, attrs);
    return;
  }
  NodeId mixed = n.add("mixed", Op::attention, operands, attrs);
  const Sym size = n.shape(mixed).back();
  if (!heads.joined) {
    n.result(Op::reshape, {mixed}, {{"shape", Shape{q[0], q[1], q[2], size}}});
    return;
  }
  const std::vector<Sym> rows_first =
      group == 1 ? std::vector<Sym>{0, 2, 1, 3} : std::vector<Sym>{0, 3, 1, 2, 4};
  mixed = n.add("mixed_rows", Op::transpose, {mixed}, {{"perm", rows_first}});
  n.result(Op::reshape, {mixed}, {{"shape", std::vector<Sym>{q[0], q[2], q[1] * size}}});
}

}  // namespace

HandlerTable attention_handlers() { return {{"Attention", attention}}; }

}  // namespace ingot::onnx_model
