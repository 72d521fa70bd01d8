// The public Error, the short ways to throw it, and checks of our own invariants.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <ingot/error.h>

namespace ingot {

[[noreturn]] void fail_input(const Location& location, std::string message);
[[noreturn]] void fail_unsupported(const Location& location, std::string message);
[[noreturn]] void fail_internal(std::string_view where, std::string message);

std::string in_one_line(const Error& error);  // message and notes

}  // namespace ingot

// An invariant of ours; stays on in release. Prints the condition and where it stands.
#define INGOT_CHECK(condition, ...)                                                        \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      ::ingot::fail_internal(fmt::format("{}:{}", __FILE_NAME__, __LINE__),                \
                             fmt::format("{}: {}", #condition, fmt::format(__VA_ARGS__))); \
    }                                                                                      \
  } while (false)
