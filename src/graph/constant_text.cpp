#include "graph/constant_text.h"

#include <cmath>
#include <cstring>

namespace ingot {
namespace {

constexpr int64_t longest_list = 64;  // elements; longer constants are printed in base64
constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(const Tensor& value) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
  const size_t count = static_cast<size_t>(value.bytes());
  std::string text;
  text.reserve((count + 2) / 3 * 4);
  for (size_t i = 0; i < count; i += 3) {
    unsigned block = bytes[i] << 16;
    if (i + 1 < count) block |= bytes[i + 1] << 8;
    if (i + 2 < count) block |= bytes[i + 2];
    for (size_t k = 0; k < 4; ++k) {
      const bool is_padding = k > 0 && i + k > count;
      text += is_padding ? '=' : base64_digits[(block >> (18 - 6 * k)) & 63];
    }
  }
  return text;
}

// False if the text is no base64 of exactly the tensor's bytes.
bool from_base64(std::string_view text, Tensor& value) {
  const size_t count = static_cast<size_t>(value.bytes());
  if (text.size() != (count + 2) / 3 * 4) return false;
  auto* bytes = reinterpret_cast<unsigned char*>(value.data());
  for (size_t i = 0; i < count; i += 3) {
    unsigned block = 0;
    for (size_t k = 0; k < 4; ++k) {
      const char digit = text[i / 3 * 4 + k];
      const bool is_padding = k > 0 && i + k > count;
      const size_t found = is_padding ? 0 : base64_digits.find(digit);
      if (found == std::string_view::npos || (is_padding && digit != '=')) return false;
      block = block << 6 | static_cast<unsigned>(found);
    }
    for (size_t k = 0; k < 3 && i + k < count; ++k) {
      bytes[i + k] = static_cast<unsigned char>(block >> (16 - 8 * k));
    }
  }
  return true;
}

std::string element_text(const Tensor& value, int64_t index) {
  if (value.dtype() == DType::boolean) return value.get_i64(index) != 0 ? "true" : "false";
  if (value.dtype() == DType::u64) {
    return fmt::format("{}", static_cast<uint64_t>(value.get_i64(index)));
  }
  if (is_integer(value.dtype())) return fmt::format("{}", value.get_i64(index));
  if (value.dtype() == DType::f64) return number_text(value.get_f64(index));
  return number_text(static_cast<float>(value.get_f64(index)));
}

// A NaN is written "nan" only if its bits are those that "nan" reads as.
bool reads_back(const Tensor& value, int64_t index) {
  if (!is_float(value.dtype()) || !std::isnan(value.get_f64(index))) return true;
  Tensor plain(value.dtype(), {});
  plain.set_f64(0, std::nan(""));
  const size_t size = static_cast<size_t>(byte_size(value.dtype()));
  return std::memcmp(plain.data(), value.data() + static_cast<size_t>(index) * size, size) == 0;
}

}  // namespace

bool accept_end(Cursor& cursor, std::string_view end, bool is_first) {
  if (cursor.accept(end)) return true;
  if (is_first || cursor.accept(",")) return false;
  cursor.fail(cursor.location(),
              fmt::format("expected ',' or '{}', got {}", end, cursor.next_token_text()));
}

DType parse_dtype_word(Cursor& cursor) {
  const Location at = cursor.location();
  const std::string word = cursor.identifier("a dtype");
  if (const auto dtype = parse_dtype(word)) return *dtype;
  std::string known;
  for (const DType dtype : all_dtypes) known += fmt::format(" {}", dtype_name(dtype));
  cursor.fail(at, fmt::format("unknown dtype '{}'; there are{}", word, known));
}

namespace {

std::vector<int64_t> parse_concrete_shape(Cursor& cursor) {
  std::vector<int64_t> shape;
  cursor.expect("[");
  int64_t bytes = 8;
  while (!accept_end(cursor, "]", shape.empty())) {
    const Location at = cursor.location();
    const Cursor::Number size = cursor.number("a size");
    if (!size.is_integer || size.integer < 0) {
      cursor.fail(at, "a constant's size is an integer, not negative");
    }
    shape.push_back(size.integer);
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size.integer, 1), &bytes)) {
      cursor.fail(at, "the constant takes more bytes than 64 bits can count");
    }
  }
  return shape;
}

Tensor parse_base64(Cursor& cursor, DType dtype, const std::vector<int64_t>& shape) {
  cursor.expect("=");
  const Location at = cursor.location();
  const std::string text = cursor.string_literal("base64 data");
  int64_t bytes = byte_size(dtype);
  for (const int64_t size : shape) bytes *= size;
  // Compared before the tensor is made: a wrong shape must not ask for its memory.
  if (static_cast<size_t>(bytes) / 3 <= text.size()) {
    Tensor value = Tensor::uninitialized(dtype, shape);
    if (from_base64(text, value)) {
      if (dtype != DType::boolean) return value;
      for (int64_t i = 0; i < value.size(); ++i) {
        if (static_cast<unsigned char>(value.data()[i]) > 1) {
          cursor.fail(at, "a bool is stored as 0 or 1");
        }
      }
      return value;
    }
  }
  cursor.fail(at, fmt::format("not the base64 text of {} bytes, the size of {}[{}]", bytes,
                              dtype_name(dtype), fmt::join(shape, ", ")));
}

// [1, 2, 3] in row-major order; without a stated shape it is one-dimensional.
Tensor parse_list(Cursor& cursor, DType dtype, std::optional<std::vector<int64_t>> shape) {
  const Location at = cursor.location();
  cursor.expect("[");
  std::vector<Tensor> blocks;  // of a list whose length is not known yet
  constexpr int64_t block = 1024;
  int64_t count = 0;
  while (!accept_end(cursor, "]", count == 0)) {
    if (count % block == 0) blocks.emplace_back(dtype, std::vector<int64_t>{block});
    parse_element(cursor, blocks.back(), count % block);
    ++count;
  }
  if (!shape) shape = {count};
  int64_t wanted = 1;
  for (const int64_t size : *shape) wanted *= size;
  if (wanted != count) {
    cursor.fail(at, fmt::format("{} elements for {}[{}], which has {}", count, dtype_name(dtype),
                                fmt::join(*shape, ", "), wanted));
  }
  Tensor value = Tensor::uninitialized(dtype, *shape);
  const int64_t size = byte_size(dtype);
  for (int64_t i = 0; i < count; i += block) {
    std::memcpy(value.data() + i * size, blocks[static_cast<size_t>(i / block)].data(),
                static_cast<size_t>(std::min(block, count - i) * size));
  }
  return value;
}

}  // namespace

std::string literal_text(const Tensor& value) {
  // An operand is read before its dtype is known: as an i64.
  if (value.dtype() == DType::u64 && value.get_i64(0) < 0) return {};
  return reads_back(value, 0) ? element_text(value, 0) : std::string();
}

std::string constant_text(const Tensor& value) {
  bool as_list = value.size() <= longest_list;
  for (int64_t i = 0; as_list && i < value.size(); ++i) as_list = reads_back(value, i);
  const auto& shape = value.shape();
  const std::string full = fmt::format("{}[{}]", dtype_name(value.dtype()), fmt::join(shape, ", "));
  if (!as_list) return fmt::format("{}, base64=\"{}\"", full, to_base64(value));
  if (shape.empty())
    return fmt::format("{}, {}", dtype_name(value.dtype()), element_text(value, 0));
  std::vector<std::string> elements;
  for (int64_t i = 0; i < value.size(); ++i) elements.push_back(element_text(value, i));
  return fmt::format("{}, [{}]", shape.size() == 1 ? std::string(dtype_name(value.dtype())) : full,
                     join(elements, ", "));
}

void parse_element(Cursor& cursor, Tensor& value, int64_t index) {
  const Location at = cursor.location();
  const DType dtype = value.dtype();
  const bool is_true = cursor.accept("true");
  if (is_true || cursor.accept("false")) {
    if (dtype != DType::boolean) {
      cursor.fail(at, fmt::format("true and false are bool, not {}", dtype_name(dtype)));
    }
    value.set_i64(index, is_true ? 1 : 0);
    return;
  }
  if (!cursor.at_number()) {
    cursor.fail(at, fmt::format("expected a number, got {}", cursor.next_token_text()));
  }
  const Cursor::Number number = cursor.number("a number", dtype == DType::u64);
  if (is_float(dtype)) {
    value.set_f64(index, number.real);
    return;
  }
  if (dtype == DType::boolean) cursor.fail(at, "a bool is true or false");
  if (!number.is_integer) {
    cursor.fail(at, fmt::format("{} is no {}", number_text(number.real), dtype_name(dtype)));
  }
  value.set_i64(index, number.integer);
  const bool negative = dtype == DType::u64 && number.real < 0;
  if (value.get_i64(index) != number.integer || negative) {
    cursor.fail(at, fmt::format("{} is out of {}'s range", number.integer, dtype_name(dtype)));
  }
}

std::optional<DType> number_operand_dtype(Op op, const std::vector<std::optional<DType>>& dtypes,
                                          size_t position) {
  const bool has_mask = op_info(op).rule == DTypeRule::second;
  if (has_mask && position == 0) return DType::boolean;
  const bool has_ids = (op_info(op).flags & OpFlag::ids) != 0;
  if (has_ids && position == 1) return DType::i64;
  for (size_t i = has_mask ? 1 : 0; i < dtypes.size(); ++i) {
    if (has_ids && i == 1) continue;
    if (i != position && dtypes[i]) return dtypes[i];
  }
  return std::nullopt;
}

Tensor parse_constant(Cursor& cursor, const std::string& folder) {
  if (cursor.accept("file")) {
    cursor.expect("=");
    const Location at = cursor.location();
    std::string path = cursor.string_literal("a file name");
    if (!path.starts_with('/') && !folder.empty()) path = folder + "/" + path;
    try {
      return read_npy(path);
    } catch (const Error& error) {
      throw error.at(at);
    }
  }
  const DType dtype = parse_dtype_word(cursor);
  std::optional<std::vector<int64_t>> shape;
  if (cursor.peek("[")) shape = parse_concrete_shape(cursor);
  cursor.expect(",");
  if (cursor.accept("base64")) {
    return parse_base64(cursor, dtype, shape.value_or(std::vector<int64_t>{}));
  }
  if (cursor.peek("[")) return parse_list(cursor, dtype, shape);
  // One number for every element.
  if (!shape) shape.emplace();
  const Location at = cursor.location();
  Tensor element(dtype, {});
  parse_element(cursor, element, 0);
  int64_t count = 1;
  for (const int64_t size : *shape) count *= size;
  if (count * byte_size(dtype) > (int64_t{64} << 20)) {
    cursor.fail(at, "a constant of more than 64 MiB: use broadcast(constant, shape=…)");
  }
  Tensor value = Tensor::uninitialized(dtype, *shape);
  const size_t size = static_cast<size_t>(byte_size(dtype));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(value.data() + static_cast<size_t>(i) * size, element.data(), size);
  }
  return value;
}

}  // namespace ingot
