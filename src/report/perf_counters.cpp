#include "report/perf_counters.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace ingot {
namespace {

constexpr uint64_t events[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                               PERF_COUNT_HW_CACHE_MISSES};

int open_event(uint64_t event, pid_t thread, int leader) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = event;
  attributes.disabled = leader < 0 ? 1 : 0;  // the others follow their leader
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, thread, -1, leader, PERF_FLAG_FD_CLOEXEC));
}

std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    threads.push_back(thread);
  }
  return threads;
}

std::string reason(int error) {
  if (error == EACCES || error == EPERM) {
    std::string level;
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
    return fmt::format("the kernel lets this user count nothing (perf_event_paranoid is {})",
                       level.empty() ? "not known" : level);
  }
  if (error == ENOENT || error == ENODEV || error == EOPNOTSUPP) {
    return "this machine shows no hardware counters (a virtual machine without them, as a rule)";
  }
  return fmt::format("perf_event_open: {}", std::strerror(error));
}

// As PERF_FORMAT_GROUP with both times lays it out.
struct Reading {
  uint64_t count, enabled_ns, running_ns, values[std::size(events)];
};

}  // namespace

PerfCounters::PerfCounters() {
  for (const pid_t thread : threads_of_process()) {
    for (size_t e = 0; e < std::size(events); ++e) {
      const int leader = e == 0 ? -1 : groups_.back();
      const int file = open_event(events[e], thread, leader);
      if (file < 0) {
        if (e == 0 && errno == ESRCH) break;  // the thread has ended
        problem_ = reason(errno);
        return;
      }
      (e == 0 ? groups_ : others_).push_back(file);
    }
  }
  if (groups_.empty()) problem_ = "no thread was found to count";
}

PerfCounters::~PerfCounters() {
  for (const std::vector<int>* files : {&others_, &groups_}) {
    for (const int file : *files) close(file);
  }
}

void PerfCounters::start() {
  for (const int group : groups_) {
    ioctl(group, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
    ioctl(group, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  }
}

CpuCounts PerfCounters::stop() {
  CpuCounts counts;
  for (const int group : groups_) ioctl(group, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
  for (const int group : groups_) {
    Reading reading{};
    if (read(group, &reading, sizeof reading) != static_cast<ssize_t>(sizeof reading)) continue;
    if (reading.running_ns == 0) continue;  // a thread that slept
    // Where others count, too, the events take turns with theirs.
    const double scale =
        static_cast<double>(reading.enabled_ns) / static_cast<double>(reading.running_ns);
    counts.cycles += scale * static_cast<double>(reading.values[0]);
    counts.instructions += scale * static_cast<double>(reading.values[1]);
    counts.cache_misses += scale * static_cast<double>(reading.values[2]);
  }
  return counts;
}

}  // namespace ingot
