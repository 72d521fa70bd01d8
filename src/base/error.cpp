#include "base/error.h"

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

// The source line and a caret under the column; tabs stay tabs, so that the caret stands right.
std::string caret_text(const Location& at) {
  if (at.source_line.empty() || at.column <= 0) return {};
  const ClippedLine shown = clipped_line(at.source_line, static_cast<size_t>(at.column));
  std::string padding;
  for (size_t i = 0; i + 1 < shown.column; i++) {
    padding += i < shown.text.size() && shown.text[i] == '\t' ? '\t' : ' ';
  }
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
  return text;
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
