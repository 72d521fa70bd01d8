// Index maps against the evaluator: every element of the result is looked up through the map.
#include "graph/index_map.h"

#include <gtest/gtest.h>

#include "support/values.h"

namespace ingot {
namespace {

using testing::values_of;

// The statement's node, its index variables, and their ranges.
struct Mapped {
  Graph graph;
  NodeId node;
  std::vector<std::string> names;
  std::vector<Sym> index;
  Ranges ranges;
};

Mapped mapped(const std::string& inputs, const std::string& op) {
  Mapped m{parse_graph("graph g(" + inputs + ") { result = " + op + "\n return result }", "<text>"),
           -1,
           {},
           {},
           {}};
  m.node = m.graph.outputs[0];
  const char* letters[] = {"i", "j", "k", "l", "m", "n"};
  const Shape& shape = m.graph[m.node].type.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    m.names.emplace_back(letters[d]);
    m.index.push_back(Sym::var(letters[d]));
    m.ranges.emplace(letters[d], shape[d]);
  }
  return m;
}

std::string access_text(const std::string& inputs, const std::string& op, int operand = 0) {
  Mapped m = mapped(inputs, op);
  Access access = operand_access(m.graph, m.node, operand, m.index, m.ranges);
  std::string text = map_text(m.names, access.index);
  for (const Guard& guard : access.guards) {
    text += fmt::format(" if {} <= {} < {}", guard.lo.text(), guard.value.text(), guard.hi.text());
  }
  return text;
}

std::string inverse_text(const std::string& inputs, const std::string& op) {
  Mapped m = mapped(inputs, op);
  std::vector<std::string> names;
  std::vector<Sym> index;
  Ranges ranges;
  for (const Sym& size : m.graph[m.graph[m.node].operands[0]].type.shape) {
    names.push_back(fmt::format("{}", static_cast<char>('i' + names.size())));
    index.push_back(Sym::var(names.back()));
    ranges.emplace(names.back(), size);
  }
  auto result = result_index(m.graph, m.node, 0, index, ranges);
  return result ? map_text(names, *result) : "none";
}

// Element n of every operand is 1000·operand + n; the result must be what the maps read.
void expect_maps_read_what_is_evaluated(const std::string& inputs, const std::string& op,
                                        const std::vector<std::vector<int64_t>>& shapes) {
  SCOPED_TRACE(inputs + ": " + op);
  Mapped m = mapped(inputs, op);
  std::vector<Tensor> values;
  for (const auto& shape : shapes) {
    Tensor value(DType::f32, shape);
    for (int64_t i = 0; i < value.size(); ++i) {
      value.set_f64(i, 1000.0 * static_cast<double>(values.size()) + static_cast<double>(i));
    }
    values.push_back(std::move(value));
  }
  Tensor result = evaluate(m.graph, values, Precision::per_op)[0];
  const Node& node = m.graph[m.node];
  std::vector<Access> accesses;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    accesses.push_back(operand_access(m.graph, m.node, static_cast<int>(k), m.index, m.ranges));
  }
  Bindings bindings = bind_sizes(m.graph, shapes);
  for (int64_t flat = 0; flat < result.size(); ++flat) {
    int64_t rest = flat;
    for (size_t d = m.names.size(); d-- > 0;) {
      bindings[m.names[d]] = rest % result.shape()[d];
      rest /= result.shape()[d];
    }
    int readers = 0;
    for (size_t k = 0; k < accesses.size(); ++k) {
      bool is_read = true;
      for (const Guard& guard : accesses[k].guards) {
        int64_t value = guard.value.evaluate(bindings);
        is_read &= guard.lo.evaluate(bindings) <= value && value < guard.hi.evaluate(bindings);
      }
      if (!is_read) continue;
      ++readers;
      const Tensor& operand = values[static_cast<size_t>(node.operands[k])];
      const Shape& shape = m.graph[node.operands[k]].type.shape;
      int64_t at = flat_index(shape, accesses[k].index).evaluate(bindings);
      ASSERT_GE(at, 0);
      ASSERT_LT(at, operand.size());
      ASSERT_EQ(operand.get_f64(at), result.get_f64(flat)) << "operand " << k << " at " << at;
    }
    if (readers == 0) {
      ASSERT_EQ(result.get_f64(flat), -5) << "outside: the fill";
    }
  }
}

TEST(IndexMap, Transpose) {
  EXPECT_EQ(access_text("x: f32[M, N]", "transpose(x, perm=[1, 0])"), "(i, j) -> (j, i)");
  EXPECT_EQ(access_text("x: f32[A, B, C]", "transpose(x, perm=[2, 0, 1])"),
            "(i, j, k) -> (j, k, i)");
  EXPECT_EQ(inverse_text("x: f32[A, B, C]", "transpose(x, perm=[2, 0, 1])"),
            "(i, j, k) -> (k, i, j)");
}

TEST(IndexMap, Broadcast) {
  EXPECT_EQ(access_text("x: f32[N]", "broadcast(x, shape=[4, N])"), "(i, j) -> (j)");
  EXPECT_EQ(access_text("x: f32[1, N]", "broadcast(x, shape=[4, N])"), "(i, j) -> (0, j)");
  EXPECT_EQ(inverse_text("x: f32[N]", "broadcast(x, shape=[4, N])"), "none");
  EXPECT_EQ(inverse_text("x: f32[N]", "broadcast(x, shape=[N])"), "(i) -> (i)");
}

TEST(IndexMap, ElementwiseBroadcastsItsOperands) {
  EXPECT_EQ(access_text("x: f32[B, 8], y: f32[8]", "add(x, y)", 1), "(i, j) -> (j)");
  EXPECT_EQ(access_text("x: f32[B, 8], y: f32[B, 1]", "add(x, y)", 1), "(i, j) -> (i, 0)");
  EXPECT_EQ(access_text("x: f32[B, 8], y: f32[]", "add(x, y)", 1), "(i, j) -> ()");
  EXPECT_EQ(inverse_text("x: f32[B, 8], y: f32[8]", "add(x, y)"), "(i, j) -> (i, j)");
}

TEST(IndexMap, ReshapeKeepsEqualDimensionsApart) {
  EXPECT_EQ(access_text("x: f32[B, 2048, 64]", "reshape(x, shape=[B, 512, 256])"),
            "(i, j, k) -> (i, 4*j + k / 64, k % 64)");
  EXPECT_EQ(access_text("x: f32[B, 8, 4]", "reshape(x, shape=[B, 32])"),
            "(i, j) -> (i, j / 4, j % 4)");
  EXPECT_EQ(access_text("x: f32[B, 32]", "reshape(x, shape=[B, 8, 4])"),
            "(i, j, k) -> (i, 4*j + k)");
  EXPECT_EQ(access_text("x: f32[A, B, 6]", "reshape(x, shape=[A*B, 2, 3])"),
            "(i, j, k) -> (i / B, i % B, 3*j + k)");
  EXPECT_EQ(access_text("x: f32[A, 1, B]", "reshape(x, shape=[A, B, 1, 1])"),
            "(i, j, k, l) -> (i, 0, j)");
  EXPECT_EQ(inverse_text("x: f32[B, 2048, 64]", "reshape(x, shape=[B, 512, 256])"),
            "(i, j, k) -> (i, j / 4, 64*(j % 4) + k)");
}

TEST(IndexMap, SliceAndGather) {
  EXPECT_EQ(access_text("x: f32[9]", "slice(x, starts=[3], ends=[9], steps=[2])"),
            "(i) -> (2*i + 3)");
  EXPECT_EQ(access_text("x: f32[9]", "slice(x, starts=[-4], ends=[9])"), "(i) -> (i + 5)");
  EXPECT_EQ(access_text("x: f32[9]", "slice(x, starts=[-1], ends=[-100], steps=[-2])"),
            "(i) -> (8 - 2*i)");
  Mapped m = mapped("t: f32[5, 7], ids: i32[A, B]", "gather(t, ids, dim=1)");
  Access table = operand_access(m.graph, m.node, 0, m.index, m.ranges);
  EXPECT_EQ(map_text(m.names, {table.index[0]}), "(i, j, k) -> (i)");
  EXPECT_EQ(table.run_time_dim, 1);
  EXPECT_EQ(table.index[1].variable(), std::string(run_time_symbol));
  Access ids = operand_access(m.graph, m.node, 1, m.index, m.ranges);
  EXPECT_EQ(map_text(m.names, ids.index), "(i, j, k) -> (j, k)");
  EXPECT_EQ(ids.run_time_dim, -1);
}

TEST(IndexMap, GuardsOfConcatAndPad) {
  EXPECT_EQ(access_text("x: f32[3], y: f32[4]", "concat(x, y, dim=0)", 1),
            "(i) -> (i - 3) if 3 <= i < 7");
  EXPECT_EQ(access_text("x: f32[3, N]", "pad(x, low=[1, 0], high=[2, 0])"),
            "(i, j) -> (i - 1, j) if 1 <= i < 4");
  EXPECT_EQ(access_text("x: f32[3]", "pad(x, low=[0], high=[0])"), "(i) -> (i)");
}

TEST(IndexMap, Reductions) {
  for (bool keepdims : {false, true}) {
    Mapped m = mapped("x: f32[A, B, C]",
                      fmt::format("sum(x, dims=[1], keepdims={})", keepdims ? "true" : "false"));
    Access access = operand_access(m.graph, m.node, 0, m.index, m.ranges, {Sym::var("r")});
    EXPECT_EQ(map_text(m.names, access.index),
              keepdims ? "(i, j, k) -> (i, r, k)" : "(i, j) -> (i, r, j)");
  }
  EXPECT_EQ(inverse_text("x: f32[A, B]", "sum(x, dims=[1])"), "none");
}

TEST(IndexMap, ProductsHaveNoElementMap) {
  Mapped m = mapped("x: f32[A, B], w: f32[B, C]", "matmul(x, w)");
  EXPECT_THROW(operand_access(m.graph, m.node, 0, m.index, m.ranges), Error);
}

TEST(IndexMap, MapsReadWhatTheEvaluatorReads) {
  using Shapes = std::vector<std::vector<int64_t>>;
  struct Case {
    std::string inputs, op;
    Shapes shapes;
  };
  const Case cases[] = {
      {"x: f32[B, 6, 4]", "reshape(x, shape=[B, 3, 8])", {{3, 6, 4}}},
      {"x: f32[B, 6, 4]", "reshape(x, shape=[B*6, 2, 2])", {{3, 6, 4}}},
      {"x: f32[B, 6, 4]", "reshape(x, shape=[24*B])", {{3, 6, 4}}},
      {"x: f32[B, 6, 4]", "reshape(x, shape=[8, 3*B])", {{3, 6, 4}}},
      {"x: f32[B, C]", "reshape(x, shape=[C, B])", {{3, 4}}},
      {"x: f32[B, 1, C]", "reshape(x, shape=[1, B, C, 1])", {{3, 1, 4}}},
      {"x: f32[2, B]", "reshape(x, shape=[2*B, 1])", {{2, 5}}},
      {"x: f32[1]", "reshape(x, shape=[])", {{1}}},
      {"x: f32[5, 0, 2]", "reshape(x, shape=[0, 3])", {{5, 0, 2}}},
      {"x: f32[A, B, C]", "transpose(x, perm=[1, 2, 0])", {{2, 3, 4}}},
      {"x: f32[A, 1, C]", "broadcast(x, shape=[2, A, 3, C])", {{2, 1, 4}}},
      {"x: f32[10, N]", "slice(x, starts=[1, 0], ends=[9, N], steps=[3, 1])", {{10, 2}}},
      {"x: f32[10, N]", "slice(x, starts=[8, -1], ends=[1, -100], steps=[-3, -1])", {{10, 2}}},
      {"x: f32[A, N], y: f32[B, N]", "concat(x, y, dim=0)", {{2, 3}, {4, 3}}},
      {"x: f32[N, 2], y: f32[N, 3], z: f32[N, 1]",
       "concat(x, y, z, dim=-1)",
       {{3, 2}, {3, 3}, {3, 1}}},
      {"x: f32[A, N]", "pad(x, low=[1, 2], high=[0, 3], value=-5)", {{2, 3}}},
  };
  for (const Case& c : cases) expect_maps_read_what_is_evaluated(c.inputs, c.op, c.shapes);
}

TEST(IndexMap, InversesUndoTheMap) {
  for (const char* op : {"reshape(x, shape=[B, 3, 8])", "reshape(x, shape=[6*B, 4])",
                         "transpose(x, perm=[2, 0, 1])", "reshape(x, shape=[4, 6*B])"}) {
    Mapped m = mapped("x: f32[B, 6, 4]", op);
    Access access = operand_access(m.graph, m.node, 0, m.index, m.ranges);
    auto back = result_index(m.graph, m.node, 0, access.index, m.ranges);
    ASSERT_TRUE(back);
    Bindings bindings{{"B", 3}};
    Tensor counting(DType::i32, evaluate(m.graph[m.node].type.shape, bindings));
    for (int64_t flat = 0; flat < counting.size(); ++flat) {
      int64_t rest = flat;
      for (size_t d = m.names.size(); d-- > 0;) {
        bindings[m.names[d]] = rest % counting.shape()[d];
        rest /= counting.shape()[d];
      }
      for (size_t d = 0; d < m.names.size(); ++d) {
        ASSERT_EQ((*back)[d].evaluate(bindings), bindings[m.names[d]]) << op;
      }
    }
  }
}

}  // namespace
}  // namespace ingot
