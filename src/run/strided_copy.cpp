#include "run/strided_copy.h"

#include <algorithm>
#include <cstring>

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

int64_t element_count(const TensorView& view) {
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
