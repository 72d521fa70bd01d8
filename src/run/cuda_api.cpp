#include "run/cuda_api.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/error.h"

namespace ingot {
namespace {

constexpr const char* library_name = "libcuda.so.1";

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw Error(ErrorKind::input, fmt::format("the CUDA driver has no function '{}'", name), {},
                {"ingot needs a driver for CUDA 12.0 or newer"});
  }
}

void look_up_devices(void* library, CudaApi& api) {
  look_up(library, "cuInit", api.init);
  look_up(library, "cuDriverGetVersion", api.driver_version);
  look_up(library, "cuGetErrorName", api.error_name);
  look_up(library, "cuGetErrorString", api.error_string);
  look_up(library, "cuDeviceGetCount", api.device_count);
  look_up(library, "cuDeviceGet", api.device_get);
  look_up(library, "cuDeviceGetName", api.device_name);
  look_up(library, "cuDeviceTotalMem_v2", api.device_memory);
  look_up(library, "cuDeviceGetAttribute", api.device_attribute);
  look_up(library, "cuDeviceGetDefaultMemPool", api.device_pool);
  look_up(library, "cuMemPoolSetAttribute", api.pool_set);
  look_up(library, "cuMemPoolTrimTo", api.pool_trim);
  look_up(library, "cuDevicePrimaryCtxRetain", api.context_retain);
  look_up(library, "cuDevicePrimaryCtxRelease_v2", api.context_release);
  look_up(library, "cuCtxGetCurrent", api.context_current);
  look_up(library, "cuCtxPushCurrent_v2", api.context_push);
  look_up(library, "cuCtxPopCurrent_v2", api.context_pop);
  look_up(library, "cuCtxSynchronize", api.context_synchronize);
}

void look_up_memory(void* library, CudaApi& api) {
  look_up(library, "cuMemGetInfo_v2", api.memory_info);
  look_up(library, "cuMemAllocAsync", api.allocate);
  look_up(library, "cuMemFreeAsync", api.free);
  look_up(library, "cuMemHostAlloc", api.host_allocate);
  look_up(library, "cuMemFreeHost", api.host_free);
  look_up(library, "cuMemcpyHtoDAsync_v2", api.copy_to_device);
  look_up(library, "cuMemcpyDtoHAsync_v2", api.copy_to_host);
  look_up(library, "cuMemcpyDtoDAsync_v2", api.copy_on_device);
  look_up(library, "cuMemsetD8Async", api.fill_bytes);
  look_up(library, "cuStreamCreate", api.stream_create);
  look_up(library, "cuStreamDestroy_v2", api.stream_destroy);
  look_up(library, "cuStreamSynchronize", api.stream_synchronize);
  look_up(library, "cuStreamWaitEvent", api.stream_wait);
  look_up(library, "cuEventCreate", api.event_create);
  look_up(library, "cuEventDestroy_v2", api.event_destroy);
  look_up(library, "cuEventRecord", api.event_record);
  look_up(library, "cuEventRecordWithFlags", api.event_record_as);
  look_up(library, "cuEventSynchronize", api.event_synchronize);
  look_up(library, "cuEventElapsedTime", api.event_elapsed);
}

void look_up_kernels(void* library, CudaApi& api) {
  look_up(library, "cuModuleLoadData", api.module_load);
  look_up(library, "cuModuleUnload", api.module_unload);
  look_up(library, "cuModuleGetFunction", api.module_function);
  look_up(library, "cuFuncGetAttribute", api.function_get);
  look_up(library, "cuFuncSetAttribute", api.function_set);
  look_up(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", api.resident_blocks);
  look_up(library, "cuOccupancyMaxActiveClusters", api.resident_clusters);
  look_up(library, "cuLaunchKernelEx", api.launch);
  look_up(library, "cuStreamBeginCapture_v2", api.capture_begin);
  look_up(library, "cuStreamEndCapture", api.capture_end);
  look_up(library, "cuStreamGetCaptureInfo_v2", api.capture_info);
  look_up(library, "cuGraphDestroy", api.graph_destroy);
  look_up(library, "cuGraphInstantiateWithFlags", api.graph_instantiate);
  look_up(library, "cuGraphExecDestroy", api.graph_executable_destroy);
  look_up(library, "cuGraphLaunch", api.graph_launch);
  look_up(library, "cuGraphExecUpdate_v2", api.graph_update);
  look_up(library, "cuGraphExecKernelNodeSetParams_v2", api.graph_set_kernel);
}

CudaApi load_api() {
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw Error(ErrorKind::input, "no CUDA driver: a GPU's programs run through libcuda.so.1", {},
                {fmt::format("the loader says: {}", reason != nullptr ? reason : "nothing"),
                 "install NVIDIA's driver; without one, `--device h200` still plans for a GPU"});
  }
  CudaApi api{};
  look_up_devices(library, api);
  look_up_memory(library, api);
  look_up_kernels(library, api);
  const int result = api.init(0);
  if (result != cuda_success) fail_cuda(api, result, "start the driver");
  return api;
}

std::string text_of(int (*ask)(int, const char**), int result) {
  const char* text = nullptr;
  return ask(result, &text) == cuda_success && text != nullptr ? text : std::to_string(result);
}

// After these the context runs nothing any more.
bool loses_context(int result) { return result >= 700 && result <= 719 && result != 701; }

}  // namespace

const CudaApi& cuda_api() {
  struct LoadedDriver {
    std::mutex mutex;
    std::optional<CudaApi> api;
  };
  static LoadedDriver* const loaded = new LoadedDriver;  // outlives static destructors
  const std::lock_guard lock(loaded->mutex);
  if (!loaded->api) loaded->api = load_api();
  return *loaded->api;
}

void fail_cuda(const CudaApi& api, int result, const std::string& attempted) {
  std::vector<std::string> notes;
  if (loses_context(result)) {
    notes.emplace_back(
        "a kernel that was launched earlier may be at fault; the driver runs "
        "nothing more on this device in this process");
  }
  throw Error(ErrorKind::input,
              fmt::format("CUDA: cannot {}: {}, {}", attempted, text_of(api.error_name, result),
                          text_of(api.error_string, result)),
              {}, notes);
}

}  // namespace ingot
