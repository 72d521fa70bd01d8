// check: every way to run a program compared, under the contract of its numerics mode.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "plan/plan_words.h"
#include "report/bench_result.h"
#include "report/check_cases.h"
#include "report/compare.h"
#include "report/number_text.h"
#include "report/report.h"

namespace ingot {
namespace {

using Json = ReportJson;

// What the evaluators may differ by where a library sums a product in an order of its own.
struct ProductFacts {
  bool any = false;
  double longest_sum = 0;
};

int64_t reduced_length(const Graph& graph, const Node& node, const Bindings& sizes) {
  const Shape& weights = graph[node.operands[1]].type.shape;
  const Shape& left = graph[node.operands[0]].type.shape;
  const int64_t right_count = element_count(weights).evaluate(sizes);
  if (node.op == Op::matmul) {
    const bool transposed =  // of a vector it means nothing
        left.size() > 1 && flag_attr(op_info(node.op), node.attrs, "transpose_a");
    return left[left.size() - (transposed ? 2 : 1)].evaluate(sizes);
  }
  return right_count / std::max<int64_t>(1, weights[0].evaluate(sizes));
}

// Of a graph without composites: an attention holds two products.
ProductFacts product_facts(const Graph& graph, const Bindings& sizes) {
  ProductFacts facts;
  for (const Node& node : graph.nodes) {
    if (op_info(node.op).category == Category::contraction && is_float(node.type.dtype)) {
      facts.any = true;
      facts.longest_sum =
          std::max(facts.longest_sum, static_cast<double>(reduced_length(graph, node, sizes)));
    }
  }
  return facts;
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = std::abs(tensor.get_f64(i));
    if (std::isfinite(value)) {
      largest = std::max(largest, value);
    }
  }
  return largest;
}

// The largest |value - wide| where both are finite.
double finite_error(const Tensor& value, const Tensor& wide) {
  double largest = 0;
  for (int64_t i = 0; i < value.size(); ++i) {
    const double error = std::abs(value.get_f64(i) - wide.get_f64(i));
    if (std::isfinite(error)) {
      largest = std::max(largest, error);
    }
  }
  return largest;
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return std::ldexp(1, -10);
    case DType::bf16:
      return std::ldexp(1, -7);
    case DType::f8e4m3:
      return std::ldexp(1, -3);
    case DType::f8e5m2:
      return std::ldexp(1, -2);
    case DType::f64:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// The largest absolute error of sigmoid, silu and gelu_tanh where their results vanish: that of
// docs/functions.md.
constexpr double shorter_absolute = 1.5e-36;

// A bound for |got - expected|: absolute, with a relative part.
struct Bound {
  double atol = 0, rtol = 0;
};

struct Reference {
  std::vector<Tensor> per_op, wide;  // empty: left out
};

Json comparison_json(const std::string& program, const std::string& against, const Tensor& expected,
                     const Tensor& got, const std::optional<Bound>& bound) {
  const Comparison comparison = compare(expected, got);
  std::optional<int64_t> first;
  if (bound) {
    first = first_beyond(expected, got, bound->rtol, bound->atol);
  } else if (!comparison.identical) {
    first = comparison.first_mismatch;
  }
  Json result = {{"program", program},
                 {"against", against},
                 {"passed", !first.has_value()},
                 {"identical", comparison.identical},
                 {"mismatches", comparison.mismatches},
                 {"max_abs_error", comparison.max_abs_error},
                 {"max_rel_error", comparison.max_rel_error},
                 {"bound", nullptr},
                 {"first_mismatch", nullptr}};
  if (bound) {
    result["bound"] = {{"atol", bound->atol}, {"rtol", bound->rtol}};
  }
  if (first) {
    result["first_mismatch"] = {{"index", index_text(got.shape(), *first)},
                                {"expected", element_text(expected, *first)},
                                {"got", element_text(got, *first)}};
  }
  return result;
}

// One output of one case: what the programs gave, and what they have to equal.
struct OutputCheck {
  const std::vector<CheckProgram>& programs;
  const std::vector<std::vector<Tensor>>& results;  // of each program
  const Reference& reference;
  const CheckSettings& settings;
  const ProductFacts& products;
  size_t output;
  bool special;
  Json comparisons = Json::array();

  const Tensor& got(size_t program) const { return results[program][output]; }
  std::optional<Bound> own_bound() const {
    if (!settings.rtol && !settings.atol) {
      return std::nullopt;
    }
    return Bound{settings.atol.value_or(0), settings.rtol.value_or(0)};
  }
  void add(size_t program, const std::string& against, const Tensor& expected,
           const std::optional<Bound>& bound) {
    comparisons.push_back(
        comparison_json(programs[program].name, against, expected, got(program), bound));
  }

  // exact: fusion never changes a bit, and without products the evaluator has the same bits.
  void check_exact() {
    for (size_t p = 1; p < programs.size(); ++p) {
      add(p, programs[0].name, got(0), own_bound());
    }
    if (reference.per_op.empty()) {
      return;
    }
    const Tensor& expected = reference.per_op[output];
    if (!products.any) {
      add(0, "evaluator", expected, own_bound());
      return;
    }
    // Overflow and cancellation of infinities depend on the order of a sum.
    if (special || !is_float(expected.dtype())) {
      return;
    }
    const Tensor& wide = reference.wide[output];
    const double scale = largest_magnitude(wide);
    const double unit = std::numeric_limits<float>::epsilon();
    Bound bound{4 * finite_error(expected, wide) + (products.longest_sum + 16) * unit * scale,
                2 * epsilon(expected.dtype())};
    add(0, "evaluator", expected, own_bound().value_or(bound));
  }

  // wide, fast: the error against float64 is at most twice that of exact for the same graph; 32
  // times for f32 in fast, whose functions may be wrong by 2^-20 instead of half a unit of 2^-23.
  // Where exact gives 0 or less than the least normal number, shorter formulas may stop above it.
  void check_wide() {
    if (reference.per_op.empty() || !is_float(reference.per_op[output].dtype())) {
      return;
    }
    const Tensor& exact = reference.per_op[output];
    const Tensor& wide = reference.wide[output];
    const double order = products.any ? products.longest_sum * largest_magnitude(wide) *
                                            std::numeric_limits<float>::epsilon()
                                      : 0;
    const bool coarse = settings.numerics == Numerics::fast && exact.dtype() == DType::f32;
    const double factor = coarse ? 32 : 2;
    const Bound bound{factor * finite_error(exact, wide) + order + shorter_absolute,
                      factor * epsilon(exact.dtype())};
    for (size_t p = 0; p < programs.size(); ++p) {
      add(p, "float64", comparable(exact, wide, got(p)), own_bound().value_or(bound));
    }
  }

  // float64 has no overflow where the program's dtypes have one: elements where float64 and exact
  // are not both finite, nor the same infinity or NaN, say nothing about this mode.
  static Tensor comparable(const Tensor& exact, const Tensor& wide, const Tensor& got) {
    Tensor expected = Tensor::uninitialized(DType::f64, wide.shape());
    for (int64_t i = 0; i < wide.size(); ++i) {
      const double of_exact = exact.get_f64(i), of_wide = wide.get_f64(i);
      const bool both_finite = std::isfinite(of_exact) && std::isfinite(of_wide);
      const bool both_nan = std::isnan(of_exact) && std::isnan(of_wide);
      const bool says_something = both_finite || both_nan || of_exact == of_wide;
      expected.set_f64(i, says_something ? of_wide : got.get_f64(i));
    }
    return expected;
  }
};

double flops_of(const Plan& plan, const Bindings& sizes) {
  double flops = 0;
  for (const Group& group : plan.groups) {
    flops += static_cast<double>(group.flops.evaluate(sizes));
  }
  return flops;
}

Json dims_json(const Bindings& sizes) {
  Json dims = Json::object();
  for (const auto& [name, value] : sizes) {
    dims[name] = value;
  }
  return dims;
}

Json skipped(const CheckCase& the_case, const std::string& why) {
  return {{"name", the_case.name},
          {"dims", dims_json(the_case.sizes)},
          {"status", "skipped"},
          {"note", why},
          {"outputs", Json::array()}};
}

Json run_case(const Graph& source, const std::vector<CheckProgram>& programs,
              const CheckCase& the_case, bool is_own, const CheckSettings& settings) {
  const ProductFacts products = product_facts(decompose(source), the_case.sizes);
  const bool exact = settings.numerics == Numerics::exact;
  // Where a reference decides nothing (see OutputCheck), none is computed.
  const bool needs_reference = !the_case.special || !products.any;
  const bool too_large =
      flops_of(programs[0].executable->plan(), the_case.sizes) > settings.most_reference_flops;
  Reference reference;
  std::vector<std::vector<Tensor>> results;
  try {
    if (needs_reference && !too_large) {
      reference.per_op = evaluate(source, the_case.inputs, Precision::per_op);
      reference.wide = evaluate(source, the_case.inputs, Precision::wide);
    }
    for (const CheckProgram& program : programs) {
      results.push_back(run_allocating(*program.executable, the_case.inputs));
    }
  } catch (const Error& error) {
    // The program does not take these sizes or values (a size that 4 has to divide, say).
    if (!is_own || error.kind() != ErrorKind::input) {
      throw;
    }
    return skipped(the_case, "the program does not take these inputs: " + error.message());
  }
  std::string note;
  if (reference.per_op.empty()) {
    note = needs_reference ? "too large for the evaluators" : "no evaluator sums in the same order";
    note += exact ? ": the programs agree with each other" : ": the programs ran";
  }
  Json outputs = Json::array();
  bool passed = true;
  for (size_t i = 0; i < source.outputs.size(); ++i) {
    OutputCheck check{programs, results, reference, settings, products, i, the_case.special};
    exact ? check.check_exact() : check.check_wide();
    const bool good =
        std::all_of(check.comparisons.begin(), check.comparisons.end(),
                    [](const Json& comparison) { return comparison["passed"].get<bool>(); });
    passed = passed && good;
    const Tensor& got = check.got(std::min<size_t>(1, programs.size() - 1));
    outputs.push_back(
        {{"name", source.output_names[i]},
         {"dtype", dtype_name(got.dtype())},
         {"shape", got.shape()},
         {"passed", good},
         {"error_against_float64",
          reference.wide.empty() ? Json(nullptr) : Json(finite_error(got, reference.wide[i]))},
         {"comparisons", check.comparisons}});
  }
  return {{"name", the_case.name},
          {"dims", dims_json(the_case.sizes)},
          {"status", passed ? "passed" : "failed"},
          {"note", passed ? note : ""},
          {"outputs", outputs}};
}

void add_failures(const Json& output, std::string& out) {
  for (const Json& comparison : output["comparisons"]) {
    if (comparison["passed"].get<bool>()) {
      continue;
    }
    const Json& first = comparison["first_mismatch"];
    out += fmt::format(
        "    {}: {} differs from {} in {} elements, by at most {:.3g}\n",
        output["name"].get<std::string>(), comparison["program"].get<std::string>(),
        comparison["against"].get<std::string>(), comparison["mismatches"].get<int64_t>(),
        comparison["max_abs_error"].is_null() ? std::numeric_limits<double>::infinity()
                                              : comparison["max_abs_error"].get<double>());
    if (!comparison["bound"].is_null()) {
      out += fmt::format("      bound {:.3g} + {:.3g} of the value\n",
                         comparison["bound"]["atol"].get<double>(),
                         comparison["bound"]["rtol"].get<double>());
    }
    out +=
        fmt::format("      first at {}: expected {}, got {}\n", first["index"].get<std::string>(),
                    first["expected"].get<std::string>(), first["got"].get<std::string>());
  }
}

}  // namespace

ReportJson check_json(const Graph& source, const std::vector<CheckProgram>& programs,
                      const std::vector<Tensor>& inputs, const CheckSettings& settings,
                      const ReportJson& environment) {
  const std::vector<CheckCase> cases = check_cases(source, inputs);
  Json results = Json::array();
  bool passed = true;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (settings.progress) {
      settings.progress(static_cast<double>(i) / static_cast<double>(cases.size()), cases[i].name);
    }
    results.push_back(run_case(source, programs, cases[i], i > 0, settings));
    passed = passed && results.back()["status"] != "failed";
  }
  std::vector<std::string> names;
  for (const CheckProgram& program : programs) {
    names.push_back(program.name);
  }
  return {{"graph", source.name},
          {"device", settings.device},
          {"numerics", numerics_text(settings.numerics)},
          {"environment", environment},
          {"passed", passed},
          {"programs", names},
          {"cases", results}};
}

std::optional<bool> within_contract(const Graph& source, const std::vector<CheckProgram>& programs,
                                    const std::vector<Tensor>& inputs,
                                    const CheckSettings& settings) {
  if (settings.numerics == Numerics::exact) return false;  // there they are equal
  const Bindings sizes = sizes_of(source, inputs);
  if (flops_of(programs[0].executable->plan(), sizes) > settings.most_reference_flops) {
    return std::nullopt;
  }
  const CheckCase given{"given inputs", sizes, inputs, false};
  return run_case(source, programs, given, false, settings)["status"] == "passed";
}

std::string check_text(const Json& result) {
  std::string programs;
  for (const Json& name : result["programs"]) {
    programs += (programs.empty() ? "" : ", ") + name.get<std::string>();
  }
  std::string out = fmt::format("{}, numerics {}: fusion {} and the evaluators\n",
                                result["graph"].get<std::string>(),
                                result["numerics"].get<std::string>(), programs);
  for (const Json& the_case : result["cases"]) {
    const std::string note = the_case["note"];
    out += fmt::format("  {:<7}  {}{}\n", the_case["status"].get<std::string>(),
                       the_case["name"].get<std::string>(), note.empty() ? "" : " (" + note + ")");
    for (const Json& output : the_case["outputs"]) {
      add_failures(output, out);
    }
  }
  for (const Json& output : result["cases"][0]["outputs"]) {
    if (!output["error_against_float64"].is_null()) {
      out += fmt::format("  {}: largest error against float64 {:.3g} on the given inputs\n",
                         output["name"].get<std::string>(),
                         output["error_against_float64"].get<double>());
    }
  }
  return out + (result["passed"].get<bool>() ? "passed\n" : "failed\n");
}

}  // namespace ingot
