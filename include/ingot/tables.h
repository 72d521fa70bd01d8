// Files, devices, ops, the environment and the kernel cache: what needs no program.
#pragma once

#include <ingot/compiled.h>
#include <ingot/options.h>
#include <ingot/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ingot {

// A tensor from a .npy file or a .pb file (an ONNX TensorProto), by the file's ending.
Tensor load_tensor(const std::string& path);

std::string version_text();
std::string ops_text();      // the op table for a person
std::string ops_markdown();  // docs/ops.md
std::string ops_header();    // include/ingot/ops.h
std::string ops_json();
// What Options::device takes beside "cuda": "cpu" and the device models.
std::vector<std::string> device_names();
// What the command line takes where no device is given: "cuda:0" where the driver finds one, else
// "cpu". Options::device is the CPU where a caller says nothing.
std::string default_device();
// With `measure`, what each device that is found reaches, by programs of ingot's own (some seconds
// a device): kept beside the kernel cache, after which reports predict with it. Without, what was
// kept.
std::string devices_text(bool measure, const Progress& progress = {});
std::string devices_json(bool measure, const Progress& progress = {});
std::string environment_json(const Options& options = {});
struct CacheSummary {
  std::string directory;
  int64_t entries, bytes, damaged;
};
CacheSummary cache_stats(const std::string& cache_dir);
CacheSummary cache_verify(const std::string& cache_dir);
CacheSummary cache_clear(const std::string& cache_dir);

}  // namespace ingot
