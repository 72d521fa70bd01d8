// The CUDA driver's functions that we call, found in libcuda.so.1 when first needed. The types and
// numbers are those of the driver's documented binary interface; no CUDA header is involved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot {

using CudaAddress = unsigned long long;

struct CudaLaunchAttribute {
  unsigned id;
  unsigned padding;
  union {
    unsigned numbers[3];  // cluster size
    int flag;
    char room[64];
  } value;
};

struct CudaLaunchSettings {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* stream;
  CudaLaunchAttribute* attributes;
  unsigned attribute_count;
};

struct CudaKernelNode {
  void* function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;
  void* context;
};

struct CudaGraphUpdate {
  int result;
  void* node;
  void* from_node;
};

struct CudaApi {
  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*error_name)(int result, const char** text);
  int (*error_string)(int result, const char** text);
  int (*device_count)(int* count);
  int (*device_get)(int* device, int index);
  int (*device_name)(char* name, int length, int device);
  int (*device_memory)(size_t* bytes, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*device_pool)(void** pool, int device);
  int (*pool_set)(void* pool, int attribute, void* value);
  int (*pool_trim)(void* pool, size_t keep);
  int (*context_retain)(void** context, int device);
  int (*context_release)(int device);
  int (*context_current)(void** context);
  int (*context_push)(void* context);
  int (*context_pop)(void** context);
  int (*context_synchronize)();
  int (*memory_info)(size_t* free_bytes, size_t* total_bytes);
  int (*allocate)(CudaAddress* address, size_t bytes, void* stream);
  int (*free)(CudaAddress address, void* stream);
  int (*host_allocate)(void** address, size_t bytes, unsigned flags);
  int (*host_free)(void* address);
  int (*copy_to_device)(CudaAddress to, const void* from, size_t bytes, void* stream);
  int (*copy_to_host)(void* to, CudaAddress from, size_t bytes, void* stream);
  int (*copy_on_device)(CudaAddress to, CudaAddress from, size_t bytes, void* stream);
  int (*fill_bytes)(CudaAddress to, unsigned char value, size_t bytes, void* stream);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_destroy)(void* stream);
  int (*stream_synchronize)(void* stream);
  int (*stream_wait)(void* stream, void* event, unsigned flags);
  int (*event_create)(void** event, unsigned flags);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_record_as)(void* event, void* stream, unsigned flags);
  int (*event_synchronize)(void* event);
  int (*event_elapsed)(float* ms, void* start, void* end);
  int (*module_load)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* name);
  int (*function_get)(int* value, int attribute, void* function);
  int (*function_set)(void* function, int attribute, int value);
  int (*resident_blocks)(int* blocks, void* function, int threads, size_t shared_bytes);
  int (*resident_clusters)(int* clusters, void* function, const CudaLaunchSettings* settings);
  int (*launch)(const CudaLaunchSettings* settings, void* function, void** arguments, void** extra);
  int (*capture_begin)(void* stream, int mode);
  int (*capture_end)(void* stream, void** graph);
  int (*capture_info)(void* stream, int* status, uint64_t* id, void** graph,
                      void* const** dependencies, size_t* dependency_count);
  int (*graph_destroy)(void* graph);
  int (*graph_instantiate)(void** executable, void* graph, unsigned long long flags);
  int (*graph_executable_destroy)(void* executable);
  int (*graph_launch)(void* executable, void* stream);
  int (*graph_update)(void* executable, void* graph, CudaGraphUpdate* update);
  int (*graph_set_kernel)(void* executable, void* node, const CudaKernelNode* kernel);
};

// Results of the functions.
constexpr int cuda_success = 0, cuda_out_of_memory = 2, cuda_deinitialized = 4,
              cuda_no_device = 100, cuda_not_found = 500, cuda_graph_update_failed = 910;

// Loads and initializes the driver once. Error{input} says what is missing.
const CudaApi& cuda_api();

// Error{input}: "CUDA: cannot ATTEMPTED: NAME, text".
[[noreturn]] void fail_cuda(const CudaApi& api, int result, const std::string& attempted);

}  // namespace ingot
