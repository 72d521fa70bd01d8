#include "support/every_op.h"

#include "base/text.h"
#include "op/op.h"

namespace ingot::testing {
namespace {

std::vector<std::string> calls(const OpInfo& info, std::string_view dtype) {
  if (info.op == Op::select) return {"select(m, a, b)"};
  std::vector<std::string> all;
  if (info.op == Op::cast) {
    for (const DType to : all_dtypes) {
      all.push_back(fmt::format("cast(a, dtype={})", dtype_name(to)));
    }
  } else if (info.category == Category::reduction) {
    all = {fmt::format("{}(a, dims=[1])", info.name), fmt::format("{}(a, dims=[0])", info.name)};
  } else {
    const std::string operands =
        std::string("a, b, c").substr(0, static_cast<size_t>(3 * info.max_operands - 2));
    all = {fmt::format("{}({})", info.name, operands)};
    // Once more with other attributes: the defaults are often neutral.
    if (!info.attrs.empty() && is_float(*parse_dtype(dtype))) {
      std::string attrs;
      for (const AttrInfo& attr : info.attrs) attrs += fmt::format(", {}=0.75", attr.name);
      all.push_back(fmt::format("{}({}{})", info.name, operands, attrs));
    }
  }
  return all;
}

}  // namespace

std::string every_op_program(DType dtype, int64_t columns) {
  const std::string_view name = dtype_name(dtype);
  std::string text = fmt::format(
      "graph ops_{0}(a: {0}[B, {1}], b: {0}[B, {1}], c: {0}[B, {1}], m: bool[B, {1}]) {{\n", name,
      columns);
  std::vector<std::string> results;
  for (const OpInfo& info : all_ops()) {
    const bool computed =
        info.category == Category::elementwise || info.category == Category::reduction;
    if (!computed || !accepts(info.operands, dtype)) continue;
    for (const std::string& call : calls(info, name)) {
      results.push_back(fmt::format("r{}_{}", results.size(), info.name));
      text += fmt::format("  {} = {}\n", results.back(), call);
    }
  }
  return text + "  return " + join(results, ", ") + "\n}\n";
}

}  // namespace ingot::testing
