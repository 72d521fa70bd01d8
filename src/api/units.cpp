#include "api/units.h"

#include <algorithm>

#include "base/text.h"

namespace ingot {

UnitList make_units(std::vector<const KernelSource*> kernels, const EditedKernels& edited,
                    size_t count, const UnitText& text) {
  UnitList list;
  std::map<std::string_view, const KernelSource*> known;  // by key
  std::erase_if(kernels, [&](const KernelSource* kernel) {
    if (const auto found = edited.find(kernel->name); found != edited.end()) {
      list.function_of[kernel->name] = kernel;
      list.unit_of[kernel->name] = list.units.size();
      list.units.push_back(found->second);
      return true;
    }
    const auto [first, is_new] = known.emplace(kernel->key, kernel);
    list.function_of[kernel->name] = first->second;
    return !is_new;
  });
  std::stable_sort(
      kernels.begin(), kernels.end(),
      [](const KernelSource* a, const KernelSource* b) { return a->text.size() > b->text.size(); });
  count = std::min(count, kernels.size());
  std::vector<std::vector<const KernelSource*>> parts(count);
  std::vector<size_t> length(count, 0);
  const size_t first = list.units.size();
  for (const KernelSource* kernel : kernels) {
    const size_t part =
        static_cast<size_t>(std::min_element(length.begin(), length.end()) - length.begin());
    parts[part].push_back(kernel);
    length[part] += kernel->text.size();
    list.unit_of[kernel->name] = first + part;
  }
  for (const auto& part : parts) {
    const std::string name =
        part.size() == 1 ? part[0]->name : fmt::format("{}_and_{}", part[0]->name, part.size() - 1);
    list.units.push_back({name, text(part)});
  }
  return list;
}

}  // namespace ingot
