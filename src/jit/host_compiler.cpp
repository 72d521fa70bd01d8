#include "jit/host_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/sha256.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/complaint.h"
#include "jit/process.h"

namespace ingot {
namespace {

bool is_program(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

// The path of a program, "" if there is none.
std::string locate(const std::string& program) {
  if (program.find('/') != std::string::npos) return is_program(program) ? program : "";
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const std::string candidate = folder + "/" + program;
    if (is_program(candidate)) return candidate;
  }
  return "";
}

constexpr std::string_view how_to_get =
    "install one (Debian and Ubuntu: apt-get install g++), or set CXX to a compiler";

// "ccache g++" is a command of two words; a path with blanks in it is one.
std::vector<std::string> stated_command(const std::string& text, std::string_view where) {
  std::vector<std::string> command =
      is_program(text) ? std::vector<std::string>{text} : split(text, ' ');
  const std::string path = command.empty() ? "" : locate(command[0]);
  if (path.empty()) {
    throw Error(ErrorKind::input,
                fmt::format("no C++ compiler: '{}' ({}) is not a program", text, where), {},
                {std::string(how_to_get)});
  }
  command[0] = path;
  return command;
}

std::vector<std::string> find_command(const JitOptions& options) {
  if (!options.compiler.empty()) return stated_command(options.compiler, "as asked for");
  const char* variable = std::getenv("CXX");
  if (variable != nullptr && *variable != '\0') return stated_command(variable, "from CXX");
  for (const char* name : {"g++", "clang++", "c++"}) {
    const std::string path = locate(name);
    if (!path.empty()) return {path};
  }
  const char* path = std::getenv("PATH");
  throw Error(ErrorKind::input, "no C++ compiler: kernels are compiled with g++ or clang++", {},
              {fmt::format("looked for g++, clang++ and c++ in PATH={}", path ? path : ""),
               std::string(how_to_get)});
}

std::string ask_version(const std::vector<std::string>& command) {
  std::vector<std::string> question = command;
  question.emplace_back("--version");
  const ProcessResult answer = run_process(question);
  const std::string first = answer.output.substr(0, answer.output.find('\n'));
  if (!answer.succeeded || first.empty()) {
    throw Error(ErrorKind::input,
                fmt::format("'{} --version' failed: {}", join(command, " "), answer.ending), {},
                {first, std::string(how_to_get)});
  }
  return first;
}

// What tells one compiler from another without running it; "" for a wrapper, which hides it.
std::string identity(const std::vector<std::string>& command) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(command[0], error).string();
  struct stat status {};
  if (error || command.size() > 1 || path.find("ccache") != std::string::npos ||
      stat(path.c_str(), &status) != 0) {
    return "";
  }
  return fmt::format("{} {} {}.{:09}", path, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

std::string version_of(const std::vector<std::string>& command, const std::string& cache_dir) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::string id = identity(command);
  const std::lock_guard lock(mutex);
  std::string& version = known[id.empty() ? join(command, " ") : id];
  if (!version.empty()) return version;
  if (id.empty()) return version = ask_version(command);

  const std::string file =
      fmt::format("{}/compiler-{}.txt", cache_dir, sha256_hex(id).substr(0, 16));
  const std::string recorded = read_small_file(file);
  const size_t line_end = recorded.find('\n');
  if (line_end != std::string::npos && recorded.back() == '\n' &&
      recorded.compare(0, line_end, id) == 0 && recorded.size() > line_end + 2) {
    return version = recorded.substr(line_end + 1, recorded.size() - line_end - 2);
  }
  version = ask_version(command);
  // Only a saving: a cache that cannot be written is reported where an object has to be stored.
  try_replace_file(file, id + "\n" + version + "\n");
  return version;
}

// Lines "PATH:LINE:COLUMN: error: …" about our file, and what the linker says.
std::vector<Complaint> complaints(const std::string& output, const std::string& source_path) {
  std::vector<Complaint> found;
  for (const std::string& line : split(output, '\n')) {
    const size_t at = line.find("error:");
    if (at == std::string::npos) continue;
    long number = 0;
    if (line.compare(0, source_path.size() + 1, source_path + ":") == 0) {
      std::from_chars(line.data() + source_path.size() + 1, line.data() + line.size(), number);
    }
    found.push_back({number, line.substr(at)});
  }
  return found;
}

}  // namespace

HostCompiler find_compiler(const JitOptions& options, const std::string& cache_dir) {
  HostCompiler compiler;
  compiler.command = find_command(options);
  compiler.version = version_of(compiler.command, cache_dir);
  return compiler;
}

const std::vector<std::string>& compile_flags() {
  // The strict dialect, because GNU's defines macros like `linux` that a user's name may meet. -O1:
  // the text is already in vectors and statements already interleaved (cpu-measured: 3 ms a
  // kernel). No contraction and no trapping: the bits are those of the formulas, at every vector
  // width.
  static const std::vector<std::string> flags = {"-x",
                                                 "c++",
                                                 "-std=c++17",
                                                 "-O1",
                                                 "-march=native",
                                                 "-ffp-contract=off",
                                                 "-fno-math-errno",
                                                 "-fno-trapping-math",
                                                 "-fwrapv",
                                                 "-fno-strict-aliasing",
                                                 "-fno-exceptions",
                                                 "-fno-rtti",
                                                 "-fno-asynchronous-unwind-tables",
                                                 "-fno-stack-protector",
                                                 "-fPIC",
                                                 "-shared",
                                                 "-nostdlib",
                                                 "-w"};
  return flags;
}

void compile_file(const HostCompiler& compiler, const std::string& source_path,
                  const std::string& object_path, const Unit& unit) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), compile_flags().begin(), compile_flags().end());
  const std::string shown = join(command, " ");
  command.insert(command.end(), {source_path, "-o", object_path});
  const ProcessResult result = run_process(command);
  if (result.succeeded && access(object_path.c_str(), R_OK) == 0) return;

  std::string message = fmt::format("{}: {} failed ({})", unit.file.empty() ? unit.name : unit.file,
                                    compiler.command[0],
                                    result.ending.empty() ? "it wrote no object" : result.ending);
  const std::vector<Complaint> all = complaints(result.output, source_path);
  message += complaint_text(all, unit.source, result.output);
  // A compiler that names no line of our source has no quarrel with it: it was ended, has no room
  // to write, does not know a flag.
  const bool ours = unit.file.empty() && std::ranges::any_of(all, [](const Complaint& complaint) {
                      return complaint.line > 0;
                    });
  throw Error(ours ? ErrorKind::internal : ErrorKind::input, message, {}, {"command: " + shown});
}

}  // namespace ingot
