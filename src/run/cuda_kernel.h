// Kernels from cubins, their launches, and graphs of launches.
//
// Handles, threads and errors as in cuda_driver.h; a CudaGraph belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "run/cuda_driver.h"

namespace ingot {

struct CudaLaunch {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned cluster[3] = {1, 1, 1};
  unsigned shared_bytes = 0;       // dynamic
  bool cooperative = false;        // all blocks are resident, or it is an error
  bool overlaps_previous = false;  // programmatic dependent launch: the kernel waits by itself
};

struct CudaFunctionAttributes {
  int registers, shared_bytes, local_bytes, constant_bytes, max_threads;
};

class CudaFunction {
 public:
  CudaFunctionAttributes attributes() const;
  // More than 48 KiB of dynamic shared memory has to be asked for once; so have clusters of more
  // than 8 blocks.
  void allow_shared_bytes(int64_t bytes) const;
  void allow_large_clusters() const;
  int blocks_per_multiprocessor(int threads, int64_t shared_bytes) const;
  int resident_clusters(const CudaLaunch& launch) const;  // on the whole device
  // `arguments`: one pointer an argument, read before this returns.
  void launch(const CudaStream& stream, const CudaLaunch& launch, void** arguments) const;
  const std::string& name() const { return name_; }
  void* handle() const { return handle_; }

 private:
  friend class CudaModule;
  std::shared_ptr<void> module_;
  std::shared_ptr<const CudaContext> context_;
  void* handle_ = nullptr;
  std::string name_;
};

class CudaModule {
 public:
  CudaModule(const CudaDevice& device, const std::string& cubin, const std::string& name);
  CudaFunction function(const std::string& symbol) const;

 private:
  std::shared_ptr<const CudaContext> context_;
  std::shared_ptr<void> handle_;
  std::string name_;
};

// What a piece of work puts on a stream, captured to be launched by one call.
class CudaGraph {
 public:
  CudaGraph(const CudaStream& stream, const std::function<void()>& work);
  void launch(const CudaStream& stream) const;
  // Captures again. True: the same shape, changed in place; else it was instantiated anew.
  bool update(const CudaStream& stream, const std::function<void()>& work);
  // Kernels in order of their launches on the captured stream.
  size_t kernels() const { return nodes_.size(); }
  // Other sizes and arguments for one kernel; cluster and overlap stay as captured.
  void set_kernel(size_t kernel, const CudaFunction& function, const CudaLaunch& launch,
                  void** arguments);

 private:
  void instantiate(std::shared_ptr<void> graph, std::vector<void*> nodes);
  std::shared_ptr<const CudaContext> context_;
  std::shared_ptr<void> graph_, executable_;
  std::vector<void*> nodes_;
};

}  // namespace ingot
