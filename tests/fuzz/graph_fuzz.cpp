// Random programs on fresh seeds for so many seconds: interpreted plans, compiled kernels and
// emulated CUDA kernels against the evaluator. `graph_fuzz SECONDS [FIRST_SEED [KIND]]` (a report's
// "next seed" goes on from there; KIND is interpreted, compiled or emulated: only these), or one
// program again: `graph_fuzz FILE.ingot [SEED]`. Exit code 1 if anything differs.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "jit/jit.h"
#include "support/differential.h"
#include "support/random_graphs.h"

namespace ingot::testing {
namespace {

// Programs of one turn.
constexpr uint64_t interpreted_together = 3000, compiled_together = 60, emulated_together = 20;
constexpr int most_failures = 10;

// Processor time of this program and of the compilers it started: rates that do not depend on what
// else the machine does.
double processor_seconds() {
  double total = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      total += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return total;
}

double seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Mostly small programs; a few of hundreds or thousands of ops.
RandomOptions options_of(uint64_t seed, bool compiled) {
  RandomOptions options;
  options.nodes = static_cast<int>(seed % 23 == 0 ? 40 : 3 + seed % 10);
  options.elements = seed % 19 == 0 ? 20000 : compiled ? 3000 : 400;
  options.whole_products = seed % 7 == 1;
  options.products = seed % 14 == 2;
  if (seed % 211 == 0) {
    options.form = seed % 2 == 0 ? GraphForm::deep : GraphForm::wide;
    options.nodes = seed % 20 == 0 ? (compiled ? 1000 : 10000) : 150;
  }
  return options;
}

class Fuzzer {
 public:
  // `kind`: "all" or the only kind of programs. Fuzzers from different seeds may run at once.
  Fuzzer(uint64_t seed, std::string kind) : seed_(seed), kind_(std::move(kind)) {
    folder_ = fmt::format("{}/tests/fuzz-cache-{}-{}", INGOT_BUILD_DIR, kind_, seed);
    running_ = fmt::format("{}/tests/fuzz-running-{}-{}.txt", INGOT_BUILD_DIR, kind_, seed);
    std::filesystem::create_directories(folder_);
  }

  bool run(double until) {
    double reported = seconds();
    while (seconds() < until && failures_ < most_failures) {
      double start = processor_seconds();
      if (wants("interpreted")) interpreted_turn(until);
      interpreting_ += processor_seconds() - start;
      start = processor_seconds();
      if (seconds() < until && failures_ < most_failures) {
        if (wants("compiled")) compiled_turn("compiled", compiled_together, compiled_);
        if (wants("emulated")) compiled_turn("emulated", emulated_together, emulated_);
        compiling_ += processor_seconds() - start;
      }
      if (seconds() - reported < 20) continue;
      report("so far");
      reported = seconds();
    }
    report("in all");
    std::filesystem::remove(running_);
    std::filesystem::remove_all(folder_);
    return failures_ == 0;
  }

 private:
  bool wants(const char* kind) const { return kind_ == "all" || kind_ == kind; }

  // A crash leaves the file with the programs under way.
  void note(const char* what, std::span<const Trial> trials) {
    FILE* const file = std::fopen(running_.c_str(), "w");
    if (file == nullptr) return;
    for (const Trial& trial : trials) {
      const std::string text = print(trial.source);
      std::fputs(fmt::format("# {}, seed {}\n{}\n", what, trial.seed, text).c_str(), file);
    }
    std::fclose(file);
  }

  void interpreted_turn(double until) {
    for (uint64_t i = 0; i < interpreted_together && seconds() < until; ++i, ++seed_) {
      const Trial trial = random_trial(seed_, options_of(seed_, false));
      note("interpreted", {&trial, 1});
      ++interpreted_;
      const auto sampled = [](const Trial& each) {
        return interpreted_difference(each, Depth::some);
      };
      const std::string reason = sampled(trial);
      if (!reason.empty()) fail(trial, reason, "interpreted", sampled);
    }
  }

  // `what`: compiled or emulated.
  void compiled_turn(const std::string& what, uint64_t count, uint64_t& counter) {
    std::vector<Trial> trials;
    for (uint64_t i = 0; i < count; ++i, ++seed_) {
      trials.push_back(random_trial(seed_, options_of(seed_, true)));
    }
    note(what.c_str(), trials);
    const auto differences = [&](const std::vector<Trial>& some) {
      return what == "compiled" ? compiled_differences(some, folder_, Depth::some)
                                : emulated_differences(some, folder_);
    };
    const std::vector<std::string> reasons = differences(trials);
    counter += trials.size();
    const auto alone = [&](const Trial& trial) { return differences({trial})[0]; };
    for (size_t i = 0; i < trials.size(); ++i) {
      if (!reasons[i].empty()) fail(trials[i], reasons[i], what.c_str(), alone);
    }
    JitOptions options;
    options.cache_dir = folder_;
    cache_clear(options);
  }

  void fail(const Trial& trial, const std::string& reason, const char* what,
            const Difference& difference) {
    ++failures_;
    const std::string name = fmt::format("{}_{}", what, trial.seed);
    std::printf("FAILED %s\n", write_failure(trial, reason, name, difference).c_str());
    std::fflush(stdout);
  }

  void report(const char* when) {
    std::printf(
        "%s: %llu programs interpreted (%.0f a processor second), %llu compiled and %llu emulated "
        "(%.1f), %d failures; next seed %llu\n",
        when, static_cast<unsigned long long>(interpreted_),
        static_cast<double>(interpreted_) / std::max(interpreting_, 1e-3),
        static_cast<unsigned long long>(compiled_), static_cast<unsigned long long>(emulated_),
        static_cast<double>(compiled_ + emulated_) / std::max(compiling_, 1e-3), failures_,
        static_cast<unsigned long long>(seed_));
    std::fflush(stdout);
  }

  uint64_t seed_;
  std::string kind_;
  uint64_t interpreted_ = 0, compiled_ = 0, emulated_ = 0;
  double interpreting_ = 0, compiling_ = 0;  // processor seconds
  int failures_ = 0;
  std::string folder_, running_;
};

// A program from a file, on inputs of `seed`.
bool replay(const std::string& path, uint64_t seed) {
  const Trial trial{
      seed, parse_graph(read_file(path), path), {usual_sizes(), other_sizes(seed)}, true};
  const auto alone = [](const Trial& each) { return compiled_differences({each}, "")[0]; };
  bool passed = true;
  for (const auto& [name, difference] :
       {std::pair<const char*, Difference>{
            "interpreted", [](const Trial& each) { return interpreted_difference(each); }},
        {"compiled", alone},
        {"emulated", [](const Trial& each) { return emulated_differences({each}, "")[0]; }}}) {
    const std::string reason = difference(trial);
    if (!reason.empty()) {
      passed = false;
      std::printf(
          "FAILED %s\n",
          write_failure(trial, reason, fmt::format("{}_replayed", name), difference).c_str());
    } else {
      std::printf("%s: equal\n", name);
    }
  }
  return passed;
}

}  // namespace
}  // namespace ingot::testing

int main(int argc, char** argv) {
  using namespace ingot::testing;
  const std::string what = argc > 1 ? argv[1] : "60";
  if (what.ends_with(".ingot")) {
    return replay(what, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1) ? 0 : 1;
  }
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(clock).count();
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : static_cast<uint64_t>(now);
  std::printf("graph_fuzz: first seed %llu\n", static_cast<unsigned long long>(seed));
  const std::string kind = argc > 3 ? argv[3] : "all";
  if (kind != "all" && kind != "interpreted" && kind != "compiled" && kind != "emulated") {
    std::fprintf(stderr, "graph_fuzz: '%s' is not interpreted, compiled or emulated\n",
                 kind.c_str());
    return 2;
  }
  return Fuzzer(seed, kind).run(seconds() + std::atof(what.c_str())) ? 0 : 1;
}
