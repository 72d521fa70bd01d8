#include "jit/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>

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
  std::optional<std::string> read_all() { return read_end(SIZE_MAX); }
  // Its last `most` bytes; nullopt if it is no regular file.
  std::optional<std::string> read_end(size_t most) {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    const auto whole = static_cast<size_t>(status.st_size);
    std::string contents(std::min(whole, most), '\0');
    lseek(descriptor_, static_cast<off_t>(whole - contents.size()), SEEK_SET);
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

[[noreturn]] void fail_remove(const std::string& path, int error) {
  throw Error(ErrorKind::input, fmt::format("cannot remove {}: {}", path, std::strerror(error)), {},
              {"it is in the place of a file of the kernel cache: remove it by hand"});
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

// Only files with our names are ever counted or removed, and of those that an entry is made of only
// where its record or its object holds the key that its name begins: the directory may be
// anybody's.
pid_t process_of(const std::string& name) {
  constexpr std::string_view start = ".ingot-";
  pid_t process = 0;
  if (!name.starts_with(start)) return 0;
  const char* const end = name.data() + name.size();
  const auto [rest, status] = std::from_chars(name.data() + start.size(), end, process);
  return status == std::errc() && rest != end && *rest == '-' ? process : 0;
}

enum class FileRole { foreign, object, beside, temporary };
FileRole role_of(const std::string& name) {
  if (process_of(name) > 0) return FileRole::temporary;
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
  bool is_regular;
};

// The object's last line, or "".
std::string seal_of(const std::string& object_path) {
  File file(object_path, O_RDONLY | O_NONBLOCK);
  return file.is_open() ? file.read_end(seal_bytes).value_or("") : "";
}

bool record_has_key(const std::string& stem) {
  const std::string digits = stem.substr(stem.size() - 16);
  return contents_of(stem + ".json").value_or("").find("\"key\": \"" + digits) != std::string::npos;
}

// `stem`: the path of an entry's file without its ending.
bool is_our_entry(const std::string& stem) {
  const std::string digits = stem.substr(stem.size() - 16);
  for (const char* ending : {".so", ".cubin"}) {
    if (seal_of(stem + ending).starts_with(std::string(seal_mark) + digits)) return true;
  }
  return record_has_key(stem);
}

std::vector<CacheFile> list_files(const std::string& directory) {
  std::vector<CacheFile> files;
  std::map<std::string, bool> ours;
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error)) {
    fail_input({}, fmt::format("cache directory: {} is no folder", directory));
  }
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string(), name = at->path().filename().string();
    const FileRole role = role_of(name);
    struct stat status {};
    if (role == FileRole::foreign || lstat(path.c_str(), &status) != 0) continue;
    const std::string stem = path.substr(0, path.rfind('.'));
    const bool in_entry = role != FileRole::temporary && !name.ends_with(".txt");
    if (in_entry && !ours.contains(stem)) ours[stem] = is_our_entry(stem);
    if (in_entry && !ours[stem]) continue;
    const bool is_regular = S_ISREG(status.st_mode);
    files.push_back({path, role, is_regular ? status.st_size : 0, is_regular});
  }
  return files;
}

// Left by a process that was ended: it is gone, or its number is another's by now. A minute passes
// before: a process may be of another machine, or a container, that shares the directory.
bool is_unfinished(const std::string& path) {
  constexpr std::time_t minute = 60, hour = 60 * minute;
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return false;
  const std::time_t age = std::time(nullptr) - status.st_mtime;
  const pid_t process = process_of(fs::path(path).filename().string());
  const bool gone = kill(process, 0) != 0 && errno == ESRCH;
  return age > (gone ? minute : hour);
}

// A folder in the place of a file goes if it is empty.
bool remove_file(const CacheFile& file) {
  return (file.is_regular ? unlink(file.path.c_str()) : std::remove(file.path.c_str())) == 0;
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
  if (!contents) {
    return fs::is_directory(object_path) ? EntryState::damaged : EntryState::absent;
  }
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
  rmdir(object_path.c_str());  // where a folder stands in the object's place
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

void remove_unfinished(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const bool temporary = process_of(at->path().filename().string()) > 0;
    if (temporary && is_unfinished(at->path())) unlink(at->path().c_str());
  }
}

CacheStats cache_stats(const JitOptions& options) {
  CacheStats stats{cache_directory(options), 0, 0, 0};
  remove_unfinished(stats.directory);
  for (const CacheFile& file : list_files(stats.directory)) {
    stats.bytes += file.bytes;
    stats.entries += file.role == FileRole::object ? 1 : 0;
    stats.damaged +=
        file.role == FileRole::object && file.bytes < static_cast<int64_t>(seal_bytes) ? 1 : 0;
  }
  return stats;
}

namespace {

void remove_entry(const CacheFile& object) {
  const std::string stem = object.path.substr(0, object.path.rfind('.'));
  const bool cubin = object.path.ends_with(".cubin");
  if (!remove_file(object) && errno != ENOENT) fail_remove(object.path, errno);
  for (const std::string& path : {stem + (cubin ? ".cu" : ".cpp"), stem + ".json"}) {
    unlink(path.c_str());
  }
}

}  // namespace

CacheStats cache_verify(const JitOptions& options) {
  const std::string directory = cache_directory(options);
  int64_t damaged = 0;
  for (const CacheFile& file : list_files(directory)) {
    if (file.role != FileRole::object) continue;
    const bool has_record = record_has_key(file.path.substr(0, file.path.rfind('.')));
    if (has_record && check_entry(file.path, "") != EntryState::damaged) continue;
    remove_entry(file);
    ++damaged;
  }
  CacheStats stats = cache_stats(options);
  stats.damaged = damaged;
  return stats;
}

CacheStats cache_clear(const JitOptions& options) {
  CacheStats removed{cache_directory(options), 0, 0, 0};
  for (const CacheFile& file : list_files(removed.directory)) {
    if (!remove_file(file)) {
      if (errno == ENOENT) continue;  // another process was faster
      fail_remove(file.path, errno);
    }
    removed.bytes += file.bytes;
    removed.entries += file.role == FileRole::object ? 1 : 0;
  }
  return removed;
}

}  // namespace ingot
