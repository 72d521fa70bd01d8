// Faults that fusion compilers have had, in their public reports: tests/cases/NAME.ingot is the
// program, NAME.expected its data, a line a tensor:
//   x: 1 nan -0            an input's elements, repeated as often as its shape needs
//   y: 2 nan -0            an output's elements, exact to the bit; also 0x1.8p-127
//   z ~1e-6 +1e-9: 0.5 1   with a relative bound, and an absolute one that is always allowed
//   B: 1 2 9               sizes to try for B; else 1, 3, 9, 33
//   numerics: exact        the values are of `exact` alone
// The evaluator, the graph with constants for inputs, compiled kernels and the loops for a GPU in
// all numerics and fusion modes give these values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "support/compiled_programs.h"
#include "support/interpret_plan.h"

namespace ingot::testing {
namespace {

struct Line {
  std::vector<std::string> values;
  double bound = 0, least = 0;
};

struct Case {
  std::string name, text;
  std::map<std::string, Line> lines;
  std::vector<int64_t> sizes = {1, 3, 9, 33};
  bool only_exact = false;
};

Case read_case(const std::filesystem::path& path) {
  Case result;
  result.name = path.stem().string();
  result.text = read_file(path.string());
  auto expected = path;
  std::istringstream lines(read_file(expected.replace_extension(".expected").string()));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    std::istringstream head(line.substr(0, colon)), values(line.substr(colon + 1));
    std::string name, word;
    Line parsed;
    head >> name;
    if (head >> word) parsed.bound = std::stod(word.substr(1));
    if (head >> word) parsed.least = std::stod(word.substr(1));
    while (values >> word) parsed.values.push_back(word);
    result.lines[name] = parsed;
  }
  if (const auto sizes = result.lines.find("B"); sizes != result.lines.end()) {
    result.sizes.clear();
    for (const std::string& value : sizes->second.values) {
      result.sizes.push_back(std::stoll(value));
    }
  }
  result.only_exact = result.lines.contains("numerics");
  return result;
}

std::vector<Case> all_cases() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(INGOT_SOURCE_DIR) + "/tests/cases")) {
    if (entry.path().extension() == ".ingot") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<Case> cases;
  for (const auto& file : files) cases.push_back(read_case(file));
  return cases;
}

Tensor filled(DType dtype, const std::vector<int64_t>& shape, const Line& line) {
  Tensor result(dtype, shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    const char* text = line.values[static_cast<size_t>(i) % line.values.size()].c_str();
    if (is_float(dtype)) {
      result.set_f64(i, std::strtod(text, nullptr));
    } else {
      result.set_i64(i, std::strtoll(text, nullptr, 10));
    }
  }
  return result;
}

std::vector<Tensor> inputs_of(const Case& each, const Graph& graph, int64_t size) {
  std::vector<Tensor> inputs;
  for (NodeId id : graph.inputs) {
    const Node& node = graph[id];
    inputs.push_back(filled(node.type.dtype, evaluate(node.type.shape, {{"B", size}}),
                            each.lines.at(node.name)));
  }
  return inputs;
}

bool same(const Tensor& got, const Tensor& expected, int64_t i, const Line& line) {
  if (!is_float(got.dtype())) return got.get_i64(i) == expected.get_i64(i);
  const double a = got.get_f64(i), b = expected.get_f64(i);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (line.bound > 0 && std::isfinite(a)) {
    return std::abs(a - b) <= std::max(line.bound * std::abs(b), line.least);
  }
  return a == b && std::signbit(a) == std::signbit(b);
}

void expect_values(const Case& each, const Graph& graph, const std::vector<Tensor>& results,
                   const std::string& how) {
  ASSERT_EQ(results.size(), graph.outputs.size());
  for (size_t o = 0; o < results.size(); ++o) {
    const Line& line = each.lines.at(graph.output_names[o]);
    const Tensor expected = filled(results[o].dtype(), results[o].shape(), line);
    for (int64_t i = 0; i < results[o].size(); ++i) {
      ASSERT_TRUE(same(results[o], expected, i, line))
          << fmt::format("{}, {}: {}[{}] is {}, not {}", each.name, how, graph.output_names[o], i,
                         results[o].get_f64(i), expected.get_f64(i));
    }
  }
}

// Constants instead of inputs, so that folding computes the values.
Graph with_constants(const Case& each, int64_t size) {
  const std::string text =
      std::regex_replace(each.text, std::regex("\\bB\\b"), fmt::to_string(size));
  Graph graph = parse_graph(text, each.name);
  const std::vector<Tensor> inputs = inputs_of(each, graph, size);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Node& node = graph[graph.inputs[i]];
    node.op = Op::constant;
    node.data = std::make_shared<const Tensor>(inputs[i]);
  }
  graph.inputs.clear();
  verify(graph, "with_constants");
  return graph;
}

TEST(Cases, EvaluatorAndFoldingGiveTheExpectedValues) {
  for (const Case& each : all_cases()) {
    SCOPED_TRACE(each.name);
    const Graph graph = parse_graph(each.text, each.name);
    for (int64_t size : each.sizes) {
      const std::vector<Tensor> results =
          evaluate(graph, inputs_of(each, graph, size), Precision::per_op);
      expect_values(each, graph, results, fmt::format("evaluator, B={}", size));
    }
    const Graph folded = run_graph_passes(with_constants(each, each.sizes.back()));
    expect_values(each, folded, evaluate(folded, {}, Precision::per_op), "folded");
  }
}

struct Way {
  Numerics numerics;
  FusionMode fusion;
};

std::vector<Way> ways_of(const Case& each) {
  std::vector<Way> ways;
  for (Numerics numerics : {Numerics::exact, Numerics::wide, Numerics::fast}) {
    if (each.only_exact && numerics != Numerics::exact) continue;
    for (FusionMode fusion : {FusionMode::off, FusionMode::automatic, FusionMode::all}) {
      ways.push_back({numerics, fusion});
    }
  }
  return ways;
}

TEST(Cases, CompiledKernelsGiveTheExpectedValuesInEveryMode) {
  const std::vector<Case> cases = all_cases();
  EXPECT_GE(cases.size(), 40u);
  std::vector<PlannedProgram> planned;
  std::vector<const Case*> case_of;
  for (const Case& each : cases) {
    const Graph graph = run_graph_passes(parse_graph(each.text, each.name));
    for (const Way& way : ways_of(each)) {
      PlanOptions options;
      options.numerics = way.numerics;
      options.fusion = way.fusion;
      planned.push_back({graph, make_plan(graph, device_model("cpu"), options)});
      case_of.push_back(&each);
    }
  }
  const std::vector<CompiledProgram> compiled = compile_programs(planned, "");
  for (size_t i = 0; i < compiled.size(); ++i) {
    const Case& each = *case_of[i];
    const Plan& plan = compiled[i].plan;
    for (int threads : {1, 2}) {
      const Executable executable = compiled[i].executable(threads);
      for (int64_t size : each.sizes) {
        expect_values(
            each, compiled[i].graph, run(executable, inputs_of(each, compiled[i].graph, size)),
            fmt::format("numerics {}, fusion {}, B={}, {} threads", static_cast<int>(plan.numerics),
                        static_cast<int>(plan.fusion), size, threads));
      }
    }
  }
}

// As a GPU computes them: with its own contractions, formulas and orders of sums.
TEST(Cases, LoopsForAGpuGiveTheExpectedValuesInEveryMode) {
  const DeviceModel device = device_model("h200");
  for (const Case& each : all_cases()) {
    const Graph graph = run_graph_passes(parse_graph(each.text, each.name));
    for (const Way& way : ways_of(each)) {
      PlanOptions options;
      options.numerics = way.numerics;
      options.fusion = way.fusion;
      const Plan plan = make_plan(graph, device, options);
      const PlanKernels loops = lower_plan(graph, plan, false);
      for (int64_t size : each.sizes) {
        expect_values(
            each, graph, interpret_plan(graph, plan, loops, inputs_of(each, graph, size)),
            fmt::format("for a GPU, numerics {}, fusion {}, B={}", static_cast<int>(way.numerics),
                        static_cast<int>(way.fusion), size));
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
