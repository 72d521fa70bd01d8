// Rows and columns of one input. In bands of rows: an iteration takes its rows one after the other,
// or in twos, and adds each to the sums of all columns, which stand in a row of scratch; a band is
// one chunk of the canonical order of columns, so its sums are partials that the last phases
// combine. Or, where rows are too few for that, all rows first and then the columns as if they were
// alone.
#pragma once

#include "lower/nest.h"

namespace ingot::lowering {

class RowBands {
 public:
  explicit RowBands(Nest& nest);
  void phases();  // in bands

  // Inside the passes over a row: this element's share of its columns, from operands of a level;
  // before a chunk of the first pass; and behind the last one.
  void add_to_columns(int level);
  void fetch_next_row(const Sym& first, const Sym& count);
  void store_row_results();
  // A loop over the elements of a row: `element` gets the place in it.
  void over_row(const std::function<void(const Sym&)>& element);

  void turn_to_columns();  // from here on rows are what is reduced
  // A row of the band, or the place among the rows where these are what is reduced.
  void bind_row(const Sym& row);

 private:
  void open_band(const std::string& p);
  void take_rows_in_twos();
  void over_chunks(const std::function<void(const Sym&, const Sym&)>& part);
  void fetch_row(const Sym& row, const Sym& first, const Sym& count);

  Nest& nest_;
  RowsAndColumns& both_;
  Values& values_;
  const Graph& graph_;
  const Group& group_;
  const Schedule& schedule_;
};

}  // namespace ingot::lowering
