#include "op/infer_structured.h"

#include <algorithm>
#include <cmath>

#include "base/tensor.h"
#include "base/text.h"

namespace ingot {

namespace infer {

namespace {

std::vector<Sym> sizes(const Context& c, std::string_view name) {
  return sizes_attr(c.info, c.attrs, name);
}

Shape reduced_shape(const Context& c) {
  const Shape& shape = c.operands[0].shape;
  const std::vector<int> dims = dims_attr(c.info, c.attrs, "dims", static_cast<int>(shape.size()));
  const bool keepdims = flag_attr(c.info, c.attrs, "keepdims");
  Shape result;
  for (size_t d = 0; d < shape.size(); d++) {
    const bool reduced = std::binary_search(dims.begin(), dims.end(), static_cast<int>(d));
    if (!reduced) result.push_back(shape[d]);
    if (reduced && keepdims) result.emplace_back(1);
  }
  return result;
}

Shape reshape(const Context& c) {
  const Shape& from = c.operands[0].shape;
  Shape shape = sizes(c, "shape");
  Sym known = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < shape.size(); d++) {
    if (!shape[d].is(-1)) {
      known = known * shape[d];
    } else if (open) {
      c.fail(fmt::format("shape {} has more than one -1", shape_text(shape)));
    } else {
      open = d;
    }
  }
  const Sym count = element_count(from);
  if (open) {
    const std::optional<Sym> rest = known.is(0) ? std::nullopt : exact_div(count, known);
    if (!rest) {
      c.fail(fmt::format("{} elements do not divide evenly into shape {}", count.text(),
                         shape_text(shape)));
    }
    shape[*open] = *rest;
  } else if (!(known == count)) {
    c.fail(fmt::format("shape {} has {} elements, the operand has {}", shape_text(shape),
                       known.text(), count.text()));
  }
  return shape;
}

Shape transpose(const Context& c) {
  const Shape& from = c.operands[0].shape;
  const std::vector<Sym> perm = sizes(c, "perm");
  Shape shape;
  std::vector<bool> used(from.size(), false);
  for (const Sym& each : perm) {
    const auto dim = each.constant();
    const bool valid = dim && *dim >= 0 && *dim < static_cast<int64_t>(from.size());
    if (!valid || used[static_cast<size_t>(*dim)]) break;
    used[static_cast<size_t>(*dim)] = true;
    shape.push_back(from[static_cast<size_t>(*dim)]);
  }
  if (shape.size() != from.size() || perm.size() != from.size()) {
    c.fail(fmt::format("perm={} is no order of {} dimensions", shape_text(perm), from.size()));
  }
  return shape;
}

Shape broadcast_to(const Context& c) {
  const Shape& from = c.operands[0].shape;
  Shape shape = sizes(c, "shape");
  if (from.size() > shape.size()) {
    c.fail(fmt::format("shape {} has fewer dimensions", shape_text(shape)));
  }
  const size_t offset = shape.size() - from.size();
  for (size_t d = 0; d < from.size(); d++) {
    if (from[d].is(1)) continue;
    if (shape[offset + d].is(1)) {
      c.fail(fmt::format("does not broadcast to {}: size {} becomes 1", shape_text(shape),
                         from[d].text()));
    }
    shape[offset + d] = c.equal_sizes(from[d], shape[offset + d], "sizes");
  }
  return shape;
}

Shape slice(const Context& c) {
  Shape shape;
  for (const SliceRange& range : slice_ranges(c.operands[0].shape, c.attrs)) {
    shape.push_back(range.size);
  }
  return shape;
}

Shape concat(const Context& c) {
  Shape shape = c.operands[0].shape;
  const size_t dim = c.dim("dim", static_cast<int64_t>(shape.size()));
  for (const TensorType& operand : c.operands.subspan(1)) {
    if (operand.shape.size() != shape.size()) c.fail("numbers of dimensions differ");
    for (size_t d = 0; d < shape.size(); d++) {
      shape[d] = d == dim ? shape[d] + operand.shape[d]
                          : c.equal_sizes(shape[d], operand.shape[d], "sizes");
    }
  }
  return shape;
}

Shape pad(const Context& c) {
  Shape shape = c.operands[0].shape;
  const std::vector<Sym> low = sizes(c, "low"), high = sizes(c, "high");
  if (low.size() != shape.size() || high.size() != shape.size()) {
    c.fail(fmt::format("low={} and high={} need one number for each of {} dimensions",
                       shape_text(low), shape_text(high), shape.size()));
  }
  const std::string mode = text_attr(c.info, c.attrs, "mode");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    c.fail(
        fmt::format("mode is \"constant\", \"edge\", \"reflect\" or \"wrap\", not \"{}\"", mode));
  }
  for (size_t d = 0; d < shape.size(); d++) {
    if (low[d].constant().value_or(0) < 0 || high[d].constant().value_or(0) < 0) {
      c.fail(fmt::format("low={} and high={} must not be negative; slice cuts away",
                         shape_text(low), shape_text(high)));
    }
    const bool grows = !low[d].is(0) || !high[d].is(0);
    if (mode != "constant" && shape[d].is(0) && grows) {
      c.fail(fmt::format("mode \"{}\" has no element to repeat", mode));
    }
    shape[d] = low[d] + shape[d] + high[d];
  }
  return shape;
}

void check_out_of_range(const Context& c) {
  const std::string mode = text_attr(c.info, c.attrs, "out_of_range");
  if (mode != "error" && mode != "zero") {
    c.fail(fmt::format("out_of_range is \"error\" or \"zero\", not \"{}\"", mode));
  }
}

Shape gather(const Context& c) {
  const Shape& table = c.operands[0].shape;
  const Shape& ids = c.operands[1].shape;
  const auto dim = static_cast<std::ptrdiff_t>(c.dim("dim", static_cast<int64_t>(table.size())));
  check_out_of_range(c);
  Shape shape(table.begin(), table.begin() + dim);
  shape.insert(shape.end(), ids.begin(), ids.end());
  shape.insert(shape.end(), table.begin() + dim + 1, table.end());
  return shape;
}

// The id's own positions in the other dimensions have to be in the table.
Shape gather_elements(const Context& c) {
  const Shape& table = c.operands[0].shape;
  const Shape& ids = c.operands[1].shape;
  check_out_of_range(c);
  if (ids.size() != table.size()) c.fail("numbers of dimensions differ");
  const size_t dim = c.dim("dim", static_cast<int64_t>(table.size()));
  Shape shape = ids;
  for (size_t d = 0; d < table.size(); ++d) {
    if (d == dim || provably_nonnegative(table[d] - ids[d], {})) continue;
    shape[d] = c.equal_sizes(table[d], ids[d], "sizes");
  }
  return shape;
}

Shape scatter(const Context& c) {
  const Shape& into = c.operands[0].shape;
  const Shape& ids = c.operands[1].shape;
  const Shape& updates = c.operands[2].shape;
  const size_t dim = c.dim("dim", static_cast<int64_t>(into.size()));
  for (const AttrInfo& attr : c.info.attrs) {
    if (attr.name != "mode") continue;
    const std::string mode = text_attr(c.info, c.attrs, "mode");
    if (mode != "set" && mode != "add" && mode != "mul" && mode != "min" && mode != "max") {
      c.fail(
          fmt::format("mode is \"set\", \"add\", \"mul\", \"min\" or \"max\", not \"{}\"", mode));
    }
    if (mode != "set" && !accepts(DTypeSet::number, c.operands[0].dtype)) {
      c.fail(fmt::format("mode \"{}\" needs numbers", mode));
    }
  }
  Shape wanted;
  if (c.info.op == Op::scatter_elements) {
    wanted = into;
    if (ids.size() != into.size()) c.fail("ids and updates need the first operand's dimensions");
    wanted[dim] = ids[dim];
    for (size_t d = 0; d < wanted.size(); ++d) c.equal_sizes(wanted[d], ids[d], "sizes of ids");
  } else {
    wanted.assign(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(dim));
    wanted.insert(wanted.end(), ids.begin(), ids.end());
    wanted.insert(wanted.end(), into.begin() + static_cast<std::ptrdiff_t>(dim) + 1, into.end());
  }
  if (updates.size() != wanted.size()) {
    c.fail(fmt::format("updates need the shape {}", shape_text(wanted)));
  }
  for (size_t d = 0; d < wanted.size(); ++d) {
    c.equal_sizes(wanted[d], updates[d], "sizes of updates");
  }
  return into;
}

Shape random_shape(const Context& c) {
  const std::string kind = text_attr(c.info, c.attrs, "distribution");
  if (kind != "uniform" && kind != "normal") {
    c.fail(fmt::format("distribution is \"uniform\" or \"normal\", not \"{}\"", kind));
  }
  const DType dtype = dtype_attr(c.info, c.attrs, "dtype");
  const auto number = [&](const char* name) {
    Tensor rounded(dtype, {});
    rounded.set_f64(0, real_attr(c.info, c.attrs, name));
    const double value = rounded.get_f64(0);
    if (std::isfinite(value)) return value;
    c.fail(fmt::format("{}={} is no finite {}", name, number_text(value), dtype_name(dtype)));
  };
  const double low = number("low"), high = number("high"), scale = number("scale");
  (void)number("mean");
  if (kind == "uniform" && !(low < high)) {
    c.fail(fmt::format("low={} and high={} in {}: low must be less than high", number_text(low),
                       number_text(high), dtype_name(dtype)));
  }
  if (scale < 0) c.fail(fmt::format("scale={} must not be negative", number_text(scale)));
  return sizes(c, "shape");
}

Shape iota(const Context& c) {
  Shape shape = sizes(c, "shape");
  c.dim("dim", static_cast<int64_t>(shape.size()));
  return shape;
}

Shape size_value(const Context& c) {
  const std::vector<Sym> value = sizes(c, "value");
  if (value.size() != 1) c.fail(fmt::format("value={} must be one size", shape_text(value)));
  return {};
}

Shape matmul(const Context& c) {
  const Shape& a = c.operands[0].shape;
  const Shape& b = c.operands[1].shape;
  if (a.empty() || b.empty()) c.fail("a scalar is no matrix; mul multiplies by one");
  const bool transpose_a = a.size() > 1 && flag_attr(c.info, c.attrs, "transpose_a");
  const bool transpose_b = b.size() > 1 && flag_attr(c.info, c.attrs, "transpose_b");
  const Sym& k_of_a = a[a.size() - (transpose_a ? 2 : 1)];
  const Sym& k_of_b = b.size() == 1 ? b[0] : b[b.size() - (transpose_b ? 1 : 2)];
  c.equal_sizes(k_of_a, k_of_b, "inner sizes");
  const auto batch = [](const Shape& shape) {
    return shape.size() < 3 ? Shape() : Shape(shape.begin(), shape.end() - 2);
  };
  Shape shape = c.broadcast(batch(a), batch(b));
  if (a.size() > 1) shape.push_back(a[a.size() - (transpose_a ? 1 : 2)]);
  if (b.size() > 1) shape.push_back(b[b.size() - (transpose_b ? 2 : 1)]);
  return shape;
}

Shape attention(const Context& c) {
  const Shape &q = c.operands[0].shape, &k = c.operands[1].shape, &v = c.operands[2].shape;
  if (q.size() < 2 || k.size() < 2 || v.size() < 2) {
    c.fail("takes q[..., L, D], k[..., S, D] and v[..., S, E]");
  }
  const auto batch = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  c.equal_sizes(q.back(), k.back(), "inner sizes");
  const Sym keys = c.equal_sizes(k[k.size() - 2], v[v.size() - 2], "keys and values");
  Shape shape = c.broadcast(c.broadcast(batch(q), batch(k)), batch(v));
  Shape scores = c.broadcast(batch(q), batch(k));
  scores.insert(scores.end(), {q[q.size() - 2], keys});
  if (c.operands.size() > 3) {
    const Shape& mask = c.operands[3].shape;
    const bool fits = mask.size() <= scores.size();
    const Shape seen = fits ? c.broadcast(scores, mask) : scores;
    bool grows = !fits;
    for (size_t d = 0; d < scores.size(); ++d) grows |= scores[d].is(1) && !seen[d].is(1);
    if (grows) {
      c.fail(fmt::format("a mask of shape {} does not broadcast to {}", shape_text(mask),
                         shape_text(scores)));
    }
  }
  shape.insert(shape.end(), {q[q.size() - 2], v.back()});
  return shape;
}

// gamma and beta: either broadcast onto x, or one size for each of `dims`, in order.
void check_parameter(const Context& c, const Shape& parameter, const std::vector<int>& dims) {
  const Shape& x = c.operands[0].shape;
  const bool trailing = !dims.empty() && dims.front() == static_cast<int>(x.size() - dims.size());
  if (!trailing && parameter.size() == dims.size()) {
    for (size_t i = 0; i < dims.size(); i++) {
      c.equal_sizes(x[static_cast<size_t>(dims[i])], parameter[i], "sizes");
    }
    return;
  }
  bool broadcasts = parameter.size() <= x.size();
  const Shape result = broadcasts ? c.broadcast(x, parameter) : x;
  for (size_t d = 0; d < x.size(); d++) broadcasts &= !x[d].is(1) || result[d].is(1);
  if (broadcasts) return;
  c.fail(fmt::format("gamma and beta of shape {} do not broadcast to {}", shape_text(parameter),
                     shape_text(x)));
}

Shape normalized(const Context& c) {
  const Shape& x = c.operands[0].shape;
  const std::vector<int> dims = dims_attr(c.info, c.attrs, "dims", static_cast<int>(x.size()));
  for (const TensorType& parameter : c.operands.subspan(1)) {
    check_parameter(c, parameter.shape, dims);
  }
  return x;
}

// [N, C, D...] with one parameter a channel.
Shape by_channel(const Context& c) {
  const Shape& x = c.operands[0].shape;
  if (x.size() < 2) c.fail("takes x[N, C, ...]");
  for (const TensorType& parameter : c.operands.subspan(1)) {
    if (parameter.shape.size() != 1) {
      c.fail(fmt::format("a parameter has shape {}, not one element a channel",
                         shape_text(parameter.shape)));
    }
    c.equal_sizes(x[1], parameter.shape[0], "channels");
  }
  if (c.info.op == Op::group_norm) {
    const int64_t groups = integer_attr(c.info, c.attrs, "groups");
    if (groups < 1 || !exact_div(x[1], Sym(groups))) {
      c.fail(fmt::format("{} channels do not divide into {} groups", x[1].text(), groups));
    }
  }
  return x;
}

constexpr int64_t most_of_topk = 64;

Shape topk(const Context& c) {
  Shape shape = c.operands[0].shape;
  const size_t dim = c.dim("dim", static_cast<int64_t>(shape.size()));
  const int64_t k = integer_attr(c.info, c.attrs, "k");
  if (k < 0 || k > shape[dim].constant().value_or(k)) {
    c.fail(fmt::format("k={} of {} elements", k, shape[dim].text()));
  }
  if (k > most_of_topk) {
    fail_unsupported({}, fmt::format("topk: k={}; supported: up to {}", k, most_of_topk));
  }
  shape[dim] = k;
  return shape;
}

Shape arg_reduced(const Context& c) {
  const Shape& shape = c.operands[0].shape;
  const Shape result = reduced_shape(c);
  const bool any = std::none_of(result.begin(), result.end(), [](const Sym& s) { return s.is(0); });
  for (const int dim : dims_attr(c.info, c.attrs, "dims", static_cast<int>(shape.size()))) {
    if (any && shape[static_cast<size_t>(dim)].is(0)) c.fail("of no element there is no position");
  }
  return result;
}

Shape along_dim(const Context& c) {
  c.dim("dim", static_cast<int64_t>(c.operands[0].shape.size()));
  return c.operands[0].shape;
}

}  // namespace

Shape structured_shape(const Context& c) {
  if (c.info.category == Category::reduction) return reduced_shape(c);
  switch (c.info.op) {
    case Op::reshape:
      return reshape(c);
    case Op::transpose:
      return transpose(c);
    case Op::broadcast:
      return broadcast_to(c);
    case Op::slice:
      return slice(c);
    case Op::concat:
      return concat(c);
    case Op::pad:
      return pad(c);
    case Op::gather:
      return gather(c);
    case Op::window:
      return window(c);
    case Op::gather_elements:
      return gather_elements(c);
    case Op::scatter:
    case Op::scatter_elements:
    case Op::scatter_add:
      return scatter(c);
    case Op::random:
      return random_shape(c);
    case Op::group_norm:
    case Op::batch_norm:
      return by_channel(c);
    case Op::topk:
    case Op::topk_indices:
      return topk(c);
    case Op::argmax:
    case Op::argmin:
      return arg_reduced(c);
    case Op::max_pool:
    case Op::avg_pool:
      return pooled(c);
    case Op::iota:
      return iota(c);
    case Op::size:
      return size_value(c);
    case Op::matmul:
      return matmul(c);
    case Op::conv:
      return conv(c);
    case Op::attention:
      return attention(c);
    case Op::cumsum:
    case Op::softmax:
    case Op::log_softmax:
      return along_dim(c);
    case Op::layer_norm:
    case Op::rms_norm:
      return normalized(c);
    case Op::mean:
    case Op::logsumexp:
    case Op::sum_square:
    case Op::l1_norm:
    case Op::l2_norm:
    case Op::var:
      return reduced_shape(c);
    default:
      fail_internal("infer_type", fmt::format("{} has its own type", c.info.name));
  }
}

}  // namespace infer

namespace {

// The smaller of two sizes. Everything here is a size, so at least 1 where that decides.
Sym smaller(const Sym& a, const Sym& b) {
  if (provably_nonnegative(b - a, {})) return a;
  if (provably_nonnegative(a - b, {})) return b;
  return min(a, b);
}

constexpr int64_t to_the_end = INT32_MAX;  // exporters write this or more

// A start or end as NumPy takes it: negative from the end, clamped to [0, size].
Sym clamped(const Sym& position, const Sym& size) {
  const auto constant = position.constant();
  if (constant && *constant >= to_the_end && !size.constant()) return size;
  if (constant && *constant < 0) {
    if (*constant <= -to_the_end) return 0;
    return size - smaller(Sym(-*constant), size);
  }
  return smaller(position, size);
}

// The same for a negative step, which counts down: clamped to [-1, size - 1].
Sym clamped_backward(const Sym& position, const Sym& size) {
  const auto constant = position.constant();
  if (constant && *constant >= to_the_end && !size.constant()) return size - 1;
  if (constant && *constant < 0) {
    if (*constant <= -to_the_end) return -1;
    return size - smaller(Sym(-*constant), size + 1);
  }
  return smaller(position, size - 1);
}

SliceRange slice_range(const Sym& start, const Sym& end, const Sym& step, const Sym& size) {
  const std::optional<int64_t> given = step.constant();
  if (!given) {
    fail_unsupported({}, fmt::format("slice: step {} is not supported; steps are numbers other "
                                     "than 0",
                                     step.text()));
  }
  if (*given == 0) fail_input({}, "slice: a step is 0; it is a number other than 0");
  // A step takes one element, however much longer it is than the dimension.
  const int64_t longest = std::max<int64_t>(1, size.constant().value_or(to_the_end));
  const int64_t stride = std::clamp(*given, -longest, longest);
  if (stride != *given && !size.constant()) {
    fail_unsupported({}, fmt::format("slice: step {} of the named size {}; at most {} either way",
                                     *given, size.text(), longest));
  }
  const bool forward = stride > 0;
  const Sym first = forward ? clamped(start, size) : clamped_backward(start, size);
  const Sym past = forward ? clamped(end, size) : clamped_backward(end, size);
  const Sym length = forward ? past - first : first - past;
  // Numbers from the same side, the end not behind the start: empty whatever the size.
  const auto from = start.constant(), to = end.constant();
  const bool crossed =
      from && to && (*from < 0) == (*to < 0) && (forward ? *to <= *from : *from <= *to);
  // A symbolic length is taken to be ≥ 0; one that is not is found when sizes are bound.
  const bool empty = crossed || provably_nonnegative(Sym(0) - length, {});
  return {first, Sym(stride), empty ? Sym(0) : ceil_div(length, forward ? stride : -stride)};
}

}  // namespace

std::vector<SliceRange> slice_ranges(const Shape& operand, const Attrs& attrs) {
  const OpInfo& info = op_info(Op::slice);
  const std::vector<Sym> starts = sizes_attr(info, attrs, "starts");
  const std::vector<Sym> ends = sizes_attr(info, attrs, "ends");
  std::vector<Sym> steps = sizes_attr(info, attrs, "steps");
  if (steps.empty()) steps.assign(operand.size(), Sym(1));
  if (starts.size() != operand.size() || ends.size() != operand.size() ||
      steps.size() != operand.size()) {
    fail_input(
        {}, fmt::format("slice: starts={}, ends={} and steps={} need one number for each "
                        "of {} dimensions",
                        shape_text(starts), shape_text(ends), shape_text(steps), operand.size()));
  }
  std::vector<SliceRange> ranges;
  for (size_t d = 0; d < operand.size(); d++) {
    ranges.push_back(slice_range(starts[d], ends[d], steps[d], operand[d]));
  }
  return ranges;
}

}  // namespace ingot
