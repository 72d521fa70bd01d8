// The Magika model on the features of real files. The model is not part of the project: without
// ../shared the test is skipped.
#include <gtest/gtest.h>
#include <ingot/ingot.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <nlohmann/json.hpp>

namespace ingot {
namespace {

class Magika : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(INGOT_SOURCE_DIR) + "/../shared/models/magika/";
    if (!std::filesystem::exists(folder_ + "model.onnx")) {
      GTEST_SKIP() << folder_ << "model.onnx is not here";
    }
  }

  std::string folder_;
};

// The first `count` rows.
Tensor rows_of(const Tensor& tensor, int64_t count) {
  Tensor part = Tensor::uninitialized(tensor.dtype(), {count, tensor.shape()[1]});
  std::memcpy(part.data(), tensor.data(), static_cast<size_t>(part.bytes()));
  return part;
}

int64_t best_of_row(const Tensor& tensor, int64_t row) {
  const int64_t columns = tensor.shape()[1];
  int64_t best = 0;
  for (int64_t i = 1; i < columns; ++i) {
    if (tensor.get_f64(row * columns + i) > tensor.get_f64(row * columns + best)) {
      best = i;
    }
  }
  return best;
}

TEST_F(Magika, GivesTheFloat64ResultsAtEveryBatchFromOneCompile) {
  const Tensor inputs = read_npy(folder_ + "inputs.npy");
  const Tensor expected = read_npy(folder_ + "expected.npy");
  const Compiled compiled = Program::load(folder_ + "model.onnx").compile();
  for (const int64_t batch : {int64_t{1}, int64_t{7}, inputs.shape()[0]}) {
    const Tensor got = compiled.run({rows_of(inputs, batch)})[0];
    ASSERT_EQ(got.shape(), (std::vector<int64_t>{batch, expected.shape()[1]}));
    double worst = 0;
    for (int64_t i = 0; i < got.size(); ++i) {
      worst = std::max(worst, std::abs(got.get_f64(i) - expected.get_f64(i)));
    }
    EXPECT_LE(worst, 2e-3) << "batch " << batch;
    for (int64_t row = 0; row < batch; ++row) {
      EXPECT_EQ(best_of_row(got, row), best_of_row(expected, row)) << "row " << row;
    }
  }
}

TEST_F(Magika, TakesAtMostEightKernels) {
  Options options;
  options.plan_only = true;
  const Program program = Program::load(folder_ + "model.onnx");
  const auto report = nlohmann::json::parse(program.compile(options).explain_json());
  EXPECT_LE(report["totals"]["kernels_fused"], 8);
  EXPECT_LT(report["totals"]["bytes_fused"], report["totals"]["bytes_separate"]);
}

TEST_F(Magika, FusionChangesNoBit) {
  const Program program = Program::load(folder_ + "model.onnx");
  const Tensor batch = rows_of(read_npy(folder_ + "inputs.npy"), 3);
  std::vector<Tensor> results;
  for (const char* fusion : {"off", "auto", "all"}) {
    Options options;
    options.fusion = fusion;
    results.push_back(program.compile(options).run({batch})[0]);
  }
  for (const Tensor& result : results) {
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), static_cast<size_t>(result.bytes())),
              0);
  }
}

}  // namespace
}  // namespace ingot
