// Every elementwise op and reduction of the table, for every dtype that it takes: fused, separate
// and evaluated give the same bits, on special values and odd sizes too. A new row is tested by
// standing in the table.
#include <gtest/gtest.h>
#include <ingot/ingot.h>

#include "op/op.h"
#include "support/every_op.h"

namespace ingot {
namespace {

class EveryOp : public ::testing::TestWithParam<DType> {};

TEST_P(EveryOp, RunsCompiledAsEvaluated) {
  const Program program = Program::parse(testing::every_op_program(GetParam(), 37));
  Options options;
  options.sizes = {{"B", 5}};
  std::vector<Tensor> inputs;
  for (const Port& port : program.inputs()) {
    inputs.push_back(program.sample(port.name, "random", options.sizes));
  }
  const CheckResult result = program.compile(options).check(inputs);
  EXPECT_TRUE(result.passed) << result.report_text;
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryOp, ::testing::ValuesIn(all_dtypes),
                         [](const ::testing::TestParamInfo<DType>& dtype) {
                           return std::string(dtype_name(dtype.param));
                         });

}  // namespace
}  // namespace ingot
