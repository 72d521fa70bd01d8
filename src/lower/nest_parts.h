// What the loops of a group are made of: variables, values kept between passes, bands, tiles.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "loop/loop.h"
#include "plan/plan.h"

namespace ingot::lowering {

// Where a node's elements are asked for.
struct Demand {
  std::map<std::string, std::vector<Sym>> indices;  // by their text
  bool everywhere = false;  // at all places of the loops, by no guard's leave
};
// What a dry run without merging or staging found out.
struct Findings {
  // The node's index where it has one alone that is an element's everywhere, so that its value may
  // be computed or fetched ahead; else null.
  const std::vector<Sym>* index_ahead(NodeId node) const;

  std::vector<Sym> subscripts;  // in domain variables
  std::map<NodeId, Demand> demands;
  std::map<std::string, Sym> reads;  // buffer → where its first load that has no guard reads
};

// Stands for the lane (0…63) of a block of columns in staged rows.
inline constexpr std::string_view lane_variable = "@lane";
// And for the place of an element in its chunk, in rows kept for one.
inline constexpr std::string_view place_variable = "@place";

// Rows that overlap, one after the other: the first and the last of them stand alone.
inline constexpr int64_t consecutive_rows = 16;

// Stands for the place of a row among those that are fetched.
inline constexpr std::string_view turn_variable = "@turn";

using Names = std::map<NodeId, std::string>;  // of values, accumulators or buffers, by node
using AddPart = std::function<void(const Sym& number, const Names& accumulators)>;

struct Var {  // one or several merged domain variables
  std::string name;
  Sym extent;
  std::vector<DomainVar> parts;
};
struct Staged {
  NodeId node;
  std::vector<Sym> index;
  std::string buffer;
  DType dtype;
  Sym flat = {};
  int level = 0;
  bool own_output = false;  // the group stores it anyway
};

// A value as a kernel operand with its dtype.
struct Typed {
  loop::Operand operand;
  DType dtype;
};

struct Element {  // that a node's value is loaded from
  std::string buffer;
  DType dtype;
  Sym flat;
};
struct Bound {  // what nodes stand for in a row
  std::map<NodeId, Typed> values;
  std::map<NodeId, Element> elements;
};

struct Rows {  // that a phase runs over, and the one it is at
  std::vector<Var> vars;
  Sym at;
};
// The last pass of the row before, where there is one, runs in the pass of a level.
struct Overlap {
  bool wanted = false, follows_row = false;
  int level = 0;
  std::map<NodeId, std::string> handed_over;  // finished reductions for the next row
  Bound before;
};

struct Band {                              // of rows, of a column reduction
  std::map<NodeId, std::string> partials;  // workspaces by reduction
  Sym first_row, rows, first_column;
  Sym step = 1;       // from row to row
  int64_t block = 0;  // columns of an iteration; 0: all
  Sym place;          // of a column's partial, in domain variables
  Sym count;          // of partials that a run of the reduced variable leaves
};
struct RowsAndColumns {  // of one input
  bool columns = false;  // are what is computed now
  std::set<NodeId> after_columns;
  std::map<NodeId, std::string> sums, results;  // of columns so far, of rows; by reduction
  std::vector<Staged> fetched;                  // inputs of rows that are fetched ahead
  int64_t turns = 1;                            // that many of their rows are in scratch
  Band band;
  std::string band_row;  // the variable of its rows
};
struct Combining {  // an iteration that combines partials of a block of columns
  std::string variable;
  Sym iterations, row, part, column;
  int64_t grain;
};

struct Tile {  // of an operand that is read across its rows, at the subscript `flat`
  NodeId node;
  std::string buffer;
  Sym flat;
};

}  // namespace ingot::lowering
