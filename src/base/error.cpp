#include "base/error.h"

#include <algorithm>
#include <utility>

#include "base/clip.h"

namespace ingot {

namespace {

std::string_view kind_text(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return "error";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::internal:
      return "internal error";
  }
  return "error";
}

std::string place_text(const Location& at) {
  std::string text = at.file;
  if (at.line > 0) text += fmt::format(":{}", at.line);
  if (at.line > 0 && at.column > 0) text += fmt::format(":{}", at.column);
  if (!at.node.empty()) text += fmt::format("{}node '{}'", text.empty() ? "" : ": ", at.node);
  return text.empty() ? text : text + ": ";
}

// The bytes of a UTF-8 character at `at`; 0 where none begins there.
size_t character_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  const size_t count = first < 0x80   ? 1
                       : first < 0xc2 ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                                      : 4;
  if (first > 0xf4 || count == 0 || at + count > text.size()) return 0;
  for (size_t i = at + 1; i < at + count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return count;
}

// What a terminal would take for a command, or could not show, as \xNN; lines and tabs stay.
std::string printable(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t count = character_bytes(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const bool wide_control =
        count == 2 && byte == 0xc2 && static_cast<uint8_t>(text[at + 1]) < 0xa0;
    if (count == 0 || control || wide_control) {
      shown += fmt::format("\\x{:02x}", byte);
      ++at;
    } else {
      shown += text.substr(at, count);
      at += count;
    }
  }
  return shown;
}

// The source line and a caret under the column; tabs stay tabs, so that the caret stands right.
std::string caret_text(const Location& at) {
  if (at.source_line.empty() || at.column <= 0) return {};
  const ClippedLine shown = clipped_line(at.source_line, static_cast<size_t>(at.column));
  std::string padding;
  const size_t before = std::min(shown.column - 1, shown.text.size());
  for (const char c : printable(std::string_view(shown.text).substr(0, before))) {
    padding += c == '\t' ? '\t' : ' ';
  }
  padding.append(shown.column - 1 - before, ' ');
  return fmt::format("\n{}\n{}^", shown.text, padding);
}

}  // namespace

Error::Error(ErrorKind kind, std::string message, Location location, std::vector<std::string> notes)
    : kind_(kind),
      message_(std::move(message)),
      location_(std::move(location)),
      notes_(std::move(notes)),
      what_(rendered()) {}

std::string Error::rendered() const {
  std::string text = fmt::format("{}{}: {}{}", place_text(location_), kind_text(kind_), message_,
                                 caret_text(location_));
  for (const std::string& note : notes_) text += "\nnote: " + note;
  return printable(text);
}

Error Error::with_note(std::string note) const {
  std::vector<std::string> notes = notes_;
  notes.push_back(std::move(note));
  return Error(kind_, message_, location_, std::move(notes));
}

Error Error::at(Location location) const {
  const bool known = location_.line > 0 || !location_.node.empty();
  return known ? *this : Error(kind_, message_, std::move(location), notes_);
}

void fail_input(const Location& location, std::string message) {
  throw Error(ErrorKind::input, std::move(message), location);
}

void fail_unsupported(const Location& location, std::string message) {
  throw Error(ErrorKind::unsupported, std::move(message), location);
}

void fail_internal(std::string_view where, std::string message) {
  throw Error(ErrorKind::internal, fmt::format("{}: {}", where, message));
}

std::string in_one_line(const Error& error) {
  std::string text = error.message();
  for (const std::string& note : error.notes()) text += "; " + note;
  return text;
}

}  // namespace ingot
