// How many threads a library that runs on OpenMP takes, as oneDNN does in distributions.
#pragma once

#include <dlfcn.h>

namespace ingot {

// While this lives, regions that this thread begins have `count` threads. The setting is each
// thread's own; the caller's is put back.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int count) : saved_(calls().get != nullptr ? calls().get() : count) {
    changed_ = saved_ != count;
    if (changed_) calls().set(count);
  }
  ~OpenMpThreads() {
    if (changed_) calls().set(saved_);
  }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  struct Calls {
    int (*get)();
    void (*set)(int);
  };
  // Looked up, because a oneDNN without OpenMP has none.
  static const Calls& calls() {
    static const Calls found = {
        reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
    return found;
  }
  int saved_;
  bool changed_ = false;
};

}  // namespace ingot
