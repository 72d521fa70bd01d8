// Hardware counters: what ncu prints, what it refuses, and what the kernel of this machine counts.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "report/ncu.h"
#include "report/perf_counters.h"

namespace ingot {
namespace {

// Made up by the documented format of `ncu --csv --print-units base --metrics …`, not measured: two
// launches, numbers with commas, a name with a comma, a metric that the device has not.
constexpr const char* sample =
    R"csv(==PROF== Connected to process 4711 (/usr/bin/ingot)
==PROF== Profiling "add_gelu_rows" - 0: 0%....50%....100% - 3 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","268,451,840"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_write.sum","byte","268,000,000"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum","byte","4,096"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum","byte","1,024"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","sm__warps_active.avg.pct_of_peak_sustained_active","%","61.5"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","smsp__average_warps_issue_stalled_wait_per_issue_active.ratio","inst","1.25"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","inst","12.5"
"0","4711","ingot","127.0.0.1","add_gelu_rows(const float *, float *)","1","7","(256, 1, 1)","(1056, 1, 1)","0","9.0","Command line profiler metrics","smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio","","n/a"
"1","4711","ingot","127.0.0.1","sum_rows","1","7","(256, 1, 1)","(8, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","byte","32"
)csv";

TEST(Ncu, ReadsALineForEachMetricOfEachLaunch) {
  const std::vector<KernelCounters> kernels = parse_ncu_csv(sample);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].kernel, "add_gelu_rows(const float *, float *)");
  EXPECT_EQ(kernels[0].read_bytes, 268451840);
  EXPECT_EQ(kernels[0].written_bytes, 268000000);
  EXPECT_EQ(kernels[0].local_bytes, 4096 + 1024);
  EXPECT_EQ(kernels[0].occupancy, 0.615);
  const std::vector<std::pair<std::string, double>> waits = {{"long_scoreboard", 12.5},
                                                             {"wait", 1.25}};
  EXPECT_EQ(kernels[0].stalls, waits);
  EXPECT_EQ(kernels[1].kernel, "sum_rows");
  EXPECT_EQ(kernels[1].read_bytes, 32);
  EXPECT_TRUE(parse_ncu_csv("").empty());
  EXPECT_TRUE(parse_ncu_csv("==ERROR== no kernels\n\"ID\n\"0\",\"x\n").empty());
}

// A program named ncu in a PATH of its own.
class FakeNcu : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("ingot_ncu_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = std::getenv("PATH");
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  // `script` finds the file that it has to write in $log, and the command in what is left of $@.
  NcuRun run(const std::string& script) {
    const std::filesystem::path file = folder_ / "ncu";
    std::ofstream(file) << "#!/bin/sh\n"
                           "while [ \"$1\" != --log-file ]; do shift; done\n"
                           "log=$2; shift 2\n"
                        << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    return run_under_ncu({"/bin/echo", "a b", "c"});
  }
  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(FakeNcu, GetsTheCommandAndItsLogIsRead) {
  std::ofstream(folder_ / "sample") << sample;
  const NcuRun counted =
      run("[ \"$1|$2|$3\" = '/bin/echo|a b|c' ] || exit 3\n"
          "cat '" +
          (folder_ / "sample").string() + "' > \"$log\"");
  EXPECT_EQ(counted.problem, "");
  EXPECT_EQ(counted.kernels.size(), 2u);
}

TEST_F(FakeNcu, SaysWhyNothingWasCounted) {
  EXPECT_EQ(run("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > \"$log\"\n"
                "exit 1")
                .problem,
            "the driver lets nobody but an administrator read the GPU's counters "
            "(ERR_NVGPUCTRPERM)");
  EXPECT_EQ(run("echo '==WARNING== No kernels were profiled.' > \"$log\"").problem,
            "ncu: No kernels were profiled.");
  EXPECT_EQ(run("exit 9").problem, "ncu ended with exit code 9 and counted no kernel");
  setenv("PATH", (folder_ / "none").c_str(), 1);
  EXPECT_NE(run_under_ncu({"/bin/true"}).problem.find("is not on PATH"), std::string::npos);
}

// Not optimised away: the clock of the test runs on it.
double work(int steps) {
  volatile double value = 1;
  for (int i = 0; i < steps; ++i) value = value * 1.0000001 + 1e-9;
  return value;
}

TEST(PerfCounters, CountWhatRuns) {
  PerfCounters counters;
  if (!counters.problem().empty()) {
    const CpuCounts nothing = counters.stop();
    EXPECT_EQ(nothing.instructions, 0);
    GTEST_SKIP() << counters.problem();
  }
  counters.start();
  work(1000000);
  const CpuCounts counts = counters.stop();
  EXPECT_GT(counts.instructions, 2e6);
  EXPECT_LT(counts.instructions, 1e9);
  EXPECT_GT(counts.cycles, 1e5);
}

}  // namespace
}  // namespace ingot
