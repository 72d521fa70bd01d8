// Random ONNX models: the imported graph, its text parsed back, and the graph after all passes give
// the same bits.
#include <gtest/gtest.h>

#include <random>

#include "graph/passes/passes.h"
#include "onnx/model_builder.h"
#include "support/values.h"

namespace ingot {
namespace {

using testing::Attr;
using testing::Model;

// A model that grows from x f32[B, 6, 4], remembering its tensors' ranks (all have B first, and
// every other size divides 24).
class RandomModel {
 public:
  explicit RandomModel(unsigned seed) : random_(seed), model_(7 + static_cast<int>(seed % 15)) {
    model_.input("x", DType::f32, {"B", 6, 4});
    Tensor bias = random_tensor(DType::f32, {4}, seed, 1, 0, 1);
    model_.initializer("bias", bias);
    tensors_.push_back({"x", {6, 4}});
    for (int i = 0; i < 12; ++i) grow();
    model_.output(tensors_.back().name);
  }
  Graph import() const { return model_.import(); }

 private:
  struct Known {
    std::string name;
    std::vector<int64_t> tail;  // sizes after B
  };

  size_t pick(size_t n) { return random_() % n; }
  int opset() const { return static_cast<int>(model_.proto.opset_import(0).version()); }

  void node(const std::string& op, std::vector<std::string> inputs, std::vector<int64_t> tail,
            const std::vector<Attr>& attrs = {}) {
    std::string name = fmt::format("t{}", tensors_.size());
    model_.node(op, inputs, {name}, attrs);
    tensors_.push_back({name, std::move(tail)});
  }

  std::string integers(const std::vector<int64_t>& values) {
    std::string name = fmt::format("c{}", constants_++);
    model_.integers(name, values);
    return name;
  }

  void grow() {
    const Known at = tensors_[tensors_.size() - 1 - pick(std::min<size_t>(3, tensors_.size()))];
    const char* unary[] = {"Relu", "Neg", "Tanh", "Exp", "Sigmoid", "Abs", "Floor", "Softplus"};
    const char* binary[] = {"Add", "Mul", "Sub", "Max", "Min"};
    const auto rank = static_cast<int>(at.tail.size()) + 1;
    switch (pick(8)) {
      case 0:
      case 1:
        return node(unary[pick(8)], {at.name}, at.tail);
      case 2:
        return combine(at, binary[pick(opset() < 8 ? 3 : 5)]);
      case 3:
        return node("Softmax", {at.name}, at.tail, {Attr("axis", rank - 1)});
      case 4:
        return reshape(at);
      case 5:
        return reduce(at, rank);
      case 6:
        return slice(at, rank);
      default:
        return transpose(at);
    }
  }

  void combine(const Known& at, const std::string& op) {
    for (const Known& other : tensors_) {
      if (other.tail == at.tail && pick(2) == 0) return node(op, {at.name, other.name}, at.tail);
    }
    if (at.tail.back() == 4) return node(op, {at.name, "bias"}, at.tail);
    node(op, {at.name, at.name}, at.tail);
  }

  void reshape(const Known& at) {
    int64_t count = 1;
    for (int64_t size : at.tail) count *= size;
    std::vector<int64_t> tail{count};
    for (int64_t split : {2, 3}) {
      if (count % split == 0 && pick(2) == 0) tail = {split, count / split};
    }
    std::vector<int64_t> shape = tail;
    shape.insert(shape.begin(), pick(2) == 0 ? -1 : 0);
    node("Reshape", {at.name, integers(shape)}, tail);
  }

  void reduce(const Known& at, int rank) {
    const char* ops[] = {"ReduceSum", "ReduceMax", "ReduceMean", "ReduceLogSumExp"};
    std::string op = ops[pick(4)];
    std::vector<int64_t> tail = at.tail;
    tail.back() = 1;
    bool by_input = opset() >= (op == "ReduceSum" ? 13 : 18);
    if (by_input) return node(op, {at.name, integers({rank - 1})}, tail);
    node(op, {at.name}, tail, {Attr("axes", std::vector<int64_t>{rank - 1})});
  }

  void slice(const Known& at, int rank) {
    std::vector<int64_t> tail = at.tail;
    int64_t start = tail.back() > 1 ? 1 : 0;
    tail.back() -= start;
    if (opset() >= 10) {
      return node("Slice",
                  {at.name, integers({start}), integers({INT64_MAX}), integers({rank - 1})}, tail);
    }
    node("Slice", {at.name}, tail,
         {Attr("starts", std::vector<int64_t>{start}), Attr("ends", std::vector<int64_t>{1000}),
          Attr("axes", std::vector<int64_t>{rank - 1})});
  }

  void transpose(const Known& at) {
    std::vector<int64_t> perm{0}, tail;
    for (size_t d = at.tail.size(); d-- > 0;) {
      perm.push_back(static_cast<int64_t>(d) + 1);
      tail.push_back(at.tail[d]);
    }
    node("Transpose", {at.name}, tail, {Attr("perm", perm)});
  }

  std::mt19937 random_;
  Model model_;
  std::vector<Known> tensors_;
  int constants_ = 0;
};

TEST(OnnxRoundTrip, TextAndPassesKeepEveryBit) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Graph imported = RandomModel(seed).import();
    std::string text = print(imported);
    Graph parsed = parse_graph(text, "<text>");
    EXPECT_EQ(print(parsed), text);
    Graph passed = run_graph_passes(imported);
    for (int64_t batch : {1, 3}) {
      Tensor x = random_tensor(DType::f32, {batch, 6, 4}, seed, 1, 0, 1);
      Tensor wanted = evaluate(imported, {x}, Precision::per_op)[0];
      EXPECT_TRUE(testing::same_bits(evaluate(parsed, {x}, Precision::per_op)[0], wanted)) << text;
      EXPECT_TRUE(testing::same_bits(evaluate(passed, {x}, Precision::per_op)[0], wanted))
          << text << print(passed);
    }
  }
}

}  // namespace
}  // namespace ingot
