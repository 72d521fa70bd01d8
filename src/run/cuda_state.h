// What the handles of cuda_driver.h share, and making a device current.
#pragma once

#include <vector>

#include "run/cuda_api.h"
#include "run/cuda_driver.h"

namespace ingot {

struct CudaContext {
  const CudaApi& api;
  CudaDeviceInfo info;
  int device;    // the driver's number
  void* handle;  // the primary context, which other libraries in this process share
  void* pool;
  CudaContext(const CudaApi& driver, CudaDeviceInfo device_info);
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext();

  void check(int result, const char* attempted) const {
    if (result != cuda_success) fail_cuda(api, result, attempted);
  }
};

struct CudaStreamState {
  CudaDevice device;
  void* handle;
  bool owned;
  std::vector<void*>* captured = nullptr;  // kernel nodes, while a graph is made
  CudaStreamState(const CudaDevice& of, void* stream, bool is_owned)
      : device(of), handle(stream), owned(is_owned) {}
  CudaStreamState(const CudaStreamState&) = delete;
  CudaStreamState& operator=(const CudaStreamState&) = delete;
  ~CudaStreamState();
};

// The device is current in this thread as long as this lives. Nothing is pushed where it already
// is: that saves 0.1 us a launch.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context);
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

 private:
  const CudaContext& context_;
  bool pushed_;
};

// The same for what frees a handle: no error, because at the end of the process the driver may be
// gone already.
template <class Body>
void free_in_context(const CudaContext& context, const Body& body) noexcept {
  void* popped = nullptr;
  if (context.api.context_push(context.handle) != cuda_success) return;
  body();
  context.api.context_pop(&popped);
}

}  // namespace ingot
