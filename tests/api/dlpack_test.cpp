// Tensors of other libraries through DLPack, on the CPU; tests/gpu/dlpack_test.cpp has a GPU's.
#include <gtest/gtest.h>

#include <dlpack/dlpack.h>
#include <ingot/ingot.h>

#include "support/errors.h"

namespace ingot::testing {
namespace {

const char* const text =
    "graph g(x: f32[B, 4], y: f32[4]) { z = add(x, y) s = sum(z) return z, s }";

// Of another library: notes when it is given back.
struct Foreign {
  DLManagedTensor managed = {};
  std::vector<int64_t> shape, strides;
  std::vector<float> data;
  int deleted = 0;

  Foreign(std::vector<int64_t> of_shape, std::vector<int64_t> of_strides, size_t elements)
      : shape(std::move(of_shape)), strides(std::move(of_strides)), data(elements) {
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
    managed.dl_tensor = {data.data(),
                         {kDLCPU, 0},
                         static_cast<int>(shape.size()),
                         {kDLFloat, 32, 1},
                         shape.data(),
                         strides.empty() ? nullptr : strides.data(),
                         0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted;
    };
  }
};

TEST(Dlpack, InputsAndOutputsOfOthersAreUsedInPlace) {
  const Compiled compiled = Program::parse(text).compile();
  Foreign x({3, 4}, {1, 3}, 12), y({4}, {}, 4), z({3, 4}, {8, 2}, 24), s({}, {}, 1);
  compiled.run_dlpack({&x.managed, &y.managed}, {&z.managed, &s.managed});
  float sum = 0;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(z.data[8 * i + 2 * j], static_cast<float>(i + 3 * j + j));
      EXPECT_EQ(z.data[8 * i + 2 * j + 1], static_cast<float>(8 * i + 2 * j + 1));  // as it was
      sum += z.data[8 * i + 2 * j];
    }
  }
  EXPECT_EQ(s.data[0], sum);
  EXPECT_EQ(x.deleted + y.deleted + z.deleted + s.deleted, 0);  // they stay the caller's
}

TEST(Dlpack, AnOffsetIsPartOfThePlace) {
  Foreign x({2}, {}, 5);
  x.managed.dl_tensor.byte_offset = 8;
  EXPECT_EQ(view_of(x.managed).data, x.data.data() + 2);
}

TEST(Dlpack, OutputsOfIngotLiveUntilTheirDeleter) {
  std::vector<DLManagedTensor*> outputs;
  {
    const Compiled compiled = Program::parse(text).compile();
    Foreign x({2, 4}, {}, 8), y({4}, {}, 4);
    outputs = compiled.run_dlpack({&x.managed, &y.managed});
  }
  ASSERT_EQ(outputs.size(), 2U);
  const DLTensor& z = outputs[0]->dl_tensor;
  EXPECT_EQ(z.device.device_type, kDLCPU);
  EXPECT_EQ(std::vector<int64_t>(z.shape, z.shape + z.ndim), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(std::vector<int64_t>(z.strides, z.strides + z.ndim), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(static_cast<const float*>(z.data)[7], 10.0F);
  EXPECT_EQ(static_cast<const float*>(outputs[1]->dl_tensor.data)[0], 40.0F);
  EXPECT_EQ(outputs[1]->dl_tensor.ndim, 0);
  for (DLManagedTensor* output : outputs) output->deleter(output);
}

TEST(Dlpack, EveryDTypeThatHasACodeGoesThereAndBack) {
  for (const DType dtype : all_dtypes) {
    Tensor tensor(dtype, {3, 0, 2});
    if (dtype == DType::f8e4m3 || dtype == DType::f8e5m2) {
      const Error error = error_of([&] { to_dlpack(tensor); });
      EXPECT_NE(error.message().find("no code for f8"), std::string::npos);
      continue;
    }
    DLManagedTensor* const managed = to_dlpack(tensor);
    const TensorView back = view_of(*managed);
    EXPECT_EQ(back.dtype, dtype);
    EXPECT_EQ(back.shape, tensor.shape());
    EXPECT_EQ(back.data, tensor.data());
    managed->deleter(managed);
  }
}

TEST(Dlpack, WhatDoesNotFitIsAnErrorThatSaysWhatDoes) {
  const Compiled compiled = Program::parse(text).compile();
  Foreign x({2, 4}, {}, 8), y({4}, {}, 4), z({2, 4}, {}, 8), s({}, {}, 1);
  const auto message = [&] {
    const Error error = error_of([&] {
      compiled.run_dlpack({&x.managed, &y.managed}, {&z.managed, &s.managed});
    });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.rendered();
  };
  x.managed.dl_tensor.device = {kDLCUDA, 1};
  EXPECT_NE(message().find("input 0 lies on cuda:1, the program runs on cpu"), std::string::npos);
  x.managed.dl_tensor.device = {kDLCPU, 0};
  x.managed.dl_tensor.dtype = {kDLComplex, 64, 1};
  EXPECT_NE(message().find("known: bool, i8"), std::string::npos);
  x.managed.dl_tensor.dtype = {kDLFloat, 32, 2};
  EXPECT_NE(message().find("2 lanes"), std::string::npos);
  x.managed.dl_tensor.dtype = {kDLFloat, 64, 1};
  EXPECT_NE(message().find("x: expected f32, got f64"), std::string::npos);
  x.managed.dl_tensor.dtype = {kDLFloat, 32, 1};
  z.strides = {0, 1};
  z.managed.dl_tensor.strides = z.strides.data();
  EXPECT_NE(message().find("stride 0"), std::string::npos);
  z.managed.dl_tensor.strides = nullptr;
  compiled.run_dlpack({&x.managed, &y.managed}, {&z.managed, &s.managed});
  EXPECT_EQ(z.data[7], 10.0F);
}

}  // namespace
}  // namespace ingot::testing
