#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace ingot::cli {
namespace {

[[noreturn]] void fail(std::string message) { throw Error(ErrorKind::input, std::move(message)); }

struct Assignment {
  std::string name, value;
};

Assignment split_assignment(const std::string& option, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    fail(fmt::format("{} takes NAME=VALUE, not '{}'", option, text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

int64_t parse_size(const std::string& option, const std::string& text) {
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < 0) {
    fail(fmt::format("{}: '{}' is no size: a number from 0; other sizes take a --dim of their own",
                     option, text));
  }
  return value;
}

const Port& port_named(const std::vector<Port>& ports, const std::string& name) {
  std::string known;
  for (const Port& port : ports) {
    if (port.name == name) {
      return port;
    }
    known += (known.empty() ? "" : ", ") + port.name;
  }
  fail(fmt::format("no input is named '{}'; this program has {}", name,
                   known.empty() ? "no inputs" : known));
}

// bf16 and f8 values are written to .npy files widened to f32, so they are read back from them.
Tensor convert_file(Tensor tensor, const Port& port, const std::string& file) {
  if (tensor.dtype() == port.dtype) {
    return tensor;
  }
  const bool narrow = is_float(port.dtype) && byte_size(port.dtype) < byte_size(DType::f32);
  if (!narrow || tensor.dtype() != DType::f32) {
    fail(fmt::format("input {}: expected {}, {} has {}", port.name, dtype_name(port.dtype), file,
                     dtype_name(tensor.dtype())));
  }
  Tensor converted = Tensor::uninitialized(port.dtype, tensor.shape());
  int64_t rounded = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.get_f64(i);
    converted.set_f64(i, value);
    rounded += value == value && converted.get_f64(i) != value ? 1 : 0;
  }
  if (rounded > 0) {
    note(fmt::format("input {}: {} of {} values of {} are rounded from f32 to {}", port.name,
                     rounded, tensor.size(), file, dtype_name(port.dtype)));
  }
  return converted;
}

void add_size(Sizes& sizes, const std::string& name, int64_t value) {
  const auto [known, added] = sizes.try_emplace(name, value);
  if (!added && known->second != value) {
    fail(fmt::format("dimension {} is given as {} and as {}", name, known->second, value));
  }
}

// NAME=N, or INPUT[i]=N.
void add_dim(const Program& program, const std::string& text, Sizes& sizes) {
  const Assignment dim = split_assignment("--dim", text);
  const int64_t value = parse_size("--dim " + dim.name, dim.value);
  const size_t bracket = dim.name.find('[');
  if (bracket == std::string::npos || dim.name.back() != ']') {
    for (const auto& [name, size] : program.sizes_of_dimension(dim.name, value)) {
      add_size(sizes, name, size);
    }
    return;
  }
  const std::vector<Port> ports = program.inputs();
  const std::string input = dim.name.substr(0, bracket);
  const Port& port = port_named(ports, input);
  const int64_t position =
      parse_size("--dim", dim.name.substr(bracket + 1, dim.name.size() - bracket - 2));
  if (position >= static_cast<int64_t>(port.shape.size())) {
    fail(fmt::format("--dim {}: {} has {} dimensions", text, port.name, port.shape.size()));
  }
  std::vector<int64_t> shape(port.shape.size(), -1);
  shape[static_cast<size_t>(position)] = value;
  for (const auto& [name, size] : program.sizes_of({{port.name, shape}})) {
    add_size(sizes, name, size);
  }
}

void add_input(const std::string& text, Session& session) {
  const Assignment input = split_assignment("--input", text);
  const std::vector<Port> ports = session.program.inputs();
  const Port& port = port_named(ports, input.name);
  if (session.specs.count(port.name) + session.from_files.count(port.name) != 0) {
    fail(fmt::format("input {} is given twice", port.name));
  }
  if (input.value.ends_with(".npy") || input.value.ends_with(".pb")) {
    session.from_files.emplace(
        port.name,
        InputFile{input.value, convert_file(load_tensor(input.value), port, input.value)});
  } else {
    session.specs.emplace(port.name, input.value);
  }
}

// Which file gave which shape: sizes are at odds with one of them, or two with each other.
Error with_files(Error error, const Session& session) {
  for (const auto& [name, file] : session.from_files) {
    error = error.with_note(fmt::format("{} is {}, {}[{}]", name, file.path,
                                        dtype_name(file.tensor.dtype()),
                                        fmt::join(file.tensor.shape(), ", ")));
  }
  return error;
}

// Only tune makes the file.
void require_tuning_file(const Arguments& arguments) {
  const std::string& path = arguments.tuning;
  if (path.empty() || path == "none" || arguments.command == "tune") return;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    fail(fmt::format("--tuning {}: there is no such file; `ingot tune` makes it", path));
  }
}

}  // namespace

Session open_session(const Arguments& arguments) {
  Session session{Program::load(arguments.file), {}, {}, {}};
  Options& options = session.options;
  options.device = arguments.device;
  options.numerics = arguments.numerics;
  options.fusion = arguments.fusion;
  options.threads = arguments.threads;
  options.cache_dir = arguments.cache;
  options.plan_file = arguments.plan;
  options.tuning_file = arguments.tuning;
  options.allow_memory = arguments.allow_memory;
  require_tuning_file(arguments);
  for (const std::string& text : arguments.kernels) {
    const Assignment kernel = split_assignment("--kernel", text);
    options.kernel_files[kernel.name] = kernel.value;
  }
  for (const std::string& text : arguments.inputs) {
    add_input(text, session);
  }
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, file] : session.from_files) {
    shapes[name] = file.tensor.shape();
  }
  try {
    options.sizes = session.program.sizes_of(shapes);
  } catch (const Error& error) {
    throw with_files(error, session);
  }
  options.sizes = sizes_with(session, arguments.dims);
  return session;
}

Sizes sizes_with(const Session& session, const std::vector<std::string>& dims) {
  Sizes sizes = session.options.sizes;
  try {
    for (const std::string& text : dims) add_dim(session.program, text, sizes);
  } catch (const Error& error) {
    throw with_files(error, session);
  }
  return sizes;
}

Sizes complete_sizes(const Session& session) {
  Sizes sizes = session.options.sizes;
  for (const std::string& name : session.program.size_names()) {
    if (sizes.try_emplace(name, 1).second) {
      note(fmt::format("dimension {} is not given: 1 (--dim {}=SIZE sets it)", name, name));
    }
  }
  return sizes;
}

std::vector<Tensor> make_inputs(const Session& session, const Sizes& sizes) {
  std::vector<Tensor> inputs;
  for (const Port& port : session.program.inputs()) {
    if (const auto file = session.from_files.find(port.name); file != session.from_files.end()) {
      inputs.push_back(file->second.tensor);
      continue;
    }
    const auto spec = session.specs.find(port.name);
    inputs.push_back(session.program.sample(
        port.name, spec == session.specs.end() ? "random" : spec->second, sizes));
  }
  return inputs;
}

void require_shapes(const Session& session, const Compiled& compiled,
                    const std::vector<Tensor>& inputs) {
  try {
    compiled.output_shapes(inputs);
  } catch (const Error& error) {
    throw with_files(error, session);
  }
}

std::vector<Tensor> inputs_for(const Session& session, const Compiled& compiled) {
  std::vector<Tensor> inputs = make_inputs(session, session.options.sizes);
  require_shapes(session, compiled, inputs);
  return inputs;
}

Compiled compile(const Session& session, const Arguments& arguments) {
  Compiled compiled = session.program.compile(session.options);
  if (arguments.verbose) {
    note(compiled.compile_text());
  }
  return compiled;
}

Compiled plan_only(const Session& session) {
  Options options = session.options;
  options.plan_only = true;
  return session.program.compile(options);
}

void note(const std::string& message) { fmt::print(stderr, "note: {}\n", message); }

void note_edited_not_run(const std::map<std::string, std::string>& idle) {
  for (const auto& [edited, running] : idle) {
    note(fmt::format("the edited kernel {} is not used: at these sizes {} runs", edited, running));
  }
}

std::string read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_whole_file(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  const auto give_up = [&] {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    fail(fmt::format("cannot write {}: {}", path, reason));
  };
  std::FILE* const file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) {
    give_up();
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    give_up();
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error && !std::filesystem::is_directory(path)) {
    fail(fmt::format("cannot make the folder {}: {}", path, error.message()));
  }
}

std::string file_name_of(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.') {
      c = '_';
    }
  }
  return result.empty() || result.front() == '.' ? "_" + result : result;
}

ProgressLine::ProgressLine() : visible_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (visible_) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

Progress ProgressLine::callback() {
  if (!visible_) {
    return {};
  }
  return [](double done, const std::string& what) {
    constexpr int width = 30;
    const int full = static_cast<int>(std::clamp(done, 0.0, 1.0) * width);
    fmt::print(stderr, "\r[{:<{}}] {:3.0f} % {}\x1b[K", std::string(static_cast<size_t>(full), '#'),
               width, 100 * done, what);
    std::fflush(stderr);
  };
}

}  // namespace ingot::cli
