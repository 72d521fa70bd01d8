// Tuning on the CPU: what is timed, kept and followed, and what stays as it was.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <ingot/ingot.h>
#include <nlohmann/json.hpp>

#include "api/tuned_choices.h"
#include "api/tuning_file.h"
#include "base/text.h"
#include "graph/passes/passes.h"
#include "plan/choice.h"
#include "support/errors.h"

namespace ingot::testing {
namespace {

using Json = nlohmann::ordered_json;

class Tune : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path("tune_test") /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  std::string file(const std::string& name = "tuning.txt") const { return folder_ / name; }
  Options options(const Sizes& sizes = {}) const {
    Options made;
    made.sizes = sizes;
    made.threads = 2;
    made.tuning_file = file();
    return made;
  }

 private:
  std::filesystem::path folder_;
};

constexpr const char* chain =
    "graph g(x: f32[B, 64], y: f32[64]) { t = add(x, y) u = exp(t) v = neg(u) return v }";

std::vector<Tensor> inputs_of(const Program& program, const Sizes& sizes) {
  std::vector<Tensor> inputs;
  for (const Port& port : program.inputs()) {
    inputs.push_back(program.sample(port.name, "random", sizes));
  }
  return inputs;
}

// An entry for the one group of the program, as if it had been measured.
TuningEntry entry_for(const std::string& text, const Sizes& sizes, const std::string& choice) {
  const Graph graph = run_graph_passes(parse_graph(text, "test"));
  PlanOptions planning;
  planning.sizes = {sizes.begin(), sizes.end()};
  const Plan plan = make_plan(graph, device_model("cpu"), planning);
  const UnitGraph units = make_units(graph);
  const Group& group = plan.groups.at(0);
  TuningEntry entry;
  entry.key =
      tuning_key({tuning_device(device_model("cpu"), 2), "exact"},
                 group_key(graph, units, part_nodes(units, group), group.outputs, planning.sizes));
  entry.choice = choice;
  entry.us = 100;
  entry.together_us = 150;
  entry.interval = 0.01;
  entry.date = "2026-11-30";
  entry.compiler = "g++";
  entry.name = group.name;
  return entry;
}

Json explained(const std::string& text, const Options& options) {
  Options planning = options;
  planning.plan_only = true;
  return Json::parse(Program::parse(text).compile(planning).explain_json());
}

TEST_F(Tune, AGroupThatMeasuredSlowerThanItsPartsIsTakenApartAndSaysSo) {
  const Sizes sizes = {{"B", 100}};
  save_tuning(file(), {entry_for(chain, sizes, "parts:0-1|2")});
  const Json report = explained(chain, options(sizes));
  EXPECT_EQ(report["groups"].size(), 2U);
  EXPECT_EQ(report["tuning"]["groups"], 1);
  int parted = 0;
  for (const Json& decision : report["decisions"]) {
    if (decision["fused"]) continue;
    ++parted;
    EXPECT_EQ(decision["reason"], "measured");
    EXPECT_EQ(decision["producer"], "u");
    EXPECT_EQ(decision["detail"],
              "as 2 kernels 100 us, together 150 us, within 1.0 %, on 2026-11-30");
  }
  EXPECT_EQ(parted, 1);
}

// Whatever the entry chose: parts that were faster are what runs.
TEST_F(Tune, AFormThatMeasuredSlowerThanItsPartsNeverRuns) {
  const Sizes sizes = {{"B", 100}};
  TuningEntry entry = entry_for(chain, sizes, "planned");
  entry.apart_us = 80;
  save_tuning(file(), {entry});
  EXPECT_EQ(explained(chain, options(sizes))["groups"].size(), 3U);
  entry.apart_us = 99.5;  // within the interval
  save_tuning(file(), {entry});
  EXPECT_EQ(explained(chain, options(sizes))["groups"].size(), 1U);
}

TEST_F(Tune, EntriesHoldForTheirSizesModesAndNames) {
  const Sizes sizes = {{"B", 100}};
  save_tuning(file(), {entry_for(chain, sizes, "parts:0|1|2")});
  auto groups = [&](const std::string& text, Options with) {
    return explained(text, with)["groups"].size();
  };
  EXPECT_EQ(groups(chain, options({{"B", 64}})), 3U) << "of the same class";
  EXPECT_EQ(groups(chain, options({{"B", 128}})), 1U);
  const std::string renamed =
      "graph other(left: f32[M, 64], r: f32[64]) { a = add(left, r) b = exp(a) c = neg(b) return c "
      "}";
  EXPECT_EQ(groups(renamed, options({{"M", 100}})), 3U);
  Options with = options(sizes);
  with.fusion = "all";
  EXPECT_EQ(groups(chain, with), 1U) << "all ignores it";
  with = options(sizes);
  with.numerics = "wide";
  EXPECT_EQ(groups(chain, with), 1U);
  with = options(sizes);
  with.tuning_file = "none";
  EXPECT_EQ(groups(chain, with), 1U);
  EXPECT_TRUE(explained(chain, with)["tuning"].is_null());
}

TEST_F(Tune, EntriesThatFitNothingChangeNothing) {
  const Sizes sizes = {{"B", 100}};
  for (const char* choice : {"parts:0,2|1", "parts:0|1|2|3", "parts:9", "schedule:none_of_it"}) {
    save_tuning(file(), {entry_for(chain, sizes, choice)});
    EXPECT_EQ(explained(chain, options(sizes))["groups"].size(), 1U) << choice;
  }
}

TEST_F(Tune, EndToEndOnACpuKeepsBitsAndEntries) {
  const Sizes sizes = {{"B", 200}};
  const std::string text =
      "graph g(x: f32[B, 3000]) { m = max(x, dims=[1], keepdims=true) d = sub(x, m) e = exp(d) "
      "s = sum(e, dims=[1], keepdims=true) y = div(e, s) return y }";
  const Program program = Program::parse(text);
  const std::vector<Tensor> inputs = inputs_of(program, sizes);
  const Compiled compiled = program.compile(options(sizes));
  std::vector<std::string> said;
  const Json report =
      Json::parse(compiled.tune_json(inputs, {2, [&](double done, const std::string& what) {
                                                EXPECT_LE(done, 1);
                                                said.push_back(what);
                                              }}));
  EXPECT_FALSE(said.empty());
  ASSERT_FALSE(report["groups"].empty());
  const Json& forms = report["groups"][0]["forms"];
  ASSERT_GE(forms.size(), 4U);
  EXPECT_EQ(forms[0]["choice"], "planned");
  int chosen = 0;
  for (const Json& form : forms) {
    EXPECT_TRUE(form["problem"].is_null() ||
                form["problem"] == "not tried: the budget is too short")
        << form.dump();
    chosen += form["state"] == "chosen" ? 1 : 0;
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_GE(report["entries"].get<size_t>(), 1U);
  EXPECT_NE(Compiled::tune_text(report.dump()).find("program: separate"), std::string::npos);
  // What is followed from now on has the bits of before.
  Options off = options(sizes);
  off.fusion = "off";
  const Tensor before = program.compile(off).run(inputs).at(0);
  const Tensor after = program.compile(options(sizes)).run(inputs).at(0);
  ASSERT_EQ(before.bytes(), after.bytes());
  EXPECT_EQ(std::memcmp(before.data(), after.data(), static_cast<size_t>(before.bytes())), 0);
  EXPECT_EQ(load_tuning(file()).size(), report["entries"].get<size_t>());
}

TEST_F(Tune, TunersAtOnceLoseNothing) {
  constexpr int writers = 8, each = 20;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w) {
    threads.emplace_back([&, w] {
      for (int i = 0; i < each; ++i) {
        TuningEntry entry;
        entry.key = {"H200", "exact", fmt::format("{}x{}", w, i), "-", 1};
        entry.choice = "planned";
        entry.date = entry.compiler = entry.name = "x";
        save_tuning(file(), {entry});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(load_tuning(file()).size(), static_cast<size_t>(writers * each));
}

TEST_F(Tune, ErrorsSayWhatIsMissing) {
  const Program program = Program::parse(chain);
  const std::vector<Tensor> inputs = inputs_of(program, {{"B", 8}});
  Options none = options();
  none.tuning_file = "none";
  EXPECT_THROW(program.compile(none).tune_json(inputs), Error);
  Options off = options();
  off.fusion = "off";
  EXPECT_THROW(program.compile(off).tune_json(inputs), Error);
  EXPECT_THROW(program.compile(options()).tune_json(inputs, {0, {}}), Error);
  Options elsewhere = options();
  elsewhere.tuning_file = "/proc/nowhere/tuning.txt";
  EXPECT_THROW(program.compile(elsewhere).tune_json(inputs, {0.2, {}}), Error);
}

}  // namespace
}  // namespace ingot::testing
