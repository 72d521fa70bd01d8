// Groups that keep an order: scans along one dimension, and scatters update by update. What is
// independent of that order (other dimensions) runs side by side.
#include <algorithm>

#include "base/error.h"
#include "graph/reduction_order.h"
#include "lower/nest.h"
#include "plan/domain.h"

namespace ingot::lowering {

std::vector<NodeId> Nest::nodes_of(Category category) const {
  std::vector<NodeId> found;
  for (NodeId id : group_.nodes) {
    if (op_info(graph_[id].op).category == category) found.push_back(id);
  }
  return found;
}

// One element: the sum with it, or of those before it.
loop::Operand Nest::scan_step(NodeId scan, const std::string& accumulator) {
  const Node& node = graph_[scan];
  DType wanted = compute_dtype(node.type.dtype);
  Typed operand = values_.value(node.operands[0], group_.domain.index.at(scan));
  loop::Operand element =
      compute_dtype(operand.dtype) == wanted ? operand.operand : values_.rounded(operand, wanted);
  bool exclusive = flag_attr(op_info(node.op), node.attrs, "exclusive");
  DType kept = values_.kept_dtype(scan);
  if (exclusive) values_.bind_value(scan, finish(accumulator, node.name, kept), kept);
  values_.statements().push_back(loop::Accumulate{accumulator, element});
  if (!exclusive) values_.bind_value(scan, finish(accumulator, node.name, kept), kept);
  return element;
}

// The scanned dimension is a loop inside blocks of the others, 64 lines side by side.
void Nest::scan_phase() {
  std::vector<NodeId> scans = nodes_of(Category::scan);
  ScanLine line = scan_line(graph_, scans[0], group_.domain.index.at(scans[0]));
  std::vector<Var> outer;
  Sym length(1), lines(1);
  for (const DomainVar& var : kept_) {
    if (var.name == line.variable) {
      length = var.extent;
    } else {
      outer.push_back({var.name, var.extent, {var}});
    }
  }
  std::optional<Var> inner;
  if (!outer.empty()) {
    inner = outer.back();
    outer.pop_back();
  }
  for (const Var& var : outer) lines = lines * var.extent;
  Sym blocks = inner ? ceil_div(inner->extent, Sym(reduction_lanes)) : Sym(1);
  std::string p = values_.unique("p");
  values_.open(p, lines * blocks);
  bind_outer(outer, floor_div(Sym::var(p), blocks));
  if (inner) {
    Sym first = outer.empty() ? Sym::var(p) : mod(Sym::var(p), blocks);
    open_vector(*inner, Sym(reduction_lanes) * first, reduction_lanes);
  }
  std::map<NodeId, std::string> accumulators;
  for (NodeId scan : scans) {
    const Node& node = graph_[scan];
    accumulators[scan] = values_.unique(node.name + "_acc");
    values_.statements().push_back(
        loop::Accumulator{accumulators[scan], compute_dtype(node.type.dtype), Op::sum, 1});
  }
  std::string step = values_.unique("s");
  values_.open(step, length);
  if (!line.variable.empty()) {
    values_.bind_var(line.variable, line.reverse ? length - 1 - Sym::var(step) : Sym::var(step));
  }
  for (NodeId scan : scans) scan_step(scan, accumulators[scan]);
  store_outputs(0, true);
  values_.close_loop(loop::LoopKind::serial);
  if (inner) values_.close_loop(loop::LoopKind::vector);
  add_phase(p, lines * blocks, grain_for(reduction_lanes * length.constant().value_or(1024)));
}

// A copy of the first operand, then the updates.
void Nest::scatter_phases() {
  constexpr int64_t block = 4096;
  NodeId scatter = nodes_of(Category::scatter)[0];
  const Node& node = graph_[scatter];
  if (is_empty(scatter)) {
    values_.open("p", Sym(0));
    add_phase("p", Sym(0), 1);
    return;
  }
  Sym count = element_count(node.type.shape);
  std::string p = values_.unique("p"), j = values_.unique("j");
  Sym blocks = ceil_div(count, Sym(block)), first = Sym(block) * Sym::var(p);
  values_.open(p, blocks);
  values_.open(j, min(Sym(block), count - first));
  loop::Load load;
  load.name = values_.unique(graph_[node.operands[0]].name);
  load.dtype = node.type.dtype;
  load.buffer = values_.buffer(node.operands[0]);
  load.index = first + Sym::var(j);
  loop::Store store{values_.buffer(scatter), load.index, load.name, loop::StoreMode::normal};
  values_.statements().push_back(std::move(load));
  values_.statements().push_back(std::move(store));
  values_.close_loop(loop::LoopKind::vector);
  add_phase(p, blocks, grain_for(block));
  if (!element_count(graph_[node.operands[2]].type.shape).is(0)) scatter_updates(scatter);
}

// Lines that no two updates share run side by side; along each, update by update.
void Nest::scatter_updates(NodeId scatter) {
  const Node& node = graph_[scatter];
  const OpInfo& info = op_info(node.op);
  const Shape& into = node.type.shape;
  const TensorType& ids = graph_[node.operands[1]].type;
  bool elements = node.op == Op::scatter_elements;
  int64_t given = integer_attr(info, node.attrs, "dim");
  auto dim = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(into.size()) : given);
  Sym before(1), after(1), rows = into[dim];
  for (size_t d = 0; d < into.size(); ++d) {
    if (d != dim) (d < dim ? before : after) = (d < dim ? before : after) * into[d];
  }
  Sym count = elements ? ids.shape[dim] : element_count(ids.shape);
  Sym blocks = ceil_div(after, Sym(reduction_lanes));
  std::string p = values_.unique("p"), j = values_.unique("j"), u = values_.unique("u");
  values_.open(p, before * blocks);
  Sym line = blocks.is(1) ? Sym::var(p) : floor_div(Sym::var(p), blocks);
  Sym first = blocks.is(1) ? Sym(0) : Sym(reduction_lanes) * mod(Sym::var(p), blocks);
  values_.open(j, min(Sym(reduction_lanes), after - first));
  Sym column = first + Sym::var(j);
  // Of an empty dimension nothing is updated.
  values_.open(u, rows.constant() ? count : min(count, count * rows));
  auto statement = [&](auto made) { values_.statements().push_back(std::move(made)); };
  auto load = [&](const std::string& name, DType dtype, NodeId buffer, const Sym& at) {
    loop::Load made;
    made.name = values_.unique(name);
    made.dtype = dtype;
    made.buffer = values_.buffer(buffer);
    made.index = at;
    std::string defined = made.name;
    statement(std::move(made));
    return defined;
  };
  auto let = [&](const std::string& name, DType dtype, Op op, std::vector<loop::Operand> operands,
                 std::vector<DType> dtypes) {
    loop::Let made{values_.unique(name), dtype, op, std::move(operands), std::move(dtypes), {}};
    std::string defined = made.name;
    statement(std::move(made));
    return defined;
  };
  DType dtype = node.type.dtype;
  Sym update = (line * count + Sym::var(u)) * after + column;
  std::string id = load("id", ids.dtype, node.operands[1], elements ? update : Sym::var(u));
  loop::IndexValue inside;
  inside.name = values_.unique("inside");
  inside.dtype = DType::boolean;
  inside.guards = {{Sym::var(id), Sym(0), rows}};
  inside.report = static_cast<int>(values_.kernel().reports.size());
  inside.reported = Sym::var(id);
  values_.kernel().reports.push_back(
      fmt::format("{} '{}': index {{}} out of range [0, {})", info.name, node.name, rows.text()));
  std::string mask = inside.name;
  statement(std::move(inside));
  // An update out of range stores back what is there, until the error is raised.
  std::string row = let("row", ids.dtype, Op::select, {mask, id, loop::Literal{}},
                        {DType::boolean, ids.dtype, ids.dtype});
  Sym place = (line * rows + Sym::var(row)) * after + column;
  std::string old = load("old", dtype, scatter, place);
  std::string fresh = load("update", dtype, node.operands[2], update);
  std::string mode = text_attr(info, node.attrs, "mode");
  if (mode != "set") {
    Op op = mode == "add"   ? Op::add
            : mode == "mul" ? Op::mul
            : mode == "min" ? Op::minimum
                            : Op::maximum;
    fresh = let("combined", dtype, op, {old, fresh}, {dtype, dtype});
  }
  fresh = let("stored", dtype, Op::select, {mask, fresh, old}, {DType::boolean, dtype, dtype});
  statement(loop::Store{values_.buffer(scatter), place, fresh, loop::StoreMode::normal});
  values_.close_loop(loop::LoopKind::serial);
  values_.close_loop(loop::LoopKind::vector);
  add_phase(p, before * blocks, 1);
}

}  // namespace ingot::lowering
