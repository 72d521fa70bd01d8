// Everything about a program that depends on the sizes of its inputs, as plain numbers: made once
// for a set of input shapes, so that a call evaluates no expression.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "run/run.h"

namespace ingot {

struct VariantSizing {
  bool permitted = false;  // its guards hold; the rest is filled only then
  std::vector<long> sizes;
  std::vector<int64_t> workspace_offset;  // of each parameter in the arena; -1: no workspace
  std::vector<int64_t> extents;           // of the phases
};

struct Sizing {
  std::vector<std::vector<int64_t>> output_shapes;
  std::vector<int64_t> input_bytes, output_bytes;
  std::vector<int64_t> node_offset;  // of intermediates in the arena; -1: lives elsewhere
  int64_t arena_bytes = 0;           // intermediates and workspaces
  int64_t scratch_bytes = 0;         // of one thread
  std::vector<std::vector<VariantSizing>> groups;
};

// Of a tensor of that name; Error{input} beyond 64 bits.
int64_t byte_count(DType dtype, const std::vector<int64_t>& shape, const std::string& name);

// Whether intermediates and workspaces that are not alive together may lie in the same place.
enum class ArenaUse : uint8_t { in_turn, apart };

// Error{input} for shapes that do not fit the program.
Sizing make_sizing(const Graph& graph, const Plan& plan,
                   const std::vector<std::vector<KernelSource>>& sources,
                   const std::vector<std::vector<int64_t>>& input_shapes,
                   ArenaUse use = ArenaUse::in_turn);

// Sizings by the shapes of the inputs; all are forgotten when there are many.
template <class Made>
class SizingCache {
 public:
  // `make` gets the shapes. Thread-safe.
  template <class Make>
  std::shared_ptr<const Made> find(const std::vector<TensorView>& inputs, const Make& make) {
    constexpr size_t most_kept = 64;
    std::vector<int64_t> key;
    for (const TensorView& input : inputs) {
      key.push_back(static_cast<int64_t>(input.shape.size()));
      key.insert(key.end(), input.shape.begin(), input.shape.end());
    }
    {
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(key);
      if (found != known_.end()) return found->second;
    }
    std::vector<std::vector<int64_t>> shapes;
    for (const TensorView& input : inputs) shapes.push_back(input.shape);
    auto made = std::make_shared<const Made>(make(shapes));
    const std::lock_guard lock(mutex_);
    if (known_.size() >= most_kept) known_.clear();
    known_[std::move(key)] = made;
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::shared_ptr<const Made>> known_;
};

}  // namespace ingot
