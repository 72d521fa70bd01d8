// Which schedules a group gets, and the sizes that choose between them.
#include <gtest/gtest.h>

#include "support/planned.h"

namespace ingot {
namespace {

using testing::bias_gelu;
using testing::Names;
using testing::Planned;
using testing::planned;
using testing::schedules_of;

TEST(Plan, BlocksOfAProductDependOnStaticShapesOnly) {
  Planned p = planned("graph g(x: f32[B, 8], w: f32[8, 1024]) { y = matmul(x, w) return y }");
  EXPECT_EQ(p.plan.groups[0].schedules[0].block_rows, 64);
  EXPECT_FALSE(p.plan.groups[0].batch_invariant);
}

TEST(Plan, StreamingIsChosenBySizeAtRunTime) {
  Planned p = planned(bias_gelu);
  const std::vector<Schedule>& schedules = p.plan.groups[0].schedules;
  ASSERT_EQ(schedules.size(), 2u);
  EXPECT_TRUE(schedules[0].streaming);
  EXPECT_EQ(schedules[0].guards[0].value.text(), "32768*B + 16384");
  EXPECT_EQ(schedules[0].guards[0].minimum, 32 << 20);
  EXPECT_TRUE(schedules[1].guards.empty());
}

TEST(Plan, RowsStandSideBySideWhereRowVectorsAreLong) {
  EXPECT_EQ(schedules_of("graph g(x: f32[B, N], b: f32[N]) { y = add(x, b) return y }"),
            (Names{"row blocks, streaming", "row blocks", "rows, streaming", "rows"}));
  // Always large: the second one is for outputs that do not lie on a line.
  EXPECT_EQ(schedules_of("graph g(x: f32[4096, 16384], b: f32[16384]) { y = add(x, b) return y }"),
            (Names{"row blocks, streaming", "row blocks"}));
  EXPECT_EQ(schedules_of("graph g(x: f32[64, 1024], b: f32[1024]) { y = add(x, b) return y }"),
            Names{"rows"});
  EXPECT_EQ(schedules_of("graph g(x: f32[8, 16384], b: f32[16384]) { y = add(x, b) return y }"),
            Names{"rows"});
  // Nothing is the same in every row; or not every subscript counts with the columns.
  EXPECT_EQ(schedules_of("graph g(x: f32[64, 16384], c: f32[64, 1]) { y = add(x, c) return y }"),
            Names{"rows"});
  EXPECT_EQ(
      schedules_of("graph g(x: f32[16384, 64], b: f32[16384]) { t = transpose(x, perm=[1, 0]) "
                   "y = add(t, b) return y }"),
      Names{"transposed tiles"});
}

TEST(Plan, ColumnsAreReducedInBandsOfRows) {
  EXPECT_EQ(schedules_of("graph g(x: f32[B, 1024]) { s = sum(x, dims=[0]) return s }"),
            (Names{"column bands, streaming", "column bands", "columns"}));
  EXPECT_EQ(schedules_of("graph g(x: f32[1024, 1024]) { s = sum(x, dims=[0]) return s }"),
            Names{"column bands"});
  EXPECT_EQ(schedules_of("graph g(x: f32[8, 1024]) { s = sum(x, dims=[0]) return s }"),
            Names{"columns"});
  // The sum is needed beside every element of the column.
  EXPECT_EQ(
      schedules_of("graph g(x: f32[1024, 1024]) { s = sum(x, dims=[0]) y = sub(x, s) return y }"),
      Names{"columns"});
}

TEST(Plan, OperandsThatAreReadAcrossTheirRowsAreTurnedOverInTiles) {
  EXPECT_EQ(
      schedules_of("graph g(x: f32[B, N]) { t = transpose(x, perm=[1, 0]) y = exp(t) return y }"),
      (Names{"transposed tiles, streaming", "transposed tiles", "rows, streaming", "rows"}));
  EXPECT_EQ(
      schedules_of("graph g(x: f32[64, 8, 32]) { y = transpose(x, perm=[0, 2, 1]) return y }"),
      Names{"rows"});  // rows of 8
  EXPECT_EQ(schedules_of("graph g(x: f32[4, 16, 64, 64]) { y = transpose(x, perm=[0, 2, 1, 3]) "
                         "return y }"),
            Names{"rows"});  // the last dimension stays the last
}

TEST(Plan, AGpusTilesAreWholeLinesOfBothSides) {
  auto tiles = [](const std::string& text) {
    const Planned p = planned(text, FusionMode::automatic, "h200");
    const Schedule& first = p.plan.groups[0].schedules[0];
    return first.name == "transposed tiles" ? std::pair(first.tile_rows, first.tile_columns)
                                            : std::pair(int64_t{0}, int64_t{0});
  };
  using Sizes = std::pair<int64_t, int64_t>;
  auto turned = [](const std::string& dtype) {
    return fmt::format("graph g(x: {}[256, 256]) {{ y = transpose(x, perm=[1, 0]) return y }}",
                       dtype);
  };
  EXPECT_EQ(tiles(turned("bf16")), Sizes(64, 64));
  EXPECT_EQ(tiles(turned("f32")), Sizes(64, 32));
  EXPECT_EQ(tiles(turned("f64")), Sizes(32, 32));
  EXPECT_EQ(tiles(turned("u8")), Sizes(128, 128));
  // Of many operands smaller ones; of more than shared memory holds, none.
  auto sum_of = [](int count) {
    std::string inputs, body;
    for (int i = 0; i < count; i++) {
      inputs += fmt::format("{}x{}: f64[256, 256]", i == 0 ? "" : ", ", i);
      body += fmt::format("t{0} = transpose(x{0}, perm=[1, 0]) ", i);
      body += i == 0 ? "s0 = neg(t0) " : fmt::format("s{0} = add(s{1}, t{0}) ", i, i - 1);
    }
    return fmt::format("graph g({}) {{ {} return s{} }}", inputs, body, count - 1);
  };
  EXPECT_EQ(tiles(sum_of(6)), Sizes(32, 32));
  EXPECT_EQ(tiles(sum_of(7)), Sizes(0, 0));
}

TEST(Plan, FewLongRowsAreSplit) {
  Planned p = planned("graph g(x: f32[B, 1000000]) { s = sum(x, dims=[1]) return s }");
  const Schedule& split = p.plan.groups[0].schedules[0];
  EXPECT_TRUE(split.split_rows);
  EXPECT_EQ(split.guards.size(), 1u);  // the length holds for every B
}

TEST(Plan, OutputsThatAreAlwaysLargeKeepAScheduleForUnalignedOnes) {
  Planned p = planned("graph g(x: f32[5000000]) { y = neg(x) return y }");
  const std::vector<Schedule>& schedules = p.plan.groups[0].schedules;
  ASSERT_EQ(schedules.size(), 2u);
  EXPECT_TRUE(schedules[0].streaming && schedules[0].guards.empty());
  EXPECT_FALSE(schedules[1].streaming);
}

TEST(Plan, SoftmaxKeepsItsExponentialsBetweenPasses) {
  Planned p = planned("graph g(x: f32[B, 64]) { y = softmax(x, dim=-1) return y }");
  EXPECT_EQ(p.plan.groups[0].schedules.back().staged, std::vector<NodeId>{p.node("y.exp")});
}

}  // namespace
}  // namespace ingot
