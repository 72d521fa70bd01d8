// Worker threads that start in a fraction of a microsecond while programs run back to back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ingot {

// Each worker is pinned to a core of its own, spins for half a millisecond after its work and then
// sleeps; only sleepers are woken by a system call.
class ThreadPool {
 public:
  using Work = void (*)(void* context, int part);

  explicit ThreadPool(int threads);  // the caller is one of them: threads - 1 workers
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Whether a call would have to wake a worker first.
  bool asleep() const;
  // Whether to wake it for `grains` more of work: with what callers were told to do alone in the
  // last half millisecond, it is more than a worker's way out of its sleep. So one short call is
  // not delayed, and many of them in a row get all threads.
  bool worth_waking(int64_t grains);

  // Calls work(context, part) for every part in [0, parts), parts ≤ threads(), part 0 on the
  // caller's thread; returns when all are done. If the pool is busy with another caller's work, or
  // the call comes from inside a part, or the process has forked, all parts run on the caller's
  // thread. Work does not throw.
  void run(int parts, Work work, void* context);

  template <class Body>
  void run(int parts, Body& body) {
    run(
        parts, [](void* context, int part) { (*static_cast<Body*>(context))(part); }, &body);
  }

 private:
  struct alignas(64) Worker {
    std::atomic<uint32_t> turn = 0;  // counts the calls it takes part in
    std::atomic<uint32_t> asleep = 0;
    std::atomic<bool> stop = false;
    int core = -1;  // pinned there; -1: not pinned
    std::thread thread;
  };

  void work_loop(Worker& worker, int part);
  void yield_core_to_caller();
  void stop_workers();

  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<int> spare_cores_;  // not taken by a worker
  int64_t spin_us_;
  unsigned forks_;  // of this process when the workers were started
  std::mutex busy_;
  // Work that callers did alone since then, in microseconds of the steady clock.
  std::atomic<int64_t> alone_grains_ = 0, alone_since_ = 0;
  // The call in progress.
  Work work_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<uint32_t> unfinished_ = 0;
  std::atomic<uint32_t> caller_asleep_ = 0;
};

// The process's pool of that size, made at the first call and kept while somebody holds it.
std::shared_ptr<ThreadPool> shared_thread_pool(int threads);

constexpr int most_threads = 1024;

// `requested` if positive, else INGOT_NUM_THREADS, else the cores this process may run on. More
// than most_threads is an error.
int thread_count(int requested);

}  // namespace ingot
