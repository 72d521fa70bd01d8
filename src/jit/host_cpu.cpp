#include "jit/host_cpu.h"

#include <sched.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "jit/jit.h"

namespace ingot {
namespace {

#if defined(__x86_64__)
struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf words;
  __get_cpuid_count(leaf, subleaf, &words.eax, &words.ebx, &words.ecx, &words.edx);
  return words;
}

std::string read_feature_words() {
  const Leaf basic = cpuid(1, 0), extended = cpuid(7, 0), newer = cpuid(7, 1),
             amd = cpuid(0x80000001, 0);
  unsigned xcr0 = 0, high = 0;
  if ((basic.ecx >> 27 & 1) != 0) {  // the system saves vector registers: which ones?
    asm("xgetbv" : "=a"(xcr0), "=d"(high) : "c"(0));
  }
  // Leaf 1's ebx holds the number of the core that is asking.
  return fmt::format("{:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x}", basic.eax, basic.ecx,
                     basic.edx, extended.ebx, extended.ecx, extended.edx, newer.eax, amd.ecx,
                     amd.edx, xcr0);
}

std::string model_name() {
  char name[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const Leaf words = cpuid(0x80000002 + i, 0);
    std::memcpy(name + 16 * i, &words, 16);
  }
  std::string text = name;
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text.empty() ? "x86-64" : text;
}

std::vector<std::string> vector_features() {
  std::vector<std::string> present;
  if (__builtin_cpu_supports("avx2")) present.emplace_back("avx2");
  if (__builtin_cpu_supports("fma")) present.emplace_back("fma");
  if (__builtin_cpu_supports("avx512f")) present.emplace_back("avx512f");
  if (__builtin_cpu_supports("avx512bw")) present.emplace_back("avx512bw");
  if (__builtin_cpu_supports("avx512bf16")) present.emplace_back("avx512bf16");
  return present;
}
#else
std::string read_feature_words() { return read_file("/proc/cpuinfo"); }
std::string model_name() { return "unknown CPU"; }
std::vector<std::string> vector_features() { return {}; }
#endif

}  // namespace

const std::string& cpu_feature_words() {
  static const std::string words = read_feature_words();
  return words;
}

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string cpu_description() {
  const std::vector<std::string> features = vector_features();
  if (features.empty()) return model_name();
  return fmt::format("{} ({})", model_name(), join(features, " "));
}

}  // namespace ingot
