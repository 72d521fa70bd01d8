// Every tests/error/NAME.ingot is wrong in one way; NAME.expected is the whole message.
// INGOT_UPDATE_EXPECTED=1 writes what is said now.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "graph/graph.h"

namespace ingot {
namespace {

std::string message_of(const std::string& text, const std::string& file) {
  try {
    parse_graph(text, file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << file;
    return error.rendered() + "\n";
  }
  return "no error\n";
}

TEST(ErrorTexts, EveryMessageIsTheExpectedOne) {
  const std::filesystem::path folder = std::string(INGOT_SOURCE_DIR) + "/tests/error";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ingot") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  EXPECT_GE(files.size(), 40u);
  for (const auto& file : files) {
    // The bare name, so that messages do not depend on where the sources stand.
    const std::string message = message_of(read_file(file.string()), file.filename().string());
    auto expected = file;
    expected.replace_extension(".expected");
    if (std::getenv("INGOT_UPDATE_EXPECTED") != nullptr) write_file(expected.string(), message);
    EXPECT_EQ(message, read_file(expected.string())) << file;
  }
}

}  // namespace
}  // namespace ingot
