#include "run/thread_pool.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot {
namespace {

// How often each part ran in one call.
std::vector<int> counts(ThreadPool& pool, int parts) {
  std::vector<std::atomic<int>> ran(static_cast<size_t>(parts));
  auto body = [&](int part) { ++ran[static_cast<size_t>(part)]; };
  pool.run(parts, body);
  return {ran.begin(), ran.end()};
}

TEST(ThreadPool, RunsEveryPartOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int parts = 0; parts <= threads; ++parts) {
      for (int repeat = 0; repeat < 20; ++repeat) {
        EXPECT_EQ(counts(pool, parts), std::vector<int>(static_cast<size_t>(parts), 1));
      }
    }
  }
}

TEST(ThreadPool, PartZeroRunsOnTheCallersThreadAndTheOthersElsewhere) {
  ThreadPool pool(2);
  std::thread::id ids[2];
  auto body = [&](int part) { ids[part] = std::this_thread::get_id(); };
  pool.run(2, body);
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_NE(ids[1], std::this_thread::get_id());
}

TEST(ThreadPool, WakesSleepingWorkers) {
  ThreadPool pool(2);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // beyond the spin
    EXPECT_EQ(counts(pool, 2), (std::vector<int>{1, 1}));
  }
}

TEST(ThreadPool, ACallFromInsideAPartRunsThere) {
  ThreadPool pool(2);
  std::atomic<int> inner = 0;
  auto nested = [&](int) { ++inner; };
  auto body = [&](int) { pool.run(2, nested); };
  pool.run(2, body);
  EXPECT_EQ(inner, 4);
}

TEST(ThreadPool, SeveralCallersAtOnceAllFinish) {
  ThreadPool pool(2);
  std::atomic<int> done = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      auto body = [&](int) { ++done; };
      for (int repeat = 0; repeat < 500; ++repeat) pool.run(2, body);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(done, 4 * 500 * 2);
}

TEST(ThreadPool, AForkedChildRunsAllPartsItself) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer follows no forked child of a process with threads";
#endif
  auto pool = std::make_unique<ThreadPool>(2);
  EXPECT_EQ(counts(*pool, 2), (std::vector<int>{1, 1}));
  const pid_t child = fork();
  if (child == 0) {
    const bool right = counts(*pool, 2) == std::vector<int>{1, 1};
    pool.reset();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, IsSharedBySizeAndStartsFast) {
  const std::shared_ptr<ThreadPool> pool = shared_thread_pool(2);
  EXPECT_EQ(pool, shared_thread_pool(2));
  EXPECT_NE(pool, shared_thread_pool(3));
  auto nothing = [](int) {};
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int repeat = 0; repeat < 100; ++repeat) pool->run(2, nothing);
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
    best = std::min(best, us.count() / 100);
  }
  std::printf("start of two threads: %.2f us\n", best);
}

TEST(ThreadCount, IsTheRequestElseTheVariableElseTheCores) {
  EXPECT_EQ(thread_count(3), 3);
  setenv("INGOT_NUM_THREADS", "5", 1);
  EXPECT_EQ(thread_count(0), 5);
  setenv("INGOT_NUM_THREADS", "many", 1);
  EXPECT_THROW(thread_count(0), Error);
  unsetenv("INGOT_NUM_THREADS");
  EXPECT_GE(thread_count(0), 1);
}

TEST(ThreadCount, TooManyAreAnError) {
  EXPECT_EQ(thread_count(most_threads), most_threads);
  EXPECT_THROW(thread_count(most_threads + 1), Error);
  setenv("INGOT_NUM_THREADS", "100000", 1);
  EXPECT_THROW(thread_count(0), Error);
  unsetenv("INGOT_NUM_THREADS");
}

TEST(ThreadPool, SaysThatTheSystemGivesNoThread) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer itself needs more memory";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_stacks{size_t{1} << 30, size_t{1} << 30};
    setrlimit(RLIMIT_AS, &no_stacks);
    try {
      const ThreadPool pool(most_threads);
    } catch (const Error& error) {
      _exit(error.kind() == ErrorKind::input ? 0 : 1);
    }
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace ingot
