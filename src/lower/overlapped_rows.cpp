// Rows beyond the caches whose last pass writes out what an earlier one kept: the last pass of a
// row runs inside the first pass of the next row that keeps something. So stores to memory and
// arithmetic go side by side, and one buffer of a row, in the first-level cache, is enough: each
// element of it is read just before the next row's takes its place.
#include <algorithm>
#include <iterator>

#include "lower/nest.h"

namespace ingot::lowering {
namespace {

// The reductions that values of a last pass ask for, beside what the scratch rows keep.
std::set<NodeId> reductions_under(const Graph& graph, const Group& group,
                                  const std::vector<Staged>& staged, std::vector<NodeId> open) {
  std::set<NodeId> seen, needed;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const bool inside = std::ranges::binary_search(group.nodes, id);
    const bool kept = std::ranges::find(staged, id, &Staged::node) != staged.end();
    if (!inside || kept || !seen.insert(id).second) continue;
    if (op_info(graph[id].op).category == Category::reduction) {
      needed.insert(id);
    } else {
      open.insert(open.end(), graph[id].operands.begin(), graph[id].operands.end());
    }
  }
  return needed;
}

}  // namespace

// The values of the row before, as they were handed over.
Bound Nest::row_before() {
  Bound before;
  for (const auto& [reduction, buffer] : overlap_.handed_over) {
    loop::Load load;
    load.name = values_.unique(graph_[reduction].name + "_before");
    load.dtype = values_.kept_dtype(reduction);
    load.buffer = buffer;
    load.index = Sym(0);
    values_.note_defined(load.name);
    before.values[reduction] = {load.name, load.dtype};
    values_.statements().push_back(std::move(load));
  }
  for (const Staged& staged : staged_) {
    before.elements[staged.node] = {staged.buffer, staged.dtype, staged.flat};
  }
  return before;
}

// Keeps the finished reductions for the row after it.
void Nest::reductions_of_row() {
  for (int level = 1; level <= levels_; ++level) pass(level);
  for (int level = 0; level <= levels_; ++level) store_outputs(level, false);
  for (const auto& [reduction, buffer] : overlap_.handed_over) {
    values_.statements().push_back(loop::Store{buffer, Sym(0), values_.bound(reduction)});
  }
}

// Inside the loop of a reduction: the outputs of the row before. Its stores are returned:
// they go last, since loads wait for stores before them that lie at the same place of another page.
std::vector<loop::Stmt> Nest::outputs_of_row_before() {
  const Sym here = rows_.at;
  at_row(here - Sym(1));
  Bound now = values_.exchange(overlap_.before);
  store_outputs(levels_, true);
  overlap_.before = values_.exchange(std::move(now));
  at_row(here);
  std::vector<loop::Stmt>& body = values_.statements();
  std::vector<loop::Stmt> stores;
  auto is_store = [](const loop::Stmt& stmt) { return std::holds_alternative<loop::Store>(stmt); };
  std::ranges::copy_if(body, std::back_inserter(stores), is_store);
  std::erase_if(body, is_store);
  return stores;
}

// The rows of one iteration.
void Nest::overlapped_rows(const Sym& iteration, const Sym& rows) {
  const Sym first = Sym(consecutive_rows) * iteration;
  const std::optional<int64_t> known = rows.constant();
  const bool whole = known && *known % consecutive_rows == 0;
  const Sym count = whole ? Sym(consecutive_rows) : min(Sym(consecutive_rows), rows - first);
  std::vector<NodeId> stored_last;
  for (const NodeId id : group_.outputs) {
    if (level_.at(id) == levels_ && on_domain(id)) stored_last.push_back(id);
  }
  for (const NodeId r : reductions_under(graph_, group_, staged_, stored_last)) {
    overlap_.handed_over[r] =
        values_.scratch(graph_[r].name + "_handed_over", values_.kept_dtype(r), Sym(1));
  }
  auto part = [&](const std::string& var, const Sym& extent, const Sym& row, const auto& body) {
    values_.open(var, extent);
    at_row(row);
    values_.exchange({});
    body();
  };
  auto append = [&](std::vector<loop::Stmt> statements) {
    for (loop::Stmt& stmt : statements) values_.statements().push_back(std::move(stmt));
  };
  part("", Sym(1), first, [&] { reductions_of_row(); });
  append(values_.close());
  const std::string next = values_.unique("next");
  part(next, count - Sym(1), first + Sym::var(next) + Sym(1), [&] {
    overlap_.before = row_before();
    overlap_.follows_row = true;
    reductions_of_row();
    overlap_.follows_row = false;
  });
  values_.close_loop(loop::LoopKind::serial);
  part("", Sym(1), first + count - Sym(1), [&] {
    values_.exchange(row_before());
    final_pass();
  });
  append(values_.close());
}

}  // namespace ingot::lowering
