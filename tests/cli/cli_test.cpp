// The program as a user calls it: exit codes, streams, files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <ingot/ingot.h>
#include <nlohmann/json.hpp>

#include "support/cli.h"
#include "support/cuda_here.h"

namespace ingot::testing {
namespace {

TEST_F(Cli, HelpAndVersionWorkEverywhere) {
  for (const char* command : {"", "explain", "run", "check", "bench", "emit", "print", "plan",
                              "lower", "lab", "ops", "devices", "cache"}) {
    const Result result = run(std::string(command) + " --help");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_FALSE(result.out.empty()) << command;
  }
  for (const char* command : {"", "explain", "run", "ops", "devices", "cache"}) {
    const Result result = run(std::string(command) + " --version");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_EQ(result.out.rfind("ingot ", 0), 0u) << command << result.out;
  }
}

TEST_F(Cli, WrongCallsAreTwo) {
  expect_error("", 2, "--help");
  expect_error("frobnicate", 2, "frobnicate");
  expect_error("run", 2, "FILE");
  expect_error("run bias_gelu.ingot --colour", 2, "--colour");
  expect_error("run missing.ingot", 2, "missing.ingot");
  expect_error("run bias_gelu.ingot --dim B", 2, "NAME=VALUE");
  expect_error("run bias_gelu.ingot --dim C=3", 2, "this program has B");
  expect_error("run bias_gelu.ingot --dim B=-3", 2, "no size");
  expect_error("run bias_gelu.ingot --dim 'x[1]=3'", 2, "x[1]: expected 64, got 3");
  expect_error("run bias_gelu.ingot --dim B=2 --dim 'x[0]=3'", 2, "given as 2 and as 3");
  expect_error("run bias_gelu.ingot --input z=zeros", 2, "this program has x, b");
  expect_error("run bias_gelu.ingot --input x=twos", 2, "'twos' is not known");
  expect_error("run bias_gelu.ingot --device h300", 2, "h200");
  setenv("CUDA_VISIBLE_DEVICES", "", 1);  // where there is one
  expect_error("run bias_gelu.ingot --device cuda", 2, "no CUDA device");
  unsetenv("CUDA_VISIBLE_DEVICES");
  expect_error("run bias_gelu.ingot --numerics precise", 2, "exact, wide, fast");
  expect_error("run bias_gelu.ingot --threads 0", 2, "1 to 1024");
  expect_error("run bias_gelu.ingot --threads 100000", 2, "1 to 1024");
  expect_error("check bias_gelu.ingot --rtol nan", 2, "at least 0");
  expect_error("check bias_gelu.ingot --atol -1", 2, "at least 0");
}

TEST_F(Cli, WordsThatAreNotExpectedAreSaidInTheirOrder) {
  expect_error("run bias_gelu.ingot first second --third", 2, "not expected: first second --third");
}

// A device that is not here is the last thing that is wrong with a call.
TEST_F(Cli, OtherFaultsComeBeforeAMissingDevice) {
  const std::string gone = " bias_gelu.ingot --device cuda";
  expect_error("run --numerics loose" + gone, 2, "numerics 'loose' is not known");
  expect_error("bench --fusion some" + gone, 2, "fusion 'some' is not known");
  const std::string model = " bias_gelu.ingot --device h200";
  expect_error("check --atol -1" + model, 2, "at least 0");
  write("k.cpp", "int x;\n");
  expect_error("run --kernel other=k.cpp" + model, 2, "no kernel is named 'other'");
}

TEST_F(Cli, WhereNoGpuIsFoundTheDeviceIsTheCpu) {
  EXPECT_EQ(json("run bias_gelu.ingot")["device"], "cpu");
  EXPECT_EQ(json("explain bias_gelu.ingot")["device"], "cpu");
  EXPECT_NE(run("run --help").out.find("default cuda:0 where there is one, else cpu"),
            std::string::npos);
}

TEST_F(Cli, BenchOfOneKernelClaimsNoSpeedup) {
  write("one.ingot", "graph one(x: f32[B, 64]) {\n  y = gelu(x)\n  return y\n}\n");
  const Json one = json("bench one.ingot --dim B=4096 --repeats 7");
  EXPECT_EQ(one["same_kernels"], true);
  EXPECT_EQ(one["speedup"]["kernel"], 1);
  EXPECT_EQ(one["speedup"]["end_to_end"], 1);
  EXPECT_EQ(one["verdict"].get<std::string>().find("fused and separate are the same kernel"), 0u)
      << one["verdict"];
  EXPECT_EQ(json("bench bias_gelu.ingot --dim B=4096 --repeats 7")["same_kernels"], false);
}

// In `wide` the two differ where a value between them is not rounded, as the contract allows.
TEST_F(Cli, BenchHoldsWhatDiffersAgainstTheContract) {
  const std::string call = "bench bias_gelu.ingot --numerics wide --repeats 7 --dim B=";
  const Json few = json(call + "300");
  EXPECT_EQ(few["identical"], false);
  EXPECT_EQ(few["within_contract"], true);
  EXPECT_EQ(json(call + "200000")["within_contract"], nullptr);
  const Result many = run(call + "200000");
  EXPECT_NE(many.out.find("too large to hold against numerics wide"), std::string::npos)
      << many.out;
}

TEST_F(Cli, UnknownOpInTextIsTwoWithACaret) {
  write("bad.ingot", "graph g(x: f32[4]) {\n  y = sofmax(x)\n  return y\n}\n");
  const Result result = run("print bad.ingot");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("bad.ingot:2:"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("softmax"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("^"), std::string::npos) << result.err;
}

TEST_F(Cli, DamagedOnnxFileIsTwo) {
  write("bad.onnx", std::string("\x08\x07\x12\xff\xff garbage", 14));
  expect_error("run bad.onnx", 2, "bad.onnx");
  write("empty.onnx", "");
  expect_error("run empty.onnx", 2, "empty.onnx");
}

TEST_F(Cli, PrintParsesBack) {
  const Result first = run("print bias_gelu.ingot");
  ASSERT_EQ(first.code, 0) << first.err;
  write("again.ingot", first.out);
  EXPECT_EQ(run("print again.ingot").out, first.out);
  EXPECT_EQ(json("print bias_gelu.ingot")["text"], first.out);
}

TEST_F(Cli, PlanAndLowerNeedNoCompiler) {
  for (const char* command : {"plan", "lower", "explain", "emit"}) {
    const Result result = run(std::string(command) + " bias_gelu.ingot --dim B=4",
                              "CXX=/nonexistent PATH=/nonexistent");
    EXPECT_EQ(result.code, 0) << command << result.err;
    EXPECT_NE(result.out.find("add_gelu"), std::string::npos) << result.out;
  }
}

TEST_F(Cli, MissingCompilerIsTwo) {
  const Result result = run("run bias_gelu.ingot --cache fresh", "CXX=/nonexistent/cxx");
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("/nonexistent/cxx"), std::string::npos) << result.err;
}

TEST_F(Cli, UnwritableCacheIsTwo) {
  write("file", "no folder");
  const Result result = run("run bias_gelu.ingot --cache file/cache");
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("file/cache"), std::string::npos) << result.err;
}

TEST_F(Cli, MissingSizesAreOneWithANote) {
  const Result result = run("run bias_gelu.ingot");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("note: dimension B is not given: 1"), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("y: bf16[1, 64]"), std::string::npos) << result.out;
  // The texts are of what would run then: at 1024 rows `y` is a kernel of its own.
  write("few.ingot",
        "graph g(x: f32[B, 64], b: f32[64]) { e = tanh(b) f = exp(e) h = tanh(f) "
        "y = add(x, h) return y }");
  for (const char* command : {"plan", "lower", "emit"}) {
    const Result few = run(std::string(command) + " few.ingot");
    EXPECT_NE(few.err.find("note: dimension B is not given: 1"), std::string::npos) << few.err;
    EXPECT_EQ(few.out, run(std::string(command) + " few.ingot --dim B=1").out) << command;
    EXPECT_NE(few.out, run(std::string(command) + " few.ingot --dim B=1024").out) << command;
  }
}

TEST_F(Cli, RunWritesOutputsThatReadBack) {
  ASSERT_EQ(run("run bias_gelu.ingot --dim B=3 --input x=random:7 --out new/results").code, 0);
  const ingot::Tensor y = ingot::read_npy(path("new/results/y.npy"));
  EXPECT_EQ(y.dtype(), ingot::DType::f32);
  EXPECT_EQ(y.shape(), (std::vector<int64_t>{3, 64}));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(path("new/results"))) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST_F(Cli, NaNsHaveNoSign) {
  write("nan.ingot",
        "graph g(x: f32[2]) {\n  n = neg(x)\n  y = sqrt(n)\n  z = neg(y)\n"
        "  return y, z\n}\n");
  const Result result = run("run nan.ingot --input x=ones");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("nan, nan"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("-nan"), std::string::npos) << result.out;
}

TEST_F(Cli, RunReadsInputsAndTheirSizes) {
  ingot::Tensor x(ingot::DType::f32, {5, 64});
  ingot::write_npy(path("x.npy"), x);
  const Json result = json("run bias_gelu.ingot --input x=x.npy --input b=ones");
  EXPECT_EQ(result["dims"], (Json{{"B", 5}}));
  EXPECT_EQ(result["outputs"][0]["shape"], (Json{5, 64}));
  EXPECT_EQ(result["outputs"][0]["min"], result["outputs"][0]["max"]);
  EXPECT_TRUE(result.contains("environment"));
}

TEST_F(Cli, SizesAtOddsNameTheFilesAndThePlaceInTheProgram) {
  write("two.ingot",
        "graph two(x: f32[B, 4], y: f32[B, 4], z: f32[2*B, C], w: f32[B*C]) {\n  s = add(x, y)\n"
        "  t = neg(z)\n  u = neg(w)\n  return s, t, u\n}\n");
  const auto file = [&](const std::string& name, const std::vector<int64_t>& shape) {
    ingot::write_npy(path(name), ingot::Tensor(ingot::DType::f32, shape));
  };
  file("x3.npy", {3, 4});
  file("y5.npy", {5, 4});
  file("w7.npy", {7});
  file("z6.npy", {6, 2});
  const std::string call = "run two.ingot --input x=x3.npy";
  for (const char* part : {"two.ingot:1:", "y[0]: expected B, got 5, but B = 3 by x[0]",
                           "y is y5.npy, f32[5, 4]", "x is x3.npy, f32[3, 4]"}) {
    expect_error(call + " --input y=y5.npy", 2, part);
  }
  expect_error("run two.ingot --input x=w7.npy", 2, "x is w7.npy, f32[7]");
  expect_error("run two.ingot --input x=w7.npy", 2, "x: expected 2 dimensions [B, 4], got 1");
  expect_error(call + " --dim B=7", 2, "x is x3.npy, f32[3, 4]");
  // Found when all sizes are known.
  for (const std::string command : {"run", "check", "bench"}) {
    const std::string all = command + " two.ingot --input z=z6.npy --input w=w7.npy";
    expect_error(all, 2, "w: expected [B*C], got [7]: B*C is 6");
    expect_error(all, 2, "w is w7.npy, f32[7]");
  }
}

TEST_F(Cli, InputOfAnotherDtypeIsTwo) {
  ingot::write_npy(path("x.npy"), ingot::Tensor(ingot::DType::i64, {5, 64}));
  expect_error("run bias_gelu.ingot --input x=x.npy", 2, "expected bf16, x.npy has i64");
}

TEST_F(Cli, ValuesOfAFileThatAreRoundedAreANote) {
  ingot::Tensor x(ingot::DType::f32, {5, 64});
  ingot::write_npy(path("x.npy"), x);
  EXPECT_EQ(run("run bias_gelu.ingot --input x=x.npy").err.find("rounded"), std::string::npos);
  x.as<float>()[7] = 0.1F;
  ingot::write_npy(path("x.npy"), x);
  const Result result = run("run bias_gelu.ingot --input x=x.npy");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("note: input x: 1 of 320 values of x.npy are rounded from f32 to bf16"),
            std::string::npos)
      << result.err;
}

TEST_F(Cli, ASizeThatHadToBecomeAnotherIsGivenByEitherName) {
  write("two.ingot",
        "graph g(x: f32[B, 2], y: f32[M, 2], z: f32[K, 2], w: f32[7, 2]) {\n  s = add(x, y)\n"
        "  t = add(z, w)\n  return s, t\n}\n");
  EXPECT_EQ(json("run two.ingot --dim M=4")["dims"], (Json{{"B", 4}}));
  EXPECT_EQ(run("run two.ingot --dim M=4 --dim K=7").code, 0);
  expect_error("run two.ingot --dim M=4 --dim B=5", 2, "dimension B is given as 4 and as 5");
  expect_error("run two.ingot --dim K=4", 2, "dimension K: expected 7, got 4");
  expect_error("run two.ingot --dim Q=4", 2, "no dimension is named 'Q'; this program has B");
}

TEST_F(Cli, AnIndexOutOfRangeIsShownInTheProgram) {
  write("take.ingot",
        "graph g(t: f32[4, 2], i: i64[2]) {\n  y = gather(t, i, dim=0)\n  z = exp(y)\n"
        "  return z\n}\n");
  ingot::Tensor ids(ingot::DType::i64, {2});
  ids.set_i64(1, 9);
  ingot::write_npy(path("i.npy"), ids);
  expect_error("run take.ingot --input i=i.npy", 2,
               "take.ingot:2:7: error: gather 'y': index 9 out of range [0, 4)");
}

TEST_F(Cli, WithoutMemoryTheTensorIsNamed) {
  write("outer.ingot", "graph g(x: f32[B], w: f32[N, 1]) {\n  y = add(x, w)\n  return y\n}\n");
  expect_error("run outer.ingot --dim B=10000000 --dim N=40000000", 2,
               "y: out of memory: 1600000000000000 bytes for f32[40000000, 10000000]");
}

TEST_F(Cli, FreshProcessesMakeTheSamePlanAndBits) {
  std::string text = "graph many(x: f32[B, 96], y: f64[B, 96]) {\n  a0 = add(x, 1)\n";
  for (int i = 1; i < 60; ++i) {
    const std::string last = std::to_string(i - 1), next = std::to_string(i);
    text += "  m" + next + " = " + (i % 3 == 0 ? "max" : "sum") + "(a" + last + ", dims=[" +
            (i % 2 == 0 ? "0" : "1") + "], keepdims=true)\n";
    text += "  d" + next + " = sub(a" + last + ", m" + next + ")\n  a" + next + " = sin(d" + next +
            ")\n";
  }
  write("many.ingot", text + "  z = mul(y, 0.3)\n  s = sum(z, dims=[1])\n  return a59, s\n}\n");
  const std::string plan = run("plan many.ingot --dim B=33").out;
  EXPECT_GT(plan.size(), 1000u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run("plan many.ingot --dim B=33").out, plan);
  for (const std::string folder : {"one", "two"}) {
    ASSERT_EQ(run("run many.ingot --dim B=33 --out " + folder + " --cache cache_" + folder).code,
              0);
  }
  for (const char* output : {"a59.npy", "s.npy"}) {
    EXPECT_EQ(read(path("one") / output), read(path("two") / output)) << output;
  }
}

TEST_F(Cli, UnwritableOutputLeavesNothing) {
  write("file", "no folder");
  const Result result = run("run bias_gelu.ingot --dim B=3 --out file/results");
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("file/results"), std::string::npos) << result.err;
  EXPECT_EQ(read(path("file")), "no folder");
}

TEST_F(Cli, ALimitOfFileSizesIsTwo) {
  ASSERT_EQ(run("run bias_gelu.ingot --dim B=4096 --cache kernels").code, 0);
  const Result result =
      run("run bias_gelu.ingot --dim B=4096 --cache kernels --out full", "ulimit -f 64;");
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::is_empty(path("full"))) << fs::directory_iterator(path("full"))->path();
}

TEST_F(Cli, OutputNamesAreMadeSafe) {
  write("odd.ingot", "graph g(x: f32[4]) {\n  y = neg(x)\n  return `a/../b c`=y\n}\n");
  ASSERT_EQ(run("run odd.ingot --out results").code, 0);
  EXPECT_TRUE(fs::exists(path("results/a_.._b_c.npy")));
}

TEST_F(Cli, ExplainJsonHasTheBytes) {
  const Json result = json("explain bias_gelu.ingot --dim B=1024 --device h200");
  EXPECT_EQ(result["totals"]["bytes_fused"], 2 * 1024 * 64 * 2 + 64 * 2);
  EXPECT_EQ(result["device"], "h200");
}

TEST_F(Cli, CheckPasses) {
  const Result result = run("check bias_gelu.ingot --dim B=3");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("passed"), std::string::npos);
}

TEST_F(Cli, AnOutputThatCannotTakeItsPlaceLeavesNothing) {
  fs::create_directories(path("full/y.npy"));
  expect_error("run bias_gelu.ingot --dim B=1 --out full", 2, "y.npy");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("full")), fs::directory_iterator()), 1);
}

TEST_F(Cli, EditedPlanIsUsed) {
  const Result plan = run("plan bias_gelu.ingot --fusion off");
  ASSERT_EQ(plan.code, 0) << plan.err;
  write("plan.txt", plan.out);
  const Json result = json("explain bias_gelu.ingot --dim B=4 --plan plan.txt");
  EXPECT_EQ(result["totals"]["kernels_fused"], 2);
  write("plan.txt", "nonsense");
  expect_error("run bias_gelu.ingot --dim B=4 --plan plan.txt", 2, "plan.txt:1:1");
}

TEST_F(Cli, EmitWritesSourcesAndResources) {
  const Result result = run("emit bias_gelu.ingot --out sources");
  ASSERT_EQ(result.code, 0) << result.err;
  int sources = 0;
  for (const auto& entry : fs::directory_iterator(path("sources"))) {
    const std::string text = read(entry.path());
    if (entry.path().extension() == ".cpp") {
      ++sources;
      EXPECT_NE(text.find("extern \"C\""), std::string::npos);
    } else {
      EXPECT_TRUE(Json::accept(text)) << entry.path();
    }
  }
  EXPECT_GE(sources, 1);
}

TEST_F(Cli, TablesAreJsonToo) {
  EXPECT_GT(json("ops")["ops"].size(), 60u);
  const Json devices = json("devices --no-measure");
  EXPECT_EQ(devices["found"][0]["name"], "cpu");
  EXPECT_GE(devices["models"].size(), 2u);
  // Either what was found, or why nothing was.
  EXPECT_NE(devices["cuda"]["nvrtc"].is_null(), devices["cuda"]["nvrtc_problem"].is_null());
  EXPECT_EQ(devices["cuda"]["problem"].is_null(), devices["found"].size() > 1);
  const Json without = Json::parse(run("devices --no-measure --json", "INGOT_NVRTC=/nowhere").out);
  EXPECT_TRUE(without["cuda"]["nvrtc"].is_null());
  EXPECT_NE(without["cuda"]["nvrtc_problem"].get<std::string>().find("/nowhere"),
            std::string::npos);
  EXPECT_NE(run("ops --markdown").out.find("# Ops"), std::string::npos);
}

TEST_F(Cli, CacheCountsVerifiesAndClears) {
  ASSERT_EQ(run("run bias_gelu.ingot --dim B=1 --cache kernels").code, 0);
  EXPECT_GE(json("cache stats --cache kernels")["entries"], 1);
  EXPECT_EQ(json("cache verify --cache kernels")["damaged"], 0);
  for (const auto& entry : fs::recursive_directory_iterator(path("kernels"))) {
    if (entry.path().extension() == ".so") fs::resize_file(entry.path(), 100);
  }
  const Result damaged = run("cache verify --cache kernels");
  EXPECT_EQ(damaged.code, 1) << damaged.out;
  EXPECT_NE(damaged.out.find("damaged and removed"), std::string::npos) << damaged.out;
  ASSERT_EQ(run("run bias_gelu.ingot --dim B=1 --cache kernels").code, 0);
  EXPECT_GE(json("cache clear --cache kernels")["entries"], 1);
  EXPECT_EQ(json("cache stats --cache kernels")["entries"], 0);
}

TEST_F(Cli, ACacheThatIsAFileIsAnError) {
  write("file", "no folder");
  for (const char* action : {"stats", "verify", "clear"}) {
    expect_error(std::string("cache ") + action + " --cache file", 2, "is no folder");
  }
}

TEST_F(Cli, WhatCannotBeWrittenToStdoutIsAnError) {
  for (const char* command :
       {"--help", "--version", "ops", "ops --help", "cache stats --cache none",
        "print bias_gelu.ingot", "explain bias_gelu.ingot --dim B=2", "plan bias_gelu.ingot",
        "run bias_gelu.ingot --dim B=1"}) {
    const Result result = run(std::string(command) + " 2>err.txt >/dev/full #");
    EXPECT_EQ(result.code, 2) << command;
    EXPECT_NE(result.err.find("cannot write to stdout"), std::string::npos) << result.err;
  }
}

TEST_F(Cli, SizesThatOverflowNameTheTensor) {
  write("outer.ingot",
        "graph outer(x: f32[N, 1], z: f32[1, N]) {\n  y = add(x, z)\n  return y\n}\n");
  expect_error("explain outer.ingot --dim N=4294967296", 2, "outer.ingot:2:");
  expect_error("explain outer.ingot --dim N=4294967296", 2, "y: f32[4294967296, 4294967296]");
  expect_error("explain bias_gelu.ingot --dim B=9223372036854775807", 2, "x: bf16[");
}

TEST_F(Cli, BytesThatAreNoTextAreEscaped) {
  write("bom.ingot", "\xff\xfeg\x1b[31m");
  expect_error("print bom.ingot", 2, "\\xff\\xfeg\\x1b[31m");
  EXPECT_EQ(run("print bom.ingot").err.find('\x1b'), std::string::npos);
}

TEST_F(Cli, BenchJsonIsOneObject) {
  const Json result = json("bench bias_gelu.ingot --dim B=16 --repeats 7");
  EXPECT_EQ(result["identical"], true);
  EXPECT_EQ(result["repeats"], 7);
}

TEST_F(Cli, ProgramsThatCannotRunOnAGpuAreSaid) {
  write("mm.ingot",
        "graph mm(x: f32[B, 64], w: f32[64, 32]) {\n  m = matmul(x, w)\n  e = exp(x)\n"
        "  s = sum(e, dims=[1])\n  return m, s\n}\n");
  const char* const why = "it holds a matrix product or convolution";
  for (const std::string command : {"plan", "lower", "emit"}) {
    const Result result = run(command + " mm.ingot --dim B=4 --device h200");
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.err.find("note: the program cannot run on h200 yet: matmul_kernel: "),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
    EXPECT_EQ(run(command + " mm.ingot --dim B=4").err.find("cannot run"), std::string::npos);
  }
  const std::string report = run("explain mm.ingot --dim B=4 --device h200").out;
  EXPECT_NE(report.find("cannot run on h200 yet: 1 kernel has no form for a GPU"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find(why), std::string::npos) << report;
  const Json groups = json("explain mm.ingot --dim B=4 --device h200")["groups"];
  ASSERT_EQ(groups.size(), 2u);
  int blocked = 0;
  for (const Json& group : groups) blocked += group["obstacle"].is_null() ? 0 : 1;
  EXPECT_EQ(blocked, 1);
  EXPECT_TRUE(json("explain mm.ingot --dim B=4")["groups"][0]["obstacle"].is_null());
}

TEST_F(Cli, ResourcesWithoutACompilerSayWhy) {
  const std::string call = " bias_gelu.ingot --dim B=64 --device h200";
  const Result report = run("explain" + call, "INGOT_NVRTC=/nowhere");
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_NE(report.out.find("resources estimated: no NVRTC"), std::string::npos) << report.out;
  EXPECT_NE(report.out.find("/nowhere"), std::string::npos) << report.out;
  const Json sources =
      Json::parse(run("emit --json" + call, "INGOT_NVRTC=/nowhere").out)["sources"];
  ASSERT_EQ(sources.size(), 2u);
  for (const Json& source : sources) {
    EXPECT_EQ(source["resources"]["source"], "estimate");
    EXPECT_NE(source["resources"]["note"].get<std::string>().find("/nowhere"), std::string::npos);
  }
  const Json here = json("emit bias_gelu.ingot")["sources"];
  EXPECT_NE(here[0]["resources"]["note"].get<std::string>().find("CPU"), std::string::npos);
  if (const std::string why = ingot::testing::no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_NE(run("explain" + call).out.find("NVRTC "), std::string::npos);
  EXPECT_TRUE(json("explain" + call)["compiler_problem"].is_null());
}

// One list of devices: the table of models.
TEST_F(Cli, DevicesAreListedAlikeEverywhere) {
  std::string names;
  for (const std::string& name : ingot::device_names()) names += (names.empty() ? "" : ", ") + name;
  EXPECT_NE(names.find("cpu, h200, "), std::string::npos);
  for (const char* device : {"h300", "cudax"}) {
    expect_error(std::string("explain bias_gelu.ingot --device ") + device, 2, names);
  }
  EXPECT_NE(run("run bias_gelu.ingot --device cuda", "CUDA_VISIBLE_DEVICES=").err.find(names),
            std::string::npos);
  std::string help = run("explain --help").out;
  help.erase(std::remove(help.begin(), help.end(), '\n'), help.end());
  for (size_t at = help.find("  "); at != std::string::npos; at = help.find("  "))
    help.erase(at, 1);
  EXPECT_NE(help.find("one of " + names), std::string::npos) << help;
  const std::string table = run("devices --no-measure").out;
  for (const std::string& name : ingot::device_names()) {
    EXPECT_NE(table.find("\n  " + name), std::string::npos) << name;
  }
}

TEST_F(Cli, TimesOfLittleButTheClockAreNoVerdict) {
  const Json tiny = json("bench bias_gelu.ingot --dim B=1 --repeats 31");
  const std::string verdict = tiny["verdict"];
  const auto us = [&](size_t i) { return tiny["results"][i]["kernel_us"]["median"].get<double>(); };
  EXPECT_EQ(verdict.find("too short to compare") == 0, us(0) < 1 && us(1) < 1) << tiny.dump(2);
  const Json large = json("bench bias_gelu.ingot --dim B=20000 --repeats 7");
  EXPECT_EQ(large["verdict"].get<std::string>().find("fused "), 0u) << large["verdict"];
}

// Times of this machine by a factor of 1000: however disturbed a run is, that is a regression.
TEST_F(Cli, BenchAgainstABase) {
  const std::string call = "bench bias_gelu.ingot --dim B=2000 --repeats 9 --threads 1";
  Json base = json(call);
  write("base.json", base.dump());
  const auto scale = [&](double factor) {
    for (Json& variant : base["results"]) {
      for (const char* time : {"kernel_us", "end_to_end_us"}) {
        for (const char* key : {"min", "median", "max", "low", "high"}) {
          variant[time][key] = variant[time][key].get<double>() * factor;
        }
        for (Json& us : variant[time]["quartiles"]) us = us.get<double>() * factor;
      }
    }
  };
  scale(1e-3);
  write("fast.json", base.dump());
  const Result slower = run(call + " --compare fast.json");
  EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
  EXPECT_NE(slower.out.find("slower: fused, B = 2000, in kernels: "), std::string::npos)
      << slower.out;
  EXPECT_NE(slower.out.find("a regression: "), std::string::npos) << slower.out;
  scale(1e6);
  write("slow.json", base.dump());
  const Result faster = run(call + " --compare slow.json --json");
  EXPECT_EQ(faster.code, 0) << faster.err;
  EXPECT_EQ(Json::parse(faster.out)["comparison"]["faster"], 4) << faster.out;
  expect_error("bench bias_gelu.ingot --dim B=8 --repeats 9 --threads 1 --compare base.json", 2,
               "sizes: B = 8 here, B = 2000 in the base");
  expect_error(call + " --numerics fast --compare base.json", 2, "numerics: fast here");
  expect_error(call + " --compare missing.json", 2, "cannot read missing.json");
  write("text.json", "no JSON");
  expect_error(call + " --compare text.json", 2, "--compare text.json: the base is no JSON");
}

TEST_F(Cli, BenchSweepHasAReportForEachSize) {
  write("two.ingot", "graph two(x: f32[R, C]) {\n  e = exp(x)\n  y = neg(e)\n  return y\n}\n");
  const std::string call = "bench two.ingot --repeats 7 --threads 1";
  const std::string sweep = call + " --sweep R=3,5 --sweep C=7,64";
  const Json report = json(sweep);
  std::vector<Json> dims;
  for (const Json& one : report["sweep"]) dims.push_back(one["dims"]);
  EXPECT_EQ(Json(dims), Json({{{"R", 3}, {"C", 7}},
                              {{"R", 3}, {"C", 64}},
                              {{"R", 5}, {"C", 7}},
                              {{"R", 5}, {"C", 64}}}));
  EXPECT_EQ(report["swept"], Json({"R", "C"}));
  EXPECT_EQ(report["sweep"][3]["results"].size(), 3u);  // a library has exp and neg, too
  write("base.json", report.dump());
  const Result again = run(sweep + " --compare base.json --json");
  ASSERT_NE(again.code, 2) << again.err;
  EXPECT_EQ(Json::parse(again.out)["comparison"]["times"].size(), 4u * 2 * 2);
  expect_error(call + " --sweep R=6 --dim C=7 --compare base.json", 2, "sizes: R = 6, C = 7 here");
  const Result one = run(call + " --sweep 'x[0]=3,5' --dim C=8");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_NE(one.out.find("fusing pays"), std::string::npos) << one.out;
  EXPECT_EQ(run(call + " --sweep R=3,5").err,
            "note: dimension C is not given: 1 (--dim C=SIZE "
            "sets it)\n");
  expect_error(call + " --sweep R", 2, "--sweep takes NAME=N,N,..., not 'R'");
  expect_error(call + " --sweep R=3,,5", 2, "a size is missing");
  expect_error(call + " --sweep R=3,x", 2, "'x' is no size");
  expect_error(call + " --sweep Q=3", 2, "this program has R, C");
  expect_error(call + " --sweep R=3 --dim R=4", 2, "given as 4 and as 3");
}

TEST_F(Cli, BenchCountersAreThereOrSayWhyNot) {
  const std::string call = "bench bias_gelu.ingot --dim B=64 --repeats 7";
  EXPECT_EQ(json(call)["counters_problem"], nullptr);
  EXPECT_EQ(json(call)["results"][1]["counters"], nullptr);
  const Json report = json(call + " --counters");
  const Result text = run(call + " --counters");
  for (size_t i = 0; i < 2; ++i) {
    const Json& counters = report["results"][i]["counters"];
    if (report["counters_problem"].is_null()) {
      EXPECT_GT(counters["instructions"], 64 * 64 / 64);
      EXPECT_GT(counters["calls"], 4);
      EXPECT_NE(text.out.find("counted in fused: "), std::string::npos) << text.out;
    } else {
      EXPECT_EQ(counters, nullptr);
      EXPECT_NE(text.out.find("no counters: "), std::string::npos) << text.out;
    }
  }
}

TEST_F(Cli, TuneSaysWhichKernelsAGpuHasNot) {
  write("mm.ingot",
        "graph mm(x: f32[B, 64], w: f32[64, 32]) {\n  m = matmul(x, w)\n  return m\n}\n");
  write("both.ingot",
        "graph both(x: f32[B, 64], w: f32[64, 32]) {\n  m = matmul(x, w)\n  e = exp(x)\n"
        "  return m, e\n}\n");
  if (const std::string why = ingot::testing::no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  const std::string caps = " --dim B=64 --device h200 --register-caps 32";
  expect_error("tune mm.ingot" + caps, 3, "matmul_kernel: it holds a matrix product");
  const Result result = run("tune both.ingot" + caps);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(
      result.out.find("(kernel matmul_kernel) does not run on a GPU: it holds a matrix product"),
      std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("limited by"), std::string::npos) << result.out;
}

TEST_F(Cli, TuneShowsWhatBoundsOnRegistersDo) {
  expect_error("tune bias_gelu.ingot --dim B=64 --register-caps 32", 2, "kernels of a GPU");
  expect_error("tune bias_gelu.ingot --device h200 --register-caps 8", 2, "16 to 255");
  expect_error("tune bias_gelu.ingot --dim B=64 --budget 0", 2, "a budget of 0 s: more than 0");
  if (const std::string why = ingot::testing::no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  const std::string command =
      "tune bias_gelu.ingot --dim B=16384 --device h200 --register-caps 24,64";
  const Json report = json(command);
  ASSERT_EQ(report["groups"].size(), 1U);
  const Json& candidates = report["groups"][0]["candidates"];
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_TRUE(candidates[0]["cap"].is_null());
  EXPECT_LE(candidates[1]["registers"], 24);
  EXPECT_LE(candidates[2]["registers"], 64);
  EXPECT_EQ(candidates[2]["spill_store_bytes"], 0);
  EXPECT_GE(candidates[1]["occupancy"], candidates[2]["occupancy"]);
  EXPECT_NE(run(command).out.find("limited by"), std::string::npos);
}

TEST_F(Cli, VerboseSaysWhatWasCompiled) {
  const Result result = run("run bias_gelu.ingot --dim B=1 -v");
  EXPECT_NE(result.err.find(" unit"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace ingot::testing
