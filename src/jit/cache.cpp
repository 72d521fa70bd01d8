#include "jit/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/sha256.h"

namespace fs = std::filesystem;

namespace ingot {
namespace {

// "\ningot KEY CHECKSUM\n"
constexpr std::string_view seal_mark = "\ningot ";
constexpr size_t digest_digits = 64;
constexpr size_t seal_bytes = seal_mark.size() + digest_digits + 1 + digest_digits + 1;

std::string seal(const std::string& key, std::string_view object) {
  return fmt::format("{}{} {}\n", seal_mark, key, sha256_hex(object));
}

// A file descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags)
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool is_open() const { return descriptor_ >= 0; }
  bool write_all(std::string_view contents) {
    while (!contents.empty()) {
      const ssize_t count = write(descriptor_, contents.data(), contents.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      contents.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  bool sync() { return fsync(descriptor_) == 0 || errno == EINVAL || errno == EROFS; }
  std::optional<std::string> read_all() {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    std::string contents(static_cast<size_t>(status.st_size), '\0');
    size_t filled = 0;
    while (filled < contents.size()) {
      const ssize_t count = read(descriptor_, contents.data() + filled, contents.size() - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      filled += static_cast<size_t>(count);
    }
    contents.resize(filled);
    return contents;
  }

 private:
  int descriptor_;
};

std::optional<std::string> contents_of(const std::string& path) {
  File file(path, O_RDONLY);
  if (!file.is_open()) return std::nullopt;
  return file.read_all();
}

[[noreturn]] void fail_write(const std::string& path, int error) {
  throw Error(ErrorKind::input,
              fmt::format("cache directory: cannot write {}: {}", path, std::strerror(error)), {},
              {"choose another one with --cache DIR or INGOT_CACHE_DIR"});
}

std::string file_name_of(const std::string& name) {
  std::string text;
  for (const char c : name.substr(0, 60)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
    text += kept ? c : '_';
  }
  return text.empty() ? "kernels" : text;
}

// Only files with our names are ever counted or removed: the directory may be anybody's.
enum class FileRole { foreign, object, beside, temporary };
FileRole role_of(const std::string& name) {
  if (name.starts_with(".ingot-")) return FileRole::temporary;
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot < 17 || name[dot - 17] != '-') return FileRole::foreign;
  for (size_t i = dot - 16; i < dot; ++i) {
    if (std::strchr("0123456789abcdef", name[i]) == nullptr) return FileRole::foreign;
  }
  const std::string ending = name.substr(dot);
  if (ending == ".so" || ending == ".cubin") return FileRole::object;
  if (ending == ".cpp" || ending == ".cu" || ending == ".json") return FileRole::beside;
  return ending == ".txt" && name.starts_with("compiler-") ? FileRole::beside : FileRole::foreign;
}

struct CacheFile {
  std::string path;
  FileRole role;
  int64_t bytes;
};

std::vector<CacheFile> list_files(const std::string& directory) {
  std::vector<CacheFile> files;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const FileRole role = role_of(at->path().filename().string());
    struct stat status {};
    if (role == FileRole::foreign || stat(at->path().c_str(), &status) != 0) continue;
    files.push_back({at->path().string(), role, status.st_size});
  }
  return files;
}

void remove_entry(const std::string& object_path) {
  const std::string stem = object_path.substr(0, object_path.rfind('.'));
  const bool cubin = object_path.ends_with(".cubin");
  for (const std::string& path : {object_path, stem + (cubin ? ".cu" : ".cpp"), stem + ".json"}) {
    unlink(path.c_str());
  }
}

bool is_stale(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > 3600;
}

}  // namespace

std::string cache_directory(const JitOptions& options) {
  std::string chosen = options.cache_dir;
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (chosen.empty()) chosen = variable("INGOT_CACHE_DIR");
  if (chosen.empty() && !variable("XDG_CACHE_HOME").empty()) {
    chosen = variable("XDG_CACHE_HOME") + "/ingot";
  }
  if (chosen.empty() && !variable("HOME").empty()) chosen = variable("HOME") + "/.cache/ingot";
  if (chosen.empty()) {
    fail_input({},
               "no cache directory: none of INGOT_CACHE_DIR, XDG_CACHE_HOME and HOME is set; give "
               "one with --cache DIR");
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(chosen, error);
  return error ? chosen : absolute.lexically_normal().string();
}

EntryPaths entry_paths(const std::string& directory, const std::string& name,
                       const std::string& key, EntryKind kind) {
  const std::string stem =
      fmt::format("{}/{}-{}", directory, file_name_of(name), key.substr(0, 16));
  const bool cubin = kind == EntryKind::cubin;
  return {stem + (cubin ? ".cubin" : ".so"), stem + (cubin ? ".cu" : ".cpp"), stem + ".json"};
}

EntryState check_entry(const std::string& object_path, const std::string& key,
                       std::string* object) {
  const std::optional<std::string> contents = contents_of(object_path);
  if (!contents) return EntryState::absent;
  if (contents->size() < seal_bytes) return EntryState::damaged;
  const std::string_view whole = *contents;
  const std::string_view published = whole.substr(0, whole.size() - seal_bytes);
  const std::string_view found = whole.substr(published.size());
  const std::string found_key(found.substr(seal_mark.size(), digest_digits));
  if (!key.empty() && found_key != key) return EntryState::damaged;
  if (found != seal(found_key, published)) return EntryState::damaged;
  if (object != nullptr) *object = published;
  return EntryState::intact;
}

void require_writable(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail_write(directory, error.value());
  if (access(directory.c_str(), W_OK | X_OK) != 0) fail_write(directory, errno);
}

std::string temporary_path(const std::string& directory, const std::string& suffix) {
  static std::atomic<int> count = 0;
  return fmt::format("{}/.ingot-{}-{}{}", directory, getpid(), count++, suffix);
}

void write_new_file(const std::string& path, std::string_view contents) {
  File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.is_open() || !file.write_all(contents)) fail_write(path, errno);
}

void publish_object(const std::string& temporary, const std::string& object_path,
                    const std::string& key) {
  const std::optional<std::string> object = contents_of(temporary);
  File file(temporary, O_WRONLY | O_APPEND);
  if (!object || !file.is_open() || !file.write_all(seal(key, *object)) || !file.sync() ||
      rename(temporary.c_str(), object_path.c_str()) != 0) {
    fail_write(object_path, errno);
  }
}

bool try_replace_file(const std::string& path, std::string_view contents) {
  const std::string temporary = temporary_path(fs::path(path).parent_path().string(), ".txt");
  bool written = false;
  {
    File file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    written = file.is_open() && file.write_all(contents);
  }
  if (written && rename(temporary.c_str(), path.c_str()) == 0) return true;
  unlink(temporary.c_str());
  return false;
}

std::string read_small_file(const std::string& path) { return contents_of(path).value_or(""); }

void warn(const std::string& message) {
  const char* level = std::getenv("INGOT_LOG");
  if (level != nullptr && std::strcmp(level, "quiet") == 0) return;
  std::fprintf(stderr, "ingot: warning: %s\n", message.c_str());
}

CacheStats cache_stats(const JitOptions& options) {
  CacheStats stats{cache_directory(options), 0, 0, 0};
  for (const CacheFile& file : list_files(stats.directory)) {
    stats.bytes += file.bytes;
    stats.entries += file.role == FileRole::object ? 1 : 0;
    stats.damaged +=
        file.role == FileRole::object && file.bytes < static_cast<int64_t>(seal_bytes) ? 1 : 0;
  }
  return stats;
}

CacheStats cache_verify(const JitOptions& options) {
  const std::string directory = cache_directory(options);
  int64_t damaged = 0;
  for (const CacheFile& file : list_files(directory)) {
    if (file.role == FileRole::object && check_entry(file.path, "") == EntryState::damaged) {
      remove_entry(file.path);
      ++damaged;
    } else if (file.role == FileRole::temporary && is_stale(file.path)) {
      unlink(file.path.c_str());  // left by a process that was killed
    }
  }
  CacheStats stats = cache_stats(options);
  stats.damaged = damaged;
  return stats;
}

CacheStats cache_clear(const JitOptions& options) {
  CacheStats removed{cache_directory(options), 0, 0, 0};
  for (const CacheFile& file : list_files(removed.directory)) {
    if (unlink(file.path.c_str()) != 0) {
      if (errno == ENOENT) continue;  // another process was faster
      fail_input({}, fmt::format("cannot remove {}: {}", file.path, std::strerror(errno)));
    }
    removed.bytes += file.bytes;
    removed.entries += file.role == FileRole::object ? 1 : 0;
  }
  return removed;
}

}  // namespace ingot
