// A function on a stack of its own that is left and entered again anywhere in it.
#pragma once

#include <cstddef>
#include <memory>

namespace ingot::testing {

class Fiber {
 public:
  Fiber();  // with a stack; a page below it that cannot be touched
  // The next switch to it calls `body`, which must not return.
  void start(void (*body)(void*), void* argument);
  // Leaves `from`, whose next switch goes on behind this call.
  static void switch_between(Fiber& from, Fiber& to);

 private:
  std::shared_ptr<void> stack_;
  void* top_ = nullptr;  // of the stack while it is left
};

}  // namespace ingot::testing
