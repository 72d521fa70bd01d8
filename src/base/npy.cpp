// NumPy's .npy files. Every length in the file is checked before it is believed.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/tensor.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr int64_t longest_header = 1 << 20;

struct NpyName {
  std::string_view descr;
  DType dtype;
};
// '|' and '<' as NumPy writes them; bf16 and 8-bit floats have no name of their own.
constexpr NpyName npy_names[] = {{"|b1", DType::boolean}, {"|i1", DType::i8},  {"<i2", DType::i16},
                                 {"<i4", DType::i32},     {"<i8", DType::i64}, {"|u1", DType::u8},
                                 {"<u2", DType::u16},     {"<u4", DType::u32}, {"<u8", DType::u64},
                                 {"<f2", DType::f16},     {"<f4", DType::f32}, {"<f8", DType::f64}};

struct Header {
  DType dtype;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

class InputFile {
 public:
  explicit InputFile(const std::string& path)
      : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status;
    if (fd_ < 0 || fstat(fd_, &status) != 0) fail(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) fail("not a regular file");
    left_ = status.st_size;
  }
  ~InputFile() {
    if (fd_ >= 0) close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[noreturn]] void fail(std::string_view reason) const {
    fail_input({}, fmt::format("cannot read '{}': {}", path_, reason));
  }
  [[noreturn]] void refuse(std::string_view what) const {
    fail_unsupported({}, fmt::format("cannot read '{}': {}", path_, what));
  }
  int64_t left() const { return left_; }
  void read_exactly(void* to, int64_t bytes) {
    if (bytes > left_) fail(fmt::format("it ends {} bytes too early", bytes - left_));
    char* next = static_cast<char*>(to);
    left_ -= bytes;
    while (bytes > 0) {
      const ssize_t n = read(fd_, next, static_cast<size_t>(bytes));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail(n < 0 ? std::strerror(errno) : "it was cut off while it was read");
      next += n;
      bytes -= n;
    }
  }

 private:
  std::string path_;
  int fd_;
  int64_t left_ = 0;
};

// The header is the text of a Python dict; a reader of just the three keys.
class HeaderParser {
 public:
  HeaderParser(const InputFile& file, std::string_view text) : file_(file), text_(text) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        header.dtype = dtype(quoted());
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        shape = true;
      } else {
        file_.fail(fmt::format("unknown key '{}' in its header", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) {
      file_.fail("its header needs descr, fortran_order and shape");
    }
    return header;
  }

 private:
  void skip() {
    while (position_ < text_.size() && std::strchr(" \n\t\r", text_[position_]) != nullptr) {
      position_++;
    }
  }
  bool accept(char c) {
    skip();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    position_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) file_.fail(fmt::format("malformed header: expected '{}'", c));
  }
  std::string_view quoted() {
    const char quote = accept('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos) file_.fail("malformed header: a string has no end");
    const std::string_view inner = text_.substr(position_, end - position_);
    position_ = end + 1;
    return inner;
  }
  bool boolean() {
    skip();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return word == "True";
      }
    }
    file_.fail("malformed header: fortran_order must be True or False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      skip();
      int64_t size = 0;
      const size_t start = position_;
      for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9';
           position_++) {
        if (__builtin_mul_overflow(size, 10, &size) ||
            __builtin_add_overflow(size, text_[position_] - '0', &size)) {
          file_.fail("a size in its shape does not fit in 64 bits");
        }
      }
      if (position_ == start) file_.fail("malformed header: expected a size in shape");
      accept('L');  // Python 2 wrote 3L
      sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    if (sizes.size() > 64) file_.fail("it has more than 64 dimensions");
    return sizes;
  }
  DType dtype(std::string_view descr) {
    std::string known;
    for (const NpyName& each : npy_names) {
      const bool same_type = descr.size() == 3 && descr.substr(1) == each.descr.substr(1);
      const bool one_byte = each.descr[0] == '|';
      if (same_type && (descr[0] != '>' || one_byte) &&
          std::string_view("<|=>").find(descr[0]) != std::string_view::npos) {
        return each.dtype;
      }
      known += fmt::format(" {}", each.descr);
    }
    file_.refuse(fmt::format("dtype '{}'; supported:{}", descr, known));
  }

  const InputFile& file_;
  std::string_view text_;
  size_t position_ = 0;
};

Header read_header(InputFile& file) {
  unsigned char start[8];
  if (file.left() < 10) file.fail("too short for an .npy file");
  file.read_exactly(start, 8);
  if (std::memcmp(start, magic.data(), magic.size()) != 0) file.fail("not an .npy file");
  const int major = start[6];
  if (major < 1 || major > 3) {
    file.fail(fmt::format(".npy version {}; 1 to 3 are supported", major));
  }
  unsigned char raw[4] = {};
  file.read_exactly(raw, major == 1 ? 2 : 4);
  const int64_t length = raw[0] | raw[1] << 8 | raw[2] << 16 | int64_t{raw[3]} << 24;
  if (length > std::min(file.left(), longest_header)) file.fail("its header length is wrong");
  std::string text(static_cast<size_t>(length), '\0');
  file.read_exactly(text.data(), length);
  return HeaderParser(file, text).parse();
}

// Fortran order → row-major: element by element, the first index running fastest in `from`.
void reorder(const Tensor& from, Tensor& to) {
  const std::vector<int64_t>& shape = to.shape();
  const size_t width = static_cast<size_t>(byte_size(to.dtype()));
  std::vector<int64_t> index(shape.size(), 0), strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  int64_t target = 0;
  for (int64_t i = 0; i < from.size(); i++) {
    std::memcpy(to.data() + static_cast<size_t>(target) * width,
                from.data() + static_cast<size_t>(i) * width, width);
    for (size_t d = 0; d < shape.size(); d++) {
      target += strides[d];
      if (++index[d] < shape[d]) break;
      target -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

}  // namespace

Tensor read_npy(const std::string& path) {
  InputFile file(path);
  const Header header = read_header(file);
  // A shape that lies about its size is found before memory is asked for.
  __int128 bytes = byte_size(header.dtype);
  for (const int64_t size : header.shape) {
    bytes = std::min<__int128>(bytes * size, __int128{1} << 63);
  }
  if (bytes > file.left()) file.fail("it holds less data than its shape says");
  Tensor tensor = Tensor::uninitialized(header.dtype, header.shape);
  file.read_exactly(tensor.data(), tensor.bytes());
  if (header.dtype == DType::boolean) {
    for (int64_t i = 0; i < tensor.size(); i++) tensor.set_i64(i, tensor.get_i64(i));
  }
  if (!header.fortran_order || header.shape.size() < 2) return tensor;
  Tensor ordered = Tensor::uninitialized(header.dtype, header.shape);
  reorder(tensor, ordered);
  return ordered;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const NpyName* name = std::find_if(std::begin(npy_names), std::end(npy_names),
                                     [&](const NpyName& n) { return n.dtype == tensor.dtype(); });
  if (name == std::end(npy_names)) {
    Tensor widened = Tensor::uninitialized(DType::f32, tensor.shape());
    for (int64_t i = 0; i < tensor.size(); i++) {
      widened.as<float>()[i] = static_cast<float>(tensor.get_f64(i));
    }
    return write_npy(path, widened);
  }
  std::string shape;
  for (const int64_t size : tensor.shape()) shape += fmt::format("{}, ", size);
  if (tensor.shape().size() > 1) shape.resize(shape.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", name->descr, shape);
  // The data begins at a multiple of 64 bytes: 10 bytes stand before the header of version 1.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string start(magic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
            static_cast<char>(header.size() >> 8)};
  start += header;
  write_file_parts(
      path,
      {start, {reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes())}});
}

}  // namespace ingot
