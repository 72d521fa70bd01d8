// What docs/functions.md says about the functions that stand for others in the modes wide and fast.
#pragma once

namespace ingot::testing {

struct Approximation {
  const char* function;
  const char* reference;      // the f64 function
  double relative, absolute;  // the error is at most their sum
  double reach = 0;           // of operands up to that magnitude; 0: of all
};

inline constexpr Approximation approximations[] = {
    // a GPU's
    {"exp_hardware", "exp", 0x1p-22, 1.2e-38},
    {"exp_approximate", "exp", 4e-6, 1.2e-38},
    {"sigmoid_wide", "sigmoid", 4.5e-7, 1.2e-38},
    {"sigmoid_approximate", "sigmoid", 4e-6, 1.2e-38},
    {"silu_wide", "silu", 5e-7, 1.1e-36},
    {"silu_approximate", "silu", 4e-6, 1.1e-36},
    {"gelu_tanh_approximate", "gelu_tanh", 1e-5, 2e-37},
    {"gelu_nearest", "gelu", 1.1e-3, 4.6e-41},
    {"gelu_approximate", "gelu", 1.2e-3, 1.8e-37},
    {"tanh_approximate", "tanh", 1.2e-5, 0},
    {"tanh_short", "tanh", 0, 2.4e-7},
    {"tanh_wide", "tanh", 3.1e-7, 0},
    {"tanh_near", "tanh", 2.7e-7, 0, 0.875},
    {"erf_wide", "erf", 2.4e-7, 1.5e-45},
    {"erf_added", "erf", 0, 2.4e-7},
    {"rsqrt_hardware", "rsqrt", 1.3e-7, 0},
    // every device's
    {"exp_short", "exp", 0x1p-20, 1.5e-45},
    {"sigmoid_short", "sigmoid", 0x1p-20, 1.7e-38},
    {"silu_short", "silu", 0x1p-20, 1.5e-36},
    {"gelu_tanh_short", "gelu_tanh", 2e-5, 2e-37},
    {"gelu_short", "gelu", 0x1p-23, 2.2e-8},
    {"gelu_bf16", "gelu", 3.8e-5, 1e-37},
    {"tanh_narrow", "tanh", 1.13e-7, 0, 0.875},
    {"tanh_narrower", "tanh", 1.5e-7, 0, 0.5625},
    {"sigmoid_narrow", "sigmoid", 1.25e-7, 0, 1.0625},
    {"sigmoid_narrower", "sigmoid", 7e-8, 0, 0.6875},
};

}  // namespace ingot::testing
