#include "jit/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

extern char** environ;

namespace ingot {
namespace {

struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  explicit SpawnSettings(int output) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_adddup2(&files, output, 2);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

std::vector<char*> english_environment() {
  static char english[] = "LC_ALL=C";
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LC_ALL=", 7) != 0) variables.push_back(*variable);
  }
  variables.push_back(english);
  variables.push_back(nullptr);
  return variables;
}

std::string read_all(int descriptor) {
  std::string text;
  char block[4096];
  while (true) {
    const ssize_t count = read(descriptor, block, sizeof block);
    if (count > 0) {
      text.append(block, static_cast<size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    fail_input({}, fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::vector<char*> variables = english_environment();
  pid_t child = 0;
  int error = 0;
  {
    const SpawnSettings settings(ends[1]);
    error = posix_spawn(&child, arguments[0], &settings.files, &settings.attributes,
                        arguments.data(), variables.data());
  }
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    fail_input({}, fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
  }

  ProcessResult result{true, read_all(ends[0]), ""};
  close(ends[0]);
  int status = 0;
  pid_t waited = 0;
  do {
    waited = waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  // ECHILD: the caller's program ignores SIGCHLD and the status is gone; the output file decides.
  if (waited == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
    result.succeeded = false;
    result.ending = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                        : fmt::format("exit code {}", WEXITSTATUS(status));
  }
  return result;
}

}  // namespace ingot
