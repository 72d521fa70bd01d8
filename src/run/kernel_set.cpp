#include "run/kernel_set.h"

#include <algorithm>

#include "base/error.h"

namespace ingot {

LoadedKernel loaded_kernel(const KernelSource& source, const Library& library) {
  LoadedKernel kernel;
  for (const PhaseSource& phase : source.phases) {
    kernel.phases.push_back(library.entry(phase.symbol));
  }
  kernel.library = library;
  return kernel;
}

KernelSet::KernelSet(std::vector<std::vector<KernelSource>> sources, KernelLoader load)
    : sources_(std::move(sources)), load_(std::move(load)) {
  for (const std::vector<KernelSource>& variants : sources_) ready_.emplace_back(variants.size());
}

void KernelSet::require(const std::vector<KernelPlace>& places) {
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
  std::vector<LoadedKernel> loaded = load_(wanted);
  INGOT_CHECK(loaded.size() == missing.size(), "{} kernels asked for, {} loaded", missing.size(),
              loaded.size());
  for (size_t i = 0; i < missing.size(); ++i) {
    kernels_.push_back(std::make_unique<const LoadedKernel>(std::move(loaded[i])));
    ready_[missing[i].group][missing[i].variant].store(kernels_.back().get(),
                                                       std::memory_order_release);
  }
}

}  // namespace ingot
