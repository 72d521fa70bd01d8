// Units → loaded libraries: looks each one up, compiles the missing ones at once, loads all.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/host_compiler.h"
#include "jit/host_cpu.h"
#include "jit/jit.h"
#include "jit/run_all.h"

namespace ingot {

class JitAccess {
 public:
  static void set_handle(Library& library, std::shared_ptr<void> handle) {
    library.handle_ = std::move(handle);
  }
};

namespace {

// Of struct KernelCall and the compile flags' meaning: a change makes old entries unreachable.
constexpr int kernel_abi = 1;

std::string unit_key(const Unit& unit, const HostCompiler& compiler) {
  return sha256_hex(fmt::format("abi {}\nflags {}\ncpu {}\ncompiler {} | {}\n{}", kernel_abi,
                                join(compile_flags(), " "), cpu_feature_words(),
                                join(compiler.command, " "), compiler.version, unit.source));
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// One compiled and published unit.
class Compilation {
 public:
  Compilation(const std::string& directory, const Unit& unit, std::string key)
      : directory_(directory), unit_(unit), key_(std::move(key)) {}

  double run(const HostCompiler& compiler, const EntryPaths& entry) {
    const std::string source = temporary_path(directory_, ".cpp");
    const std::string object = temporary_path(directory_, ".so");
    const auto start = std::chrono::steady_clock::now();
    double ms = 0;
    try {
      write_new_file(source, unit_.source);
      compile_file(compiler, source, object, unit_);
      ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
               .count();
      rename(source.c_str(), entry.source.c_str());
      try_replace_file(entry.record, record(compiler, ms));
      publish_object(object, entry.object, key_);
    } catch (...) {
      unlink(source.c_str());
      unlink(object.c_str());
      throw;
    }
    return ms;
  }

 private:
  std::string record(const HostCompiler& compiler, double ms) const {
    return fmt::format(
        "{{\n  \"name\": {},\n  \"key\": {},\n  \"compile_ms\": {:.1f},\n  \"compiler\": {},\n"
        "  \"version\": {},\n  \"flags\": {},\n  \"cpu\": {}\n}}\n",
        json_string(unit_.name), json_string(key_), ms, json_string(join(compiler.command, " ")),
        json_string(compiler.version), json_string(join(compile_flags(), " ")),
        json_string(cpu_description()));
  }

  const std::string& directory_;
  const Unit& unit_;
  std::string key_;
};

// Libraries that this process has loaded, by key: equal kernels of two programs share one.
struct LoadedLibraries {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<void>> handles;
};
LoadedLibraries& loaded_libraries() {
  static LoadedLibraries* const libraries = new LoadedLibraries;  // outlives static destructors
  return *libraries;
}

std::shared_ptr<void> find_loaded(const std::string& key) {
  LoadedLibraries& loaded = loaded_libraries();
  const std::lock_guard lock(loaded.mutex);
  const auto found = loaded.handles.find(key);
  return found == loaded.handles.end() ? nullptr : found->second.lock();
}

// nullptr, with the reason in `problem`, if the object does not load.
std::shared_ptr<void> load(const std::string& path, const std::string& key, std::string& problem) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    problem = dlerror();
    return nullptr;
  }
  std::shared_ptr<void> shared(handle, dlclose);
  LoadedLibraries& loaded = loaded_libraries();
  const std::lock_guard lock(loaded.mutex);
  std::erase_if(loaded.handles, [](const auto& item) { return item.second.expired(); });
  loaded.handles[key] = shared;
  return shared;
}

struct Job {
  const Unit* unit;
  std::string key;
  EntryPaths entry;
  Library library;
  std::shared_ptr<void> handle;
};

// From memory or from disk; false if the unit has to be compiled.
bool look_up(Job& job) {
  job.library.path = job.entry.object;
  job.library.from_cache = true;
  job.handle = find_loaded(job.key);
  if (job.handle != nullptr) return true;
  const EntryState state = check_entry(job.entry.object, job.key);
  std::string problem = "its checksum does not match";
  if (state == EntryState::intact) job.handle = load(job.entry.object, job.key, problem);
  if (job.handle != nullptr) return true;
  if (state != EntryState::absent) {
    warn(fmt::format("rebuilding damaged cache entry {}: {}", job.entry.object, problem));
  }
  job.library.from_cache = false;
  return false;
}

void build(Job& job, const HostCompiler& compiler, const std::string& directory) {
  job.library.compile_ms = Compilation(directory, *job.unit, job.key).run(compiler, job.entry);
  std::string problem;
  job.handle = load(job.entry.object, job.key, problem);
  if (job.handle == nullptr) {
    throw Error(ErrorKind::input, fmt::format("cannot load {}: {}", job.entry.object, problem), {},
                {"the file system of the cache directory must permit programs (no noexec); choose "
                 "another with --cache DIR or INGOT_CACHE_DIR"});
  }
}

}  // namespace

Library::Entry Library::entry(const std::string& symbol) const {
  void* const address = handle_ == nullptr ? nullptr : dlsym(handle_.get(), symbol.c_str());
  if (address == nullptr && !file.empty()) {
    throw Error(ErrorKind::input, fmt::format("{} has no function '{}'", file, symbol));
  }
  if (address == nullptr)
    fail_internal("jit", fmt::format("{} has no function '{}'", path, symbol));
  return reinterpret_cast<Entry>(address);
}

std::vector<Library> compile(const std::vector<Unit>& units, const JitOptions& options) {
  if (units.empty()) return {};
  const std::string directory = cache_directory(options);
  const HostCompiler compiler = find_compiler(options, directory);

  std::vector<Job> jobs;
  std::map<std::string, size_t> job_of_key;
  std::vector<size_t> job_of_unit;
  for (const Unit& unit : units) {
    std::string key = unit_key(unit, compiler);
    const auto [place, is_new] = job_of_key.emplace(key, jobs.size());
    job_of_unit.push_back(place->second);
    if (!is_new) continue;
    EntryPaths entry = entry_paths(directory, unit.name, key);
    jobs.push_back({&unit, std::move(key), std::move(entry), {}, nullptr});
  }
  std::vector<Job*> missing;
  for (Job& job : jobs) {
    if (!look_up(job)) missing.push_back(&job);
  }
  if (!missing.empty()) {
    require_writable(directory);
    remove_unfinished(directory);
    run_all(missing.size(), options.jobs > 0 ? options.jobs : available_cores(),
            [&](size_t i) { build(*missing[i], compiler, directory); });
  }

  std::vector<Library> libraries;
  for (size_t i = 0; i < units.size(); ++i) {
    const Job& job = jobs[job_of_unit[i]];
    Library& library = libraries.emplace_back(job.library);
    library.file = units[i].file;
    JitAccess::set_handle(library, job.handle);
  }
  return libraries;
}

std::string compiler_version(const JitOptions& options) {
  return find_compiler(options, cache_directory(options)).version;
}

}  // namespace ingot
