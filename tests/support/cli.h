// The program as a user calls it, in a folder of its own for each test.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace ingot::testing {

namespace fs = std::filesystem;
using Json = nlohmann::json;

inline std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Result {
  int code;
  std::string out, err;
};

// A folder of its own for each test.
class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              ("ingot_cli_" + std::string(info->name()) + "_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    write("bias_gelu.ingot",
          "graph bias_gelu(x: bf16[B, 64], b: bf16[64]) {\n  t = add(x, b)\n  y = gelu(t)\n"
          "  return y\n}\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  // Runs in the test's folder. `before`: assignments of environment variables. Where no device is
  // named these tests mean the CPU, so a GPU of this machine is hidden.
  Result run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = "cd '" + folder_.string() + "' && CUDA_VISIBLE_DEVICES= " + before +
                                " '" + INGOT_CLI + "' " + arguments + " >out.txt 2>err.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(path("out.txt")),
            read(path("err.txt"))};
  }
  // stdout is one JSON object.
  Json json(const std::string& arguments) const {
    const Result result = run(arguments + " --json");
    EXPECT_EQ(result.code, 0) << result.err;
    Json parsed = Json::parse(result.out, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << result.out;
    return parsed;
  }
  void expect_error(const std::string& arguments, int code, const std::string& part) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << arguments << "\n" << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << arguments << "\n" << result.err;
    EXPECT_EQ(result.out, "") << arguments;
  }

  fs::path folder_;
};

}  // namespace ingot::testing
