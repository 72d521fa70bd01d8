#include "plan/group_key.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "graph/constant_text.h"
#include "graph/graph_text.h"
#include "plan/choice.h"

namespace ingot {
namespace {

class KeyWriter {
 public:
  KeyWriter(const Graph& graph, const UnitGraph& units, const std::vector<NodeId>& nodes,
            const std::vector<NodeId>& outputs, const Bindings& sizes)
      : graph_(graph), units_(units), nodes_(nodes), outputs_(outputs), sizes_(sizes) {}

  GroupKey run() {
    for (NodeId id : with_views(graph_, units_, nodes_)) node(id);
    GroupKey key{std::move(text_), ""};
    for (const std::string& name : names_) {
      const auto found = sizes_.find(name);
      const int64_t size = found == sizes_.end() ? unlisted_size : found->second;
      key.sizes += fmt::format("{}{}", key.sizes.empty() ? "" : ",", size_class(size));
    }
    if (key.sizes.empty()) key.sizes = "-";
    return key;
  }

 private:
  void node(NodeId id) {
    const Node& node = graph_[id];
    std::vector<std::string> parts;
    for (NodeId operand : node.operands) parts.push_back(value(operand));
    for (const auto& [name, attr] : node.attrs) {
      parts.push_back(fmt::format("{}={}", name, attribute(attr)));
    }
    const std::string number = fmt::format("v{}", numbers_.size());
    text_ += fmt::format("{} = {}({}): {}{}{}\n", number, op_name(node.op), join(parts, ", "),
                         dtype_name(node.type.dtype), shape(node.type.shape), marks(id));
    numbers_[id] = number;
  }

  // Which unit it is of, and whether it is stored.
  std::string marks(NodeId id) {
    const int unit = units_.unit_of[static_cast<size_t>(id)];
    std::string text;
    if (unit >= 0)
      text += fmt::format(" @{}", unit_numbers_.emplace(unit, unit_numbers_.size()).first->second);
    if (std::ranges::binary_search(outputs_, id)) text += " stored";
    return text;
  }

  std::string value(NodeId id) {
    if (const auto found = numbers_.find(id); found != numbers_.end()) return found->second;
    const Node& node = graph_[id];
    if (is_literal(graph_, id)) return constant_text(*node.data);
    const std::string number = fmt::format("b{}", numbers_.size());
    text_ += fmt::format("{}: {}{}\n", number, dtype_name(node.type.dtype), shape(node.type.shape));
    return numbers_[id] = number;
  }

  Sym renamed(const Sym& size) {
    std::map<std::string, Sym, std::less<>> values;
    for (const std::string& name : size.variables()) {
      auto found = std::ranges::find(names_, name);
      if (found == names_.end()) found = names_.insert(names_.end(), name);
      values.emplace(name, Sym::var(fmt::format("n{}", found - names_.begin())));
    }
    return values.empty() ? size : size.substitute(values);
  }

  std::string shape(const Shape& sizes) {
    Shape own;
    for (const Sym& size : sizes) own.push_back(renamed(size));
    return shape_text(own);
  }

  std::string attribute(const AttrValue& attr) {
    if (const Shape* sizes = std::get_if<Shape>(&attr)) return shape(*sizes);
    return attr_text(attr);
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const std::vector<NodeId>& nodes_;
  const std::vector<NodeId>& outputs_;
  const Bindings& sizes_;
  std::string text_;
  std::map<NodeId, std::string> numbers_;
  std::map<int, size_t> unit_numbers_;
  std::vector<std::string> names_;  // of sizes
};

// "0-2,4"
std::string ranges_text(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += text.empty() ? "" : ",";
    text +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

std::optional<size_t> parse_number(std::string_view text) {
  size_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = status == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> list;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    list.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return list;
    at = end + 1;
  }
}

std::optional<std::vector<size_t>> parse_ranges(std::string_view text, size_t count) {
  std::vector<size_t> numbers;
  for (const std::string_view piece : pieces(text, ',')) {
    const std::vector<std::string_view> ends = pieces(piece, '-');
    const std::optional<size_t> first = parse_number(ends.front()),
                                last = parse_number(ends.back());
    if (ends.size() > 2 || !first || !last || *last < *first || *last >= count) return std::nullopt;
    for (size_t number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

GroupKey group_key(const Graph& graph, const UnitGraph& units, const std::vector<NodeId>& nodes,
                   const std::vector<NodeId>& outputs, const Bindings& sizes) {
  return KeyWriter(graph, units, nodes, outputs, sizes).run();
}

std::vector<std::vector<NodeId>> units_within(const UnitGraph& units,
                                              const std::vector<NodeId>& nodes) {
  std::map<int, std::vector<NodeId>> by_unit;
  for (NodeId id : nodes) by_unit[units.unit_of[static_cast<size_t>(id)]].push_back(id);
  std::vector<std::vector<NodeId>> list;
  for (auto& [unit, own] : by_unit) list.push_back(std::move(own));
  return list;
}

std::string parts_text(const UnitGraph& units, const std::vector<NodeId>& nodes,
                       const std::vector<Part>& parts) {
  const std::vector<std::vector<NodeId>> own = units_within(units, nodes);
  std::string text;
  for (const Part& part : parts) {
    std::vector<size_t> numbers;
    for (size_t u = 0; u < own.size(); ++u) {
      if (std::ranges::includes(part.nodes, own[u])) numbers.push_back(u);
    }
    text += (text.empty() ? "" : "|") + ranges_text(numbers);
  }
  return text;
}

std::optional<std::vector<Part>> parse_parts(const UnitGraph& units,
                                             const std::vector<NodeId>& nodes,
                                             std::string_view text) {
  const std::vector<std::vector<NodeId>> own = units_within(units, nodes);
  std::vector<bool> placed(own.size());
  std::vector<Part> parts;
  for (const std::string_view piece : pieces(text, '|')) {
    const std::optional<std::vector<size_t>> numbers = parse_ranges(piece, own.size());
    if (!numbers) return std::nullopt;
    Part part;
    bool owns = false;
    for (const size_t u : *numbers) {
      part.nodes.insert(part.nodes.end(), own[u].begin(), own[u].end());
      if (placed[u]) part.recomputed.insert(part.recomputed.end(), own[u].begin(), own[u].end());
      owns = owns || !placed[u];
      placed[u] = true;
    }
    std::ranges::sort(part.nodes);
    std::ranges::sort(part.recomputed);
    const bool twice = std::ranges::adjacent_find(part.nodes) != part.nodes.end();
    if (!owns || twice) return std::nullopt;
    parts.push_back(std::move(part));
  }
  if (std::ranges::count(placed, false) > 0) return std::nullopt;
  return parts;
}

}  // namespace ingot
