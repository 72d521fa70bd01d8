// What the works of bench/gpu cost before they run: planning, and NVRTC for each kernel, cold. No
// device is needed. One kernel after the other with: taskset -c 0 build/bench/gpu_compile
//
//   gpu_compile [FOLDER]      (default: bench/gpu)

#include <ingot/ingot.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "median.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using bench::median;

double plan_ms(const ingot::Program& program, ingot::Options options) {
  options.plan_only = true;
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const auto start = std::chrono::steady_clock::now();
    program.compile(options);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    times.push_back(taken.count());
  }
  return median(times);
}

// Of every kernel, as the records in an empty cache have them.
std::vector<double> compile_ms(const ingot::Program& program, ingot::Options options,
                               const fs::path& cache) {
  fs::remove_all(cache);
  options.cache_dir = cache.string();
  options.plan_only = true;
  program.compile(options).sources();
  std::vector<double> times;
  for (const auto& entry : fs::directory_iterator(cache)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    times.push_back(Json::parse(file)["compile_ms"].get<double>());
  }
  std::sort(times.begin(), times.end());
  return times;
}

std::vector<fs::path> works(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".ingot") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int count, char** words) try {
  const fs::path folder = count > 1 ? words[1] : "bench/gpu";
  const fs::path cache =
      fs::temp_directory_path() / ("ingot-gpu-compile-" + std::to_string(getpid()));
  for (const char* numerics : {"exact", "wide"}) {
    std::vector<double> all_kernels, all_plans;
    std::printf("%s\n  %-32s %9s  kernels, ms each\n", numerics, "work", "plan, ms");
    for (const fs::path& file : works(folder)) {
      const ingot::Program program = ingot::Program::load(file.string());
      ingot::Options options;
      options.device = "h200";
      options.numerics = numerics;
      all_plans.push_back(plan_ms(program, options));
      const std::vector<double> kernels = compile_ms(program, options, cache);
      all_kernels.insert(all_kernels.end(), kernels.begin(), kernels.end());
      std::printf("  %-32s %9.2f ", file.stem().c_str(), all_plans.back());
      for (const double ms : kernels) std::printf(" %.0f", ms);
      std::printf("\n");
    }
    std::printf("  plan: median %.2f, most %.2f ms; %zu kernels: median %.0f, most %.0f ms\n",
                median(all_plans), *std::max_element(all_plans.begin(), all_plans.end()),
                all_kernels.size(), median(all_kernels),
                *std::max_element(all_kernels.begin(), all_kernels.end()));
  }
  fs::remove_all(cache);
} catch (const ingot::Error& error) {
  std::fprintf(stderr, "%s\n", error.rendered().c_str());
  return 2;
}
