// Whole files in and out.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/text.h"

namespace ingot {

namespace {

[[noreturn]] void fail_file(std::string_view verb, const std::string& path) {
  fail_input({}, fmt::format("cannot {} '{}': {}", verb, path, std::strerror(errno)));
}

class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, const std::vector<std::string_view>& parts) {
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t n = write(fd, part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      part.remove_prefix(static_cast<size_t>(n));
    }
  }
  return true;
}

}  // namespace

std::string read_file(const std::string& path) {
  const File file(path, O_RDONLY);
  struct stat status;
  if (file.fd() < 0 || fstat(file.fd(), &status) != 0) fail_file("read", path);
  std::string contents;
  // A pipe has no size: read in pieces until the end, whatever the size says.
  contents.resize(static_cast<size_t>(std::max<off_t>(status.st_size, 0)) + 1);
  size_t filled = 0;
  while (true) {
    if (filled == contents.size()) contents.resize(2 * contents.size());
    const ssize_t n = read(file.fd(), contents.data() + filled, contents.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_file("read", path);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  contents.resize(filled);
  return contents;
}

void write_file(const std::string& path, std::string_view contents) {
  write_file_parts(path, {contents});
}

void write_file_parts(const std::string& path, const std::vector<std::string_view>& parts) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    // A device or a pipe cannot be replaced by a rename.
    const File file(path, O_WRONLY);
    if (file.fd() < 0 || !write_all(file.fd(), parts)) fail_file("write", path);
    return;
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string temporary = fmt::format("{}.{}-{}-{}.tmp", path, getpid(), gettid(), now);
  {
    const File file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (file.fd() < 0) fail_file("write", path);
    if (!write_all(file.fd(), parts) || fsync(file.fd()) != 0) {
      const int reason = errno;
      unlink(temporary.c_str());
      errno = reason;
      fail_file("write", path);
    }
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    unlink(temporary.c_str());
    errno = reason;
    fail_file("write", path);
  }
}

}  // namespace ingot
