// The op table as JSON. Its other texts stand in op/op_docs.h.

#include <ingot/ingot.h>

#include <nlohmann/json.hpp>

#include "onnx/import.h"
#include "op/op.h"

namespace ingot {
namespace {

std::string_view category_text(Category category) {
  switch (category) {
    case Category::elementwise:
      return "elementwise";
    case Category::reduction:
      return "reduction";
    case Category::movement:
      return "movement";
    case Category::contraction:
      return "contraction";
    case Category::creation:
      return "creation";
    case Category::scan:
      return "scan";
    case Category::scatter:
      return "scatter";
    case Category::composite:
      return "composite";
  }
  return "";
}

std::string_view dtypes_text(DTypeSet set) {
  switch (set) {
    case DTypeSet::any:
      return "any";
    case DTypeSet::number:
      return "number";
    case DTypeSet::floating:
      return "float";
    case DTypeSet::integer:
      return "integer";
    case DTypeSet::boolean:
      return "bool";
    case DTypeSet::integer_or_boolean:
      return "integer or bool";
    case DTypeSet::u64:
      return "u64";
  }
  return "";
}

}  // namespace

std::string ops_json() {
  using Json = nlohmann::ordered_json;
  Json ops = Json::array();
  for (const OpInfo& info : all_ops()) {
    Json attributes = Json::array();
    for (const AttrInfo& attr : info.attrs) {
      const bool required = attr.default_text.empty();
      attributes.push_back(
          {{"name", attr.name}, {"default", required ? Json(nullptr) : Json(attr.default_text)}});
    }
    ops.push_back(
        {{"name", info.name},
         {"category", category_text(info.category)},
         {"min_operands", info.min_operands},
         {"max_operands", info.max_operands < 0 ? Json(nullptr) : Json(info.max_operands)},
         {"dtypes", dtypes_text(info.operands)},
         {"flops", info.flops},
         {"attributes", attributes},
         {"onnx", info.onnx},
         {"doc", info.doc}});
  }
  return Json{{"ops", ops}, {"onnx_ops", imported_onnx_ops()}}.dump(2);
}

}  // namespace ingot
