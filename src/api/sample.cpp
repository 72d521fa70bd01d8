// Data and sizes for a program's inputs.

#include <algorithm>
#include <charconv>
#include <cmath>

#include "api/state.h"
#include "base/float_environment.h"
#include "base/text.h"
#include "onnx/import.h"
#include "report/report.h"

namespace ingot {
namespace {

size_t input_position(const Graph& graph, const std::string& name) {
  std::vector<std::string> known;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    known.push_back(graph[graph.inputs[i]].name);
    if (known.back() == name) {
      return i;
    }
  }
  throw Error(ErrorKind::input, fmt::format("no input is named '{}'; this program has {}", name,
                                            known.empty() ? "no inputs" : join(known, ", ")));
}

// size = factor · name + rest, with both numbers.
struct LinearSize {
  std::string name;
  int64_t factor, rest;
};
std::optional<LinearSize> linear(const Sym& size) {
  const std::set<std::string> names = size.variables();
  if (names.size() != 1) {
    return std::nullopt;
  }
  const std::optional<Sym> factor = size.stride(*names.begin());
  if (!factor || !factor->constant() || *factor->constant() == 0) {
    return std::nullopt;
  }
  return LinearSize{*names.begin(), *factor->constant(), size.constant_part()};
}

// Sizes so far, and what said so.
struct LearntSizes {
  Sizes sizes;
  std::map<std::string, std::string> told_by;  // "x[0]"
};

void learn_size(LearntSizes& learnt, const std::string& where, const Sym& size, int64_t given,
                const Location& location = {}) {
  const auto fail = [&](std::string_view why) {
    fail_input(location, fmt::format("{}: expected {}, got {}{}", where, size.text(), given, why));
  };
  if (const std::optional<int64_t> fixed = size.constant()) {
    if (*fixed != given) {
      fail("");
    }
    return;
  }
  const std::optional<LinearSize> form = linear(size);
  if (!form) {
    return;  // several names: checked when all sizes are known
  }
  const int64_t part = given - form->rest;
  if (part % form->factor != 0 || part / form->factor < 0) {
    fail(fmt::format(": no {} gives that", form->name));
  }
  const auto [known, added] = learnt.sizes.try_emplace(form->name, part / form->factor);
  if (!added && known->second != part / form->factor) {
    fail(fmt::format(", but {} = {}{}", form->name, known->second,
                     learnt.told_by.contains(form->name)
                         ? fmt::format(" by {}", learnt.told_by[form->name])
                         : " elsewhere"));
  }
  if (added) learnt.told_by[form->name] = where;
}

struct SampleSpec {
  std::string kind;
  uint64_t seed = 0;
  double scale = 1;
};

template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && end == text.data() + text.size();
}

SampleSpec parse_spec(const std::string& input, const std::string& text) {
  const size_t colon = text.find(':');
  SampleSpec spec;
  spec.kind = text.substr(0, colon);
  bool good = spec.kind == "random" || colon == std::string::npos;
  if (good && colon != std::string::npos) {
    const std::string rest = text.substr(colon + 1);
    const size_t second = rest.find(':');
    good = read_number(std::string_view(rest).substr(0, second), spec.seed);
    if (good && second != std::string::npos) {
      good = read_number(std::string_view(rest).substr(second + 1), spec.scale) &&
             std::isfinite(spec.scale);
    }
  }
  if (!good || (spec.kind != "random" && spec.kind != "zeros" && spec.kind != "ones" &&
                spec.kind != "iota")) {
    throw Error(ErrorKind::input,
                fmt::format("input {}: '{}' is not known; it is random, random:SEED, "
                            "random:SEED:SCALE, zeros, ones, iota, or a .npy or .pb file",
                            input, text));
  }
  return spec;
}

}  // namespace

void learn_dimension(const Graph& graph, const std::string& name, int64_t value, Sizes& sizes) {
  if (value < 0) {
    throw Error(ErrorKind::input, fmt::format("dimension {} = {} is negative", name, value));
  }
  const auto merged = graph.merged_sizes.find(name);
  const std::vector<std::string> names = size_names(graph);
  if (std::ranges::find(names, name) == names.end() && merged == graph.merged_sizes.end()) {
    throw Error(ErrorKind::input,
                fmt::format("no dimension is named '{}'; this program has {}", name,
                            names.empty() ? "no named dimensions" : join(names, ", ")));
  }
  LearntSizes learnt{std::move(sizes), {}};
  learn_size(learnt, "dimension " + name,
             merged == graph.merged_sizes.end() ? Sym::var(name) : merged->second, value);
  sizes = std::move(learnt.sizes);
}

Sizes Program::sizes_of_dimension(const std::string& name, int64_t value) const {
  Sizes sizes;
  learn_dimension(state().current(), name, value, sizes);
  return sizes;
}

Sizes Program::sizes_of(const std::map<std::string, std::vector<int64_t>>& shapes) const {
  const Graph& graph = state().current();
  LearntSizes learnt;
  for (const auto& [name, given] : shapes) {
    const Node& node = graph[graph.inputs[input_position(graph, name)]];
    const Shape& shape = node.type.shape;
    if (given.size() != shape.size()) {
      fail_input(node.location, fmt::format("{}: expected {} {}, got {}", name,
                                            counted(std::ssize(shape), "dimension"),
                                            shape_text(shape), given.size()));
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      if (given[i] >= 0) {
        learn_size(learnt, fmt::format("{}[{}]", name, i), shape[i], given[i], node.location);
      }
    }
  }
  return learnt.sizes;
}

Tensor Program::sample(const std::string& input, const std::string& spec,
                       const Sizes& sizes) const {
  const DefaultFloatEnvironment defaults;
  const Graph& graph = state().current();
  const size_t position = input_position(graph, input);
  const SampleSpec parsed = parse_spec(input, spec);
  Bindings bindings(sizes.begin(), sizes.end());
  for (const std::string& name : ingot::size_names(graph)) {
    bindings.try_emplace(name, 1);
  }
  if (parsed.kind == "random") {
    return random_input(graph, position, bindings, parsed.seed, parsed.scale);
  }
  const TensorType& type = graph[graph.inputs[position]].type;
  Tensor tensor(type.dtype, ingot::evaluate(type.shape, bindings));
  if (parsed.kind == "zeros") {
    return tensor;
  }
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t value = parsed.kind == "ones" ? 1 : i;
    if (is_float(type.dtype)) {
      tensor.set_f64(i, static_cast<double>(value));
    } else {
      tensor.set_i64(i, type.dtype == DType::boolean ? value & 1 : value);
    }
  }
  return tensor;
}

Tensor load_tensor(const std::string& path) {
  if (path.ends_with(".npy")) {
    return read_npy(path);
  }
  if (path.ends_with(".pb")) {
    return import_onnx_tensor(path);
  }
  throw Error(ErrorKind::input,
              fmt::format("{}: a tensor's file ends in .npy or .pb (ONNX TensorProto)", path));
}

}  // namespace ingot
