// One error type for three audiences: the caller, the caller whose input is well formed but not
// supported, and us. Every stage throws ingot::Error and nothing else.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

// A place in the user's input. `file` may be "<text>"; `line` and `column` count from 1, 0 =
// unknown. `node` is the ONNX node's name where there is no text.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
  std::string source_line;  // the text of that line, for the caret
  std::string node;
};

enum class ErrorKind {
  input,        // the input, the call or the environment is wrong: exit code 2
  unsupported,  // well formed but unsupported: exit code 3
  internal,     // a fault of ingot: exit code 4, names the pass
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, Location location = {},
        std::vector<std::string> notes = {});

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const Location& location() const { return location_; }
  const std::vector<std::string>& notes() const { return notes_; }

  // "file:line:col: error: message", the source line, a caret, and the notes, a line each.
  std::string rendered() const;
  const char* what() const noexcept override { return what_.c_str(); }

  // The same error with one more note, or with a location if it had none.
  Error with_note(std::string note) const;
  Error at(Location location) const;

 private:
  ErrorKind kind_;
  std::string message_;
  Location location_;
  std::vector<std::string> notes_;
  std::string what_;
};

}  // namespace ingot
