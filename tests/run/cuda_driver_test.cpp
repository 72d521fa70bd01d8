#include "run/cuda_driver.h"

#include <numeric>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "jit/nvrtc.h"
#include "run/cuda_api.h"
#include "run/cuda_kernel.h"
#include "support/cuda_here.h"
#include "support/errors.h"

namespace ingot::testing {
namespace {

bool contains(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST(NoCudaDriver, TheErrorSaysWhatIsMissing) {
  const CudaDriverStatus status = cuda_driver_status();
  if (!status.version.empty()) GTEST_SKIP() << "this machine has a driver: " << status.version;
  EXPECT_TRUE(status.devices.empty());
  EXPECT_FALSE(status.problem.empty());
  const Error error = error_of([] { CudaDevice{}; });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_TRUE(contains(error, "CUDA")) << error.what();
  EXPECT_TRUE(contains(error, "libcuda.so.1")) << error.what();
}

TEST(CudaArchitecture, NamesTheFeaturesOfItsOwnFromHopperOn) {
  CudaDeviceInfo device{};
  device.major = 8;
  device.minor = 9;
  EXPECT_EQ(architecture_of(device), "sm_89");
  device.major = 9;
  device.minor = 0;
  EXPECT_EQ(architecture_of(device), "sm_90a");
  device.major = 12;
  EXPECT_EQ(architecture_of(device), "sm_120a");
}

const char* const source = R"(
extern "C" __global__ void copy(float* to, const float* from, float add, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] + add;
}
extern "C" __global__ void through_shared(float* to, const float* from, int count) {
  extern __shared__ float room[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) room[count - 1 - i] = from[i];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = room[i];
}
extern "C" __global__ void cluster_sizes(int* to) {
  unsigned blocks = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
#endif
  if (threadIdx.x == 0) to[blockIdx.x] = blocks;
}
extern "C" __global__ void wait_then_add(float* values, int count) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1.0f;
}
)";

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_cuda_device(); !why.empty()) GTEST_SKIP() << why;
    device_.emplace(0);
    if (const std::string why = no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
    binary_ = compile_cuda(Unit{"driver_test", source}, architecture_of(device_->info()), {});
    module_.emplace(*device_, binary_.cubin, "driver_test");
  }

  std::vector<float> numbers() const {
    std::vector<float> values(static_cast<size_t>(count_));
    std::iota(values.begin(), values.end(), 1.0F);
    return values;
  }
  int64_t bytes() const { return count_ * int64_t{4}; }
  CudaLaunch blocks() const {
    CudaLaunch launch;
    launch.grid[0] = static_cast<unsigned>((count_ + 255) / 256);
    launch.block[0] = 256;
    return launch;
  }
  void copy(const CudaStream& stream, const CudaMemory& to, const CudaMemory& from, float add) {
    void *to_address = to.address(), *from_address = from.address();
    void* arguments[] = {&to_address, &from_address, &add, &count_};
    module_->function("copy").launch(stream, blocks(), arguments);
  }
  std::vector<float> read(const CudaStream& stream, const CudaMemory& from) const {
    std::vector<float> values(static_cast<size_t>(count_));
    copy_to_host(stream, values.data(), from.address(), bytes());
    stream.synchronize();
    return values;
  }

  int count_ = 100'003;
  std::optional<CudaDevice> device_;
  std::optional<CudaModule> module_;
  CudaBinary binary_;
};

TEST_F(Cuda, ReadsTheDevice) {
  const CudaDeviceInfo& info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.major, 7);
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.memory_bytes, int64_t{1} << 30);
  EXPECT_GT(info.l2_bytes, 0);
  EXPECT_GE(info.block_shared_bytes, 48 << 10);
  EXPECT_EQ(info.registers, 65536);
  EXPECT_GT(device_->free_bytes(), 0);
  const Error error = error_of([] { CudaDevice(1000); });
  EXPECT_TRUE(contains(error, "there is no CUDA device 1000")) << error.what();
  EXPECT_TRUE(contains(error, info.name)) << error.what();
}

TEST_F(Cuda, TheDriverSaysOfAKernelWhatTheCubinSays) {
  for (const char* name : {"copy", "through_shared"}) {
    const CudaFunctionAttributes found = module_->function(name).attributes();
    const CudaKernelResources& read = resources_of(binary_.resources, name);
    EXPECT_EQ(found.registers, read.registers) << name;
    EXPECT_EQ(found.shared_bytes, read.shared_bytes) << name;
    EXPECT_EQ(found.local_bytes, read.local_bytes) << name;
  }
  EXPECT_GE(module_->function("copy").blocks_per_multiprocessor(256, 0), 4);
  const Error error = error_of([&] { (void)module_->function("missing"); });
  EXPECT_TRUE(contains(error, "find 'missing' in the cubin 'driver_test'")) << error.what();
  EXPECT_TRUE(contains(error, "CUDA_ERROR_NOT_FOUND")) << error.what();
}

TEST_F(Cuda, CopiesThroughAKernelAndMeasuresIt) {
  const CudaStream stream(*device_);
  const std::vector<float> values = numbers();
  const CudaMemory from(stream, bytes()), to(stream, bytes()), third(stream, bytes());
  copy_to_device(stream, from.address(), values.data(), bytes());
  fill_bytes(stream, to.address(), 0, bytes());
  const CudaEvent start(*device_), end(*device_);
  stream.record(start);
  copy(stream, to, from, 0.5F);
  stream.record(end);
  copy_on_device(stream, third.address(), to.address(), bytes());
  const std::vector<float> found = read(stream, third);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(found[i], values[i] + 0.5F) << i;
  EXPECT_GT(end.ms_since(start), 0);
  EXPECT_EQ(CudaMemory(stream, 0).address(), nullptr);
}

TEST_F(Cuda, StreamsWaitForEventsOfOthers) {
  const CudaStream first(*device_), second(*device_);
  const std::vector<float> values = numbers();
  const CudaHostMemory host(*device_, bytes());
  const CudaMemory a(first, bytes()), b(first, bytes());
  std::copy(values.begin(), values.end(), static_cast<float*>(host.address()));
  copy_to_device(first, a.address(), host.address(), bytes());
  copy(first, b, a, 1.0F);
  const CudaEvent done(*device_);
  first.record(done);
  second.wait(done);
  const CudaMemory c(second, bytes());
  copy(second, c, b, 1.0F);
  EXPECT_EQ(read(second, c).back(), values.back() + 2.0F);
}

TEST_F(Cuda, AGraphRunsTakesNewArgumentsAndAnotherShape) {
  const CudaStream stream(*device_);
  const std::vector<float> values = numbers();
  const CudaMemory from(stream, bytes()), middle(stream, bytes()), to(stream, bytes());
  copy_to_device(stream, from.address(), values.data(), bytes());
  const auto chain = [&](float first, float second) {
    copy(stream, middle, from, first);
    copy(stream, to, middle, second);
  };
  CudaGraph graph(stream, [&] { chain(1.0F, 2.0F); });
  ASSERT_EQ(graph.kernels(), 2U);
  fill_bytes(stream, to.address(), 0, bytes());
  graph.launch(stream);
  EXPECT_EQ(read(stream, to)[7], values[7] + 3.0F);

  float add = 100.0F;
  void *to_address = to.address(), *middle_address = middle.address();
  void* arguments[] = {&to_address, &middle_address, &add, &count_};
  graph.set_kernel(1, module_->function("copy"), blocks(), arguments);
  graph.launch(stream);
  EXPECT_EQ(read(stream, to)[7], values[7] + 101.0F);

  EXPECT_TRUE(graph.update(stream, [&] { chain(5.0F, 6.0F); }));
  graph.launch(stream);
  EXPECT_EQ(read(stream, to)[7], values[7] + 11.0F);
  add = 50.0F;
  graph.set_kernel(1, module_->function("copy"), blocks(), arguments);
  graph.launch(stream);
  EXPECT_EQ(read(stream, to)[7], values[7] + 55.0F);

  EXPECT_FALSE(graph.update(stream, [&] { copy(stream, to, from, 9.0F); }));
  EXPECT_EQ(graph.kernels(), 1U);
  graph.launch(stream);
  EXPECT_EQ(read(stream, to)[7], values[7] + 9.0F);

  const Error error = error_of([&] { CudaGraph(stream, [] { fail_input({}, "of the work"); }); });
  EXPECT_TRUE(contains(error, "of the work")) << error.what();
  copy(stream, to, from, 4.0F);
  EXPECT_EQ(read(stream, to)[7], values[7] + 4.0F) << "the stream is usable after it";
}

TEST_F(Cuda, NoRoomAndRefusedLaunchesAreErrorsAndTheProgramGoesOn) {
  const CudaStream stream(*device_);
  const int64_t too_many = int64_t{1} << 45;
  const Error memory = error_of([&] { CudaMemory(stream, too_many); });
  EXPECT_EQ(memory.kind(), ErrorKind::input);
  EXPECT_TRUE(contains(memory, fmt::format("allocate {} bytes", too_many))) << memory.what();
  EXPECT_TRUE(contains(memory, "CUDA_ERROR_OUT_OF_MEMORY")) << memory.what();
  EXPECT_TRUE(contains(memory, "bytes are free")) << memory.what();

  const std::vector<float> values = numbers();
  const CudaMemory from(stream, bytes()), to(stream, bytes());
  copy_to_device(stream, from.address(), values.data(), bytes());
  const CudaFunction function = module_->function("copy");
  CudaLaunch wrong = blocks();
  wrong.block[0] = 2000;
  float add = 0;
  void *to_address = to.address(), *from_address = from.address();
  void* arguments[] = {&to_address, &from_address, &add, &count_};
  const Error launch = error_of([&] { function.launch(stream, wrong, arguments); });
  EXPECT_TRUE(contains(launch, "launch 'copy' with a grid of 391x1x1 blocks of 2000x1x1 threads"))
      << launch.what();
  EXPECT_TRUE(contains(launch, "CUDA_ERROR_INVALID_VALUE")) << launch.what();
  const Error cubin = error_of([&] { CudaModule(*device_, std::string(64, 'x'), "no cubin"); });
  EXPECT_TRUE(contains(cubin, "load the cubin 'no cubin'")) << cubin.what();
  copy(stream, to, from, 1.0F);
  EXPECT_EQ(read(stream, to), [&] {
    std::vector<float> expected = values;
    for (float& value : expected) value += 1.0F;
    return expected;
  }());
}

TEST_F(Cuda, SharedMemoryBeyond48KiBHasToBeAskedFor) {
  const CudaStream stream(*device_);
  const CudaFunction function = module_->function("through_shared");
  count_ = 20'000;
  if (device_->info().block_shared_bytes < bytes()) GTEST_SKIP() << "80 KB are more than it has";
  const std::vector<float> values = numbers();
  const CudaMemory from(stream, bytes()), to(stream, bytes());
  copy_to_device(stream, from.address(), values.data(), bytes());
  CudaLaunch launch;
  launch.block[0] = 512;
  launch.shared_bytes = static_cast<unsigned>(bytes());
  void *to_address = to.address(), *from_address = from.address();
  void* arguments[] = {&to_address, &from_address, &count_};
  function.allow_shared_bytes(bytes());
  function.launch(stream, launch, arguments);
  EXPECT_EQ(read(stream, to), std::vector<float>(values.rbegin(), values.rend()));
  const Error error = error_of([&] { function.allow_shared_bytes(1 << 20); });
  EXPECT_TRUE(contains(error, "1048576 bytes of dynamic shared memory")) << error.what();
}

TEST_F(Cuda, LaunchesClustersCooperativelyAndOverlapped) {
  if (!device_->info().clusters) GTEST_SKIP() << "the device has no clusters";
  const CudaStream stream(*device_);
  const CudaFunction sizes = module_->function("cluster_sizes");
  const CudaMemory found(stream, 64);
  CudaLaunch launch;
  launch.grid[0] = 16;
  launch.block[0] = 32;
  launch.cluster[0] = 4;
  EXPECT_GT(sizes.resident_clusters(launch), 16);
  void* address = found.address();
  void* arguments[] = {&address};
  sizes.launch(stream, launch, arguments);
  std::vector<int> values(16);
  copy_to_host(stream, values.data(), found.address(), 64);
  stream.synchronize();
  EXPECT_EQ(values, std::vector<int>(16, 4));
  sizes.allow_large_clusters();
  launch.cluster[0] = 16;
  sizes.launch(stream, launch, arguments);
  copy_to_host(stream, values.data(), found.address(), 64);
  stream.synchronize();
  EXPECT_EQ(values, std::vector<int>(16, 16));

  CudaLaunch together;
  together.grid[0] = 1'000'000;
  together.block[0] = 32;
  together.cooperative = true;
  const Error error = error_of([&] { sizes.launch(stream, together, arguments); });
  EXPECT_TRUE(contains(error, "cooperative")) << error.what();
  EXPECT_TRUE(contains(error, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")) << error.what();

  const std::vector<float> ones(static_cast<size_t>(count_), 1.0F);
  const CudaMemory counted(stream, bytes());
  copy_to_device(stream, counted.address(), ones.data(), bytes());
  const CudaFunction add = module_->function("wait_then_add");
  CudaLaunch overlapped = blocks();
  overlapped.overlaps_previous = true;
  void* counted_address = counted.address();
  void* add_arguments[] = {&counted_address, &count_};
  const CudaGraph graph(stream, [&] {
    for (int i = 0; i < 20; ++i) add.launch(stream, overlapped, add_arguments);
  });
  EXPECT_EQ(graph.kernels(), 20U);
  graph.launch(stream);
  EXPECT_EQ(read(stream, counted), std::vector<float>(static_cast<size_t>(count_), 21.0F));
}

TEST_F(Cuda, ThreadsRunAtOnceAndFindTheirOwnContextAgain) {
  std::vector<int> wrong(4, -1);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const CudaStream stream(*device_);
      const std::vector<float> values = numbers();
      int differences = 0;
      for (int round = 0; round < 20; ++round) {
        const CudaMemory from(stream, bytes()), to(stream, bytes());
        copy_to_device(stream, from.address(), values.data(), bytes());
        copy(stream, to, from, static_cast<float>(t));
        differences += read(stream, to).back() != values.back() + static_cast<float>(t) ? 1 : 0;
      }
      void* current = &wrong;
      cuda_api().context_current(&current);
      wrong[t] = differences + (current != nullptr ? 1000 : 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace ingot::testing
