// The functions of a GPU that promise the bits of the op's own formula.
#pragma once

#include <gtest/gtest.h>

#include <bit>

#include "device/cuda_functions.h"

namespace ingot::testing {

// Every `step`th operand.
inline void expect_same_bits(uint64_t step) {
  int functions = 0;
  for (scalar::threadIdx.x = 0; scalar::threadIdx.x < 32; scalar::threadIdx.x++) {
    scalar::exp_below_setup();
  }
  for (const scalar::CudaFunction& each : scalar::cuda_functions) {
    if (each.form != Form::same && each.form != Form::below) continue;
    functions++;
    scalar::errors = {};
    const Formula<float> full = formula<float>(each.op);
    const auto check = [&](float x) {
      if (each.form == Form::below && x > 0) return;
      const float want = full(x, 0, 0, 0, 0, 0), got = each.function(x);
      if (std::isnan(want) && std::isnan(got)) return;
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want))
          << op_name(each.op) << "(" << x << ") = " << got << ", not " << want;
    };
    for (uint64_t b = 0; b < uint64_t{1} << 32; b += step) {
      check(std::bit_cast<float>(static_cast<uint32_t>(b)));
    }
    for (float x = -110; x < 110; x += 0x1p-9F) check(x);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float x : {0.0F, -0.0F, infinity, -infinity}) check(x);
  }
  EXPECT_EQ(functions, 6);
}

}  // namespace ingot::testing
