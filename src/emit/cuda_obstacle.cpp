// Why a kernel has no CUDA text yet.
#include "base/text.h"
#include "emit/emit.h"

namespace ingot {
namespace {

using namespace loop;

bool has_product(const std::vector<Stmt>& body) {
  for (const Stmt& stmt : body) {
    if (std::holds_alternative<Product>(stmt)) return true;
    const auto* inner = std::get_if<std::shared_ptr<Loop>>(&stmt);
    if (inner != nullptr && has_product((*inner)->body)) return true;
  }
  return false;
}

}  // namespace

std::string cuda_obstacle(const Kernel& kernel) {
  if (fits_cuda(kernel)) return "";
  for (const Phase& phase : kernel.phases) {
    if (has_product(phase.body)) return "it holds a matrix product or convolution";
  }
  return fmt::format("it keeps '{}' in a buffer of each thread's own", kernel.scratch.at(0).name);
}

}  // namespace ingot
