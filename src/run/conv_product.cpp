// Convolution of one image as products of windows and weights.
//
// Whatever the strides of its operands, the same matrices are multiplied: columns [positions, K]
// times weights [K, outputs of the group], K in the order (kernel, channel). So the bits do not
// depend on the layout that a plan chooses.
#include <algorithm>
#include <array>
#include <type_traits>

#include "base/error.h"
#include "run/gemm.h"
#include "run/product_routines.h"
#include "run/widen.h"

namespace ingot {
namespace {

using Spatial = std::array<int64_t, 3>;  // the leading dimensions of a lower rank are 1

struct ConvSizes {
  int64_t channels, groups, outputs;
  Spatial input, kernel, stride, dilation, pad_low, pad_high;
  int64_t lhs_channel_stride, dst_output_stride;
  Spatial lhs_stride, dst_stride;

  int64_t channels_in_group() const { return channels / groups; }
  int64_t outputs_in_group() const { return outputs / groups; }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return kernel_size() * channels_in_group(); }
  int64_t output_size(size_t d) const {
    const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    const int64_t room = input[d] + pad_low[d] + pad_high[d] - reach;
    return room < 0 ? 0 : room / stride[d] + 1;
  }
  int64_t positions() const { return output_size(0) * output_size(1) * output_size(2); }
};

ConvSizes read_sizes(const long* sizes) {
  const long rank = sizes[3];
  INGOT_CHECK(rank >= 1 && rank <= 3, "conv of spatial rank {}", rank);
  const long* at = sizes + 4;
  const auto take = [&](int64_t absent) {
    Spatial values = {absent, absent, absent};
    std::copy(at, at + rank, values.end() - rank);
    at += rank;
    return values;
  };
  ConvSizes s{};
  s.channels = sizes[0], s.groups = sizes[1], s.outputs = sizes[2];
  s.input = take(1), s.kernel = take(1), s.stride = take(1), s.dilation = take(1);
  s.pad_low = take(0), s.pad_high = take(0);
  s.lhs_channel_stride = *at++;
  s.lhs_stride = take(0);
  s.dst_output_stride = *at++;
  s.dst_stride = take(0);
  INGOT_CHECK(s.groups >= 1 && s.channels % s.groups == 0 && s.outputs % s.groups == 0,
              "conv of {} channels, {} outputs in {} groups", s.channels, s.outputs, s.groups);
  return s;
}

// An image whose channels lie side by side, in the compute type.
template <class C>
struct Image {
  const C* data;
  Spatial stride;
};

template <class S>
Image<Widened<S>> channel_last(const ConvSizes& s, const S* lhs) {
  using C = Widened<S>;
  if constexpr (std::is_same_v<S, C>) {
    if (s.lhs_channel_stride == 1) return {lhs, s.lhs_stride};
  }
  constexpr int64_t tile = 32;
  const Spatial stride = {s.input[1] * s.input[2] * s.channels, s.input[2] * s.channels,
                          s.channels};
  auto* const to = reinterpret_cast<C*>(
      pack_block(PackRole::lhs)
          .reserve(s.input[0] * stride[0] * int64_t{sizeof(C)}, "blocks of a product"));
  for (int64_t z = 0; z < s.input[0]; ++z) {
    for (int64_t y = 0; y < s.input[1]; ++y) {
      const S* const from_line = lhs + z * s.lhs_stride[0] + y * s.lhs_stride[1];
      C* const to_line = to + z * stride[0] + y * stride[1];
      for (int64_t x0 = 0; x0 < s.input[2]; x0 += tile) {
        for (int64_t c = 0; c < s.channels; ++c) {
          for (int64_t x = x0; x < std::min(x0 + tile, s.input[2]); ++x) {
            to_line[x * s.channels + c] =
                widen(from_line[c * s.lhs_channel_stride + x * s.lhs_stride[2]]);
          }
        }
      }
    }
  }
  return {to, stride};
}

// [groups][kernel, channel][outputs of the group] from [outputs, channel, kernel].
template <class S>
void pack_weights(const ConvSizes& s, const S* rhs, MemoryBlock& block) {
  using C = Widened<S>;
  const int64_t channels = s.channels_in_group(), outputs = s.outputs_in_group();
  const int64_t taps = s.kernel_size(), depth = s.depth();
  auto* const to = reinterpret_cast<C*>(
      block.reserve(s.outputs * depth * int64_t{sizeof(C)}, "blocks of a product"));
  for (int64_t o = 0; o < s.outputs; ++o) {
    C* const group = to + o / outputs * outputs * depth;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        group[(t * channels + c) * outputs + o % outputs] = widen(rhs[o * depth + c * taps + t]);
      }
    }
  }
}

template <class S>
const Widened<S>* weights(PackedConstants* constants, const ConvSizes& s, const S* rhs) {
  using C = Widened<S>;
  if (constants == nullptr || !constants->is_constant(rhs)) {
    MemoryBlock& block = pack_block(PackRole::rhs);
    pack_weights(s, rhs, block);
    return reinterpret_cast<const C*>(block.data());
  }
  const PackedConstants::Key key{rhs,
                                 1,
                                 {int64_t{sizeof(S)}, std::is_same_v<S, F16Bits>, s.groups,
                                  s.outputs, s.channels, s.kernel_size()}};
  return reinterpret_cast<const C*>(
      constants->packed(key, [&](MemoryBlock& block) { pack_weights(s, rhs, block); }));
}

// One line of a window: kernel[2] taps from input position `at` on, `line` being nullptr in the
// padding. Taps that lie side by side in the image are copied at once.
template <class C>
void fill_line(const ConvSizes& s, const C* line, int64_t at, int64_t pixel_stride, C* to) {
  const int64_t channels = s.channels_in_group();
  if (line == nullptr) {
    std::fill_n(to, s.kernel[2] * channels, C{0});
    return;
  }
  const bool side_by_side = s.dilation[2] == 1 && pixel_stride == channels;
  if (side_by_side && at >= 0 && at + s.kernel[2] <= s.input[2]) {
    std::copy_n(line + at * pixel_stride, s.kernel[2] * channels, to);
    return;
  }
  for (int64_t t = 0; t < s.kernel[2]; ++t, at += s.dilation[2], to += channels) {
    if (at >= 0 && at < s.input[2]) {
      std::copy_n(line + at * pixel_stride, channels, to);
    } else {
      std::fill_n(to, channels, C{0});
    }
  }
}

// Windows of `count` positions from `first`, a row of K values each.
template <class C>
void fill_columns(const ConvSizes& s, const Image<C>& image, int64_t group, int64_t first,
                  int64_t count, C* columns) {
  const int64_t lines = s.output_size(1), width = s.output_size(2);
  const C* const data = image.data + group * s.channels_in_group();
  const int64_t line_values = s.kernel[2] * s.channels_in_group();
  for (int64_t p = first; p < first + count; ++p) {
    const int64_t z0 = p / (lines * width) * s.stride[0] - s.pad_low[0];
    const int64_t y0 = p / width % lines * s.stride[1] - s.pad_low[1];
    const int64_t x0 = p % width * s.stride[2] - s.pad_low[2];
    for (int64_t kz = 0; kz < s.kernel[0]; ++kz) {
      for (int64_t ky = 0; ky < s.kernel[1]; ++ky, columns += line_values) {
        const int64_t z = z0 + kz * s.dilation[0], y = y0 + ky * s.dilation[1];
        const bool inside = z >= 0 && z < s.input[0] && y >= 0 && y < s.input[1];
        const C* const line = inside ? data + z * image.stride[0] + y * image.stride[1] : nullptr;
        fill_line(s, line, x0, image.stride[2], columns);
      }
    }
  }
}

// result [count, outputs of the group] → dst with its strides.
template <class C>
void scatter(const ConvSizes& s, const C* result, int64_t group, int64_t first, int64_t count,
             C* dst) {
  constexpr int64_t tile = 32;
  const int64_t outputs = s.outputs_in_group();
  const int64_t lines = s.output_size(1), width = s.output_size(2);
  dst += group * outputs * s.dst_output_stride;
  for (int64_t p0 = 0; p0 < count; p0 += tile) {
    std::array<int64_t, tile> offsets{};
    const int64_t tile_size = std::min(tile, count - p0);
    for (int64_t p = 0; p < tile_size; ++p) {
      const int64_t at = first + p0 + p;
      offsets[static_cast<size_t>(p)] = at / (lines * width) * s.dst_stride[0] +
                                        at / width % lines * s.dst_stride[1] +
                                        at % width * s.dst_stride[2];
    }
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t p = 0; p < tile_size; ++p) {
        dst[offsets[static_cast<size_t>(p)] + o * s.dst_output_stride] =
            result[(p0 + p) * outputs + o];
      }
    }
  }
}

// The windows themselves lie in the image as rows: a kernel of one tap over one dimension.
bool windows_in_place(const ConvSizes& s) {
  return s.kernel_size() == 1 && s.output_size(0) * s.output_size(1) == 1 && s.pad_low[2] == 0 &&
         s.pad_high[2] == 0 && s.pad_low[0] == 0 && s.pad_low[1] == 0;
}

// dst is [positions, outputs] as it lies.
bool result_in_place(const ConvSizes& s) {
  return s.dst_output_stride == 1 && s.output_size(0) * s.output_size(1) == 1 &&
         s.dst_stride[2] >= s.outputs;
}

}  // namespace

template <class S>
void conv_product(PackedConstants* constants, const long* sizes, const S* lhs, const S* rhs,
                  void* dst) {
  using C = Widened<S>;
  const ConvSizes s = read_sizes(sizes);
  const int64_t positions = s.positions(), depth = s.depth(), outputs = s.outputs_in_group();
  if (positions == 0 || s.outputs == 0) return;
  const Image<C> image = channel_last(s, lhs);
  const C* const packed = weights(constants, s, rhs);
  // Windows of a block stay near the last-level cache; the same blocks for every layout.
  const int64_t block = std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(depth, 1), 64,
                                            std::max<int64_t>(positions, 64));
  auto* const result = static_cast<C*>(dst);
  for (int64_t first = 0; first < positions; first += block) {
    const int64_t count = std::min(block, positions - first);
    for (int64_t g = 0; g < s.groups; ++g) {
      GemmSizes product{count, outputs, depth, depth, outputs, outputs, false, false};
      const C* columns = nullptr;
      if (windows_in_place(s) && image.stride[2] * s.stride[2] >= depth) {
        columns = image.data + first * s.stride[2] * image.stride[2] + g * depth;
        product.lda = image.stride[2] * s.stride[2];
      } else {
        auto* const room = reinterpret_cast<C*>(
            pack_block(PackRole::columns)
                .reserve(count * depth * int64_t{sizeof(C)}, "blocks of a product"));
        fill_columns(s, image, g, first, count, room);
        columns = room;
      }
      const C* const group_weights = packed + g * outputs * depth;
      if (result_in_place(s)) {
        product.ldc = s.dst_stride[2];
        gemm(product, columns, group_weights, result + first * product.ldc + g * outputs);
        continue;
      }
      auto* const room = reinterpret_cast<C*>(
          pack_block(PackRole::result)
              .reserve(count * outputs * int64_t{sizeof(C)}, "blocks of a product"));
      gemm(product, columns, group_weights, room);
      scatter(s, room, g, first, count, result);
    }
  }
}

template void conv_product(PackedConstants*, const long*, const float*, const float*, void*);
template void conv_product(PackedConstants*, const long*, const double*, const double*, void*);
template void conv_product(PackedConstants*, const long*, const Bf16Bits*, const Bf16Bits*, void*);
template void conv_product(PackedConstants*, const long*, const F16Bits*, const F16Bits*, void*);
template void conv_product(PackedConstants*, const long*, const int32_t*, const int32_t*, void*);
template void conv_product(PackedConstants*, const long*, const int64_t*, const int64_t*, void*);
template void conv_product(PackedConstants*, const long*, const uint8_t*, const uint8_t*, void*);
template void conv_product(PackedConstants*, const long*, const int8_t*, const int8_t*, void*);
template void conv_product(PackedConstants*, const long*, const int16_t*, const int16_t*, void*);
template void conv_product(PackedConstants*, const long*, const uint16_t*, const uint16_t*, void*);
template void conv_product(PackedConstants*, const long*, const uint32_t*, const uint32_t*, void*);

}  // namespace ingot
