// The iteration space of a whole graph, and the indices in it.
#include <gtest/gtest.h>

#include "base/text.h"
#include "graph/graph.h"
#include "plan/domain.h"
#include "plan/plan_words.h"
#include "support/planned.h"

namespace ingot {
namespace {

struct Found {
  Graph graph;
  Decision decision;
  Domain domain;

  std::string vars() const {
    std::string text;
    for (const DomainVar& var : domain.vars) {
      text += (text.empty() ? "" : ", ") + var.name + " < " + var.extent.text() +
              (var.reduced ? " reduced" : "");
    }
    return text;
  }
  std::string index(std::string_view name) const {
    for (const auto& [id, values] : domain.index) {
      if (graph[id].name != name) continue;
      std::vector<std::string> parts;
      for (const Sym& value : values) parts.push_back(value.text());
      return join(parts, ", ");
    }
    return "absent";
  }
};

Found found(std::string_view text) {
  Found result;
  result.graph = parse_graph(text, "test");
  std::vector<NodeId> nodes, outputs = result.graph.outputs;
  for (NodeId id = 0; id < static_cast<NodeId>(result.graph.nodes.size()); ++id) {
    Op op = result.graph[id].op;
    if (op != Op::input && op != Op::constant) nodes.push_back(id);
  }
  std::sort(outputs.begin(), outputs.end());
  result.decision = find_domain(result.graph, nodes, outputs, &result.domain);
  return result;
}

TEST(Domain, OfAnElementwiseGroupIsTheOutputsShapeWithoutOnes) {
  Found f = found("graph g(x: f32[B, 1, 8]) { y = exp(x) return y }");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.vars(), "i0 < B, i1 < 8");
  EXPECT_EQ(f.index("y"), "i0, 0, i1");
}

TEST(Domain, OutputsRelatedByViewsShareIt) {
  Found f = found(R"(graph g(x: f32[B, 6]) {
      a = exp(x) t = transpose(x, perm=[1, 0]) b = neg(t) return a, b })");
  ASSERT_TRUE(f.decision.fused);
  EXPECT_EQ(f.index("b"), "i0, i1");
  EXPECT_EQ(f.index("a"), "i1, i0");
}

TEST(Domain, AdjacentReducedDimensionsAreOneVariable) {
  Found f = found(R"(graph g(x: f32[B, 3, 1, 5, C]) {
      e = exp(x) s = sum(e, dims=[1, 3], keepdims=true) y = mul(e, s) return y })");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.vars(), "i0 < B, i1 < 15 reduced, i2 < C");
  EXPECT_FALSE(f.domain.trailing_reduced);
  EXPECT_EQ(f.index("s"), "i0, 0, 0, 0, i2");
}

TEST(Domain, ReductionThroughAReshapeKeepsTheCanonicalOrder) {
  Found f = found(R"(graph g(x: f32[B, 60]) {
      s = sum(x, dims=[1]) r = reshape(x, shape=[B, 6, 10]) m = max(r, dims=[1, 2])
      return s, m })");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.vars(), "i0 < B, i1 < 60 reduced");
  EXPECT_TRUE(f.domain.trailing_reduced);
}

TEST(Domain, RowsAndColumnsOfOneInput) {
  Found f = found(R"(graph g(x: f32[B, 6]) {
      r = sum(x, dims=[1], keepdims=true) d = sub(x, r) c = sum(d, dims=[0]) y = mul(c, 2.0)
      return d, y })");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.vars(), "i0 < B, i1 < 6 reduced");
  EXPECT_TRUE(f.domain.trailing_reduced);
  ASSERT_EQ(f.domain.columns.size(), 1u);
  EXPECT_EQ(f.index("c"), "i1");
  EXPECT_EQ(f.index("y"), "i1");
  // Several dimensions of rows count as one, whether they are still apart or not.
  f = found(R"(graph g(x: f32[B, 3, 6]) {
      r = sum(x, dims=[2]) c = sum(x, dims=[0, 1]) v = reshape(x, shape=[3 * B, 6])
      m = max(v, dims=[0]) return r, c, m })");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.vars(), "i0 < B, i1 < 3, i2 < 6 reduced");
  EXPECT_EQ(f.domain.columns.size(), 2u);
}

TEST(Domain, NothingLeftIsOnePoint) {
  Found f = found("graph g(x: f32[1, 1]) { s = sum(x, dims=[0, 1]) return s }");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.vars(), "");
}

TEST(Domain, RowsOfAProductAreOneVariable) {
  Found f = found(R"(graph g(x: f32[B, 4, 8], w: f32[8, 16]) {
      m = matmul(x, w) y = softmax(m, dim=-1) z = exp(m) return z })");
  f = found(R"(graph g(x: f32[B, 4, 8], w: f32[8, 16]) {
      m = matmul(x, w) s = max(m, dims=[2], keepdims=true) y = sub(m, s) return y })");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.vars(), "i0 < 4*B, i1 < 16 reduced");
  EXPECT_EQ(f.index("m"), "i0 / 4, i0 % 4, i1");
}

// e is read backwards by the scan and forwards beside it: y follows the scan's results.
TEST(Domain, WhatNeedsAScanFollowsItAndNotWhatIsMadeBeside) {
  Found f = found(R"(graph g(x: f32[B, 5]) {
      e = exp(x) r = slice(e, starts=[0, 4], ends=[B, -6], steps=[1, -1])
      c = cumsum(r, dim=1, reverse=true) l = relu(c) d = div(x, l) y = mod(d, e) return y })");
  ASSERT_TRUE(f.decision.fused) << f.decision.detail;
  EXPECT_EQ(f.index("c"), "i0, i1");
  EXPECT_EQ(f.index("y"), "i0, i1");
}

struct Refused {
  const char* name;
  Reason reason;
  const char* text;
};

const Refused refused[] = {
    {"other_shape", Reason::different_iteration_space,
     "graph g(x: f32[B, 6], z: f32[B, 7]) { a = exp(x) b = exp(z) return a, b }"},
    {"part_of_the_result", Reason::different_iteration_space,
     R"(graph g(x: f32[B, 6]) {
        a = exp(x) s = slice(a, starts=[0, 0], ends=[B, 3], steps=[1, 1]) b = neg(s) return a, b })"},
    {"broadcast_source_stored", Reason::different_iteration_space,
     "graph g(x: f32[B, 6], v: f32[6]) { a = exp(v) b = add(x, a) return a, b }"},
    {"sliced_then_broadcast", Reason::different_iteration_space, R"(graph g(x: f32[6]) {
        a = exp(x) s = slice(a, starts=[0], ends=[1], steps=[1]) b = broadcast(s, shape=[6])
        c = neg(b) d = sum(c, dims=[0]) e = slice(a, starts=[0], ends=[3], steps=[1])
        f = sum(e, dims=[0]) return d, f })"},
    {"other_reduced_dimension", Reason::different_iteration_space,
     "graph g(x: f32[B, 6, 7]) { a = sum(x, dims=[0]) b = sum(x, dims=[2]) return a, b }"},
    {"rows_after_columns", Reason::needs_whole_tensor, R"(graph g(x: f32[B, 6]) {
        a = sum(x, dims=[0]) d = sub(x, a) b = sum(d, dims=[1]) return b })"},
    {"columns_after_columns", Reason::needs_whole_tensor, R"(graph g(x: f32[B, 6]) {
        a = sum(x, dims=[0], keepdims=true) b = sum(x, dims=[1]) d = sub(x, a) c = sum(d, dims=[0])
        return b, c })"},
    {"other_order", Reason::numerics, R"(graph g(x: f32[B, 6]) {
        a = sum(x, dims=[1]) t = transpose(x, perm=[1, 0]) b = sum(t, dims=[0]) return a, b })"},
    {"shifted_statistic", Reason::needs_whole_tensor, R"(graph g(x: f32[8, 6]) {
        s = sum(x, dims=[1], keepdims=true) p = pad(s, low=[1, 0], high=[0, 0], value=0)
        q = slice(p, starts=[0, 0], ends=[8, 1], steps=[1, 1]) y = add(x, q) return y })"},
    {"product_of_a_product", Reason::library_operand, R"(graph g(x: f32[8, 8]) {
        a = matmul(x, x) b = matmul(a, x) return b })"},
    {"operand_made_here", Reason::library_operand,
     "graph g(x: f32[8, 8]) { a = exp(x) b = matmul(a, x) return b }"},
    {"columns_of_a_product", Reason::different_iteration_space,
     "graph g(x: f32[8, 8]) { a = matmul(x, x) b = sum(a, dims=[0]) return b }"},
    {"transposed_product", Reason::needs_whole_tensor, R"(graph g(x: f32[8, 8]) {
        a = matmul(x, x) t = transpose(a, perm=[1, 0]) b = add(a, t) return b })"},
};

TEST(Domain, ARefusedReductionNamesDimensionsAndSizes) {
  EXPECT_EQ(found("graph g(x: f32[B, 6, 7]) { s = sum(x, dims=[2]) c = sum(x, dims=[0, 2]) "
                  "return s, c }")
                .decision.detail,
            "'c' reduces dimensions 0 (size B), 2 (size 7) of 'x' [B, 6, 7], but 's' reduces "
            "dimension 2 (size 7) of 'x' [B, 6, 7]");
  EXPECT_EQ(found("graph g(x: f32[8, 4]) { m = matmul(x, x, transpose_b=true) c = sum(m, dims=[0]) "
                  "return c }")
                .decision.detail,
            "'c' reduces dimension 0 (size 8) of 'm' [8, 8], but the kernel runs over 'm' [8, 8]");
}

class RefusedDomain : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedDomain, SaysWhy) {
  Found f = found(GetParam().text);
  EXPECT_FALSE(f.decision.fused);
  EXPECT_EQ(reason_text(f.decision.reason), reason_text(GetParam().reason)) << f.decision.detail;
  EXPECT_FALSE(f.decision.detail.empty());
}

INSTANTIATE_TEST_SUITE_P(Programs, RefusedDomain, ::testing::ValuesIn(refused),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Domain, ProductOfGroupedHeadsIsStoredWithItsRowsFirst) {
  const testing::Planned p = testing::planned(
      "graph g(q: f32[2, 4, 2, 5, 8], k: f32[2, 4, 1, 7, 8]) {"
      " y = matmul(q, k, transpose_b=true) z = transpose(y, perm=[0, 3, 1, 2, 4])"
      " w = reshape(z, shape=[2, 5, 56]) return w }");
  EXPECT_EQ(p.plan.groups.size(), 1u) << print(p.graph, p.plan);
}

}  // namespace
}  // namespace ingot
