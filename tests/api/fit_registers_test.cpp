// The resource loop: programs that spill on sm_90, what cures them, and the report of it. Needs
// NVRTC and no device.
#include <gtest/gtest.h>

#include <ingot/ingot.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "support/cuda_here.h"

namespace ingot::testing {
namespace {

using Json = nlohmann::ordered_json;

class FitRegisters : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  }
  static Json explain(const std::string& text, const std::string& numerics,
                      const std::string& fusion = "auto") {
    Options options;
    options.device = "h200";
    options.numerics = numerics;
    options.fusion = fusion;
    options.sizes = {{"B", 4096}};
    options.plan_only = true;
    return Json::parse(Program::parse(text).compile(options).explain_json(false));
  }
  static std::vector<Json> steps(const Json& report) {
    std::vector<Json> found;
    for (const Json& decision : report["decisions"]) {
      if (decision["kind"] == "resources") found.push_back(decision);
    }
    return found;
  }
  static void expect_no_spills(const Json& report) {
    for (const Json& group : report["groups"]) {
      EXPECT_EQ(group["resources"]["source"], "compiler");
      EXPECT_EQ(group["resources"]["spill_store_bytes"], 0) << group.dump(2);
      EXPECT_EQ(group["resources"]["stack_bytes"], 0);
      EXPECT_EQ(group["resources"]["bytes_spill_upper"], 0);
    }
  }
};

// 34 sums of one row, eight lanes of each in a thread.
std::string sums() {
  std::string text = "graph sums(x: bf16[B, 4096]) { t = cast(x, dtype=f32)\n", results;
  for (int i = 0; i < 34; ++i) {
    text += fmt::format("d{0} = sub(t, {0}) s{0} = sum(d{0}, dims=[1])\n", i);
    results += fmt::format("{}s{}", i == 0 ? "" : ", ", i);
  }
  return text + "return " + results + " }";
}

// 32 values of eight elements, all of which are needed twice.
std::string many_values() {
  std::string inputs, text;
  for (int i = 0; i < 8; ++i) inputs += fmt::format("{}x{}: bf16[B, 1024]", i == 0 ? "" : ", ", i);
  for (int i = 0; i < 32; ++i) {
    text += fmt::format("v{0} = mul(x{1}, {0}.5) w{0} = tanh(v{0})\n", i, i % 8);
  }
  for (int i = 0; i < 32; ++i) text += fmt::format("m{0} = mul(w{0}, w{1})\n", i, (7 * i + 3) % 32);
  for (int i = 0; i < 32; ++i) text += fmt::format("n{0} = mul(m{0}, m{1})\n", i, (7 * i + 4) % 32);
  std::string last = "n0";
  for (int i = 1; i < 32; ++i) {
    text += fmt::format("s{0} = add({1}, n{0})\n", i, last);
    last = fmt::format("s{}", i);
  }
  return fmt::format("graph values({}) {{ {} return {} }}", inputs, text, last);
}

TEST_F(FitRegisters, ASpillThatNoScheduleCuresSplitsTheGroup) {
  const Json report = explain(sums(), "wide");
  EXPECT_EQ(report["groups"].size(), 2U);
  expect_no_spills(report);
  int splits = 0, changes = 0;
  for (const Json& step : steps(report)) {
    const std::string detail = step["detail"];
    splits += step["reason"] == "spills" ? 1 : 0;
    changes += step["reason"] == "fewer_live_values" ? 1 : 0;
    EXPECT_EQ(step["fused"], step["reason"] != "spills");
    EXPECT_NE(detail.find("bytes spilled a thread"), std::string::npos) << detail;
    EXPECT_NE(detail.find("occupancy"), std::string::npos) << detail;
  }
  EXPECT_EQ(splits, 1);
  EXPECT_EQ(changes, 2);  // each half may have all registers
}

TEST_F(FitRegisters, AScheduleOfFewerElementsAThreadComesFirst) {
  const Json report = explain(many_values(), "exact");
  EXPECT_EQ(report["groups"].size(), 1U);
  expect_no_spills(report);
  const std::vector<Json> found = steps(report);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["reason"], "fewer_live_values");
  EXPECT_EQ(report["groups"][0]["schedule"], "rows, 4 elements a thread");
}

// `all` fuses whatever it costs, and says so.
TEST_F(FitRegisters, FusionAllIsNotSplit) {
  const Json report = explain(sums(), "wide", "all");
  EXPECT_EQ(report["groups"].size(), 1U);
  EXPECT_GT(report["groups"][0]["resources"]["bytes_spill_upper"], int64_t{1} << 30);
  const std::vector<Json> found = steps(report);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["reason"], "spill_kept");
}

TEST_F(FitRegisters, WhatDoesNotSpillStaysAsPlanned) {
  const Json report =
      explain("graph g(x: bf16[B, 512]) { t = mul(x, 2) y = softmax(t) return y }", "exact");
  EXPECT_TRUE(steps(report).empty());
  expect_no_spills(report);
}

}  // namespace
}  // namespace ingot::testing
