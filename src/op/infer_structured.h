// Inference of ops whose result's shape is not simply that of their operands.
#pragma once

#include "op/infer.h"

namespace ingot::infer {

struct Context {
  const OpInfo& info;
  std::span<const TensorType> operands;
  const Attrs& attrs;
  std::vector<SizeEquality>* equalities;  // may be null

  // Error{input}: "matmul: f32[4, 3] × f32[2, 5]: " and the reason.
  [[noreturn]] void fail(std::string_view reason) const;
  // Demands a = b; the number if one of them is one.
  Sym equal_sizes(const Sym& a, const Sym& b, std::string_view what) const;
  Shape broadcast(const Shape& a, const Shape& b) const;
  // A dimension given as an integer attribute, counted from the end if negative.
  size_t dim(std::string_view name, int64_t rank) const;
};

Shape structured_shape(const Context& c);
// Of ops with windows (infer_windows.cpp).
Shape conv(const Context& c);
Shape window(const Context& c);
Shape pooled(const Context& c);

}  // namespace ingot::infer
