// Intermediates share memory when their lives do not overlap; devices as numbers.
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/passes/passes.h"
#include "plan/plan.h"

namespace ingot {
namespace {

Plan off(const Graph& graph) {
  PlanOptions options;
  options.fusion = FusionMode::off;
  return make_plan(graph, device_model("cpu"), options);
}

TEST(Buffers, AChainNeedsTwo) {
  Graph graph = run_graph_passes(parse_graph(
      "graph g(x: f32[B]) { a = exp(x) b = neg(a) c = exp(b) d = neg(c) return d }", "test"));
  Bindings sizes{{"B", 100}};
  BufferPlan plan = plan_buffers(graph, off(graph), sizes);
  EXPECT_EQ(plan.offset.size(), 3u);
  EXPECT_EQ(plan.arena_bytes, 2 * 448);  // 400 bytes rounded up to 64
  EXPECT_EQ(plan.peak_bytes, 2 * 448 + 2 * 400);
}

TEST(Buffers, NoTwoLivingOnesOverlap) {
  Graph graph = run_graph_passes(parse_graph(R"(graph g(x: f32[B], z: f32[B, 3]) {
      a = exp(x) b = neg(a) c = exp(z) d = sum(c, dims=[1]) e = add(b, d) f = mul(e, a)
      return f })",
                                             "test"));
  Plan plan = off(graph);
  Bindings sizes{{"B", 33}};
  BufferPlan buffers = plan_buffers(graph, plan, sizes);
  struct Life {
    int64_t begin, end;
    size_t first, last;
  };
  std::map<NodeId, Life> lives;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (NodeId id : plan.groups[g].inputs)
      if (lives.count(id)) lives[id].last = g;
    for (NodeId id : plan.groups[g].outputs) {
      if (buffers.offset.count(id) == 0) continue;
      int64_t at = buffers.offset[id];
      EXPECT_EQ(at % 64, 0);
      lives[id] = {at, at + element_count(graph[id].type.shape).evaluate(sizes) * 4, g, g};
      EXPECT_LE(lives[id].end, buffers.arena_bytes);
    }
  }
  for (const auto& [a, la] : lives) {
    for (const auto& [b, lb] : lives) {
      if (a >= b || la.last < lb.first || lb.last < la.first) continue;
      EXPECT_TRUE(la.end <= lb.begin || lb.end <= la.begin) << graph[a].name << graph[b].name;
    }
  }
}

TEST(Buffers, NothingIsStoredInsideAFusedGroup) {
  Graph graph = run_graph_passes(
      parse_graph("graph g(x: f32[B]) { a = exp(x) b = neg(a) return b }", "test"));
  EXPECT_EQ(plan_buffers(graph, make_plan(graph, device_model("cpu"), {}), {{"B", 9}}).arena_bytes,
            0);
}

// Two large values, each reduced: neither waits in memory for the other's kernel, near or far.
TEST(Buffers, FusionDoesNotRaiseThePeak) {
  const char* programs[] = {
      R"(graph g(a: f32[B, 16], b: f32[B, 16], c: f32[16, 4096]) {
      t = matmul(a, c) s = sum(t) u = matmul(b, c) v = sum(u) y = add(s, v) return y })",
      R"(graph g(a: f32[B, 16], b: f32[B, 16], c: f32[16, 4096], d: f32[4096, 4096]) {
      t = matmul(a, c) k = matmul(t, d) s = sum(k)
      u = matmul(b, c) l = matmul(u, d) v = sum(l) y = add(s, v) return y })",
      R"(graph g(a: f32[B, 16], b: f32[B, 16], c: f32[16, 4096]) {
      t = matmul(a, c) s = max(t) u = matmul(b, c) v = sum(u) w = matmul(a, c) x = min(w)
      r = add(s, v) y = add(r, x) return y })"};
  Bindings sizes{{"B", 65536}};
  for (const char* program : programs) {
    Graph graph = run_graph_passes(parse_graph(program, "test"));
    const int64_t separate = plan_buffers(graph, off(graph), sizes).peak_bytes;
    for (FusionMode mode : {FusionMode::automatic, FusionMode::all}) {
      PlanOptions options;
      options.fusion = mode;
      options.sizes = sizes;
      Plan plan = make_plan(graph, device_model("cpu"), options);
      EXPECT_LE(plan_buffers(graph, plan, sizes).peak_bytes, separate + separate / 20) << program;
    }
  }
}

TEST(Device, UnknownNameListsTheKnownOnes) {
  try {
    device_model("h2000");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(error.message().find("cpu, h200, h100"), std::string::npos) << error.message();
  }
}

TEST(Device, OccupancyCountsRegistersByTheWarp) {
  const DeviceModel& h200 = device_model("h200");
  Occupancy full = occupancy(h200, 256, 32, 0);
  EXPECT_EQ(full.blocks, 8);
  EXPECT_EQ(full.limit, "threads");
  EXPECT_DOUBLE_EQ(full.occupancy, 1.0);
  Occupancy registers = occupancy(h200, 256, 33, 0);  // 40 after rounding: 12 warps a quarter
  EXPECT_EQ(registers.blocks_by_registers, 6);
  EXPECT_EQ(registers.limit, "registers");
  EXPECT_EQ(occupancy(h200, 384, 168, 0).blocks, 1);
  EXPECT_EQ(occupancy(h200, 128, 32, 100 << 10).blocks_by_shared, 2);
  EXPECT_EQ(occupancy(h200, 128, 32, 228 << 10).blocks, 0);
}

}  // namespace
}  // namespace ingot
