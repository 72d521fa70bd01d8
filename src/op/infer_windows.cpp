// Result shapes of ops with windows: conv, window, pooling.
#include <algorithm>

#include "op/infer_structured.h"

namespace ingot {

namespace infer {

namespace {

std::vector<Sym> sizes(const Context& c, std::string_view name) {
  return sizes_attr(c.info, c.attrs, name);
}

// A conv attribute with one number a spatial dimension (pads: two), or the default for all.
std::vector<int64_t> spatial(const Context& c, std::string_view name, size_t count, int64_t absent,
                             int64_t least) {
  std::vector<int64_t> values;
  for (const Sym& each : sizes(c, name)) {
    if (each.constant().value_or(least - 1) < least) {
      c.fail(fmt::format("{} must be numbers of at least {}", name, least));
    }
    values.push_back(*each.constant());
  }
  if (values.empty()) values.assign(count, absent);
  if (values.size() != count) {
    c.fail(fmt::format("{} needs {} numbers, got {}", name, count, values.size()));
  }
  return values;
}

}  // namespace

Shape conv(const Context& c) {
  const Shape& x = c.operands[0].shape;
  const Shape& w = c.operands[1].shape;
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) {
    c.fail("takes x[N, C, D...] and w[M, C / groups, K...] with 1 to 3 spatial dimensions");
  }
  const size_t rank = x.size() - 2;
  const int64_t groups = integer_attr(c.info, c.attrs, "groups");
  if (groups < 1) c.fail(fmt::format("groups={} must be at least 1", groups));
  c.equal_sizes(x[1], w[1] * groups, "input channels");
  const std::optional<int64_t> outputs = w[0].constant();
  if (outputs && *outputs % groups != 0) {
    c.fail(fmt::format("{} output channels do not divide into {} groups", *outputs, groups));
  }
  if (c.operands.size() == 3) {
    if (c.operands[2].shape.size() != 1) c.fail("the bias must have one dimension");
    c.equal_sizes(w[0], c.operands[2].shape[0], "output channels");
  }
  const auto strides = spatial(c, "strides", rank, 1, 1);
  const auto dilations = spatial(c, "dilations", rank, 1, 1);
  const auto pads = spatial(c, "pads", 2 * rank, 0, 0);
  Shape shape = {x[0], w[0]};
  for (size_t d = 0; d < rank; d++) {
    const Sym window = Sym(dilations[d]) * (w[2 + d] - 1) + 1;
    const Sym room = x[2 + d] + pads[d] + pads[rank + d] - window;
    if (room.constant().value_or(0) < 0) {
      c.fail(fmt::format("the window {} is larger than the padded size {}", window.text(),
                         (room + window).text()));
    }
    shape.push_back(floor_div(room, strides[d]) + 1);
  }
  return shape;
}

Shape window(const Context& c) {
  const Shape& x = c.operands[0].shape;
  const std::vector<Sym> taps = sizes(c, "sizes");
  if (taps.empty() || taps.size() > x.size()) {
    c.fail(fmt::format("sizes={} for {} dimensions", shape_text(taps), x.size()));
  }
  const auto kernel = spatial(c, "sizes", taps.size(), 1, 1);
  const auto strides = spatial(c, "strides", taps.size(), 1, 1);
  const auto dilations = spatial(c, "dilations", taps.size(), 1, 1);
  const size_t lead = x.size() - taps.size();
  Shape shape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(lead));
  for (const int64_t size : kernel) shape.emplace_back(size);
  for (size_t d = 0; d < taps.size(); ++d) {
    const Sym room = x[lead + d] - (Sym(dilations[d]) * Sym(kernel[d] - 1) + 1);
    if (room.constant().value_or(0) < 0) {
      c.fail(fmt::format("the window is larger than size {}", x[lead + d].text()));
    }
    shape.push_back(floor_div(room, strides[d]) + 1);
  }
  return shape;
}

Shape pooled(const Context& c) {
  const Shape& x = c.operands[0].shape;
  if (x.size() < 3) c.fail("takes x[N, C, D...]");
  Shape shape = {x[0], x[1]};
  for (const PoolDim& dim : pool_dims(x, c.info, c.attrs)) shape.push_back(dim.outputs);
  return shape;
}

}  // namespace infer

std::vector<PoolDim> pool_dims(const Shape& x, const OpInfo& info, const Attrs& attrs) {
  const size_t rank = x.size() - 2;
  const auto list = [&](std::string_view name, size_t count, int64_t absent, int64_t least) {
    std::vector<int64_t> values;
    for (const Sym& each : sizes_attr(info, attrs, name)) {
      values.push_back(each.constant().value_or(least - 1));
    }
    if (values.empty()) values.assign(count, absent);
    const bool small = std::ranges::any_of(values, [&](int64_t v) { return v < least; });
    if (values.size() != count || small) {
      fail_input({},
                 fmt::format("{}: {} needs {} numbers from {} on", info.name, name, count, least));
    }
    return values;
  };
  const auto kernel = list("kernel", rank, 0, 1), strides = list("strides", rank, 1, 1);
  const auto dilations = list("dilations", rank, 1, 1), pads = list("pads", 2 * rank, 0, 0);
  const bool ceil = flag_attr(info, attrs, "ceil_mode");
  std::vector<PoolDim> dims;
  for (size_t d = 0; d < rank; ++d) {
    PoolDim dim{x[2 + d], kernel[d], strides[d], dilations[d], pads[d], pads[d + rank], {}, 0};
    const Sym reach = Sym(dim.dilation) * Sym(dim.kernel - 1) + 1;
    const Sym padded = dim.size + Sym(dim.low) + Sym(dim.high), room = padded - reach;
    if (room.constant().value_or(0) < 0) {
      fail_input({}, fmt::format("{}: the window {} is larger than the padded size {}", info.name,
                                 reach.text(), padded.text()));
    }
    dim.outputs = floor_div(room, dim.stride) + 1;
    const auto constant = room.constant();
    if (ceil && !constant && dim.stride > 1) {
      fail_unsupported(
          {}, fmt::format("{}: ceil_mode in the named size {}", info.name, dim.size.text()));
    }
    if (ceil && constant && *constant % dim.stride != 0) {
      // One more window, if it starts inside the operand or the padding before it.
      const int64_t start = (*constant / dim.stride + 1) * dim.stride;
      if (start < *dim.size.constant() + dim.low) {
        dim.outputs = dim.outputs + 1;
        dim.beyond = start - *constant;
      }
    }
    dims.push_back(dim);
  }
  return dims;
}

}  // namespace ingot
