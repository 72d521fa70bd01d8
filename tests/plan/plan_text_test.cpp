// Plans print, read back, and can be edited; wrong edits are refused where they stand.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "graph/passes/passes.h"
#include "plan/plan.h"
#include "support/planned.h"

namespace ingot {
namespace {

using testing::expect_sums;

const char* program = R"(graph g(x: f32[B, 64], b: f32[64]) {
  t = add(x, b)
  u = exp(t)
  y = softmax(u, dim=-1)
  return y
})";

Graph graph() { return run_graph_passes(parse_graph(program, "test")); }

Plan read(const Graph& g, const std::string& text) {
  return parse_plan(g, text, "edited.plan", device_model("cpu"), {});
}

std::string groups_only(const std::string& text) { return text.substr(0, text.find("  # fused")); }

TEST(PlanText, ReadsBack) {
  Graph g = graph();
  Plan plan = make_plan(g, device_model("cpu"), {});
  std::string text = print(g, plan);
  EXPECT_EQ(groups_only(print(g, read(g, text))), groups_only(text));
}

TEST(PlanText, LooksLikeThis) {
  Graph g = run_graph_passes(parse_graph(
      "graph g(x: f32[B, 64], b: f32[64]) { t = add(x, b) y = relu(t) return y }", "test"));
  EXPECT_EQ(print(g, make_plan(g, device_model("cpu"), {})),
            R"(plan g for cpu numerics exact fusion auto {
  group add_relu {
    nodes t, y
    schedules "rows, streaming", "rows"
    # elementwise: 2 ops over [B, 64]
    # domain i0 < B, i1 < 64
    # reads x, b: 256*B + 256 bytes
    # writes y: 256*B bytes
    # "rows, streaming" when 512*B + 256 >= 33554432
    # "rows"
  }
  # fused t -> y: local_dependency, 't' [B, 64] is used where it is made; saves 512*B bytes
}
)");
}

std::string two_groups(const std::string& first, const std::string& second) {
  return "plan g for cpu numerics exact fusion auto {\n  group one {\n    nodes " + first +
         "\n    schedules \"rows\"\n  }\n  group two {\n    nodes " + second +
         "\n    schedules \"rows\"\n  }\n}\n";
}

// The parts of softmax from number `first` up to `last`.
std::string parts(const Graph& g, size_t first, size_t last = 100) {
  std::string text;
  size_t number = 0;
  for (const Node& node : g.nodes) {
    if (node.name[0] != 'y') continue;
    if (number >= first && number < last) text += (text.empty() ? "" : ", ") + node.name;
    ++number;
  }
  return text;
}

TEST(PlanText, EditedGroupsAreTaken) {
  Graph g = graph();
  Plan plan = read(g, two_groups("t, u", parts(g, 0)));
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[0].name, "one");
  EXPECT_EQ(plan.groups[1].schedules.size(), 1u);
  EXPECT_TRUE(plan.groups[1].schedules[0].guards.empty());
  for (const Decision& d : plan.decisions) EXPECT_EQ(d.reason, Reason::user_plan);
}

TEST(PlanText, CompositesMayBeCutAndTheBytesStillSum) {
  Graph g = graph();
  expect_sums(g, read(g, two_groups("t, u, " + parts(g, 0, 1), parts(g, 1))));
}

// Both compute where x is a NaN: the part of one composite stands in the other's group too.
TEST(PlanText, PartsThatSeveralGroupsComputeReadBack) {
  Graph g = run_graph_passes(parse_graph(
      "graph g(x: f32[B, 31]) { a = argmax(x, dims=[0, 1]) b = argmax(x, dims=[0], keepdims=true) "
      "c = argmin(b, dims=[1]) return a, c }",
      "test"));
  Plan plan = make_plan(g, device_model("cpu"), {});
  std::string text = print(g, plan);
  ASSERT_NE(text.find("again a.here_nan"), std::string::npos) << text;
  Plan again = read(g, text);
  EXPECT_EQ(groups_only(print(g, again)), groups_only(text));
  expect_sums(g, again);
}

struct Wrong {
  const char* name;
  std::string text;
  const char* message;
};

TEST(PlanText, WrongEditsAreRefusedWhereTheyStand) {
  Graph g = graph();
  const Wrong wrong[] = {
      {"unknown", two_groups("t, q", "y"), "edited.plan:3:14: error: the graph has no node 'q'"},
      {"missing", two_groups("t", "u"), "edited.plan:1:1: error: 'y.max' stands in no group"},
      {"twice", two_groups("t, t", "u"), "edited.plan:3:14: error: 't' stands in this group twice"},
      {"input", two_groups("x", "u"), "edited.plan:3:11: error: 'x' is not computed by a kernel"},
      {"cycle", two_groups("t, " + parts(g, 0), "u"), "the groups form a cycle"},
  };
  for (const Wrong& w : wrong) {
    try {
      read(g, w.text);
      ADD_FAILURE() << w.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << w.name;
      EXPECT_NE(error.rendered().find(w.message), std::string::npos) << error.rendered();
    }
  }
  const auto header = [&](const std::string& from, const std::string& to) {
    std::string text = print(g, make_plan(g, device_model("cpu"), {}));
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_EQ(read(g, header("fusion auto", "fusion off")).fusion, FusionMode::off);
  for (const auto& [from, to, message] :
       {std::tuple{"for cpu", "for h200",
                   "p:1:12: error: this plan is for device h200, but cpu is"},
        {"numerics exact", "numerics wide", "this plan is for numerics wide, but exact is asked"},
        {"fusion auto", "fusion some", "fusion is off, auto or all, not 'some'"}}) {
    try {
      parse_plan(g, header(from, to), "p", device_model("cpu"), {});
      ADD_FAILURE() << to;
    } catch (const Error& error) {
      EXPECT_NE(error.rendered().find(message), std::string::npos) << error.rendered();
    }
  }
  std::string text = two_groups("t, u", parts(g, 0));
  text.replace(text.find("\"rows\""), 6, "\"tiled\"");
  EXPECT_THROW(read(g, text), Error);
}

// An error about a schedule lists all that a plan may ask for; each of them is taken.
TEST(PlanText, KnownSchedulesAreListedAndTaken) {
  const Graph g = graph();
  const DeviceModel& device = device_model("h200");
  const std::string text = print(g, make_plan(g, device, {}));
  const size_t begin = text.find("schedules ") + 10, end = text.find('\n', begin);
  const auto asked = [&](const std::string& schedules) {
    return parse_plan(g, text.substr(0, begin) + schedules + text.substr(end), "p", device, {});
  };
  std::string message;
  try {
    asked("\"tiled\"");
    ADD_FAILURE() << text;
  } catch (const Error& error) {
    message = error.message();
  }
  std::vector<std::string> listed;
  for (size_t at = message.find("it has "); (at = message.find('"', at)) != std::string::npos;) {
    const size_t close = message.find('"', at + 1);
    listed.push_back(message.substr(at, close + 1 - at));
    at = close + 1;
  }
  EXPECT_GT(listed.size(), asked(text.substr(begin, end - begin)).groups[0].schedules.size())
      << message;
  for (const std::string& schedule : listed) EXPECT_NO_THROW(asked(schedule)) << schedule;
  std::ranges::sort(listed);
  EXPECT_EQ(std::ranges::adjacent_find(listed), listed.end()) << message;
}

}  // namespace
}  // namespace ingot
