#include "run/cuda_kernel.h"

#include <algorithm>

#include "base/error.h"
#include "run/cuda_state.h"

namespace ingot {
namespace {

// Numbers of function and launch attributes.
constexpr int function_max_threads = 0, function_shared = 1, function_constant = 2,
              function_local = 3, function_registers = 4, function_max_dynamic_shared = 8,
              function_large_clusters = 14;
constexpr unsigned launch_cooperative = 2, launch_cluster = 4, launch_overlap = 6;
constexpr int capture_thread_local = 1;

// The driver's form of a launch; it points into itself.
struct Settings {
  CudaLaunchAttribute attributes[3] = {};
  CudaLaunchSettings launch = {};

  Settings(const CudaLaunch& asked, void* stream) {
    std::copy(asked.grid, asked.grid + 3, launch.grid);
    std::copy(asked.block, asked.block + 3, launch.block);
    launch.shared_bytes = asked.shared_bytes;
    launch.stream = stream;
    launch.attributes = attributes;
    if (asked.cluster[0] * asked.cluster[1] * asked.cluster[2] > 1) {
      std::copy(asked.cluster, asked.cluster + 3, add(launch_cluster).value.numbers);
    }
    if (asked.cooperative) add(launch_cooperative).value.flag = 1;
    if (asked.overlaps_previous) add(launch_overlap).value.flag = 1;
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

 private:
  CudaLaunchAttribute& add(unsigned id) {
    CudaLaunchAttribute& attribute = attributes[launch.attribute_count++];
    attribute.id = id;
    return attribute;
  }
};

std::string launch_text(const std::string& name, const CudaLaunch& launch) {
  const auto sizes = [](const unsigned* size) {
    return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
  };
  return fmt::format(
      "launch '{}' with a grid of {} blocks of {} threads, clusters of {}, {} bytes "
      "of dynamic shared memory{}",
      name, sizes(launch.grid), sizes(launch.block), sizes(launch.cluster), launch.shared_bytes,
      launch.cooperative ? ", cooperative" : "");
}

// The node that the last call put at the end of a stream under capture.
void* last_captured(const CudaContext& context, void* stream) {
  int status = 0;
  uint64_t id = 0;
  void* graph = nullptr;
  void* const* nodes = nullptr;
  size_t count = 0;
  context.check(context.api.capture_info(stream, &status, &id, &graph, &nodes, &count),
                "find a captured kernel");
  INGOT_CHECK(count == 1, "a launch is captured as {} nodes", count);
  return nodes[0];
}

struct Captured {
  std::shared_ptr<void> graph;
  std::vector<void*> nodes;
};

Captured capture(const CudaStream& stream, const std::function<void()>& work) {
  const std::shared_ptr<const CudaContext> context = stream.device().context();
  const CurrentContext current(*context);
  Captured captured;
  void* graph = nullptr;
  context->check(context->api.capture_begin(stream.handle(), capture_thread_local),
                 "begin to capture a graph");
  stream.state()->captured = &captured.nodes;
  try {
    work();
  } catch (...) {
    stream.state()->captured = nullptr;
    context->api.capture_end(stream.handle(), &graph);
    if (graph != nullptr) context->api.graph_destroy(graph);
    throw;
  }
  stream.state()->captured = nullptr;
  context->check(context->api.capture_end(stream.handle(), &graph), "capture a graph");
  captured.graph = std::shared_ptr<void>(graph, [context](void* handle) {
    free_in_context(*context, [&] { context->api.graph_destroy(handle); });
  });
  return captured;
}

}  // namespace

CudaModule::CudaModule(const CudaDevice& device, const std::string& cubin, const std::string& name)
    : context_(device.context()), name_(name) {
  const CurrentContext current(*context_);
  void* module = nullptr;
  const int result = context_->api.module_load(&module, cubin.data());
  if (result != cuda_success) {
    fail_cuda(context_->api, result,
              fmt::format("load the cubin '{}' on device {} ({}, {})", name, device.info().index,
                          device.info().name, architecture_of(device.info())));
  }
  handle_ = std::shared_ptr<void>(module, [context = context_](void* handle) {
    free_in_context(*context, [&] { context->api.module_unload(handle); });
  });
}

CudaFunction CudaModule::function(const std::string& symbol) const {
  const CurrentContext current(*context_);
  CudaFunction function;
  const int result =
      context_->api.module_function(&function.handle_, handle_.get(), symbol.c_str());
  if (result != cuda_success) {
    fail_cuda(context_->api, result, fmt::format("find '{}' in the cubin '{}'", symbol, name_));
  }
  function.module_ = handle_;
  function.context_ = context_;
  function.name_ = symbol;
  return function;
}

CudaFunctionAttributes CudaFunction::attributes() const {
  const CurrentContext current(*context_);
  const auto value = [&](int attribute) {
    int number = 0;
    context_->check(context_->api.function_get(&number, attribute, handle_),
                    "read a kernel's attributes");
    return number;
  };
  return {value(function_registers), value(function_shared), value(function_local),
          value(function_constant), value(function_max_threads)};
}

void CudaFunction::allow_shared_bytes(int64_t bytes) const {
  const CurrentContext current(*context_);
  const int result =
      context_->api.function_set(handle_, function_max_dynamic_shared, static_cast<int>(bytes));
  if (result != cuda_success) {
    fail_cuda(context_->api, result,
              fmt::format("give '{}' {} bytes of dynamic shared memory (a block has at most {})",
                          name_, bytes, context_->info.block_shared_bytes));
  }
}

void CudaFunction::allow_large_clusters() const {
  const CurrentContext current(*context_);
  context_->check(context_->api.function_set(handle_, function_large_clusters, 1),
                  "allow clusters of more than 8 blocks");
}

int CudaFunction::blocks_per_multiprocessor(int threads, int64_t shared_bytes) const {
  const CurrentContext current(*context_);
  int blocks = 0;
  context_->check(
      context_->api.resident_blocks(&blocks, handle_, threads, static_cast<size_t>(shared_bytes)),
      "count resident blocks");
  return blocks;
}

int CudaFunction::resident_clusters(const CudaLaunch& launch) const {
  const CurrentContext current(*context_);
  const Settings settings(launch, nullptr);
  int clusters = 0;
  context_->check(context_->api.resident_clusters(&clusters, handle_, &settings.launch),
                  "count resident clusters");
  return clusters;
}

void CudaFunction::launch(const CudaStream& stream, const CudaLaunch& launch,
                          void** arguments) const {
  const CurrentContext current(*context_);
  const Settings settings(launch, stream.handle());
  const int result = context_->api.launch(&settings.launch, handle_, arguments, nullptr);
  if (result != cuda_success) fail_cuda(context_->api, result, launch_text(name_, launch));
  std::vector<void*>* const captured = stream.state()->captured;
  if (captured != nullptr) captured->push_back(last_captured(*context_, stream.handle()));
}

CudaGraph::CudaGraph(const CudaStream& stream, const std::function<void()>& work)
    : context_(stream.device().context()) {
  Captured captured = capture(stream, work);
  instantiate(std::move(captured.graph), std::move(captured.nodes));
}

void CudaGraph::instantiate(std::shared_ptr<void> graph, std::vector<void*> nodes) {
  const CurrentContext current(*context_);
  void* executable = nullptr;
  context_->check(context_->api.graph_instantiate(&executable, graph.get(), 0),
                  "make a captured graph executable");
  executable_ = std::shared_ptr<void>(executable, [context = context_](void* handle) {
    free_in_context(*context, [&] { context->api.graph_executable_destroy(handle); });
  });
  graph_ = std::move(graph);
  nodes_ = std::move(nodes);
}

void CudaGraph::launch(const CudaStream& stream) const {
  const CurrentContext current(*context_);
  context_->check(context_->api.graph_launch(executable_.get(), stream.handle()), "launch a graph");
}

bool CudaGraph::update(const CudaStream& stream, const std::function<void()>& work) {
  Captured captured = capture(stream, work);
  const CurrentContext current(*context_);
  CudaGraphUpdate update{};
  const int result = context_->api.graph_update(executable_.get(), captured.graph.get(), &update);
  if (result == cuda_success) return true;  // the old graph's nodes go on naming the kernels
  if (result != cuda_graph_update_failed) fail_cuda(context_->api, result, "update a graph");
  instantiate(std::move(captured.graph), std::move(captured.nodes));
  return false;
}

void CudaGraph::set_kernel(size_t kernel, const CudaFunction& function, const CudaLaunch& launch,
                           void** arguments) {
  INGOT_CHECK(kernel < nodes_.size(), "kernel {} of {}", kernel, nodes_.size());
  const CurrentContext current(*context_);
  CudaKernelNode node{};
  node.function = function.handle();
  std::copy(launch.grid, launch.grid + 3, node.grid);
  std::copy(launch.block, launch.block + 3, node.block);
  node.shared_bytes = launch.shared_bytes;
  node.arguments = arguments;
  const int result = context_->api.graph_set_kernel(executable_.get(), nodes_[kernel], &node);
  if (result != cuda_success) {
    fail_cuda(context_->api, result,
              "change a graph's kernel: " + launch_text(function.name(), launch));
  }
}

}  // namespace ingot
