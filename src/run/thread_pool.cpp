#include "run/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <system_error>

#include "base/error.h"
#include "base/float_environment.h"
#include "jit/host_cpu.h"

namespace ingot {
namespace {

// Measured on two cores: a spinning worker starts in 0.2 µs, a sleeping one in 33 µs. Half a
// millisecond bridges the gaps between the kernels of a program and between calls in a loop.
constexpr int64_t spin_microseconds = 500;

// What a sleeping worker's way to work is worth: a grain of arithmetic takes 2 to 6 µs.
constexpr int64_t waking_grains = 16;

void futex_wait(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr,
          nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr,
          0);
}

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins until done() or the time is over. Returns done().
template <class Done>
bool spin(int64_t microseconds, const Done& done) {
  using Clock = std::chrono::steady_clock;
  if (done()) return true;
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(microseconds);
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_core();
    }
  } while (Clock::now() < end);
  return done();
}

void pin(std::thread& thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
}

// The caller's first and then upwards, so that programs side by side do not all pin to the same
// ones.
std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  const auto own = std::find(cores.begin(), cores.end(), sched_getcpu());
  std::rotate(cores.begin(), own == cores.end() ? cores.begin() : own, cores.end());
  return cores;
}

// A forked child has the pool's memory but not its workers.
std::atomic<unsigned>& fork_count() {
  static std::atomic<unsigned> count = 0;
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { fork_count().fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return count;
}

thread_local bool inside_part = false;

}  // namespace

ThreadPool::ThreadPool(int threads) : spin_us_(spin_microseconds), forks_(fork_count()) {
  const std::vector<int> cores = allowed_cores();
  // More threads than cores: pinned spinners would only take time from each other.
  const bool pinned = threads <= static_cast<int>(cores.size());
  if (!pinned) spin_us_ = 2;
  for (int part = 1; part < threads; ++part) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    try {
      worker.thread = std::thread([this, &worker, part] { work_loop(worker, part); });
    } catch (const std::system_error& error) {
      workers_.pop_back();
      stop_workers();
      fail_input({}, fmt::format("cannot start {} threads: {}", threads, error.code().message()));
    }
    if (!pinned) continue;
    worker.core = cores[static_cast<size_t>(part)];
    pin(worker.thread, worker.core);
  }
  if (!pinned) return;
  spare_cores_.assign(cores.begin() + threads, cores.end());
  spare_cores_.push_back(cores[0]);
}

ThreadPool::~ThreadPool() {
  if (forks_ != fork_count()) {
    for (auto& worker : workers_) worker->thread.detach();
    return;
  }
  stop_workers();
}

void ThreadPool::stop_workers() {
  for (auto& worker : workers_) {
    worker->stop = true;
    worker->turn.fetch_add(1);
    futex_wake(worker->turn);
  }
  for (auto& worker : workers_) worker->thread.join();
}

void ThreadPool::work_loop(Worker& worker, int part) {
  const DefaultFloatEnvironment defaults;  // a thread starts with its creator's modes
  inside_part = true;
  uint32_t seen = 0;
  while (true) {
    const auto called = [&] { return worker.turn.load(std::memory_order_acquire) != seen; };
    if (!spin(spin_us_, called)) {
      worker.asleep.store(1);
      while (worker.turn.load() == seen) futex_wait(worker.turn, seen);
      worker.asleep.store(0);
    }
    ++seen;
    if (worker.stop) return;
    work_(context_, part);
    if (unfinished_.fetch_sub(1) == 1 && caller_asleep_.load() != 0) futex_wake(unfinished_);
  }
}

// The caller is not ours to pin, and a worker that wakes on the caller's core would wait for it.
void ThreadPool::yield_core_to_caller() {
  if (spare_cores_.empty()) return;
  const int core = sched_getcpu();
  for (auto& worker : workers_) {
    if (worker->core != core || core < 0) continue;
    std::swap(worker->core, spare_cores_.back());
    pin(worker->thread, worker->core);
    return;
  }
}

bool ThreadPool::asleep() const {
  return std::ranges::any_of(workers_, [](const auto& worker) { return worker->asleep != 0; });
}

bool ThreadPool::worth_waking(int64_t grains) {
  using std::chrono::microseconds, std::chrono::duration_cast, std::chrono::steady_clock;
  const int64_t now = duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
  if (now - alone_since_.load(std::memory_order_relaxed) > spin_microseconds) {
    alone_since_.store(now, std::memory_order_relaxed);
    alone_grains_.store(0, std::memory_order_relaxed);
  }
  return alone_grains_.fetch_add(grains, std::memory_order_relaxed) + grains >= waking_grains;
}

void ThreadPool::run(int parts, Work work, void* context) {
  std::unique_lock lock(busy_, std::defer_lock);
  if (parts <= 1 || inside_part || forks_ != fork_count().load(std::memory_order_relaxed) ||
      !lock.try_lock()) {
    for (int part = 0; part < parts; ++part) work(context, part);
    return;
  }
  INGOT_CHECK(parts <= threads(), "{} parts for {} threads", parts, threads());
  yield_core_to_caller();
  work_ = work;
  context_ = context;
  unfinished_.store(static_cast<uint32_t>(parts - 1));
  for (int part = 1; part < parts; ++part) {
    Worker& worker = *workers_[static_cast<size_t>(part - 1)];
    worker.turn.fetch_add(1);
    if (worker.asleep.load() != 0) futex_wake(worker.turn);
  }
  inside_part = true;
  work(context, 0);
  inside_part = false;
  const auto finished = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (spin(spin_us_, finished)) return;
  caller_asleep_.store(1);
  for (uint32_t left = unfinished_.load(); left != 0; left = unfinished_.load()) {
    futex_wait(unfinished_, left);
  }
  caller_asleep_.store(0);
}

std::shared_ptr<ThreadPool> shared_thread_pool(int threads) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<ThreadPool>> pools;
  const std::lock_guard lock(mutex);
  std::weak_ptr<ThreadPool>& known = pools[threads];
  std::shared_ptr<ThreadPool> pool = known.lock();
  if (pool == nullptr) known = pool = std::make_shared<ThreadPool>(threads);
  return pool;
}

namespace {

int checked(int count) {
  if (count <= most_threads) return count;
  fail_input({}, fmt::format("{} threads are too many: at most {}", count, most_threads));
}

}  // namespace

int thread_count(int requested) {
  if (requested > 0) return checked(requested);
  const char* variable = std::getenv("INGOT_NUM_THREADS");
  if (variable == nullptr || *variable == '\0') return available_cores();
  int count = 0;
  const char* const end = variable + std::strlen(variable);
  const auto [rest, error] = std::from_chars(variable, end, count);
  if (error != std::errc() || rest != end || count < 1) {
    fail_input({}, fmt::format("INGOT_NUM_THREADS: '{}' is no number of threads", variable));
  }
  return checked(count);
}

}  // namespace ingot
