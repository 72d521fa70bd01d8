#include "run/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>

namespace ingot {
namespace {

// Below this a second thread gains nothing.
constexpr int64_t bytes_per_part = 256 * 1024;

struct Dimension {
  int64_t size, stride;  // stride of the view in bytes
};

std::vector<int64_t> strides_of(const TensorView& view) {
  if (!view.strides.empty()) return view.strides;
  std::vector<int64_t> strides(view.shape.size());
  int64_t stride = 1;
  for (size_t d = view.shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= view.shape[d];
  }
  return strides;
}

// Without dimensions of size 1, neighbours that lie end to end as one; at least one dimension.
std::vector<Dimension> merged_dimensions(const TensorView& view) {
  const std::vector<int64_t> strides = strides_of(view);
  const int64_t element = byte_size(view.dtype);
  std::vector<Dimension> dims;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    const Dimension dim{view.shape[d], strides[d] * element};
    if (dim.size == 1) continue;
    if (!dims.empty() && dims.back().stride == dim.size * dim.stride) {
      dims.back() = {dims.back().size * dim.size, dim.stride};
    } else {
      dims.push_back(dim);
    }
  }
  if (dims.empty()) dims.push_back({1, element});
  return dims;
}

// One innermost line of `count` elements of Bytes bytes.
template <int64_t Bytes>
void copy_line(std::byte* strided, int64_t stride, std::byte* plain, int64_t count,
               CopyDirection direction) {
  if (direction == CopyDirection::pack) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(plain + i * Bytes, strided + i * stride, Bytes);
  } else {
    for (int64_t i = 0; i < count; ++i) std::memcpy(strided + i * stride, plain + i * Bytes, Bytes);
  }
}

void copy_line(int64_t element, std::byte* strided, int64_t stride, std::byte* plain, int64_t count,
               CopyDirection direction) {
  if (stride == element) {
    const auto bytes = static_cast<size_t>(count * element);
    if (direction == CopyDirection::pack) {
      std::memcpy(plain, strided, bytes);
    } else {
      std::memcpy(strided, plain, bytes);
    }
    return;
  }
  switch (element) {
    case 1:
      return copy_line<1>(strided, stride, plain, count, direction);
    case 2:
      return copy_line<2>(strided, stride, plain, count, direction);
    case 4:
      return copy_line<4>(strided, stride, plain, count, direction);
    default:
      return copy_line<8>(strided, stride, plain, count, direction);
  }
}

// Elements [begin, end) of the row-major order, line by line.
void copy_range(const std::vector<Dimension>& dims, int64_t element, std::byte* strided,
                std::byte* plain, int64_t begin, int64_t end, CopyDirection direction) {
  const Dimension inner = dims.back();
  for (int64_t at = begin; at < end;) {
    const int64_t first = at % inner.size;
    const int64_t count = std::min(inner.size - first, end - at);
    int64_t offset = first * inner.stride, line = at / inner.size;
    for (size_t d = dims.size() - 1; d-- > 0;) {
      offset += line % dims[d].size * dims[d].stride;
      line /= dims[d].size;
    }
    copy_line(element, strided + offset, inner.stride, plain + at * element, count, direction);
    at += count;
  }
}

// low to high times a positive stride.
struct Term {
  int64_t stride, low, high;
};

// The offsets of the view's elements, added to (sign 1) or taken from (-1) the sum of the terms.
void add_terms(const TensorView& view, int64_t sign, std::vector<Term>* terms) {
  for (const Dimension& dim : merged_dimensions(view)) {
    if (dim.size == 1 || dim.stride == 0) continue;
    const int64_t steps = dim.stride > 0 ? sign * (dim.size - 1) : -sign * (dim.size - 1);
    const int64_t stride = std::abs(dim.stride);
    auto same = std::ranges::find(*terms, stride, &Term::stride);
    if (same == terms->end()) same = terms->insert(same, {stride, 0, 0});
    (steps < 0 ? same->low : same->high) += steps;
  }
  std::ranges::sort(*terms, std::greater<>(), &Term::stride);
}

int64_t divided(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // rounds down

// Some sum of the terms lies in [begin, end). Where strides nest, each has two factors to try.
bool sum_reaches(std::span<const Term> terms, int64_t begin, int64_t end) {
  if (terms.empty()) return begin <= 0 && end > 0;
  const Term term = terms.front();
  int64_t low = 0, high = 0;  // of the other terms
  for (const Term& other : terms.subspan(1)) {
    low += other.stride * other.low;
    high += other.stride * other.high;
  }
  const int64_t from = std::max(term.low, -divided(high - begin, term.stride));
  const int64_t to = std::min(term.high, divided(end - 1 - low, term.stride));
  for (int64_t factor = from; factor <= to; ++factor) {
    const int64_t part = factor * term.stride;
    if (sum_reaches(terms.subspan(1), begin - part, end - part)) return true;
  }
  return false;
}

int64_t element_count(const TensorView& view) {
  if (std::ranges::find(view.shape, 0) != view.shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t size : view.shape) count *= size;
  return count;
}

}  // namespace

bool is_plain(const TensorView& view) {
  if (reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(byte_size(view.dtype)) != 0) {
    return false;
  }
  if (view.strides.empty() || element_count(view) == 0) return true;
  int64_t expected = 1;
  for (size_t d = view.shape.size(); d-- > 0;) {
    if (view.shape[d] != 1 && view.strides[d] != expected) return false;
    expected *= view.shape[d];
  }
  return true;
}

ByteRange byte_range(const TensorView& view) {
  const auto* begin = static_cast<const std::byte*>(view.data);
  if (element_count(view) == 0) return {begin, begin};
  const std::byte* end = begin + byte_size(view.dtype);
  for (const Dimension& dim : merged_dimensions(view)) {
    const int64_t reach = (dim.size - 1) * dim.stride;
    (reach < 0 ? begin : end) += reach;
  }
  return {begin, end};
}

bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.begin < b.end && b.begin < a.end && a.begin != a.end && b.begin != b.end;
}

std::vector<PlacedRange> sorted_ranges(const std::vector<TensorView>& views) {
  std::vector<PlacedRange> ranges;
  ranges.reserve(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    const ByteRange range = byte_range(views[i]);
    if (range.begin != range.end) ranges.push_back({range, i});
  }
  std::ranges::sort(ranges, [](const PlacedRange& a, const PlacedRange& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.view < b.view;
  });
  return ranges;
}

std::vector<ByteRange> joined_ranges(const std::vector<TensorView>& views) {
  std::vector<ByteRange> joined;
  for (const PlacedRange& range : sorted_ranges(views)) {
    if (joined.empty() || range.begin > joined.back().end) {
      joined.push_back(range);
    } else {
      joined.back().end = std::max(joined.back().end, range.end);
    }
  }
  return joined;
}

bool overlaps_any(const std::vector<ByteRange>& joined, const ByteRange& range) {
  const auto next = std::ranges::upper_bound(joined, range.begin, {}, &ByteRange::end);
  return next != joined.end() && overlap(*next, range);
}

bool share_elements(const TensorView& a, const TensorView& b) {
  if (!overlap(byte_range(a), byte_range(b))) return false;
  std::vector<Term> terms;
  add_terms(a, 1, &terms);
  add_terms(b, -1, &terms);
  const int64_t ahead =
      static_cast<const std::byte*>(b.data) - static_cast<const std::byte*>(a.data);
  return sum_reaches(terms, ahead - byte_size(a.dtype) + 1, ahead + byte_size(b.dtype));
}

// Two elements differ by a sum whose first factor that is not 0 is positive.
bool repeats_elements(const TensorView& view) {
  if (is_plain(view) || element_count(view) == 0) return false;
  std::vector<Term> terms;
  for (const Dimension& dim : merged_dimensions(view)) {
    if (dim.size == 1) continue;
    if (dim.stride == 0) return true;
    terms.push_back({std::abs(dim.stride), 1 - dim.size, dim.size - 1});
  }
  std::ranges::sort(terms, std::greater<>(), &Term::stride);
  for (std::span<Term> rest = terms; !rest.empty(); rest = rest.subspan(1)) {
    const int64_t low = rest.front().low;
    rest.front().low = 1;
    if (sum_reaches(rest, 0, 1)) return true;
    rest.front().low = low;
  }
  return false;
}

void copy_strided(const TensorView& view, std::byte* plain, CopyDirection direction,
                  ThreadPool* pool) {
  const int64_t count = element_count(view);
  if (count == 0) return;
  const std::vector<Dimension> dims = merged_dimensions(view);
  const int64_t element = byte_size(view.dtype);
  auto* const strided = static_cast<std::byte*>(view.data);
  const int64_t most = pool != nullptr ? pool->threads() : 1;
  const int64_t parts = std::clamp<int64_t>(count * element / bytes_per_part, 1, most);
  auto body = [&](int part) {
    copy_range(dims, element, strided, plain, count * part / parts, count * (part + 1) / parts,
               direction);
  };
  if (parts == 1) {
    body(0);
  } else {
    pool->run(static_cast<int>(parts), body);
  }
}

}  // namespace ingot
