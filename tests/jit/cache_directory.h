// A cache directory of its own for each test of a compiler.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"

namespace ingot::testing {

template <class Options>
class CacheDirectory : public ::testing::Test {
 protected:
  // Tests run side by side, in several processes.
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    directory_ =
        std::filesystem::temp_directory_path() / fmt::format("ingot-cache-{}-{}", name, getpid());
    std::filesystem::remove_all(directory_);
    options_.cache_dir = directory_.string();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::vector<std::filesystem::path> files(const std::string& ending) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().extension() == ending) found.push_back(entry.path());
    }
    return found;
  }

  std::filesystem::path directory_;
  Options options_;
};

}  // namespace ingot::testing
