// Independent pieces of work, several at once.
#pragma once

#include <cstddef>
#include <functional>

namespace ingot {

// work(0) … work(count - 1) on up to `workers` threads, this one among them. All are run; then the
// first failure in order of the index is thrown.
void run_all(size_t count, int workers, const std::function<void(size_t)>& work);

}  // namespace ingot
