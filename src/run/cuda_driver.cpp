#include "run/cuda_driver.h"

#include "base/error.h"
#include "base/text.h"
#include "run/cuda_state.h"

namespace ingot {
namespace {

// Numbers of device attributes.
constexpr int multiprocessor_count = 16, l2_size = 38, threads_of_multiprocessor = 39,
              capability_major = 75, capability_minor = 76, shared_of_multiprocessor = 81,
              registers_of_multiprocessor = 82, cooperative_launch = 95, shared_of_block = 97,
              blocks_of_multiprocessor = 106, reserved_shared_of_block = 111, memory_pools = 115,
              cluster_launch = 120;
constexpr int pool_release_threshold = 4;
constexpr unsigned stream_non_blocking = 1;

CudaDeviceInfo read_device(const CudaApi& api, int index) {
  int device = 0;
  int result = api.device_get(&device, index);
  char name[256] = {};
  if (result == cuda_success) result = api.device_name(name, sizeof name - 1, device);
  size_t bytes = 0;
  if (result == cuda_success) result = api.device_memory(&bytes, device);
  const auto attribute = [&](int number) {
    int value = 0;
    if (result == cuda_success) result = api.device_attribute(&value, number, device);
    return value;
  };
  CudaDeviceInfo info{};
  info.index = index;
  info.name = name;
  info.memory_bytes = static_cast<int64_t>(bytes);
  info.major = attribute(capability_major);
  info.minor = attribute(capability_minor);
  info.multiprocessors = attribute(multiprocessor_count);
  info.l2_bytes = attribute(l2_size);
  info.shared_bytes = attribute(shared_of_multiprocessor);
  info.block_shared_bytes = attribute(shared_of_block);
  info.reserved_shared_bytes = attribute(reserved_shared_of_block);
  info.registers = attribute(registers_of_multiprocessor);
  info.threads = attribute(threads_of_multiprocessor);
  info.blocks = attribute(blocks_of_multiprocessor);
  info.clusters = attribute(cluster_launch) != 0;
  info.cooperative = attribute(cooperative_launch) != 0;
  if (result != cuda_success) fail_cuda(api, result, fmt::format("read device {}", index));
  return info;
}

std::vector<CudaDeviceInfo> read_devices(const CudaApi& api) {
  int count = 0;
  const int result = api.device_count(&count);
  if (result != cuda_success) fail_cuda(api, result, "count devices");
  std::vector<CudaDeviceInfo> devices;
  for (int index = 0; index < count; ++index) devices.push_back(read_device(api, index));
  return devices;
}

CudaAddress address_of(const void* pointer) { return reinterpret_cast<CudaAddress>(pointer); }

[[noreturn]] void fail_allocation(const CudaContext& context, int result, int64_t bytes) {
  const std::string attempted = fmt::format("allocate {} bytes on device {} ({})", bytes,
                                            context.info.index, context.info.name);
  if (result != cuda_out_of_memory) fail_cuda(context.api, result, attempted);
  size_t free_bytes = 0, total_bytes = 0;
  context.api.memory_info(&free_bytes, &total_bytes);
  try {
    fail_cuda(context.api, result, attempted);
  } catch (const Error& error) {
    throw error.with_note(fmt::format("{} of {} bytes are free", free_bytes, total_bytes));
  }
}

}  // namespace

std::string architecture_of(const CudaDeviceInfo& device) {
  return fmt::format("sm_{}{}{}", device.major, device.minor, device.major >= 9 ? "a" : "");
}

CudaDriverStatus cuda_driver_status() {
  CudaDriverStatus status;
  try {
    const CudaApi& api = cuda_api();
    int version = 0;
    api.driver_version(&version);
    status.version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    status.devices = read_devices(api);
    if (status.devices.empty()) status.problem = "the driver finds no device";
  } catch (const Error& error) {
    status.problem = error.message();
  }
  return status;
}

CudaContext::CudaContext(const CudaApi& driver, CudaDeviceInfo device_info)
    : api(driver), info(std::move(device_info)), device(0), handle(nullptr), pool(nullptr) {
  check(api.device_get(&device, info.index), "open the device");
  int has_pools = 0;
  check(api.device_attribute(&has_pools, memory_pools, device), "read the device");
  if (has_pools == 0) {
    throw Error(ErrorKind::unsupported,
                fmt::format("device {} ({}) has no stream-ordered memory", info.index, info.name));
  }
  check(api.device_pool(&pool, device), "find the device's memory pool");
  // Freed memory stays in the pool: the next allocation takes no call into the system.
  uint64_t everything = UINT64_MAX;
  check(api.pool_set(pool, pool_release_threshold, &everything), "keep memory in the pool");
  check(api.context_retain(&handle, device), "make a context on the device");
}

CudaContext::~CudaContext() { api.context_release(device); }

CurrentContext::CurrentContext(const CudaContext& context) : context_(context), pushed_(false) {
  void* current = nullptr;
  context.check(context.api.context_current(&current), "find the current device");
  if (current == context.handle) return;
  context.check(context.api.context_push(context.handle), "make the device current");
  pushed_ = true;
}

CurrentContext::~CurrentContext() {
  void* popped = nullptr;
  if (pushed_) context_.api.context_pop(&popped);
}

CudaDevice::CudaDevice(int index) {
  const CudaApi& api = cuda_api();
  const std::vector<CudaDeviceInfo> devices = read_devices(api);
  if (index < 0 || static_cast<size_t>(index) >= devices.size()) {
    std::vector<std::string> names;
    for (const CudaDeviceInfo& device : devices) {
      names.push_back(fmt::format("{} ({})", device.index, device.name));
    }
    throw Error(ErrorKind::input, fmt::format("there is no CUDA device {}", index), {},
                {names.empty() ? "the driver finds none" : "there are: " + join(names, ", ")});
  }
  context_ = std::make_shared<const CudaContext>(api, devices[static_cast<size_t>(index)]);
}

const CudaDeviceInfo& CudaDevice::info() const { return context_->info; }

void CudaDevice::synchronize() const {
  const CurrentContext current(*context_);
  context_->check(context_->api.context_synchronize(), "wait for the device");
}

int64_t CudaDevice::free_bytes() const {
  const CurrentContext current(*context_);
  size_t free_bytes = 0, total_bytes = 0;
  context_->check(context_->api.memory_info(&free_bytes, &total_bytes), "read the free memory");
  return static_cast<int64_t>(free_bytes);
}

CudaEvent::CudaEvent(const CudaDevice& device) : context_(device.context()) {
  const CurrentContext current(*context_);
  void* event = nullptr;
  context_->check(context_->api.event_create(&event, 0), "make an event");
  handle_ = std::shared_ptr<void>(
      event, [context = context_](void* handle) { context->api.event_destroy(handle); });
}

void CudaEvent::synchronize() const {
  const CurrentContext current(*context_);
  context_->check(context_->api.event_synchronize(handle()), "wait for an event");
}

double CudaEvent::ms_since(const CudaEvent& start) const {
  const CurrentContext current(*context_);
  float ms = 0;
  context_->check(context_->api.event_elapsed(&ms, start.handle(), handle()),
                  "read the time between two events");
  return ms;
}

CudaStreamState::~CudaStreamState() {
  const CudaContext& context = *device.context();
  if (owned) free_in_context(context, [&] { context.api.stream_destroy(handle); });
}

CudaStream::CudaStream(const CudaDevice& device) {
  const CudaContext& context = *device.context();
  const CurrentContext current(context);
  void* stream = nullptr;
  context.check(context.api.stream_create(&stream, stream_non_blocking), "make a stream");
  state_ = std::make_shared<CudaStreamState>(device, stream, true);
}

CudaStream::CudaStream(const CudaDevice& device, void* handle)
    : state_(std::make_shared<CudaStreamState>(device, handle, false)) {}

const CudaDevice& CudaStream::device() const { return state_->device; }

void* CudaStream::handle() const { return state_->handle; }

void CudaStream::synchronize() const {
  const CudaContext& context = *device().context();
  const CurrentContext current(context);
  context.check(context.api.stream_synchronize(handle()), "wait for a stream");
}

void CudaStream::record(const CudaEvent& event) const {
  const CudaContext& context = *device().context();
  const CurrentContext current(context);
  context.check(context.api.event_record(event.handle(), handle()), "record an event");
}

void CudaStream::mark(const CudaEvent& event) const {
  constexpr unsigned external = 1;  // a node of the graph, not an edge between its streams
  if (state_->captured == nullptr) return record(event);
  const CudaContext& context = *device().context();
  const CurrentContext current(context);
  context.check(context.api.event_record_as(event.handle(), handle(), external),
                "record an event in a graph");
}

void CudaStream::wait(const CudaEvent& event) const {
  const CudaContext& context = *device().context();
  const CurrentContext current(context);
  context.check(context.api.stream_wait(handle(), event.handle(), 0),
                "let a stream wait for an event");
}

CudaMemory::CudaMemory(const CudaStream& stream, int64_t bytes) : bytes_(bytes) {
  INGOT_CHECK(bytes >= 0, "{} bytes", bytes);
  if (bytes == 0) return;
  const CudaContext& context = *stream.device().context();
  const CurrentContext current(context);
  CudaAddress address = 0;
  const auto allocate = [&] {
    return context.api.allocate(&address, static_cast<size_t>(bytes), stream.handle());
  };
  int result = allocate();
  if (result == cuda_out_of_memory && stream.state()->captured == nullptr) {
    // What the pool keeps may be in pieces, or may be waiting for work that frees it.
    context.api.context_synchronize();
    context.api.pool_trim(context.pool, 0);
    result = allocate();
  }
  if (result != cuda_success) fail_allocation(context, result, bytes);
  address_ = std::shared_ptr<void>(
      reinterpret_cast<void*>(address), [state = stream.state()](void* pointer) {
        const CudaContext& of = *state->device.context();
        free_in_context(of, [&] { of.api.free(address_of(pointer), state->handle); });
      });
}

CudaHostMemory::CudaHostMemory(const CudaDevice& device, int64_t bytes) {
  const std::shared_ptr<const CudaContext>& context = device.context();
  const CurrentContext current(*context);
  void* address = nullptr;
  const int result = context->api.host_allocate(&address, static_cast<size_t>(bytes), 0);
  if (result != cuda_success) {
    fail_cuda(context->api, result, fmt::format("allocate {} bytes of page-locked memory", bytes));
  }
  address_ = std::shared_ptr<void>(address, [context](void* pointer) {
    free_in_context(*context, [&] { context->api.host_free(pointer); });
  });
}

void copy_to_device(const CudaStream& stream, void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  const CudaContext& context = *stream.device().context();
  const CurrentContext current(context);
  context.check(
      context.api.copy_to_device(address_of(to), from, static_cast<size_t>(bytes), stream.handle()),
      "copy to the device");
}

void copy_to_host(const CudaStream& stream, void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  const CudaContext& context = *stream.device().context();
  const CurrentContext current(context);
  context.check(
      context.api.copy_to_host(to, address_of(from), static_cast<size_t>(bytes), stream.handle()),
      "copy from the device");
}

void copy_on_device(const CudaStream& stream, void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  const CudaContext& context = *stream.device().context();
  const CurrentContext current(context);
  context.check(context.api.copy_on_device(address_of(to), address_of(from),
                                           static_cast<size_t>(bytes), stream.handle()),
                "copy on the device");
}

void fill_bytes(const CudaStream& stream, void* to, unsigned char value, int64_t bytes) {
  if (bytes == 0) return;
  const CudaContext& context = *stream.device().context();
  const CurrentContext current(context);
  context.check(
      context.api.fill_bytes(address_of(to), value, static_cast<size_t>(bytes), stream.handle()),
      "fill memory of the device");
}

}  // namespace ingot
