// find_domain: choose variables from an anchor, spread indices over views and equal-sized ops in
// both directions, then walk back from every output and reduction to see that nothing is needed
// elsewhere.
#include "plan/domain.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "plan/units.h"
#include "plan/walk.h"

namespace ingot {

namespace {

using Index = std::vector<Sym>;

// Elements of the sizes that are not 0, and how many are: of the shapes without elements [0, 4] is
// not one to one with [0, 5], nor with [0, 0, 4].
std::pair<Sym, int> sizes_besides_zeros(const Shape& shape) {
  std::pair<Sym, int> counts{1, 0};
  for (const Sym& size : shape) {
    if (size.is(0))
      ++counts.second;
    else
      counts.first = counts.first * size;
  }
  return counts;
}

std::string described(const Graph& graph, NodeId id) {
  return fmt::format("'{}' {}", graph[id].name, shape_text(graph[id].type.shape));
}

// "'c' reduces dimension 0 (size B) of 't' [B, 64]"
std::string reduction_text(const Graph& graph, NodeId reduction) {
  const Node& node = graph[reduction];
  const Shape& shape = graph[node.operands[0]].type.shape;
  std::vector<std::string> sizes;
  for (int d : dims_attr(op_info(node.op), node.attrs, "dims", static_cast<int>(shape.size()))) {
    sizes.push_back(fmt::format("{} (size {})", d, shape[static_cast<size_t>(d)].text()));
  }
  return fmt::format("'{}' reduces dimension{} {} of {}", node.name, sizes.size() == 1 ? "" : "s",
                     join(sizes, ", "), described(graph, node.operands[0]));
}

class DomainFinder {
 public:
  DomainFinder(const Graph& graph, const std::vector<NodeId>& nodes,
               const std::vector<NodeId>& outputs, Analysis* analysis)
      : graph_(graph), nodes_(nodes), outputs_(outputs), analysis_(*analysis) {}

  Decision run() {
    analysis_.nodes = nodes_;
    analysis_.outputs = outputs_;
    if (!collect() || !choose_variables() || !place_all() || !check_reductions() ||
        !check_scans() || !check_outputs() || !walk()) {
      return no_;
    }
    Decision yes;
    yes.fused = true;
    yes.reason = Reason::local_dependency;
    return yes;
  }

 private:
  bool refuse(Reason reason, std::string detail) {
    no_.fused = false;
    no_.reason = reason;
    no_.detail = std::move(detail);
    return false;
  }

  bool inside(NodeId id) const { return std::binary_search(nodes_.begin(), nodes_.end(), id); }
  const Shape& shape(NodeId id) const { return graph_[id].type.shape; }

  bool collect() {
    if (outputs_.empty()) return refuse(Reason::unsupported_pattern, "nothing is stored");
    for (NodeId id : nodes_) {
      if (is_reduction(graph_, id)) reductions_.push_back(id);
      if (is_scan(graph_, id)) scans_.push_back(id);
      if (is_scatter(graph_, id)) scatter_ = id;
      if (is_contraction(graph_, id)) {
        if (contraction_ >= 0) {
          return refuse(Reason::library_operand, "two products do not share a kernel");
        }
        contraction_ = id;
      }
      const Node& node = graph_[id];
      for (size_t k = 0; k < node.operands.size(); ++k) {
        uses_[node.operands[k]].push_back({id, static_cast<int>(k)});
      }
    }
    part_reductions();
    std::vector<NodeId> placed = scans_;
    if (contraction_ >= 0) placed.push_back(contraction_);
    if (!placed.empty()) after_placed_ = after(graph_, nodes_, placed);
    return alone() && (contraction_ < 0 || operands_outside());
  }

  // Where some run over rows, those over columns stand apart.
  void part_reductions() {
    auto trailing = [&](NodeId id) { return reduced_runs(graph_, id).trailing; };
    auto columns = std::ranges::stable_partition(reductions_, trailing);
    if (contraction_ >= 0 || std::size(columns) == reductions_.size()) return;
    columns_.assign(columns.begin(), columns.end());
    reductions_.erase(columns.begin(), columns.end());
    after_columns_ = after(graph_, nodes_, columns_);
  }

  bool is_column(NodeId id) const { return std::ranges::binary_search(columns_, id); }

  // A scatter shares its kernel with nothing, a scan only with what runs over the same elements.
  bool alone() {
    if (scatter_ >= 0 && nodes_.size() > 1) {
      return refuse(Reason::needs_whole_tensor,
                    fmt::format("{} stores updates at places known only at run time, in order: it "
                                "is a kernel of its own",
                                described(graph_, scatter_)));
    }
    if (scans_.empty() || (reductions_.empty() && contraction_ < 0)) return true;
    return refuse(Reason::different_iteration_space,
                  fmt::format("{} runs along its dimension in order, {} does not",
                              described(graph_, scans_[0]),
                              described(graph_, contraction_ < 0 ? reductions_[0] : contraction_)));
  }

  // One variable runs along the dimension of every scan, in one direction.
  bool check_scans() {
    for (NodeId id : scans_) {
      if (known_.count(id) == 0 && !guess(id)) {
        return refuse(Reason::different_iteration_space,
                      fmt::format("{} has another iteration space than {}", described(graph_, id),
                                  described(graph_, anchor_)));
      }
      ScanLine line = scan_line(graph_, id, known_.at(id));
      if (!line.found ||
          (id != scans_[0] && !(line == scan_line(graph_, scans_[0], known_.at(scans_[0]))))) {
        return refuse(Reason::different_iteration_space,
                      fmt::format("{} runs along another dimension than {}, or the other way",
                                  described(graph_, id), described(graph_, anchor_)));
      }
      analysis_.domain.index[id] = known_.at(id);
    }
    return true;
  }

  // A product reads its operands from memory: no value made in this group may reach it, nor a view
  // that it cannot read where it lies.
  bool operands_outside() {
    const std::vector<NodeId>& operands = graph_[contraction_].operands;
    for (size_t k = 0; k < operands.size(); ++k) {
      const bool in_place = reads_in_place(graph_, contraction_, static_cast<int>(k));
      const NodeId id = in_place ? under_views(operands[k]) : operands[k];
      if (inside(id)) {
        return refuse(Reason::library_operand,
                      fmt::format("the product '{}' reads {} from memory",
                                  graph_[contraction_].name, described(graph_, id)));
      }
    }
    return true;
  }

  Sym add_var(const Sym& extent, bool reduced) {
    std::string name = "i" + std::to_string(analysis_.domain.vars.size());
    if (!sizes_) sizes_ = sizes_of(graph_, nodes_);
    while (sizes_->contains(name)) name += "_";
    analysis_.domain.vars.push_back({name, extent, reduced});
    ranges_[name] = extent;
    return Sym::var(name);
  }

  bool choose_variables() {
    const bool matmul = contraction_ >= 0 && graph_[contraction_].op == Op::matmul;
    if (matmul) return variables_of_matmul();
    if (reductions_.empty()) {
      variables_of_shape(contraction_ >= 0 ? contraction_
                         : scans_.empty()  ? outputs_.back()
                                           : scans_[0]);
    } else {
      variables_of_reduction(reductions_[0]);
    }
    if (columns_.empty()) return true;
    const std::vector<DomainVar>& vars = analysis_.domain.vars;
    const auto reduced = std::ranges::count_if(vars, [](const DomainVar& v) { return v.reduced; });
    if (reduced == 1 && vars.size() > 1) return true;
    return refuse(Reason::numerics, orders_text(columns_[0]));
  }

  std::string orders_text(NodeId reduction) const {
    return fmt::format("{} and {} add in different canonical orders", described(graph_, reduction),
                       described(graph_, reductions_[0]));
  }

  void variables_of_shape(NodeId id) {
    Index index(shape(id).size(), Sym(0));
    for (size_t d = 0; d < index.size(); ++d) {
      if (!shape(id)[d].is(1)) index[d] = add_var(shape(id)[d], false);
    }
    anchor_ = id;
    assign(id, index);
  }

  void variables_of_reduction(NodeId reduction) {
    NodeId operand = graph_[reduction].operands[0];
    ReducedRuns reduced = reduced_runs(graph_, reduction);
    Index index(shape(operand).size(), Sym(0));
    for (size_t d = 0, run = 0; d < index.size(); ++d) {
      if (shape(operand)[d].is(1)) continue;
      if (run < reduced.runs.size() && reduced.runs[run][0] == d) {
        Sym var = add_var(reduced.extents[run], true);
        split_index(var, shape(operand), reduced.runs[run], ranges_, &index);
        d = reduced.runs[run].back();
        ++run;
      } else {
        index[d] = add_var(shape(operand)[d], false);
      }
    }
    analysis_.domain.trailing_reduced = reduced.trailing;
    anchor_ = operand;
    assign(operand, index);
  }

  // Rows of all batches are one variable, columns the other; a reduction may run over the columns.
  bool variables_of_matmul() {
    const Shape& result = shape(contraction_);
    const Node& node = graph_[contraction_];
    bool has_columns = shape(node.operands[1]).size() > 1 && !result.empty();
    Index index(result.size(), Sym(0));
    Sym rows = element_count(result);
    std::vector<size_t> row_dims;
    for (size_t d = 0; d + (has_columns ? 1 : 0) < result.size(); ++d) row_dims.push_back(d);
    if (has_columns) {
      rows = 1;
      for (size_t d : row_dims) rows = rows * result[d];
    }
    if (!rows.is(1)) split_index(add_var(rows, false), result, row_dims, ranges_, &index);
    std::string column;
    if (has_columns && !result.back().is(1)) {
      index.back() = add_var(result.back(), !reductions_.empty());
      column = *index.back().variable();
    }
    anchor_ = contraction_;
    assign(contraction_, index);
    if (reductions_.empty()) return true;
    if (column.empty()) {
      return refuse(Reason::unsupported_pattern, "the product has no columns to reduce");
    }
    analysis_.domain.trailing_reduced = true;
    return true;
  }

  NodeId under_views(NodeId id) const {
    while (inside(id) && is_view(graph_, id)) id = graph_[id].operands[0];
    return id;
  }

  // What needs a scan or product has one index. What is made beside it may be needed at several, a
  // buffer or a view of one be read at several: the one found first says less about its readers, so
  // these spread in this order.
  void assign(NodeId id, Index index) {
    if (!known_.emplace(id, std::move(index)).second) return;
    const bool made = inside(under_views(id)) || id == anchor_;
    queues_[after_placed_.contains(id) ? 0 : made ? 1 : 2].push_back(id);
  }

  void spread() {
    for (;;) {
      auto next = std::ranges::find_if(queues_, [](const auto& queue) { return !queue.empty(); });
      if (next == queues_.end()) return;
      NodeId id = next->front();
      next->pop_front();
      if (inside(id)) to_operands(id);
      to_consumers(id);
    }
  }

  // The operand's indices of the reduced dimensions, in order; nullopt if they are not the
  // domain's.
  std::optional<Index> reduced_index(NodeId reduction) const {
    NodeId operand = graph_[reduction].operands[0];
    ReducedRuns reduced = reduced_runs(graph_, reduction);
    Index all(shape(operand).size(), Sym(0));
    std::vector<std::pair<Sym, Sym>> along;  // place and extent
    if (is_column(reduction)) {
      along = {{row_number(analysis_.domain), row_count(analysis_.domain)}};
    } else {
      for (const DomainVar& var : analysis_.domain.vars) {
        if (var.reduced) along.emplace_back(Sym::var(var.name), var.extent);
      }
    }
    if (along.size() != reduced.runs.size()) return std::nullopt;
    for (size_t run = 0; run < along.size(); ++run) {
      if (!(reduced.extents[run] == along[run].second)) return std::nullopt;
      split_index(along[run].first, shape(operand), reduced.runs[run], ranges_, &all);
    }
    Index result;
    for (int d : dims_attr(op_info(graph_[reduction].op), graph_[reduction].attrs, "dims",
                           static_cast<int>(all.size()))) {
      result.push_back(all[static_cast<size_t>(d)]);
    }
    return result;
  }

  bool per_row(const Index& index) const { return uses_none(index, true); }
  bool per_column(const Index& index) const { return uses_none(index, false); }
  bool uses_none(const Index& index, bool reduced) const {
    return std::ranges::none_of(analysis_.domain.vars, [&](const DomainVar& var) {
      return var.reduced == reduced &&
             std::ranges::any_of(index, [&](const Sym& i) { return i.uses(var.name); });
    });
  }

  // An elementwise op or a view that keeps the number of elements is one to one.
  bool one_to_one(NodeId node, NodeId operand) const {
    Category category = op_info(graph_[node].op).category;
    bool maps =
        category == Category::elementwise || category == Category::scan || is_view(graph_, node);
    return maps && element_count(shape(node)) == element_count(shape(operand)) &&
           sizes_besides_zeros(shape(node)) == sizes_besides_zeros(shape(operand));
  }

  void to_operands(NodeId id) {
    const Node& node = graph_[id];
    if (reads_memory(graph_, id)) return;
    if (is_reduction(graph_, id)) {
      if (std::optional<Index> reduced = reduced_index(id)) {
        assign(node.operands[0],
               operand_access(graph_, id, 0, known_.at(id), ranges_, *reduced).index);
      }
      return;
    }
    for (size_t k = 0; k < node.operands.size(); ++k) {
      NodeId operand = node.operands[k];
      if (known_.count(operand) > 0 || !one_to_one(id, operand)) continue;
      assign(operand,
             operand_access(graph_, id, static_cast<int>(k), known_.at(id), ranges_).index);
    }
  }

  void to_consumers(NodeId id) {
    auto found = uses_.find(id);
    if (found == uses_.end()) return;
    const Index& index = known_.at(id);
    for (auto [consumer, operand] : found->second) {
      if (known_.count(consumer) > 0 || reads_memory(graph_, consumer)) continue;
      if (is_reduction(graph_, consumer)) {
        Index kept = kept_index(consumer, index);
        if (is_column(consumer) ? per_column(kept) : per_row(kept)) assign(consumer, kept);
      } else if (one_to_one(consumer, id)) {
        std::optional<Index> result = result_index(graph_, consumer, operand, index, ranges_);
        if (result) assign(consumer, *result);
      }
    }
  }

  Index kept_index(NodeId reduction, const Index& operand) const {
    const Node& node = graph_[reduction];
    std::vector<int> dims =
        dims_attr(op_info(node.op), node.attrs, "dims", static_cast<int>(operand.size()));
    bool keepdims = node.type.shape.size() == operand.size() && !dims.empty();
    Index kept;
    for (size_t d = 0; d < operand.size(); ++d) {
      bool reduced = std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end();
      if (!reduced) kept.push_back(operand[d]);
      if (reduced && keepdims) kept.emplace_back(0);
    }
    return kept;
  }

  // Where no chain of views leads to a value, one of the anchor's shape (or of its kept part) is
  // taken to run over the domain in the same order. The walk proves it or refuses.
  bool guess(NodeId id) {
    Shape wanted;
    for (const Sym& size : shape(id)) {
      if (!size.is(1)) wanted.push_back(size);
    }
    const Index& anchor = known_.at(anchor_);
    for (bool kept_only : {false, true}) {
      Shape sizes;
      Index values;
      for (size_t d = 0; d < anchor.size(); ++d) {
        if (shape(anchor_)[d].is(1) || (kept_only && !per_row({anchor[d]}))) continue;
        sizes.push_back(shape(anchor_)[d]);
        values.push_back(anchor[d]);
      }
      if (!(sizes == wanted)) continue;
      Index index(shape(id).size(), Sym(0));
      for (size_t d = 0, next = 0; d < index.size(); ++d) {
        if (!shape(id)[d].is(1)) index[d] = values[next++];
      }
      assign(id, index);
      spread();
      return true;
    }
    return false;
  }

  // What the loops of the kernel come from.
  std::string loops_text() const {
    return reductions_.empty() || anchor_ == contraction_
               ? fmt::format("the kernel runs over {}", described(graph_, anchor_))
               : reduction_text(graph_, reductions_[0]);
  }

  bool refuse_reduction(NodeId reduction) {
    std::vector<Sym> extents;
    for (const DomainVar& var : analysis_.domain.vars) {
      if (var.reduced) extents.push_back(var.extent);
    }
    if (is_column(reduction) && reduced_runs(graph_, reduction).extents == extents) {
      return refuse(Reason::numerics, orders_text(reduction));
    }
    return refuse(Reason::different_iteration_space,
                  fmt::format("{}, but {}", reduction_text(graph_, reduction), loops_text()));
  }

  bool place_all() {
    spread();
    for (NodeId reduction : all_reductions()) {
      if (known_.count(reduction) > 0) continue;
      NodeId operand = graph_[reduction].operands[0];
      if (known_.count(operand) > 0 || !guess(operand) || known_.count(reduction) == 0) {
        return refuse_reduction(reduction);
      }
    }
    if (contraction_ >= 0 && known_.count(contraction_) == 0) {
      return refuse(Reason::different_iteration_space,
                    fmt::format("the product {} is not what {} runs over",
                                described(graph_, contraction_), described(graph_, anchor_)));
    }
    // A view of one output may be known only once another is.
    std::vector<NodeId> unknown = outputs_;
    size_t before = 0;
    do {
      before = unknown.size();
      std::erase_if(unknown, [&](NodeId id) { return known_.count(id) > 0 || guess(id); });
    } while (unknown.size() < before);
    if (unknown.empty()) return true;
    return refuse(Reason::different_iteration_space,
                  fmt::format("{} has another iteration space than {}",
                              described(graph_, unknown[0]), described(graph_, anchor_)));
  }

  std::vector<NodeId> all_reductions() const {
    std::vector<NodeId> all = reductions_;
    all.insert(all.end(), columns_.begin(), columns_.end());
    return all;
  }

  bool check_reductions() {
    for (NodeId reduction : all_reductions()) {
      const bool column = is_column(reduction);
      const Index& index = known_.at(reduction);
      if (!reduced_index(reduction) || !(column ? per_column(index) : per_row(index))) {
        return refuse_reduction(reduction);
      }
      if (!column &&
          reduced_runs(graph_, reduction).trailing != analysis_.domain.trailing_reduced) {
        return refuse(Reason::numerics, orders_text(reduction));
      }
      analysis_.domain.index[reduction] = known_.at(reduction);
    }
    if (contraction_ < 0) return true;
    const Index& index = known_.at(contraction_);
    analysis_.domain.index[contraction_] = index;
    const std::vector<DomainVar>& vars = analysis_.domain.vars;
    bool block_kept = graph_[contraction_].op == Op::matmul || shape(contraction_)[0].is(1) ||
                      (!vars.empty() && !vars[0].reduced && index[0] == Sym::var(vars[0].name));
    return block_kept || refuse(Reason::needs_whole_tensor,
                                fmt::format("{} is needed across images of the product",
                                            described(graph_, contraction_)));
  }

  bool check_outputs() {
    const Sym kept = row_count(analysis_.domain);
    Sym reduced(1);
    for (const DomainVar& var : analysis_.domain.vars) {
      if (var.reduced) reduced = reduced * var.extent;
    }
    for (NodeId output : outputs_) {
      const Index& index = known_.at(output);
      const Sym elements = after_columns_.contains(output) ? reduced
                           : per_row(index)                ? kept
                                                           : kept * reduced;
      if (!(element_count(shape(output)) == elements)) {
        if (after_columns_.contains(output)) return refuse_after_columns(output);
        return refuse(Reason::different_iteration_space,
                      fmt::format("{} has another iteration space than {}",
                                  described(graph_, output), described(graph_, anchor_)));
      }
      analysis_.domain.index[output] = index;
    }
    return true;
  }

  bool walk() {
    analysis_.domain.columns = columns_;
    Walk walk(graph_, nodes_, &analysis_);
    for (NodeId reduction : all_reductions()) {
      Access access = operand_access(graph_, reduction, 0, known_.at(reduction), ranges_,
                                     *reduced_index(reduction));
      walk.from_reduction(reduction, access.index);
    }
    for (NodeId scan : scans_) walk.from_scan(scan);
    for (NodeId output : outputs_) {
      walk.from_output(output, known_.at(output), after_columns_.contains(output));
    }
    if (contraction_ >= 0) walk.from_memory(contraction_);
    if (scatter_ >= 0) walk.from_memory(scatter_);
    if (!walk.refusal().empty()) return refuse(walk.reason(), walk.refusal());
    walk.find_levels();
    return columns_.empty() || check_columns();
  }

  // What follows from a column's sum is known after the last row only.
  bool check_columns() {
    for (NodeId id : after_columns_) {
      const auto found = analysis_.evaluations.find(id);
      if (is_column(id) || found == analysis_.evaluations.end()) continue;
      const bool row =
          is_reduction(graph_, id) || std::ranges::any_of(found->second, [&](const Evaluation& e) {
            return !per_column(e.index);
          });
      const bool mixed = std::ranges::any_of(graph_[id].operands, [&](NodeId operand) {
        return inside(operand) && !after_columns_.contains(operand) &&
               analysis_.level.at(operand) > 0;
      });
      if (row || mixed) return refuse_after_columns(id);
    }
    for (NodeId id : columns_) {
      if (after_columns_.contains(graph_[id].operands[0])) return refuse_after_columns(id);
    }
    return true;
  }

  bool refuse_after_columns(NodeId id) {
    return refuse(Reason::needs_whole_tensor,
                  fmt::format("{} needs {} of all rows", described(graph_, id),
                              described(graph_, columns_[0])));
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const std::vector<NodeId>& outputs_;
  Analysis& analysis_;
  std::optional<std::set<std::string>> sizes_;
  Decision no_;
  std::vector<NodeId> reductions_, scans_;
  std::vector<NodeId> columns_;  // reductions over columns where the others are over rows
  std::set<NodeId> after_columns_;
  NodeId contraction_ = -1, scatter_ = -1, anchor_ = -1;
  std::map<NodeId, std::vector<std::pair<NodeId, int>>> uses_;
  std::map<NodeId, Index> known_;
  std::set<NodeId> after_placed_;             // scans, the product and what needs them
  std::array<std::deque<NodeId>, 3> queues_;  // known, and not yet spread to operands, consumers
  Ranges ranges_;
};

}  // namespace

Decision analyze(const Graph& graph, const std::vector<NodeId>& nodes,
                 const std::vector<NodeId>& outputs, Analysis* analysis) {
  *analysis = {};
  return DomainFinder(graph, nodes, outputs, analysis).run();
}

Decision find_domain(const Graph& graph, const std::vector<NodeId>& nodes,
                     const std::vector<NodeId>& outputs, Domain* domain) {
  Analysis analysis;
  Decision decision = analyze(graph, nodes, outputs, &analysis);
  if (decision) *domain = std::move(analysis.domain);
  return decision;
}

}  // namespace ingot
