// Elementwise ops in `wide` and `fast` on a GPU, emulated on the host, against the evaluator in
// f64: as near as docs/functions.md says, and where no other formula stands for the op's own, bit
// for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "graph/evaluate.h"
#include "graph/passes/passes.h"
#include "op/op.h"
#include "support/approximations.h"
#include "support/differential.h"
#include "support/emulated_programs.h"
#include "support/every_op.h"

namespace ingot::testing {
namespace {

const Approximation* approximation(std::string_view function) {
  for (const Approximation& each : approximations) {
    if (each.function == function) return &each;
  }
  return nullptr;
}

std::string_view function_of(const OpInfo& info, Form form) {
  const auto which = static_cast<size_t>(form);
  const std::string_view text = info.cuda[which].empty() ? info.shorter[which] : info.cuda[which];
  return text.substr(0, text.find('('));
}

// By op: the functions that its values are computed with in place of its own.
std::map<Op, std::set<std::string_view>> functions_of(const PlanKernels& loops) {
  std::map<Op, std::set<std::string_view>> functions;
  const std::regex line("= (\\w+)\\([^\n]*\\) form (\\w+)");
  for (const std::vector<loop::Kernel>& variants : loops) {
    for (const loop::Kernel& kernel : variants) {
      const std::string text = print(kernel);
      for (std::sregex_iterator m(text.begin(), text.end(), line), end; m != end; ++m) {
        const OpInfo* info = find_op((*m)[1].str());
        for (int f = 0; f < form_count; ++f) {
          const auto form = static_cast<Form>(f);
          if (form == Form::same || form_name(form) != (*m)[2].str()) continue;
          functions[info->op].insert(function_of(*info, form));
        }
      }
    }
  }
  return functions;
}

// The distance between neighbours of a dtype at x.
double step_at(double x, DType dtype) {
  const int digits = dtype == DType::bf16 ? 8 : dtype == DType::f16 ? 11 : 24;
  const int lowest = dtype == DType::f16 ? -13 : -125;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1, std::max(exponent, lowest) - digits);
}

// "" or what is wrong with `got`, given the exact result.
std::string difference(double got, double exact, DType dtype, const Approximation& bound) {
  const double limit = dtype == DType::f16 ? 65504 : std::numeric_limits<float>::max();
  if (std::isnan(exact) || std::isnan(got)) {
    return std::isnan(exact) && std::isnan(got) ? "" : fmt::format("{}, not {}", got, exact);
  }
  const double allowed = bound.relative * std::fabs(exact) + bound.absolute;
  if (std::fabs(exact) + allowed > limit && std::fabs(got) >= limit / (1 + 1e-2)) return "";
  const double rounding = dtype == DType::f32 ? 0 : step_at(exact, dtype);
  if (std::fabs(got - exact) <= allowed + rounding) return "";
  return fmt::format("{}, not {}: {} of {}", got, exact, std::fabs(got - exact),
                     allowed + rounding);
}

struct Work {
  std::string text;
  Numerics numerics;
};

std::vector<EmulatedProgram> emulated(const std::vector<Work>& works) {
  std::vector<PlannedProgram> programs;
  for (const Work& work : works) {
    PlanOptions options;
    options.numerics = work.numerics;
    options.fusion = FusionMode::off;
    const Graph graph = run_graph_passes(parse_graph(work.text, "ops"));
    programs.push_back({graph, make_plan(graph, device_model("h200"), options)});
  }
  return emulate_programs(programs, "");
}

// Results of ops, each straight from inputs or from a clip of one.
class Results {
 public:
  Results(const Work& work, const EmulatedProgram& program, uint64_t seed)
      : program_(program), source_(parse_graph(work.text, "ops")) {
    const std::vector<Tensor> inputs = random_inputs(source_, {{"B", 40}}, seed);
    got_ = run_emulated(program, inputs);
    plain_ = evaluate(source_, inputs, Precision::per_op);
    exact_ = evaluate(source_, inputs, Precision::wide);
  }

  // The ops that another function stands for.
  std::set<Op> check() const {
    const std::map<Op, std::set<std::string_view>> functions = functions_of(program_.loops);
    std::set<Op> approximated;
    for (size_t o = 0; o < got_.size(); ++o) {
      const Op op = source_[source_.outputs[o]].op;
      if (op_info(op).category != Category::elementwise) continue;
      const auto found = functions.find(op);
      if (found == functions.end()) {
        EXPECT_EQ(first_difference(got_[o], plain_[o]), "") << op_name(op);
        continue;
      }
      approximated.insert(op);
      for (const std::string_view function : found->second) {
        const Approximation* bound = approximation(function);
        if (bound == nullptr) {
          ADD_FAILURE() << function << " has no bound in tests/support/approximations.h";
        } else {
          EXPECT_EQ(worst(o, *bound), "") << function;
        }
      }
    }
    return approximated;
  }

 private:
  std::string worst(size_t output, const Approximation& bound) const {
    const Tensor &got = got_[output], &exact = exact_[output];
    for (int64_t i = 0; i < got.size(); ++i) {
      const std::string text = difference(got.get_f64(i), exact.get_f64(i), got.dtype(), bound);
      if (!text.empty()) return fmt::format("element {}: {}", i, text);
    }
    return "";
  }

  const EmulatedProgram& program_;
  Graph source_;
  std::vector<Tensor> got_, plain_, exact_;
};

TEST(EmulatedWide, EveryOpIsAsNearAsItsFunctionPromises) {
  std::vector<Work> works;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    works.push_back({every_op_program(dtype, 37), Numerics::wide});
  }
  works.push_back({every_op_program(DType::f32, 37), Numerics::fast});
  const std::vector<EmulatedProgram> programs = emulated(works);
  std::set<Op> approximated;
  for (size_t i = 0; i < works.size(); ++i) {
    for (const uint64_t seed : {1, 2, 4})
      approximated.merge(Results(works[i], programs[i], seed).check());
  }
  for (const OpInfo& info : all_ops()) {
    EXPECT_EQ(approximated.contains(info.op),
              has_form(info, Form::bf16) || has_form(info, Form::fast))
        << info.name;
  }
}

TEST(EmulatedWide, OpsOfOperandsInAKnownRangeToo) {
  std::vector<Work> works;
  for (const Approximation& each : approximations) {
    if (each.reach == 0) continue;
    works.push_back({fmt::format("graph g(x: f32[B, 37]) {{ c = clip(x, min={0}, max={1}) "
                                 "y = {2}(c) return y }}",
                                 -each.reach, each.reach, each.reference),
                     Numerics::wide});
  }
  ASSERT_EQ(works.size(), 5U);
  const std::vector<EmulatedProgram> programs = emulated(works);
  for (size_t i = 0; i < works.size(); ++i) {
    for (const uint64_t seed : {1, 2, 4}) {
      EXPECT_EQ(Results(works[i], programs[i], seed).check().size(), 1U) << works[i].text;
    }
  }
}

}  // namespace
}  // namespace ingot::testing
