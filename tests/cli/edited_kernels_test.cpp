// Kernels that a user has edited: `--kernel NAME=FILE`.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/cli.h"

namespace ingot::testing {
namespace {

TEST_F(Cli, CheckOfAFaultyKernelIsOneAndShowsWhere) {
  write("add.ingot", "graph g(x: f32[N, 40]) {\n  y = add(x, 1.0)\n  return y\n}\n");
  ASSERT_EQ(run("emit add.ingot --out sources").code, 0);
  std::string kernels;
  for (const auto& entry : fs::directory_iterator(path("sources"))) {
    if (entry.path().extension() != ".cpp") {
      continue;
    }
    std::string text = read(entry.path());
    for (size_t at = text.find("1.0f"); at != std::string::npos; at = text.find("1.0f", at + 4)) {
      text.replace(at, 4, "2.0f");
    }
    std::ofstream(entry.path()) << text;
    kernels += " --kernel " + entry.path().stem().string() + "=" + entry.path().string();
  }
  ASSERT_NE(kernels, "");
  const Result result = run("check add.ingot --dim N=3" + kernels);
  EXPECT_EQ(result.code, 1) << result.out << result.err;
  EXPECT_NE(result.out.find("first at [0, 0]"), std::string::npos) << result.out;
  // A bound that is wide enough lets it pass.
  EXPECT_EQ(run("check add.ingot --dim N=3 --atol 1.5 --rtol 1" + kernels).code, 0);
}

// Of the two variants of a small program the one for large tensors does not run.
TEST_F(Cli, AnEditedKernelThatDoesNotRunIsSaid) {
  ASSERT_EQ(run("emit bias_gelu.ingot --out src").code, 0);
  const std::string large = " --kernel add_gelu_rows_streaming=src/add_gelu_rows_streaming.cpp";
  const std::string small = " --kernel add_gelu_rows=src/add_gelu_rows.cpp";
  for (const std::string command : {"run", "check", "bench --repeats 7", "explain --measure"}) {
    const std::string call = command + " bias_gelu.ingot --dim B=3";
    expect_error(call + large, 2, "add_gelu_rows runs instead of add_gelu_rows_streaming");
    const Result both = run(call + large + small);
    EXPECT_EQ(both.code, 0) << both.err;
    const std::string said = both.out + both.err;
    EXPECT_NE(said.find("the edited kernel add_gelu_rows_streaming"), std::string::npos) << said;
    EXPECT_NE(said.find("at these sizes add_gelu_rows runs"), std::string::npos) << said;
    EXPECT_EQ(json(call + large + small)["edited_not_run"],
              (Json{{"add_gelu_rows_streaming", "add_gelu_rows"}}));
    const Result used = run(call + small);
    EXPECT_EQ((used.out + used.err).find("the edited kernel"), std::string::npos) << used.out;
  }
}

// Where nothing runs it is no error either: the texts hold every variant.
TEST_F(Cli, AnEditedKernelThatWouldNotRunIsSaid) {
  write("k.loops", run("lower bias_gelu.ingot").out);
  const std::string large = " bias_gelu.ingot --dim B=3 --kernel add_gelu_rows_streaming=k.loops";
  const std::string words =
      "the edited kernel add_gelu_rows_streaming is not used: at these sizes add_gelu_rows runs";
  for (const std::string command : {"explain", "lower", "emit"}) {
    const Result result = run(command + large);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE((result.out + result.err).find(words), std::string::npos) << result.err;
    const Result used = run(command + " bias_gelu.ingot --kernel add_gelu_rows=k.loops");
    EXPECT_EQ((used.out + used.err).find("the edited kernel"), std::string::npos) << used.out;
  }
  EXPECT_EQ(json("explain" + large)["edited_not_run"],
            (Json{{"add_gelu_rows_streaming", "add_gelu_rows"}}));
}

TEST_F(Cli, BenchOfAFaultyKernelIsOne) {
  std::string loops = run("lower bias_gelu.ingot").out;
  for (size_t at = loops.find("gelu(t)"); at != std::string::npos; at = loops.find("gelu(t)")) {
    loops.replace(at, 7, "neg(t)");
  }
  write("k.loops", loops);
  const std::string call =
      "bench bias_gelu.ingot --dim B=3 --repeats 7 --kernel add_gelu_rows=k.loops";
  const Result result = run(call);
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_NE(result.out.find("differ by more than numerics exact allows"), std::string::npos)
      << result.out;
  const Result as_json = run(call + " --json");
  EXPECT_EQ(as_json.code, 1);
  EXPECT_EQ(Json::parse(as_json.out)["within_contract"], false);
}

TEST_F(Cli, ASourceWhereNothingIsCompiledIsRefused) {
  ASSERT_EQ(run("emit bias_gelu.ingot --out src").code, 0);
  for (const std::string command : {"explain", "plan", "lower", "emit"}) {
    const std::string call = command + " bias_gelu.ingot --kernel ";
    expect_error(call + "add_gelu_rows=src/add_gelu_rows.cpp", 2, "is for run, check and bench");
    expect_error(call + "other=src/add_gelu_rows.cpp", 2, "no kernel is named 'other'");
  }
}

TEST_F(Cli, LoopsAreGivenBackAsKernels) {
  const std::string both =
      " --kernel add_gelu_rows=k.loops --kernel add_gelu_rows_streaming=k.loops";
  const std::string call = "lower bias_gelu.ingot";
  const Result ours = run(call);
  ASSERT_EQ(ours.code, 0) << ours.err;
  write("k.loops", ours.out);
  EXPECT_EQ(run(call + both).out, ours.out);
  std::string edited = ours.out;
  for (size_t at = edited.find("gelu(t)"); at != std::string::npos; at = edited.find("gelu(t)")) {
    edited.replace(at, 7, "neg(t)");
  }
  write("k.loops", edited);
  EXPECT_EQ(run(call + both).out, edited);
  const std::string inputs = " --dim B=3 --input x=ones --input b=ones";
  const Result result = run("run bias_gelu.ingot" + inputs + both);
  EXPECT_NE(result.out.find("min -2, max -2"), std::string::npos) << result.out << result.err;
  EXPECT_EQ(run("check bias_gelu.ingot" + inputs + both).code, 1);
  // What is not the kernel's is refused.
  const std::string one = "run bias_gelu.ingot --dim B=3 --kernel add_gelu_rows=k.loops";
  write("k.loops", "kernel other() sizes() {\n}\n");
  expect_error(one, 2, "k.loops: no kernel 'add_gelu_rows' in it");
  write("k.loops",
        "kernel add_gelu_rows(x: f32[4] in) sizes() {\n"
        "  phase p in parallel(4) grain 1 {\n    y: f32 = load x[p]\n  }\n}\n");
  expect_error(one, 2, "takes other parameters");
  std::string broken = ours.out;
  broken.replace(broken.find("store y["), 8, "store q[");
  write("k.loops", broken);
  expect_error(one, 2, "k.loops:");
}

TEST_F(Cli, LoopsOfAnotherDeviceAreEmittedFromText) {
  const Result ours = run("lower bias_gelu.ingot --device h200");
  ASSERT_EQ(ours.code, 0) << ours.err;
  std::string edited = ours.out;
  edited.replace(edited.find("gelu(t)"), 7, "silu(t)");
  write("k.loops", edited);
  const Result text = run("emit bias_gelu.ingot --device h200 --kernel add_gelu_rows_few=k.loops");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("silu"), std::string::npos) << text.out;
}

TEST_F(Cli, LoopsOfAGpuAreNoKernelOfACpu) {
  const Result lowered = run("lower bias_gelu.ingot --device h200 --dim B=16");
  ASSERT_EQ(lowered.code, 0) << lowered.err;
  write("h200.txt", lowered.out);
  expect_error("run bias_gelu.ingot --dim B=16 --kernel add_gelu_rows=h200.txt", 2,
               "has no formula for bf16 on a CPU");
}

TEST_F(Cli, AKernelThatIsNoTextIsRefusedInAFewWords) {
  std::string bytes;
  for (int i = 0; i < 40000; ++i) bytes += static_cast<char>((i * 7919 + i / 256) % 256);
  write("garbage", bytes);
  const std::string call = "run bias_gelu.ingot --dim B=3 --kernel add_gelu_rows=garbage";
  expect_error(call, 2, "garbage: no text: byte 0 is 0x00");
  EXPECT_LT(run(call).err.size(), 300u);
  const std::pair<const char*, const char*> odd_bytes[] = {{"kernel \xff", "0xff"},
                                                           {"kernel \xe9t\xe9", "0xe9"},
                                                           {"kernel \xc2\x9b", "0xc2"},
                                                           {"kernel \xe2\x82", "0xe2"}};
  for (const auto& [odd, byte] : odd_bytes) {
    write("garbage", odd);
    expect_error(call, 2, std::string("garbage: no text: byte 7 is ") + byte);
  }
  write("garbage", "// \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");  // text, but no kernel
  EXPECT_EQ(run(call).err.find("no text"), std::string::npos) << run(call).err;
  write("garbage", std::string(100000, 'x'));  // text, but on one line
  expect_error(call, 2, "garbage");
  EXPECT_LT(run(call).err.size(), 1500u);
}

TEST_F(Cli, UnknownKernelIsTwoAndListsThem) {
  expect_error("run bias_gelu.ingot --dim B=1 --kernel nothing=bias_gelu.ingot", 2, "add_gelu");
}

TEST_F(Cli, AnEditedKernelThatDoesNotCompileIsTwo) {
  const Result result = run("emit bias_gelu.ingot --dim B=1 --out sources");
  ASSERT_EQ(result.code, 0) << result.err;
  write("mine.cpp", "nonsense");
  for (const auto& entry : fs::directory_iterator(path("sources"))) {
    if (entry.path().extension() != ".cpp") continue;
    expect_error(
        "run bias_gelu.ingot --dim B=1 --kernel " + entry.path().stem().string() + "=mine.cpp", 2,
        "mine.cpp");
  }
}

}  // namespace
}  // namespace ingot::testing
