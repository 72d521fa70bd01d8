#include "api/edited_kernels.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

// Bytes of the character of UTF-8 that begins here; 0 of what is none, or controls a terminal.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return (first < ' ' && (first < '\t' || first > '\r')) || first == 0x7f ? 0 : 1;
  const size_t bytes = first < 0xc2   ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  if (text.size() < bytes || (first == 0xc2 && byte(1) < 0xa0)) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

// A compiler's words on a file that is no text help nobody.
std::string read_source(const std::string& file) {
  std::string text = read_file(file);
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = character_bytes(std::string_view(text).substr(at));
    if (bytes == 0) break;
    at += bytes;
  }
  if (at == text.size()) return text;
  throw Error(ErrorKind::input,
              fmt::format("{}: no text: byte {} is 0x{:02x}", file, at,
                          static_cast<unsigned>(static_cast<unsigned char>(text[at]))),
              {}, {"an edited kernel is a source of `ingot emit`, or loops of `ingot lower`"});
}

bool is_loops(std::string_view text) { return text.starts_with("kernel "); }

std::string params_text(const loop::Kernel& kernel) {
  const std::string text = print(kernel);
  const size_t begin = text.find('(');
  return text.substr(begin, text.find(" {") - begin);
}

// The caller passes buffers and sizes by position.
bool same_call(const loop::Kernel& a, const loop::Kernel& b) {
  const auto same = [](const loop::Param& x, const loop::Param& y) {
    return x.dtype == y.dtype && x.elements == y.elements && x.role == y.role && x.value == y.value;
  };
  return a.sizes == b.sizes && std::ranges::equal(a.params, b.params, same);
}

loop::Kernel edited_loops(const std::string& name, const std::string& text, const std::string& file,
                          const loop::Kernel& ours) {
  std::vector<std::string> known;
  for (loop::Kernel& kernel : loop::parse_kernels(text, file)) {
    known.push_back(kernel.name);
    if (kernel.name != name) continue;
    try {
      loop::verify(kernel, file);
    } catch (const Error& error) {
      throw Error(ErrorKind::input, error.message(), error.location(), error.notes());
    }
    if (same_call(kernel, ours)) return std::move(kernel);
    throw Error(ErrorKind::input,
                fmt::format("{}: kernel '{}' takes other parameters than the one that it replaces",
                            file, name),
                {}, {"it takes " + params_text(kernel), "it has to take " + params_text(ours)});
  }
  throw Error(ErrorKind::input, fmt::format("{}: no kernel '{}' in it", file, name), {},
              {"it has " + join(known, ", ")});
}

}  // namespace

EditedKernels edited_sources(const KernelFiles& files) {
  EditedKernels sources;
  for (const auto& [name, file] : files) {
    std::string text = read_source(file);
    if (!is_loops(text)) sources[name] = {name + "_edited", std::move(text), file};
  }
  return sources;
}

bool replace_loops(const KernelFiles& files, LoweredGroups* loops) {
  bool any = false;
  for (std::vector<loop::Kernel>& variants : *loops) {
    for (loop::Kernel& kernel : variants) {
      const auto file = files.find(kernel.name);
      if (file == files.end()) continue;
      const std::string text = read_source(file->second);
      if (!is_loops(text)) continue;
      kernel = edited_loops(kernel.name, text, file->second, kernel);
      any = true;
    }
  }
  return any;
}

bool are_loops(const KernelFiles& files) {
  return std::ranges::all_of(files,
                             [](const auto& file) { return is_loops(read_source(file.second)); });
}

}  // namespace ingot
