// The walk from what a group stores and reduces back to what it reads: at which indices each node
// is needed. The only place that decides whether values made in a group are needed elsewhere in it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/domain.h"

namespace ingot {

class Walk {
 public:
  Walk(const Graph& graph, const std::vector<NodeId>& nodes, Analysis* analysis);

  void from_reduction(NodeId reduction, const std::vector<Sym>& operand_index);
  // `column`: made of columns' results, after all rows.
  void from_output(NodeId output, const std::vector<Sym>& index, bool column);
  void from_scan(NodeId scan);
  // The operands' buffers: of a product, read by the library, or of a scatter.
  void from_memory(NodeId node);
  void find_levels();

  const std::string& refusal() const { return refusal_; }  // empty: legal
  Reason reason() const { return reason_; }

 private:
  struct Need {
    std::vector<Sym> index;
    Sym elements;
    Sym executions;
    bool run_time;
    NodeId consumer;
    bool column = false;
    int context = 0;  // the guards under which it is wanted
    int rows = 0;     // rows picked at run time out of rows that were, too
  };
  bool inside(NodeId id) const;
  void visit(NodeId id, Need need);
  void visit_operands(NodeId id, const Need& need, size_t ordinal);
  // Its evaluation at the need's index: the position in the list, to which it may be added.
  size_t evaluation(std::vector<Evaluation>& list, const Need& need);
  int within(int context, const std::vector<Guard>& guards);
  void pick_row(NodeId gather, const Access& access, size_t ordinal, Need* row);
  void refuse(Reason reason, std::string text);
  Sym executions(const std::vector<Sym>& index, const Sym& parent) const;
  bool per_row(const std::vector<Sym>& index) const;

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  Analysis& analysis_;
  Ranges ranges_;
  std::vector<DomainVar> loops_;  // in the order of the loops: kept, then reduced
  Sym columns_ = 1;               // of all reduced variables, elements
  // Code loads nothing outside its guards, so a value is made once for each index and each context:
  // the one around it and its own guards → its number.
  std::map<std::pair<int, std::string>, int> contexts_;
  std::set<std::tuple<NodeId, size_t, int>> made_;  // node, its evaluation, context
  size_t most_;
  std::string refusal_;
  Reason reason_ = Reason::unsupported_pattern;
};

}  // namespace ingot
