// Tensor: owned host data in row-major order; TensorView: somebody's data with strides.
// .npy and ONNX-free: the file format here is NumPy's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ingot/dtype.h>

namespace ingot {

// Row-major, 64-byte aligned, uninitialised unless said.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, std::vector<int64_t> shape);  // zero-filled
  static Tensor uninitialized(DType dtype, std::vector<int64_t> shape);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return size_; }  // elements
  int64_t bytes() const { return size_ * byte_size(dtype_); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_.get());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_.get());
  }

  // Element access by flat index with conversion: floats exactly, integers through int64.
  double get_f64(int64_t index) const;
  int64_t get_i64(int64_t index) const;
  void set_f64(int64_t index, double value);   // rounds once to the dtype
  void set_i64(int64_t index, int64_t value);  // wraps

 private:
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  std::shared_ptr<std::byte> data_;
};

// Caller's memory. Strides are in elements and may be 0 or negative.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // empty: row-major
};

TensorView view(Tensor& tensor);
TensorView view(const Tensor& tensor);

// .npy (versions 1 to 3, C and Fortran order, little endian). bf16 and f8 are written widened to
// f32.
Tensor read_npy(const std::string& path);
void write_npy(const std::string& path, const Tensor& tensor);

// Deterministic random data: floats normal·scale, integers uniform in [low, high), bool half true.
Tensor random_tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed, double scale,
                     int64_t low, int64_t high);

}  // namespace ingot
