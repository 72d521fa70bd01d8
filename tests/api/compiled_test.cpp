// Compiled programs: run, explain, edited plans and kernels, check.
#include <gtest/gtest.h>

#include <ingot/ingot.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>

#include <nlohmann/json.hpp>

#include "support/cuda_here.h"
#include "support/errors.h"

namespace ingot {
namespace {

using testing::no_cuda_device;
using testing::rendered_error_of;
using Json = nlohmann::json;

constexpr const char* bias_gelu_text =
    "graph bias_gelu(x: bf16[B, 8192], b: bf16[8192]) {\n"
    "  t = add(x, b)\n  y = gelu(t)\n  return y\n}\n";

Json explained(const std::string& text, const Options& options) {
  return Json::parse(Program::parse(text).compile(options).explain_json());
}

Options planned(const std::string& device, Sizes sizes) {
  Options options;
  options.device = device;
  options.sizes = std::move(sizes);
  options.plan_only = true;
  return options;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

TEST(Compiled, MovedFromIsAnError) {
  Program program = Program::parse("graph g(x: f32[2]) {\n  y = exp(x)\n  return y\n}\n");
  Compiled compiled = program.compile();
  Tensor x(DType::f32, {2});
  const Compiled taken = std::move(compiled);
  EXPECT_EQ(taken.run(std::vector<Tensor>{x}).size(), 1u);
  const auto says = [](const std::function<void()>& call) {
    EXPECT_NE(rendered_error_of(call).find("moved from"), std::string::npos);
  };
  says([&] { (void)compiled.run(std::vector<Tensor>{x}); });  // NOLINT: on purpose
  says([&] { (void)compiled.explain(); });
  says([&] { (void)compiled.plan_text(); });
  says([&] { (void)compiled.obstacles(); });
  const Program other = std::move(program);
  says([&] { (void)program.compile(); });  // NOLINT: on purpose
  says([&] { (void)program.print(); });
  says([&] { (void)program.inputs(); });
  says([&] { (void)Program(program); });
  says([&] { program.literal(DType::f32, 1); });
  const Tensor kept = std::move(x);
  EXPECT_FALSE(rendered_error_of([&] { (void)taken.run(std::vector<Tensor>{x}); }).empty());
  EXPECT_FALSE(rendered_error_of([&] { (void)other.evaluate({x}); }).empty());
}

TEST(Compiled, KernelsEqualUpToNamesAreCompiledOnce) {
  const Program program = Program::parse(
      "graph adds(a: f32[N], b: f32[N], c: f32[N]) {\n  x = add(a, b)\n  y = add(b, c)\n"
      "  z = add(c, y)\n  w = sub(c, a)\n  return x, z, w\n}\n");
  Options options;
  options.fusion = "off";
  const Compiled compiled = program.compile(options);
  EXPECT_NE(compiled.compile_text().find("4 kernels (2 different) in"), std::string::npos)
      << compiled.compile_text();
  std::vector<Tensor> inputs;
  for (double first : {1.0, 10.0, 100.0}) {
    Tensor& input = inputs.emplace_back(DType::f32, std::vector<int64_t>{3});
    for (int64_t i = 0; i < 3; ++i) input.set_f64(i, first + static_cast<double>(i));
  }
  const std::vector<Tensor> outputs = compiled.run(inputs);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outputs[0].get_f64(i), 11 + 2 * i);
    EXPECT_EQ(outputs[1].get_f64(i), 210 + 3 * i);
    EXPECT_EQ(outputs[2].get_f64(i), 99);
  }
}

class OnDevice : public ::testing::TestWithParam<const char*> {};

TEST_P(OnDevice, CountsTheBytesOfTheInterface) {
  const Json result = explained(bias_gelu_text, planned(GetParam(), {{"B", 16384}}));
  const Json& totals = result["totals"];
  EXPECT_EQ(totals["ops"], 2);
  EXPECT_EQ(totals["kernels_separate"], 2);
  EXPECT_EQ(totals["kernels_fused"], 1);
  EXPECT_EQ(totals["bytes_separate"], 1073758208);
  EXPECT_EQ(totals["bytes_fused"], 536887296);
  EXPECT_EQ(totals["bytes_saved"], 536870912);
  EXPECT_EQ(totals["bytes_saved_net"], 536870912);
  EXPECT_TRUE(totals["measured_us_fused"].is_null());
  EXPECT_EQ(result["graph"], "bias_gelu");
  EXPECT_EQ(result["device"], GetParam());
  EXPECT_EQ(result["numerics"], "exact");
  EXPECT_EQ(result["boundary"], "device_memory");
  EXPECT_EQ(result["dims"], (Json{{"B", 16384}}));

  ASSERT_EQ(result["groups"].size(), 1u);
  const Json& group = result["groups"][0];
  EXPECT_EQ(group["id"], 0);
  EXPECT_EQ(group["name"], "add_gelu");
  EXPECT_EQ(group["kind"], "elementwise");
  EXPECT_EQ(group["ops"], (Json{"t", "y"}));
  EXPECT_EQ(group["inputs"], (Json{"x", "b"}));
  EXPECT_EQ(group["outputs"], Json::array({"y"}));
  EXPECT_EQ(group["bytes_read"], 268451840);
  EXPECT_EQ(group["bytes_written"], 268435456);
  EXPECT_EQ(group["bytes_saved"], 536870912);

  ASSERT_EQ(result["decisions"].size(), 1u);
  const Json& decision = result["decisions"][0];
  EXPECT_EQ(decision["producer"], "t");
  EXPECT_EQ(decision["consumer"], "y");
  EXPECT_EQ(decision["kind"], "producer_consumer");
  EXPECT_EQ(decision["fused"], true);
  EXPECT_EQ(decision["reason"], "local_dependency");
  EXPECT_EQ(decision["bytes_saved"], 536870912);
  EXPECT_EQ(decision["fits_l2"], false);
}

TEST(Compiled, FormulasThatARangeChoosesAreNoEdges) {
  Options options = planned("h200", {{"B", 16}});
  options.numerics = "fast";
  const char* const text =
      "graph chain(x: f32[B, 100]) {\n  t = tanh(x)\n  s = sigmoid(t)\n  m = mul(t, s)\n"
      "  a = mul(m, 1.01)\n  b = add(a, 0.1)\n  u = tanh(b)\n  v = sigmoid(u)\n"
      "  y = mul(u, v)\n  return y\n}\n";
  const Compiled compiled = Program::parse(text).compile(options);
  const Json decisions = Json::parse(compiled.explain_json())["decisions"];
  ASSERT_EQ(decisions.size(), 10u) << decisions.dump(2);
  EXPECT_EQ(std::ranges::count_if(decisions, [](const Json& d) { return d["kind"] == "formula"; }),
            1)
      << decisions.dump(2);
  EXPECT_NE(compiled.explain().find("decisions (9 edges looked at, 1 formula)"), std::string::npos)
      << compiled.explain();
}

TEST(Compiled, PartsOfAnOpAreNamed) {
  const char* const text =
      "graph top(x: f32[B, 700]) {\n  v, i = topk(x, k=3, dim=1)\n  w = tanh(v)\n"
      "  return w, i\n}\n";
  const Compiled compiled = Program::parse(text).compile(planned("cpu", {{"B", 16}}));
  const std::string report = compiled.explain();
  EXPECT_EQ(report.find("i -> i"), std::string::npos) << report;
  EXPECT_NE(report.find("composite: 'i."), std::string::npos) << report;
  EXPECT_NE(report.find("more are parts of 'i"), std::string::npos) << report;
}

TEST_P(OnDevice, HasEveryKeyOfTheInterface) {
  const Json result = explained(bias_gelu_text, planned(GetParam(), {{"B", 16}}));
  for (const char* key : {"environment", "totals", "groups", "decisions"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  for (const char* key : {"peak_memory_separate", "peak_memory_fused", "predicted_us_separate",
                          "predicted_us_fused", "measured_us_separate"}) {
    EXPECT_TRUE(result["totals"].contains(key)) << key;
  }
  const Json& group = result["groups"][0];
  for (const char* key :
       {"materialized", "recomputed", "bytes_workspace", "flops", "intensity", "bound", "schedule",
        "batch_invariant", "resources", "predicted_us", "measured_us", "percent_of_ceiling"}) {
    EXPECT_TRUE(group.contains(key)) << key;
  }
  const bool gpu = std::string(GetParam()) != "cpu";
  for (const char* key : {"registers", "spill_store_bytes", "spill_load_bytes", "bytes_spill_upper",
                          "stack_bytes", "shared_bytes", "threads_per_block", "blocks_per_sm",
                          "blocks_by", "occupancy", "occupancy_limit"}) {
    ASSERT_TRUE(group["resources"].contains(key)) << key;
    EXPECT_EQ(group["resources"][key].is_null(), !gpu) << key;
  }
  // Of a GPU's kernels the compiler is heard where it is found.
  const bool estimated = group["resources"]["source"] == "estimate";
  EXPECT_TRUE(estimated || group["resources"]["source"] == "compiler");
  EXPECT_EQ(estimated, gpu && result["environment"]["compilers"]["nvrtc"].is_null());
  EXPECT_EQ(group["resources"]["instructions"].is_null(), !gpu || estimated);
  for (const char* key : {"version", "git", "device", "driver", "compilers", "date", "threads"}) {
    EXPECT_TRUE(result["environment"].contains(key)) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, ::testing::Values("cpu", "h200"));

TEST(Explain, TrafficOfAChainFallsAsTwoToTwoK) {
  for (int length = 1; length <= 6; ++length) {
    std::string text = "graph chain(x: f32[N, 1024]) {\n  v0 = neg(x)\n";
    for (int i = 1; i < length; ++i) {
      text += "  v" + std::to_string(i) + " = exp(v" + std::to_string(i - 1) + ")\n";
    }
    text += "  return v" + std::to_string(length - 1) + "\n}\n";
    const Json totals = explained(text, planned("cpu", {{"N", 512}}))["totals"];
    const int64_t tensor = 512 * 1024 * 4;
    EXPECT_EQ(totals["bytes_separate"], 2 * length * tensor);
    EXPECT_EQ(totals["bytes_fused"], 2 * tensor);
    EXPECT_EQ(totals["kernels_fused"], 1);
  }
}

TEST(Explain, SavingsOfTheEdgesSumToTheTotal) {
  const Json result = explained(
      "graph two(x: f32[B, 256], y: f32[B, 256]) {\n  t = mul(x, y)\n  u = exp(t)\n"
      "  v = add(t, u)\n  s = sum(v, dims=[1])\n  return u, s\n}\n",
      planned("cpu", {{"B", 4096}}));
  int64_t saved = 0;
  for (const Json& decision : result["decisions"]) {
    saved += decision["bytes_saved"].get<int64_t>();
  }
  EXPECT_EQ(saved, result["totals"]["bytes_saved"]) << result.dump(1);
}

TEST(Explain, SharedValueSaysWhatBothChoicesCost) {
  const std::string text =
      "graph two(x: f32[B, 256]) {\n  t = exp(x)\n  y = neg(t)\n  return t, y\n}\n";
  const Json result = explained(text, planned("cpu", {{"B", 4096}}));
  ASSERT_EQ(result["groups"].size(), 1u);
  EXPECT_EQ(result["groups"][0]["outputs"], (Json{"t", "y"}));
  EXPECT_EQ(result["groups"][0]["materialized"], Json::array({"t"}));
}

TEST(Explain, TextNamesGroupsReasonsAndBytes) {
  const std::string text =
      Program::parse(bias_gelu_text).compile(planned("cpu", {{"B", 16384}})).explain();
  for (const char* part :
       {"2 ops, 2 kernels separate -> 1 fused", "1,073,758,208 B (1.07 GB)",
        "group 0 add_gelu (elementwise): t, y", "yes  t -> y  local_dependency"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Explain, TextCountsOneAsOne) {
  const std::string one = Program::parse("graph g(x: f32[N]) {\n  y = exp(x)\n  return y\n}\n")
                              .compile(planned("cpu", {}))
                              .explain();
  EXPECT_NE(one.find("\n  1 op, 1 kernel separate -> 1 fused\n"), std::string::npos) << one;
}

TEST(Compiled, RunsWithTheEvaluatorsBits) {
  const Program program = Program::parse(bias_gelu_text);
  const Compiled compiled = program.compile();
  for (const int64_t rows : {1, 3}) {
    const std::vector<Tensor> inputs = {program.sample("x", "random", {{"B", rows}}),
                                        program.sample("b", "random")};
    EXPECT_TRUE(same_bits(compiled.run(inputs)[0], program.evaluate(inputs)[0]));
    EXPECT_EQ(compiled.output_shapes(inputs)[0], (std::vector<int64_t>{rows, 8192}));
  }
}

// The variant for tensors past the caches is made when a run first takes it, from then on kept.
TEST(Compiled, AVariantIsCompiledWhenARunFirstTakesIt) {
  const Program program = Program::parse(
      "graph late(x: f32[B, 65536]) {\n  t = mul(x, 3)\n  y = neg(t)\n  return y\n}\n");
  const Compiled compiled = program.compile();
  const auto kernels = [&] { return compiled.compile_text().substr(0, 9); };
  EXPECT_EQ(kernels(), "1 kernel ");
  const Tensor few = program.sample("x", "random", {{"B", 2}});
  const Tensor result = compiled.run({few})[0];
  EXPECT_EQ(kernels(), "1 kernel ");
  Tensor many(DType::f32, {256, 65536});
  std::memcpy(many.data(), few.data(), static_cast<size_t>(few.bytes()));
  for (int round = 0; round < 2; ++round) {
    const Tensor large = compiled.run({many})[0];
    EXPECT_EQ(std::memcmp(large.data(), result.data(), static_cast<size_t>(result.bytes())), 0);
    EXPECT_EQ(kernels(), "2 kernels");
  }
}

TEST(Compiled, CheckRefusesAnEditedKernelThatDoesNotRun) {
  const Program program = Program::parse(bias_gelu_text);
  std::string text;
  for (const Compiled::Source& source : program.compile().sources()) {
    if (source.name == "add_gelu_rows_streaming") text = source.text;
  }
  const std::string path = ::testing::TempDir() + "/edited_streaming.cpp";
  std::ofstream(path) << text;
  Options options;
  options.kernel_files["add_gelu_rows_streaming"] = path;
  const Compiled compiled = program.compile(options);
  const std::vector<Tensor> inputs = {program.sample("x", "random", {{"B", 2}}),
                                      program.sample("b", "random")};
  EXPECT_NE(rendered_error_of([&] { compiled.check(inputs); }).find("does not run at these sizes"),
            std::string::npos);
}

TEST(Compiled, CheckTriesTailsOfManyNamesOneAfterTheOther) {
  const Program program =
      Program::parse("graph six(x: f32[A, B, C, D, E, F]) {\n  y = relu(x)\n  return y\n}\n");
  const CheckResult result = program.compile().check({program.sample("x", "random", {})});
  EXPECT_TRUE(result.passed) << result.report_text;
}

TEST(Compiled, BenchTextOfNoReportIsAnError) {
  for (const char* json : {"{}", "{nonsense", "[]"}) {
    EXPECT_NE(rendered_error_of([&] { Compiled::bench_text(json); }).find("no report"),
              std::string::npos);
  }
}

TEST(Compiled, RunsOnStridedViews) {
  const Program program = Program::parse("graph p(x: f32[3, 5]) {\n  y = neg(x)\n  return y\n}\n");
  Tensor columns(DType::f32, {5, 3}), result(DType::f32, {5, 3});
  for (int64_t i = 0; i < 15; ++i) {
    columns.set_f64(i, static_cast<double>(i));
  }
  const TensorView from{columns.data(), DType::f32, {3, 5}, {1, 3}};
  const TensorView to{result.data(), DType::f32, {3, 5}, {1, 3}};
  program.compile().run({from}, {to});
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(result.get_f64(i), -static_cast<double>(i));
  }
}

TEST(Compiled, RunsOnLargeUnalignedOutputs) {
  constexpr int64_t size = 5000000;
  const Compiled compiled =
      Program::parse("graph g(x: f32[5000000]) {\n  y = neg(x)\n  return y\n}\n").compile({});
  Tensor x(DType::f32, {size});
  for (int64_t i = 0; i < size; ++i) x.as<float>()[i] = static_cast<float>(i % 1000);
  std::vector<float> memory(static_cast<size_t>(size + 1));
  const TensorView y{memory.data() + 1, DType::f32, {size}, {}};
  compiled.run({view(x)}, {y});
  EXPECT_EQ(memory[1], 0);
  EXPECT_EQ(memory[1000], -999);
  EXPECT_EQ(memory[static_cast<size_t>(size)], -static_cast<float>((size - 1) % 1000));
}

TEST(Compiled, OptionsThatAreWrongAreNamed) {
  const Program program = Program::parse(bias_gelu_text);
  const auto with = [&](const std::function<void(Options&)>& change) {
    Options options;
    change(options);
    return rendered_error_of([&] { program.compile(options); });
  };
  EXPECT_NE(with([](Options& o) { o.numerics = "precise"; }).find("one of exact, wide, fast"),
            std::string::npos);
  EXPECT_NE(with([](Options& o) { o.fusion = "none"; }).find("one of auto, off, all"),
            std::string::npos);
  EXPECT_NE(with([](Options& o) { o.sizes["C"] = 1; }).find("this program has B"),
            std::string::npos);
  EXPECT_NE(with([](Options& o) { o.device = "h300"; }).find("h200"), std::string::npos);
  if (!no_cuda_device().empty()) {
    EXPECT_NE(with([](Options& o) { o.device = "cuda:0"; }).find("no CUDA device"),
              std::string::npos);
  }
  EXPECT_NE(with([](Options& o) { o.threads = -1; }).find("threads"), std::string::npos);
}

TEST(Compiled, NothingRunsOnADeviceModel) {
  if (no_cuda_device().empty()) GTEST_SKIP() << "a CUDA device is here, perhaps of that model";
  const Program program = Program::parse(bias_gelu_text);
  Options options;
  options.device = "h200";
  const Compiled compiled = program.compile(options);
  EXPECT_FALSE(compiled.lower_text().empty());
  const std::vector<Tensor> inputs = {program.sample("x", "zeros"), program.sample("b", "zeros")};
  EXPECT_NE(rendered_error_of([&] { compiled.run(inputs); }).find("is not here"),
            std::string::npos);
}

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(Compiled, TakesItsOwnPlanBack) {
  const Program program = Program::parse(bias_gelu_text);
  const std::string plan = program.compile(planned("cpu", {})).plan_text();
  Options options = planned("cpu", {});
  options.plan_file = write_file("plan.txt", plan);
  const std::string again = program.compile(options).plan_text();
  const auto groups = [](const std::string& text) { return text.substr(0, text.find("# fused")); };
  EXPECT_EQ(groups(again), groups(plan));
  options.plan_file = write_file("again.txt", again);
  EXPECT_EQ(program.compile(options).plan_text(), again);
}

TEST(Compiled, UnknownKernelNameListsTheKernels) {
  const Program program = Program::parse(bias_gelu_text);
  const std::string known = program.compile().sources().at(0).name;
  Options options;
  options.kernel_files["nothing"] = "nothing.cpp";
  const std::string text = rendered_error_of([&] { program.compile(options); });
  EXPECT_NE(text.find(known), std::string::npos) << text;
}

TEST(Compiled, EditedKernelIsTheOneThatRunsAndCheckFindsItsFault) {
  const Program program =
      Program::parse("graph p(x: f32[N, 100]) {\n  y = add(x, 1.0)\n  return y\n}\n");
  Options options;
  for (const Compiled::Source& source : program.compile().sources()) {
    std::string text = source.text;
    const size_t at = text.rfind(" + ");  // the fused expression stands last
    ASSERT_NE(at, std::string::npos) << text;
    // A fault in the arithmetic itself, whatever the text looks like around it.
    for (size_t plus = text.find("1.0f"); plus != std::string::npos;
         plus = text.find("1.0f", plus + 4)) {
      text.replace(plus, 4, "2.0f");
    }
    options.kernel_files[source.name] = write_file(source.name + ".cpp", text);
  }
  const Compiled edited = program.compile(options);
  Tensor x(DType::f32, {1, 100});
  EXPECT_EQ(edited.run({x})[0].get_f64(0), 2);
  const CheckResult result = edited.check({x});
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.report_text.find("edited differs from off"), std::string::npos)
      << result.report_text;
}

TEST(Compiled, CheckPassesOnTheExample) {
  const Program program = Program::parse(
      "graph p(x: f32[N, 10], m: bool[N, 10]) {\n"
      "  z = select(m, x, -inf)\n  y = softmax(z)\n  return y\n}\n");
  const std::vector<Tensor> inputs = {program.sample("x", "random", {{"N", 5}}),
                                      program.sample("m", "random", {{"N", 5}})};
  const CheckResult result = program.compile().check(inputs);
  EXPECT_TRUE(result.passed) << result.report_text;
  const Json report = Json::parse(result.report_json);
  EXPECT_EQ(report["passed"], true);
  EXPECT_EQ(report["cases"].size(), 8u);
}

TEST(Compiled, CheckAllowsShorterFormulasTheirVanishingResults) {
  const Program program = Program::parse(
      "graph g(x: bf16[4]) { a = sigmoid(x) b = silu(x) c = gelu_tanh(x) return a, b, c }");
  Tensor x(DType::bf16, {4});
  for (const double value : {-std::numeric_limits<double>::infinity(), -100.0, -200.0, -95.0}) {
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, value);
    for (const char* numerics : {"exact", "wide", "fast"}) {
      Options options;
      options.numerics = numerics;
      const CheckResult check = program.compile(options).check({x});
      EXPECT_TRUE(check.passed) << numerics << ", " << value << "\n" << check.report_text;
    }
  }
}

TEST(Compiled, CheckTakesProductsOfVectors) {
  const Program program = Program::parse(
      "graph p(x: f32[8], w: f32[8, 4]) {\n  y = matmul(x, w)\n  z = matmul(x, x)\n"
      "  u = matmul(x, w, transpose_a=true)\n  v = matmul(w, x, transpose_a=true)\n"
      "  return y, z, u, v\n}\n");
  const CheckResult result = program.compile().check(
      {program.sample("x", "random", {}), program.sample("w", "random", {})});
  EXPECT_TRUE(result.passed) << result.report_text;
}

TEST(Compiled, BenchGivesTheKeysOfTheInterface) {
  const Program program = Program::parse(bias_gelu_text);
  const Sizes sizes = {{"B", 16}};
  const std::vector<Tensor> inputs = {program.sample("x", "random", sizes),
                                      program.sample("b", "random")};
  BenchOptions options;
  options.repeats = 7;
  const std::string json = program.compile().bench_json(inputs, options);
  const Json result = Json::parse(json);
  for (const char* key : {"device", "environment", "ceilings", "results", "speedup", "identical",
                          "max_abs_error", "max_rel_error", "verdict"}) {
    EXPECT_TRUE(result.contains(key)) << key;
  }
  EXPECT_EQ(result["numerics"], "exact");
  EXPECT_EQ(result["identical"], true);
  ASSERT_GE(result["results"].size(), 2u);
  EXPECT_EQ(result["results"][0]["variant"], "separate");
  EXPECT_EQ(result["results"][0]["launches"], 2);
  EXPECT_EQ(result["results"][1]["launches"], 1);
  for (const Json& variant : result["results"]) {
    EXPECT_LE(variant["kernel_us"]["min"], variant["kernel_us"]["median"]);
    EXPECT_LE(variant["kernel_us"]["median"], variant["kernel_us"]["max"]);
    EXPECT_GT(variant["gbs"], 0);
    EXPECT_LE(variant["kernel_us"]["low"], variant["kernel_us"]["median"]);
    EXPECT_GE(variant["kernel_us"]["high"], variant["kernel_us"]["median"]);
    EXPECT_EQ(variant["launched_us"]["median"], nullptr);  // a GPU's
    EXPECT_EQ(variant["end_to_end_with_transfer_us"]["median"], nullptr);
  }
  EXPECT_EQ(result["left_out"][0]["variant"], "separate_streams");
  EXPECT_NE(result["left_out"][0]["why"].get<std::string>().find("one kernel at a time"),
            std::string::npos);
  EXPECT_EQ(result["speedup"]["over_separate_streams"], nullptr);
  if (result["results"].size() == 3) {  // a library has bf16 kernels where there is AVX-512
    EXPECT_EQ(result["results"][2]["variant"], "library");
    EXPECT_EQ(result["results"][2]["kernels"], "add + gelu");
    EXPECT_LT(result["results"][2]["max_abs_error"], 0.1);
    EXPECT_GT(result["speedup"]["over_library"], 0);
  } else {
    EXPECT_EQ(result["left_out"][1]["variant"], "library");
  }
  EXPECT_NE(Compiled::bench_text(json).find("equal bit for bit"), std::string::npos);
}

}  // namespace
}  // namespace ingot
