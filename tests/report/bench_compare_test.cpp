// A report of bench against an earlier one: what counts as slower, and what cannot be compared.
#include "report/bench_compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "graph/passes/passes.h"

namespace ingot {
namespace {

using Json = ReportJson;

Json times(double median, double half) {
  return {{"min", median - 2 * half}, {"median", median},
          {"max", median + 4 * half}, {"low", median - half},
          {"high", median + half},    {"quartiles", {median - half / 2, median + half / 2}}};
}

// A made-up report: separate and fused, medians in µs, half intervals of 1 %.
Json report(double separate_us, double fused_us, double copy_gbs = 20, int64_t size = 64) {
  Json results = Json::array();
  for (const auto& [name, us] : {std::pair{"separate", separate_us}, {"fused", fused_us}}) {
    results.push_back({{"variant", name},
                       {"kernel_us", times(us, us / 100)},
                       {"end_to_end_us", times(us + 5, us / 100)}});
  }
  return {{"graph", "g"},
          {"program", "0123"},
          {"device", "cpu"},
          {"numerics", "exact"},
          {"dims", {{"B", size}}},
          {"environment",
           {{"version", "0.1.0"},
            {"git", "abc"},
            {"date", "2026-12-01"},
            {"cpu", "a CPU"},
            {"threads", 2}}},
          {"ceilings", {{"copy_gbs", copy_gbs}}},
          {"results", results},
          {"verdict", "made up"}};
}

const Json& time_of(const Json& comparison, const char* variant, const char* time) {
  for (const Json& row : comparison["times"]) {
    if (row["variant"] == variant && row["time"] == time) return row;
  }
  throw Error(ErrorKind::internal, "no such row");
}

std::string notes_of(const Json& now, const Json& base) {
  try {
    bench_comparison(now, base);
  } catch (const Error& error) {
    return in_one_line(error);
  }
  return "";
}

TEST(BenchCompare, WhatIsSlowerBeyondTheIntervalsIsARegression) {
  const Json comparison = bench_comparison(report(200, 110), report(200, 100));
  EXPECT_EQ(comparison["slower"], 2);  // in kernels, and end to end
  EXPECT_EQ(comparison["faster"], 0);
  const Json& row = time_of(comparison, "fused", "kernel_us");
  EXPECT_EQ(row["judgement"], "slower");
  EXPECT_NEAR(row["change"], 0.1, 1e-9);
  EXPECT_NEAR(row["noise"], 0.03, 1e-9);
  EXPECT_EQ(time_of(comparison, "separate", "kernel_us")["judgement"], "same");
  const std::string text = comparison_text(comparison);
  EXPECT_NE(text.find("slower: fused, B = 64, in kernels: 100 us -> 110 us (+10.0 %; noise 3.0 %: "
                      "spread 1.0 % here, 1.0 % in the base; a copy 20.0 -> 20.0 GB/s)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2 of 4 times the same within noise (3.0 to 3.0 %)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("a regression: 2 times slower\n"), std::string::npos) << text;
}

TEST(BenchCompare, WhatIsFasterIsSaid) {
  const Json comparison = bench_comparison(report(200, 80), report(200, 100));
  EXPECT_EQ(comparison["slower"], 0);
  EXPECT_EQ(comparison["faster"], 2);
  EXPECT_NE(comparison_text(comparison).find("no regression; 2 times faster\n"), std::string::npos);
}

TEST(BenchCompare, NoiseIsTheSpreadOfBothRuns) {
  Json now = report(200, 110);
  Json& fused = now["results"][1]["kernel_us"];
  const auto judged = [&] {
    return time_of(bench_comparison(now, report(200, 100)), "fused", "kernel_us");
  };
  EXPECT_EQ(bench_comparison(report(200, 102), report(200, 100))["slower"], 0);  // 3 % at least
  fused = times(110, 8);  // the interval is wider than the quartiles: 7.3 %, and the base's 1 %
  EXPECT_NEAR(judged()["noise"], 8.0 / 110 + 0.01, 1e-9);
  EXPECT_EQ(judged()["judgement"], "slower");
  fused = times(110, 11);
  EXPECT_EQ(judged()["judgement"], "same");
  fused = times(110, 1);  // a narrow interval of many samples that lie far apart
  fused["quartiles"] = {104.5, 115.5};
  EXPECT_NEAR(judged()["noise"], 0.11, 1e-9);
  EXPECT_EQ(judged()["judgement"], "same");
}

TEST(BenchCompare, TimesOfTheClockAreNoise) {
  EXPECT_EQ(bench_comparison(report(0.4, 0.25), report(0.4, 0.2))["slower"], 0);
  EXPECT_EQ(bench_comparison(report(0.4, 0.31), report(0.4, 0.2))["slower"], 1);
}

TEST(BenchCompare, OtherConditionsAreListed) {
  const Json base = report(200, 100);
  Json other = report(200, 100);
  other["device"] = "h200";
  other["numerics"] = "wide";
  EXPECT_NE(notes_of(other, base).find("device: h200 here, cpu in the base"), std::string::npos);
  EXPECT_NE(notes_of(other, base).find("numerics: wide here, exact in the base"),
            std::string::npos);
  other = report(200, 100);
  other["environment"]["threads"] = 8;
  other["environment"]["cpu"] = "another CPU";
  EXPECT_NE(notes_of(other, base).find("threads: 8 here, 2 in the base"), std::string::npos);
  EXPECT_NE(notes_of(other, base).find("machine: another CPU here, a CPU in the base"),
            std::string::npos);
  other = report(200, 100);
  other["graph"] = "h";
  EXPECT_NE(notes_of(other, base).find("graph: h here, g in the base"), std::string::npos);
  other = report(200, 100);
  other["program"] = "4567";
  EXPECT_NE(notes_of(other, base).find("program: other ops, types or attributes"),
            std::string::npos);
  EXPECT_NE(notes_of(report(200, 100, 20, 8), base).find("sizes: B = 8 here, B = 64 in the base"),
            std::string::npos);
  EXPECT_EQ(notes_of(base, base), "");
}

TEST(BenchCompare, TooFewRepeatsDecideNothing) {
  Json few = report(200, 300);
  few["results"][1]["kernel_us"]["low"] = nullptr;
  few["results"][1]["kernel_us"]["high"] = nullptr;
  EXPECT_NE(notes_of(few, report(200, 100)).find("fused in kernels: this run has no interval"),
            std::string::npos);
  Json old = report(200, 100);
  old["results"][0]["kernel_us"].erase("low");
  EXPECT_NE(notes_of(report(200, 100), old).find("separate in kernels: the base has no interval"),
            std::string::npos);
  old = report(200, 100);
  old["results"][0].erase("kernel_us");
  old["environment"].erase("git");
  EXPECT_NE(notes_of(report(200, 100), old).find("the base is damaged"), std::string::npos);
  for (const Json& nothing : {Json::object(), Json::array(), Json(3), Json{{"results", 1}}}) {
    EXPECT_NE(notes_of(report(200, 100), nothing), "") << nothing;
  }
}

TEST(BenchCompare, SizesOfASweepFindTheirOwn) {
  const Json base = {{"sweep", {report(20, 10, 20, 8), report(200, 100, 20, 64)}}};
  const Json now = {{"sweep", {report(200, 150, 20, 64)}}};
  const Json comparison = bench_comparison(now, base);
  EXPECT_EQ(comparison["slower"], 2);
  EXPECT_NEAR(time_of(comparison, "fused", "kernel_us")["change"], 0.5, 1e-9);
  EXPECT_EQ(bench_comparison(report(20, 10, 20, 8), base["sweep"])["slower"], 0);
  EXPECT_NE(notes_of(report(1, 1, 20, 9), base).find("sizes: B = 9 here, B = 8; B = 64"),
            std::string::npos);
}

std::string digest(std::string_view text) { return program_digest(parse_graph(text, "test")); }

TEST(ProgramDigest, IsOfTheWorkAndNotOfNames) {
  const std::string text = "graph g(x: f32[B, 8]) {\n  y = softmax(x, dim=1)\n  return y\n}\n";
  const std::string named = "graph h(z: f32[B, 8]) {\n  u = softmax(z, dim=1)\n  return u\n}\n";
  EXPECT_EQ(digest(text), digest(named));
  EXPECT_EQ(digest(text).size(), 16u);
  for (const auto& [from, to] :
       {std::pair{"softmax", "log_softmax"}, {"f32", "f16"}, {"dim=1", "dim=0"}, {"8", "9"}}) {
    std::string other = text;
    other.replace(other.find(from), std::string_view(from).size(), to);
    EXPECT_NE(digest(text), digest(other)) << other;
  }
}

}  // namespace
}  // namespace ingot
