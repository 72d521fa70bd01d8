// Units → cubins: looks each one up in the cache, compiles the missing ones at once.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "jit/cache.h"
#include "jit/host_cpu.h"
#include "jit/nvrtc.h"
#include "jit/run_all.h"

namespace ingot {
namespace {

// Of the object's layout and the flags' meaning: a change makes old entries unreachable.
constexpr int cubin_format = 1;

using Json = nlohmann::ordered_json;

struct CudaJob {
  const Unit* unit;
  std::string key;
  EntryPaths entry;
  CudaBinary binary;
  bool found = false;
};

// An object is the cubin, the log, and the log's length in eight digits: all under one checksum.
constexpr size_t length_digits = 8;

std::string object_of(const CudaCompilation& compiled) {
  return fmt::format("{}{}{:08}", compiled.cubin, compiled.log, compiled.log.size());
}

// False if the parts do not fit together, which the checksum makes nearly impossible.
bool split_object(const std::string& object, CudaBinary& binary) {
  if (object.size() < length_digits) return false;
  size_t length = 0;
  for (const char digit : object.substr(object.size() - length_digits)) {
    if (digit < '0' || digit > '9') return false;
    length = length * 10 + static_cast<size_t>(digit - '0');
  }
  const size_t end = object.size() - length_digits;
  if (length > end) return false;
  binary.cubin = object.substr(0, end - length);
  binary.log = object.substr(end - length, length);
  return true;
}

void look_up(CudaJob& job) {
  std::string object;
  const EntryState state = check_entry(job.entry.object, job.key, &object);
  std::string problem = "its checksum does not match";
  job.binary.path = job.entry.object;
  if (state == EntryState::intact) {
    try {
      problem = "its parts do not fit together";
      job.found = split_object(object, job.binary);
      if (job.found) job.binary.resources = read_cubin(job.binary.cubin, job.binary.log);
    } catch (const Error& error) {
      job.found = false;
      problem = error.message();
    }
  }
  job.binary.from_cache = job.found;
  if (!job.found && state != EntryState::absent) {
    warn(fmt::format("rebuilding damaged cache entry {}: {}", job.entry.object, problem));
  }
}

Json kernel_record(const CudaKernelResources& kernel) {
  return {{"name", kernel.name},
          {"registers", kernel.registers},
          {"shared_bytes", kernel.shared_bytes},
          {"local_bytes", kernel.local_bytes},
          {"stack_bytes", kernel.stack_bytes},
          {"spill_store_bytes", kernel.spill_store_bytes},
          {"spill_load_bytes", kernel.spill_load_bytes},
          {"constant_bytes", kernel.constant_bytes},
          {"parameter_bytes", kernel.parameter_bytes},
          {"max_threads", kernel.max_threads},
          {"code_bytes", kernel.code_bytes},
          {"instructions", kernel.instructions},
          {"special_instructions", kernel.special_instructions}};
}

std::string record(const CudaJob& job, const NvrtcVersion& version,
                   const std::vector<std::string>& flags) {
  Json kernels = Json::array();
  for (const CudaKernelResources& kernel : job.binary.resources.kernels) {
    kernels.push_back(kernel_record(kernel));
  }
  const Json text = {{"name", job.unit->name},
                     {"key", job.key},
                     {"compile_ms", std::round(job.binary.compile_ms * 10) / 10},
                     {"compiler", version.path},
                     {"version", "NVRTC " + version.text},
                     {"flags", join(flags, " ")},
                     {"architecture", job.binary.resources.architecture},
                     {"kernels", kernels}};
  return text.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void build(CudaJob& job, const NvrtcVersion& version, const std::vector<std::string>& flags,
           const std::string& directory) {
  const auto start = std::chrono::steady_clock::now();
  const CudaCompilation compiled = compile_cubin(*job.unit, flags);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  job.binary.cubin = compiled.cubin;
  job.binary.log = compiled.log;
  job.binary.compile_ms = taken.count();
  job.binary.resources = read_cubin(compiled.cubin, compiled.log);

  try_replace_file(job.entry.source, job.unit->source);
  try_replace_file(job.entry.record, record(job, version, flags));
  const std::string object = temporary_path(directory, ".cubin");
  try {
    write_new_file(object, object_of(compiled));
    publish_object(object, job.entry.object, job.key);
  } catch (...) {
    unlink(object.c_str());
    throw;
  }
}

struct CudaJobs {
  std::vector<CudaJob> jobs;  // one for equal units
  std::vector<size_t> job_of_unit;
  std::vector<size_t> missing;
};

CudaJobs look_up_all(const std::vector<Unit>& units, const NvrtcVersion& version,
                     const std::vector<std::string>& flags, const std::string& directory) {
  CudaJobs all;
  std::map<std::string, size_t> job_of_key;
  for (const Unit& unit : units) {
    const std::string key =
        sha256_hex(fmt::format("cubin {}\nflags {}\nnvrtc {} {}\n{}", cubin_format,
                               join(flags, " "), version.text, version.file_bytes, unit.source));
    const auto [place, is_new] = job_of_key.emplace(key, all.jobs.size());
    all.job_of_unit.push_back(place->second);
    if (!is_new) continue;
    CudaJob& job = all.jobs.emplace_back();
    job.unit = &unit;
    job.key = key;
    job.entry = entry_paths(directory, unit.name, key, EntryKind::cubin);
    look_up(job);
    if (!job.found) all.missing.push_back(all.jobs.size() - 1);
  }
  return all;
}

}  // namespace

std::vector<CudaBinary> compile_cuda(const std::vector<Unit>& units,
                                     const std::string& architecture, const CudaOptions& options) {
  if (units.empty()) return {};
  JitOptions cache;
  cache.cache_dir = options.cache_dir;
  const std::string directory = cache_directory(cache);
  const std::vector<std::string> flags = cuda_flags(architecture, options);
  NvrtcVersion version = find_nvrtc(directory);
  CudaJobs all = look_up_all(units, version, flags, directory);
  if (!all.missing.empty()) {
    // What is remembered may be another NVRTC than the one that loads now.
    const NvrtcVersion loaded = load_nvrtc();
    if (loaded != version) all = look_up_all(units, version = loaded, flags, directory);
    require_writable(directory);
    remove_unfinished(directory);
    remember_nvrtc(directory, version);
    run_all(all.missing.size(), options.jobs > 0 ? options.jobs : available_cores(),
            [&](size_t i) { build(all.jobs[all.missing[i]], version, flags, directory); });
  }
  std::vector<CudaBinary> binaries;
  for (const size_t job : all.job_of_unit) binaries.push_back(all.jobs[job].binary);
  return binaries;
}

CudaBinary compile_cuda(const Unit& unit, const std::string& architecture,
                        const CudaOptions& options) {
  return compile_cuda(std::vector<Unit>{unit}, architecture, options).at(0);
}

}  // namespace ingot
