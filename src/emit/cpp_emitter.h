// The emitter's state while it writes one phase: names in scope, and which vectors of a loop are
// being written.
#pragma once

#include "base/text.h"
#include "emit/c_text.h"
#include "emit/chunk.h"
#include "emit/emit.h"
#include "emit/lane_questions.h"
#include "emit/names.h"

namespace ingot {

class Emitter : private LaneQuestions {
 public:
  Emitter(const loop::Kernel& kernel, const Target& target);
  KernelSource source();

 private:
  // cpp_emitter.cpp
  std::string phase_text(size_t number);
  std::string cuda_signature(const std::string& symbol, const loop::Phase& phase) const;
  void open_iterations(const loop::Phase& phase);
  void close_iterations();
  void declare_quotients(const loop::Phase& phase);
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
  void store_vector(const loop::Store& store, const std::string& text, const LaneAccess& at);
  void emit(const loop::Product& product);
  void emit(const loop::Transpose& transpose);
  void emit(const loop::Fetch& fetch);
  void emit(const loop::Await& await);
  void emit(const loop::Prefetch& prefetch);
  void emit(const std::shared_ptr<loop::Loop>& loop);

  // The line that defines a value; `expression` may write lines before it.
  void define(const std::string& name, DType dtype, Lanes lanes, bool varying,
              const std::function<std::string(const std::string& text_name)>& expression);
  void define_subscript(EmittedValue& value);
  std::string let_text(const loop::Let& let);
  std::string counted_comparison(const loop::Let& let) const;
  std::string cast_text(const loop::Let& let);
  std::string operand_text(const loop::Operand& operand, DType dtype, bool splat) const;
  Lanes operand_lanes(const loop::Operand& operand, DType dtype) const;
  Lanes result_lanes(const loop::Let& let) const;
  std::string rounded(std::string text, DType dtype) const;
  std::string finished(const std::string& text, Op op, DType dtype) const;
  std::string team_argument() const;
  std::string load_text(const loop::Load& load);
  std::string kept_text(const loop::Load& load);
  void emit_kept(const loop::Load& load);
  void emit_subscript_load(const loop::Load& load);
  // Lane by lane: a function of the lane, and the routine that calls it.
  bool by_lane(const loop::Load& load) const;
  std::string lane_load(const loop::Load& load, const std::string& name);
  void lane_function(const std::string& name, std::string_view result,
                     const std::vector<std::string>& body);
  std::string within_text(const loop::IndexValue& index, const std::string& name);
  std::string index_text(const loop::IndexValue& index, const std::string& name);
  // Keeps the failed check's report and the number it names; in a lane's function by lane.
  template <class Checked>
  std::string raised(const Checked& statement) const {
    bool by_lane = differs_by_lane(statement.guards);
    std::string number =
        subscript(by_lane ? lane_index(statement.reported) : access(statement.reported).index);
    return fmt::format("*{} = {{{}, {}}};", report_, statement.report + 1, number);
  }
  std::string gather_text(DType dtype, const std::string& name) const;
  std::string combine_text(Op op, DType dtype, const std::string& a, const std::string& b);
  bool rounded_by_stores(const std::string& name) const;
  void note_functions(std::string_view formula, Lanes lanes);

  // cuda_tiles.cpp: blocks of memory in shared memory, read down their columns.
  void note_tile(const loop::Transpose& transpose);
  void declare_group();
  void declare_tiles(const loop::Phase& phase);
  void fill_tile(const loop::Transpose& transpose);
  std::string tile_text(const loop::Load& load) const;

  // cuda_loops.cpp: how threads share loops, and rows in their registers.
  void note_pairs(const loop::Phase& phase);
  void note_shared_rows(const loop::Loop& loop);
  void declare_shared_rows(const loop::Phase& phase);
  void declare_thread_rows(const loop::Phase& phase);
  std::map<std::string, int64_t> thread_row_chunks(const loop::Phase& phase) const;
  int64_t kept_bytes(const loop::Phase& phase) const;
  std::string launch_bounds(const loop::Phase& phase) const;
  std::optional<Sym> usual_length(const loop::Loop& loop) const;
  bool keeps_rows(const loop::Loop& loop) const;
  void open_thread_chunks(const loop::Loop& loop, Chunk& chunk, const std::string& extent,
                          bool whole);
  void chunks(const loop::Loop& loop, const std::vector<loop::Stmt>& body, Chunk chunk,
              const std::string& extent, bool whole);
  std::optional<std::string> packs_condition(const std::vector<loop::Stmt>& body,
                                             const Chunk& chunk, const std::string& extent);
  void spread_loop(const loop::Loop& loop);
  void combine_parts(const Texts& totals, const std::string& place, const std::string& rest);
  void spread_over_lanes(const loop::Loop& loop, const Texts& totals);
  void fold_parts(const Texts& totals, int64_t count, bool in_lanes);
  void combine_totals(const Texts& totals, const std::string& extent, const std::string& round,
                      std::optional<int64_t> count);
  bool is_thread_row(const std::string& buffer) const;
  std::string thread_row(const std::string& buffer, const Sym& index) const;

  // vector_loop.cpp
  void vector_loop(const loop::Loop& loop);
  std::string shared_name(const std::string& name, std::string_view type, const std::string& text);
  std::string extent_name(const std::string& var, const Sym& extent);
  void declare_rows(const std::vector<loop::Stmt>& body);
  void declare_row(const std::string& buffer, const Sym& index);
  std::pair<Sym, Sym> split(const Sym& index) const;
  std::string rows_name(const Sym& index);
  std::string rows_arguments(const std::string& buffer, const Sym& index);
  std::string all_lanes_condition(const std::vector<loop::Guard>& guards) const;
  std::string subscript(const Sym& sym) const;
  std::string condition(const std::vector<loop::Guard>& guards) const;
  std::string lane_condition(const std::vector<loop::Guard>& guards) const;
  std::string guards_text(const std::vector<loop::Guard>& guards,
                          const std::function<std::string(const Sym&)>& text) const;
  std::string unless_repeated() const;
  std::string_view whole_word(const Sym& index) const;
  std::string live_argument() const;  // ", live" where a chunk may not be full
  std::string pointer(const std::string& buffer, const Sym& index) const;
  void call_line(const std::string& function, const std::vector<std::string>& arguments);
  void open(const std::string& text);
  void close(const std::string& text = "}");
  void line(const std::string& text);

  const std::string_view report_;  // where a failed check leaves its number
  KernelSource source_;
  std::map<std::string, DType> buffer_dtypes_;
  std::map<std::string, Tile> tiles_;  // by scratch buffer
  bool matrices_ = true;               // all of them whole, of 16-bit elements
  Names names_;
  Writer out_;
};

}  // namespace ingot
