// The verdict over several sizes, on made-up reports.
#include "report/bench_sweep.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ingot {
namespace {

using Json = ReportJson;

Json result(const char* variant, double us) {
  return {{"variant", variant},
          {"kernel_us", {{"median", us}, {"low", us * 0.99}, {"high", us * 1.01}}},
          {"gbs", 10.0},
          {"percent_of_copy", 50.0}};
}

struct Size {
  int64_t b;
  double separate_us, fused_us;
  int64_t n = 4;
};

Json report(const Size& size) {
  return {{"graph", "g"},
          {"device", "cpu"},
          {"numerics", "exact"},
          {"dims", {{"B", size.b}, {"N", size.n}, {"fixed", 3}}},
          {"environment", Json::object()},
          {"results", {result("separate", size.separate_us), result("fused", size.fused_us)}},
          {"speedup", {{"kernel", size.separate_us / size.fused_us}}},
          {"limit", {{"resource", "memory"}}},
          {"same_kernels", false},
          {"too_short", false},
          {"identical", true},
          {"within_contract", true}};
}

Json sweep(const std::vector<Size>& sizes) {
  std::vector<Json> reports;
  for (const Size& size : sizes) reports.push_back(report(size));
  return sweep_report(std::move(reports));
}
std::string verdict(const std::vector<Size>& sizes) { return sweep(sizes)["verdict"]; }

TEST(BenchSweep, SaysFromWhichSizeOnFusingPays) {
  EXPECT_EQ(verdict({{1, 1, 1.2}, {8, 2, 2.02}, {64, 15, 10}, {512, 80, 40}}),
            "fusing pays from B = 64 on: 1.50 (at B = 64) to 2.00 (at B = 512) times as fast as "
            "separate; within noise at B = 8; slower at B = 1");
  // In whatever order they were measured.
  EXPECT_EQ(verdict({{512, 80, 40}, {1, 1, 1}}),
            "fusing pays from B = 512 on: 2.00 (at B = 512) times as fast as separate; within "
            "noise at B = 1");
}

TEST(BenchSweep, SaysWhereItPaysEverywhereNowhereOrHereAndThere) {
  EXPECT_EQ(verdict({{1, 3, 1}, {8, 4, 2}}),
            "fusing pays at every size measured: 2.00 (at B = 8) to 3.00 (at B = 1) times as fast "
            "as separate");
  EXPECT_EQ(verdict({{1, 1, 2}, {8, 2, 4}}),
            "fusing pays at no size measured; slower at B = 1; B = 8");
  EXPECT_EQ(verdict({{1, 2, 1}, {8, 2, 2}}),
            "fusing pays at 1 of 2 sizes: 2.00 (at B = 1) times as fast as separate; within "
            "noise at B = 8");
  EXPECT_EQ(
      verdict({{1, 2, 1, 4}, {8, 2, 2, 4}, {1, 2, 1, 9}, {8, 3, 1, 9}}),
      "fusing pays at 3 of 4 sizes: 2.00 (at B = 1, N = 4) to 3.00 (at B = 8, N = 9) times as "
      "fast as separate; within noise at B = 8, N = 4");
}

TEST(BenchSweep, NoVerdictWhereThereIsNoneOfOne) {
  Json same = report({1, 2, 1}), tiny = report({8, 2, 1}), touching = report({64, 2, 1.9});
  same["same_kernels"] = true;
  tiny["too_short"] = true;
  touching["results"][1]["kernel_us"]["high"] = 1.99;
  EXPECT_EQ(sweep_report({same, tiny, touching})["verdict"],
            "fusing pays at no size measured; within noise at B = 64; the same "
            "kernels at B = 1; too short to compare at B = 8");
}

TEST(BenchSweep, HasARowForEachSize) {
  Json both = sweep({{1, 1, 1}, {64, 15, 10}});
  both["sweep"][1]["results"].push_back(result("separate_streams", 12));
  const std::string text = sweep_text(both);
  EXPECT_EQ(both["swept"], Json({"B"}));
  EXPECT_NE(text.find("  B         separate            fused separate_streams  speedup"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" 64          15.0 us          10.0 us          12.0 us     1.50"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  1          1.00 us          1.00 us                -     1.00"),
            std::string::npos)
      << text;
  both["sweep"][0]["identical"] = false;
  both["sweep"][0]["within_contract"] = false;
  EXPECT_NE(sweep_text(both).find("results: not equal bit for bit at B = 1\nthe results differ by "
                                  "more than numerics exact allows at B = 1"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot
