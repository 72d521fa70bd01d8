// The kernels of a program; each is made runnable when it is first needed.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "run/run.h"

namespace ingot {

// `Loaded`: LoadedKernel on the CPU, DeviceKernel on a GPU.
template <class Loaded>
class KernelSet {
 public:
  using Loader =
      std::function<std::vector<Loaded>(const std::vector<const KernelSource*>& kernels)>;

  // `sources`: of all variants of each group.
  KernelSet(std::vector<std::vector<KernelSource>> sources, Loader load)
      : sources_(std::move(sources)), load_(std::move(load)) {
    for (const std::vector<KernelSource>& variants : sources_) ready_.emplace_back(variants.size());
  }

  const std::vector<std::vector<KernelSource>>& sources() const { return sources_; }
  size_t groups() const { return sources_.size(); }
  size_t variants(size_t group) const { return sources_[group].size(); }
  const KernelSource& source(KernelPlace place) const {
    return sources_[place.group][place.variant];
  }
  // Loads those that are not loaded yet, all at once. Thread-safe.
  void require(const std::vector<KernelPlace>& places);
  // Of a kernel that was required.
  const Loaded& loaded(KernelPlace place) const {
    return *ready_[place.group][place.variant].load(std::memory_order_acquire);
  }

 private:
  bool is_loaded(KernelPlace place) const {
    return ready_[place.group][place.variant].load(std::memory_order_acquire) != nullptr;
  }

  std::vector<std::vector<KernelSource>> sources_;
  Loader load_;
  std::vector<std::vector<std::atomic<const Loaded*>>> ready_;
  std::mutex mutex_;  // of loading
  std::vector<std::unique_ptr<const Loaded>> kernels_;
};

template <class Loaded>
void KernelSet<Loaded>::require(const std::vector<KernelPlace>& places) {
  const auto is_ready = [&](const KernelPlace& place) { return is_loaded(place); };
  if (std::all_of(places.begin(), places.end(), is_ready)) return;
  const std::lock_guard lock(mutex_);
  std::vector<KernelPlace> missing;
  for (const KernelPlace& place : places) {
    const bool known = std::find(missing.begin(), missing.end(), place) != missing.end();
    if (!is_loaded(place) && !known) missing.push_back(place);
  }
  std::vector<const KernelSource*> wanted;
  for (const KernelPlace& place : missing) wanted.push_back(&source(place));
  std::vector<Loaded> loaded = load_(wanted);
  INGOT_CHECK(loaded.size() == missing.size(), "{} kernels asked for, {} loaded", missing.size(),
              loaded.size());
  for (size_t i = 0; i < missing.size(); ++i) {
    kernels_.push_back(std::make_unique<const Loaded>(std::move(loaded[i])));
    ready_[missing[i].group][missing[i].variant].store(kernels_.back().get(),
                                                       std::memory_order_release);
  }
}

}  // namespace ingot
