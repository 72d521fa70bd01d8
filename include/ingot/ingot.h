// ingot: a tensor program in, fused kernels out, with the evidence for every fusion.
//
//   ingot::Program p = ingot::Program::load("bias_gelu.ingot");
//   ingot::Options options;                       // device "cpu", numerics exact, fusion auto
//   ingot::Compiled c = p.compile(options);
//   std::vector<ingot::Tensor> y = c.run({x, b});
//   std::puts(c.explain().c_str());
//
// Everything throws ingot::Error and nothing else.
#pragma once

#include <ingot/dtype.h>
#include <ingot/error.h>
#include <ingot/tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ingot {

// A dimension: a number, a name, or an expression over names ("2*B").
struct Dim {
  Dim(int64_t size) : text(std::to_string(size)) {}  // NOLINT: implicit on purpose
  Dim(int size) : Dim(static_cast<int64_t>(size)) {}  // NOLINT
  Dim(std::string expression) : text(std::move(expression)) {}  // NOLINT
  Dim(const char* expression) : text(expression) {}  // NOLINT
  std::string text;
};
using Dims = std::vector<Dim>;

// An attribute of an op: epsilon=1e-5, dims={-1}, keepdims=true, approximate="tanh", dtype=DType::f32.
using Attribute = std::variant<bool, int, int64_t, double, std::string, DType, Dims>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct Port {  // an input or output of a program
  std::string name;
  DType dtype;
  std::vector<std::string> shape;  // dimension texts: "B", "8192"
};

// Named dimensions' values.
using Sizes = std::map<std::string, int64_t>;

struct Options {
  std::string device = "cpu";                     // or a device model's name: nothing runs then
  std::string numerics = "exact";                 // exact | wide | fast
  std::string fusion = "auto";                    // auto | off | all
  Sizes sizes;                                    // for cost weighing and reports
  int threads = 0;                                // 0: INGOT_NUM_THREADS, else all cores
  std::string cache_dir;                          // empty: INGOT_CACHE_DIR, else the user's cache
  std::string plan_file;                          // an edited plan to use instead of ours
  std::map<std::string, std::string> kernel_files;  // kernel name → edited source
  bool plan_only = false;                         // for explain and the texts: compiles no kernel
};

class Compiled;

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
  // Data for an input: "random", "random:SEED", "random:SEED:SCALE", "zeros", "ones", "iota". Random
  // floats are normal times SCALE, bool is half true, u8 takes every value, an index of a gather
  // every row of its table, other integers [-100, 100]. Sizes not given count as 1.
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
  std::unique_ptr<State> state_;
};

// Called now and then during long work with the part done, 0 to 1, and what is under way.
using Progress = std::function<void(double done, const std::string& what)>;

struct BenchOptions {
  int repeats = 0;  // 0: as many as about two seconds allow, at least 7
  Progress progress = {};
};
struct CheckOptions {
  std::optional<double> rtol = {}, atol = {};  // instead of the contract's bounds
  Progress progress = {};
};
struct CheckResult {
  bool passed;
  std::string report_text, report_json;
};

// A compiled program. Thread-safe; cheap to move.
class Compiled {
 public:
  // Inputs in order; sizes of named dimensions come from their shapes. Any strides, any alignment.
  void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs) const;
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  std::vector<std::vector<int64_t>> output_shapes(const std::vector<Tensor>& inputs) const;

  // The report of interface.md, for a person or as JSON; sizes as in Options::sizes, 1 where absent.
  // With `measure`, times separate and fused are measured on random data (device "cpu").
  std::string explain(bool measure = false) const;
  std::string explain_json(bool measure = false) const;
  // Separate against fused in one run: JSON of interface.md or its text.
  std::string bench_json(const std::vector<Tensor>& inputs, const BenchOptions& options = {}) const;
  static std::string bench_text(const std::string& json);
  // Fused, separate and reference compared under the numerics contract, on `inputs` and on special
  // values and sizes of its own.
  CheckResult check(const std::vector<Tensor>& inputs, const CheckOptions& options = {}) const;

  std::string compile_text() const;  // one line: kernels, units, from the cache or compiled, time
  std::string plan_text() const;    // parses back (Options::plan_file)
  std::string lower_text() const;   // all kernels as loop IR
  struct Source {
    std::string name;      // kernel name
    std::string language;  // "c++"; empty for a device that is only planned for
    std::string text;      // compiles alone, can be edited and given back (Options::kernel_files)
    std::string resources_json;
  };
  std::vector<Source> sources() const;

  Compiled(Compiled&&) noexcept;
  Compiled& operator=(Compiled&&) noexcept;
  ~Compiled();

 private:
  friend class Program;
  Compiled();
  struct State;
  std::unique_ptr<State> state_;
};

// A tensor from a .npy file or a .pb file (an ONNX TensorProto), by the file's ending.
Tensor load_tensor(const std::string& path);

// Tables and environment, for the CLI and tools.
std::string version_text();
std::string ops_text();          // the op table for a person
std::string ops_markdown();      // docs/ops.md
std::string ops_header();        // include/ingot/ops.h
std::string ops_json();
std::string devices_text(bool measure);
std::string devices_json(bool measure);
std::string environment_json(const Options& options = {});
struct CacheSummary {
  std::string directory;
  int64_t entries, bytes, damaged;
};
CacheSummary cache_stats(const std::string& cache_dir);
CacheSummary cache_verify(const std::string& cache_dir);
CacheSummary cache_clear(const std::string& cache_dir);

}  // namespace ingot
