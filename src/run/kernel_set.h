// The kernels of a program; each is made runnable when it is first needed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "run/run.h"

namespace ingot {

class KernelSet {
 public:
  // `sources`: of all variants of each group.
  KernelSet(std::vector<std::vector<KernelSource>> sources, KernelLoader load);

  size_t groups() const { return sources_.size(); }
  size_t variants(size_t group) const { return sources_[group].size(); }
  const KernelSource& source(KernelPlace place) const {
    return sources_[place.group][place.variant];
  }
  // Loads those that are not loaded yet, all at once. Thread-safe.
  void require(const std::vector<KernelPlace>& places);
  // Of a kernel that was required.
  const LoadedKernel& loaded(KernelPlace place) const {
    return *ready_[place.group][place.variant].load(std::memory_order_acquire);
  }

 private:
  bool is_loaded(KernelPlace place) const {
    return ready_[place.group][place.variant].load(std::memory_order_acquire) != nullptr;
  }

  std::vector<std::vector<KernelSource>> sources_;
  KernelLoader load_;
  std::vector<std::vector<std::atomic<const LoadedKernel*>>> ready_;
  std::mutex mutex_;  // of loading
  std::vector<std::unique_ptr<const LoadedKernel>> kernels_;
};

}  // namespace ingot
