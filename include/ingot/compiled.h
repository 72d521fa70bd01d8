// A compiled program: run, explained, measured, checked.
#pragma once

#include <ingot/dlpack.h>
#include <ingot/options.h>
#include <ingot/tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

// Called now and then during long work with the part done, 0 to 1, and what is under way.
using Progress = std::function<void(double done, const std::string& what)>;

struct BenchOptions {
  int repeats = 0;  // 0: as many as about two seconds allow, at least 7
  Progress progress = {};
  bool transfers = true;  // on a GPU: time calls from tensors of the host to new ones, too
  // Read the hardware's counters: on a CPU by the kernel's perf events, on a GPU by `ncu`, under
  // which the command that `replay` gives runs the program once, separate ("off") or as compiled
  // ("").
  bool counters = false;
  std::function<std::vector<std::string>(const std::string& fusion)> replay = {};
};
struct TuneOptions {
  double budget_seconds = 30;  // about: what is begun is ended
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

// A compiled program. Thread-safe; cheap to move. One that was moved from may only be destroyed or
// assigned to; all else is Error{input}.
class Compiled {
 public:
  // Inputs in order; sizes of named dimensions come from their shapes. Any strides, any alignment.
  void run(const std::vector<TensorView>& inputs, const std::vector<TensorView>& outputs) const;
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  std::vector<std::vector<int64_t>> output_shapes(const std::vector<Tensor>& inputs) const;

  // The same on tensors of other libraries where they lie: on the CPU, or on the GPU that the
  // program was compiled for; nothing is copied. They stay the caller's. On a GPU they are
  // row-major without gaps and aligned to 16 bytes, the work is put behind what `stream` (a
  // CUstream; null: the default one) holds, and the call returns before it is done where the
  // program has no run-time checks. Error{input}: a null tensor, one on another device, a dtype
  // that ingot has not, shapes or dtypes other than the program's, an output in the memory of
  // another output or, on a GPU, of an input.
  void run_dlpack(const std::vector<DLManagedTensor*>& inputs,
                  const std::vector<DLManagedTensor*>& outputs, void* stream = nullptr) const;
  // Outputs row-major in memory of ingot's on the program's device, in the dtypes and shapes of the
  // program's outputs; each is given back by its deleter. Error{input} for f8, too.
  std::vector<DLManagedTensor*> run_dlpack(const std::vector<DLManagedTensor*>& inputs,
                                           void* stream = nullptr) const;

  // The report, for a person or as JSON; sizes as in Options::sizes, 1 where
  // absent. With `measure`, times separate and fused are measured on random data, where the device
  // is here.
  std::string explain(bool measure = false) const;
  std::string explain_json(bool measure = false) const;
  static std::string explain_text(const std::string& json);  // the text of a report of explain_json
  // Separate against fused in one run: JSON, or its text.
  std::string bench_json(const std::vector<Tensor>& inputs, const BenchOptions& options = {}) const;
  static std::string bench_text(const std::string& json);
  // Reports of bench_json at several sizes as one: "sweep", with a verdict over all of them.
  // bench_text and bench_compared_json take it, too. Error{input}: none, or of several programs.
  static std::string bench_sweep_json(const std::vector<std::string>& reports);
  // The report of bench_json with its "comparison" with an earlier one, by variant: "slower" or
  // "faster" where the medians differ by more than the noise. Error{input} where the base was
  // measured under other conditions (program, device, numerics, sizes, threads): says which.
  static std::string bench_compared_json(const std::string& json, const std::string& base);
  // Times other forms of each group in turns with the planner's and with the separate program, on
  // these inputs, and keeps the fastest of each in the tuning database (Options::tuning_file),
  // which programs compiled later follow. Forms whose results differ in bits are refused in
  // "exact". JSON, or its text. Error{input}: fusion is not "auto", a plan or kernel is edited,
  // there is no database, or nothing runs.
  std::string tune_json(const std::vector<Tensor>& inputs, const TuneOptions& options = {}) const;
  static std::string tune_text(const std::string& json);
  // A GPU's kernels compiled for at most so many registers a thread, each cap beside the others:
  // registers, bytes of spills a thread, occupancy; and the us of a run, where the device is here.
  // Sizes as in Options::sizes, 1 where absent. JSON, or its text. Error{input}: not a GPU, no
  // NVRTC, no cap, or one below 16 or above 255.
  std::string register_caps_json(const std::vector<int>& caps) const;
  static std::string register_caps_text(const std::string& json);
  // Fused, separate and reference compared under the numerics contract, on `inputs` and on special
  // values and sizes of its own.
  CheckResult check(const std::vector<Tensor>& inputs, const CheckOptions& options = {}) const;

  // Edited kernels (Options::kernel_files) of variants that these inputs do not take, each with the
  // kernel that runs instead. Error{input} where none of them runs.
  std::map<std::string, std::string> edited_not_run(const std::vector<Tensor>& inputs) const;
  // The same at Options::sizes, 1 where absent; none may run.
  std::map<std::string, std::string> edited_not_run() const;
  // "NAME: why" of the kernels for which a GPU has no form yet: the program runs on none.
  std::vector<std::string> obstacles() const;

  std::string compile_text() const;  // one line: kernels, units, from the cache or compiled, time
  std::string plan_text() const;     // parses back (Options::plan_file)
  std::string lower_text() const;    // all kernels as loops; parses back (Options::kernel_files)
  struct Source {
    std::string name;      // kernel name
    std::string language;  // "c++", "cuda"; empty where no source is written yet
    std::string text;      // compiles alone, can be edited and given back (Options::kernel_files)
    std::string kernel;    // the kernel without the library functions before it
    std::string resources_json;
    int group;  // its id in the report of explain_json; kernels that are equal up to names have one
  };
  std::vector<Source> sources() const;

  Compiled(Compiled&&) noexcept;
  Compiled& operator=(Compiled&&) noexcept;
  ~Compiled();

 private:
  friend class Program;
  friend class Tuner;
  Compiled();
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
