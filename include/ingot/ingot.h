// ingot: a tensor program in, fused kernels out, with the evidence for every fusion.
//
//   ingot::Program p = ingot::Program::load("bias_gelu.ingot");
//   ingot::Options options;                       // device "cpu", numerics exact, fusion auto
//   ingot::Compiled c = p.compile(options);
//   std::vector<ingot::Tensor> y = c.run({x, b});
//   std::puts(c.explain().c_str());
//
// Everything throws ingot::Error and nothing else.
#pragma once

#include <ingot/compiled.h>
#include <ingot/dlpack.h>
#include <ingot/dtype.h>
#include <ingot/error.h>
#include <ingot/options.h>
#include <ingot/pages.h>
#include <ingot/program.h>
#include <ingot/tables.h>
#include <ingot/tensor.h>
