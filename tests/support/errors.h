// What a call throws.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace ingot::testing {

// The Error that `body` throws; the test fails where it throws none.
template <class Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorKind::internal, "none");
}

// The message of an error of this kind.
template <class Body>
std::string message_of(const Body& body, ErrorKind kind = ErrorKind::input) {
  const Error error = error_of(body);
  EXPECT_EQ(error.kind(), kind) << error.rendered();
  return error.message();
}

// The same with the place it speaks of.
template <class Body>
std::string rendered_error_of(const Body& body, ErrorKind kind = ErrorKind::input) {
  const Error error = error_of(body);
  EXPECT_EQ(error.kind(), kind) << error.rendered();
  return error.rendered();
}

}  // namespace ingot::testing
