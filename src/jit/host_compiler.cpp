#include "jit/host_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/text.h"
#include "jit/cache.h"
#include "jit/process.h"
#include "jit/sha256.h"

namespace ingot {
namespace {

bool is_program(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
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

struct Complaint {
  long line;
  std::string text;  // from "error:" on
};

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

std::string numbered_lines(const std::string& source, long around) {
  std::string text;
  long number = 1;
  for (size_t begin = 0; begin < source.size(); ++number) {
    const size_t end = std::min(source.find('\n', begin), source.size());
    if (number >= around - 3 && number <= around + 3) {
      text += fmt::format("\n{} {:5} | {}", number == around ? '>' : ' ', number,
                          source.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return text;
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
  for (size_t i = 0; i < all.size() && i < 3; ++i) {
    message += fmt::format("\nline {}: {}", all[i].line, all[i].text);
    if (all[i].line > 0) message += numbered_lines(unit.source, all[i].line);
  }
  if (all.size() > 3) message += fmt::format("\nand {} more errors", all.size() - 3);
  if (all.empty() && !result.output.empty()) message += "\n" + result.output.substr(0, 2000);
  // A compiler that names no line of our source has no quarrel with it: it was ended, has no room
  // to write, does not know a flag.
  const bool ours = unit.file.empty() && std::ranges::any_of(all, [](const Complaint& complaint) {
                      return complaint.line > 0;
                    });
  throw Error(ours ? ErrorKind::internal : ErrorKind::input, message, {}, {"command: " + shown});
}

}  // namespace ingot
