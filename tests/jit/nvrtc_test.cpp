#include "jit/nvrtc.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cache_directory.h"
#include "support/cuda_here.h"
#include "support/errors.h"

namespace fs = std::filesystem;

namespace ingot::testing {
namespace {

using Directory = CacheDirectory<CudaOptions>;

// A block reverses 256 numbers through 1200 bytes of shared memory.
const Unit reverse_unit = {"reverse", R"(extern "C" __global__ void __launch_bounds__(256)
reverse(float* to, const float* from, int count) {
  __shared__ float block[300];
  const int i = blockIdx.x * 256 + threadIdx.x;
  block[threadIdx.x] = i < count ? from[i] : 0.0f;
  __syncthreads();
  if (i < count) to[i] = block[255 - threadIdx.x] * 2.0f + 1.0f;
}
)"};

// 120 live numbers under a cap of 32 registers.
const Unit spilling_unit = {"spilling", R"(extern "C" __global__ void spilling(float* p, int n) {
  float v[120];
  #pragma unroll
  for (int i = 0; i < 120; ++i) v[i] = p[i * n];
  for (int k = 0; k < n; ++k) {
    #pragma unroll
    for (int i = 0; i < 120; ++i) v[i] = v[i] * v[(i + 7) % 120] + v[(i * 3) % 120];
  }
  #pragma unroll
  for (int i = 0; i < 120; ++i) p[i * n + 1] = v[i];
}
)"};

// These come first: they need a process in which no NVRTC is loaded yet.
class Search : public Directory {
 protected:
  void SetUp() override {
    Directory::SetUp();
    const char* stated = std::getenv("INGOT_NVRTC");
    stated_ = stated != nullptr ? stated : "";
  }
  void TearDown() override {
    if (stated_.empty()) {
      unsetenv("INGOT_NVRTC");
    } else {
      setenv("INGOT_NVRTC", stated_.c_str(), 1);
    }
    Directory::TearDown();
  }
  std::string stated_;
};

TEST_F(Search, WithoutNvrtcTheErrorSaysWhereItLooked) {
  setenv("INGOT_NVRTC", "/nowhere/libnvrtc.so", 1);
  const Error error = error_of([&] { compile_cuda(reverse_unit, "sm_90a", options_); });
  const std::string said = error.what();
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(said.find("no NVRTC"), std::string::npos) << said;
  EXPECT_NE(said.find("INGOT_NVRTC: /nowhere/libnvrtc.so"), std::string::npos) << said;
  EXPECT_NE(said.find("set INGOT_NVRTC to the path"), std::string::npos) << said;
}

TEST_F(Search, LooksForTheLibraryByNameAndInTheToolkit) {
  unsetenv("INGOT_NVRTC");
  const std::vector<std::string> candidates = nvrtc_candidates();
  ASSERT_GE(candidates.size(), 4U);
  EXPECT_EQ(candidates[0], "libnvrtc.so.13");
  EXPECT_EQ(candidates[1], "libnvrtc.so.12");
  EXPECT_NE(join(candidates, " ").find("/usr/local/cuda/lib64/libnvrtc.so"), std::string::npos);
}

TEST_F(Search, AFileThatIsNoNvrtcIsAnError) {
  fs::create_directories(directory_);
  const std::string path = directory_.string() + "/libnvrtc.so";
  std::ofstream(path) << "not a library";
  setenv("INGOT_NVRTC", path.c_str(), 1);
  const Error error = error_of([] { load_nvrtc(); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
}

// A warm start takes the version from the cache directory: this file could not be loaded.
TEST_F(Search, RemembersTheVersionWhileTheFileIsUnchanged) {
  fs::create_directories(directory_);
  const std::string path = directory_.string() + "/libnvrtc.so";
  std::ofstream(path) << "x";
  setenv("INGOT_NVRTC", path.c_str(), 1);
  const NvrtcVersion version = {path, "12.9", 1};
  remember_nvrtc(options_.cache_dir, version);
  EXPECT_EQ(find_nvrtc(options_.cache_dir), version);
  std::ofstream(path) << "xy";
  EXPECT_EQ(error_of([&] { find_nvrtc(options_.cache_dir); }).kind(), ErrorKind::input);
}

class Nvrtc : public Directory {
 protected:
  void SetUp() override {
    Directory::SetUp();
    if (const std::string why = no_nvrtc(); !why.empty()) GTEST_SKIP() << why;
  }
};

class Architecture : public Nvrtc, public ::testing::WithParamInterface<const char*> {};

TEST_P(Architecture, CompilesAndReadsWhatAKernelTakes) {
  const CudaBinary binary = compile_cuda(reverse_unit, GetParam(), options_);
  EXPECT_EQ(binary.resources.architecture, GetParam());
  ASSERT_EQ(binary.resources.kernels.size(), 1U);
  const CudaKernelResources& kernel = resources_of(binary.resources, "reverse");
  // The assembler's own words about the same kernel.
  EXPECT_NE(binary.log.find(fmt::format("Used {} registers", kernel.registers)), std::string::npos)
      << binary.log;
  EXPECT_GE(kernel.registers, 8);
  EXPECT_EQ(kernel.shared_bytes, 1200);
  EXPECT_NE(binary.log.find("1200 bytes smem"), std::string::npos) << binary.log;
  EXPECT_EQ(kernel.local_bytes, 0);
  EXPECT_EQ(kernel.spill_store_bytes, 0);
  EXPECT_EQ(kernel.spill_load_bytes, 0);
  EXPECT_EQ(kernel.parameter_bytes, 20);
  EXPECT_EQ(kernel.max_threads, 256);
  EXPECT_GE(kernel.constant_bytes, 20);
  EXPECT_EQ(kernel.code_bytes % 128, 0);
  EXPECT_GT(kernel.instructions, 10);
  EXPECT_LE(kernel.instructions, kernel.code_bytes / 16);
  EXPECT_EQ(kernel.special_instructions, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Architecture,
                         ::testing::Values("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Nvrtc, ReadsSpillsOfAKernelUnderARegisterCap) {
  options_.max_registers = 32;
  const CudaBinary binary = compile_cuda(spilling_unit, "sm_90a", options_);
  const CudaKernelResources& kernel = resources_of(binary.resources, "spilling");
  EXPECT_EQ(kernel.registers, 32);
  EXPECT_GT(kernel.local_bytes, 0);
  EXPECT_GE(kernel.stack_bytes, kernel.local_bytes);
  EXPECT_NE(binary.log.find(
                fmt::format("{} bytes stack frame, {} bytes spill stores, {} bytes spill loads",
                            kernel.local_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes)),
            std::string::npos)
      << binary.log;
  EXPECT_GT(kernel.spill_store_bytes, 0);
  EXPECT_GT(kernel.spill_load_bytes, 0);
}

TEST_F(Nvrtc, CountsInstructionsOfTheSpecialFunctionUnit) {
  const Unit unit = {"special", R"(extern "C" __global__ void special(float* p) {
  float x = p[threadIdx.x];
  asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  asm("cos.approx.ftz.f32 %0, %0;" : "+f"(x));
  asm("tanh.approx.f32 %0, %0;" : "+f"(x));
  p[threadIdx.x] = x;
}
)"};
  const CudaBinary binary = compile_cuda(unit, "sm_90a", options_);
  EXPECT_EQ(resources_of(binary.resources, "special").special_instructions, 3);
}

TEST_F(Nvrtc, FindsItInTheCacheWithTheSameResources) {
  const CudaBinary cold = compile_cuda(reverse_unit, "sm_90a", options_);
  EXPECT_FALSE(cold.from_cache);
  EXPECT_GT(cold.compile_ms, 0);
  ASSERT_EQ(files(".cubin").size(), 1U);
  EXPECT_EQ(fs::path(cold.path), files(".cubin")[0]);
  EXPECT_TRUE(files(".cubin")[0].filename().string().starts_with("reverse-"));
  EXPECT_EQ(read_file(files(".cu").at(0).string()), reverse_unit.source);
  const auto record = nlohmann::json::parse(read_file(files(".json").at(0).string()));
  EXPECT_EQ(record["architecture"], "sm_90a");
  EXPECT_EQ(record["kernels"][0]["name"], "reverse");
  EXPECT_EQ(record["kernels"][0]["shared_bytes"], 1200);

  const CudaBinary warm = compile_cuda(reverse_unit, "sm_90a", options_);
  EXPECT_TRUE(warm.from_cache);
  EXPECT_EQ(warm.cubin, cold.cubin);
  EXPECT_EQ(warm.log, cold.log);
  EXPECT_EQ(warm.resources, cold.resources);
  // Another architecture and other flags are other entries.
  EXPECT_FALSE(compile_cuda(reverse_unit, "sm_80", options_).from_cache);
  options_.max_registers = 64;
  EXPECT_FALSE(compile_cuda(reverse_unit, "sm_90a", options_).from_cache);
  EXPECT_EQ(files(".cubin").size(), 3U);
}

TEST_F(Nvrtc, CompilesManyUnitsAtOnceInOrderAndEqualOnesOnce) {
  std::vector<Unit> units;
  for (const char* name : {"a", "b", "a"}) {
    units.push_back(
        {name, fmt::format("extern \"C\" __global__ void {}(int* p) {{ *p = 1; }}\n", name)});
  }
  const std::vector<CudaBinary> binaries = compile_cuda(units, "sm_90a", options_);
  ASSERT_EQ(binaries.size(), 3U);
  EXPECT_EQ(binaries[0].resources.kernels.at(0).name, "a");
  EXPECT_EQ(binaries[1].resources.kernels.at(0).name, "b");
  EXPECT_EQ(binaries[2].cubin, binaries[0].cubin);
  EXPECT_EQ(files(".cubin").size(), 2U);
}

TEST_F(Nvrtc, RebuildsADamagedEntryWithAWarning) {
  const CudaBinary good = compile_cuda(reverse_unit, "sm_90a", options_);
  for (const bool truncated : {false, true}) {
    if (truncated) {
      fs::resize_file(good.path, 100);
    } else {
      std::fstream file(good.path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<long>(fs::file_size(good.path) / 2));
      file.put('\x5a').put('\xa5');
    }
    ::testing::internal::CaptureStderr();
    const CudaBinary rebuilt = compile_cuda(reverse_unit, "sm_90a", options_);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(rebuilt.from_cache);
    EXPECT_EQ(rebuilt.resources, good.resources);
    EXPECT_NE(said.find("rebuilding damaged cache entry"), std::string::npos) << said;
    EXPECT_TRUE(compile_cuda(reverse_unit, "sm_90a", options_).from_cache);
  }
}

TEST_F(Nvrtc, CacheStatisticsVerificationAndClearingKnowCubins) {
  const CudaBinary binary = compile_cuda(reverse_unit, "sm_90a", options_);
  JitOptions cache;
  cache.cache_dir = options_.cache_dir;
  EXPECT_EQ(cache_stats(cache).entries, 1);
  EXPECT_EQ(cache_verify(cache).damaged, 0);
  fs::resize_file(binary.path, fs::file_size(binary.path) - 1);
  EXPECT_EQ(cache_verify(cache).damaged, 1);
  EXPECT_TRUE(files(".cubin").empty() && files(".cu").empty() && files(".json").empty());
  compile_cuda(reverse_unit, "sm_90a", options_);
  EXPECT_EQ(cache_clear(cache).entries, 1);
  EXPECT_TRUE(files(".cubin").empty() && files(".cu").empty() && files(".json").empty());
}

TEST_F(Nvrtc, ManyProcessesShareOneDirectory) {
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const CudaBinary binary = compile_cuda(reverse_unit, "sm_90a", options_);
      _exit(binary.resources.kernels.at(0).shared_bytes == 1200 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_TRUE(compile_cuda(reverse_unit, "sm_90a", options_).from_cache);
  EXPECT_EQ(files(".cubin").size(), 1U);
}

TEST_F(Nvrtc, ARefusedSourceIsShownWithTheLinesAroundTheFault) {
  Unit unit = {"bad",
               "extern \"C\" __global__ void bad(float* p) {\n"
               "  const float first = p[0];\n"
               "  p[1] = first + missing;\n"
               "}\n"};
  const Error error = error_of([&] { compile_cuda(unit, "sm_90a", options_); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  const std::string said = error.what();
  EXPECT_NE(said.find("bad: NVRTC"), std::string::npos) << said;
  EXPECT_NE(said.find("line 3: error: identifier \"missing\" is undefined"), std::string::npos)
      << said;
  EXPECT_NE(said.find(">     3 |   p[1] = first + missing;"), std::string::npos) << said;
  EXPECT_NE(said.find("      2 |   const float first = p[0];"), std::string::npos) << said;
  EXPECT_NE(said.find("--gpu-architecture=sm_90a"), std::string::npos) << said;
  unit.file = "mine.cu";
  const Error users = error_of([&] { compile_cuda(unit, "sm_90a", options_); });
  EXPECT_EQ(users.kind(), ErrorKind::input);
  EXPECT_NE(std::string(users.what()).find("mine.cu"), std::string::npos);
}

TEST_F(Nvrtc, AnUnknownArchitectureNamesThoseThatNvrtcKnows) {
  const Error error = error_of([&] { compile_cuda(reverse_unit, "sm_20", options_); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  const std::string said = error.what();
  EXPECT_NE(said.find("invalid value for --gpu-architecture"), std::string::npos) << said;
  EXPECT_NE(said.find("sm_90"), std::string::npos) << said;
}

TEST_F(Nvrtc, ATruncatedOrAlteredCubinIsAnErrorAndNoCrash) {
  const CudaBinary binary = compile_cuda(reverse_unit, "sm_90a", options_);
  for (size_t size = 0; size < binary.cubin.size(); size += size < 200 ? 1 : 61) {
    const std::string short_one = binary.cubin.substr(0, size);
    const Error error = error_of([&] { read_cubin(short_one, binary.log); });
    ASSERT_EQ(error.kind(), ErrorKind::input) << size;
  }
  int refused = 0;
  for (size_t at = 0; at < binary.cubin.size(); ++at) {
    std::string altered = binary.cubin;
    altered[at] = static_cast<char>(altered[at] ^ 0xff);
    try {
      read_cubin(altered, binary.log);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_EQ(error_of([&] { read_cubin(binary.cubin, ""); }).kind(), ErrorKind::input);
}

}  // namespace
}  // namespace ingot::testing
