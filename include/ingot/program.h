// A program: built op by op, or read from text or ONNX.
#pragma once

#include <ingot/dtype.h>
#include <ingot/options.h>
#include <ingot/tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ingot {

class Compiled;

// A dimension: a number, a name, or an expression over names ("2*B").
struct Dim {
  Dim(int64_t size) : text(std::to_string(size)) {}             // NOLINT: implicit on purpose
  Dim(int size) : Dim(static_cast<int64_t>(size)) {}            // NOLINT
  Dim(std::string expression) : text(std::move(expression)) {}  // NOLINT
  Dim(const char* expression) : text(expression) {}             // NOLINT
  std::string text;
};
using Dims = std::vector<Dim>;

// An attribute of an op: epsilon=1e-5, dims={-1}, keepdims=true, approximate="tanh",
// dtype=DType::f32.
using Attribute = std::variant<bool, int, int64_t, double, std::string, DType, Dims>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct Port {  // an input or output of a program
  std::string name;
  DType dtype;
  std::vector<std::string> shape;  // dimension texts: "B", "8192"
};

// A value while building.
struct Value {
  int32_t id = -1;
};

class Program {
 public:
  // Builds a program op by op; names and types as in the text form.
  explicit Program(std::string name);
  Value input(std::string name, DType dtype, Dims shape);
  Value constant(Tensor value, std::string name = {});
  Value literal(DType dtype, double value);
  // By the op's name in the text form; typed functions for each op stand in <ingot/ops.h>.
  Value op(std::string_view name, std::vector<Value> operands, Attributes attributes = {},
           std::string result_name = {});
  void output(Value value, std::string name = {});

  // .ingot text or .onnx by the file's ending.
  static Program load(const std::string& path);
  static Program parse(std::string_view text, const std::string& file = "<text>");

  Compiled compile(const Options& options = {}) const;
  // Evaluates without compiling: each op rounded to its dtype, or everything in float64.
  std::vector<Tensor> evaluate(const std::vector<Tensor>& inputs, bool float64 = false) const;

  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  std::vector<std::string> size_names() const;
  // What shapes of inputs, by name, say about the named dimensions; -1 stands for an unknown size.
  Sizes sizes_of(const std::map<std::string, std::vector<int64_t>>& shapes) const;
  // What the value of one dimension says: a name that had to be equal to another one stands for it.
  Sizes sizes_of_dimension(const std::string& name, int64_t value) const;
  // Data for an input: "random", "random:SEED", "random:SEED:SCALE", "zeros", "ones", "iota".
  // Random floats are normal times SCALE, bool is half true, u8 takes every value, an index of a
  // gather every row of its table, other integers [-100, 100]. Sizes not given count as 1.
  Tensor sample(const std::string& input, const std::string& spec, const Sizes& sizes = {}) const;
  std::string name() const;
  std::string print() const;  // the graph as text; parses back

  Program(Program&&) noexcept;
  Program(const Program&);
  Program& operator=(Program&&) noexcept;
  ~Program();

 private:
  friend class Compiled;
  struct State;
  State& state() const;  // Error{input} of one that was moved from
  std::unique_ptr<State> state_;
};

// Begins, on a thread of its own, what the first matrix product of a process costs once: about 30
// ms of code generation on a CPU. compile() does it where a program has products; who knows that
// one will come calls it before loading. Later calls begin nothing. The end of what is returned
// waits: keep it, so that the process does not end in the midst of it.
[[nodiscard]] std::shared_ptr<void> start_products();

}  // namespace ingot
