#include "onnx/op_forms.h"

#include <algorithm>
#include <limits>
#include <span>
#include <sstream>

#include "base/text.h"

namespace ingot::onnx_model {
namespace {

constexpr size_t any = std::numeric_limits<size_t>::max();

struct OpForm {
  std::string_view name;
  int64_t since;
  size_t min_inputs, max_inputs, max_outputs;  // no outputs: the op is gone
  std::string_view attributes;                 // a required one ends with an exclamation mark
};

// By name, then by version.
constexpr OpForm all_forms[] = {
#include "onnx/op_forms.inc"
};

std::span<const OpForm> forms_of(std::string_view op_type) {
  auto [first, last] = std::ranges::equal_range(all_forms, op_type, {}, &OpForm::name);
  return {first, last};
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

bool has_attribute(const OpForm& form, const std::string& name) {
  std::vector<std::string> names = words(form.attributes);
  return std::ranges::find(names, name) != names.end() ||
         std::ranges::find(names, name + "!") != names.end();
}

// "opsets 6 to 10", "opset 13 and later", of all forms with this property; empty if there is none.
template <typename Has>
std::string opsets_with(std::span<const OpForm> forms, Has has) {
  std::vector<std::string> spans;
  for (size_t i = 0; i < forms.size(); ++i) {
    if (!has(forms[i])) continue;
    const int64_t since = forms[i].since;
    while (i + 1 < forms.size() && has(forms[i + 1])) ++i;
    spans.push_back(i + 1 == forms.size()
                        ? fmt::format("opset {} and later", since)
                        : fmt::format("opsets {} to {}", since, forms[i + 1].since - 1));
  }
  return join(spans, " and ");
}

std::optional<std::string> wrong_attribute(const FileNode& node, std::span<const OpForm> forms,
                                           const OpForm& form) {
  for (const auto& [name, value] : node.attributes) {
    if (has_attribute(form, name)) continue;
    std::string elsewhere =
        opsets_with(forms, [&name = name](const OpForm& f) { return has_attribute(f, name); });
    return fmt::format("it has no attribute {}{}", name,
                       elsewhere.empty() ? "" : ", which is of " + elsewhere);
  }
  for (const std::string& name : words(form.attributes)) {
    if (!name.ends_with('!')) continue;
    std::string bare = name.substr(0, name.size() - 1);
    if (!node.attributes.contains(bare)) return fmt::format("it needs attribute {}", bare);
  }
  return std::nullopt;
}

std::string range_text(size_t from, size_t to) {
  if (from == to) return fmt::format("{}", from);
  return to == any ? fmt::format("at least {}", from) : fmt::format("{} to {}", from, to);
}

// Names left out at the end do not count.
size_t count_given(const std::vector<std::string>& names) {
  size_t count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

std::optional<std::string> wrong_count(const FileNode& node, const OpForm& form) {
  const size_t inputs = count_given(node.inputs), outputs = count_given(node.outputs);
  if (inputs < form.min_inputs || inputs > form.max_inputs) {
    return fmt::format("it has {} inputs instead of {}", inputs,
                       range_text(form.min_inputs, form.max_inputs));
  }
  if (outputs > form.max_outputs) {
    return fmt::format("it has {} outputs, at most {} are allowed", outputs, form.max_outputs);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> contradiction(const FileNode& node, int64_t opset) {
  if (!node.domain.empty()) return std::nullopt;
  std::span<const OpForm> forms = forms_of(node.op_type);
  if (forms.empty()) return std::nullopt;
  auto later = std::ranges::find_if(forms, [&](const OpForm& f) { return f.since > opset; });
  const OpForm* form = later == forms.begin() ? nullptr : &*std::prev(later);
  if (!form || form->max_outputs == 0) {
    return fmt::format("{} is of {}, the file has opset {}", node.op_type,
                       opsets_with(forms, [](const OpForm& f) { return f.max_outputs > 0; }),
                       opset);
  }
  std::optional<std::string> wrong = wrong_attribute(node, forms, *form);
  if (!wrong) wrong = wrong_count(node, *form);
  if (!wrong) return std::nullopt;
  return fmt::format("{} of opset {}: {}", node.op_type, opset, *wrong);
}

}  // namespace ingot::onnx_model
