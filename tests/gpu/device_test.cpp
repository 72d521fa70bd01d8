// What a program on a GPU promises its caller. Needs a device; skipped visibly without one.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include <ingot/ingot.h>

#include "api/device.h"
#include "api/pipeline.h"
#include "base/text.h"
#include "graph/passes/passes.h"
#include "run/cuda_driver.h"
#include "run/device_executable.h"
#include "support/cuda_here.h"
#include "support/errors.h"

namespace ingot::testing {
namespace {

class Gpu : public OnCudaDevice {
 protected:
  static Compiled compile(const Program& program, const std::string& device,
                          const std::string& fusion = "auto") {
    Options options;
    options.device = device;
    options.fusion = fusion;
    return program.compile(options);
  }
};

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0);
}

const char* const bias_gelu = R"(graph g(x: f32[B, 100], b: f32[100]) {
  t = add(x, b)
  y = gelu(t)
  s = sum(y, dims=[1])
  return y, s
})";

TEST_F(Gpu, NamedSizesTakeAnyNumberWithoutCompilingAgain) {
  const Program program = Program::parse(bias_gelu);
  const Compiled gpu = compile(program, "cuda"), cpu = compile(program, "cpu");
  for (const int64_t rows : {0, 1, 7, 1000, 70001}) {
    const std::vector<Tensor> inputs = {program.sample("x", "random:1", {{"B", rows}}),
                                        program.sample("b", "random:2")};
    const std::vector<Tensor> got = gpu.run(inputs), expected = cpu.run(inputs);
    for (size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i]);
  }
}

TEST_F(Gpu, StridedInputsAndOutputs) {
  const Program program = Program::parse("graph g(x: f32[B, 8]) { y = neg(x) return y }");
  const Compiled gpu = compile(program, "cuda");
  const Tensor x = program.sample("x", "random", {{"B", 5}});
  Tensor wide(DType::f32, {5, 16}), y(DType::f32, {5, 16});
  for (int64_t i = 0; i < 40; ++i) wide.as<float>()[i / 8 * 16 + i % 8 * 2] = x.as<float>()[i];
  TensorView in = view(wide), out = view(y);
  in.shape = out.shape = {5, 8};
  in.strides = out.strides = {16, 2};
  gpu.run({in}, {out});
  for (int64_t i = 0; i < 80; ++i) {
    const float expected = i % 2 == 0 ? -x.as<float>()[i / 16 * 8 + i % 16 / 2] : 0.0F;
    EXPECT_EQ(y.as<float>()[i], expected) << i;
  }
}

TEST_F(Gpu, InPlaceAndPassedThrough) {
  const Program program = Program::parse("graph g(x: f32[B]) { y = neg(x) return y, x, y }");
  const Compiled gpu = compile(program, "cuda");
  Tensor x = program.sample("x", "random", {{"B", 300}});
  const std::vector<Tensor> expected = compile(program, "cpu").run({x});
  Tensor same(DType::f32, {300}), other(DType::f32, {300});
  gpu.run({view(x)}, {view(x), view(same), view(other)});
  expect_same_bits(x, expected[0]);
  expect_same_bits(same, expected[1]);
  expect_same_bits(other, expected[2]);
}

TEST_F(Gpu, FailedChecksAreRaisedAsOnTheCpuAndTheProgramGoesOn) {
  const Program program =
      Program::parse("graph g(t: f32[257, 4], i: i64[B]) { y = gather(t, i, dim=0) return y }");
  const Compiled gpu = compile(program, "cuda"), cpu = compile(program, "cpu");
  const Tensor table = program.sample("t", "random");
  Tensor ids(DType::i64, {9});
  ids.set_i64(4, 257);
  const Error on_gpu = error_of([&] { gpu.run({table, ids}); });
  const Error on_cpu = error_of([&] { cpu.run({table, ids}); });
  EXPECT_EQ(on_gpu.kind(), on_cpu.kind());
  EXPECT_EQ(on_gpu.message(), on_cpu.message());
  ids.set_i64(4, 256);
  expect_same_bits(gpu.run({table, ids})[0], cpu.run({table, ids})[0]);
}

TEST_F(Gpu, OutOfMemoryIsAnErrorAndTheProgramGoesOn) {
  const Program program = Program::parse(R"(graph g(a: f32[N, 1], b: f32[1, N]) {
    t = add(a, b)
    s = sum(t, dims=[1])
    return s
  })");
  const Compiled gpu = compile(program, "cuda", "off");
  const auto inputs = [&](int64_t n) {
    return std::vector<Tensor>{program.sample("a", "random:1", {{"N", n}}),
                               program.sample("b", "random:2", {{"N", n}})};
  };
  const Error error = error_of([&] { gpu.run(inputs(1 << 20)); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(std::string(error.what()).find("bytes"), std::string::npos) << error.what();
  const std::vector<Tensor> small = inputs(100);
  expect_same_bits(gpu.run(small)[0], compile(program, "cpu").run(small)[0]);
}

// An edited kernel that is not made for as many threads as its launch has.
TEST_F(Gpu, ALaunchThatFailsIsAnErrorAndOtherProgramsGoOn) {
  const Program program = Program::parse("graph g(x: f32[5000]) { y = neg(x) return y }");
  const Compiled gpu = compile(program, "cuda");
  const Compiled::Source source = gpu.sources().at(0);
  std::string text = source.text;
  const size_t bounds = text.find("__launch_bounds__(");
  ASSERT_NE(bounds, std::string::npos);
  text.replace(bounds, text.find(')', bounds) + 1 - bounds, "__launch_bounds__(32)");
  const std::string file = ::testing::TempDir() + "few_threads.cu";
  write_file(file, text);
  Options options;
  options.device = "cuda";
  options.kernel_files = {{source.name, file}};  // the variant for few elements comes first
  const Compiled edited = program.compile(options);
  const Tensor x = program.sample("x", "random");
  const Error error = error_of([&] { edited.run({x}); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(error.message().find("launch"), std::string::npos) << error.message();
  expect_same_bits(gpu.run({x})[0], compile(program, "cpu").run({x})[0]);
}

TEST_F(Gpu, ADeviceThatIsNotThereIsAnErrorThatNamesThoseThatAre) {
  const Program program = Program::parse("graph g(x: f32[5]) { y = neg(x) return y }");
  const Error error = error_of([&] { compile(program, "cuda:99"); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(error.rendered().find("cuda:0"), std::string::npos) << error.rendered();
  const auto devices = cuda_driver_status().devices;
  const Tensor x = program.sample("x", "random");
  for (size_t i = 0; i < devices.size(); ++i) {
    const Compiled there = compile(program, fmt::format("cuda:{}", i));
    expect_same_bits(there.run({x})[0], compile(program, "cpu").run({x})[0]);
  }
}

TEST_F(Gpu, ManyThreadsRunOneProgram) {
  const Program program = Program::parse(bias_gelu);
  const Compiled gpu = compile(program, "cuda");
  const Compiled cpu = compile(program, "cpu");
  std::vector<std::vector<Tensor>> inputs, got(8);
  for (int64_t t = 0; t < 8; ++t) {
    inputs.push_back(
        {program.sample("x", "random", {{"B", 50 * t + 1}}), program.sample("b", "random")});
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) got[t] = gpu.run(inputs[t]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < 8; ++t) {
    const std::vector<Tensor> expected = cpu.run(inputs[t]);
    for (size_t i = 0; i < 2; ++i) expect_same_bits(got[t][i], expected[i]);
  }
}

TEST_F(Gpu, ProductsAreRefusedWithTheGroupAndTheReason) {
  const Program program =
      Program::parse("graph g(a: f32[8, 8], b: f32[8, 8]) { y = matmul(a, b) return y }");
  const Error error = error_of([&] { compile(program, "cuda"); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_NE(error.rendered().find("matmul"), std::string::npos) << error.rendered();
  EXPECT_NE(error.rendered().find("matrix product"), std::string::npos) << error.rendered();
}

// More elements than 32 bits count.
TEST_F(Gpu, MoreThanTwoToThe31Elements) {
  const Program program = Program::parse("graph g(x: u8[N]) { y = add(x, x) return y }");
  const Compiled gpu = compile(program, "cuda");
  const int64_t size = (int64_t{1} << 31) + 1000003;
  Tensor x(DType::u8, {size});
  for (int64_t i = 0; i < size; i += 4093) x.as<uint8_t>()[i] = static_cast<uint8_t>(i >> 12);
  const Tensor y = gpu.run({x})[0];
  int64_t wrong = 0;
  for (int64_t i = 0; i < size; ++i) {
    wrong += y.as<uint8_t>()[i] != static_cast<uint8_t>(2 * x.as<uint8_t>()[i]) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
}

// A program's buffers on the device, the inputs random.
struct OnDevice {
  std::vector<Tensor> inputs;
  std::vector<CudaMemory> memory;
  std::vector<void*> in, out;

  OnDevice(const Graph& graph, const DeviceCall& call, const Bindings& sizes, uint64_t seed) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      inputs.push_back(random_input(graph, i, sizes, seed, 1.0));
      memory.emplace_back(call.stream(), inputs[i].bytes());
      in.push_back(memory.back().address());
      copy_to_device(call.stream(), in.back(), inputs[i].data(), inputs[i].bytes());
    }
    for (const int64_t bytes : call.output_bytes()) {
      memory.emplace_back(call.stream(), bytes);
      out.push_back(memory.back().address());
    }
  }
  void expect(const DeviceCall& call, const std::vector<Tensor>& expected) const {
    for (size_t i = 0; i < out.size(); ++i) {
      Tensor got = Tensor::uninitialized(expected[i].dtype(), expected[i].shape());
      copy_to_host(call.stream(), got.data(), out[i], got.bytes());
      call.stream().synchronize();
      expect_same_bits(got, expected[i]);
    }
  }
};

// Launched directly and as a graph with other addresses.
TEST_F(Gpu, GraphsTakeOtherAddresses) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(x: f32[B], i: i32[B]) {
    t = exp(x)
    y = cumsum(t, dim=0)
    z = gather(y, i, dim=0)
    return z, x
  })",
                                                   "<test>"));
  const CudaDevice device;
  const DeviceModel model = model_of(device.info());
  PipelineOptions options;
  options.cuda = device;
  const Pipeline gpu = build_pipeline(graph, model, {}, options);
  const Pipeline cpu = build_pipeline(graph, device_model("cpu"), {}, {});
  DeviceCall call = gpu.device_executable->call({{1000}, {1000}});
  for (uint64_t set = 0; set < 5; ++set) {
    const Bindings sizes = {{"B", 1000}};
    const OnDevice buffers(graph, call, sizes, set);
    const std::vector<Tensor> expected = run_allocating(*cpu.executable, buffers.inputs);
    set == 2 ? call.launch(buffers.in, buffers.out) : call.launch_graph(buffers.in, buffers.out);
    call.finish();
    buffers.expect(call, expected);
  }
}

// Branches of several kernels each, on several streams of one graph; the last one joins them.
TEST_F(Gpu, SmallGroupsRunBesideEachOther) {
  const Graph graph = run_graph_passes(parse_graph(R"(graph g(x: f32[B, 64], y: f32[B], i: i32[B]) {
    a = cumsum(x, dim=1)
    b = gather(y, i, dim=0)
    c = cumsum(b, dim=0)
    s = sum(a, dims=[1])
    d = gather(c, i, dim=0)
    z = add(d, s)
    w = gather(s, i, dim=0)
    return z, w
  })",
                                                   "<test>"));
  const CudaDevice device;
  PipelineOptions options;
  options.cuda = device;
  PlanOptions off;
  off.fusion = FusionMode::off;
  const Pipeline gpu = build_pipeline(graph, model_of(device.info()), off, options);
  const Pipeline cpu = build_pipeline(graph, device_model("cpu"), {}, {});
  DeviceCall call = gpu.device_executable->call({{300, 64}, {300}, {300}});
  EXPECT_GT(call.streams(), 1U);
  EXPECT_EQ(gpu.device_executable->call({{300, 64}, {300}, {300}}, true).streams(), 1U);
  for (uint64_t set = 0; set < 20; ++set) {
    const OnDevice buffers(graph, call, {{"B", 300}}, set);
    call.launch_graph(buffers.in, buffers.out);
    call.finish();
    buffers.expect(call, run_allocating(*cpu.executable, buffers.inputs));
  }
}

}  // namespace
}  // namespace ingot::testing
