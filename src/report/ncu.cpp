#include "report/ncu.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

constexpr std::string_view stall_begin = "smsp__average_warps_issue_stalled_";
constexpr std::string_view stall_end = "_per_issue_active.ratio";
constexpr const char* stall_reasons[] = {
    "barrier",         "branch_resolving",   "drain",    "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar",   "mio_throttle",
    "no_instruction",  "short_scoreboard",   "sleeping", "wait"};
constexpr const char* read_metric = "dram__bytes_read.sum";
constexpr const char* write_metric = "dram__bytes_write.sum";
constexpr const char* local_load_metric = "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum";
constexpr const char* local_store_metric = "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum";
constexpr const char* occupancy_metric = "sm__warps_active.avg.pct_of_peak_sustained_active";

std::string metric_list() {
  std::vector<std::string> names = {read_metric, write_metric, local_load_metric,
                                    local_store_metric, occupancy_metric};
  for (const char* reason : stall_reasons) {
    names.push_back(fmt::format("{}{}{}", stall_begin, reason, stall_end));
  }
  return join(names, ",");
}

// Fields in double quotes, which may hold commas; "" is a quote.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields = {""};
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// "1,234,567.5"; nullopt for "n/a" and other words.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

void put(KernelCounters& kernel, const std::string& metric, double value) {
  if (metric == read_metric) kernel.read_bytes = value;
  if (metric == write_metric) kernel.written_bytes = value;
  if (metric == local_load_metric || metric == local_store_metric) kernel.local_bytes += value;
  if (metric == occupancy_metric) kernel.occupancy = value / 100;
  if (metric.starts_with(stall_begin) && metric.ends_with(stall_end)) {
    kernel.stalls.emplace_back(
        metric.substr(stall_begin.size(), metric.size() - stall_begin.size() - stall_end.size()),
        value);
  }
}

// Nothing where PATH has none.
std::string path_of(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string file = fmt::format("{}/{}", folders.substr(0, end), program);
    if (end > 0 && access(file.c_str(), X_OK) == 0) return file;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return "";
}

// A file for what ncu says, removed with this.
class LogFile {
 public:
  LogFile() : path_(std::filesystem::temp_directory_path() / "ingot-ncu-XXXXXX") {
    const int file = mkstemp(path_.data());
    if (file < 0) {
      fail_input({}, fmt::format("cannot make a file for ncu: {}", std::strerror(errno)));
    }
    close(file);
  }
  ~LogFile() { unlink(path_.c_str()); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The exit code, its own output thrown away; -1: it did not start or was ended.
int run_silently(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What ncu complains of in its log, in one line.
std::string complaint_of(std::string_view log, int code) {
  if (log.find("ERR_NVGPUCTRPERM") != log.npos) {
    return "the driver lets nobody but an administrator read the GPU's counters "
           "(ERR_NVGPUCTRPERM)";
  }
  for (const std::string_view line : lines_of(log)) {
    for (const std::string_view mark : {"==ERROR== ", "==WARNING== "}) {
      if (line.starts_with(mark)) return fmt::format("ncu: {}", line.substr(mark.size()));
    }
  }
  return fmt::format("ncu ended with exit code {} and counted no kernel", code);
}

}  // namespace

std::vector<KernelCounters> parse_ncu_csv(const std::string& text) {
  std::vector<KernelCounters> kernels;
  std::map<std::string, size_t> column;
  std::string last_id;
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with('"')) continue;  // "==PROF== …"
    const std::vector<std::string> fields = fields_of(line);
    if (fields[0] == "ID") {
      column.clear();
      for (size_t i = 0; i < fields.size(); ++i) column[fields[i]] = i;
      continue;
    }
    const auto field = [&](const char* name) -> std::string {
      const auto found = column.find(name);
      return found == column.end() || found->second >= fields.size() ? "" : fields[found->second];
    };
    const std::optional<double> value = number_of(field("Metric Value"));
    if (!value) continue;
    if (kernels.empty() || field("ID") != last_id) {
      kernels.emplace_back().kernel = field("Kernel Name");
      last_id = field("ID");
    }
    put(kernels.back(), field("Metric Name"), *value);
  }
  for (KernelCounters& kernel : kernels) {
    std::ranges::stable_sort(kernel.stalls, std::ranges::greater{},
                             &std::pair<std::string, double>::second);
  }
  return kernels;
}

NcuRun run_under_ncu(const std::vector<std::string>& command) {
  NcuRun result;
  const std::string ncu = path_of("ncu");
  if (ncu.empty()) {
    result.problem = "ncu (Nsight Compute), which reads a GPU's counters, is not on PATH";
    return result;
  }
  const LogFile log;
  std::vector<std::string> words = {ncu,         "--csv",       "--print-units", "base",
                                    "--metrics", metric_list(), "--log-file",    log.path()};
  words.insert(words.end(), command.begin(), command.end());
  const int code = run_silently(words);
  const std::string text = read_file(log.path());
  result.kernels = parse_ncu_csv(text);
  if (result.kernels.empty()) result.problem = complaint_of(text, code);
  return result;
}

}  // namespace ingot
