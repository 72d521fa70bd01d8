// Reading and writing the three IRs' texts: a Cursor over source text with locations and carets,
// a Writer with indentation, and exact number printing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ingot {

// A lexer that the text parsers share. Skips blanks and # comments between tokens.
class Cursor {
 public:
  Cursor(std::string file, std::string_view text);

  bool at_end();
  Location location();                // of the next token
  bool peek(std::string_view token);  // punctuation or a whole word
  bool accept(std::string_view token);
  void expect(std::string_view token);  // error: expected 'token', got 'x'
  bool at_identifier();
  bool at_number();
  bool at_string();
  std::string identifier(std::string_view what);  // letters, digits, _, also quoted `any name`
  std::string string_literal(std::string_view what);
  struct Number {
    bool is_integer;
    int64_t integer;
    double real;  // also inf, nan, -inf; hexadecimal floats are exact
  };
  // With `as_u64` up to 2^64 - 1, which `integer` then holds as its bits.
  Number number(std::string_view what, bool as_u64 = false);
  std::string next_token_text();  // for messages
  [[noreturn]] void fail(const Location& at, std::string message);

 private:
  void skip();
  std::string quoted(char quote, std::string_view what);
  std::string file_;
  std::string_view text_;
  size_t position_ = 0;
  int line_ = 1;
  size_t line_start_ = 0;  // lines are counted on the way: a location costs no scan
};

class Writer {
 public:
  void line(std::string_view text);  // indented; an empty line stays empty
  void open(std::string_view text);  // a line that ends in "{", then deeper
  void close(std::string_view text = "}");
  void raw(std::string_view text);
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  int depth_ = 0;
};

// Shortest text that reads back to the same double or float: "0.5", "1e-05", "inf", "nan", "-0".
std::string number_text(double value);
std::string number_text(float value);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// "1 kernel", "2 kernels".
std::string counted(int64_t count, std::string_view one);
// A name as an identifier, or quoted in backticks if it is none.
std::string quoted_name(std::string_view name);
// In double quotes, with escapes that Cursor::string_literal reads.
std::string quoted_string(std::string_view text);

// Reads a whole file; Error{input} with the reason if it cannot.
std::string read_file(const std::string& path);
// Writes to a temporary beside `path`, fsyncs and renames: never half a file.
void write_file(const std::string& path, std::string_view contents);
void write_file_parts(const std::string& path, const std::vector<std::string_view>& parts);

}  // namespace ingot
