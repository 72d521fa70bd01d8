// Bytes of a row of several passes agree with the schedule that runs: read once where registers
// keep it.
#include "plan/device_model.h"

#include <gtest/gtest.h>

#include "support/planned.h"

namespace ingot {
namespace {

using testing::expect_sums;
using testing::Planned;

struct Counted {
  std::string schedule, plan;
  int64_t reads;  // of x
};

Counted counted(const std::string& text, int64_t bytes, const char* device, Numerics numerics) {
  Planned p;
  p.graph = run_graph_passes(parse_graph(text, "test"));
  PlanOptions options;
  options.numerics = numerics;
  p.plan = make_plan(p.graph, device_model(device), options);
  expect_sums(p);
  EXPECT_EQ(p.plan.groups.size(), 1u) << print(p.graph, p.plan);
  const Group& group = p.plan.groups[0];
  EXPECT_EQ(group.traffic.read.evaluate({}) % bytes, 0) << print(p.graph, p.plan);
  return {group.schedules[0].name, print(p.graph, p.plan), group.traffic.read.evaluate({}) / bytes};
}

TEST(KeptRow, IsCountedOnceWhereRegistersKeepIt) {
  int kept = 0, clusters = 0, again = 0;
  for (const char* device : {"h200", "h100", "b200", "a100"}) {
    for (const auto& [dtype, size] :
         {std::pair("f32", 4), std::pair("bf16", 2), std::pair("f16", 2)}) {
      for (const int64_t n : {4096, 65536, 131072, 262144, 524288, 1048576}) {
        for (const Numerics numerics : {Numerics::exact, Numerics::wide}) {
          const std::string text =
              fmt::format("graph g(x: {}[64, {}]) {{ y = softmax(x) return y }}", dtype, n);
          const Counted row = counted(text, 64 * n * size, device, numerics);
          const bool registers = row.schedule.starts_with("rows in registers");
          EXPECT_EQ(row.reads == 1, registers) << device << ": " << row.reads << row.plan;
          kept += registers ? 1 : 0;
          clusters += row.schedule.ends_with("blocks") ? 1 : 0;
          again += registers ? 0 : 1;
        }
      }
    }
  }
  EXPECT_GT(kept - clusters, 20);
  EXPECT_GT(clusters, 20);
  EXPECT_GT(again, 20);
}

TEST(KeptRow, OfAQuarterOfAMillionIsReadOnceByEightBlocks) {
  const Counted row = counted("graph g(x: f32[64, 262144]) { y = softmax(x) return y }",
                              64 * 262144 * 4, "h200", Numerics::exact);
  EXPECT_EQ(row.schedule, "rows in registers, 8 blocks");
  EXPECT_EQ(row.reads, 1) << row.plan;
}

}  // namespace
}  // namespace ingot
