// Tensors of other libraries: DLPack's structs ↔ views and memory.

#include <ingot/dlpack.h>

#include <dlpack/dlpack.h>

#include "api/state.h"
#include "base/error.h"
#include "base/float_environment.h"
#include "base/text.h"
#include "run/sizing.h"

namespace ingot {
namespace {

constexpr int code_bool = 6;  // of DLPack 0.8 and later; before, bool had the code of u8

DLDataType to_dl(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * byte_size(dtype));
  if (dtype == DType::f8e4m3 || dtype == DType::f8e5m2) {
    throw Error(ErrorKind::input, fmt::format("DLPack has no code for {}", dtype_name(dtype)), {},
                {"cast it to f16, bf16 or f32, or view its bytes as u8"});
  }
  const int code = dtype == DType::boolean ? code_bool
                   : dtype == DType::bf16  ? kDLBfloat
                   : is_float(dtype)       ? kDLFloat
                   : is_unsigned(dtype)    ? kDLUInt
                                           : kDLInt;
  return {static_cast<uint8_t>(code), bits, 1};
}

DType from_dl(const DLDataType& type) {
  for (const DType dtype : all_dtypes) {
    if (dtype == DType::f8e4m3 || dtype == DType::f8e5m2) continue;
    const DLDataType known = to_dl(dtype);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return dtype;
  }
  throw Error(ErrorKind::input,
              fmt::format("a tensor of DLPack's type code {}, {} bits, {} lanes", type.code,
                          type.bits, type.lanes),
              {}, {"known: bool, i8 to i64, u8 to u64, f16, bf16, f32, f64 of one lane"});
}

std::string device_name(const DLDevice& device) {
  switch (device.device_type) {
    case kDLCPU:
      return "cpu";
    case kDLCUDA:
      return fmt::format("cuda:{}", device.device_id);
    case kDLCUDAHost:
      return "pinned memory of cuda";
    default:
      return fmt::format("DLPack's device {}:{}", static_cast<int>(device.device_type),
                         device.device_id);
  }
}

TensorView view_anywhere(const DLTensor& tensor) {
  TensorView view;
  view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (tensor.data == nullptr) view.data = nullptr;
  view.dtype = from_dl(tensor.dtype);
  view.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  if (tensor.strides != nullptr) view.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  return view;
}

// Where a program's tensors have to lie.
bool lies_here(const DLDevice& device, const std::optional<CudaDevice>& cuda) {
  if (!cuda) return device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
  return device.device_type == kDLCUDA && device.device_id == cuda->info().index;
}

std::vector<TensorView> views_of(const std::vector<DLManagedTensor*>& tensors,
                                 const std::optional<CudaDevice>& cuda, std::string_view what) {
  std::vector<TensorView> views;
  for (const DLManagedTensor* tensor : tensors) {
    if (tensor == nullptr) {
      throw Error(ErrorKind::input, fmt::format("{} {} is null", what, views.size()));
    }
    const DLDevice& device = tensor->dl_tensor.device;
    if (!lies_here(device, cuda)) {
      throw Error(ErrorKind::input,
                  fmt::format("{} {} lies on {}, the program runs on {}", what, views.size(),
                              device_name(device),
                              cuda ? fmt::format("cuda:{}", cuda->info().index) : "cpu"),
                  {}, {"move the tensor, or compile the program for its device"});
    }
    views.push_back(view_anywhere(tensor->dl_tensor));
  }
  return views;
}

// What the other library holds of ours.
template <class Memory>
struct Exported {
  DLManagedTensor managed = {};
  Memory memory;
  std::vector<int64_t> shape, strides;
};

template <class Memory>
DLManagedTensor* exported(Memory memory, void* data, DType dtype, std::vector<int64_t> shape,
                          DLDevice device) {
  auto own = std::make_unique<Exported<Memory>>();
  own->memory = std::move(memory);
  own->shape = std::move(shape);
  own->strides.resize(own->shape.size());
  int64_t stride = 1;
  for (size_t d = own->shape.size(); d-- > 0;) {
    own->strides[d] = stride;
    stride *= std::max<int64_t>(own->shape[d], 1);
  }
  DLTensor& tensor = own->managed.dl_tensor;
  tensor.data = data;
  tensor.device = device;
  tensor.ndim = static_cast<int>(own->shape.size());
  tensor.dtype = to_dl(dtype);
  tensor.shape = own->shape.data();
  tensor.strides = own->strides.data();
  own->managed.manager_ctx = own.get();
  own->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported<Memory>*>(self->manager_ctx);
  };
  return &own.release()->managed;
}

// Deletes what was made where a later step fails.
struct Outputs {
  std::vector<DLManagedTensor*> tensors;
  Outputs() = default;
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  ~Outputs() {
    for (DLManagedTensor* tensor : tensors) tensor->deleter(tensor);
  }
};

}  // namespace

TensorView view_of(const DLManagedTensor& tensor) {
  if (!lies_here(tensor.dl_tensor.device, std::nullopt)) {
    throw Error(ErrorKind::input, fmt::format("a tensor on {} has no memory of the CPU",
                                              device_name(tensor.dl_tensor.device)));
  }
  return view_anywhere(tensor.dl_tensor);
}

DLManagedTensor* to_dlpack(Tensor tensor) {
  void* const data = tensor.data();
  const DType dtype = tensor.dtype();
  std::vector<int64_t> shape = tensor.shape();
  return exported(std::move(tensor), data, dtype, std::move(shape), {kDLCPU, 0});
}

void Compiled::run_dlpack(const std::vector<DLManagedTensor*>& inputs,
                          const std::vector<DLManagedTensor*>& outputs, void* stream) const {
  const DefaultFloatEnvironment defaults;
  const Runnable& executable = state().executable();
  const std::vector<TensorView> in = views_of(inputs, state().target.cuda, "input");
  const std::vector<TensorView> out = views_of(outputs, state().target.cuda, "output");
  if (!state().target.cuda) return executable.run(in, out);
  const CudaStream callers(*state().target.cuda, stream);
  state().main->device_executable->run_in_place(in, out, callers);
}

std::vector<DLManagedTensor*> Compiled::run_dlpack(const std::vector<DLManagedTensor*>& inputs,
                                                   void* stream) const {
  const Runnable& executable = state().executable();
  std::vector<std::vector<int64_t>> shapes;
  for (const TensorView& view : views_of(inputs, state().target.cuda, "input")) {
    shapes.push_back(view.shape);
  }
  Outputs outputs;
  const Graph& graph = executable.graph();
  const std::vector<std::vector<int64_t>> output_shapes = executable.output_shapes(shapes);
  for (size_t i = 0; i < output_shapes.size(); ++i) {
    const DType dtype = graph[graph.outputs[i]].type.dtype;
    if (!state().target.cuda) {
      outputs.tensors.push_back(to_dlpack(Tensor::uninitialized(dtype, output_shapes[i])));
      continue;
    }
    const CudaStream callers(*state().target.cuda, stream);
    CudaMemory memory(callers, byte_count(dtype, output_shapes[i], graph.output_names[i]));
    void* const address = memory.address();
    outputs.tensors.push_back(exported(std::move(memory), address, dtype, output_shapes[i],
                                       {kDLCUDA, state().target.cuda->info().index}));
  }
  run_dlpack(inputs, outputs.tensors, stream);
  return std::exchange(outputs.tensors, {});
}

}  // namespace ingot
