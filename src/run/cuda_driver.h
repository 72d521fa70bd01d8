// Devices, streams, events and memory of the CUDA driver, which is found at run time.
//
// Objects are handles: a copy speaks of the same thing, and the last one frees it. Calls are
// thread-safe (each makes its device current and restores what was); a stream that is being
// captured (cuda_kernel.h) belongs to one thread. Errors are Error{input} with what was
// attempted and the driver's name and text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ingot {

struct CudaDeviceInfo {
  int index;
  std::string name;  // "NVIDIA H200"
  int major, minor;  // compute capability
  int multiprocessors;
  int64_t memory_bytes, l2_bytes;
  int64_t shared_bytes;           // of a multiprocessor
  int64_t block_shared_bytes;     // at most, for one block
  int64_t reserved_shared_bytes;  // of each block
  int64_t registers;              // of a multiprocessor
  int threads, blocks;            // of a multiprocessor
  bool clusters, cooperative;
};
// "sm_90a": with the features that only this architecture has, from 9.0 on.
std::string architecture_of(const CudaDeviceInfo& device);

struct CudaDriverStatus {
  std::string version;  // "13.0"; "" if there is no driver
  std::string problem;  // why there is none, or no device
  std::vector<CudaDeviceInfo> devices;
};
// Never an error.
CudaDriverStatus cuda_driver_status();

struct CudaContext;

class CudaDevice {
 public:
  // Error{input} names the devices that there are.
  explicit CudaDevice(int index = 0);
  const CudaDeviceInfo& info() const;
  void synchronize() const;
  int64_t free_bytes() const;
  const std::shared_ptr<const CudaContext>& context() const { return context_; }

 private:
  std::shared_ptr<const CudaContext> context_;
};

class CudaEvent {
 public:
  explicit CudaEvent(const CudaDevice& device);
  void synchronize() const;
  double ms_since(const CudaEvent& start) const;  // both recorded and reached
  void* handle() const { return handle_.get(); }

 private:
  std::shared_ptr<const CudaContext> context_;
  std::shared_ptr<void> handle_;
};

struct CudaStreamState;
class CudaStream {
 public:
  explicit CudaStream(const CudaDevice& device);       // does not wait for the default stream
  CudaStream(const CudaDevice& device, void* handle);  // the caller's, which stays alive; may be 0
  void synchronize() const;
  void record(const CudaEvent& event) const;
  // The same for an event that is to have the time: in a graph that is being captured, of its runs.
  void mark(const CudaEvent& event) const;
  void wait(const CudaEvent& event) const;
  const CudaDevice& device() const;
  void* handle() const;
  const std::shared_ptr<CudaStreamState>& state() const { return state_; }

 private:
  std::shared_ptr<CudaStreamState> state_;
};

// Of the device's pool, in the order of a stream: valid from here on in that stream, and given back
// behind what the stream holds when the last handle goes.
class CudaMemory {
 public:
  CudaMemory() = default;
  CudaMemory(const CudaStream& stream, int64_t bytes);  // no room: an error with the bytes
  void* address() const { return address_.get(); }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> address_;
  int64_t bytes_ = 0;
};

// Of the host, where copies run beside kernels.
class CudaHostMemory {
 public:
  CudaHostMemory(const CudaDevice& device, int64_t bytes);
  void* address() const { return address_.get(); }

 private:
  std::shared_ptr<void> address_;
};

void copy_to_device(const CudaStream& stream, void* to, const void* from, int64_t bytes);
void copy_to_host(const CudaStream& stream, void* to, const void* from, int64_t bytes);
void copy_on_device(const CudaStream& stream, void* to, const void* from, int64_t bytes);
void fill_bytes(const CudaStream& stream, void* to, unsigned char value, int64_t bytes);

}  // namespace ingot
