// measure_copy_gbs: the ceiling that memory-bound work is held against.

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/error.h"
#include "report/report.h"

namespace ingot {
namespace {

constexpr int repeats = 9;
constexpr int64_t line = 64;
constexpr int64_t step = 2 * line;           // bytes a turn of the loop moves
constexpr int64_t prefetch_distance = 2048;  // the best of 0.5 to 8 KB, T0, on the CPU measured

using CopyLoop = void (*)(std::byte* to, const std::byte* from, int64_t bytes);

void copy_plain(std::byte* to, const std::byte* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

#if defined(__x86_64__)
// `bytes` is a multiple of `step`, `to` and `from` are aligned to a line.
__attribute__((target("avx2"))) void copy_streaming(std::byte* to, const std::byte* from,
                                                    int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += step) {
    const char* const ahead = reinterpret_cast<const char*>(from + at + prefetch_distance);
    _mm_prefetch(ahead, _MM_HINT_T0);
    _mm_prefetch(ahead + line, _MM_HINT_T0);
    const auto* const source = reinterpret_cast<const __m256i*>(from + at);
    auto* const target = reinterpret_cast<__m256i*>(to + at);
    // Written out: a loop over an array of four would go through the stack.
    const __m256i a = _mm256_load_si256(source);
    const __m256i b = _mm256_load_si256(source + 1);
    const __m256i c = _mm256_load_si256(source + 2);
    const __m256i d = _mm256_load_si256(source + 3);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
  _mm_sfence();
}

std::vector<CopyLoop> copy_loops() {
  std::vector<CopyLoop> loops = {copy_plain};
  if (__builtin_cpu_supports("avx2")) {
    loops.push_back(copy_streaming);
  }
  return loops;
}
#else
std::vector<CopyLoop> copy_loops() { return {copy_plain}; }
#endif

// Memory on large pages where the system gives them, each thread's part first touched by it.
class Pages {
 public:
  explicit Pages(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      fail_input({}, fmt::format("out of memory: {} bytes for measuring the copy rate", bytes));
    }
    madvise(memory, bytes_, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(memory);
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
  size_t bytes_;
};

// The `index`-th of the cores that this process may run on.
void pin_to_core(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  int left = index % std::max(1, CPU_COUNT(&allowed));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && left-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      pthread_setaffinity_np(pthread_self(), sizeof one, &one);
      return;
    }
  }
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds of each repeat, from the first thread's start to the last one's end. Small buffers are
// copied `rounds` times a repeat, so that a clock reading costs nothing.
std::vector<double> time_copies(CopyLoop copy, const Pages& from, const Pages& to, int64_t part,
                                int threads, int rounds) {
  std::barrier<> together(threads);
  std::vector<std::vector<double>> starts(static_cast<size_t>(threads)), ends = starts;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      pin_to_core(t);
      const size_t index = static_cast<size_t>(t);
      for (int repeat = -1; repeat < repeats; ++repeat) {  // the first one warms up
        together.arrive_and_wait();
        const double start = seconds_now();
        for (int round = 0; round < rounds; ++round) {
          copy(to.data() + t * part, from.data() + t * part, part);
        }
        const double end = seconds_now();
        if (repeat >= 0) {
          starts[index].push_back(start);
          ends[index].push_back(end);
        }
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  std::vector<double> seconds;
  for (size_t r = 0; r < repeats; ++r) {
    double first = starts[0][r], last = ends[0][r];
    for (size_t t = 1; t < starts.size(); ++t) {
      first = std::min(first, starts[t][r]);
      last = std::max(last, ends[t][r]);
    }
    seconds.push_back((last - first) / rounds);
  }
  return seconds;
}

}  // namespace

double measure_copy_gbs(int64_t bytes, int threads) {
  const int64_t half = std::max<int64_t>(bytes / 2, step * threads);
  const int64_t part = (half / threads + step - 1) / step * step;
  const int64_t moved = 2 * part * threads;
  const Pages from(part * threads + prefetch_distance + step), to(part * threads);
  std::memset(from.data(), 1, static_cast<size_t>(part * threads));
  const int rounds = static_cast<int>(std::clamp<int64_t>((int64_t{1} << 23) / moved, 1, 4096));
  double best = 0;
  for (const CopyLoop copy : copy_loops()) {
    std::vector<double> seconds = time_copies(copy, from, to, part, threads, rounds);
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    best = std::max(best, static_cast<double>(moved) / seconds[repeats / 2] / 1e9);
  }
  return best;
}

}  // namespace ingot
