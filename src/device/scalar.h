// The device library for one value on the host: ingot::scalar::exp(float) has the same bits as a
// lane of a generated kernel. Entry point: call the functions by name. Compile with
// -ffp-contract=off.
#pragma once

#include "device/scalar_conversions.h"
#include "device/scalar_words.h"

namespace ingot::scalar {

// Masks are combined with & and |, which for lanes is the only way.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#endif
#define INLINE inline
#define SLOW inline
#define TABLE inline constexpr
// in this order, because f32 calls f64:
// clang-format off
#include "device/elementary_f64.inc"
#include "device/trigonometric_f64.inc"
#include "device/tables_f32.inc"
#include "device/elementary_f32.inc"
#include "device/shorter_f32.inc"
#include "device/trigonometric_f32.inc"
#include "device/integer.inc"
// clang-format on
#if defined(__clang__)
#pragma clang diagnostic pop
#endif
#undef INLINE
#undef SLOW
#undef TABLE

}  // namespace ingot::scalar
