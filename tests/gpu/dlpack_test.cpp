// Tensors of other libraries in a GPU's memory. Needs a device; skipped visibly without one.
#include <gtest/gtest.h>

#include <cstring>

#include <dlpack/dlpack.h>
#include <ingot/ingot.h>

#include "run/cuda_driver.h"
#include "support/cuda_here.h"
#include "support/errors.h"

namespace ingot::testing {
namespace {

class GpuDlpack : public OnCudaDevice {};

struct OnDevice {
  CudaMemory memory;
  DLManagedTensor managed = {};
  std::vector<int64_t> shape;

  OnDevice(const CudaStream& stream, const Tensor& tensor)
      : memory(stream, tensor.bytes() + 16), shape(tensor.shape()) {
    copy_to_device(stream, memory.address(), tensor.data(), tensor.bytes());
    managed.dl_tensor = {memory.address(),
                         {kDLCUDA, 0},
                         static_cast<int>(shape.size()),
                         {kDLFloat, 32, 1},
                         shape.data(),
                         nullptr,
                         0};
  }
};

void expect_bits(const CudaStream& stream, const DLTensor& got, const Tensor& expected) {
  Tensor copy = Tensor::uninitialized(expected.dtype(), expected.shape());
  copy_to_host(stream, copy.data(), got.data, copy.bytes());
  stream.synchronize();
  EXPECT_EQ(std::memcmp(copy.data(), expected.data(), static_cast<size_t>(copy.bytes())), 0);
}

const char* const text = "graph g(x: f32[B, 512]) { t = exp(x) y = softmax(t) return y, t }";

Compiled compile_for(const Program& program, const std::string& device) {
  Options options;
  options.device = device;
  return program.compile(options);
}

// On streams of the caller's, many calls before one wait.
TEST_F(GpuDlpack, InAndOutWithoutACopyOnTheCallersStream) {
  const Program program = Program::parse(text);
  const Compiled gpu = compile_for(program, "cuda"), cpu = compile_for(program, "cpu");
  const CudaDevice device;
  const CudaStream stream(device);
  std::vector<Tensor> inputs;
  std::vector<OnDevice> there;
  std::vector<std::vector<DLManagedTensor*>> results;
  for (int64_t rows = 1; rows < 40; rows += 6) {
    inputs.push_back(program.sample("x", "random", {{"B", rows}}));
    there.emplace_back(stream, inputs.back());
    there.back().managed.dl_tensor.shape = there.back().shape.data();
    results.push_back(gpu.run_dlpack({&there.back().managed}, stream.handle()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<Tensor> expected = cpu.run({inputs[i]});
    for (size_t o = 0; o < 2; ++o) {
      EXPECT_EQ(results[i][o]->dl_tensor.device.device_type, kDLCUDA);
      expect_bits(stream, results[i][o]->dl_tensor, expected[o]);
      results[i][o]->deleter(results[i][o]);
    }
  }
}

TEST_F(GpuDlpack, WhatDoesNotFitIsAnErrorAndTheProgramGoesOn) {
  const Program program = Program::parse(text);
  const Compiled gpu = compile_for(program, "cuda"), cpu = compile_for(program, "cpu");
  const CudaDevice device;
  const CudaStream stream(device);
  const Tensor x = program.sample("x", "random", {{"B", 8}});
  OnDevice input(stream, x), y(stream, x), t(stream, x);
  const auto message = [&](DLManagedTensor* first, DLManagedTensor* out) {
    return error_of([&] { gpu.run_dlpack({first}, {out, &t.managed}, stream.handle()); }).message();
  };
  DLManagedTensor on_host = input.managed;
  on_host.dl_tensor.device = {kDLCPU, 0};
  EXPECT_NE(message(&on_host, &y.managed).find("lies on cpu, the program runs on cuda:0"),
            std::string::npos);
  DLManagedTensor moved = input.managed;
  moved.dl_tensor.byte_offset = 4;
  EXPECT_NE(message(&moved, &y.managed).find("aligned to 16 bytes"), std::string::npos);
  int64_t strides[] = {1, 8};
  DLManagedTensor turned = input.managed;
  turned.dl_tensor.strides = strides;
  EXPECT_NE(message(&turned, &y.managed).find("row-major"), std::string::npos);
  EXPECT_NE(message(&input.managed, &input.managed).find("memory of input x"), std::string::npos);
  gpu.run_dlpack({&input.managed}, {&y.managed, &t.managed}, stream.handle());
  expect_bits(stream, y.managed.dl_tensor, cpu.run({x})[0]);
}

}  // namespace
}  // namespace ingot::testing
