#include "run/arguments.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

std::string shape_of(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void check_view(const TensorView& view, const std::string& name, DType dtype) {
  if (view.dtype != dtype) {
    fail_input({}, fmt::format("{}: expected {}, got {}", name, dtype_name(dtype),
                               dtype_name(view.dtype)));
  }
  if (!view.strides.empty() && view.strides.size() != view.shape.size()) {
    fail_input({}, fmt::format("{}: {} strides for shape {}", name, view.strides.size(),
                               shape_of(view.shape)));
  }
}

void check_output(const TensorView& view, const std::string& name, DType dtype,
                  const std::vector<int64_t>& shape, int64_t bytes) {
  check_view(view, name, dtype);
  if (view.shape != shape) {
    fail_input({},
               fmt::format("{}: expected {}, got {}", name, shape_of(shape), shape_of(view.shape)));
  }
  if (bytes > 0 && view.data == nullptr) fail_input({}, fmt::format("{}: no memory given", name));
  for (size_t d = 0; bytes > 0 && d < view.strides.size(); ++d) {
    if (view.strides[d] == 0 && shape[d] > 1) {
      fail_input({}, fmt::format("{}: an output cannot have stride 0 (dimension {} of {})", name, d,
                                 shape_of(shape)));
    }
  }
  if (bytes > 0 && repeats_elements(view)) {
    fail_input({}, fmt::format("{}: elements of an output share memory: shape {}, strides {}", name,
                               shape_of(shape), shape_of(view.strides)));
  }
}

// One result may be asked for twice at one place.
bool is_same_place(const Graph& graph, const std::vector<TensorView>& outputs, size_t i, size_t k) {
  return graph.outputs[i] == graph.outputs[k] && outputs[i].data == outputs[k].data &&
         outputs[i].strides == outputs[k].strides;
}

// Sorted by address, an output is compared with those whose range it lies in, not with all.
void check_apart(const Graph& graph, const std::vector<TensorView>& outputs) {
  const std::vector<PlacedRange> ranges = sorted_ranges(outputs);
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (size_t k = i + 1; k < ranges.size() && ranges[k].begin < ranges[i].end; ++k) {
      const auto [first, second] = std::minmax(ranges[i].view, ranges[k].view);
      if (is_same_place(graph, outputs, first, second)) continue;
      if (share_elements(outputs[first], outputs[second])) {
        fail_input({}, fmt::format("outputs {} and {} share memory", graph.output_names[first],
                                   graph.output_names[second]));
      }
    }
  }
}

}  // namespace

std::vector<Home> find_homes(const Graph& graph) {
  std::vector<Home> homes(graph.nodes.size());
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].data != nullptr) homes[id] = {Home::Kind::constant, 0};
  }
  for (size_t slot = graph.outputs.size(); slot-- > 0;) {
    Home& home = homes[static_cast<size_t>(graph.outputs[slot])];
    if (home.kind != Home::Kind::constant) home = {Home::Kind::output, slot};
  }
  for (size_t slot = 0; slot < graph.inputs.size(); ++slot) {
    homes[static_cast<size_t>(graph.inputs[slot])] = {Home::Kind::input, slot};
  }
  return homes;
}

void check_inputs(const Graph& graph, const std::vector<TensorView>& inputs,
                  const std::vector<TensorView>& outputs) {
  if (inputs.size() != graph.inputs.size() || outputs.size() != graph.outputs.size()) {
    fail_input({}, fmt::format("{} takes {} and {}, got {} and {}", graph.name,
                               counted(std::ssize(graph.inputs), "input"),
                               counted(std::ssize(graph.outputs), "output"), inputs.size(),
                               outputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Node& node = graph[graph.inputs[i]];
    check_view(inputs[i], node.name, node.type.dtype);
  }
}

void check_input_memory(const Graph& graph, const std::vector<TensorView>& inputs,
                        const Sizing& sizing) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (sizing.input_bytes[i] > 0 && inputs[i].data == nullptr) {
      fail_input({}, fmt::format("{}: no memory given", graph[graph.inputs[i]].name));
    }
  }
}

void check_outputs(const Graph& graph, const std::vector<TensorView>& outputs,
                   const Sizing& sizing) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = graph.output_names[i];
    check_output(outputs[i], name, graph[graph.outputs[i]].type.dtype, sizing.output_shapes[i],
                 sizing.output_bytes[i]);
  }
  check_apart(graph, outputs);
}

}  // namespace ingot
