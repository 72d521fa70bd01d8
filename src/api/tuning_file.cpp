#include "api/tuning_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "jit/cache.h"
#include "jit/jit.h"

namespace ingot {
namespace {

// Held by whoever reads the database to write it. The file beside it stays: a lock on one that is
// renamed or removed would keep nobody out.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    int status = fd_ < 0 ? -1 : flock(fd_, LOCK_EX);
    while (fd_ >= 0 && status != 0 && errno == EINTR) status = flock(fd_, LOCK_EX);
    if (status == 0) return;
    const std::string reason = std::strerror(errno);
    if (fd_ >= 0) close(fd_);
    throw Error(ErrorKind::input, fmt::format("cannot lock '{}': {}", path, reason));
  }
  ~FileLock() { close(fd_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

// Letters and digits, other characters as one '-'.
std::string word_of(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      word += c;
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  while (!word.empty() && word.back() == '-') word.pop_back();
  return word.empty() ? "unknown" : word;
}

}  // namespace

std::string tuning_path(const Options& options) {
  std::string path = options.tuning_file;
  const char* variable = std::getenv("INGOT_TUNING");
  if (path.empty() && variable != nullptr) path = variable;
  if (path == "none") return "";
  if (!path.empty()) return path;
  JitOptions jit;
  jit.cache_dir = options.cache_dir;
  return cache_directory(jit) + "/tuning.txt";
}

std::string tuning_device(const DeviceModel& device, int threads) {
  return device.gpu ? word_of(device.board)
                    : fmt::format("{}/{}", word_of(cpu_description()), threads);
}

TuningDatabase load_tuning(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored)) return {};
  std::vector<std::string> warnings;
  TuningDatabase database = TuningDatabase::parse(read_file(path), path, &warnings);
  for (const std::string& warning : warnings) warn(warning);
  return database;
}

void save_tuning(const std::string& path, const std::vector<TuningEntry>& entries) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const FileLock lock(path + ".lock");
  TuningDatabase database = load_tuning(path);
  for (const TuningEntry& entry : entries) database.put(entry);
  write_file(path, database.print());
}

}  // namespace ingot
