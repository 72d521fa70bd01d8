// The tuning database's text, and the keys of groups.
#include "plan/tuning.h"

#include <gtest/gtest.h>

#include "plan/choice.h"
#include "plan/group_key.h"
#include "support/planned.h"

namespace ingot::testing {
namespace {

TuningEntry entry(const std::string& group, const std::string& choice, double us) {
  TuningEntry made;
  made.key = {"H200", "exact", group, "14", 1};
  made.choice = choice;
  made.us = us;
  made.together_us = 2 * us;
  made.interval = 0.0125;
  made.date = "2026-11-30";
  made.compiler = "13.0";
  made.name = "add_gelu";
  return made;
}

TEST(Tuning, ReadsWhatItWritesSortedByKey) {
  TuningDatabase database;
  database.put(entry("b", "parts:0-1|2", 123.4));
  database.put(entry("a", "planned", 7.125));
  const std::string text = database.print();
  EXPECT_EQ(text,
            "ingot tuning 1\n"
            "device=H200 numerics=exact group=a sizes=14 plan=1 choice=planned us=7.125 "
            "together=14.250 interval=0.0125 date=2026-11-30 compiler=13.0 name=add_gelu\n"
            "device=H200 numerics=exact group=b sizes=14 plan=1 choice=parts:0-1|2 us=123.4 "
            "together=246.8 interval=0.0125 date=2026-11-30 compiler=13.0 name=add_gelu\n");
  std::vector<std::string> warnings;
  const TuningDatabase read = TuningDatabase::parse(text, "t.txt", &warnings);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(read.print(), text);
  ASSERT_NE(read.find({"H200", "exact", "b", "14", 1}), nullptr);
  EXPECT_EQ(read.find({"H200", "exact", "b", "14", 1})->choice, "parts:0-1|2");
  EXPECT_FALSE(read.find({"H200", "exact", "b", "14", 1})->apart_us);
  EXPECT_EQ(read.find({"H200", "exact", "b", "14", 2}), nullptr);
  EXPECT_EQ(read.find({"H200", "wide", "b", "14", 1}), nullptr);
}

TEST(Tuning, KeepsWhatItDoesNotUnderstandAndSaysWhere) {
  TuningDatabase good;
  good.put(entry("a", "planned", 1));
  good.put(entry("c", "planned", 3));
  const std::string lines = good.print().substr(good.print().find('\n') + 1);
  const std::string first = lines.substr(0, lines.find('\n') + 1);
  const std::string second = lines.substr(first.size());
  const std::string text = "ingot tuning 1\n# about a\n" + first + "<<<<<<< ours\n" +
                           "device=H200 numerics=exact group=b us=fast\n" + second + "# the end\n";
  std::vector<std::string> warnings;
  const TuningDatabase read = TuningDatabase::parse(text, "t.txt", &warnings);
  EXPECT_EQ(warnings, (std::vector<std::string>{"t.txt:4: no device=; the line is ignored",
                                                "t.txt:5: no sizes=; the line is ignored"}));
  EXPECT_EQ(read.size(), 2U);
  EXPECT_EQ(read.print(), text);
}

TEST(Tuning, OfTwoLinesOfOneKeyTheNewerOneCounts) {
  TuningEntry older = entry("a", "planned", 1), newer = entry("a", "parts:0|1", 2);
  newer.date = "2026-12-01";
  for (const auto& [one, other] : {std::pair(older, newer), std::pair(newer, older)}) {
    TuningDatabase first, second;
    first.put(one);
    second.put(other);
    const std::string merged = first.print() + second.print();  // as two branches of git
    std::vector<std::string> warnings;
    const TuningDatabase read = TuningDatabase::parse(merged, "t.txt", &warnings);
    EXPECT_TRUE(warnings.empty());
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read.find(one.key)->choice, "parts:0|1");
  }
}

TEST(Tuning, TimesAndChoicesThatMeanNothingAreRefused) {
  TuningDatabase database;
  database.put(entry("a", "planned", 1));
  const std::string good = database.print();
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"us=1.000", "us=nan"},
                                                        {"us=1.000", "us=-1"},
                                                        {"us=1.000", "us=1e300"},
                                                        {"us=1.000", "us="},
                                                        {"choice=planned", "choice=best"},
                                                        {"plan=1", "plan=one"},
                                                        {"ingot tuning 1", "ingot tuning 2"}}) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    std::vector<std::string> warnings;
    TuningDatabase::parse(text, "t.txt", &warnings);
    EXPECT_FALSE(warnings.empty()) << to;
  }
}

GroupKey key_of(const std::string& text, const Bindings& sizes = {{"B", 4096}}) {
  const Planned program = planned(text);
  const Group& group = program.plan.groups.at(0);
  const UnitGraph units = make_units(program.graph);
  return group_key(program.graph, units, part_nodes(units, group), group.outputs, sizes);
}

TEST(GroupKey, IsFreeOfNamesAndKnowsTypesShapesAttributesAndConstants) {
  const std::string text =
      "graph g(x: f32[B, 64], y: f32[64]) { t = add(x, y) u = mul(t, 0.5) z = elu(u) return z }";
  const GroupKey key = key_of(text);
  EXPECT_EQ(key.text,
            "b0: f32[n0, 64]\nb1: f32[64]\nv2 = add(b0, b1): f32[n0, 64] @0\n"
            "v3 = mul(v2, f32, 0.5): f32[n0, 64] @1\nv4 = elu(v3): f32[n0, 64] @2 stored\n");
  EXPECT_EQ(key.sizes, "12");
  auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    for (size_t at = 0; (at = other.find(from, at)) != std::string::npos; at += to.size()) {
      other.replace(at, from.size(), to);
    }
    return key_of(other, {{"B", 4096}, {"M", 4096}}).text;
  };
  EXPECT_EQ(changed("B,", "M,"), key.text);
  EXPECT_EQ(changed("(x", "(left"), key.text);
  EXPECT_EQ(changed("graph g", "graph other"), key.text);
  EXPECT_EQ(changed("t = add(x, y) u = mul(t,", "p = add(x, y) u = mul(p,"), key.text);
  EXPECT_NE(changed("f32", "f16"), key.text);
  EXPECT_NE(changed("64", "65"), key.text);
  EXPECT_NE(changed("0.5", "0.25"), key.text);
  EXPECT_NE(changed("elu(u)", "elu(u, alpha=2)"), key.text);
  EXPECT_NE(changed("return z", "return z, t"), key.text) << "another value is stored";
}

TEST(GroupKey, SizesHaveClassesOfPowersOfTwo) {
  const std::string text = "graph g(x: f32[B, N]) { t = exp(x) z = neg(t) return z }";
  EXPECT_EQ(key_of(text, {{"B", 4096}, {"N", 5}}).sizes, "12,2");
  EXPECT_EQ(key_of(text, {{"B", 8191}, {"N", 7}}).sizes, "12,2");
  EXPECT_EQ(key_of(text, {{"B", 8192}, {"N", 0}}).sizes, "13,-1");
  EXPECT_EQ(key_of(text, {{"B", 1}}).sizes, "0,10");  // 1024 where none is given
  EXPECT_EQ(key_of("graph g(x: f32[8]) { t = exp(x) z = neg(t) return z }").sizes, "-");
}

TEST(GroupKey, PartsReadBack) {
  const Planned program = planned(
      "graph g(x: f32[B, 64]) { a = exp(x) b = neg(a) c = softmax(b) d = mul(c, a) return d }");
  const UnitGraph units = make_units(program.graph);
  const std::vector<NodeId> nodes = part_nodes(units, program.plan.groups.at(0));
  for (const std::string text : {"0|1-3", "0-1|2|3", "0-2|0,3", "0-3"}) {
    const auto parts = parse_parts(units, nodes, text);
    ASSERT_TRUE(parts) << text;
    EXPECT_EQ(parts_text(units, nodes, *parts), text);
  }
  const auto again = parse_parts(units, nodes, "0-2|0,3");
  EXPECT_TRUE(again->at(0).recomputed.empty());
  EXPECT_EQ(again->at(1).recomputed.size(), 1U);
  for (const std::string text :
       {"", "0|1", "0-4", "0-1|1|2-3", "0||1-3", "3-0|1", "a", "0-3|0,0"}) {
    EXPECT_FALSE(parse_parts(units, nodes, text)) << text;
  }
}

}  // namespace
}  // namespace ingot::testing
