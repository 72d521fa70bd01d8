// Every elementwise op and reduction of the table, for every dtype that it takes: fused, separate
// and evaluated give the same bits, on special values and odd sizes too. A new row is tested by
// standing in the table.
#include <gtest/gtest.h>
#include <ingot/ingot.h>

#include "base/text.h"
#include "op/op.h"

namespace ingot {
namespace {

std::vector<std::string> calls(const OpInfo& info, std::string_view dtype) {
  if (info.op == Op::select) return {"select(m, a, b)"};
  std::vector<std::string> all;
  if (info.op == Op::cast) {
    for (const DType to : all_dtypes) {
      all.push_back(fmt::format("cast(a, dtype={})", dtype_name(to)));
    }
  } else if (info.category == Category::reduction) {
    all = {fmt::format("{}(a, dims=[1])", info.name), fmt::format("{}(a, dims=[0])", info.name)};
  } else {
    const std::string operands =
        std::string("a, b, c").substr(0, static_cast<size_t>(3 * info.max_operands - 2));
    all = {fmt::format("{}({})", info.name, operands)};
    // Once more with other attributes: the defaults are often neutral.
    if (!info.attrs.empty() && is_float(*parse_dtype(dtype))) {
      std::string attrs;
      for (const AttrInfo& attr : info.attrs) attrs += fmt::format(", {}=0.75", attr.name);
      all.push_back(fmt::format("{}({}{})", info.name, operands, attrs));
    }
  }
  return all;
}

std::string program_of(DType dtype) {
  const std::string_view name = dtype_name(dtype);
  std::string text = fmt::format(
      "graph ops_{0}(a: {0}[B, 37], b: {0}[B, 37], c: {0}[B, 37], m: bool[B, 37]) {{\n", name);
  std::vector<std::string> results;
  for (const OpInfo& info : all_ops()) {
    const bool computed =
        info.category == Category::elementwise || info.category == Category::reduction;
    if (!computed || !accepts(info.operands, dtype)) continue;
    for (const std::string& call : calls(info, name)) {
      results.push_back(fmt::format("r{}_{}", results.size(), info.name));
      text += fmt::format("  {} = {}\n", results.back(), call);
    }
  }
  return text + "  return " + join(results, ", ") + "\n}\n";
}

class EveryOp : public testing::TestWithParam<DType> {};

TEST_P(EveryOp, RunsCompiledAsEvaluated) {
  const Program program = Program::parse(program_of(GetParam()));
  Options options;
  options.sizes = {{"B", 5}};
  std::vector<Tensor> inputs;
  for (const Port& port : program.inputs()) {
    inputs.push_back(program.sample(port.name, "random", options.sizes));
  }
  const CheckResult result = program.compile(options).check(inputs);
  EXPECT_TRUE(result.passed) << result.report_text;
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryOp, testing::ValuesIn(all_dtypes),
                         [](const testing::TestParamInfo<DType>& dtype) {
                           return std::string(dtype_name(dtype.param));
                         });

}  // namespace
}  // namespace ingot
