// Rounding and flush modes: the defaults while the library computes, the caller's own afterwards.
#pragma once

namespace ingot {

class DefaultFloatEnvironment {
 public:
#if defined(__x86_64__)
  DefaultFloatEnvironment() : saved_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(0x1f80); }
  ~DefaultFloatEnvironment() { __builtin_ia32_ldmxcsr(saved_); }
#else
  DefaultFloatEnvironment() : saved_(0) {}
#endif
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  [[maybe_unused]] unsigned saved_;
};

}  // namespace ingot
