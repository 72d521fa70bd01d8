// The works of cpu_works.h, separate and fused, as shares of the best copy loop that moves the same
// bytes in the same process; and what compiling costs.
//
//   cpu_bench [--json] [--threads N]... [--repeats N] [--model magika.onnx] [--only WORK]...

#include <ingot/ingot.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cpu_works.h"
#include "median.h"

namespace {

using Json = nlohmann::ordered_json;
using bench::median;
using bench::Work;

struct Arguments {
  bool json = false;
  int repeats = 0;
  std::vector<int> threads;
  std::vector<std::string> only;
  std::string model;
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::vector<ingot::Tensor> random_inputs(const ingot::Program& program, const ingot::Sizes& sizes) {
  std::vector<ingot::Tensor> inputs;
  for (const ingot::Port& port : program.inputs()) {
    inputs.push_back(program.sample(port.name, "random", sizes));
  }
  return inputs;
}

Json bench_work(const Work& work, const std::vector<ingot::Tensor>& inputs, int threads,
                int repeats) {
  ingot::Options options;
  options.sizes = work.sizes;
  options.threads = threads;
  ingot::BenchOptions bench;
  bench.repeats = repeats;
  const ingot::Compiled compiled = ingot::Program::parse(work.text).compile(options);
  const Json result = Json::parse(compiled.bench_json(inputs, bench));
  const Json& separate = result["results"][0];
  const Json& fused = result["results"][1];
  return {{"work", work.name},
          {"threads", threads},
          {"separate_ms", separate["kernel_us"]["median"].get<double>() / 1e3},
          {"fused_ms", fused["kernel_us"]["median"].get<double>() / 1e3},
          {"speedup", result["speedup"]["kernel"]},
          {"bytes", fused["bytes"]},
          {"gbs", fused["gbs"]},
          {"copy_gbs", result["ceilings"]["copy_gbs"]},
          {"percent_of_copy", fused["percent_of_copy"]},
          {"identical", result["identical"]},
          {"repeats", result["repeats"]}};
}

// A folder for kernels that nobody has compiled before; removed at the end.
class FreshCache {
 public:
  FreshCache()
      : path_((std::filesystem::temp_directory_path() /
               ("ingot_bench_" + std::to_string(getpid()) + "_" + std::to_string(++count_)))
                  .string()) {}
  ~FreshCache() { std::filesystem::remove_all(path_); }
  FreshCache(const FreshCache&) = delete;
  FreshCache& operator=(const FreshCache&) = delete;
  const std::string& path() const { return path_; }

 private:
  static inline int count_ = 0;
  std::string path_;
};

double compile_ms(const ingot::Program& program, const std::string& cache,
                  const std::string& fusion) {
  ingot::Options options;
  options.cache_dir = cache;
  options.fusion = fusion;
  const auto start = std::chrono::steady_clock::now();
  program.compile(options);
  return milliseconds_since(start);
}

// Median of 15 programs of one kernel each, none compiled before.
double one_kernel_ms() {
  constexpr int programs = 15;
  const FreshCache cache;
  std::vector<double> times;
  for (int i = 0; i < programs; ++i) {
    const std::string text = "graph one_" + std::to_string(i) +
                             "(x: f32[M, N], b: f32[N]) {\n  t = add(x, b)\n  u = mul(t, " +
                             std::to_string(i + 2) + ".5)\n  y = gelu(u)\n  return y\n}\n";
    times.push_back(compile_ms(ingot::Program::parse(text), cache.path(), "auto"));
  }
  return median(times);
}

// A graph of 16 different kernels, a kernel.
double sixteen_kernels_ms() {
  constexpr const char* ops[] = {"exp",   "tanh",     "sigmoid", "silu", "gelu",  "erf",
                                 "sqrt",  "abs",      "neg",     "relu", "floor", "sin",
                                 "log1p", "softplus", "cos",     "mish"};
  std::string text = "graph sixteen(x: f32[M, N]) {\n";
  std::string before = "x";
  int number = 0;
  for (const char* op : ops) {
    const std::string name = "v" + std::to_string(number++);
    text += "  " + name + " = " + op + "(" + before + ")\n";
    before = name;
  }
  text += "  return " + before + "\n}\n";
  const FreshCache cache;
  return compile_ms(ingot::Program::parse(text), cache.path(), "off") / static_cast<double>(number);
}

// From the file to the first result at batch 1.
double first_result_ms(const std::string& model, const std::string& cache) {
  const auto start = std::chrono::steady_clock::now();
  const ingot::Program program = ingot::Program::load(model);
  ingot::Options options;
  options.cache_dir = cache;
  program.compile(options).run(random_inputs(program, {}));
  return milliseconds_since(start);
}

Json bench_compilation(const std::string& model) {
  Json result = {{"one_kernel_cold_ms", one_kernel_ms()},
                 {"sixteen_kernels_cold_ms_each", sixteen_kernels_ms()},
                 {"model_cold_ms", nullptr},
                 {"model_warm_ms", nullptr}};
  if (!model.empty()) {
    const FreshCache cache;
    result["model_cold_ms"] = first_result_ms(model, cache.path());
    std::vector<double> warm;
    for (int i = 0; i < 7; ++i) {
      warm.push_back(first_result_ms(model, cache.path()));
    }
    result["model_warm_ms"] = median(warm);
  }
  return result;
}

bool is_wanted(const Arguments& arguments, const std::string& work) {
  return arguments.only.empty() ||
         std::find(arguments.only.begin(), arguments.only.end(), work) != arguments.only.end();
}

void print_line(const Json& row) {
  std::printf("%-29s %7d %12.2f %9.2f %8.2f %7.1f %10.1f %8.0f %%  %s\n",
              row["work"].get<std::string>().c_str(), row["threads"].get<int>(),
              row["separate_ms"].get<double>(), row["fused_ms"].get<double>(),
              row["speedup"].get<double>(), row["gbs"].get<double>(), row["copy_gbs"].get<double>(),
              row["percent_of_copy"].get<double>(),
              row["identical"].get<bool>() ? "equal" : "DIFFERENT");
  std::fflush(stdout);
}

void print_compilation(const Json& compilation) {
  std::printf(
      "\ncompiling, cold\n  one kernel: %.1f ms (median of 15 different ones)\n"
      "  16 kernels in a graph: %.1f ms each\n",
      compilation["one_kernel_cold_ms"].get<double>(),
      compilation["sixteen_kernels_cold_ms_each"].get<double>());
  if (!compilation["model_cold_ms"].is_null()) {
    std::printf("  model, file to first result at batch 1: %.0f ms cold, %.1f ms warm\n",
                compilation["model_cold_ms"].get<double>(),
                compilation["model_warm_ms"].get<double>());
  }
}

Json run_works(const Arguments& arguments) {
  if (!arguments.json) {
    std::printf("%-29s %7s %12s %9s %8s %7s %10s %10s  %s\n", "work", "threads", "separate ms",
                "fused ms", "speedup", "GB/s", "copy GB/s", "share", "results");
  }
  Json rows_json = Json::array();
  for (const Work& work : bench::all_works()) {
    if (!is_wanted(arguments, work.name)) {
      continue;
    }
    const std::vector<ingot::Tensor> inputs =
        random_inputs(ingot::Program::parse(work.text), work.sizes);
    for (const int threads : arguments.threads) {
      rows_json.push_back(bench_work(work, inputs, threads, arguments.repeats));
      if (!arguments.json) {
        print_line(rows_json.back());
      }
    }
  }
  return rows_json;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--json") {
      arguments.json = true;
    } else if (word == "--threads" && has_value) {
      arguments.threads.push_back(std::max(1, std::atoi(argv[++i])));
    } else if (word == "--repeats" && has_value) {
      arguments.repeats = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--model" && has_value) {
      arguments.model = argv[++i];
    } else if (word == "--only" && has_value) {
      arguments.only.emplace_back(argv[++i]);
    } else {
      throw ingot::Error(ingot::ErrorKind::input,
                         "usage: cpu_bench [--json] [--threads N]... [--repeats N] "
                         "[--model MODEL.onnx] [--only WORK]...");
    }
  }
  if (arguments.threads.empty()) {
    arguments.threads = {1, 2};
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    Json result = {{"environment", Json::parse(ingot::environment_json())},
                   {"works", run_works(arguments)},
                   {"compilation", bench_compilation(arguments.model)}};
    if (arguments.json) {
      std::printf("%s\n", result.dump(2).c_str());
    } else {
      print_compilation(result["compilation"]);
      const Json& environment = result["environment"];
      std::printf("\ningot %s (%s), %s, %s\n", environment["version"].get<std::string>().c_str(),
                  environment["git"].get<std::string>().c_str(),
                  environment["cpu"].get<std::string>().c_str(),
                  environment["date"].get<std::string>().c_str());
    }
    return 0;
  } catch (const ingot::Error& error) {
    std::fprintf(stderr, "%s\n", error.rendered().c_str());
    return 2;
  }
}
