// Pages as text; and the table that the browser's occupancy is compared with.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <ingot/ingot.h>
#include <nlohmann/json.hpp>

#include "html/page.h"
#include "plan/device_model.h"

namespace ingot {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// No name of a tensor ends the element that holds the data, or puts text into the template.
TEST(Page, DataStaysData) {
  const std::string nasty = R"({"name": "</script><script>alert(1)</script><!-- @script@ @data@"})";
  const std::string page = html::page(html::Page::lab, "a <b> & c", nasty);
  EXPECT_EQ(count(page, "alert(1)"), 1u);
  EXPECT_EQ(count(page, "</script>"), 2u);  // of the data and of the script
  EXPECT_NE(page.find(R"("\u003c/script>\u003cscript>)"), page.npos);
  EXPECT_NE(page.find("<title>a &lt;b> &amp; c</title>"), page.npos);
}

TEST(Page, AsksForNothing) {
  const std::string page = lab_html();
  EXPECT_NE(page.find("default-src 'none'"), page.npos);
  for (const char* asks : {"src=\"http", "href=\"http", "@import", "url(", "fetch(", "XMLHttp"}) {
    EXPECT_EQ(page.find(asks), page.npos) << asks;
  }
}

TEST(Page, LabTakesReportsOfExplainOnly) {
  EXPECT_THROW(lab_html("{}"), Error);
  EXPECT_THROW(lab_html("no JSON"), Error);
}

TEST(Page, ReportsOfAnotherKindAreRefused) {
  Options options;
  options.device = "h200";
  options.plan_only = true;
  const Compiled compiled =
      Program::parse("graph g(x: f32[8]) {\n  y = exp(x)\n  return y\n}\n").compile(options);
  const std::string json = compiled.explain_json();
  EXPECT_NE(explain_html(json, compiled.sources()).find("__global__"), std::string::npos);
  EXPECT_EQ(compiled.explain(), Compiled::explain_text(json));
  EXPECT_THROW(bench_html(json), Error);
  EXPECT_THROW(tune_html(json), Error);
  for (const char* other : {"", "[]", "{}", R"({"groups": []})"}) {
    EXPECT_THROW(explain_html(other), Error) << other;
    EXPECT_THROW(explain_dot(other), Error) << other;
    EXPECT_THROW(explain_trace(other), Error) << other;
    EXPECT_THROW(bench_html(other), Error) << other;
    EXPECT_THROW(Compiled::explain_text(other), Error) << other;
  }
}

TEST(Dot, NamesAreQuoted) {
  Program program("g");
  const Value x = program.input("a\"b\\", DType::f32, {8});
  program.output(program.op("exp", {x}, {}, "y"));
  Options options;
  options.plan_only = true;
  const std::string dot = explain_dot(program.compile(options).explain_json());
  EXPECT_NE(dot.find(R"("a\"b\\" -> "y")"), dot.npos) << dot;
}

// Written for lab_test.py: occupancy() on a grid that crosses every granularity and limit.
TEST(Occupancy, Table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const DeviceModel& device : device_models()) {
    for (const int threads : {1, 31, 32, 33, 64, 96, 128, 160, 256, 384, 512, 640, 768, 1024}) {
      for (const int registers :
           {1, 8, 9, 16, 24, 31, 32, 33, 40, 41, 46, 48, 56, 64, 65, 80, 96, 128, 168, 200, 255}) {
        for (const int shared : {0, 1, 1024, 8192, 16384, 49152, 99 << 10, (99 << 10) + 1,
                                 163 << 10, 227 << 10, (227 << 10) + 1}) {
          const Occupancy found = occupancy(device, threads, registers, shared);
          rows.push_back({device.name, threads, registers, shared, found.blocks, found.occupancy,
                          found.limit, found.blocks_by_threads, found.blocks_by_blocks,
                          found.blocks_by_registers, found.blocks_by_shared});
        }
      }
    }
  }
  const std::filesystem::path folder = std::filesystem::path(INGOT_BUILD_DIR) / "tests" / "html";
  std::ofstream file(folder / "occupancy.json");
  file << rows.dump();
  file.close();
  EXPECT_TRUE(file.good());
  EXPECT_EQ(rows.size(), device_models().size() * 14 * 21 * 11);
}

}  // namespace
}  // namespace ingot
