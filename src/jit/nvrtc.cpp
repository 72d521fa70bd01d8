#include "jit/nvrtc.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/complaint.h"

namespace fs = std::filesystem;

namespace ingot {
namespace {

// NVRTC's own names and numbers, as its documentation states them.
struct NvrtcProgramState;
using NvrtcProgram = NvrtcProgramState*;
constexpr int nvrtc_success = 0, nvrtc_invalid_option = 5, nvrtc_compilation = 6;

struct Nvrtc {
  int (*version)(int* major, int* minor);
  int (*create)(NvrtcProgram* program, const char* source, const char* name, int header_count,
                const char* const* headers, const char* const* header_names);
  int (*destroy)(NvrtcProgram* program);
  int (*compile)(NvrtcProgram program, int count, const char* const* options);
  int (*log_size)(NvrtcProgram program, size_t* size);
  int (*log)(NvrtcProgram program, char* text);
  int (*cubin_size)(NvrtcProgram program, size_t* size);
  int (*cubin)(NvrtcProgram program, char* bytes);
  int (*architecture_count)(int* count);
  int (*architectures)(int* numbers);
  const char* (*error_text)(int result);
  NvrtcVersion found;
  bool keeps_cache;  // of its own
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

constexpr const char* file_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw Error(ErrorKind::input, fmt::format("this NVRTC has no function '{}'", name), {},
                {"ingot needs NVRTC 12 or newer"});
  }
}

std::string path_of(void* library, const std::string& asked) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : asked;
}

int64_t size_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

Nvrtc functions_of(void* library, const std::string& asked) {
  Nvrtc nvrtc{};
  look_up(library, "nvrtcVersion", nvrtc.version);
  look_up(library, "nvrtcCreateProgram", nvrtc.create);
  look_up(library, "nvrtcDestroyProgram", nvrtc.destroy);
  look_up(library, "nvrtcCompileProgram", nvrtc.compile);
  look_up(library, "nvrtcGetProgramLogSize", nvrtc.log_size);
  look_up(library, "nvrtcGetProgramLog", nvrtc.log);
  look_up(library, "nvrtcGetCUBINSize", nvrtc.cubin_size);
  look_up(library, "nvrtcGetCUBIN", nvrtc.cubin);
  look_up(library, "nvrtcGetNumSupportedArchs", nvrtc.architecture_count);
  look_up(library, "nvrtcGetSupportedArchs", nvrtc.architectures);
  look_up(library, "nvrtcGetErrorString", nvrtc.error_text);
  int major = 0, minor = 0;
  nvrtc.version(&major, &minor);
  const std::string path = path_of(library, asked);
  nvrtc.found = {path, fmt::format("{}.{}", major, minor), size_of(path)};
  nvrtc.keeps_cache = major > 12 || (major == 12 && minor >= 9);
  return nvrtc;
}

Nvrtc open_nvrtc() {
  std::vector<std::string> reasons;
  for (const std::string& candidate : nvrtc_candidates()) {
    void* const library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return functions_of(library, candidate);
    const char* reason = dlerror();
    reasons.push_back(reason != nullptr ? reason : candidate);
  }
  std::vector<std::string> notes = {"looked for: " + join(nvrtc_candidates(), ", ")};
  // The loader's own words matter where a file was named or exists and does not load.
  if (!variable("INGOT_NVRTC").empty()) notes = {"INGOT_NVRTC: " + reasons.at(0)};
  notes.emplace_back(
      "install it (NVIDIA's package cuda-nvrtc, or pip install nvidia-cuda-nvrtc), "
      "or set INGOT_NVRTC to the path of libnvrtc.so");
  throw Error(ErrorKind::input,
              "no NVRTC: CUDA kernels are compiled with NVIDIA's run-time compiler, libnvrtc.so",
              {}, notes);
}

// Loaded once a process and never closed: it holds threads and state of its own.
struct LoadedNvrtc {
  std::mutex mutex;
  std::optional<Nvrtc> nvrtc;
};
LoadedNvrtc& loaded_nvrtc() {
  static LoadedNvrtc* const loaded = new LoadedNvrtc;  // outlives static destructors
  return *loaded;
}

const Nvrtc& nvrtc_functions() {
  LoadedNvrtc& loaded = loaded_nvrtc();
  const std::lock_guard lock(loaded.mutex);
  if (!loaded.nvrtc) loaded.nvrtc = open_nvrtc();
  return *loaded.nvrtc;
}

// The version stands in a file named after everything that the search depends on, with the file
// that was found: while that is unchanged, a warm start does not load 100 MB.
std::string memory_path(const std::string& cache_dir) {
  const std::string search = fmt::format("nvrtc {} | {} | {}", join(nvrtc_candidates(), " "),
                                         variable("LD_LIBRARY_PATH"), fs::current_path().string());
  return fmt::format("{}/compiler-{}.txt", cache_dir, sha256_hex(search).substr(0, 16));
}

std::string memory_text(const NvrtcVersion& version) {
  struct stat status {};
  if (stat(version.path.c_str(), &status) != 0) return "";
  return fmt::format("{}\n{}\n{}\n{}.{:09}\n", version.path, version.text, version.file_bytes,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& source, const std::string& name) : nvrtc_(nvrtc) {
    const int result = nvrtc.create(&program_, source.c_str(), name.c_str(), 0, nullptr, nullptr);
    if (result != nvrtc_success) {
      fail_input({}, fmt::format("NVRTC could not take the source of {}: {}", name,
                                 nvrtc.error_text(result)));
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { nvrtc_.destroy(&program_); }

  int compile(const std::vector<std::string>& flags) {
    std::vector<const char*> options;
    for (const std::string& flag : flags) options.push_back(flag.c_str());
    return nvrtc_.compile(program_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const {
    size_t size = 0;
    if (nvrtc_.log_size(program_, &size) != nvrtc_success || size == 0) return "";
    std::string text(size, '\0');
    nvrtc_.log(program_, text.data());
    text.resize(size - 1);  // the terminating zero
    return text;
  }
  std::string cubin() const {
    size_t size = 0;
    if (nvrtc_.cubin_size(program_, &size) != nvrtc_success) return "";
    std::string bytes(size, '\0');
    if (nvrtc_.cubin(program_, bytes.data()) != nvrtc_success) return "";
    return bytes;
  }

 private:
  const Nvrtc& nvrtc_;
  NvrtcProgram program_ = nullptr;
};

// Lines "NAME(LINE): error: …" about our file, and what the assembler says.
std::vector<Complaint> complaints(const std::string& log, const std::string& name) {
  std::vector<Complaint> found;
  for (const std::string& line : split(log, '\n')) {
    const bool ours = line.compare(0, name.size() + 1, name + "(") == 0;
    const size_t at = line.find(" error");
    if (at == std::string::npos && line.find("fatal") == std::string::npos) continue;
    if (line.find("detected in the compilation of") != std::string::npos) continue;
    long number = 0;
    if (ours) std::from_chars(line.data() + name.size() + 1, line.data() + line.size(), number);
    const size_t text = ours ? line.find("): ") : std::string::npos;
    found.push_back({number, text == std::string::npos ? line : line.substr(text + 3)});
  }
  return found;
}

std::string supported_architectures(const Nvrtc& nvrtc) {
  int count = 0;
  if (nvrtc.architecture_count(&count) != nvrtc_success || count <= 0) return "";
  std::vector<int> numbers(static_cast<size_t>(count));
  nvrtc.architectures(numbers.data());
  std::vector<std::string> names;
  for (const int number : numbers) names.push_back(fmt::format("sm_{}", number));
  return fmt::format("NVRTC {} knows {}", nvrtc.found.text, join(names, ", "));
}

[[noreturn]] void fail_compilation(const Nvrtc& nvrtc, int result, const std::string& log,
                                   const Unit& unit, const std::vector<std::string>& flags,
                                   const std::string& name) {
  std::string message =
      fmt::format("{}: NVRTC {} failed ({})", unit.file.empty() ? unit.name : unit.file,
                  nvrtc.found.text, nvrtc.error_text(result));
  std::vector<std::string> notes = {"flags: " + join(flags, " ")};
  if (result == nvrtc_invalid_option) notes.push_back(supported_architectures(nvrtc));
  const std::vector<Complaint> all = complaints(log, name);
  message += complaint_text(all, unit.source, log);
  // Without a complaint about our text, NVRTC has no quarrel with it: no memory, an unknown flag.
  const bool ours = unit.file.empty() && result == nvrtc_compilation;
  throw Error(ours ? ErrorKind::internal : ErrorKind::input, message, {}, notes);
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  const std::string stated = variable("INGOT_NVRTC");
  if (!stated.empty()) return {stated};
  std::vector<std::string> candidates(std::begin(file_names), std::end(file_names));
  for (const std::string& root :
       {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (!root.empty()) candidates.push_back(root + "/lib64/libnvrtc.so");
  }
  // Python's packages: nvidia-cuda-nvrtc of CUDA 12 and of CUDA 13 unpack to different folders.
  std::error_code error;
  for (fs::directory_iterator at(variable("VIRTUAL_ENV") + "/lib", error), end;
       !error && at != end && !variable("VIRTUAL_ENV").empty(); at.increment(error)) {
    const std::string packages = at->path().string() + "/site-packages/nvidia";
    if (!fs::is_directory(packages, error)) continue;
    candidates.push_back(packages + "/cu13/lib/libnvrtc.so.13");
    candidates.push_back(packages + "/cuda_nvrtc/lib/libnvrtc.so.12");
  }
  return candidates;
}

NvrtcVersion load_nvrtc() { return nvrtc_functions().found; }

NvrtcVersion find_nvrtc(const std::string& cache_dir) {
  {
    LoadedNvrtc& loaded = loaded_nvrtc();
    const std::lock_guard lock(loaded.mutex);
    if (loaded.nvrtc) return loaded.nvrtc->found;
  }
  const std::string recorded = read_small_file(memory_path(cache_dir));
  const std::vector<std::string> lines = split(recorded, '\n');
  if (lines.size() == 4) {
    const NvrtcVersion version = {lines[0], lines[1], size_of(lines[0])};
    if (memory_text(version) == recorded) return version;
  }
  const NvrtcVersion version = load_nvrtc();
  remember_nvrtc(cache_dir, version);
  return version;
}

void remember_nvrtc(const std::string& cache_dir, const NvrtcVersion& version) {
  const std::string path = memory_path(cache_dir), text = memory_text(version);
  // Only a saving: a cache that cannot be written is reported where an object has to be stored.
  if (read_small_file(path) != text) try_replace_file(path, text);
}

std::vector<std::string> cuda_flags(const std::string& architecture, const CudaOptions& options) {
  // No contraction: the bits are those of the formulas, and fma stands where they say so.
  // Functions without a qualifier are device code, so that formulas are valid C++ too.
  std::vector<std::string> flags = {"--gpu-architecture=" + architecture, "--std=c++17",
                                    "--fmad=false", "-default-device", "--ptxas-options=-v"};
  if (options.max_registers > 0) {
    flags.push_back(fmt::format("--maxrregcount={}", options.max_registers));
  }
  if (options.line_info) flags.emplace_back("-lineinfo");
  return flags;
}

CudaCompilation compile_cubin(const Unit& unit, const std::vector<std::string>& flags) {
  const Nvrtc& nvrtc = nvrtc_functions();
  const std::string name = unit.name + ".cu";
  Program program(nvrtc, unit.source, name);
  // What comes out of its own cache, where there is a driver, comes without the assembler's log.
  std::vector<std::string> all_flags = flags;
  if (nvrtc.keeps_cache) all_flags.emplace_back("--no-cache");
  const int result = program.compile(all_flags);
  CudaCompilation compiled{"", program.log()};
  if (result != nvrtc_success) {
    fail_compilation(nvrtc, result, compiled.log, unit, flags, name);
  }
  compiled.cubin = program.cubin();
  INGOT_CHECK(!compiled.cubin.empty(), "{}: NVRTC {} made no cubin under {}", unit.name,
              nvrtc.found.text, join(flags, " "));
  return compiled;
}

}  // namespace ingot
