#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace ingot {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

// Length of the identifier at the start of `text`; dots only between word characters.
size_t word_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  size_t n = 1;
  while (n < text.size() &&
         (is_word(text[n]) || (text[n] == '.' && n + 1 < text.size() && is_word(text[n + 1])))) {
    n++;
  }
  return n;
}

// Length of the number at the start of `text`, sign included.
size_t number_length(std::string_view text) {
  size_t n = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::string_view rest = text.substr(n);
  const std::string_view word = rest.substr(0, word_length(rest));
  if (word == "inf" || word == "nan") return n + word.size();
  const bool digits = !rest.empty() && is_digit(rest[0]);
  if (!digits && !(rest.size() > 1 && rest[0] == '.' && is_digit(rest[1]))) return 0;
  const bool hex = rest.size() > 1 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X');
  const std::string_view exponents = hex ? "pP" : "eE";
  for (; n < text.size(); n++) {
    const bool sign = text[n] == '-' || text[n] == '+';
    if (sign ? exponents.find(text[n - 1]) == std::string_view::npos
             : !is_word(text[n]) && text[n] != '.') {
      break;
    }
  }
  return n;
}

// Of digits that are a number out of f64's range: whether it is too large, not too small.
bool is_beyond(std::string_view digits, bool hex) {
  const size_t end = std::min(digits.find_first_of(hex ? "pP" : "eE"), digits.size());
  std::string_view exponent = digits.substr(std::min(end + 1, digits.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  int64_t power = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (read.ec == std::errc::result_out_of_range) return !exponent.starts_with('-');
  const auto mantissa = digits.substr(0, end);
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), end));
  const auto first = static_cast<int64_t>(mantissa.find_first_not_of("0."));
  // Out of range by far: which digit comes first decides.
  return (point - first) * (hex ? 4 : 1) > -power;
}

std::string escaped(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + quote;
}

template <class T>
std::string shortest(T value) {
  if (value != value) return "nan";
  char buffer[64];
  // Fixed notation of a large value would read as an integer beyond 64 bits.
  const bool large = std::abs(value) >= T(1e15) && std::isfinite(value);
  const auto end =
      large ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific)
            : std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end.ptr);
}

}  // namespace

Cursor::Cursor(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
}

void Cursor::skip() {
  for (; position_ < text_.size(); position_++) {
    const char c = text_[position_];
    if (c == '\n') {
      line_++;
      line_start_ = position_ + 1;
    } else if (c == '#') {
      while (position_ + 1 < text_.size() && text_[position_ + 1] != '\n') position_++;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

bool Cursor::at_end() {
  skip();
  return position_ == text_.size();
}

Location Cursor::location() {
  skip();
  constexpr size_t longest_shown = 400;
  std::string_view line = text_.substr(line_start_);
  line = line.substr(0, std::min(line.substr(0, longest_shown + 1).find('\n'), line.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  Location at;
  at.file = file_;
  at.line = line_;
  at.column = static_cast<int>(position_ - line_start_) + 1;
  if (line.size() <= longest_shown) at.source_line = std::string(line);
  return at;
}

bool Cursor::peek(std::string_view token) {
  skip();
  const std::string_view rest = text_.substr(position_);
  if (is_letter(token[0])) return rest.substr(0, word_length(rest)) == token;
  return rest.substr(0, token.size()) == token;
}

bool Cursor::accept(std::string_view token) {
  if (!peek(token)) return false;
  position_ += token.size();
  return true;
}

void Cursor::expect(std::string_view token) {
  if (!accept(token)) {
    fail(location(), fmt::format("expected '{}', got {}", token, next_token_text()));
  }
}

bool Cursor::at_identifier() {
  skip();
  return position_ < text_.size() && (is_letter(text_[position_]) || text_[position_] == '`');
}

bool Cursor::at_number() {
  skip();
  return number_length(text_.substr(position_)) > 0;
}

bool Cursor::at_string() { return peek("\""); }

std::string Cursor::identifier(std::string_view what) {
  if (!at_identifier()) {
    fail(location(), fmt::format("expected {}, got {}", what, next_token_text()));
  }
  if (text_[position_] == '`') return quoted('`', what);
  const size_t n = word_length(text_.substr(position_));
  position_ += n;
  return std::string(text_.substr(position_ - n, n));
}

std::string Cursor::string_literal(std::string_view what) {
  if (!at_string()) {
    fail(location(), fmt::format("expected {}, got {}", what, next_token_text()));
  }
  return quoted('"', what);
}

std::string Cursor::quoted(char quote, std::string_view what) {
  const Location start = location();
  std::string out;
  for (position_++; position_ < text_.size() && text_[position_] != '\n'; position_++) {
    const char c = text_[position_];
    if (c == quote) {
      position_++;
      return out;
    }
    if (c != '\\') {
      out += c;
      continue;
    }
    const char next = position_ + 1 < text_.size() ? text_[position_ + 1] : '\n';
    unsigned code = 0;
    const char* digits = text_.data() + position_ + 2;
    if (next == quote || next == '\\') {
      out += next;
    } else if (next == 'n') {
      out += '\n';
    } else if (next == 't') {
      out += '\t';
    } else if (next == 'x' && position_ + 4 <= text_.size() &&
               std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      out += static_cast<char>(code);
      position_ += 2;
    } else {
      fail(start,
           fmt::format("unknown escape in {}: \\\\ \\{} \\n \\t \\xNN are known", what, quote));
    }
    position_++;
  }
  fail(start, fmt::format("{} has no closing {}", what, quote));
}

Cursor::Number Cursor::number(std::string_view what, bool as_u64) {
  const Location at = location();
  const std::string_view rest = text_.substr(position_);
  const std::string_view token = rest.substr(0, number_length(rest));
  if (token.empty()) fail(at, fmt::format("expected {}, got {}", what, next_token_text()));
  position_ += token.size();
  const bool negative = token[0] == '-';
  const std::string_view body = token.substr(negative ? 1 : 0);
  const bool hex = body.starts_with("0x") || body.starts_with("0X");
  const bool word = body == "inf" || body == "nan";
  Number result{false, 0, 0};
  const char* end = token.data() + token.size();
  std::from_chars_result read;
  if (!word && body.find_first_of(hex ? ".pP" : ".eE") == std::string_view::npos) {
    result.is_integer = true;
    uint64_t magnitude = 0;
    read = std::from_chars(body.data() + (hex ? 2 : 0), end, magnitude, hex ? 16 : 10);
    const uint64_t most = as_u64 && !negative ? UINT64_MAX : (uint64_t{1} << 63) - !negative;
    if (read.ec == std::errc() && read.ptr == end && magnitude > most) {
      read.ec = std::errc::result_out_of_range;
    }
    result.integer = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
    result.real = negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  } else {
    const char* const begin = body.data() + (hex ? 2 : 0);
    read = std::from_chars(begin, end, result.real,
                           hex ? std::chars_format::hex : std::chars_format::general);
    // As a literal beyond f32's range is for f32: the nearest value, infinity or zero.
    if (read.ec == std::errc::result_out_of_range && read.ptr == end) {
      read.ec = std::errc();
      result.real = is_beyond({begin, end}, hex) ? HUGE_VAL : 0;
    }
    if (negative) result.real = -result.real;
  }
  if (read.ec == std::errc::result_out_of_range && read.ptr == end) {
    fail(at, fmt::format("integer {} does not fit in 64 bits", token));
  }
  if (read.ec != std::errc() || read.ptr != end) {
    fail(at, fmt::format("malformed number '{}'", token));
  }
  return result;
}

std::string Cursor::next_token_text() {
  if (at_end()) return "end of text";
  const std::string_view rest = text_.substr(position_);
  size_t n = std::max(word_length(rest), number_length(rest));
  if (rest[0] == '"' || rest[0] == '`') {
    n = std::min({rest.find(rest[0], 1), rest.find('\n'), size_t{40}, rest.size() - 1}) + 1;
    if (rest[n - 1] == '\n') n--;
  }
  if (n == 0) {
    // One character, with its UTF-8 continuation bytes.
    for (n = 1; n < rest.size() && (static_cast<unsigned char>(rest[n]) & 0xc0) == 0x80;) n++;
  }
  return fmt::format("'{}'", rest.substr(0, n));
}

void Cursor::fail(const Location& at, std::string message) { fail_input(at, std::move(message)); }

void Writer::line(std::string_view text) {
  if (!text.empty()) {
    out_.append(static_cast<size_t>(2 * depth_), ' ');
    out_ += text;
  }
  out_ += '\n';
}

void Writer::open(std::string_view text) {
  line(text);
  depth_++;
}

void Writer::close(std::string_view text) {
  INGOT_CHECK(depth_ > 0, "nothing is open");
  depth_--;
  line(text);
}

void Writer::raw(std::string_view text) { out_ += text; }

std::string number_text(double value) { return shortest(value); }
std::string number_text(float value) { return shortest(value); }

std::string counted(int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); i++) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string quoted_name(std::string_view name) {
  const bool word = !name.empty() && word_length(name) == name.size();
  if (word && name != "inf" && name != "nan") return std::string(name);
  return escaped(name, '`');
}

std::string quoted_string(std::string_view text) { return escaped(text, '"'); }

}  // namespace ingot
