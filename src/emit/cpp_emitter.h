// The emitter's state while it writes one phase: names in scope, and which vectors of a loop are
// being written. cpp_emitter.cpp has kernels and phases, statements.cpp statements, vector_loop.cpp
// loops.
#pragma once

#include <map>
#include <optional>

#include "base/text.h"
#include "emit/c_text.h"
#include "emit/emit.h"
#include "emit/names.h"

namespace ingot {

// A value or accumulator of the IR in the emitted text.
struct Value {
  std::string name;
  DType dtype = DType::f32;
  Lanes lanes = Lanes::f32;
  bool varying = false;    // differs from lane to lane of the vector loop: one variable a vector
  std::string subscript;   // a `long` that stands for it in subscripts; varying: name_at[l]
  Op reduction = Op::sum;  // accumulators
  bool lane_accumulator = false;  // 64 lanes: four vectors
};

// The vectors of a vector loop that are written side by side: elements var + 16·vector.
struct Block {
  std::string ir_var;        // the loop's variable in the IR
  std::string var;           // and in the text
  std::vector<int> vectors;  // {0, 1, 2, 3}; {0} in a tail
  int step = 64;             // var is a multiple of it
  bool masked = false;       // only the first `lanes` lanes are there
  std::string lanes;
  int64_t prefetch_bytes = 0;
  std::map<std::string, std::string> accumulators;  // accumulator → variable that stands for it
};

// How the sixteen lanes of a vector see a subscript.
struct Access {
  enum Kind { uniform, contiguous, lanes } kind;
  Sym index;  // of lane 0; in the kind `lanes` as it was
};
inline constexpr std::string_view lane_var = "@lane";
inline constexpr std::string_view chunk_var = "@chunk";  // var / step

class Emitter {
 public:
  explicit Emitter(const loop::Kernel& kernel);
  KernelSource source();

 private:
  // cpp_emitter.cpp
  std::string phase_text(size_t number);
  std::string header_text() const;
  void declare_buffers(const loop::Phase& phase);
  Sym scratch_offset(size_t number) const;

  // statements.cpp
  void statements(const std::vector<loop::Stmt>& body);
  void statement(const loop::Stmt& stmt);
  void emit(const loop::Let& let);
  void emit(const loop::Load& load);
  void emit(const loop::IndexValue& index);
  void emit(const loop::Accumulator& acc);
  void emit(const loop::Accumulate& accumulate);
  void emit(const loop::Finish& finish);
  void emit(const loop::Store& store);
  void emit(const loop::Product& product);
  void emit(const std::shared_ptr<loop::Loop>& loop);

  // One definition for each vector of the block (or one, if it is the same for all lanes).
  template <class F>
  void define(const std::string& name, DType dtype, Lanes lanes, bool varying, F expression);
  void define_subscript(Value& value);
  void row(std::string_view head, const std::vector<std::string>& parts,
           std::string_view separator);
  std::string let_text(const loop::Let& let, int vector);
  std::string cast_text(const loop::Let& let, int vector);
  std::string operand_text(const loop::Operand& operand, DType dtype, int vector, bool splat);
  std::string as_lanes(const std::string& text, Lanes from, Lanes to) const;
  Lanes operand_lanes(const loop::Operand& operand, DType dtype) const;
  Lanes result_lanes(const loop::Let& let) const;
  std::string rounded(std::string text, DType dtype);
  std::string load_text(const loop::Load& load, int vector);
  void report_failed_guard(const loop::Load& load, bool varying);
  void emit_subscript_load(const loop::Load& load);
  bool by_lane(const loop::Load& load, int vector) const;
  void emit_lane_load(const loop::Load& load, const std::string& name);
  void emit_lane_function(const std::string& name, std::string_view result,
                          const std::vector<std::string>& body);
  std::string gather_text(DType dtype, const std::string& name, int vector) const;
  void prefetch(const loop::Load& load);
  std::string combine_text(Op op, DType dtype, const std::string& a, const std::string& b);
  bool rounded_by_stores(const std::string& name) const;
  void note_functions(std::string_view formula, Lanes lanes);

  // vector_loop.cpp
  void vector_loop(const loop::Loop& loop);
  struct Extent;
  std::string full_name(const std::string& var, const std::string& text);
  void chunks(const loop::Loop& loop, const std::vector<loop::Stmt>& body, const Extent& extent);
  void tail(const loop::Loop& loop, const std::vector<loop::Stmt>& body, const Extent& extent);
  std::vector<loop::Stmt> hoist(const loop::Loop& loop, std::vector<loop::Stmt>& rest) const;
  bool is_varying(const loop::Stmt& stmt) const;
  bool is_varying(const Sym& sym) const;
  bool is_varying(const std::vector<loop::Guard>& guards) const;
  bool is_varying(const loop::Operand& operand) const;
  bool differs_by_lane(const std::vector<loop::Guard>& guards, int vector) const;
  bool uses_values(const Sym& sym) const;
  Access access(const Sym& index, int vector) const;
  Sym lane_index(const Sym& index) const;
  std::string subscript(const Sym& sym) const;
  std::string condition(const std::vector<loop::Guard>& guards, int vector) const;
  std::string lane_condition(const std::vector<loop::Guard>& guards) const;
  std::string guards_text(const std::vector<loop::Guard>& guards,
                          const std::function<std::string(const Sym&)>& text) const;
  std::string lanes_argument() const;  // ", lanes" in a masked block
  bool aligned(const Sym& index) const;

  std::string pointer(const std::string& buffer, const Sym& index) const;
  std::string vector_name(const Value& value, int vector) const;
  const Value& value(const std::string& name) const;
  void open(const std::string& text);
  void close(const std::string& text = "}");
  void line(const std::string& text);

  const loop::Kernel& kernel_;
  KernelSource source_;
  std::map<std::string, DType> buffer_dtypes_;

  // of the phase being written
  Names names_;
  Writer out_;
  size_t depth_ = 0;
  std::map<std::string, std::string> buffers_;    // IR name → text
  std::map<std::string, std::string> variables_;  // loop variables and sizes → text
  std::map<std::string, Value> values_;
  std::map<std::string, Value> accumulators_;
  std::set<std::string> in_subscripts_;                // names of values that stand in subscripts
  std::map<std::string, std::set<std::string>> uses_;  // value → "store" / "other"
  Ranges ranges_;
  std::optional<Block> block_;
  std::string phase_var_;
  // Ends of whole chunks that are already there: where they were declared (depth), text, name.
  std::vector<std::tuple<size_t, std::string, std::string>> full_names_;
  bool streams_ = false;
};

}  // namespace ingot
