// The words of plans and reports: interface.md's, which scripts compare.
#include "plan/plan_words.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ingot {
namespace {

TEST(PlanWords, DecisionKindsReadBack) {
  const std::string_view words[] = {"producer_consumer", "sibling",    "epilogue", "prologue",
                                    "composite",         "copy",       "rewrite",  "formula",
                                    "resources",         "measurement"};
  int kind = 0;
  for (const std::string_view word : words) {
    EXPECT_EQ(kind_text(static_cast<DecisionKind>(kind)), word);
    EXPECT_EQ(decision_kind(word), static_cast<DecisionKind>(kind++));
  }
  EXPECT_EQ(kind_text(static_cast<DecisionKind>(kind)), "");  // there are no more
  EXPECT_THROW(decision_kind("range"), Error);
}

TEST(PlanWords, EveryReasonHasAWordOfItsOwn) {
  std::set<std::string_view> seen;
  for (int reason = 0; reason <= static_cast<int>(Reason::user_plan); ++reason) {
    const std::string_view word = reason_text(static_cast<Reason>(reason));
    EXPECT_FALSE(word.empty()) << reason;
    EXPECT_TRUE(seen.insert(word).second) << word;
  }
}

TEST(PlanWords, WhatChangesOneKernelIsNoEdge) {
  EXPECT_TRUE(is_edge(DecisionKind::producer_consumer));
  EXPECT_TRUE(is_edge(DecisionKind::sibling));
  EXPECT_FALSE(is_edge(DecisionKind::formula));
  EXPECT_FALSE(is_edge(DecisionKind::rewrite));
  EXPECT_FALSE(is_edge(DecisionKind::resources));
  EXPECT_FALSE(is_edge(DecisionKind::measurement));
}

}  // namespace
}  // namespace ingot
