#include "jit/jit.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "cache_directory.h"
#include "support/errors.h"

namespace fs = std::filesystem;

namespace ingot::testing {
namespace {

class Jit : public CacheDirectory<JitOptions> {
 protected:
  // A unit that stores `value` through its first buffer. Text differs from test to test, so that
  // nothing is found in this process's memory by accident.
  Unit unit(int value) const {
    return {"store", fmt::format("// {}\nextern \"C\" void store(const void* call) {{\n"
                                 "  **(int**)*(void* const* const*)call = {};\n}}\n",
                                 directory_.string(), value)};
  }
  static int stored(const Library& library) {
    int value = -1;
    void* const buffers[] = {&value};
    KernelCall call{};
    call.buffers = buffers;
    library.entry("store")(&call);
    return value;
  }
  // Compiles in a child process, where nothing is loaded yet; its exit code.
  template <class Body>
  static int in_child(const Body& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(Jit, CompilesColdAndFindsItWarmInMemoryAndOnDisk) {
  const std::vector<Library> cold = compile({unit(7)}, options_);
  ASSERT_EQ(cold.size(), 1U);
  EXPECT_FALSE(cold[0].from_cache);
  EXPECT_GT(cold[0].compile_ms, 0);
  EXPECT_EQ(stored(cold[0]), 7);
  EXPECT_TRUE(compile({unit(7)}, options_)[0].from_cache);
  EXPECT_EQ(files(".so").size(), 1U);
  EXPECT_EQ(files(".cpp").size(), 1U);
  EXPECT_EQ(files(".json").size(), 1U);
  EXPECT_EQ(fs::path(cold[0].path), files(".so")[0]);
}

TEST_F(Jit, AWarmStartInAnotherProcessTakesNoCompiler) {
  ASSERT_EQ(in_child([&] { return !compile({unit(8)}, options_)[0].from_cache; }), 0);
  EXPECT_EQ(in_child([&] {
              const auto start = std::chrono::steady_clock::now();
              const std::vector<Library> warm = compile({unit(8)}, options_);
              const std::chrono::duration<double, std::milli> ms =
                  std::chrono::steady_clock::now() - start;
              std::printf("warm: %.2f ms\n", ms.count());
              std::fflush(stdout);
              return warm[0].from_cache && stored(warm[0]) == 8 && ms.count() < 50;
            }),
            0);
}

TEST_F(Jit, CompilesManyUnitsAtOnceInOrderAndEqualOnesOnce) {
  std::vector<Unit> units;
  for (int i = 0; i < 5; ++i) units.push_back(unit(i % 4));
  const std::vector<Library> libraries = compile(units, options_);
  ASSERT_EQ(libraries.size(), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(stored(libraries[static_cast<size_t>(i)]), i % 4);
  EXPECT_EQ(files(".so").size(), 4U);
}

TEST_F(Jit, RebuildsADamagedEntryWithAWarning) {
  ASSERT_EQ(in_child([&] { return stored(compile({unit(9)}, options_)[0]) == 9; }), 0);
  const fs::path object = files(".so").at(0);
  for (const bool truncated : {false, true}) {
    if (truncated) {
      fs::resize_file(object, 100);
    } else {
      std::fstream file(object, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<long>(fs::file_size(object) / 2));
      file.put('\x5a').put('\xa5');
    }
    EXPECT_EQ(in_child([&] {
                ::testing::internal::CaptureStderr();
                const std::vector<Library> rebuilt = compile({unit(9)}, options_);
                const std::string said = ::testing::internal::GetCapturedStderr();
                return !rebuilt[0].from_cache && stored(rebuilt[0]) == 9 &&
                       said.find("rebuilding damaged cache entry") != std::string::npos;
              }),
              0);
    EXPECT_EQ(in_child([&] { return compile({unit(9)}, options_)[0].from_cache; }), 0);
  }
}

// The key holds source, flags, compiler and the processor's features: an object that is whole but
// was made for another key is not loaded.
TEST_F(Jit, AnObjectOfAnotherKeyIsRebuilt) {
  const auto both = [&] {
    const std::vector<Library> made = compile({unit(1), unit(2)}, options_);
    return stored(made[0]) == 1 && stored(made[1]) == 2;
  };
  ASSERT_EQ(in_child(both), 0);
  const std::vector<fs::path> objects = files(".so");
  ASSERT_EQ(objects.size(), 2U);
  fs::copy_file(objects[0], objects[1], fs::copy_options::overwrite_existing);
  EXPECT_EQ(in_child(both), 0);
}

TEST_F(Jit, ManyProcessesShareOneDirectory) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      bool right = true;
      for (int value = 0; value < 3; ++value) {
        right = right && stored(compile({unit(value)}, options_)[0]) == value;
      }
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(cache_verify(options_).damaged, 0);
  EXPECT_EQ(cache_stats(options_).entries, 3);
  EXPECT_EQ(files(".cpp").size(), 3U);  // and no temporary is left
}

TEST_F(Jit, SaysWhyTheCacheCannotBeWritten) {
  std::ofstream(directory_) << "a file, not a directory";
  const Error error = error_of([&] { compile({unit(1)}, options_); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_EQ(error.message(),
            fmt::format("cache directory: cannot write {}: Not a directory", directory_.string()));
}

TEST_F(Jit, SaysWhatItLookedForWhereThereIsNoCompiler) {
  options_.compiler = "no-such-compiler";
  const Error stated = error_of([&] { compile({unit(1)}, options_); });
  EXPECT_EQ(stated.kind(), ErrorKind::input);
  EXPECT_EQ(stated.message(),
            "no C++ compiler: 'no-such-compiler' (as asked for) is not a program");
  options_.compiler = "";
  EXPECT_EQ(in_child([&] {
              unsetenv("CXX");
              setenv("PATH", "/nowhere", 1);
              const Error error = error_of([&] { compile({unit(1)}, options_); });
              return error.kind() == ErrorKind::input &&
                     error.rendered().find("looked for g++, clang++ and c++ in PATH=/nowhere") !=
                         std::string::npos &&
                     error.rendered().find("apt-get install g++") != std::string::npos;
            }),
            0);
}

TEST_F(Jit, ShowsTheSourceLinesAroundACompilersError) {
  const Unit wrong{"add_gelu",
                   "int one;\nint two;\nextern \"C\" void f() { three = 3; }\nint four;\n"};
  const Error error = error_of([&] { compile({wrong}, options_); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  const std::string& message = error.message();
  EXPECT_NE(message.find("add_gelu: "), std::string::npos) << message;
  EXPECT_NE(message.find("line 3: error: "), std::string::npos) << message;
  EXPECT_NE(message.find("      2 | int two;\n>     3 | extern \"C\" void f() { three = 3; }\n"
                         "      4 | int four;"),
            std::string::npos)
      << message;
  EXPECT_TRUE(files(".so").empty());
  EXPECT_TRUE(files(".cpp").empty());
}

TEST_F(Jit, FaultsOfAUsersSourceAreFaultsOfTheInput) {
  const Unit wrong{"add_edited", "void f() { three = 3; }\n", "mine.cpp"};
  Error error = error_of([&] { compile({wrong}, options_); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(error.message().find("mine.cpp: "), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("line 1: error: "), std::string::npos) << error.message();
  const Library library = compile({{"add_edited", "int one;\n", "mine.cpp"}}, options_)[0];
  error = error_of([&] { library.entry("absent"); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_EQ(error.message(), "mine.cpp has no function 'absent'");
}

TEST_F(Jit, ACompilerThatFailsWithoutAWordOnTheSourceIsNoFaultOfOurs) {
  options_.compiler = "/bin/echo";  // knows --version, writes no object
  const Error error = error_of([&] { compile({unit(1)}, options_); });
  EXPECT_EQ(error.kind(), ErrorKind::input);
  EXPECT_NE(error.message().find("it wrote no object"), std::string::npos) << error.message();
}

TEST_F(Jit, NamesAMissingSymbol) {
  const Library library = compile({unit(3)}, options_)[0];
  const Error error = error_of([&] { library.entry("absent"); });
  EXPECT_EQ(error.kind(), ErrorKind::internal);
  EXPECT_NE(error.message().find("has no function 'absent'"), std::string::npos);
}

TEST_F(Jit, CountsVerifiesAndClearsOnlyItsOwnFiles) {
  compile({unit(1), unit(2)}, options_);
  std::ofstream(directory_ / "letter.txt") << "mine";
  EXPECT_EQ(cache_stats(options_).entries, 2);
  EXPECT_GT(cache_stats(options_).bytes, 1000);
  fs::resize_file(files(".so").at(0), 50);
  const CacheStats verified = cache_verify(options_);
  EXPECT_EQ(verified.damaged, 1);
  EXPECT_EQ(verified.entries, 1);
  EXPECT_EQ(cache_clear(options_).entries, 1);
  EXPECT_EQ(cache_stats(options_).entries, 0);
  EXPECT_EQ(cache_stats(options_).bytes, 0);
  EXPECT_TRUE(fs::exists(directory_ / "letter.txt"));
}

TEST_F(Jit, ClearLeavesFilesThatOnlyLookLikeItsOwn) {
  compile({unit(1)}, options_);
  for (const char* name : {"a-0123456789abcdef.cpp", "a-0123456789abcdef.so", ".ingot-notes"}) {
    std::ofstream(directory_ / name) << "mine";
  }
  EXPECT_EQ(cache_stats(options_).entries, 1);
  EXPECT_EQ(cache_verify(options_).damaged, 0);
  EXPECT_EQ(cache_clear(options_).entries, 1);
  for (const char* name : {"a-0123456789abcdef.cpp", "a-0123456789abcdef.so", ".ingot-notes"}) {
    EXPECT_TRUE(fs::exists(directory_ / name)) << name;
  }
}

TEST_F(Jit, AFolderInAnEntrysPlaceIsDamage) {
  ASSERT_EQ(in_child([&] { return stored(compile({unit(4)}, options_)[0]) == 4; }), 0);
  const fs::path object = files(".so").at(0);
  fs::remove(object);
  fs::create_directory(object);
  EXPECT_EQ(cache_stats(options_).damaged, 1);
  EXPECT_EQ(in_child([&] { return stored(compile({unit(4)}, options_)[0]) == 4; }), 0);
  EXPECT_TRUE(fs::is_regular_file(object));
  fs::remove(object);
  fs::create_directory(object);
  EXPECT_EQ(cache_verify(options_).damaged, 1);
  EXPECT_FALSE(fs::exists(object));
  ASSERT_EQ(in_child([&] { return stored(compile({unit(4)}, options_)[0]) == 4; }), 0);
  fs::remove(object);
  fs::create_directories(object / "mine");
  const Error error = error_of([&] { cache_clear(options_); });
  EXPECT_NE(error.rendered().find("remove it by hand"), std::string::npos) << error.rendered();
}

TEST_F(Jit, ARecordThatIsOverwrittenIsDamage) {
  compile({unit(6)}, options_);
  std::ofstream(files(".json").at(0)) << "garbage";
  EXPECT_EQ(cache_verify(options_).damaged, 1);
  EXPECT_EQ(cache_stats(options_).entries, 0);
}

// Of a process that is gone; but not at once, since it may be another machine's.
TEST_F(Jit, WhatEndedProcessesLeftIsRemoved) {
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  waitpid(ended, nullptr, 0);
  fs::create_directories(directory_);
  const auto left = [&](pid_t process, int number, std::chrono::seconds age) {
    const fs::path path = directory_ / fmt::format(".ingot-{}-{}.cpp", process, number);
    std::ofstream(path) << "part";
    fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    return path;
  };
  using std::chrono::seconds;
  const fs::path young = left(ended, 1, seconds(5)), running = left(getpid(), 900, seconds(90));
  const fs::path old = left(ended, 2, seconds(90)), reused = left(getpid(), 901, seconds(4000));
  compile({unit(1)}, options_);
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(running));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(reused));
  left(ended, 2, seconds(90));
  cache_stats(options_);
  EXPECT_FALSE(fs::exists(old));
}

TEST_F(Jit, RemembersTheCompilersVersion) {
  const std::string version = compiler_version(options_);
  EXPECT_NE(version.find_first_of("0123456789"), std::string::npos);
  compile({unit(1)}, options_);
  EXPECT_FALSE(cpu_description().empty());
}

TEST_F(Jit, ClangCompilesToo) {
  options_.compiler = "clang++";
  if (in_child([&] { return !compiler_version(options_).empty(); }) != 0) {
    GTEST_SKIP() << "no clang++";
  }
  EXPECT_EQ(stored(compile({unit(5)}, options_)[0]), 5);
}

}  // namespace
}  // namespace ingot::testing
