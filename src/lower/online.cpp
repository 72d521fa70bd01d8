// Sums of e^(x - max(x)) in the pass of their maximum: each chunk of a row takes its own, and the
// chunks' sums are scaled to the row's.
#include "graph/reduction_order.h"
#include "lower/nest.h"

namespace ingot::lowering {
namespace {

constexpr DType real = DType::f32;

Typed literal(double value) { return {loop::Literal{value}, real}; }
Typed named(const std::string& name) { return {name, real}; }

}  // namespace

// What is subtracted before the exponential: nothing from a row of -inf, or one with +inf.
std::string Nest::finite_or_zero(const std::string& maximum) {
  const std::string infinite =
      values_.computed(Op::isinf, {named(maximum)}, DType::boolean, maximum + "_infinite");
  return values_.computed(Op::select, {{infinite, DType::boolean}, literal(0), named(maximum)},
                          real, maximum + "_shift");
}

// The sum over the chunk from `first` on, with `maximum` in the place of the row's.
std::string Nest::sum_from_own_maximum(NodeId sum, const std::string& shift, const Sym& first) {
  const NodeId maximum = group_.online.at(sum).maximum;
  values_.bind_value(maximum, shift, real);
  const std::string acc = accumulator(sum, "_acc", schedule_.lanes);
  open_innermost(first, rest_of_row(first, trailing_chunk));
  add_elements({{sum, acc}});
  values_.close_loop(loop::LoopKind::vector);
  return finish(acc, graph_[sum].name + "_part", real);
}

// The chunks' sums, each times e^(its shift - the row's), which is at most 1 but where the chunk is
// -inf and its sum 0.
std::string Nest::scaled_sum(NodeId sum, const std::string& sums, const std::string& shifts) {
  const std::string& name = graph_[sum].name;
  const Typed maximum = values_.value(group_.online.at(sum).maximum, {});
  const std::string row = finite_or_zero(std::get<std::string>(maximum.operand));
  const std::string acc = accumulator(sum, "_scaled", schedule_.lanes);
  const bool spread = schedule_.spread_rows;
  const std::string c = values_.unique("chunk");
  values_.open(c, ceil_div(reduced_.back().extent, Sym(trailing_chunk)));
  const std::string part = load_partial(sum, sums, Sym::var(c));
  const std::string shift = load_partial(sum, shifts, Sym::var(c));
  std::string power = values_.computed(Op::sub, {named(shift), named(row)}, real, name + "_power");
  power = values_.computed(Op::minimum, {named(power), literal(0)}, real, name + "_power");
  const std::string scale = values_.computed(Op::exp, {named(power)}, real, name + "_scale",
                                             values_.form_in_sum(Op::exp));
  const std::string scaled =
      values_.computed(Op::mul, {named(part), named(scale)}, real, name + "_part");
  loop::Accumulate accumulate{acc, scaled};
  if (spread) accumulate.lane = Sym::var(c);
  values_.statements().push_back(std::move(accumulate));
  values_.close_loop(spread ? loop::LoopKind::spread : loop::LoopKind::vector);
  const std::string total = finish(acc, name, real);
  if (!group_.online.at(sum).infinite) return total;
  // Of an infinite maximum e^(0 - maximum), as each term would have it: NaN.
  const std::string rest = values_.computed(Op::sub, {named(row), maximum}, real, name + "_power");
  const std::string factor =
      values_.computed(Op::exp, {named(rest)}, real, name + "_scale", values_.form_in_sum(Op::exp));
  return values_.computed(Op::mul, {named(total), named(factor)}, real, name);
}

void Nest::online_pass(int level) {
  const Sym count = ceil_div(reduced_.back().extent, Sym(trailing_chunk));
  std::map<NodeId, std::string> totals, sums, shifts;
  for (NodeId r : reductions_at(level)) {
    if (!group_.online.contains(r)) {
      totals[r] = accumulator(r, "_total", schedule_.lanes);
      continue;
    }
    sums[r] = values_.scratch(graph_[r].name + "_sums", real, count);
    shifts[r] = values_.scratch(graph_[r].name + "_shifts", real, count);
  }
  const std::string number = values_.unique("chunk");
  values_.open(number, count);
  const Sym first = Sym(trailing_chunk) * Sym::var(number);
  std::map<NodeId, std::string> accumulators;
  for (const auto& [r, total] : totals) {
    accumulators[r] = accumulator(r, "_acc", schedule_.lanes);
  }
  open_innermost(first, rest_of_row(first, trailing_chunk));
  prefetch_rows(level - 1, first);
  store_outputs(level - 1, true);
  store_staged(level - 1);
  add_elements(accumulators);
  if (level == 1 && !rows_stay_near()) prefetch_streams();
  values_.close_loop(loop::LoopKind::vector);
  std::map<NodeId, std::string> parts;
  for (const auto& [r, acc] : accumulators) {
    parts[r] = finish(acc, graph_[r].name + "_part", compute_dtype(graph_[r].type.dtype));
    values_.statements().push_back(loop::Accumulate{totals.at(r), parts[r], Sym::var(number)});
  }
  bind_staged(level - 1);
  for (const auto& [r, buffer] : sums) {
    const std::string shift = finite_or_zero(parts.at(group_.online.at(r).maximum));
    const std::string part = sum_from_own_maximum(r, shift, first);
    values_.statements().push_back(loop::Store{buffer, Sym::var(number), part});
    values_.statements().push_back(loop::Store{shifts.at(r), Sym::var(number), shift});
  }
  values_.close_loop(schedule_.spread_rows ? loop::LoopKind::spread : loop::LoopKind::serial);
  if (schedule_.chunk_rows) {
    for (const Staged& staged : staged_) values_.forget_element(staged.node);
  }
  bind_totals(totals);
  for (const auto& [r, buffer] : sums) {
    values_.bind_value(r, scaled_sum(r, buffer, shifts.at(r)), real);
  }
}

}  // namespace ingot::lowering
