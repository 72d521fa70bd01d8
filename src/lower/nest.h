// The loops of one group: which variables are parallel, vectorised, reduced, and in which passes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lower/nest_parts.h"
#include "lower/values.h"

namespace ingot::lowering {

class Nest {
 public:
  // `findings` of a dry run, or null for the dry run itself.
  Nest(const Graph& graph, const Plan& plan, const Group& group, const Schedule& schedule,
       const Findings* findings);
  loop::Kernel build();
  Findings take_findings();

 private:
  friend class RowBands;
  // What the group computes, by level: how many reductions stand one after another before it.
  void find_levels();
  void choose_staging();
  std::vector<Var> merged(std::vector<DomainVar> vars, bool allowed) const;
  bool mergeable(const Var& outer, const DomainVar& inner) const;

  // Phases.
  void plain_phase();
  void pieces(const Var& inner);
  void flat_phase(const std::vector<Var>& outer, const Var& inner);
  void row_blocks(const std::vector<Var>& outer, const Var& inner);
  void thread_rows(const std::vector<Var>& outer, const Var& inner);
  void split_phases();
  void band_phases();
  void sum_band(const Band& band, const Var& columns);
  std::string resumed(NodeId reduction, const std::string& buffer, const Sym& place);
  void add_rows(const std::map<NodeId, std::string>& sums, const Band& band, const Sym& first,
                const Sym& rows);
  void store_partials(const std::map<NodeId, std::string>& accumulators, const Band& band);
  Combining open_columns(const std::vector<Var>& outer, const Var& columns, const Sym& parts);
  void sum_blocks(Band* band, const std::vector<Var>& outer, const Var& columns);
  void combine_bands(Band band, const std::vector<Var>& outer, const Var& columns);
  void add_bands(const Band& band, const Sym& first, const Sym& count,
                 const std::map<NodeId, std::string>& totals, const Var& columns);
  void tile_phase();
  void body_on_tiles(const std::vector<Tile>& tiles, const Sym& place);
  void tile_blocks();
  std::vector<Tile> transposed_operands(int64_t elements);
  std::pair<Var, Var> tile_variables(std::vector<Var>& outer) const;
  void bind_place(const Var& var, const Sym& place);
  void turn_over(const std::vector<Tile>& tiles, int64_t pitch, const Var& rows, const Sym& height,
                 const Sym& width);
  void scan_phase();
  void scatter_phases();
  void scatter_updates(NodeId scatter);
  void product_phase();
  void matmul_phase();
  void convolution_phase();
  void matmul(const std::string& tile, const Sym& batch, const Sym& first, const Sym& rows,
              bool whole_batches);
  void convolution(const std::string& tile, const Sym& image);
  std::pair<NodeId, Sym> stored_at(NodeId node, std::vector<Sym> index, const Ranges& ranges) const;
  void bind_outer(const std::vector<Var>& vars, const Sym& linear);
  void at_row(const Sym& linear);
  void overlapped_rows(const Sym& iteration, const Sym& rows);
  void reductions_of_row();
  Bound row_before();
  std::vector<loop::Stmt> outputs_of_row_before();
  void open_vector(const Var& var, const Sym& first, int64_t block);
  void add_phase(const std::string& var, const Sym& extent, int64_t grain);
  int64_t grain_for(int64_t elements) const;

  // Bodies inside the parallel loops.
  void body();
  void body_on_tile(std::vector<DomainVar> kept);
  void pass(int level);
  std::map<NodeId, std::string> chunk(int level, const Sym& first, bool last_of_row);
  void chunks_into_lanes(int level, const std::map<NodeId, std::string>& totals);
  void chunks_in_blocks(int level, const std::map<NodeId, std::string>& totals);
  void in_blocks(const Sym& count, const Names& totals, const AddPart& add);
  void bind_totals(const std::map<NodeId, std::string>& totals);
  void single_elements(int level);
  void add_elements(const std::map<NodeId, std::string>& accumulators);
  // online.cpp
  void online_pass(int level);
  std::string sum_from_own_maximum(NodeId sum, const std::string& maximum, const Sym& first);
  std::string scaled_sum(NodeId sum, const std::string& sums, const std::string& shifts);
  std::string finite_or_zero(const std::string& maximum);
  void final_pass();
  void store_outputs(int level, bool full);
  void store_staged(int level);
  void bind_staged(int level);
  void open_outer_reduced();
  void close_outer_reduced();
  Sym run_of(const Sym& row) const;
  void open_innermost(const Sym& first, const Sym& extent);
  bool has_chunks() const;
  void prefetch_streams(bool side_by_side = false);
  void prefetch_rows(int pass, const Sym& first);
  bool rows_stay_near() const;
  void prefetch_iterations(const std::string& var, int64_t ahead);
  Sym chunk_pieces() const;
  Sym chunk_length() const;
  Sym chunk_first(const Sym& number) const;  // its first element
  Sym row_pieces() const;
  Sym chunk_count() const;
  Sym rest_of_row(const Sym& first, int64_t block) const;
  Names chunk_partials(const Sym& number, const Sym& count, const Sym& part);
  std::string load_partial(NodeId reduction, const std::string& buffer, const Sym& index);
  void combine_partials(const std::map<NodeId, std::string>& buffers, const Sym& row);

  bool on_domain(NodeId node) const;
  bool may_stream(NodeId output) const;
  bool holds_staged(NodeId output) const;
  int passes() const;
  bool is_empty(NodeId id) const;
  double instructions_of(NodeId id) const;
  NodeId before_widening(NodeId id) const;
  std::vector<NodeId> reductions_at(int level) const;
  std::vector<NodeId> nodes_of(Category category) const;
  loop::Operand scan_step(NodeId scan, const std::string& accumulator);
  std::vector<Sym> reduced_index(NodeId reduction) const;
  std::string accumulator(NodeId reduction, const std::string& suffix, int lanes);
  loop::Operand reduction_operand(NodeId reduction);
  std::string finish(const std::string& accumulator, const std::string& wanted, DType dtype);

  const Graph& graph_;
  const Plan& plan_;
  const Group& group_;
  const Schedule& schedule_;
  const Findings* findings_;
  Values values_;
  Ranges ranges_;
  std::vector<DomainVar> kept_, reduced_;
  bool columns_ = false;  // reduced variables inside a vectorised kept one
  RowsAndColumns both_;
  std::map<NodeId, int> level_;
  int levels_ = 0;
  int64_t piece_ = 0;  // where the last variable's piece starts
  std::vector<Staged> staged_;
  Rows rows_;
  Overlap overlap_;
  std::vector<loop::Phase> phases_;
  Findings found_;
};

}  // namespace ingot::lowering
